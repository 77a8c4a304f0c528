// SPDX-License-Identifier: MIT
#include "plugins/azure/diagnostics.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/role_definition.hpp"

namespace siteagent::azure {

namespace {

constexpr std::chrono::days time_to_renew{30};

check_result check_subscription(const services& cloud, const settings& s, const arm::scope& call) {
  const auto found = cloud.resources().subscription(call);
  if (!found) {
    return failed_check("subscription", found.error());
  }
  const std::string state = (*found)["state"].string_or("unknown");
  const bool usable = state == "Enabled" || state == "Warned" || state == "PastDue";
  return {
      "subscription",
      usable,
      (*found)["displayName"].string_or(s.subscription_id) + " is " + state +
          (usable ? "" : "; re-enable it in the Azure portal")};
}

check_result
check_provider(const services& cloud, const arm::scope& call, std::string_view provider) {
  const std::string name = "provider " + std::string(provider);
  const auto state = cloud.resources().registration(call, provider);
  if (!state) {
    return failed_check(name, state.error());
  }
  if (base::equals_ignoring_case(*state, "Registered")) {
    return {name, true, "registered"};
  }
  const bool under_way = base::equals_ignoring_case(*state, "Registering");
  return {
      name,
      false,
      *state + (under_way ? "; wait some minutes, then ask again"
                          : "; an owner or contributor of the subscription runs: az provider "
                            "register --namespace " +
                                std::string(provider))};
}

struct group_check {
  check_result result;
  bool exists = false;
};

group_check check_group(const services& cloud, const settings& s, const arm::scope& call) {
  const auto group = cloud.resources().group(call, s.default_resource_group);
  if (!group) {
    // Existing is what rights can be asked for; a missing right to look is found there.
    return {failed_check("default_resource_group", group.error()), true};
  }
  return {
      {"default_resource_group",
       true,
       s.default_resource_group +
           (*group ? " exists" : " does not exist yet; the first order makes it")},
      group->has_value()};
}

std::string remedy(right_area area, const settings& s) {
  const std::string who = s.client_id.empty() ? "<object id of the identity>" : s.client_id;
  return "; create or update the role that 'diagnose --role' prints, then: az role assignment "
         "create --assignee " +
         who + " --role '" + role_name(area, s) + "' --scope " + scope_of(area, s);
}

check_result check_area(
    const services& cloud,
    const settings& s,
    const arm::scope& call,
    const std::vector<std::string>& needed,
    right_area area
) {
  const std::string scope = scope_of(area, s);
  const std::string name = "permissions at " + scope;
  const auto held = read_allowances(cloud.arm(), call, scope);
  if (!held) {
    const bool forbidden = reason_of(held.error()) == reason::permission;
    return {name, false, held.error().message + (forbidden ? remedy(area, s) : "")};
  }
  std::vector<std::string> missing;
  for (const std::string& action : needed) {
    if (!is_allowed(*held, action)) {
      missing.push_back(action);
    }
  }
  if (missing.empty()) {
    return {name, true, "all " + std::to_string(needed.size()) + " actions are allowed"};
  }
  return {
      name,
      false,
      std::to_string(missing.size()) + " of " + std::to_string(needed.size()) +
          " actions are missing: " + base::join(missing, ", ") + remedy(area, s)};
}

// Who gave the token, and until when it can.
std::string words_of_credential(const services& cloud, const settings& s) {
  std::string text = "a token by " + std::string(name_of(s.credentials.kind));
  if (!s.client_id.empty()) {
    text += " for client " + s.client_id;
  }
  if (const auto end = cloud.arm().options().proof->end()) {
    text += "; its certificate ends " + base::to_rfc3339(*end);
    if (*end - cloud.clock().wall() < time_to_renew) {
      text += ": make a new one and register it now";
    }
  }
  return text;
}

} // namespace

check_result failed_check(std::string name, const base::error& e) {
  std::string text = e.message;
  if (reason_of(e) == reason::permission) {
    text += "; the actions that are missing are named below";
  } else if (base::class_of(e.code) == base::error_class::transient) {
    text += "; try again later";
  }
  return {std::move(name), false, std::move(text)};
}

std::vector<check_result> check_rights(
    const services& cloud, const settings& s, const arm::scope& call, const circumstances& c
) {
  const std::vector<right> rights = required_rights(s, c);
  std::vector<check_result> out;
  for (const right_area area : all_areas) {
    const std::vector<std::string> needed = actions_in(rights, area);
    if (!needed.empty()) {
      out.push_back(check_area(cloud, s, call, needed, area));
    }
  }
  return out;
}

std::vector<check_result>
diagnose(const services& cloud, const settings& s, const arm::scope& call, bool meters_hours) {
  first_contact contact = greet(cloud, s, call);
  std::vector<check_result> out = std::move(contact.checks);
  const auto add = [&out](std::vector<check_result> more) {
    out.insert(
        out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end())
    );
  };
  const auto token = cloud.arm().authenticate(call);
  out.push_back(
      token ? check_result{"credentials", true, words_of_credential(cloud, s)}
            : failed_check("credentials", token.error())
  );
  if (!token || !contact.reached) {
    out.push_back(
        {"further checks",
         false,
         "subscription, providers, permissions, size, image and quota were not looked at; correct "
         "the above first"}
    );
    return out;
  }
  out.push_back(check_subscription(cloud, s, call));
  circumstances now;
  now.meters_hours = meters_hours;
  now.unregistered.clear();
  for (const std::string_view provider : providers) {
    out.push_back(check_provider(cloud, call, provider));
    if (!out.back().ok) {
      now.unregistered.push_back(provider);
    }
  }
  if (s.is_shared_group()) {
    group_check group = check_group(cloud, s, call);
    out.push_back(std::move(group.result));
    now.group_exists = group.exists;
  }
  add(check_rights(cloud, s, call, now));
  add(check_defaults(cloud, s, call));
  return out;
}

base::result<void> ping(const services& cloud, const settings& s, const arm::scope& call) {
  const auto found = cloud.resources().subscription(call);
  if (!found) {
    return base::with_context(found.error(), "Azure backend is not available");
  }
  const std::string state = (*found)["state"].string_or("Enabled");
  if (state == "Disabled" || state == "Deleted") {
    return make_error(
        reason::configuration,
        base::error_code::not_ready,
        "Azure backend is not available: subscription " + s.subscription_id + " is " + state +
            "; re-enable it in the Azure portal"
    );
  }
  return {};
}

} // namespace siteagent::azure
