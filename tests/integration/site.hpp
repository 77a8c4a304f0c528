// SPDX-License-Identifier: MIT
// A whole provider site for a test: azure-emulator, waldur-emulator and the agent, as processes,
// and the portal's and the staff's clicks. The clouds' truth is read from the emulators'
// inventories and journals.
#pragma once

#include "core/base/json.hpp"
#include "core/net/transport.hpp"
#include "tests/integration/process.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::integration {

using base::json;

inline constexpr std::string_view offering_uuid = "e2ef0000000000000000000000000201";
inline constexpr std::string_view project_uuid = "e2ef0000000000000000000000000301";
inline constexpr std::string_view key_uuid = "e2ef0000000000000000000000000501";
inline constexpr std::string_view agent_token = "e2e0000000000000000000000000token001";
inline constexpr std::string_view staff_token = "e2e0000000000000000000000000token002";
inline constexpr std::string_view subscription = "11111111-1111-1111-1111-111111111111";
inline constexpr std::string_view ssh_key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH/khGbfCXILDn6LrFm3cLH3D48qEGZ/B1rxUZ+ZrELE "
    "someone@example.com";

struct journal_line {
  std::string method;
  std::string path;
  std::string query;
  int status = 0;
  bool is_faulted = false; // answered by the fault script
  std::string fault;       // what the script did, such as "before hang"

  bool is_write() const { return method != "GET" && method != "HEAD"; }
};

// One emulator as a process.
class emulator {
public:
  emulator(
      const std::string& program,
      const temp_dir& dir,
      const std::string& name,
      const std::vector<std::string>& extra
  );

  std::string url() const { return scheme_ + "://127.0.0.1:" + std::to_string(port_); }

  // Everything as freshly started; the journal goes on.
  void reset() const;
  // Keys of the emulator's seed; each replaces what is there.
  void seed(const json& document) const;

  json inventory() const;
  // The lines from that size of the journal on.
  std::vector<journal_line> journal(std::uintmax_t from = 0) const;

  std::uintmax_t journal_size() const { return std::filesystem::file_size(journal_); }

  // Where the journal is, to wait for changes.
  const std::string& directory() const { return directory_; }

  // Writes (PUT, POST, PATCH, DELETE) other than those to the token endpoint.
  std::vector<journal_line> writes() const;
  // {"rules":[...]} of the fault script.
  void set_faults(const json& rules) const;

  void clear_faults() const { set_faults(json::array()); }

  void advance_clock(int seconds) const;
  // Waits until a line of the journal fits; false at the deadline.
  bool wait_for_journal(
      const std::function<bool(const journal_line&)>& fits,
      std::chrono::seconds deadline = std::chrono::seconds(30)
  ) const;

private:
  std::string directory_;
  std::string journal_;
  std::unique_ptr<process> process_;
  std::string scheme_;
  int port_ = 0;
};

struct http_answer {
  int status = 0;
  json body;
};

http_answer call(
    const std::string& method,
    const std::string& url,
    const json& body = {},
    std::string_view waldur_token = {}
);

struct site_options {
  json azure_seed;
  json waldur_seed;
  std::string settings;  // more lines of backend_settings, indented by six blanks
  std::string offerings; // more offerings, as YAML list items indented by two blanks
  std::string top;       // more top-level lines
  std::string keys = {}; // more keys of the offering, indented by four blanks
  std::vector<std::string> waldur_arguments = {}; // of waldur-emulator
  std::vector<std::string> allowed_ssh_ranges{"203.0.113.0/24"};
};

struct agent_run {
  int exit_code = -1;
  std::string log;         // of a subcommand: what it printed on stdout
  std::string errors = {}; // of a subcommand: stderr
};

class site {
public:
  explicit site(site_options options = {});

  const emulator& azure() const { return *azure_; }

  const emulator& waldur() const { return *waldur_; }

  const temp_dir& dir() const { return dir_; }

  const std::string& config_file() const { return config_file_; }

  std::string default_offering_yaml(
      std::string_view name, std::string_view uuid, std::string_view resource_manager = {}
  ) const;
  void write_config(const std::string& offerings, const std::string& top = "") const;

  // The portal.
  std::string order_machine(
      const std::string& name, json attributes = {}, std::string_view offering = offering_uuid
  ) const; // the order's uuid
  std::string terminate(const std::string& resource) const;
  json order(const std::string& uuid) const;
  std::string order_state(const std::string& uuid) const;
  std::string resource_of(const std::string& order) const;
  json resource(const std::string& uuid) const;
  void cancel(const std::string& order) const;
  void set_paused(const std::string& resource, bool paused) const;
  void set_downscaled(const std::string& resource, bool downscaled) const;

  // The agent.
  std::vector<std::string> agent_arguments(const std::string& mode, bool once = true) const;
  agent_run run_agent(
      const std::string& mode = "order_process",
      const process::environment& extra = {},
      std::chrono::seconds deadline = std::chrono::seconds(120)
  ) const;
  std::unique_ptr<process> start_agent(
      const std::string& mode = "order_process",
      bool once = true,
      const process::environment& extra = {}
  ) const;

  // A subcommand: its words without the file and the plugins; `input` is what it reads.
  agent_run run_command(std::vector<std::string> words, const std::string& input = "") const;

  // The cloud.
  // A call as somebody else of the subscription would make it.
  http_answer call_azure(
      const std::string& method,
      const std::string& path,
      const std::string& api_version,
      const json& body = {}
  ) const;
  std::size_t machine_count() const;
  // Every object of the subscription as "type name" lines; empty = nothing bills.
  std::vector<std::string> cloud_objects() const;

  void set_plugin_dir(const std::string& dir) { plugin_dir_ = dir; }

private:
  temp_dir dir_;
  std::unique_ptr<emulator> azure_;
  std::unique_ptr<emulator> waldur_;
  std::string config_file_;
  std::string plugin_dir_;
  site_options options_;
  mutable int runs_ = 0;
};

} // namespace siteagent::integration
