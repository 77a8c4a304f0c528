// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/host_settings.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

base::error bad(std::string_view key, std::string_view why) {
  return make_error(
      reason::invalid,
      base::error_code::invalid,
      "azure." + std::string(key) + ": " + std::string(why)
  );
}

std::string text_of(const json& object, std::string_view key) {
  return std::string(base::trim(object[key].string_or("")));
}

// Names become parts of paths: what Azure could never have named is refused here.
base::result<void> check_name(std::string_view key, const std::string& value, std::size_t longest) {
  constexpr std::string_view allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-()";
  if (value.empty() || value.size() > longest ||
      value.find_first_not_of(allowed) != std::string::npos || value.back() == '.') {
    return bad(key, "'" + value + "' is no name of Azure's; set it with stado config set");
  }
  return {};
}

base::result<image_reference> read_image(const std::string& text) {
  const auto parts = base::split(text, ':');
  const bool whole = parts.size() == 4 && std::none_of(parts.begin(), parts.end(), [](auto p) {
                       return base::trim(p).empty() || p.find_first_of("/?#% ") != p.npos;
                     });
  if (!whole) {
    return bad("image_urn", "'" + text + "' must be publisher:offer:sku:version, four parts");
  }
  return image_reference{
      std::string(parts[0]), std::string(parts[1]), std::string(parts[2]), std::string(parts[3])};
}

base::result<void> read_bindings(const json& b, host_settings& out) {
  const std::string subscription = text_of(b, "subscription_id");
  if (!base::uuid::parse(subscription)) {
    return bad("subscription_id", "'" + subscription + "' is no subscription id");
  }
  out.group = text_of(b, "resource_group");
  out.network = text_of(b, "vnet");
  out.subnet = text_of(b, "subnet");
  out.login = text_of(b, "vm_username");
  for (const auto& [key, value, longest] :
       {std::tuple<std::string_view, const std::string&, std::size_t>{
            "resource_group", out.group, 90},
        {"vnet", out.network, 64},
        {"subnet", out.subnet, 80}}) {
    if (auto r = check_name(key, value, longest); !r) {
      return r;
    }
  }
  const auto image = read_image(text_of(b, "image_urn"));
  if (!image) {
    return image.error();
  }
  out.image = *image;
  const auto& reserved = reserved_logins();
  if (std::find(reserved.begin(), reserved.end(), base::to_lower(out.login)) != reserved.end()) {
    return bad("vm_username", "'" + out.login + "' is a name that Azure does not allow");
  }
  for (const json& item : b["locations"].items()) {
    const std::string location = normal_location(item.string_or(""));
    if (!location.empty() &&
        std::find(out.locations.begin(), out.locations.end(), location) == out.locations.end()) {
      out.locations.push_back(location);
    }
  }
  return {};
}

base::result<principal_settings> read_principal(const json& item, std::string_view name) {
  principal_settings out{
      text_of(item, "tenant_id"), text_of(item, "client_id"), text_of(item, "client_secret")};
  std::vector<std::string> missing;
  for (const auto& [field, value] :
       {std::pair<const char*, const std::string&>{"tenant_id", out.tenant_id},
        {"client_id", out.client_id},
        {"client_secret", out.client_secret}}) {
    if (value.empty()) {
      missing.emplace_back(field);
    }
  }
  if (!missing.empty()) {
    return make_error(
        reason::invalid,
        base::error_code::invalid,
        "the stored " + std::string(name) + " credential of azure lacks " +
            base::join(missing, ", ") + "; store the whole item again"
    );
  }
  return out;
}

base::result<void> read_stored(const json& credentials, host_settings& out) {
  if (const json& control = credentials["control"]; control.size() > 0) {
    auto who = read_principal(control, "control");
    if (!who) {
      return who.error();
    }
    out.control = std::move(*who);
  }
  if (const json& item = credentials["billing"]; item.size() > 0) {
    auto who = read_principal(item, "billing");
    if (!who) {
      return who.error();
    }
    out.billing = billing_settings{
        std::move(*who),
        text_of(item, "billing_account"),
        text_of(item, "billing_profile_system_id"),
        text_of(item, "billing_profile"),
        text_of(item, "subscription_id")};
  }
  return {};
}

