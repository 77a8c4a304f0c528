// SPDX-License-Identifier: MIT
#include "core/host/trust.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace siteagent::host {

namespace {

base::error refusal(const std::string& path, const std::string& why) {
  return {.code = base::error_code::invalid, .message = path + ": " + why};
}

std::string errno_text(int number) {
  // strerror_r of glibc: the returned pointer, not the buffer, is the answer.
  char buffer[128];
  return ::strerror_r(number, buffer, sizeof buffer);
}

class descriptor {
public:
  explicit descriptor(int fd) : fd_(fd) {}

  descriptor(descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  ~descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }

  int get() const { return fd_; }

private:
  int fd_;
};

// Who may change this file or the entries of this directory, besides root and (developer) us?
base::result<void>
check_owner_and_mode(const struct stat& st, const std::string& path, bool developer) {
  const bool own = developer && st.st_uid == ::geteuid();
  if (st.st_uid != 0 && !own) {
    return refusal(
        path,
        "is owned by uid " + std::to_string(st.st_uid) + ", not by root" +
            (developer ? " or by the agent's own uid" : "") + "; run chown root " + path
    );
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    const bool group_only = (st.st_mode & S_IWOTH) == 0;
    return refusal(
        path,
        std::string("may be written by ") + (group_only ? "its group" : "everybody") +
            "; run chmod go-w " + path
    );
  }
  return {};
}

base::result<void>
check_directory(int fd, const std::string& path, bool developer, bool is_parent) {
  struct stat st {};

  if (::fstat(fd, &st) != 0) {
    return refusal(path, "cannot be examined: " + errno_text(errno));
  }
  // In a sticky directory nobody but the owner can replace an entry.
  if (is_parent && st.st_uid == 0 && (st.st_mode & S_ISVTX) != 0) {
    return {};
  }
  return check_owner_and_mode(st, path, developer);
}

// Opens the canonical `path` component by component without following links; checks each directory
// outside developer mode, and only the last one in it.
base::result<descriptor> open_directory(const std::string& path, bool developer) {
  descriptor current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string so_far = "/";
  std::size_t from = 1;
  while (true) {
    const bool is_last = from >= path.size();
    if (current.get() < 0) {
      return refusal(so_far, "cannot be opened: " + errno_text(errno));
    }
    if (is_last || !developer) {
      if (auto ok = check_directory(current.get(), so_far, developer, !is_last); !ok) {
        return ok.error();
      }
    }
    if (is_last) {
      return current;
    }
    const std::size_t to = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, to - from);
    so_far = path.substr(0, to);
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    current = descriptor(::openat(current.get(), name.c_str(), flags));
    from = to + 1;
  }
}

std::string explain_open_failure(int directory, const char* name, int number) {
  switch (number) {
  case ELOOP: {
    struct stat st {};

    const bool dangling = ::fstatat(directory, name, &st, 0) != 0;
    return dangling ? "is a symbolic link to nothing; install the file itself"
                    : "is a symbolic link; install the file itself";
  }
  case EACCES:
    return "cannot be read: permission denied; run chmod a+r";
  case ENOENT:
    return "does not exist";
  default:
    return "cannot be opened: " + errno_text(number);
  }
}

const char* name_of_machine(std::uint16_t machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86-64";
  case EM_AARCH64:
    return "aarch64";
  case EM_386:
    return "i386";
  case EM_ARM:
    return "arm";
  case EM_RISCV:
    return "riscv";
  case EM_PPC64:
    return "ppc64";
  case EM_S390:
    return "s390x";
  default:
    return "another machine";
  }
}

#if defined(__x86_64__)
constexpr std::uint16_t our_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t our_machine = EM_AARCH64;
#else
#error "add this machine's ELF number"
#endif

bool read_at(int fd, void* into, std::size_t size, std::uint64_t offset) {
  return ::pread(fd, into, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

base::error elf_refusal(std::string why) {
  return {.code = base::error_code::invalid, .message = std::move(why)};
}

// The loader maps the segments and touches them: past the end of a cut file that is a SIGBUS.
base::result<void> check_complete(int fd, const Elf64_Ehdr& header, std::uint64_t size) {
  static const char* const cut = "is cut off or damaged; install it again";
  const std::uint64_t sections_end =
      header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum > 512 ||
      header.e_shoff > size || sections_end > size) {
    return elf_refusal(cut);
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (header.e_phoff > size ||
      !read_at(fd, segments.data(), segments.size() * sizeof(Elf64_Phdr), header.e_phoff)) {
    return elf_refusal(cut);
  }
  bool has_dynamic = false;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_offset > size || s.p_filesz > size - s.p_offset) {
      return elf_refusal(cut);
    }
    has_dynamic = has_dynamic || s.p_type == PT_DYNAMIC;
  }
  if (!has_dynamic) {
    return elf_refusal("is no shared object: it has no dynamic section");
  }
  return {};
}

} // namespace

base::result<void> check_elf(int fd, std::uint64_t size) {
  if (size == 0) {
    return elf_refusal("is empty; install it again");
  }
  Elf64_Ehdr header{};
  // Both classes share the first 20 bytes: identification, type and machine.
  if (size < 20 || !read_at(fd, &header, std::min<std::uint64_t>(size, sizeof header), 0) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return elf_refusal("is no ELF file; a plugin is a compiled shared object");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) {
    return elf_refusal(
        std::string("is a 32-bit file (") + name_of_machine(header.e_machine) +
        "), this agent is 64-bit " + name_of_machine(our_machine) + "; install the right build"
    );
  }
  if (header.e_machine != our_machine || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return elf_refusal(
        std::string("is built for ") + name_of_machine(header.e_machine) + ", this machine is " +
        name_of_machine(our_machine) + "; install the right build"
    );
  }
  if (header.e_type != ET_DYN) {
    return elf_refusal("is no shared object; link the plugin with -shared");
  }
  if (size < sizeof header) {
    return elf_refusal("is cut off or damaged; install it again");
  }
  return check_complete(fd, header, size);
}

base::result<std::string> check_file(const plugin_directory& directory, std::string_view stem) {
  const std::unique_ptr<char, decltype(&std::free)> canonical(
      ::realpath(directory.path.c_str(), nullptr), &std::free
  );
  if (canonical == nullptr) {
    return refusal(directory.path, "cannot be resolved: " + errno_text(errno));
  }
  auto opened = open_directory(canonical.get(), directory.developer);
  if (!opened) {
    return opened.error();
  }
  const std::string name = std::string(stem) + ".so";
  const std::string path = std::string(canonical.get()) + "/" + name;
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const descriptor file(::openat(opened->get(), name.c_str(), flags));
  if (file.get() < 0) {
    const int number = errno;
    return refusal(path, explain_open_failure(opened->get(), name.c_str(), number));
  }

  struct stat st {};

  if (::fstat(file.get(), &st) != 0) {
    return refusal(path, "cannot be examined: " + errno_text(errno));
  }
  if (!S_ISREG(st.st_mode)) {
    return refusal(path, "is no regular file");
  }
  if (auto ok = check_owner_and_mode(st, path, directory.developer); !ok) {
    return ok.error();
  }
  if (auto ok = check_elf(file.get(), static_cast<std::uint64_t>(st.st_size)); !ok) {
    return refusal(path, ok.error().message);
  }
  return path;
}

} // namespace siteagent::host
