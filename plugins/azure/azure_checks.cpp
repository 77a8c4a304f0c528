// SPDX-License-Identifier: MIT
#include "plugins/azure/azure_checks.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/own_network.hpp"

#include <algorithm>
#include <chrono>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr milliseconds a_day = std::chrono::hours(24);
constexpr milliseconds an_hour = std::chrono::hours(1);
constexpr milliseconds some_minutes = std::chrono::minutes(5);
constexpr milliseconds afresh{0};

base::error refusal(reason why, base::error_code code, const std::string& text) {
  return make_error(why, code, text, text);
}

std::string image_key(const machine_order& order) {
  return order.location + " " + order.image.text();
}

// A role without these reads is allowed: then Azure has the last word at the write.
bool may_be_skipped(const services& cloud, const base::error& e) {
  if (reason_of(e) != reason::permission) {
    return false;
  }
  cloud.warn("cannot check an order before creating: " + e.message);
  return true;
}

base::result<void>
check_location(const services& cloud, const arm::scope& call, const machine_order& order) {
  const auto known = cloud.facts().locations.get(call, cloud.clock(), "", a_day, [&] {
    return cloud.resources().locations(call);
  });
  if (!known) {
    return may_be_skipped(cloud, known.error()) ? base::result<void>() : known.error();
  }
  const std::vector<std::string>& all = **known;
  if (!all.empty() && std::find(all.begin(), all.end(), order.location) == all.end()) {
    return refusal(
        reason::invalid,
        base::error_code::permanent,
        "Azure has no location '" + order.location + "' for this provider"
    );
  }
  return {};
}

} // namespace

base::result<std::optional<size_info>>
check_size(const services& cloud, const arm::scope& call, const machine_order& order) {
  const auto known = cloud.facts().sizes.get(call, cloud.clock(), order.location, a_day, [&] {
    return cloud.compute().sizes(call, order.location);
  });
  if (!known) {
    if (may_be_skipped(cloud, known.error())) {
      return std::optional<size_info>();
    }
    return known.error();
  }
  const sizes_by_name& all = **known;
  const auto it = all.find(base::to_lower(order.size));
  if (it == all.end()) {
    std::vector<std::string_view> names;
    for (const auto& [key, size] : all) {
      names.push_back(size.name);
    }
    const std::string_view near = base::nearest(order.size, names);
    std::string text = "Azure has no machine size '" + order.size + "' in " + order.location;
    text += near.empty() ? "" : "; did you mean " + std::string(near) + "?";
    return refusal(reason::invalid, base::error_code::permanent, text);
  }
  if (!it->second.restriction.empty()) {
    return refusal(
        reason::capacity,
        base::error_code::refused,
        "The machine size " + it->second.name + " cannot be used in " + order.location + " (" +
            it->second.restriction + "); choose another size or location"
    );
  }
  return std::optional<size_info>(it->second);
}

namespace {

bool listed(std::string_view comma_separated, std::string_view wanted) {
  const auto parts = base::split(comma_separated, ',');
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) {
    return base::equals_ignoring_case(base::trim(p), wanted);
  });
}

} // namespace

base::result<void>
check_fit(const size_info& size, const image_info& image, const machine_order& order) {
  const bool generation_known = !size.generations.empty() && !image.generation.empty();
  if (generation_known && !listed(size.generations, image.generation)) {
    return refusal(
        reason::invalid,
        base::error_code::permanent,
        "The machine size " + size.name + " cannot start the image '" + order.image.text() +
            "' (generation " + image.generation + "); choose an image of generation " +
            size.generations
    );
  }
  const bool architecture_known = !size.architecture.empty() && !image.architecture.empty();
  if (architecture_known && !base::equals_ignoring_case(size.architecture, image.architecture)) {
    return refusal(
        reason::invalid,
        base::error_code::permanent,
        "The machine size " + size.name + " (" + size.architecture + ") cannot run the image '" +
            order.image.text() + "' (" + image.architecture + ")"
    );
  }
  return {};
}

