// SPDX-License-Identifier: MIT
// How many calls to Azure the agent needs, counted by the emulator: a budget is a promise to
// operators whose subscription others use, too.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace siteagent::integration {
namespace {

bool ends_with(const std::string& text, std::string_view tail) {
  return text.size() >= tail.size() &&
         text.compare(text.size() - tail.size(), tail.size(), tail) == 0;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Segments behind the subscription: 2 for a group, 6 for an object of a group, ...
std::size_t depth(const std::string& path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) - 2;
}

// What a call was for.
std::string purpose_of(const journal_line& l) {
  if (contains(l.path, "/oauth2/")) {
    return "token";
  }
  if (l.method != "GET") {
    return l.method;
  }
  if (contains(l.path, "/operations/") || contains(l.path, "/operationresults/")) {
    return "poll";
  }
  if (contains(l.path, "/publishers/")) {
    return "image read";
  }
  if (ends_with(l.path, "/resources")) {
    return contains(l.path, "/resourceGroups/") ? "group listing" : "tag query";
  }
  if (ends_with(l.path, "/resourcegroups")) {
    return "tagged groups";
  }
  for (const auto& [tail, word] : std::map<std::string, std::string>{
           {"/skus", "size read"},
           {"/usages", "quota read"},
           {"/locations", "location read"},
           {"/vmSizes", "figure read"}}) {
    if (ends_with(l.path, tail)) {
      return word;
    }
  }
  if (depth(l.path) == 0) {
    return "subscription read";
  }
  if (depth(l.path) == 2 && contains(l.path, "/resourceGroups/")) {
    return "group read";
  }
  for (const auto& [type, word] : std::map<std::string, std::string>{
           {"virtualMachines", "machine"},
           {"publicIPAddresses", "address"},
           {"networkInterfaces", "interface"},
           {"disks", "disk"}}) {
    if (contains(l.path, "/" + type + "/") && depth(l.path) == 6) {
      return word + " read";
    }
    if (ends_with(l.path, "/" + type) && depth(l.path) == 3) {
      return word + (contains(l.query, "statusOnly") ? " state list" : " list");
    }
  }
  return "GET " + l.path;
}

using counts = std::map<std::string, int>;

// All calls but tokens and polls, by purpose.
counts calls_since(const site& s, std::size_t from) {
  counts out;
  const auto lines = s.azure().journal();
  for (std::size_t i = from; i < lines.size(); ++i) {
    const std::string purpose = purpose_of(lines[i]);
    if (purpose != "token" && purpose != "poll") {
      ++out[purpose];
    }
  }
  return out;
}

int polls(const site& s) {
  int n = 0;
  for (const journal_line& l : s.azure().journal()) {
    n += purpose_of(l) == "poll" ? 1 : 0;
  }
  return n;
}

TEST(budget, two_dedicated_creates_read_catalogues_once_and_objects_not_at_all) {
  const site s;
  const std::string a = s.order_machine("web 1");
  const std::string b = s.order_machine("web 2");
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(a), "done") << run.log;
  ASSERT_EQ(s.order_state(b), "done") << run.log;
  const counts expected{
      // Each order.
      {"tag query", 2 + 1},
      {"group read", 2},
      {"PUT", 14},
      {"machine read", 2},
      {"address read", 2},
      // Both together.
      {"location read", 1},
      {"size read", 1},
      {"image read", 2}, // which version is the latest, and what it is
      {"quota read", 2}, // of machines and of the network
      // The sweep at the start: what is tagged, and which machines there are.
      {"tagged groups", 1},
      {"machine list", 1},
  };
  EXPECT_EQ(calls_since(s, 0), expected);
  // Network, subnet, address, security group, machine: an interface is made at once.
  EXPECT_EQ(polls(s), 10);
}

TEST(budget, a_create_in_a_shared_group_lists_it_once_instead_of_reading_names) {
  site_options options;
  options.settings = "      default_resource_group: shared\n";
  options.azure_seed =
      *json::parse(R"({"resourceGroups":[{"name":"shared","location":"westeurope"}]})");
  const site s(options);
  const std::size_t from = s.azure().journal().size();
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  ASSERT_EQ(s.order_state(order), "done") << run.log;
  counts seen = calls_since(s, from);
  --seen["tag query"]; // the sweep's
  for (const char* other :
       {"location read",
        "size read",
        "image read",
        "quota read",
        "tagged groups",
        "machine list"}) {
    seen.erase(other);
  }
  const counts expected{
      {"tag query", 1}, {"group listing", 1}, {"PUT", 6}, {"machine read", 1}, {"address read", 1}};
  EXPECT_EQ(seen, expected);
}

// A site with that many machines in both worlds, and small pages.
class many_machines {
public:
  static constexpr int machines = 120;
  static constexpr int page_size = 25;
  static constexpr int pages = 5;

  static site_options options() {
    site_options o;
    o.azure_seed = json::object({{"machines", machines}, {"page_size", page_size}});
    json resources = json::array();
    for (int i = 0; i < machines; ++i) {
      const std::string name = "vm-" + std::to_string(i);
      resources.push_back(json::object({{"name", name}, {"state", "OK"}}));
    }
    o.waldur_seed = json::object({{"resources", resources}});
    return o;
  }

  // Waldur learns where the machines are.
  many_machines() : s_(options()) {
    const json vms = s_.azure().inventory()["virtualMachines"];
    json resources = s_.waldur().inventory()["resources"];
    json seeded = json::array();
    for (std::size_t i = 0; i < resources.size(); ++i) {
      seeded.push_back(json::object(
          {{"uuid", resources[i]["uuid"]},
           {"name", resources[i]["name"]},
           {"state", "OK"},
           {"backend_id", vms[i]["id"]}}
      ));
    }
    const auto answer = call(
        "POST", s_.waldur().url() + "/_emu/seed", json::object({{"resources", seeded}}), staff_token
    );
    EXPECT_LT(answer.status, 300) << answer.body.dump();
  }

  const site& operator*() const { return s_; }

private:
  site s_;
};

TEST(budget, metering_many_machines_is_pages_and_a_constant) {
  const many_machines many;
  const site& s = *many;
  const std::size_t from = s.azure().journal().size();
  const agent_run run = s.run_agent("report");
  ASSERT_EQ(run.exit_code, 0) << run.log;
  const counts expected{{"machine list", many_machines::pages}, {"figure read", 1}};
  EXPECT_EQ(calls_since(s, from), expected) << run.log;
}

TEST(budget, the_status_of_many_machines_is_pages_and_a_constant) {
  const many_machines many;
  const site& s = *many;
  const std::size_t from = s.azure().journal().size();
  const agent_run run = s.run_agent("membership_sync");
  ASSERT_EQ(run.exit_code, 0) << run.log;
  counts seen = calls_since(s, from);
  const counts expected{
      {"machine list", many_machines::pages},
      {"machine state list", many_machines::pages},
      {"interface list", many_machines::pages},
      {"address list", 1},
  };
  EXPECT_EQ(seen, expected) << run.log;
}

} // namespace
} // namespace siteagent::integration
