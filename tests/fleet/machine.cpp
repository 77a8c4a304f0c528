// SPDX-License-Identifier: MIT
#include "tests/fleet/machine.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace siteagent::fleet::test {

namespace {

namespace fs = std::filesystem;
using integration::process;
using integration::read_file;
using integration::write_file;

// Runs a program to its end; throws with its words.
std::string run(std::vector<std::string> words, const fs::path& folder) {
  const std::string output = (folder / ("output-of-" + fs::path(words[0]).filename().string()));
  fs::remove(output);
  process p(words, {}, output);
  const std::optional<int> status = p.wait(std::chrono::seconds(30));
  if (status != 0) {
    throw std::runtime_error(words[0] + " failed: " + p.output());
  }
  return p.output();
}

void write_script(const fs::path& path, const std::string& body) {
  fs::create_directories(path.parent_path());
  // Written beside and renamed: a script that runs just now cannot be written ("text file busy").
  const fs::path fresh = path.string() + ".new";
  write_file(fresh, "#!/bin/bash\n" + body + "\n");
  fs::permissions(fresh, fs::perms::owner_all);
  fs::rename(fresh, path);
}

// Every machine of every process gets one of its own, so no port is ever contended.
std::string next_address() {
  static std::atomic<int> count{1};
  const int n = ++count;
  const int id = ::getpid();
  std::ostringstream text;
  text << "127." << 1 + (id >> 8) % 250 << '.' << id % 256 << '.' << 1 + n % 250;
  return text.str();
}

int free_port(const std::string& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &where.sin_addr);
  socklen_t length = sizeof where;
  auto* generic = reinterpret_cast<sockaddr*>(&where);
  if (::bind(fd, generic, length) != 0 || ::getsockname(fd, generic, &length) != 0) {
    ::close(fd);
    throw std::runtime_error("no port on " + address);
  }
  ::close(fd);
  return ntohs(where.sin_port);
}

std::vector<int> children_of(int id) {
  std::ifstream in("/proc/" + std::to_string(id) + "/task/" + std::to_string(id) + "/children");
  std::vector<int> all;
  for (int child = 0; in >> child;) {
    all.push_back(child);
  }
  return all;
}

void add_descendants(int id, std::vector<int>& all) {
  for (const int child : children_of(id)) {
    all.push_back(child);
    add_descendants(child, all);
  }
}

} // namespace

