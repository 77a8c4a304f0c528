// SPDX-License-Identifier: MIT
#include "plugins/azure/clients/compute.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::azure {

namespace {

constexpr std::string_view compute_version = "2024-07-01";
constexpr std::string_view skus_version = "2021-07-01";
constexpr std::string_view disks_version = "2024-03-02";

std::string version_query(std::string_view version) {
  return "?api-version=" + std::string(version);
}

std::string capability(const base::json& sku, std::string_view name) {
  for (const base::json& c : sku["capabilities"].items()) {
    if (base::equals_ignoring_case(c["name"].string_or(""), name)) {
      return c["value"].string_or("");
    }
  }
  return "";
}

// Lists of images are bare arrays; some gateways wrap them. Null: the answer is no list, which says
// nothing about what exists.
const base::json* image_list(const base::json& body) {
  const base::json& list = body.is_array() ? body : body["value"];
  return list.is_array() ? &list : nullptr;
}

std::int64_t whole(std::string_view text) {
  const auto value = base::decimal::parse(text);
  return value ? value->to_int64().value_or(0) : 0;
}

bool names_location(const base::json& list, std::string_view location) {
  return std::any_of(list.items().begin(), list.items().end(), [&](const base::json& l) {
    return normal_location(l.string_or("")) == location;
  });
}

// Zone restrictions do not matter to machines without a zone; what we do not understand does.
std::string restriction_of(const base::json& sku, std::string_view location) {
  for (const base::json& r : sku["restrictions"].items()) {
    const std::string type = r["type"].string_or("");
    if (base::equals_ignoring_case(type, "Zone")) {
      continue;
    }
    const base::json& info = r.at({"restrictionInfo", "locations"});
    const base::json& places = info.size() > 0 ? info : r["values"];
    if (places.size() == 0 || names_location(places, location)) {
      return r["reasonCode"].string_or("restricted");
    }
  }
  return "";
}

size_info size_of(const base::json& sku, std::string_view location) {
  size_info out;
  out.name = sku["name"].string_or("");
  out.family = sku["family"].string_or("");
  const std::string available = capability(sku, "vCPUsAvailable");
  out.cores = whole(available.empty() ? capability(sku, "vCPUs") : available);
  out.generations = capability(sku, "HyperVGenerations");
  out.architecture = capability(sku, "CpuArchitectureType");
  out.restriction = restriction_of(sku, location);
  return out;
}

} // namespace

bool version_less(std::string_view a, std::string_view b) {
  const auto left = base::split(a, '.');
  const auto right = base::split(b, '.');
  const auto number = [](const std::vector<std::string_view>& parts, std::size_t i) {
    std::uint64_t value = 0;
    if (i < parts.size()) {
      std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), value);
    }
    return value;
  };
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    if (number(left, i) != number(right, i)) {
      return number(left, i) < number(right, i);
    }
  }
  return a < b;
}

std::optional<std::string> power_of(const base::json& statuses) {
  constexpr std::string_view prefix = "powerstate/";
  for (const base::json& s : statuses.items()) {
    const std::string code = base::to_lower(s["code"].string_or(""));
    if (code.rfind(prefix, 0) == 0) {
      return code.substr(prefix.size());
    }
  }
  return std::nullopt;
}

std::optional<base::wall_time> changed_of(const base::json& statuses) {
  for (const base::json& s : statuses.items()) {
    if (base::to_lower(s["code"].string_or("")).starts_with("provisioningstate/")) {
      return base::parse_rfc3339(s["time"].string_or(""));
    }
  }
  return std::nullopt;
}

std::string compute_client::in_location(std::string_view location, std::string_view rest) const {
  return "/subscriptions/" + net::encode(subscription_) +
         "/providers/Microsoft.Compute/locations/" + net::encode(location) + "/" +
         std::string(rest);
}

base::result<std::optional<base::json>>
compute_client::machine(const arm::scope& call, const resource_id& id) const {
  const kind& k = kind_of(kind_id::virtual_machine);
  return arm::read_if_present(arm_, call, url_of(id, k), describe("read", k, id));
}

base::result<base::json>
compute_client::instance_view(const arm::scope& call, const resource_id& id) const {
  const kind& k = kind_of(kind_id::virtual_machine);
  auto r = arm_.read(
      call,
      id.path() + "/instanceView" + version_query(compute_version),
      describe("read the state of", k, id)
  );
  if (!r) {
    return r.error();
  }
  return std::move(r->body);
}

std::string compute_client::list_of(std::string_view type, std::string_view version) const {
  return "/subscriptions/" + net::encode(subscription_) + "/providers/Microsoft.Compute/" +
         std::string(type) + version_query(version);
}

base::result<void>
compute_client::each_machine(const arm::scope& call, const arm::taker& take) const {
  const std::string path = list_of("virtualMachines", compute_version);
  return arm::read_each(arm_, call, path, "list virtual machines", take);
}

base::result<void>
compute_client::each_machine_state(const arm::scope& call, const arm::taker& take) const {
  const std::string path = list_of("virtualMachines", compute_version) + "&statusOnly=true";
  return arm::read_each(arm_, call, path, "list the states of virtual machines", take);
}

base::result<void> compute_client::each_disk(const arm::scope& call, const arm::taker& take) const {
  return arm::read_each(arm_, call, list_of("disks", disks_version), "list disks", take);
}

