// SPDX-License-Identifier: MIT
// Admitting addresses: the location's group of applications, the rule in its subnet's group, and
// each host's own group. Only what differs is written.
#include "plugins/null/cloud_host/provider.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::null {

namespace {

using base::json;

constexpr int most_priority_conflicts = 5;
constexpr std::int64_t own_group_priority = 100;

const json* find_rule(const json& rules, std::string_view name) {
  for (const json& rule : rules.items()) {
    if (rule["name"].string_or("") == name) {
      return &rule;
    }
  }
  return nullptr;
}

void set_rule(json& state, const std::string& group, const json& rule) {
  json* object = state.member_ref("objects").find(group);
  if (object == nullptr) {
    return;
  }
  json& rules = object->member_ref("rules");
  for (json& each : rules.items()) {
    if (each["name"] == rule["name"]) {
      each = rule;
      return;
    }
  }
  rules.push_back(rule);
}

// Does another inbound rule hold the priority?
bool is_taken(const json& rules, const json& due) {
  const auto& all = rules.items();
  return std::any_of(all.begin(), all.end(), [&](const json& rule) {
    return !(rule["name"] == due["name"]) && rule["direction"] == due["direction"] &&
           rule["priority"] == due["priority"];
  });
}

class admission {
public:
  explicit admission(scene& s)
      : s_(s), group_name_(s.body()["group"].string_or("")),
        port_(s.body()["port"].integer().value_or(22)) {}

  json run() {
    const std::string ensured = s_.body()["ensure_location"].string_or("");
    for (const json& each : s_.body()["locations"].items()) {
      const std::string location = each.string_or("");
      s_.read_nothing(kind::subnet, location);
      (void)get_location(s_.state(), location);
    }
    json locations = json::array();
    for (const json& each : s_.body()["locations"].items()) {
      const std::string location = each.string_or("");
      const bool is_ensured = base::equals_ignoring_case(location, ensured);
      locations.push_back(admit_location(location, is_ensured));
    }
    json hosts = json::array();
    for (const json& host : s_.body()["hosts"].items()) {
      hosts.push_back(json::object({{"name", host["name"]}, {"outcome", admit_host(host)}}));
    }
    return json::object({{"locations", locations}, {"hosts", hosts}, {"warnings", warnings_}});
  }

private:
  json admit_location(const std::string& location, bool is_ensured);
  std::string
  write_subnet_rule(const std::string& group, const std::string& destination, json& answer);
  std::string admit_host(const json& host);
  void warn_of_shadows(const json& rules, const json& own);

