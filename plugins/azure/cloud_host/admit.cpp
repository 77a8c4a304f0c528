// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/admit.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/cidr.hpp"
#include "plugins/azure/cloud_host/objects.hpp"
#include "plugins/azure/cloud_host/rule_writer.hpp"
#include "plugins/azure/cloud_host/site_network.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

base::error invalid(const std::string& why) {
  return make_error(
      reason::invalid, base::error_code::invalid, "admit the fleet's addresses: " + why
  );
}

std::string_view word_of(rule_change c) {
  return c == rule_change::created   ? "created"
         : c == rule_change::updated ? "updated"
                                     : "unchanged";
}

// The application group of a location. nullopt: it is not there, and not to be made.
base::result<std::optional<json>> take_application_group(
    const admission& a, const admission_order& order, const resource_id& id, bool make_it
) {
  const kind& k = kind_of(kind_id::application_security_group);
  const std::string location = order.ensure_location;
  if (!make_it || a.dry_run) {
    return arm::read_if_present(a.cloud.arm(), a.call, url_of(id, k), describe("look for", k, id));
  }
  making m{k, id, {}, true};
  m.body = [&] {
    return json::object(
        {{"location", location}, {"tags", order.tags}, {"properties", json::object()}}
    );
  };
  auto done = make(a.cloud, a.call, owner{}, m);
  if (!done) {
    return not_made(k, id, std::move(done).error());
  }
  return std::optional<json>(std::move(done->body));
}

base::result<void>
check_place(const resource_id& id, const json& group, const std::string& location) {
  const std::string where = normal_location(group["location"].string_or(""));
  if (where == location) {
    return {};
  }
  base::error e = make_error(
      reason::invalid,
      base::error_code::conflict,
      "the application security group " + id.name() + " lies in " + where + ", not in " + location +
          "; it was not changed (" + id.text() + ")"
  );
  add_detail(e, "resource", object_json(kind_of(kind_id::application_security_group), id));
  return e;
}

void warn_of_shadow(
    std::vector<std::string>& warnings, const rule_outcome& rule, const resource_id& group
) {
  for (const std::string& name : rule.shadowed_by) {
    warnings.push_back(
        "rule " + name + " of security group " + group.name() +
        " denies SSH before the fleet's rule can admit it; hosts there will not answer until it "
        "gets a higher number or an exception (" +
        group.text() + ")"
    );
  }
}

class admitter {
public:
  admitter(const admission& a, const admission_order& order) : a_(a), order_(order) {}

  base::result<json> run() {
    for (const std::string& location : order_.locations) {
      auto subnet = read_subnet(a_.cloud, a_.call, a_.s, location);
      if (!subnet) {
        return subnet.error();
      }
      subnets_.push_back(std::move(*subnet));
    }
    for (std::size_t i = 0; i < order_.locations.size(); ++i) {
      if (auto done = admit_location(order_.locations[i], subnets_[i]); !done) {
        return done.error();
      }
    }
    for (const admitted_host& host : order_.hosts) {
      if (auto done = admit_host(host); !done) {
        return base::with_context(done.error(), "readmit cloud host " + host.name);
      }
    }
    json warnings = json::array();
    for (const std::string& text : warnings_) {
      warnings.push_back(text);
    }
    return json::object(
        {{"locations", std::move(locations_)},
         {"hosts", std::move(hosts_)},
         {"warnings", std::move(warnings)}}
    );
  }

private:
  admitting_rule rule_for(std::string target) const {
    return {order_.group, order_.addresses, order_.port, std::move(target)};
  }

  base::result<void> admit_location(const std::string& location, const site_subnet& subnet) {
    const resource_id id = application_group_id(a_.s, order_.group, location);
    auto group = take_application_group(a_, order_, id, location == order_.ensure_location);
    if (!group) {
      return std::move(group).error();
    }
    if (*group) {
      if (auto placed = check_place(id, **group, location); !placed) {
        return placed;
      }
    }
    json row = json::object({{"location", location}});
    row.set("group_id", *group || !a_.dry_run ? json(id.text()) : json());
    row.set("rule", "none");
    if (!*group && location != order_.ensure_location) {
      warnings_.push_back(
          "the application security group " + id.name() +
          " is missing, so nothing was admitted to " + location + "; the next create there makes it"
      );
    } else if (subnet.security_group) {
      auto rule = bring_up_to_date(
          a_.cloud, a_.call, *subnet.security_group, rule_for(id.text()), a_.dry_run
      );
      if (!rule) {
        return std::move(rule).error();
      }
      row.set("rule", word_of(rule->change));
      row.set("rule_id", rule->id);
      row.set("priority", rule->priority);
      warn_of_shadow(warnings_, *rule, *subnet.security_group);
    }
    locations_.push_back(std::move(row));
    return {};
  }

