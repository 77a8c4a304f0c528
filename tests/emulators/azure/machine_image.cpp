// SPDX-License-Identifier: MIT
// What a create starts from: the size, the image, its generation, its purchase plan and its terms.
#include "machine.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply refuse(
    int status, std::string_view code, const std::string& message, std::string_view target
) {
  return error_reply(status, {std::string(code), message, std::string(target)});
}

std::string sizes_in(const world& w, std::string_view location) {
  std::vector<std::string> names;
  for (const auto& size : w.offer.sizes) {
    if (w.offer.find_size(size.name, location) != nullptr) {
      names.push_back(size.name);
    }
  }
  return base::join(names, ",");
}

bool has_word(std::string_view list, std::string_view word) {
  for (const auto part : base::split(list, ',')) {
    if (equals_ignoring_case(part, word)) {
      return true;
    }
  }
  return false;
}

reply refuse_plan(const std::string& message) {
  return refuse(400, "VMMarketplaceInvalidInput", message, "");
}

// Purchases need the terms of the plan accepted, once per subscription.
std::optional<reply> check_terms(const context& c, const json& plan) {
  const std::string terms = base::to_lower(
      plan["publisher"].string_or("") + ":" + plan["product"].string_or("") + ":" +
      plan["name"].string_or("")
  );
  const auto& accepted = c.world.behaviour.accepted_terms;
  if (accepted.count("*") != 0 || accepted.count(terms) != 0) {
    return std::nullopt;
  }
  return refuse(
      400,
      "ResourcePurchaseValidationFailed",
      "User failed validation to purchase resources. Error message: 'You have not accepted the "
      "legal terms on this subscription: '" +
          c.subscription_id() +
          "' for this plan. Before the subscription can be used, you need to accept the legal "
          "terms "
          "of the image.'",
      ""
  );
}

std::optional<reply> check_plan(const context& c, const image_entry& image) {
  const auto& plan = c.body["plan"];
  if (image.plan.is_null()) {
    if (plan.is_null()) {
      return std::nullopt;
    }
    return refuse_plan(
        "Plan information not needed: the image '" + image.publisher + ":" + image.offer + ":" +
        image.sku + "' has no purchase plan."
    );
  }
  if (plan.is_null()) {
    return refuse_plan(
        "Creating a virtual machine from Marketplace image or a custom image sourced from a "
        "Marketplace image requires Plan information in the request."
    );
  }
  for (const auto* key : {"name", "publisher", "product"}) {
    if (!equals_ignoring_case(plan[key].string_or(""), image.plan[key].string_or(""))) {
      return refuse_plan("The purchase plan information in the request does not match that of the "
                         "image.");
    }
  }
  return check_terms(c, image.plan);
}

std::optional<reply>
find_platform_image(const context& c, std::string_view location, machine_offer& offer) {
  const auto& reference = c.body.at({"properties", "storageProfile", "imageReference"});
  const std::string publisher = reference["publisher"].string_or("");
  const std::string name = reference["offer"].string_or("");
  const std::string sku = reference["sku"].string_or("");
  const std::string version = reference["version"].string_or("");
  if (publisher.empty() || name.empty() || sku.empty() || version.empty()) {
    return refuse(
        400,
        "InvalidParameter",
        "The imageReference must have publisher, offer, sku and version.",
        "imageReference"
    );
  }
  offer.image = c.world.offer.find_image(publisher, name, sku, version, location);
  if (offer.image == nullptr) {
    return refuse(
        404,
        "PlatformImageNotFound",
        "The platform image '" + publisher + ":" + name + ":" + sku + ":" + version +
            "' is not available. Verify that all fields in the storage profile are correct. For "
            "more details about storage profile information, please refer to "
            "https://aka.ms/storageprofile",
        "imageReference"
    );
  }
  return std::nullopt;
}

// One of: a managed image, a gallery image with or without version.
std::optional<reply> find_own_image(
    const context& c, std::string_view location, const std::string& id, machine_offer& offer
) {
  if (id.empty() || id.front() != '/' || base::split(id, '/').size() < 9) {
    return gateway_error(
        400,
        {"LinkedInvalidPropertyId",
         "Property id '" + id +
             "' at path 'properties.storageProfile.imageReference.id' is invalid. Expect fully "
             "qualified resource Id that start with '/subscriptions/{subscriptionId}' or "
             "'/providers/{resourceProviderNamespace}/'."}
    );
  }
  offer.image = c.world.offer.find_own_image(id, location);
  if (offer.image != nullptr) {
    return std::nullopt;
  }
  if (base::to_lower(id).find("/galleries/") != std::string::npos) {
    return refuse(
        404,
        "GalleryImageNotFound",
        "The gallery image " + id + " is not available in " + std::string(location) +
            " region. Please contact image owner to replicate to this region, or change your "
            "requested region.",
        "imageReference"
    );
  }
  return refuse(
      404,
      "NotFound",
      "The Image '" + id + "' cannot be found in '" + std::string(location) + "' region.",
      "imageReference"
  );
}

