// SPDX-License-Identifier: MIT
#include "core/fleet/delivery.hpp"

#include "core/base/text.hpp"
#include "core/fleet/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>

namespace siteagent::fleet {

namespace {

namespace fs = std::filesystem;
using base::error;
using base::error_code;
using base::result;

constexpr std::chrono::milliseconds no_cap{0};

// A file without a name, gone with its descriptor.
result<descriptor> make_scratch() {
  std::error_code failed;
  const fs::path folder = fs::temp_directory_path(failed);
  descriptor fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd) {
    std::string name = (folder / "stado-XXXXXX").string();
    fd = descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (fd) {
      ::unlink(name.c_str());
    }
  }
  if (!fd) {
    return error{
        .code = error_code::transient,
        .message = "no scratch file in " + folder.string() + ": " + std::strerror(errno)};
  }
  return fd;
}

// Writes all it is given; what fails is told at the end.
class scratch_writer {
public:
  explicit scratch_writer(int fd) : fd_(fd) {}

  void operator()(std::string_view bytes) {
    while (!bytes.empty() && error_ == 0) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        error_ = errno;
      }
      bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
  }

  result<void> finish() const {
    if (error_ != 0) {
      return error{
          .code = error_code::transient,
          .message = std::string("the scratch file cannot be written: ") + std::strerror(error_)};
    }
    ::lseek(fd_, 0, SEEK_SET);
    return {};
  }

private:
  int fd_;
  int error_ = 0;
};

std::string last_line(const std::string& error_output) {
  return remote_answer{.status = 0, .output = "", .error_output = error_output}.last_error_line();
}

error failure_of(const std::string& what, int status, const std::string& error_output) {
  const std::string line = last_line(error_output);
  return {
      .code = error_code::permanent,
      .message = what + " ended with status " + std::to_string(status) +
                 (line.empty() ? "" : ": " + line)};
}

