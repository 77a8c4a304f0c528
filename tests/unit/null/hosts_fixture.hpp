// SPDX-License-Identifier: MIT
// The null provider of cloud hosts through the host, as the fleet's tool uses it: its state file
// written and read by the tests.
#pragma once

#include "core/host/instance.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

namespace siteagent::base {

inline void PrintTo(const json& j, std::ostream* out) {
  *out << j.dump();
}

} // namespace siteagent::base

namespace null_test {

namespace host = siteagent::host;
namespace base = siteagent::base;
using base::error;
using base::error_code;
using base::json;
using host::operation;

inline json parse(const std::string& text) {
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : json();
}

inline json texts(const std::vector<std::string>& all) {
  json list = json::array();
  for (const std::string& each : all) {
    list.push_back(each);
  }
  return list;
}

class null_cloud : public testing::Test {
protected:
  null_cloud() {
    std::string pattern = (std::filesystem::temp_directory_path() / "null_hosts.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    set_state(R"({"script":{}})");
  }

  ~null_cloud() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return folder_ + "/state.json"; }

  std::string text_of(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void set_state(const std::string& text) const { std::ofstream(file()) << text; }

  json state() const { return parse(text_of(file())); }

  void change(const std::function<void(json&)>& edit) const {
    json all = state();
    edit(all);
    set_state(all.pretty());
  }

  // Members of `script`, over what is there.
  void script(const std::string& members) const {
    change([&](json& all) {
      const json given = parse(members);
      for (const auto& [key, value] : given.members()) {
        all.member_ref("script").set(key, value);
      }
    });
  }

  json object(const std::string& id) const { return state()["objects"][id]; }

  // Ids of the objects there are, of one host when named.
  std::vector<std::string> objects() const {
    std::vector<std::string> ids;
    const json all = state();
    for (const auto& [id, each] : all["objects"].members()) {
      if (each["kind"] != json("application-security-group")) {
        ids.push_back(id);
      }
    }
    return ids;
  }

  // The operations in the call log.
  std::vector<std::string> calls() const {
    std::vector<std::string> ops;
    std::ifstream in(file() + ".calls");
    for (std::string line; std::getline(in, line);) {
      ops.push_back(parse(line)["op"].string_or(""));
    }
    return ops;
  }

  json settings(json options = json::object()) const {
    return json::object(
        {{"bindings", json::object({{"state_file", file()}, {"vm_username", "builder"}})},
         {"credentials", json::object()},
         {"options", std::move(options)},
         {"limits",
          json::object(
              {{"operation_s", operation_s_}, {"rollback_retry_s", retry_s_}, {"poll_ms", 1}}
          )}}
    );
  }

  std::shared_ptr<host::instance> open_with(
      const json& given, std::vector<std::pair<std::string, host::secret_reader>> secrets = {}
  ) const {
    auto plugin = host::load_plugin("null", host::search_path({SITEAGENT_PLUGINS}));
    EXPECT_TRUE(plugin) << plugin.error().message;
    auto opened = host::instance::open(
        *plugin,
        {.offering_name = {},
         .settings = siteagent::config::to_value(given),
         .config_file = "profile.json",
         .key_path = "null",
         .extension = SAGENT_EXT_CLOUD_HOST_PROVIDER,
         .secrets = std::move(secrets)}
    );
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *opened : nullptr;
  }

  using emitted = base::result<std::vector<json>>;

  // Notes "<phase>:<verb>:<kind>" of each checkpoint; at_checkpoint_ may stop it.
  emitted call(operation op, const json& body, bool dry_run = false) {
    if (!open_) {
      open_ = open_with(settings(options_));
    }
    told_.clear();
    host::call_options o;
    o.stop = stop_.get_token();
    o.checkpoint = [this](const json& what) -> base::result<void> {
      const std::string point = what["phase"].string_or("") + ":" + what["verb"].string_or("") +
                                ":" + what["kind"].string_or("");
      told_.push_back(point);
      return at_checkpoint_ ? at_checkpoint_(point) : base::result<void>();
    };
    return open_->call(
        op, {.target = {}, .body = body, .idempotency_key = {}, .dry_run = dry_run}, o
    );
  }

  json answer(operation op, const json& body, bool dry_run = false) {
    const emitted all = call(op, body, dry_run);
    EXPECT_TRUE(all) << all.error().message << all.error().detail;
    EXPECT_TRUE(!all || all->size() == 1);
    return all && !all->empty() ? all->front() : json();
  }

  error failure(operation op, const json& body, bool dry_run = false) {
    const emitted all = call(op, body, dry_run);
    EXPECT_FALSE(all) << "it succeeded";
    return all ? error{} : all.error();
  }

  json admission(const std::string& location = "here") const {
    return json::object(
        {{"addresses", texts({"198.51.100.4", "198.51.100.9"})},
         {"group", "stado-cloud-hosts"},
         {"port", 22},
         {"ensure_location", location},
         {"locations", texts({location})},
         {"hosts", json::array()},
         {"tags", json::object()}}
    );
  }

  json host_body(const std::string& name, const std::string& location = "here") const {
    return json::object(
        {{"name", name},
         {"location", location},
         {"size", "medium"},
         {"disk_gb", 64},
         {"login", "builder"},
         {"public_key", "ssh-ed25519 AAAA " + name},
         {"user_data", "#cloud-config\n"},
         {"addresses", texts({"198.51.100.4"})},
         {"group", "stado-cloud-hosts"},
         {"port", 22},
         {"group_id", "/null/application-security-group/stado-cloud-hosts-" + location},
         {"tags", json::object({{"stado_cloud_host", name}, {"stado_created", "now"}})}}
    );
  }

  static json known(const std::string& name, const json& vm_id) {
    return json::object(
        {{"name", name},
         {"vm_id", vm_id},
         {"resources", json()},
         {"location", "here"},
         {"tag", "stado_cloud_host"}}
    );
  }

  // A host that is there, with the group of its location.
  json make(const std::string& name) {
    answer(operation::admit_addresses, admission());
    return answer(operation::create_host, host_body(name));
  }

  std::string folder_;
  json options_ = json::object();
  std::int64_t operation_s_ = 1200;
  std::int64_t retry_s_ = 240;
  std::shared_ptr<host::instance> open_;
  std::stop_source stop_;
  std::vector<std::string> told_;
  std::function<base::result<void>(const std::string&)> at_checkpoint_;
};

} // namespace null_test
