// SPDX-License-Identifier: MIT
// A simulated machine: a real sshd on its own loopback address, with a home folder of its own and
// small scripts in place of the programs the fleet asks for. As root it also has a process table of
// its own (a PID namespace), so that machines of tests running side by side do not see each
// other's.
//
// What its programs answer can be changed at any time: see shim(). Files of the home folder that
// the shims made at the start read: hostname, egress (what curl prints), cloud-init/exit (status of
// `cloud-init status --wait`), cloud-init/json (`--format json`), cloud-init/line (`status`).
#pragma once

#include "tests/integration/process.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::fleet::test {

// A pair made by ssh-keygen: private half in `file` (0600), public half in `file`.pub.
struct key_pair {
  std::string file;
  std::string public_key; // one line, no line feed
};

key_pair make_key_pair(const std::string& file, const std::string& comment = "test");

class machine {
public:
  // Makes folder, keys and shims, and starts sshd. `name` is what hostname answers. Throws
  // std::runtime_error when sshd cannot be started (its words in the message).
  explicit machine(const std::string& name);
  ~machine(); // ends sshd and everything below it
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  const std::string& name() const { return name_; }

  const std::string& address() const { return address_; } // 127.x.y.z, nobody else's

  int port() const { return port_; }

  static std::string login();      // the account the tests run under
  std::string destination() const; // ssh://login@address:port

  // $HOME of everything started over ssh.
  std::filesystem::path home() const { return folder_.path() / "home"; }

  // $HOME/.ssh, where sshd looks for authorized_keys.
  std::filesystem::path ssh_folder() const { return home() / ".ssh"; }

  std::filesystem::path work() const { return home() / ".stado" / "work"; }

  // SHA256:... of the host key.
  std::string host_key() const;
  // Whether the process table is its own.
  static bool has_own_processes();

  void authorize(const std::string& public_key) const; // the only one from now on
  void authorize_nobody() const;

  // PATH of what is started over ssh, below $HOME/bin; for connections to come.
  void set_path(const std::string& path);

  void stop();  // the machine is gone: sshd and all that was started over it (SIGKILL)
  void start(); // on the same address, port and host key
  void replace_host_key();
  // Ends every connection and leaves sshd; programs started over them live on.
  void drop_connections() const;
  // Programs of that name (comm) that run on the machine now.
  std::vector<int> processes(const std::string& comm) const;

  // $HOME/bin/NAME: a bash script with this body.
  void shim(const std::string& program, const std::string& body) const;
  void remove_shim(const std::string& program) const;
  // $HOME/.cargo/bin/NAME.
  void cargo_shim(const std::string& program, const std::string& body) const;
  void cloud_init(int exit, const std::string& json, const std::string& line = "done") const;

  std::string file(const std::string& below_home) const; // its text; "" when it is not there
  // Waits until `ready`; asked again after each change in that folder. False: deadline.
  static bool wait_for(
      const std::filesystem::path& folder,
      const std::function<bool()>& ready,
      std::chrono::seconds deadline = std::chrono::seconds(30)
  );
  std::string log() const; // what sshd said

private:
  int listener() const; // sshd's process
  void make_shims() const;
  void write_configuration() const;

  std::string name_;
  integration::temp_dir folder_;
  std::string address_;
  int port_ = 0;
  std::string path_ = "/usr/bin:/bin";
  std::unique_ptr<integration::process> sshd_;
};

} // namespace siteagent::fleet::test