key_pair make_key_pair(const std::string& file, const std::string& comment) {
  run({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", file},
      fs::path(file).parent_path());
  std::string line = read_file(file + ".pub");
  line.erase(line.find_last_not_of('\n') + 1);
  return {file, line};
}

machine::machine(const std::string& name)
    : name_(name), address_(next_address()), port_(free_port(address_)) {
  fs::create_directories(ssh_folder());
  make_key_pair(folder_.file("host_key"), name);
  write_configuration();
  make_shims();
  authorize_nobody();
  start();
}

machine::~machine() {
  stop();
}

std::string machine::login() {
  const passwd* me = ::getpwuid(::geteuid());
  return me != nullptr ? me->pw_name : "nobody";
}

std::string machine::destination() const {
  return "ssh://" + login() + "@" + address_ + ":" + std::to_string(port_);
}

std::string machine::host_key() const {
  std::istringstream words(
      run({"/usr/bin/ssh-keygen", "-l", "-f", folder_.file("host_key.pub")}, folder_.path())
  );
  std::string bits;
  std::string fingerprint;
  words >> bits >> fingerprint;
  return fingerprint;
}

bool machine::has_own_processes() {
  static const bool has = [] {
    const integration::temp_dir folder;
    process p(
        {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--", "/bin/true"},
        {},
        folder.file("output")
    );
    return p.wait(std::chrono::seconds(30)) == 0;
  }();
  return has;
}

void machine::authorize(const std::string& public_key) const {
  write_file(ssh_folder() / "authorized_keys", public_key + "\n");
}

void machine::authorize_nobody() const {
  write_file(ssh_folder() / "authorized_keys", "");
}

void machine::write_configuration() const {
  std::ostringstream text;
  text << "ListenAddress " << address_ << "\nPort " << port_ << "\nHostKey "
       << folder_.file("host_key") << "\nPidFile none\nUsePAM no\nStrictModes no\n"
       << "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
       << "AuthorizedKeysFile " << (ssh_folder() / "authorized_keys").string()
       << "\nPrintMotd no\nMaxSessions 100\nMaxStartups 100\nSetEnv HOME=" << home().string()
       << " PATH=" << (home() / "bin").string() << ':' << path_ << '\n';
  write_file(folder_.file("sshd_config"), text.str());
}

void machine::set_path(const std::string& path) {
  path_ = path;
  write_configuration();
  stop();
  start();
}

void machine::start() {
  if (::geteuid() == 0) {
    ::mkdir("/run/sshd", 0755); // sshd does not start as root without it
  }
  const std::string output = folder_.file("sshd.log");
  write_file(output, "");
  std::vector<std::string> words;
  if (has_own_processes()) {
    words = {"/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"};
  }
  for (const char* word : {"/usr/sbin/sshd", "-D", "-e", "-f"}) {
    words.emplace_back(word);
  }
  words.push_back(folder_.file("sshd_config"));
  sshd_ = std::make_unique<process>(words, process::environment{}, output);
  const bool listens = wait_for(folder_.path(), [&] {
    return read_file(output).find("Server listening") != std::string::npos || !sshd_->is_running();
  });
  if (!listens || !sshd_->is_running()) {
    throw std::runtime_error("sshd did not start: " + read_file(output));
  }
}

void machine::stop() {
  if (!sshd_) {
    return;
  }
  if (!has_own_processes()) {
    std::vector<int> all;
    add_descendants(sshd_->id(), all);
    for (const int id : all) {
      ::kill(id, SIGKILL);
    }
  }
  // With a namespace the end of its first process ends all others, and unshare ends after them.
  if (const int id = listener(); id > 0) {
    ::kill(id, SIGKILL);
  }
  (void)sshd_->wait(std::chrono::seconds(30));
  sshd_.reset();
}

void machine::replace_host_key() {
  stop();
  fs::remove(folder_.file("host_key"));
  fs::remove(folder_.file("host_key.pub"));
  make_key_pair(folder_.file("host_key"), name_);
  start();
}

int machine::listener() const {
  if (!has_own_processes()) {
    return sshd_->id();
  }
  const std::vector<int> below = children_of(sshd_->id());
  return below.empty() ? -1 : below.front();
}

void machine::drop_connections() const {
  for (const int id : children_of(listener())) {
    if (read_file("/proc/" + std::to_string(id) + "/comm") == "sshd\n") {
      ::kill(id, SIGKILL);
    }
  }
}

std::vector<int> machine::processes(const std::string& comm) const {
  std::vector<int> all;
  if (sshd_) {
    add_descendants(listener(), all);
  }
  std::erase_if(all, [&](int id) {
    return read_file("/proc/" + std::to_string(id) + "/comm") != comm + "\n";
  });
  return all;
}

void machine::shim(const std::string& program, const std::string& body) const {
  write_script(home() / "bin" / program, body);
}

void machine::remove_shim(const std::string& program) const {
  fs::remove(home() / "bin" / program);
}

void machine::cargo_shim(const std::string& program, const std::string& body) const {
  write_script(home() / ".cargo" / "bin" / program, body);
}

void machine::make_shims() const {
  write_file(home() / "hostname", name_ + "\n");
  write_file(home() / "egress", address_ + "\n");
  shim("hostname", "cat \"$HOME/hostname\"");
  shim("uname", "case \"$1\" in -m) echo x86_64 ;; *) echo Linux ;; esac");
  shim("curl", "cat \"$HOME/egress\"");
  shim("node", "echo v18.19.0");
  shim("npm", "echo 9.2.0");
  cargo_shim("rustc", "echo 'rustc 1.91.1 (ed61e7d7e 2025-11-07)'");
  cargo_shim("cargo", "echo 'cargo 1.91.1 (ea2d97820 2025-10-10)'");
  shim(
      "cloud-init",
      "case \" $* \" in\n"
      "  *' --wait '*) cat \"$HOME/cloud-init/line\"; exit \"$(cat \"$HOME/cloud-init/exit\")\" "
      ";;\n"
      "  *' --format '*) cat \"$HOME/cloud-init/json\"; exit \"$(cat \"$HOME/cloud-init/exit\")\" "
      ";;\n"
      "  *) cat \"$HOME/cloud-init/line\" ;;\n"
      "esac"
  );
  cloud_init(
      0, R"({"status":"done","extended_status":"done","errors":[],"recoverable_errors":{}})"
  );
}

void machine::cloud_init(int exit, const std::string& json, const std::string& line) const {
  fs::create_directories(home() / "cloud-init");
  write_file(home() / "cloud-init" / "exit", std::to_string(exit) + "\n");
  write_file(home() / "cloud-init" / "json", json + "\n");
  write_file(home() / "cloud-init" / "line", "status: " + line + "\n");
}

std::string machine::file(const std::string& below_home) const {
  return read_file(home() / below_home);
}

bool machine::wait_for(
    const fs::path& folder, const std::function<bool()>& ready, std::chrono::seconds deadline
) {
  return integration::wait_for_change(folder, ready, deadline);
}

std::string machine::log() const {
  return read_file(folder_.file("sshd.log"));
}

} // namespace siteagent::fleet::test