namespace {

std::string shortage(const quota_by_name& quota, const std::string& name, std::int64_t wanted) {
  const auto it = quota.find(base::to_lower(name));
  if (it == quota.end() || it->second.limit < 0 || it->second.limit - it->second.used >= wanted) {
    return "";
  }
  return name + " " + std::to_string(it->second.used) + " of " + std::to_string(it->second.limit) +
         " used, " + std::to_string(wanted) + " more wanted";
}

struct quota_source {
  std::string_view what; // for the customer
  arm::cached<quota_by_name>& kept;
  std::function<base::result<quota_by_name>()> read;
  std::vector<std::pair<std::string, std::int64_t>> wanted;
};

base::result<void> check_one_quota(
    const services& cloud, const arm::scope& call, const machine_order& order, const quota_source& q
) {
  // A refusal is only believed from fresh figures.
  for (const milliseconds age : {some_minutes, afresh}) {
    const auto figures = q.kept.get(call, cloud.clock(), order.location, age, q.read);
    if (!figures) {
      return may_be_skipped(cloud, figures.error()) ? base::result<void>() : figures.error();
    }
    std::string lacking;
    for (const auto& [name, count] : q.wanted) {
      if (lacking.empty()) {
        lacking = shortage(**figures, name, count);
      }
    }
    if (lacking.empty()) {
      return {};
    }
    if (age == afresh) {
      return make_error(
          reason::quota,
          base::error_code::quota,
          "create virtual machine in " + order.location + ": quota would be exceeded (" + lacking +
              "); request an increase in the Azure portal or offer other sizes",
          "The provider's cloud quota for " + std::string(q.what) + " in " + order.location +
              " does not allow this machine now (" + lacking +
              "). Choose a smaller size or another location, or ask the provider."
      );
    }
  }
  return {};
}

} // namespace

base::result<void> check_quota(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const machine_order& order,
    const size_info& size
) {
  const quota_source cores{
      "machines",
      cloud.facts().compute_quota,
      [&] { return cloud.compute().quota(call, order.location); },
      {{"cores", size.cores}, {size.family, size.cores}, {"virtualMachines", 1}}};
  if (auto r = check_one_quota(cloud, call, order, cores); !r) {
    return r;
  }
  if (!is_made(kind_id::public_ip_address, s)) {
    return {};
  }
  const quota_source addresses{
      "public addresses",
      cloud.facts().network_quota,
      [&] { return cloud.network().quota(call, order.location); },
      {{"PublicIPAddresses", 1},
       {"StandardSkuPublicIPAddresses", 1},
       {"IPv4StandardSkuPublicIpAddresses", 1}}};
  return check_one_quota(cloud, call, order, addresses);
}

base::result<image_info> check_with_azure(
    const services& cloud, const arm::scope& call, const settings& s, const machine_order& order
) {
  if (auto r = check_location(cloud, call, order); !r) {
    return r.error();
  }
  if (auto r = check_own_subnet(cloud, call, s, order); !r) {
    return r.error();
  }
  const auto size = check_size(cloud, call, order);
  if (!size) {
    return size.error();
  }
  const auto image = cloud.facts().images.get(call, cloud.clock(), image_key(order), an_hour, [&] {
    return cloud.compute().image(call, order.location, order.image);
  });
  if (!image) {
    if (may_be_skipped(cloud, image.error())) {
      image_info as_ordered;
      as_ordered.version = order.image.version;
      return as_ordered;
    }
    return image.error();
  }
  if (*size) {
    if (auto r = check_fit(**size, **image, order); !r) {
      return r.error();
    }
    if (auto r = check_quota(cloud, call, s, order, **size); !r) {
      return r.error();
    }
  }
  return **image;
}

base::error learn_from(const services& cloud, const machine_order& order, base::error refusal) {
  switch (reason_of(refusal)) {
  case reason::capacity: // SkuNotAvailable among them
  case reason::invalid:  // a size, a location or a combination that Azure knows better
    cloud.facts().sizes.forget(order.location);
    cloud.facts().figures.forget(order.location);
    cloud.facts().locations.forget("");
    cloud.facts().images.forget(image_key(order));
    break;
  case reason::quota:
    cloud.facts().compute_quota.forget(order.location);
    cloud.facts().network_quota.forget(order.location);
    break;
  case reason::image:
    cloud.facts().images.forget(image_key(order));
    // The terms are a property of the image, not of the machine.
    refusal.message += " [image " + order.image.text() + "]";
    break;
  case reason::reference:
  case reason::group_missing:
    cloud.facts().networks.clear();
    break;
  default:
    break;
  }
  return refusal;
}

} // namespace siteagent::azure