  // Only a host whose machine is gone, too, may be without its group.
  base::result<void> judge_missing_group(const admitted_host& host, const host_objects& objects) {
    const auto machine = a_.cloud.compute().machine(a_.call, objects.machine);
    if (!machine) {
      return machine.error();
    }
    const std::string id =
        *machine ? (**machine).at({"properties", "vmId"}).string_or("") : std::string();
    const bool other = !host.vm_id.empty() && !base::equals_ignoring_case(id, host.vm_id);
    if (*machine && !other) {
      base::error e = make_error(
          reason::absent,
          base::error_code::permanent,
          "its security group " + objects.group.text() +
              " is gone and its machine is there; delete the host and create it again"
      );
      add_detail(
          e, "resource", object_json(kind_of(kind_id::network_security_group), objects.group)
      );
      return e;
    }
    warnings_.push_back(
        "cloud host " + host.name +
        " was not readmitted: its machine and its security group are "
        "gone; stado cloud host delete " +
        host.name + " --provider azure removes its entry"
    );
    return {};
  }

  base::result<void> admit_host(const admitted_host& host) {
    const auto objects = objects_of(a_.s, host.name, host.resources);
    if (!objects) {
      return objects.error();
    }
    std::string outcome = "absent";
    auto rule = bring_up_to_date(a_.cloud, a_.call, objects->group, rule_for(""), a_.dry_run);
    if (rule) {
      outcome = rule->change == rule_change::unchanged ? "unchanged" : "updated";
      warn_of_shadow(warnings_, *rule, objects->group);
      if (!rule->others.empty()) {
        warnings_.push_back(
            "security group " + objects->group.name() + " of cloud host " + host.name +
            " admits more than the fleet: " + base::join(rule->others, ", ")
        );
      }
    } else if (rule.error().code == base::error_code::not_found) {
      if (auto judged = judge_missing_group(host, *objects); !judged) {
        return judged;
      }
    } else {
      return std::move(rule).error();
    }
    hosts_.push_back(json::object({{"name", host.name}, {"outcome", outcome}}));
    return {};
  }

  const admission& a_;
  const admission_order& order_;
  std::vector<site_subnet> subnets_;
  json locations_ = json::array();
  json hosts_ = json::array();
  std::vector<std::string> warnings_;
};

} // namespace

base::result<std::vector<std::string>> read_addresses(const json& list) {
  std::vector<std::string> out;
  for (const json& item : list.items()) {
    const std::string text = item.string_or("");
    const auto parsed = cidr::parse(text);
    if (!parsed || parsed->v6 || text.find('/') != std::string::npos) {
      return invalid("'" + std::string(base::truncated(text, 80)) + "' is no IPv4 address");
    }
    if (std::find(out.begin(), out.end(), text) == out.end()) {
      out.push_back(text);
    }
  }
  if (out.empty()) {
    return invalid("no address is given; a rule without one would admit nobody or everybody");
  }
  return out;
}

base::result<admission_order> read_admission(const json& body) {
  admission_order out;
  auto addresses = read_addresses(body["addresses"]);
  if (!addresses) {
    return addresses.error();
  }
  out.addresses = std::move(*addresses);
  out.group = body["group"].string_or("");
  out.port = body["port"].integer().value_or(0);
  if (out.group.empty() || out.port < 1 || out.port > 65'535) {
    return invalid("the request names no group, or no port");
  }
  out.ensure_location = normal_location(body["ensure_location"].string_or(""));
  const auto add = [&](const std::string& location) {
    if (!location.empty() &&
        std::find(out.locations.begin(), out.locations.end(), location) == out.locations.end()) {
      out.locations.push_back(location);
    }
  };
  add(out.ensure_location);
  for (const json& item : body["locations"].items()) {
    add(normal_location(item.string_or("")));
  }
  for (const json& h : body["hosts"].items()) {
    out.hosts.push_back(
        {h["name"].string_or(""),
         normal_location(h["location"].string_or("")),
         h["vm_id"].string_or(""),
         h["resources"]}
    );
  }
  out.tags = body["tags"].is_object() ? body["tags"] : json::object();
  return out;
}

base::result<json> admit(const admission& a, const admission_order& order) {
  return admitter(a, order).run();
}

} // namespace siteagent::azure::cloud_host
