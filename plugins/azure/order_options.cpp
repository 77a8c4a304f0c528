// SPDX-License-Identifier: MIT
#include "plugins/azure/order_options.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/naming.hpp"

namespace siteagent::azure {

namespace {

using base::json;
using texts = std::vector<std::string>;

json texts_to_json(const texts& list) {
  json out = json::array();
  for (const std::string& t : list) {
    out.push_back(t);
  }
  return out;
}

// The candidate as it is offered, or "": a default that cannot be ordered is none.
std::string default_among(const offer& o, const std::string& wanted, bool is_location) {
  for (const std::string& choice : o.kept) {
    if (base::equals_ignoring_case(is_location ? normal_location(choice) : choice, wanted)) {
      return choice;
    }
  }
  return "";
}

json select_option(
    const char* name, const char* label, const char* help, const offer& o, const std::string& usual
) {
  json out = json::object(
      {{"name", name},
       {"label", label},
       {"type", "select_string"},
       {"required", usual.empty()},
       {"choices", texts_to_json(o.kept)},
       {"help_text", help}}
  );
  if (!usual.empty()) {
    out.set("default", usual);
  }
  json left_out = json::array();
  for (const auto& [choice, reason] : o.left_out) {
    left_out.push_back(json::object({{"choice", choice}, {"reason", reason}}));
  }
  if (left_out.size() > 0) {
    out.set("left_out", std::move(left_out));
  }
  return out;
}

json text_option(
    const char* name, const char* label, const char* type, bool required, const char* help
) {
  return json::object(
      {{"name", name},
       {"label", label},
       {"type", type},
       {"required", required},
       {"help_text", help}}
  );
}

} // namespace

candidates read_candidates(const json& choices) {
  candidates out;
  out.only_these = choices.is_object();
  const auto read = [&](std::string_view key) -> std::optional<texts> {
    if (!choices[key].is_array()) {
      return std::nullopt;
    }
    texts list;
    for (const json& item : choices[key].items()) {
      list.push_back(item.string_or(""));
    }
    return list;
  };
  out.locations = read("location");
  out.sizes = read("size");
  out.images = read("image");
  return out;
}

base::result<std::vector<json>> order_options(
    const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
) {
  const auto chosen = choose_offers(cloud, s, call, asked);
  if (!chosen) {
    return chosen.error();
  }
  json key = text_option(
      "ssh_public_key",
      "SSH public key",
      "text",
      true,
      "One line, ssh-ed25519 or ssh-rsa; it is the only way into the machine."
  );
  key.set("instead", json::array({"ssh_key", "ssh_key_uuid"}));
  return std::vector<json>{
      select_option(
          "location",
          "Location",
          "Where the machine runs.",
          chosen->locations,
          default_among(chosen->locations, s.default_location, true)
      ),
      select_option(
          "size",
          "Size",
          "Cores and memory of the machine.",
          chosen->sizes,
          default_among(chosen->sizes, s.default_size, false)
      ),
      select_option(
          "image",
          "Image",
          "Operating system, as publisher:offer:sku:version.",
          chosen->images,
          default_among(chosen->images, default_image_text(s), false)
      ),
      std::move(key),
      text_option("username", "User name", "string", false, "The user the key is for."),
      text_option("user_data", "Cloud-init", "text", false, "Read by the machine at first boot.")};
}

} // namespace siteagent::azure
