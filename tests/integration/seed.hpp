// SPDX-License-Identifier: MIT
// What the tests of the description's sentences share.
#pragma once

#include "tests/integration/expect.hpp"
#include "tests/integration/site.hpp"

#include <map>
#include <regex>
#include <string>
#include <vector>

namespace siteagent::integration {

// The type of the object a path names, "virtualMachines" or "resourcegroups", and the action after
// it, if any: "virtualMachines/start".
inline std::string type_of(const std::string& path) {
  static const std::regex object(
      "/providers/Microsoft\\.(?:Compute|Network)/(\\w+)/[^/]+(?:/(\\w+))?(?:/[^/]+)?$",
      std::regex::icase
  );
  std::smatch m;
  if (std::regex_search(path, m, object)) {
    return m[2].matched ? m[1].str() + "/" + m[2].str() : m[1].str();
  }
  return "resourceGroups";
}

inline std::vector<std::string>
written(const site& s, const std::string& method, std::size_t from = 0) {
  std::vector<std::string> out;
  const std::vector<journal_line> writes = s.azure().writes();
  for (std::size_t i = from; i < writes.size(); ++i) {
    if (writes[i].method == method) {
      out.push_back(type_of(writes[i].path));
    }
  }
  return out;
}

inline std::string machine_of(const site& s, const std::string& order) {
  return s.resource(s.resource_of(order))["backend_id"].string_or("");
}

inline std::string power_of(const site& s) {
  const json all = s.azure().inventory();
  const json& view = all["virtualMachines"][0].at({"properties", "instanceView", "statuses"});
  for (const json& status : view.items()) {
    const std::string code = status["code"].string_or("");
    if (code.starts_with("PowerState/")) {
      return code.substr(11);
    }
  }
  return "";
}

// Type -> amount, as booked for this resource.
inline std::map<std::string, std::string> usage_of(const site& s, const std::string& order) {
  std::map<std::string, std::string> out;
  const auto answer = call(
      "GET",
      s.waldur().url() + "/api/marketplace-component-usages/?resource_uuid=" + s.resource_of(order),
      {},
      staff_token
  );
  for (const json& u : answer.body.items()) {
    out[u["type"].string_or("")] = u["usage"].number_text().value_or("");
  }
  return out;
}

inline site_options with(const std::string& settings) {
  site_options options;
  options.settings = settings;
  return options;
}

// A site with one machine made by an order.
struct one_machine {
  explicit one_machine(site_options options = {})
      : s(std::move(options)), order(s.order_machine("web 1")) {
    const agent_run run = s.run_agent();
    EXPECT_EQ(s.order_state(order), "done") << run.log;
  }

  json machine() const { return s.azure().inventory()["virtualMachines"][0]; }

  site s;
  std::string order;
};

} // namespace siteagent::integration