// The part of rsync's -e that rsync splits at spaces; a quote inside quotes is doubled.
std::string quoted_for_rsync(const std::string& word) {
  if (word.find_first_of(" '\"") == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string host_word(const destination& d) {
  const std::string host = d.host.find(':') == std::string::npos ? d.host : "[" + d.host + "]";
  return d.user.empty() ? host : d.user + "@" + host;
}

// A pattern of rsync that means this path and nothing else.
std::string pattern_of(const fs::path& relative) {
  std::string pattern = "/";
  for (const char c : relative.string()) {
    if (std::strchr("*?[\\", c) != nullptr) {
      pattern += '\\';
    }
    pattern += c;
  }
  return pattern;
}

// Folders that say of themselves that they can be made again, as patterns that end with a zero.
std::string cache_folders_of(const fs::path& top) {
  std::string patterns;
  std::error_code failed;
  fs::recursive_directory_iterator at(top, fs::directory_options::skip_permission_denied, failed);
  for (const fs::recursive_directory_iterator end; !failed && at != end; at.increment(failed)) {
    std::error_code unknown;
    if (at->is_symlink(unknown) || !at->is_directory(unknown)) {
      continue;
    }
    if (fs::exists(at->path() / "CACHEDIR.TAG", unknown)) {
      patterns += pattern_of(at->path().lexically_relative(top)) + '\0';
      at.disable_recursion_pending();
    }
  }
  return patterns;
}

// A folder beside the final place: what arrives is renamed from there.
class arrival_folder {
public:
  static result<arrival_folder> beside(const fs::path& final_place) {
    const fs::path parent = final_place.parent_path();
    std::string name = ((parent.empty() ? "." : parent) / ".stado-fetch-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      return error{
          .code = error_code::permanent,
          .message =
              "cannot make a folder beside " + final_place.string() + ": " + std::strerror(errno)};
    }
    return arrival_folder(name);
  }

  arrival_folder(arrival_folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

  arrival_folder& operator=(arrival_folder&&) = delete;
  arrival_folder(const arrival_folder&) = delete;
  arrival_folder& operator=(const arrival_folder&) = delete;

  ~arrival_folder() {
    if (!path_.empty()) {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    }
  }

  const std::string& path() const { return path_; }

private:
  explicit arrival_folder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

result<fetch_plan> plan_fetch(const std::string& remote, const std::string& local) {
  const auto wrong = [&](const std::string& why) {
    return error{
        .code = error_code::invalid, .message = "--fetch " + printable(remote, 80) + ": " + why};
  };
  fs::path path = fs::path(remote).lexically_normal();
  if (path.filename().empty()) {
    path = path.parent_path(); // "dist/" would mean what is in it
  }
  const std::string name = path.filename().string();
  if (remote.empty() || path.is_absolute() || name.empty() || name == "." ||
      *path.begin() == "..") {
    return wrong("it must be a path inside the run's directory");
  }
  std::error_code unknown;
  fs::path place = local.empty() ? fs::path(name) : fs::path(local);
  if (fs::is_directory(place, unknown)) {
    place /= name;
  }
  if (fs::is_directory(place, unknown)) {
    return wrong(printable(place.string(), 80) + " is a folder that exists; name another place");
  }
  const fs::path parent = place.parent_path();
  if (place.filename().empty() || (!parent.empty() && !fs::is_directory(parent, unknown))) {
    return wrong("there is no folder " + printable(parent.string(), 80));
  }
  return fetch_plan{path.string(), place.string()};
}

} // namespace

result<std::vector<fetch_plan>>
plan_fetches(const std::vector<std::pair<std::string, std::string>>& fetches) {
  std::vector<fetch_plan> plans;
  for (const auto& [remote, local] : fetches) {
    auto plan = plan_fetch(remote, local);
    if (!plan) {
      return plan.error();
    }
    plans.push_back(*std::move(plan));
  }
  return plans;
}

result<void> check_source(const std::string& directory) {
  std::error_code unknown;
  if (!fs::is_directory(directory, unknown) || ::access(directory.c_str(), R_OK | X_OK) != 0) {
    return error{
        .code = error_code::invalid,
        .message = "--source " + printable(directory, 80) + ": it is no folder that can be read"};
  }
  return {};
}

result<std::string> commit_of(
    runner& programs,
    const std::string& directory,
    const std::string& revision,
    std::stop_token stop
) {
  const auto f = programs.run(
      {.argv =
           {"git",
            "-C",
            directory,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            revision + "^{commit}"}},
      std::move(stop)
  );
  if (!f) {
    return f.error();
  }
  if (f->status != 0) {
    const std::string line = last_line(f->error_output);
    return error{
        .code = error_code::refused,
        .message = "--revision " + printable(revision, 80) + ": git knows no such commit in " +
                   printable(directory, 80) + (line.empty() ? "" : ": " + line)};
  }
  return std::string(base::trim(f->output));
}

result<void> delivery::send_directory(const std::string& directory, const std::string& to) {
  if (rsync_) {
    const auto done = send_by_rsync(directory, to);
    if (!done || *done) {
      return done ? result<void>() : done.error();
    }
  }
  auto archive = make_scratch();
  if (!archive) {
    return archive.error();
  }
  scratch_writer write(archive->get());
  const auto f = programs_.run(
      {.argv = {"tar", "-C", directory, "--exclude-caches-all", "-cf", "-", "."},
       .cap = no_cap,
       .on_output = std::ref(write)},
      stop_
  );
  if (!f) {
    return f.error();
  }
  if (f->status != 0) {
    return failure_of("tar of " + printable(directory, 80), f->status, f->error_output);
  }
  const auto written = write.finish();
  return written ? send_archive(archive->get(), to) : written;
}

result<void> delivery::send_commit(
    const std::string& directory, const std::string& commit, const std::string& to
) {
  auto archive = make_scratch();
  if (!archive) {
    return archive.error();
  }
  scratch_writer write(archive->get());
  const auto f = programs_.run(
      {.argv = {"git", "-C", directory, "archive", "--format=tar", commit},
       .cap = no_cap,
       .on_output = std::ref(write)},
      stop_
  );
  if (!f) {
    return f.error();
  }
  if (f->status != 0) {
    return failure_of("git archive " + commit, f->status, f->error_output);
  }
  const auto written = write.finish();
  return written ? send_archive(archive->get(), to) : written;
}

// -m: the time of the arrival.
result<void> delivery::send_archive(int archive, const std::string& to) {
  channel_options o;
  o.cap = no_cap;
  o.stop = stop_;
  o.input_fd = archive;
  const auto answer =
      channel_.run_words(host_, {"tar", "-C", to, "--no-same-owner", "-xmf", "-"}, o);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return failure_of(host_.name + ": tar", answer->status, answer->error_output);
  }
  return {};
}

// false: there is no rsync here.
result<bool> delivery::run_rsync(std::vector<std::string> words, std::string input) {
  auto f =
      programs_.run({.argv = std::move(words), .input = std::move(input), .cap = no_cap}, stop_);
  if (!f && f.error().code == error_code::not_found) {
    return false;
  }
  if (!f) {
    return f.error();
  }
  if (f->status != 0) {
    return failure_of(host_.name + ": rsync", f->status, f->error_output);
  }
  return true;
}

result<bool> delivery::send_by_rsync(const std::string& directory, const std::string& to) {
  const auto t = channel_.words_for_copy(host_);
  if (!t) {
    return t.error();
  }
  std::vector<std::string> words{
      "rsync", "-rlp", "-s", "--timeout=60", "--from0", "--exclude-from=-"};
  std::string place = to + "/";
  if (!t->words.empty()) {
    std::vector<std::string> shell;
    std::transform(t->words.begin(), t->words.end(), std::back_inserter(shell), quoted_for_rsync);
    words.insert(words.end(), {"-z", "-e", base::join(shell, " ")});
    place = host_word(t->where) + ":" + place;
  }
  words.insert(words.end(), {"--", fs::absolute(directory).string() + "/", place});
  return run_rsync(std::move(words), cache_folders_of(directory));
}

result<bool>
delivery::fetch_by_rsync(const std::string& from, const fetch_plan& what, const std::string& into) {
  const auto t = channel_.words_for_copy(host_);
  if (!t) {
    return t.error();
  }
  std::vector<std::string> words{"rsync", "-rlpt", "-s", "--timeout=60"};
  std::string place = from + "/" + what.remote;
  if (!t->words.empty()) {
    std::vector<std::string> shell;
    std::transform(t->words.begin(), t->words.end(), std::back_inserter(shell), quoted_for_rsync);
    words.insert(words.end(), {"-z", "-e", base::join(shell, " ")});
    place = host_word(t->where) + ":" + place;
  }
  words.insert(words.end(), {"--", place, into + "/"});
  return run_rsync(std::move(words), "");
}

result<void>
delivery::fetch_by_tar(const std::string& from, const fetch_plan& what, const std::string& into) {
  auto archive = make_scratch();
  if (!archive) {
    return archive.error();
  }
  const fs::path path = fs::path(from) / what.remote;
  scratch_writer write(archive->get());
  channel_options o;
  o.cap = no_cap;
  o.stop = stop_;
  o.on_output = std::ref(write);
  const auto answer = channel_.run_words(
      host_,
      {"tar", "-C", path.parent_path().string(), "-cf", "-", "./" + path.filename().string()},
      o
  );
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return failure_of(host_.name + ": tar", answer->status, answer->error_output);
  }
  if (const auto written = write.finish(); !written) {
    return written;
  }
  const auto f = programs_.run(
      {.argv = {"tar", "-C", into, "--no-same-owner", "-xf", "-"},
       .input_fd = archive->get(),
       .cap = no_cap},
      stop_
  );
  if (!f) {
    return f.error();
  }
  return f->status == 0 ? result<void>() : failure_of("tar", f->status, f->error_output);
}

result<void> delivery::fetch(const std::string& from, const fetch_plan& what) {
  const auto arrival = arrival_folder::beside(what.local);
  if (!arrival) {
    return arrival.error();
  }
  result<bool> done = false;
  if (rsync_) {
    done = fetch_by_rsync(from, what, arrival->path());
    if (!done) {
      return done.error();
    }
  }
  if (!*done) {
    if (auto by_tar = fetch_by_tar(from, what, arrival->path()); !by_tar) {
      return by_tar;
    }
  }
  std::error_code failed;
  fs::rename(fs::path(arrival->path()) / fs::path(what.remote).filename(), what.local, failed);
  if (failed) {
    return error{
        .code = error_code::permanent,
        .message = "--fetch " + printable(what.remote, 80) + ": it cannot become " +
                   printable(what.local, 80) + ": " + failed.message()};
  }
  return {};
}

} // namespace siteagent::fleet
