// SPDX-License-Identifier: MIT
// Browsing platform images: publishers, offers, SKUs, versions. Bare arrays, never paged.
#include "handlers.hpp"
#include "machine.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

struct wanted_image {
  std::string publisher;
  std::string offer;
  std::string sku;
};

bool fits(const image_entry& i, const wanted_image& w, std::string_view location) {
  const auto matches = [](std::string_view wanted, std::string_view have) {
    return wanted.empty() || equals_ignoring_case(wanted, have);
  };
  const bool here =
      i.locations.empty() || std::any_of(i.locations.begin(), i.locations.end(), [&](auto& l) {
        return equals_ignoring_case(l, location);
      });
  return here && matches(w.publisher, i.publisher) && matches(w.offer, i.offer) &&
         matches(w.sku, i.sku);
}

reply not_found(std::string_view what) {
  return error_reply(404, {"NotFound", "Artifact: " + std::string(what) + " was not found."});
}

// Distinct names under one level.
reply names(
    const context& c,
    std::string_view location,
    const wanted_image& wanted,
    const std::string& parent,
    const std::function<std::string(const image_entry&)>& name_of
) {
  std::vector<std::string> seen;
  for (const auto& image : c.world.offer.images) {
    const std::string name = name_of(image);
    if (fits(image, wanted, location) && std::find(seen.begin(), seen.end(), name) == seen.end()) {
      seen.push_back(name);
    }
  }
  if (seen.empty() && !wanted.publisher.empty()) {
    return not_found("VMImage");
  }
  std::sort(seen.begin(), seen.end());
  json list = json::array();
  for (const auto& name : seen) {
    list.push_back(
        json::object({{"location", location}, {"name", name}, {"id", parent + "/" + name}})
    );
  }
  return json_reply(200, list);
}

json version_body(const context& c, std::string_view location, const image_entry& i) {
  json features =
      json::array({json::object({{"name", "IsAcceleratedNetworkSupported"}, {"value", "True"}})});
  if (i.trusted_launch && i.generation == "V2") {
    features.push_back(json::object({{"name", "SecurityType"}, {"value", "TrustedLaunchSupported"}})
    );
  }
  return json::object(
      {{"location", location},
       {"name", i.version},
       {"id", image_id(c.subscription_id(), location, i)},
       {"properties",
        json::object(
            {{"plan", i.plan},
             {"osDiskImage",
              json::object(
                  {{"operatingSystem", i.os},
                   {"sizeInGb", i.size_gib},
                   {"sizeInBytes", i.size_gib * (std::int64_t{1} << 30)}}
              )},
             {"dataDiskImages", json::array()},
             {"automaticOSUpgradeProperties",
              json::object({{"automaticOSUpgradeSupported", true}})},
             {"hyperVGeneration", i.generation},
             {"architecture", i.architecture},
             {"replicaType", "Unmanaged"},
             {"features", features},
             {"disallowed", json::object({{"vmDiskType", "Unmanaged"}})},
             {"imageDeprecationStatus", json::object({{"imageState", i.state}})}}
        )}}
  );
}

reply versions(const context& c, std::string_view location, const wanted_image& wanted) {
  std::vector<const image_entry*> found;
  for (const auto& image : c.world.offer.images) {
    if (fits(image, wanted, location)) {
      found.push_back(&image);
    }
  }
  if (found.empty()) {
    return not_found("VMImage");
  }
  const bool descending =
      base::to_lower(c.http.parameter("$orderby")).find("desc") != std::string::npos;
  std::sort(found.begin(), found.end(), [&](const auto* a, const auto* b) {
    return descending ? version_less(b->version, a->version) : version_less(a->version, b->version);
  });
  std::size_t top = found.size();
  const std::string text = c.http.parameter("$top");
  std::from_chars(text.data(), text.data() + text.size(), top);
  const bool expand = equals_ignoring_case(c.http.parameter("$expand"), "properties");
  json list = json::array();
  for (std::size_t i = 0; i < std::min(top, found.size()); ++i) {
    json body = version_body(c, location, *found[i]);
    if (!expand) {
      body.erase("properties");
    }
    list.push_back(body);
  }
  return json_reply(200, list);
}

} // namespace

reply browse_images(context& c, std::string_view location, const std::vector<std::string>& rest) {
  const auto at = [&](std::size_t i) { return i < rest.size() ? rest[i] : std::string(); };
  const auto is = [&](std::size_t i, std::string_view word) {
    return equals_ignoring_case(at(i), word);
  };
  const std::string root = "/Subscriptions/" + c.subscription_id() +
                           "/Providers/Microsoft.Compute/Locations/" + std::string(location) +
                           "/Publishers";
  wanted_image wanted{at(0), at(4), at(6)};
  if (rest.empty()) {
    return names(c, location, {}, root, [](const auto& i) { return i.publisher; });
  }
  if (!is(1, "artifacttypes") || !is(2, "vmimage") || !is(3, "offers")) {
    return not_found("VMImage");
  }
  const std::string offers = root + "/" + at(0) + "/ArtifactTypes/VMImage/Offers";
  if (rest.size() == 4) {
    return names(c, location, {at(0), "", ""}, offers, [](const auto& i) { return i.offer; });
  }
  const std::string skus = offers + "/" + at(4) + "/Skus";
  if (rest.size() == 6 && is(5, "skus")) {
    return names(c, location, {at(0), at(4), ""}, skus, [](const auto& i) { return i.sku; });
  }
  if (rest.size() == 8 && is(7, "versions")) {
    return versions(c, location, wanted);
  }
  if (rest.size() == 9 && is(7, "versions")) {
    const auto* image =
        c.world.offer.find_image(wanted.publisher, wanted.offer, wanted.sku, at(8), location);
    return image == nullptr ? not_found("VMImage")
                            : json_reply(200, version_body(c, location, *image));
  }
  return not_found("VMImage");
}

} // namespace siteagent::azure_emulator
