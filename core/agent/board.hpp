// SPDX-License-Identifier: MIT
// The agent's state as a document for people and programs (`waldur-site-agent status`), and the
// file it lies in: replaced as a whole every few seconds, readable by its owner alone. A file
// rather than a socket, because it still tells what was going on when the process hangs or is gone.
// Its shape: packaging/schema/status.schema.json.
#pragma once

#include "core/agent/lease.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/track.hpp"
#include "core/agent/worker_pool.hpp"
#include "core/base/json.hpp"

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace siteagent::agent {

// `lease` may be null. Times of the steady clock become wall times by `clock`.
base::json describe_offering(
    const offering_context& offering,
    const std::vector<const track*>& tracks,
    const offering_lease* lease,
    const base::clock& clock
);
base::json describe_load(const worker_pool::load& load);

// Who writes: a process is known by its number and the time it started, so that a number used again
// is not taken for it.
struct process_mark {
  int pid = 0;
  unsigned long long start = 0; // clock ticks since the machine's start; 0: cannot be told
};

process_mark own_mark();
// The process is there, and it is that one.
bool is_alive(const process_mark& mark);

// Where the status of agents on `config_file` lies. A directory of $RUNTIME_DIRECTORY, else
// $XDG_RUNTIME_DIR, else the temporary directory; the name is made of the file's absolute path, the
// mode and the process, because several agents may share a file. WALDUR_SITE_AGENT_STATUS_PATH
// names the file instead.
std::string status_path(const std::string& config_file, const std::string& mode);
// Every file that may be one for `config_file`, in all places an agent may have chosen, also as a
// service (/run/waldur-*).
std::vector<std::string> find_status_files(const std::string& config_file);

// Replaces the file: mode 0600, never through a link, never half.
base::result<void> write_status(const std::string& path, const std::string& text);

struct status_file {
  std::string path;
  base::json document;
  bool is_alive = false; // its writer still runs
};

// An error also for a file whose owner is not the owner of the process it tells of, and not root:
// in a directory that all may write, anybody may leave a file.
base::result<status_file> read_status(const std::string& path);

// Owns the thread that writes every 5 s, at once the first time, and removes the file at the end.
class status_writer {
public:
  // `describe` is called on the thread. Leftovers of dead agents of the same `config_file` are
  // removed first. `path`: "" = status_path().
  status_writer(
      std::function<base::json()> describe,
      std::string config_file,
      std::string mode,
      const base::clock& clock,
      std::string path = ""
  );
  ~status_writer();
  status_writer(const status_writer&) = delete;
  status_writer& operator=(const status_writer&) = delete;

  const std::string& path() const { return path_; }

private:
  void run(const std::stop_token& stop);
  void write_once(bool& told);

  const std::function<base::json()> describe_;
  const std::string config_file_;
  const std::string mode_;
  const base::clock& clock_;
  const std::string path_;
  const process_mark mark_;
  std::jthread thread_;
};

} // namespace siteagent::agent
