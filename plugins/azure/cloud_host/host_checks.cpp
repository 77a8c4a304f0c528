// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/host_checks.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/cloud_host/credit.hpp"
#include "plugins/azure/cloud_host/rights.hpp"
#include "plugins/azure/cloud_host/site_network.hpp"
#include "plugins/azure/error_map.hpp"

#include <set>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

check_line failed(std::string name, const base::error& e) {
  return {std::move(name), false, e.message};
}

check_line check_rights(
    const services& cloud, const arm::scope& call, host_area area, const std::string& scope
) {
  const std::string name = "rights on the " + std::string(name_of(area));
  const auto allowed = read_allowances(cloud.arm(), call, scope);
  if (!allowed) {
    // Whoever may not read his rights may still have them.
    return {name, false, allowed.error().message, false};
  }
  const auto missing = missing_actions(area, *allowed);
  return {
      name,
      missing.empty(),
      missing.empty() ? "all " + std::to_string(actions_of(area).size()) + " actions at " + scope
                      : "missing at " + scope + ": " + base::join(missing, ", ")};
}

void check_all_rights(
    const services& cloud,
    const arm::scope& call,
    const host_settings& s,
    const std::vector<site_subnet>& subnets,
    std::vector<check_line>& out
) {
  const resource_id group = resource_id::of_group(s.azure.subscription_id, s.group);
  out.push_back(check_rights(
      cloud, call, host_area::subscription, "/subscriptions/" + s.azure.subscription_id
  ));
  out.push_back(check_rights(cloud, call, host_area::group, group.path()));
  std::set<std::string> seen;
  for (const site_subnet& subnet : subnets) {
    if (subnet.security_group && seen.insert(id_key(subnet.security_group->text())).second) {
      out.push_back(
          check_rights(cloud, call, host_area::security_group, subnet.security_group->path())
      );
    }
  }
}

check_line
of_subnet(std::string name, const base::result<site_subnet>& subnet, std::string_view location) {
  if (!subnet) {
    return failed(std::move(name), subnet.error());
  }
  const std::string own = subnet->security_group
                              ? "security group " + subnet->security_group->text()
                              : "no security group of its own";
  return {std::move(name), true, subnet->name() + " in " + std::string(location) + ", " + own};
}

check_line of_image(std::string name, const base::result<image_info>& image) {
  if (!image) {
    return failed(std::move(name), image.error());
  }
  const std::string needs = image->plan.is_object() ? ", with a purchase plan" : "";
  return {std::move(name), true, "version " + image->version + needs};
}

check_line of_names(const base::result<std::vector<removal_target>>& existing) {
  if (!existing) {
    return failed("names", existing.error());
  }
  std::vector<std::string> taken;
  for (const removal_target& t : *existing) {
    taken.push_back(words_of(kind_of(t.which)) + " " + t.id.text());
  }
  return {
      "names",
      taken.empty(),
      taken.empty() ? "all free" : "exist already: " + base::join(taken, ", ")};
}

check_line of_size(
    const host_plan& plan,
    const base::result<std::optional<size_info>>& size,
    const base::result<image_info>& image
) {
  if (!size) {
    return failed("size", size.error());
  }
  if (!*size) {
    return {
        "size", true, plan.size + ": the list of sizes may not be read, Azure will tell", false};
  }
  if (base::equals_ignoring_case((**size).architecture, "Arm64")) {
    return {"size", false, plan.size + " has an arm64 processor; choose a size with x64"};
  }
  if (image) {
    if (const auto fit = check_fit(**size, *image, order_of(plan)); !fit) {
      return failed("size", fit.error());
    }
  }
  return {
      "size",
      true,
      (**size).name + " with " + std::to_string((**size).cores) + " cores in " + plan.location};
}

check_line of_disk(const host_plan& plan, const base::result<image_info>& image) {
  const std::int64_t least = image ? image->disk_gib : 0;
  return {
      "disk",
      plan.disk_gb >= least,
      std::to_string(plan.disk_gb) + " GiB" +
          (least > 0 ? ", the image needs " + std::to_string(least) : "")};
}

