// SPDX-License-Identifier: MIT
// Availability sets: written at once, they count domains and know their machines.
#include "handlers.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::int64_t most_update_domains = 20;
constexpr std::int64_t most_fault_domains = 3; // of the larger regions

reply out_of_range(std::string_view name, std::int64_t most) {
  return error_reply(
      400,
      {"InvalidParameter",
       "The specified " + std::string(name) + " is out of range. It must be between 1 and " +
           std::to_string(most) + ".",
       std::string(name)}
  );
}

// A count of the request, of what exists, or the platform's own choice; nullopt: out of range.
std::optional<std::int64_t> count_of(
    const json& wanted,
    const resource* existing,
    std::string_view name,
    std::int64_t fallback,
    std::int64_t most
) {
  const auto before = existing == nullptr
                          ? fallback
                          : existing->body.at({"properties", name}).integer().value_or(fallback);
  const auto count = wanted[name].is_null() ? before : wanted[name].integer().value_or(0);
  return count >= 1 && count <= most ? std::optional(count) : std::nullopt;
}

} // namespace

reply put_availability_set(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  const auto& wanted = c.body["properties"];
  const auto updates =
      count_of(wanted, existing, "platformUpdateDomainCount", 5, most_update_domains);
  const auto faults = count_of(wanted, existing, "platformFaultDomainCount", 3, most_fault_domains);
  if (!updates || !faults) {
    return updates ? out_of_range("platformFaultDomainCount", most_fault_domains)
                   : out_of_range("platformUpdateDomainCount", most_update_domains);
  }
  const auto name =
      c.body.at({"sku", "name"})
          .string_or(
              existing == nullptr ? "Classic"
                                  : existing->body.at({"sku", "name"}).string_or("Classic")
          );
  if (!equals_ignoring_case(name, "Classic") && !equals_ignoring_case(name, "Aligned")) {
    return error_reply(
        400,
        {"InvalidParameter",
         "The value '" + name + "' of sku.name is invalid: it must be Classic or Aligned.",
         "sku.name"}
    );
  }
  if (existing != nullptr &&
      existing->body.at({"properties", "platformFaultDomainCount"}).integer() != faults) {
    return error_reply(
        409,
        {"PropertyChangeNotAllowed",
         "Changing property 'platformFaultDomainCount' is not allowed.",
         "platformFaultDomainCount"}
    );
  }
  resource r;
  r.path = path;
  r.location = normalized_location(c.body["location"].string_or(""));
  r.created = existing == nullptr ? c.now() : existing->created;
  r.changed = c.now();
  r.body = json::object(
      {{"name", path.name},
       {"id", path.id()},
       {"type", type_name(path.kind)},
       {"location", r.location}}
  );
  if (const auto& tags = c.body["tags"]; tags.is_object()) {
    r.body.set("tags", tags);
  }
  r.body.set(
      "properties",
      json::object({{"platformUpdateDomainCount", *updates}, {"platformFaultDomainCount", *faults}})
  );
  r.body.set("sku", json::object({{"name", name}}));
  return json_reply(200, render(c.world, c.world.put(std::move(r)))); // also when it is new
}

reply delete_availability_set(context& c, const resource_path& path) {
  if (c.world.find(path.key()) == nullptr) {
    return empty_reply(204);
  }
  if (!c.world.users_of(path.key()).empty()) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Availability Set '" + path.name +
             "' cannot be deleted. Before deleting an Availability Set please ensure that it does "
             "not contain any VM."}
    );
  }
  c.world.erase(path.key());
  return empty_reply(200);
}

} // namespace siteagent::azure_emulator
