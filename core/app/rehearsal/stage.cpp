// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/stage.hpp"

#include "core/base/text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace siteagent::app {

namespace {

constexpr std::chrono::milliseconds look_interval{20};
constexpr std::chrono::seconds longest_start{30};

base::error failure(std::string message) {
  return base::error{.code = base::error_code::invalid, .message = std::move(message)};
}

// Beside this executable, else in PATH.
base::result<std::string> find_program(const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> folders = {self.parent_path().string()};
  const char* path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
  for (const std::string_view folder : base::split(path == nullptr ? "" : path, ':')) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    const std::string file = folder + "/" + name;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return failure(
      name +
      ": not found beside waldur-site-agent nor in PATH; install the package of the emulators"
  );
}

std::string last_line(const std::string& text) {
  const std::string trimmed(base::trim(text));
  const std::size_t end = trimmed.rfind('\n');
  return end == std::string::npos ? trimmed : trimmed.substr(end + 1);
}

} // namespace

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

base::result<void> write_private(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  std::size_t done = 0;
  while (fd >= 0 && done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n <= 0) {
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  const int error = errno;
  if (fd < 0 || ::close(fd) != 0 || done < text.size()) {
    return failure(path + ": cannot be written: " + std::strerror(error));
  }
  return {};
}

base::result<std::unique_ptr<scratch_folder>> scratch_folder::make() {
  std::error_code failed;
  std::string pattern =
      (std::filesystem::temp_directory_path(failed) / "site-agent-rehearsal-XXXXXX").string();
  if (failed || ::mkdtemp(pattern.data()) == nullptr) {
    return failure("no temporary folder could be made; set TMPDIR to a folder one can write to");
  }
  return std::unique_ptr<scratch_folder>(new scratch_folder(pattern));
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

double_of_a_service::double_of_a_service(
    child process, std::string url, std::string journal, std::string side
)
    : process_(std::move(process)), url_(std::move(url)), journal_(std::move(journal)),
      side_(std::move(side)) {}

base::result<std::unique_ptr<double_of_a_service>> double_of_a_service::start(
    const std::string& program,
    const std::vector<std::string>& arguments,
    const std::string& directory,
    std::string side
) {
  base::result<std::string> file = find_program(program);
  if (!file) {
    return file.error();
  }
  ::mkdir(directory.c_str(), 0700);
  const std::string port_file = directory + "/port";
  const std::string journal = directory + "/journal.jsonl";
  const std::string output = directory + "/output";
  std::vector<std::string> words = {
      *file, "--listen", "127.0.0.1:0", "--port-file", port_file, "--journal", journal};
  words.insert(words.end(), arguments.begin(), arguments.end());
  base::result<child> process = child::start(words, {}, {}, output);
  if (!process) {
    return process.error();
  }
  const base::steady_time start = base::real_clock().steady();
  while (::access(port_file.c_str(), R_OK) != 0) {
    if (process->wait(look_interval) || base::real_clock().steady() - start > longest_start) {
      return failure(program + " did not start: " + last_line(read_all(output)));
    }
  }
  const std::string port(base::trim(read_all(port_file)));
  std::unique_ptr<double_of_a_service> made(new double_of_a_service(
      *std::move(process), "http://127.0.0.1:" + port, journal, std::move(side)
  ));
  base::result<std::unique_ptr<net::transport>> http = net::make_transport({});
  if (!http) {
    return http.error();
  }
  made->http_ = *std::move(http);
  return made;
}

base::result<base::json> double_of_a_service::call(
    std::string_view method, std::string_view path, const base::json& body, std::string_view token
) const {
  net::request r;
  r.method = std::string(method);
  r.url = url_ + std::string(path);
  if (!body.is_null()) {
    r.body = body.dump();
  }
  if (!token.empty()) {
    r.headers.emplace_back("Authorization", "Token " + std::string(token));
  }
  const base::result<net::response> answer = http_->perform(r);
  if (!answer) {
    return answer.error();
  }
  if (answer->status >= 400) {
    return failure(
        r.method + " " + std::string(path) + ": HTTP " + std::to_string(answer->status) + " " +
        answer->body.substr(0, 500)
    );
  }
  return answer->body.empty() ? base::json() : base::json::parse(answer->body);
}

std::vector<exchange> double_of_a_service::take_journal() {
  std::vector<exchange> out;
  std::ifstream in(journal_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(read_));
  for (std::string line; std::getline(in, line) && !in.eof();) {
    read_ += line.size() + 1;
    const base::result<base::json> entry = base::json::parse(line);
    if (!entry) {
      continue;
    }
    exchange e;
    e.at = base::parse_rfc3339((*entry)["time"].string_or("")).value_or(base::wall_time{});
    e.side = side_;
    e.method = (*entry)["method"].string_or("");
    e.path = (*entry)["path"].string_or("");
    e.status = static_cast<int>((*entry)["status"].integer().value_or(0));
    e.fault = (*entry)["fault"].string_or("");
    out.push_back(std::move(e));
  }
  return out;
}

} // namespace siteagent::app
