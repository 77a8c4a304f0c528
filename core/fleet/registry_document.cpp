// SPDX-License-Identifier: MIT
#include "core/fleet/registry_document.hpp"

#include "core/base/text.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::fleet {

namespace {

constexpr std::string_view creating_key = "cloud_hosts_creating";

std::optional<base::decimal> hour_of(const base::json& value) {
  return value.is_number() ? parse_money(*value.number_text(), rounding::up) : std::nullopt;
}

std::string text_of(const base::json& value, std::string_view key) {
  return value[key].string_or("");
}

cloud_declaration declaration_of(const base::json& cloud) {
  cloud_declaration c;
  c.provider = base::to_lower(base::trim(text_of(cloud, "provider")));
  c.location = text_of(cloud, "location");
  c.size = text_of(cloud, "size");
  c.disk_gb = cloud["disk_gb"].integer().value_or(0);
  c.hourly = hour_of(cloud["hourly_usd"]);
  c.priced_where = text_of(cloud, "priced_where");
  c.idle_minutes = cloud["idle_minutes"].integer().value_or(0);
  c.address = text_of(cloud, "address");
  c.vm_id = text_of(cloud, "vm_id");
  c.created_at = text_of(cloud, "created_at");
  c.resources = cloud["resources"];
  c.host_key = text_of(cloud, "host_key");
  return c;
}

target target_of(const base::json& entry) {
  target t;
  t.name = text_of(entry, "name");
  t.kind = text_of(entry, "kind");
  t.ssh = text_of(entry, "ssh");
  for (const base::json& name : entry["hostnames"].items()) {
    t.hostnames.push_back(name.string_or(""));
  }
  t.release_platform = text_of(entry, "release_platform");
  if (entry["cloud"].is_object()) {
    t.cloud = declaration_of(entry["cloud"]);
  }
  return t;
}

const base::json* find_entry(const base::json& document, std::string_view name) {
  const std::vector<base::json>& entries = document["targets"].items();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const base::json& entry) {
    return entry["name"].string() == name;
  });
  return found == entries.end() ? nullptr : &*found;
}

base::json money(const std::optional<base::decimal>& amount) {
  return amount ? base::json::number(format_money(*amount)) : base::json();
}

bool is_small_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// One entry of cloud_hosts.admit_from as the channel needs it; "" when it will do.
std::string fault_of_admitting(const base::json& document, const base::json& name) {
  const auto text = name.string();
  const base::json* entry = text ? find_entry(document, *text) : nullptr;
  if (entry == nullptr) {
    return "names " + name.dump() + ", which is no target of the registry";
  }
  if ((*entry)["kind"].string() != "local") {
    return "names '" + std::string(*text) +
           "', whose kind is not 'local': no host channel reaches it";
  }
  return {};
}

} // namespace

std::vector<target> targets_of(const base::json& document) {
  std::vector<target> targets;
  for (const base::json& entry : document["targets"].items()) {
    targets.push_back(target_of(entry));
  }
  return targets;
}

std::optional<target> find_target(const base::json& document, std::string_view name) {
  const base::json* entry = find_entry(document, name);
  return entry == nullptr ? std::nullopt : std::optional(target_of(*entry));
}

std::vector<target> cloud_hosts_of(const base::json& document, std::string_view provider) {
  std::vector<target> hosts = targets_of(document);
  hosts.erase(
      std::remove_if(
          hosts.begin(),
          hosts.end(),
          [&](const target& t) { return !t.cloud || t.cloud->provider != provider; }
      ),
      hosts.end()
  );
  return hosts;
}

std::vector<creating_host> creating_of(const base::json& document, std::string_view provider) {
  std::vector<creating_host> hosts;
  for (const auto& [name, value] : document[creating_key].members()) {
    if (value["provider"].string() == provider) {
      hosts.push_back(
          {.name = name,
           .provider = std::string(provider),
           .location = text_of(value, "location"),
           .size = text_of(value, "size"),
           .hourly = hour_of(value["hourly_usd"]),
           .started_at = text_of(value, "started_at"),
           .by = text_of(value, "by")}
      );
    }
  }
  return hosts;
}