base::result<sizes_by_name>
compute_client::sizes(const arm::scope& call, std::string_view location) const {
  auto all = arm::read_all(
      arm_,
      call,
      "/subscriptions/" + net::encode(subscription_) + "/providers/Microsoft.Compute/skus" +
          version_query(skus_version) +
          "&$filter=" + net::encode("location eq '" + std::string(location) + "'"),
      "list the sizes of " + std::string(location)
  );
  if (!all) {
    return all.error();
  }
  sizes_by_name out;
  for (const base::json& sku : *all) {
    const bool machine =
        base::equals_ignoring_case(sku["resourceType"].string_or(""), "virtualMachines");
    if (machine && (sku["locations"].size() == 0 || names_location(sku["locations"], location))) {
      out.insert_or_assign(base::to_lower(sku["name"].string_or("")), size_of(sku, location));
    }
  }
  return out;
}

base::result<figures_by_name>
compute_client::figures(const arm::scope& call, std::string_view location) const {
  auto all = arm::read_all(
      arm_,
      call,
      in_location(location, "vmSizes") + version_query(compute_version),
      "list the figures of sizes in " + std::string(location)
  );
  if (!all) {
    return all.error();
  }
  figures_by_name out;
  for (const base::json& s : *all) {
    size_figures f;
    f.cores = s["numberOfCores"].integer().value_or(0);
    f.memory_mib = s["memoryInMB"].integer().value_or(0);
    f.os_disk_mib = s["osDiskSizeInMB"].integer().value_or(0);
    f.temporary_disk_mib = s["resourceDiskSizeInMB"].integer().value_or(0);
    out.emplace(base::to_lower(s["name"].string_or("")), f);
  }
  return out;
}

base::result<quota_by_name>
compute_client::quota(const arm::scope& call, std::string_view location) const {
  auto all = arm::read_all(
      arm_,
      call,
      in_location(location, "usages") + version_query(compute_version),
      "read the quota of " + std::string(location)
  );
  if (!all) {
    return all.error();
  }
  quota_by_name out;
  for (const base::json& u : *all) {
    const quota_line line{
        u["currentValue"].integer().value_or(0), u["limit"].integer().value_or(-1)};
    out.emplace(base::to_lower(u.at({"name", "value"}).string_or("")), line);
  }
  return out;
}

base::result<std::string> compute_client::latest_version(
    const arm::scope& call, std::string_view location, const image_reference& image
) const {
  const std::string what =
      "list the versions of image " + image.text() + " in " + std::string(location);
  auto r = arm_.read(
      call,
      in_location(
          location,
          "publishers/" + net::encode(image.publisher) + "/artifacttypes/vmimage/offers/" +
              net::encode(image.offer) + "/skus/" + net::encode(image.sku) + "/versions"
      ) + version_query(compute_version),
      what
  );
  if (!r) {
    const reason why = reason_of(r.error());
    const bool missing = r.error().code == base::error_code::not_found || why == reason::image;
    return missing ? no_such_image(call, location, image) : r.error();
  }
  const base::json* list = image_list(r->body);
  if (list == nullptr) {
    return base::error{
        .code = base::error_code::transient,
        .message = what + ": the answer is no list of versions; it is asked for again later"};
  }
  std::string best;
  for (const base::json& v : list->items()) {
    const std::string name = v["name"].string_or("");
    if (best.empty() || version_less(best, name)) {
      best = name;
    }
  }
  if (best.empty()) {
    return no_such_image(call, location, image);
  }
  return best;
}

base::error compute_client::no_such_image(
    const arm::scope& call, std::string_view location, const image_reference& image
) const {
  std::string text = "Azure has no image '" + image.text() + "' in " + std::string(location);
  const auto skus = arm_.read(
      call,
      in_location(
          location,
          "publishers/" + net::encode(image.publisher) + "/artifacttypes/vmimage/offers/" +
              net::encode(image.offer) + "/skus"
      ) + version_query(compute_version),
      "list image skus"
  );
  const base::json* list = skus ? image_list(skus->body) : nullptr;
  if (list != nullptr) {
    std::vector<std::string> names;
    for (const base::json& s : list->items()) {
      if (names.size() < 8) {
        names.push_back(s["name"].string_or(""));
      }
    }
    text += names.empty() ? "" : "; the offer has: " + base::join(names, ", ");
  }
  return make_error(reason::image, base::error_code::permanent, text, text);
}

base::result<image_info> compute_client::image(
    const arm::scope& call, std::string_view location, const image_reference& image
) const {
  image_info out;
  out.version = image.version;
  if (base::equals_ignoring_case(image.version, "latest")) {
    auto latest = latest_version(call, location, image);
    if (!latest) {
      return latest.error();
    }
    out.version = std::move(*latest);
  }
  auto r = arm_.read(
      call,
      in_location(
          location,
          "publishers/" + net::encode(image.publisher) + "/artifacttypes/vmimage/offers/" +
              net::encode(image.offer) + "/skus/" + net::encode(image.sku) + "/versions/" +
              net::encode(out.version)
      ) + version_query(compute_version),
      "read image " + image.text() + " in " + std::string(location)
  );
  if (!r) {
    const reason why = reason_of(r.error());
    const bool missing = r.error().code == base::error_code::not_found || why == reason::image;
    return missing ? no_such_image(call, location, image) : r.error();
  }
  const base::json& p = r->body["properties"];
  // Machines of it go on; Azure makes no new ones.
  const std::string state = p.at({"imageDeprecationStatus", "imageState"}).string_or("");
  if (base::equals_ignoring_case(state, "Deprecated")) {
    const std::string text = "Azure image '" + image.text() + "' (version " + out.version +
                             ") has been withdrawn by its publisher; choose another version";
    return make_error(reason::image, base::error_code::permanent, text, text);
  }
  out.generation = p["hyperVGeneration"].string_or("");
  out.architecture = p["architecture"].string_or("");
  out.plan = p["plan"].is_object() ? p["plan"] : base::json();
  out.disk_gib = p.at({"osDiskImage", "sizeInGb"}).integer().value_or(0);
  return out;
}

} // namespace siteagent::azure
