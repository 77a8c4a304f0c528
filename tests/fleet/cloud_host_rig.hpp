// SPDX-License-Identifier: MIT
// A fleet in a folder: profile, registry, credential store, a cloud in memory, and hosts that are
// folders of this machine, where the fleet's real commands and scripts run.
#pragma once

#include "core/fleet/cloud_host/create.hpp"
#include "core/fleet/runner.hpp"
#include "tests/fleet/fake_provider.hpp"
#include "tests/integration/process.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::fleet::test {

// Everything a verb said.
class recorder final : public cloud_host::narrator {
public:
  void say(std::string_view line) override;
  void step(std::string_view what) override;
  void waiting(std::string_view what) override;
  void warn(std::string_view line) override;

  std::vector<std::string> said;
  std::vector<std::string> steps;
  std::vector<std::string> waits;
  std::vector<std::string> warnings;

  bool has_warned_of(std::string_view part) const;

private:
  mutable std::mutex mutex_;
};

// Real time, with a wall clock that can be moved.
class shifted_clock final : public base::clock {
public:
  base::steady_time steady() const override { return base::real_clock().steady(); }

  base::wall_time wall() const override { return base::real_clock().wall() + shift_; }

  void shift(std::chrono::seconds by) { shift_ += by; }

private:
  std::chrono::seconds shift_{0};
};

// Each target has a home folder below `root`, made with the shims of a healthy host at its first
// use.
class folder_channel final : public channel {
public:
  explicit folder_channel(std::filesystem::path root) : root_(std::move(root)) {}

  std::filesystem::path home(const std::string& name);

  std::filesystem::path work(const std::string& name) { return home(name) / ".stado" / "work"; }

  void shim(const std::string& name, const std::string& program, const std::string& body);
  // The next `times` commands on that host fail so.
  void fail(const std::string& name, base::error e, unsigned times = 1'000'000);
  void heal(const std::string& name);
  // Runs before every command on that host.
  void before(const std::string& name, std::function<void()> what);
  std::vector<std::string> calls() const; // "<host> <first words>"

  base::result<remote_answer> run_words(
      const target& host, const std::vector<std::string>& words, const channel_options& o
  ) override;
  base::result<remote_answer> run_script(
      const target& host,
      std::string_view script,
      const std::vector<std::string>& parameters,
      const channel_options& o
  ) override;
  base::result<std::string> pinned_host_key(const target& host) override;
  base::result<void> forget_host_key(std::string_view target_name) override;
  base::result<transport_words> words_for_copy(const target& host) override;

  std::vector<std::string> forgotten;

private:
  base::result<remote_answer>
  run(const target& host,
      const std::vector<std::string>& words,
      std::string_view input,
      const channel_options& o);

  std::filesystem::path root_;
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;

  struct fault {
    base::error error;
    unsigned times;
  };

  std::map<std::string, fault> faults_;
  std::map<std::string, std::function<void()>> hooks_;
};

// The programs of this machine, but for the address it has.
class local_programs final : public runner {
public:
  base::result<finished> run(const command& c, std::stop_token stop) override;

  std::string own_address = "198.51.100.4\n";
  bool keygen_fails = false;
};

class fleet_rig {
public:
  // Shares the registry of another rig when one is given.
  explicit fleet_rig(const fleet_rig* sharing = nullptr);

  cloud_host::context at(); // fresh, with the profile as it is now
  cloud_host::create_request request(const std::string& name = "b1") const;
  base::result<cloud_host::create_report> create(const std::string& name = "b1");

  base::json registry() const;
  std::string registry_bytes() const;
  void edit_registry(const std::function<void(base::json&)>& edit);
  std::string credentials_bytes() const;
  std::optional<target> find(const std::string& name) const;
  bool has_key(const std::string& name) const;
  bool is_journaled(const std::string& name) const;
  bool is_marked(const std::string& name) const;
  // A declared host with its machine in the cloud, its key and its folder.
  void declare(const std::string& name, const std::string& hourly = "0.384");
  // Ends an idle host's patience.
  void stand_idle(const std::string& name, std::chrono::minutes since);

  void set(const std::string& path, const std::string& value);
  // Permission to write the registry, the credential store.
  void forbid_registry_writes(bool forbid = true);

  std::shared_ptr<integration::temp_dir> store; // of the registry
  integration::temp_dir folder;
  fake::cloud cloud;
  recorder talk;
  shifted_clock clock;
  local_programs programs;
  folder_channel hosts;
  std::stop_source stop;
  std::stop_source give_up;
  std::string local_hostname = "control-1";

private:
  std::string profile_file() const;

  base::json settings_;
  std::optional<fleet::profile> profile_;
  std::optional<registry_store> registry_;
  std::optional<credential_store> credentials_;
  std::optional<fleet_keys> keys_;
};

base::error failure(base::error_code code, std::string message);

} // namespace siteagent::fleet::test
