// SPDX-License-Identifier: MIT
#include "core/fleet/files.hpp"

#include "core/fleet/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace siteagent::fleet {

namespace {

constexpr std::size_t most_bytes = 64U << 20U;
constexpr std::size_t random_characters = 6;
constexpr std::string_view temporary_mark = ".new-";

base::error failure(int number, const std::string& path, std::string_view what) {
  base::error e;
  switch (number) {
  case ENOENT:
    e.code = base::error_code::not_found;
    break;
  case EACCES:
  case EPERM:
  case EROFS:
    e.code = base::error_code::forbidden;
    break;
  case EIO:
  case ESTALE:
  case ENOSPC:
  case EDQUOT:
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    e.code = base::error_code::transient;
    break;
  default:
    e.code = base::error_code::permanent;
  }
  e.message =
      path + " cannot be " + std::string(what) + ": " + std::generic_category().message(number);
  return e;
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string temporary_prefix(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return "." + (slash == std::string::npos ? path : path.substr(slash + 1)) +
         std::string(temporary_mark);
}

// What a killed process left. A young one may be another process's, which writes just now.
void remove_stale_temporaries(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string prefix = temporary_prefix(path);
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code ignored;
  for (fs::directory_iterator it(directory_of(path), ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    std::error_code gone;
    const std::string name = it->path().filename().string();
    if (name.size() == prefix.size() + random_characters && name.starts_with(prefix) &&
        it->last_write_time(gone) < old && !gone) {
      (void)unlink(it->path().c_str());
    }
  }
}

base::result<void> sync_directory(const std::string& path) {
  const std::string directory = directory_of(path);
  const descriptor fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a directory and say EINVAL; the rename is then all there is.
  if (fd.get() < 0 || (fsync(fd.get()) != 0 && errno != EINVAL)) {
    return failure(errno, directory, "written through");
  }
  return {};
}

enum class durability : std::uint8_t { synced, cached };

struct wanted_owner {
  uid_t uid;
  gid_t gid;
};

struct temporary_spec {
  mode_t mode = S_IRUSR | S_IWUSR;
  std::optional<wanted_owner> owner;
  durability how = durability::synced;
};

// The content under a name of its own beside `path`; the name is returned.
base::result<std::string>
write_temporary(const std::string& path, std::string_view content, const temporary_spec& s) {
  remove_stale_temporaries(path);
  const std::string directory = directory_of(path);
  std::string name = (directory == "/" ? "" : directory) + "/" + temporary_prefix(path) + "XXXXXX";
  descriptor fd(mkostemp(name.data(), O_CLOEXEC));
  if (fd.get() < 0) {
    return failure(errno, path, "written");
  }
  if (s.owner) {
    // Only root can keep another's file another's; who cannot, owns the new one.
    [[maybe_unused]] const int kept = fchown(fd.get(), s.owner->uid, s.owner->gid);
  }
  const bool written = fchmod(fd.get(), s.mode) == 0 && write_all(fd.get(), content) &&
                       (s.how == durability::cached || fsync(fd.get()) == 0);
  if (!written) {
    const int number = errno;
    (void)unlink(name.c_str());
    return failure(number, path, "written");
  }
  return name;
}

base::result<void> replace(
    const std::string& given, std::string_view content, std::optional<mode_t> mode, durability how
) {
  std::string path = given;

  struct stat old {};

  temporary_spec spec;
  spec.how = how;
  if (lstat(path.c_str(), &old) == 0) {
    std::error_code e;
    if (S_ISLNK(old.st_mode)) {
      path = std::filesystem::canonical(given, e).string();
      if (e || stat(path.c_str(), &old) != 0) {
        return failure(e ? e.value() : errno, given, "replaced");
      }
    }
    if (!S_ISREG(old.st_mode)) {
      return base::error{base::error_code::invalid, given + " is no regular file"};
    }
    constexpr mode_t permissions = S_IRWXU | S_IRWXG | S_IRWXO;
    spec.mode = old.st_mode & permissions;
    if (old.st_uid != geteuid() || old.st_gid != getegid()) {
      spec.owner = wanted_owner{old.st_uid, old.st_gid};
    }
  }
  spec.mode = mode.value_or(spec.mode);
  auto name = write_temporary(path, content, spec);
  if (!name) {
    return std::move(name).error();
  }
  if (rename(name->c_str(), path.c_str()) != 0) {
    const int number = errno;
    (void)unlink(name->c_str());
    return failure(number, path, "replaced");
  }
  return how == durability::synced ? sync_directory(path) : base::result<void>();
}

} // namespace

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

base::result<std::string> read_file(const std::string& path) {
  const descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));

  struct stat s {};

  if (fd.get() < 0 || fstat(fd.get(), &s) != 0) {
    return failure(errno, path, "read");
  }
  if (!S_ISREG(s.st_mode)) {
    return base::error{base::error_code::invalid, path + " is no regular file"};
  }
  std::string content(std::min(static_cast<std::size_t>(s.st_size), most_bytes) + 1, '\0');
  std::size_t filled = 0;
  for (;;) {
    const ssize_t n = read(fd.get(), content.data() + filled, content.size() - filled);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return failure(errno, path, "read");
    }
    if (n == 0) {
      content.resize(filled);
      return content;
    }
    filled += static_cast<std::size_t>(n);
    if (filled > most_bytes) {
      return base::error{base::error_code::invalid, path + " is larger than 64 MiB"};
    }
    if (filled == content.size()) {
      content.resize(content.size() * 2);
    }
  }
}

base::result<void>
replace_file(const std::string& path, std::string_view content, std::optional<mode_t> mode) {
  return replace(path, content, mode, durability::synced);
}

base::result<void> replace_cache_file(const std::string& path, std::string_view content) {
  return replace(path, content, S_IRUSR | S_IWUSR, durability::cached);
}

base::result<void> create_file(const std::string& path, std::string_view content) {
  auto name = write_temporary(path, content, {});
  if (!name) {
    return std::move(name).error();
  }
  int failed =
      renameat2(AT_FDCWD, name->c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (failed == EINVAL || failed == ENOSYS) { // not every file system can; each can one of the two
    failed = link(name->c_str(), path.c_str()) == 0 ? 0 : errno;
    (void)unlink(name->c_str());
  } else if (failed != 0) {
    (void)unlink(name->c_str());
  }
  if (failed == EEXIST) {
    return base::error{base::error_code::conflict, path + " exists already"};
  }
  return failed == 0 ? sync_directory(path) : failure(failed, path, "made");
}

base::result<bool> remove_file(const std::string& path) {
  if (unlink(path.c_str()) == 0) {
    return true;
  }
  if (errno == ENOENT) {
    return false;
  }
  return failure(errno, path, "removed");
}

base::result<void> make_directories(const std::string& path) {
  struct stat s {};

  if (stat(path.c_str(), &s) == 0) {
    return S_ISDIR(s.st_mode) ? base::result<void>()
                              : base::error{base::error_code::invalid, path + " is no directory"};
  }
  if (path != directory_of(path)) {
    if (auto parent = make_directories(directory_of(path)); !parent) {
      return parent;
    }
  }
  if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return failure(errno, path, "made");
  }
  return {};
}

} // namespace siteagent::fleet
