// SPDX-License-Identifier: MIT
// The defaults of the settings against what the subscription may use, and what room is left.
#include "plugins/azure/diagnostics.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/order.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

check_result not_set(std::string name) {
  return {std::move(name), true, "not set; each order must name it"};
}

check_result check_location(const services& cloud, const settings& s, const arm::scope& call) {
  const std::string name = "default_location";
  if (s.default_location.empty()) {
    return not_set(name);
  }
  const auto all = cloud.resources().locations(call);
  if (!all) {
    return failed_check(name, all.error());
  }
  const bool known = std::find(all->begin(), all->end(), s.default_location) != all->end();
  return {
      name,
      known,
      s.default_location + (known ? " is open to the subscription"
                                  : " is no location of the subscription; choose one of: " +
                                        base::join(*all, ", "))};
}

// The reasons of the SKU list in an operator's words.
std::string explained(const std::string& restriction) {
  if (base::equals_ignoring_case(restriction, "NotAvailableForSubscription")) {
    return "Azure does not open it to this subscription (NotAvailableForSubscription): ask Azure "
           "support for access, or choose another size or location";
  }
  if (base::equals_ignoring_case(restriction, "QuotaId")) {
    return "the kind of subscription does not include it (QuotaId): upgrade the subscription, or "
           "choose another size";
  }
  return "restricted (" + restriction + "): choose another size or location";
}

check_result no_such_size(const settings& s, const sizes_by_name& all) {
  std::vector<std::string_view> names;
  for (const auto& [key, size] : all) {
    names.push_back(size.name);
  }
  const std::string_view near = base::nearest(s.default_size, names);
  return {
      "default_size",
      false,
      "Azure has no size " + s.default_size + " in " + s.default_location +
          (near.empty() ? "; 'offering-options' prints those it has"
                        : "; did you mean " + std::string(near) + "?")};
}

// The room behind one figure of Azure's.
struct room {
  std::string what;
  quota_line line;
  std::int64_t per_machine = 1;

  bool is_limited() const { return line.limit >= 0 && per_machine > 0; }

  std::int64_t machines() const {
    return std::max<std::int64_t>(line.limit - line.used, 0) / per_machine;
  }

  std::string text() const {
    return what + " " + std::to_string(line.used) + " of " + std::to_string(line.limit) + " used";
  }
};

void add_room(
    std::vector<room>& to,
    const quota_by_name& quota,
    std::string what,
    const std::string& key,
    std::int64_t per_machine
) {
  const auto it = quota.find(base::to_lower(key));
  if (it != quota.end()) {
    to.push_back({std::move(what), it->second, per_machine});
  }
}

check_result judge_rooms(const settings& s, const std::vector<room>& rooms) {
  std::vector<std::string> texts;
  const room* least = nullptr;
  for (const room& r : rooms) {
    if (r.is_limited()) {
      texts.push_back(r.text());
      least = least == nullptr || r.machines() < least->machines() ? &r : least;
    }
  }
  if (least == nullptr) {
    return {"quota", true, "Azure names no limit"};
  }
  const bool some = least->machines() > 0;
  std::string text = (some ? "room for " + std::to_string(least->machines()) : "no room for any") +
                     " more " + s.default_size + " in " + s.default_location + ": " +
                     base::join(texts, ", ");
  if (!some) {
    text += "; request more of " + least->what + " in the Azure portal, or offer another size";
  }
  return {"quota", some, std::move(text)};
}

check_result check_quota(
    const services& cloud, const settings& s, const arm::scope& call, const size_info& size
) {
  const auto compute = cloud.compute().quota(call, s.default_location);
  if (!compute) {
    return failed_check("quota", compute.error());
  }
  quota_by_name network;
  if (s.public_ip) {
    auto read = cloud.network().quota(call, s.default_location);
    if (!read) {
      return failed_check("quota", read.error());
    }
    network = std::move(*read);
  }
  std::vector<room> rooms;
  add_room(rooms, *compute, "regional cores", "cores", size.cores);
  add_room(rooms, *compute, size.family + " cores", size.family, size.cores);
  add_room(rooms, *compute, "virtual machines", "virtualMachines", 1);
  add_room(rooms, network, "public addresses", "PublicIPAddresses", 1);
  add_room(rooms, network, "Standard public addresses", "StandardSkuPublicIPAddresses", 1);
  add_room(rooms, network, "Standard IPv4 public addresses", "IPv4StandardSkuPublicIpAddresses", 1);
  return judge_rooms(s, rooms);
}

std::vector<check_result>
check_size(const services& cloud, const settings& s, const arm::scope& call) {
  if (s.default_size.empty() || s.default_location.empty()) {
    return {
        s.default_size.empty()
            ? not_set("default_size")
            : check_result{
                  "default_size", true, s.default_size + "; looked at in each order's location"}};
  }
  const auto sizes = cloud.compute().sizes(call, s.default_location);
  if (!sizes) {
    return {failed_check("default_size", sizes.error())};
  }
  const auto it = sizes->find(base::to_lower(s.default_size));
  if (it == sizes->end()) {
    return {no_such_size(s, *sizes)};
  }
  const size_info& size = it->second;
  const std::string place = size.name + " in " + s.default_location;
  const bool usable = size.restriction.empty();
  return {
      {"default_size",
       usable,
       place + (usable ? ", " + std::to_string(size.cores) + " cores of " + size.family
                       : ": " + explained(size.restriction))},
      check_quota(cloud, s, call, size)};
}

check_result
check_image(const services& cloud, const arm::scope& call, const machine_order& order) {
  const auto image = cloud.compute().image(call, order.location, order.image);
  if (!image) {
    return failed_check("default_image", image.error());
  }
  return {
      "default_image",
      true,
      order.image.text() + " in " + order.location + ", version " + image->version +
          (image->generation.empty() ? "" : ", generation " + image->generation)};
}

} // namespace

std::vector<check_result>
check_defaults(const services& cloud, const settings& s, const arm::scope& call) {
  std::vector<check_result> out{check_location(cloud, s, call)};
  for (check_result& c : check_size(cloud, s, call)) {
    out.push_back(std::move(c));
  }
  // The defaults as an order of their own.
  const auto order = read_defaults(base::json::object(), s);
  if (!order) {
    out.push_back({"defaults", true, order.error().message + "; each order must name it"});
    return out;
  }
  out.push_back(check_image(cloud, call, *order));
  const auto checked = check_with_azure(cloud, call, s, *order);
  out.push_back(
      checked ? check_result{"defaults", true, "an order that names nothing would be carried out"}
              : failed_check("defaults", checked.error())
  );
  return out;
}

} // namespace siteagent::azure
