// SPDX-License-Identifier: MIT
#include "plugins/azure/diagnostics.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/order.hpp"

namespace siteagent::azure {

namespace {

check_result failed(std::string name, const base::error& e) {
  return {std::move(name), false, e.message};
}

check_result check_subscription(const services& cloud, const settings& s, const arm::scope& call) {
  const auto found = cloud.resources().subscription(call);
  if (!found) {
    return failed("subscription", found.error());
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
    return failed(name, state.error());
  }
  const bool registered = base::equals_ignoring_case(*state, "Registered");
  return {
      name,
      registered,
      registered ? "registered"
                 : *state + "; run: az provider register --namespace " + std::string(provider)};
}

check_result check_group(const services& cloud, const settings& s, const arm::scope& call) {
  const auto group = cloud.resources().group(call, s.default_resource_group);
  if (!group) {
    return failed("default_resource_group", group.error());
  }
  return {
      "default_resource_group",
      true,
      s.default_resource_group +
          (*group ? " exists" : " does not exist yet; the first order makes it")};
}

// The defaults as an order of their own; what is not set is chosen by each order.
check_result check_defaults(const services& cloud, const settings& s, const arm::scope& call) {
  const auto order = read_defaults(base::json::object(), s);
  if (!order) {
    return {"defaults", true, order.error().message + "; each order must name it"};
  }
  const auto checked = check_with_azure(cloud, call, *order);
  if (!checked) {
    return failed("defaults", checked.error());
  }
  return {
      "defaults",
      true,
      order->size + " in " + order->location + " with " + order->image.text() + " (version " +
          checked->version + ")"};
}

} // namespace

std::vector<check_result>
diagnose(const services& cloud, const settings& s, const arm::scope& call) {
  std::vector<check_result> out;
  const auto token = cloud.arm().authenticate(call);
  out.push_back(
      token ? check_result{"credentials", true, "token for client " + s.client_id}
            : failed("credentials", token.error())
  );
  if (!token) {
    return out;
  }
  out.push_back(check_subscription(cloud, s, call));
  if (!out.back().ok) {
    return out;
  }
  for (const std::string_view provider : {"Microsoft.Compute", "Microsoft.Network"}) {
    out.push_back(check_provider(cloud, call, provider));
  }
  if (s.is_shared_group()) {
    out.push_back(check_group(cloud, s, call));
  }
  out.push_back(check_defaults(cloud, s, call));
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
