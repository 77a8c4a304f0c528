// SPDX-License-Identifier: MIT
// A fleet owner's machine: the real stado with the null provider's plugin, a home of its own, and
// simulated machines that are real sshds.
#pragma once

#include "core/base/json.hpp"
#include "tests/fleet/machine.hpp"
#include "tests/integration/process.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::fleet::test {

struct ended {
  int code = -1; // 128 + signal; -1: it did not end in time
  std::string out;
  std::string err;

  base::json document() const; // of out; null when it is none
};

class stado_site {
public:
  // A fleet host "build-host" and `clouds` machines that wait to be rented, each with its key area.
  explicit stado_site(std::size_t clouds = 1);

  // A command that runs; its streams are files in its folder.
  class running {
  public:
    running(const stado_site& site, const std::vector<std::string>& words);

    int id() const { return process_->id(); }

    void signal(int number) const { process_->signal(number); }

    bool is_running() const { return process_->is_running(); }

    // Until standard error holds this text. false: deadline, or it ended.
    bool wait_for(const std::string& text) const;
    ended wait(std::chrono::seconds deadline = std::chrono::seconds(100));

  private:
    std::unique_ptr<integration::temp_dir> folder_;
    std::unique_ptr<integration::process> process_;
  };

  ended run(const std::vector<std::string>& words) const;
  static std::vector<std::string> create_words(const std::string& name = "b1");

  ended create(const std::string& name = "b1") const { return run(create_words(name)); }

  std::string home() const { return folder_.path() / "home"; }

  std::string state(const std::string& below) const { return home() + "/.stado/" + below; }

  base::json registry() const;
  std::string registry_bytes() const;
  base::json cloud() const;                 // the null provider's state
  std::vector<std::string> objects() const; // ids that hold a host's objects
  void script(const base::json& script);    // its `script`
  void set_cloud(const std::string& key, const base::json& value);
  std::vector<std::string> calls() const;       // operations in order
  bool is_known(const std::string& name) const; // registered, marked or journaled
  bool has_key(const std::string& name) const;
  // Makes a declared host look old and its run area untouched for that long.
  void stand_idle(const std::string& name, machine& on, std::chrono::minutes since) const;

  machine fleet_host;
  std::vector<std::unique_ptr<machine>> waiting; // hosts of the cloud
  integration::process::environment extra;       // variables of each command

private:
  friend class running;

  integration::temp_dir folder_;
};

// The secret of the provider's credential item.
inline constexpr const char* cloud_secret = "null-cloud-secret-4711";

} // namespace siteagent::fleet::test
