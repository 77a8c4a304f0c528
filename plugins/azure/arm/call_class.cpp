// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/call_class.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace siteagent::azure::arm {

namespace {

using segments = std::vector<std::string_view>;

constexpr std::array<std::string_view, 7> policies{
    "PutVM", "UpdateVM", "DeleteVM", "LowCostGet", "HighCostGet", "GetOperation", "GuestPatch"};

call_kind kind_of_method(std::string_view method) {
  if (method == "GET" || method == "HEAD") {
    return call_kind::read;
  }
  return method == "DELETE" ? call_kind::remove : call_kind::write;
}

// The segments of the path, in lower case; `store` keeps them.
segments path_of(std::string_view url, std::string& store) {
  url = url.substr(0, url.find('?'));
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos) {
    const auto slash = url.find('/', scheme + 3);
    url = slash == std::string_view::npos ? std::string_view() : url.substr(slash);
  }
  store = base::to_lower(url);
  segments out;
  for (const std::string_view part : base::split(store, '/')) {
    if (!part.empty()) {
      out.push_back(part);
    }
  }
  return out;
}

std::string_view machine_policy(call_kind kind, std::string_view method, const segments& rest) {
  const std::string_view last = rest.back();
  if (kind == call_kind::read) {
    return "LowCostGet";
  }
  if (kind == call_kind::remove || last == "deallocate") {
    return "DeleteVM";
  }
  if (last == "assesspatches" || last == "installpatches") {
    return "GuestPatch";
  }
  return method == "PUT" && rest.size() == 2 ? "PutVM" : "UpdateVM";
}

// `rest`: the segments behind the provider's name.
void read_compute(
    call_class& c, std::string_view method, const segments& rest, std::string_view path
) {
  const bool polls = rest.size() >= 3 && (rest[2] == "operations" || rest[2] == "diskoperations");
  if (polls) {
    c.policy = "GetOperation";
    c.subject = path;
    return;
  }
  const bool lists = c.kind == call_kind::read && rest.back() == "virtualmachines";
  if (lists) {
    c.policy = "HighCostGet";
    return;
  }
  if (rest.size() >= 2 && rest[0] == "virtualmachines") {
    c.policy = machine_policy(c.kind, method, rest);
    // Views and actions count on their machine.
    c.subject =
        path.substr(0, static_cast<std::size_t>(rest[1].data() + rest[1].size() - path.data()));
  }
}

} // namespace

std::string call_class::text() const {
  const char* word = kind == call_kind::read    ? "read"
                     : kind == call_kind::write ? "write"
                                                : "delete";
  std::string out = std::string(word) + " calls to " + provider;
  return region.empty() ? out : out + " in " + region;
}

call_class classify(std::string_view method, std::string_view url, std::string_view region) {
  call_class out;
  out.kind = kind_of_method(method);
  out.region = region;
  out.provider = "microsoft.resources";
  std::string path;
  const segments parts = path_of(url, path);
  out.of_tenant = parts.size() < 2 || parts[0] != "subscriptions";
  const auto at = std::find(parts.begin(), parts.end(), "providers");
  if (parts.end() - at < 2) {
    return out;
  }
  // "/providers/X" and "/providers/X/register" are calls about X, not to it.
  const segments rest(at + 2, parts.end());
  if (rest.empty() || rest[0] == "register") {
    return out;
  }
  out.provider = *(at + 1);
  if (rest.size() >= 2 && rest[0] == "locations") {
    out.region = rest[1];
  }
  if (out.provider == "microsoft.compute") {
    read_compute(out, method, rest, path);
  }
  return out;
}

std::string_view policy_of_bucket(std::string_view name) {
  constexpr std::string_view unit = "min";
  const bool timed = name.size() > unit.size() &&
                     base::equals_ignoring_case(name.substr(name.size() - unit.size()), unit);
  if (timed) {
    name.remove_suffix(unit.size());
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') {
      name.remove_suffix(1);
    }
  }
  const auto* const it = std::find_if(policies.begin(), policies.end(), [&](std::string_view p) {
    return base::equals_ignoring_case(p, name);
  });
  return it == policies.end() ? std::string_view() : *it;
}

} // namespace siteagent::azure::arm