base::result<host_waits> read_waits(const json& limits) {
  host_waits out;
  const auto read = [&](std::string_view key, milliseconds unit, milliseconds& target) {
    if (limits[key].is_null()) {
      return true;
    }
    const auto value = limits[key].integer();
    if (!value || *value < 1 || *value > 86'400'000) {
      return false;
    }
    target = unit * *value;
    return true;
  };
  if (!read("operation_s", seconds(1), out.operation) ||
      !read("rollback_retry_s", seconds(1), out.removal) ||
      !read("poll_ms", milliseconds(1), out.poll)) {
    return bad("limits", "operation_s, rollback_retry_s and poll_ms are whole numbers above zero");
  }
  return out;
}

// The rest of the plugin's settings are those of an offering; what they say about cloud is common.
base::result<settings> read_azure(const json& document, const host_waits& waits) {
  const json& cloud = document.at({"options", "cloud"});
  const milliseconds floor = std::min<milliseconds>(waits.poll, seconds(1));
  const milliseconds cap = waits.poll < seconds(1) ? waits.poll : milliseconds(60'000);
  json common = json::object(
      {{"subscription_id", text_of(document["bindings"], "subscription_id")},
       {"credential", "managed_identity"},
       {"cloud", cloud},
       {"polling",
        json::object(
            {{"min_ms", static_cast<std::int64_t>(floor.count())},
             {"max_ms", static_cast<std::int64_t>(cap.count())}}
        )}}
  );
  auto out =
      parse_settings(common.dump(), [](const char*) -> std::optional<std::string> { return {}; });
  if (!out) {
    constexpr std::string_view theirs = "Azure backend_settings.";
    base::error e = std::move(out).error();
    if (e.message.rfind(theirs, 0) == 0) {
      e.message.replace(0, theirs.size(), "azure.");
    }
    return e;
  }
  out->hosts = waits;
  out->currency = "USD";
  out->billing = out->resource_manager;
  if (const std::string origin = text_of(cloud, "billing"); !origin.empty()) {
    const auto url = net::parse_url(origin);
    const bool clear = url && url->origin.scheme == "http" && !url->origin.is_loopback();
    if (!url || url->target != "/" || clear) {
      return bad("cloud.billing", "'" + origin + "' must be an https origin without a path");
    }
    out->billing = url->origin.text();
  }
  return out;
}

} // namespace

settings host_settings::by_principal() const {
  settings out = azure;
  out.credentials.kind = credential_kind::client_secret;
  out.credentials.client_secret = control->client_secret;
  out.tenant_id = control->tenant_id;
  out.client_id = control->client_id;
  return out;
}

std::string host_settings::network_in(std::string_view location) const {
  return network + "-" + std::string(location);
}

const std::vector<std::string>& reserved_logins() {
  static const std::vector<std::string> names{
      "1",      "123",           "a",      "actuser", "adm",     "admin",   "admin1",
      "admin2", "administrator", "aspnet", "backup",  "console", "david",   "guest",
      "john",   "owner",         "root",   "server",  "sql",     "support", "support_388945a0",
      "sys",    "test",          "test1",  "test2",   "test3",   "user",    "user1",
      "user2",  "user3",         "user4",  "user5"};
  return names;
}

base::result<host_settings> parse_host_settings(std::string_view json_text) {
  const auto document = json::parse(json_text);
  if (!document || !document->is_object()) {
    return bad("settings", "they are no JSON object");
  }
  host_settings out;
  if (auto r = read_bindings((*document)["bindings"], out); !r) {
    return r.error();
  }
  if (auto r = read_stored((*document)["credentials"], out); !r) {
    return r.error();
  }
  const auto waits = read_waits((*document)["limits"]);
  if (!waits) {
    return waits.error();
  }
  auto azure = read_azure(*document, *waits);
  if (!azure) {
    return azure.error();
  }
  out.azure = std::move(*azure);
  return out;
}

} // namespace siteagent::azure::cloud_host