  scene& s_;
  const std::string group_name_;
  const std::int64_t port_;
  json warnings_ = json::array();
};

json admission::admit_location(const std::string& location, bool is_ensured) {
  const std::string name = group_name_ + "-" + base::to_lower(location);
  const std::string id = id_of(kind::application_group, name);
  json answer = json::object({{"location", location}, {"group_id", id}, {"rule", "none"}});
  if (!s_.read(kind::application_group, name)) {
    if (!is_ensured) {
      warnings_.push_back("there is no group " + name + "; nothing was admitted in its location");
      return answer.set("group_id", json());
    }
    if (s_.is_dry_run()) {
      answer.set("group_id", json());
    } else {
      s_.put(kind::application_group, name, [&](const json&) {
        return json::object({{"location", location}, {"tags", s_.body()["tags"]}});
      });
    }
  }
  const json state = s_.state();
  const std::string subnet_group = get_location(state, location)["subnet_group"].string_or("");
  if (!subnet_group.empty()) {
    answer.set("rule", write_subnet_rule(subnet_group, id, answer));
  }
  return answer;
}

// A lost race for a priority is another look and another choice.
std::string admission::write_subnet_rule(
    const std::string& group, const std::string& destination, json& answer
) {
  const std::string id = group + "/rules/" + group_name_;
  for (int attempt = 1;; ++attempt) {
    const std::string short_name = group.substr(group.rfind('/') + 1);
    const auto object = s_.read(kind::group, short_name);
    if (!object) {
      throw sagent::failure(
          SAGENT_E_NOT_FOUND, "the subnet's security group " + group + " is gone"
      );
    }
    const json& rules = (*object)["rules"];
    const json* own = find_rule(rules, group_name_);
    if (own != nullptr && !((*own)["destination"] == json(destination))) {
      throw sagent::failure(
          SAGENT_E_CONFLICT,
          "the rule " + group_name_ + " in " + group + " is another fleet's: it lets in to " +
              (*own)["destination"].string_or("") + "; it was not touched"
      );
    }
    const auto priority = own != nullptr ? (*own)["priority"].integer() : free_priority(rules);
    if (!priority) {
      throw sagent::failure(
          SAGENT_E_REFUSED,
          "no priority from 100 to 4096 is free for the rule " + group_name_ + " in " + group
      );
    }
    const json due =
        admitting_rule(group_name_, s_.body()["addresses"], port_, destination, *priority);
    answer.set("priority", *priority).set("rule_id", id);
    if (attempt == 1) {
      warn_of_shadows(rules, due);
    }
    const char* outcome = own == nullptr ? "created" : "updated";
    if (own != nullptr && is_same_rule(*own, due)) {
      return "unchanged";
    }
    if (s_.is_dry_run()) {
      return outcome;
    }
    try {
      bool is_lost = false;
      s_.write(kind::rule, id, group_name_, [&](json& content) {
        is_lost = is_taken(content["objects"][group]["rules"], due);
        if (!is_lost) {
          set_rule(content, group, due);
        }
      });
      if (!is_lost) {
        return outcome;
      }
      throw sagent::failure(
          SAGENT_E_CONFLICT,
          "the rule " + group_name_ + " was not written: another one took its priority"
      );
    } catch (const told_to_stop&) {
      throw;
    } catch (const sagent::failure& f) {
      if (f.code != SAGENT_E_CONFLICT || own != nullptr || attempt == most_priority_conflicts) {
        throw;
      }
    }
  }
}

// An inbound deny with a lower number that covers this port from these sources.
void admission::warn_of_shadows(const json& rules, const json& own) {
  for (const json& rule : rules.items()) {
    const bool is_before =
        rule["priority"].integer().value_or(0) < own["priority"].integer().value_or(0);
    const std::string port = rule["port"].string_or("");
    const bool covers_port = port == "*" || rule["port"].integer() == port_;
    const auto& sources = rule["sources"].items();
    const bool covers_source = std::any_of(sources.begin(), sources.end(), [&](const json& each) {
      const auto& ours = own["sources"].items();
      return each == json("*") || std::find(ours.begin(), ours.end(), each) != ours.end();
    });
    if (rule["direction"].string_or("") == "inbound" && rule["access"].string_or("") == "deny" &&
        is_before && covers_port && covers_source) {
      warnings_.push_back(
          "the rule " + rule["name"].string_or("") + " denies SSH before " + group_name_ +
          " admits it"
      );
    }
  }
}

std::string admission::admit_host(const json& host) {
  const std::string name = host["name"].string_or("");
  const host_names names(name);
  const auto group = s_.read(kind::group, names.group);
  const auto machine = s_.read(kind::machine, names.machine);
  const std::string known = host["vm_id"].string_or("");
  if (machine && !known.empty() && (*machine)["vm_id"].string_or("") != known) {
    warnings_.push_back(name + " is another machine of that name now; it was not admitted");
    return "absent";
  }
  if (!group && !machine) {
    warnings_.push_back(name + " has neither machine nor security group; it was skipped");
    return "absent";
  }
  if (!group) {
    throw sagent::failure(
        SAGENT_E_PERMANENT,
        name + " cannot be admitted: its security group " + names.group +
            " is gone, but its machine stands; delete the host and create it again"
    );
  }
  const json due =
      admitting_rule(group_name_, s_.body()["addresses"], port_, "*", own_group_priority);
  const json* own = find_rule((*group)["rules"], group_name_);
  if (own != nullptr && is_same_rule(*own, due)) {
    return "unchanged";
  }
  if (!s_.is_dry_run()) {
    const std::string id = id_of(kind::group, names.group);
    s_.write(kind::rule, id + "/rules/" + group_name_, group_name_, [&](json& content) {
      set_rule(content, id, due);
    });
  }
  return "updated";
}

} // namespace

void null_hosts::admit_addresses(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "admit_addresses", call, request);
  log_in(s);
  s.finish(admission(s).run());
}

} // namespace siteagent::null
