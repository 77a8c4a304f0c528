// SPDX-License-Identifier: MIT
// Sources to a managed run and results back from it: by rsync where both sides have it, else as a
// tar archive over the channel.
#pragma once

#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/runner.hpp"

#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::fleet {

// One place for a result.
struct fetch_plan {
  std::string remote; // relative, without ".."
  std::string local;  // does not exist, or is a file that will be replaced
};

// Before anything runs: `invalid` naming the path, when it leaves the run's directory, or its local
// place is a folder of that name or has no folder to be in.
base::result<std::vector<fetch_plan>>
plan_fetches(const std::vector<std::pair<std::string, std::string>>& fetches);
// `invalid` when it is no folder that can be read.
base::result<void> check_source(const std::string& directory);
// The commit's id. `refused` when git knows no such revision there.
base::result<std::string> commit_of(
    runner& programs,
    const std::string& directory,
    const std::string& revision,
    std::stop_token stop
);

// Copies for one run. Folders are absolute on the host.
class delivery {
public:
  // All borrowed. prefer_rsync: the host has it.
  delivery(
      channel& c, runner& programs, const target& host, bool prefer_rsync, std::stop_token stop
  )
      : channel_(c), programs_(programs), host_(host), rsync_(prefer_rsync),
        stop_(std::move(stop)) {}

  // What is in `directory`, without folders that hold a CACHEDIR.TAG; every file gets the time of
  // its arrival, so that a borrowed build cache never looks newer than a source.
  base::result<void> send_directory(const std::string& directory, const std::string& to);
  base::result<void>
  send_commit(const std::string& directory, const std::string& commit, const std::string& to);
  // A file or folder of `from`. It appears whole, or not at all.
  base::result<void> fetch(const std::string& from, const fetch_plan& what);

private:
  base::result<void> send_archive(int archive, const std::string& to);
  base::result<bool> send_by_rsync(const std::string& directory, const std::string& to);
  base::result<bool>
  fetch_by_rsync(const std::string& from, const fetch_plan& what, const std::string& into);
  base::result<void>
  fetch_by_tar(const std::string& from, const fetch_plan& what, const std::string& into);
  base::result<bool> run_rsync(std::vector<std::string> words, std::string input);

  channel& channel_;
  runner& programs_;
  const target& host_;
  bool rsync_;
  std::stop_token stop_;
};

} // namespace siteagent::fleet