check_line check_application_group(
    const services& cloud, const arm::scope& call, const host_settings& s, const host_plan& plan
) {
  const kind& k = kind_of(kind_id::application_security_group);
  const resource_id id = application_group_id(s, plan.rule.name, plan.location);
  const auto seen =
      arm::read_if_present(cloud.arm(), call, url_of(id, k), describe("look for", k, id));
  if (!seen) {
    return failed("application group", seen.error());
  }
  return {
      "application group",
      true,
      id.name() + (*seen ? " exists" : " does not exist and would be made")};
}

} // namespace

json to_json(const check_line& line) {
  return json::object(
      {{"name", line.name}, {"ok", line.ok}, {"detail", line.detail}, {"needed", line.needed}}
  );
}

std::vector<check_line> check_plan(
    const services& cloud, const arm::scope& call, const host_settings& s, const host_plan& plan
) {
  const machine_order order = order_of(plan);
  std::vector<check_line> out;
  out.push_back(of_names(find_existing(cloud, call, plan)));
  const auto subnet = read_subnet(cloud, call, s, plan.location);
  out.push_back(of_subnet("subnet", subnet, plan.location));
  out.push_back(check_application_group(cloud, call, s, plan));
  const auto image = cloud.compute().image(call, plan.location, plan.image);
  out.push_back(of_image("image", image));
  out.push_back(of_disk(plan, image));
  const auto size = check_size(cloud, call, order);
  out.push_back(of_size(plan, size, image));
  if (size && *size) {
    const auto quota = check_quota(cloud, call, s.azure, order, **size);
    out.push_back(
        quota ? check_line{"quota", true, "room for the machine and its address"}
              : failed("quota", quota.error())
    );
  }
  check_all_rights(cloud, call, s, subnet ? std::vector{*subnet} : std::vector<site_subnet>(), out);
  return out;
}

std::vector<check_line> check_site(
    const services& cloud,
    const arm::scope& call,
    const host_settings& s,
    const std::vector<std::string>& locations
) {
  std::vector<check_line> out;
  const auto subscription = cloud.resources().subscription(call);
  if (subscription) {
    const std::string state = (*subscription)["state"].string_or("unknown");
    const bool usable = state != "Disabled" && state != "Warned" && state != "Deleted";
    out.push_back({"subscription", usable, s.azure.subscription_id + " is " + state});
  } else {
    out.push_back(failed("subscription", subscription.error()));
  }
  const auto group = cloud.resources().group(call, s.group);
  out.push_back(
      !group ? failed("resource group", group.error())
             : check_line{
                   "resource group",
                   group->has_value(),
                   s.group + (*group ? "" : " does not exist; make it, or correct "
                                            "azure.resource_group")}
  );
  std::vector<site_subnet> subnets;
  for (const std::string& location : locations) {
    const auto subnet = read_subnet(cloud, call, s, location);
    out.push_back(of_subnet("network in " + location, subnet, location));
    if (subnet) {
      subnets.push_back(*subnet);
    }
    out.push_back(of_image("image in " + location, cloud.compute().image(call, location, s.image)));
  }
  if (locations.empty()) {
    out.push_back(
        {"locations", false, "azure.locations names none, so no network was checked", false}
    );
  }
  check_all_rights(cloud, call, s, subnets, out);
  return out;
}

check_line check_billing(const access& entrance, const arm::scope& call, const host_settings& s) {
  const std::string name = "billing";
  if (!s.billing) {
    return {
        name,
        false,
        "no billing credential is stored: store item wisent-azure-billing-sp; create needs the "
        "balance"};
  }
  const auto credit = read_credit(entrance.billing(), call, *s.billing);
  if (!credit) {
    return failed(name, credit.error());
  }
  if (!(*credit)["reported"].boolean().value_or(false)) {
    return {name, false, (*credit)["reason"].string_or("")};
  }
  const std::string figure = (*credit)["current"].string_or((*credit)["estimated"].string_or(""));
  return {
      name,
      true,
      (*credit)["scope"].string_or("") + ": " + figure + " " + (*credit)["currency"].string_or("")};
}

} // namespace siteagent::azure::cloud_host