std::optional<reply> find_image(const context& c, std::string_view location, machine_offer& offer) {
  const auto& reference = c.body.at({"properties", "storageProfile", "imageReference"});
  std::size_t forms = 0;
  std::string id;
  for (const auto* name : {"id", "sharedGalleryImageId", "communityGalleryImageId"}) {
    if (const std::string text = reference[name].string_or(""); !text.empty()) {
      ++forms;
      id = text;
    }
  }
  forms += reference["publisher"].is_string() ? 1 : 0;
  if (forms > 1) {
    return refuse(
        400,
        "InvalidParameter",
        "The imageReference must have either an id or publisher, offer, sku and version.",
        "imageReference"
    );
  }
  if (id.empty()) {
    return find_platform_image(c, location, offer);
  }
  if (!reference["id"].is_string()) { // shared and community galleries have ids of their own
    offer.image = c.world.offer.find_own_image(id, location);
    return offer.image != nullptr ? std::nullopt
                                  : std::optional<reply>(refuse(
                                        404,
                                        "GalleryImageNotFound",
                                        "The gallery image " + id + " is not available in " +
                                            std::string(location) + " region.",
                                        "imageReference"
                                    ));
  }
  return find_own_image(c, location, id, offer);
}

} // namespace

std::optional<reply> find_machine_size(
    const world& w, const json& body, std::string_view location, machine_offer& offer
) {
  const std::string wanted = body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  offer.size = w.offer.find_size(wanted, location);
  if (offer.size != nullptr) {
    return std::nullopt;
  }
  return refuse(
      400,
      "InvalidParameter",
      "The requested VM size " + wanted +
          " is not available in the current region. The sizes available in the current region "
          "are: " +
          sizes_in(w, location) +
          ".\nFind out more on the available VM sizes in each region at "
          "https://aka.ms/azure-regions.",
      "vmSize"
  );
}

std::optional<reply> check_generation(
    const size_entry& size, std::string_view generation, std::string_view architecture
) {
  if (!has_word(size.generations, generation)) {
    const std::string number(generation.substr(1));
    return refuse(
        400,
        "BadRequest",
        "The selected VM size '" + size.name + "' cannot boot Hypervisor Generation '" + number +
            "'. If this was a Create operation please check that the Hypervisor Generation of the "
            "Image matches the Hypervisor Generation of the selected VM Size. If this was an "
            "Update operation please select a Hypervisor Generation '" +
            number + "' VM Size.",
        ""
    );
  }
  if (!equals_ignoring_case(size.architecture, architecture)) {
    return refuse(
        400,
        "BadRequest",
        "Cannot create a VM of size '" + size.name +
            "' because this VM size only supports a CPU Architecture of '" + size.architecture +
            "', but an image or disk with CPU Architecture '" + std::string(architecture) +
            "' was specified. Please use an image or disk that is compatible.",
        ""
    );
  }
  return std::nullopt;
}

std::optional<reply>
check_machine_image(const context& c, std::string_view location, machine_offer& offer) {
  const auto& storage = c.body.at({"properties", "storageProfile"});
  offer.is_linux = !equals_ignoring_case(storage.at({"osDisk", "osType"}).string_or(""), "Windows");
  if (equals_ignoring_case(storage.at({"osDisk", "createOption"}).string_or(""), "Attach")) {
    return std::nullopt;
  }
  if (auto bad = find_image(c, location, offer)) {
    return bad;
  }
  const auto& image = *offer.image;
  offer.is_linux = !equals_ignoring_case(image.os, "Windows");
  if (equals_ignoring_case(image.state, "Deprecated")) {
    return refuse(
        400,
        "ImageVersionDeprecated",
        "VM Image from publisher: " + image.publisher + " with - Offer: " + image.offer +
            ", Sku: " + image.sku + ", Version: " + image.version + " is deprecated.",
        "imageReference"
    );
  }
  auto bad = check_generation(*offer.size, image.generation, image.architecture);
  return bad ? bad : check_plan(c, image);
}

} // namespace siteagent::azure_emulator