base::result<std::vector<std::string>> admit_from_of(const base::json& document) {
  const auto refuse = [](const std::string& why) {
    return base::error{
        base::error_code::refused,
        why + R"(; declare it with stado registry set --path cloud_hosts --value )"
              R"('{"admit_from":["<host>"]}')"};
  };
  const base::json& list = document["cloud_hosts"]["admit_from"];
  if (list.is_null()) {
    return refuse("the registry names no host whose address a cloud host admits "
                  "(cloud_hosts.admit_from is absent)");
  }
  if (!list.is_array() || list.size() == 0) {
    return refuse("the registry names no host whose address a cloud host admits "
                  "(cloud_hosts.admit_from is no array with at least one name)");
  }
  std::vector<std::string> names;
  for (const base::json& item : list.items()) {
    if (const std::string fault = fault_of_admitting(document, item); !fault.empty()) {
      return refuse("cloud_hosts.admit_from " + fault);
    }
    const std::string name = item.string_or("");
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::map<std::string, egress_record> egress_of(const base::json& document) {
  std::map<std::string, egress_record> records;
  for (const auto& [host, value] : document["cloud_hosts"]["egress"].members()) {
    records[host] = {text_of(value, "address"), text_of(value, "read_at")};
  }
  return records;
}

base::json to_json(const cloud_declaration& c) {
  base::json out = base::json::object(
      {{"provider", c.provider},
       {"location", c.location},
       {"size", c.size},
       {"disk_gb", c.disk_gb},
       {"hourly_usd", money(c.hourly)},
       {"priced_where", c.priced_where},
       {"idle_minutes", c.idle_minutes},
       {"address", c.address},
       {"vm_id", c.vm_id},
       {"created_at", c.created_at},
       {"resources", c.resources}}
  );
  if (!c.host_key.empty()) {
    out.set("host_key", c.host_key);
  }
  return out;
}

void set_creating(base::json& document, const creating_host& c) {
  document.member_ref(creating_key)
      .set(
          c.name,
          base::json::object(
              {{"provider", c.provider},
               {"location", c.location},
               {"size", c.size},
               {"hourly_usd", money(c.hourly)},
               {"started_at", c.started_at},
               {"by", c.by}}
          )
      );
}

void clear_creating(base::json& document, std::string_view name) {
  base::json* all = document.find(creating_key);
  if (all == nullptr) {
    return;
  }
  all->erase(name);
  if (all->size() == 0) {
    document.erase(creating_key);
  }
}

void set_egress(base::json& document, const std::map<std::string, egress_record>& records) {
  base::json all = base::json::object();
  for (const auto& [host, record] : records) {
    all.set(host, base::json::object({{"address", record.address}, {"read_at", record.read_at}}));
  }
  document.member_ref("cloud_hosts").set("egress", std::move(all));
}

bool remove_target(base::json& document, std::string_view name) {
  base::json* targets = document.find("targets");
  const base::json* entry = find_entry(document, name);
  if (targets == nullptr || entry == nullptr) {
    return false;
  }
  targets->items().erase(targets->items().begin() + (entry - targets->items().data()));
  return true;
}

bool is_target_identifier(std::string_view name) {
  return !name.empty() && is_small_letter_or_digit(name.front()) &&
         is_small_letter_or_digit(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return is_small_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

std::string normalized_hostname(std::string_view name) {
  std::string text = base::to_lower(base::trim(name));
  while (text.ends_with('.')) {
    text.pop_back();
  }
  return text.find_first_of(" \t\r\n@/") == std::string::npos ? text : "";
}

std::optional<std::string>
holder_of_identity(const base::json& document, std::string_view identity) {
  const std::string wanted = normalized_hostname(identity);
  if (wanted.empty()) {
    return std::nullopt;
  }
  for (const target& t : targets_of(document)) {
    const auto where = parse_destination(t.ssh);
    const bool same =
        t.name == wanted || (where && normalized_hostname(where->host) == wanted) ||
        std::any_of(t.hostnames.begin(), t.hostnames.end(), [&](const std::string& name) {
          return normalized_hostname(name) == wanted;
        });
    if (same) {
      return t.name;
    }
  }
  return std::nullopt;
}

} // namespace siteagent::fleet
