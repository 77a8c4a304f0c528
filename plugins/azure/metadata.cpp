// SPDX-License-Identifier: MIT
#include "plugins/azure/metadata.hpp"

#include "core/net/url.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/kinds.hpp"

namespace siteagent::azure {

namespace {

base::json or_null(const std::string& text) {
  return text.empty() ? base::json() : base::json(text);
}

base::result<std::string> companion_address(
    const services& cloud,
    const arm::scope& call,
    const resource_id& machine,
    kind_id which,
    std::string (*address)(const base::json&)
) {
  const kind& k = kind_of(which);
  const resource_id id = companion(machine, which);
  auto seen = arm::read_if_present(cloud.arm(), call, url_of(id, k), describe("read", k, id));
  if (!seen) {
    return seen.error();
  }
  return *seen ? address(**seen) : std::string();
}

} // namespace

std::string id_of(const base::json& object) {
  return object["id"].string_or("");
}

base::json metadata_of(const machine_facts& f) {
  const base::json& p = f.model["properties"];
  base::json machine = base::json::object(
      {{"id", id_of(f.model)},
       {"name", f.model["name"].string_or("")},
       {"location", f.model["location"].string_or("")},
       {"size", p.at({"hardwareProfile", "vmSize"}).string_or("")},
       {"power_state", f.power ? base::json(*f.power) : base::json()},
       {"public_ip", or_null(f.public_ip)},
       {"private_ip", or_null(f.private_ip)}}
  );
  const base::json& image = p.at({"storageProfile", "imageReference"});
  if (image["publisher"].string()) {
    const std::string exact = image["exactVersion"].string_or(image["version"].string_or(""));
    machine.set(
        "image",
        image["publisher"].string_or("") + ":" + image["offer"].string_or("") + ":" +
            image["sku"].string_or("") + ":" + exact
    );
  }
  return base::json::object({{"backend_type", "azure"}, {"virtual_machine", std::move(machine)}});
}

base::json endpoints_of(const machine_facts& f, const settings& s) {
  const std::string user = f.model.at({"properties", "osProfile", "adminUsername"}).string_or("");
  const std::string& address = f.public_ip.empty() && !s.public_ip ? f.private_ip : f.public_ip;
  if (user.empty() || address.empty()) {
    return base::json::array();
  }
  const bool v6 = address.find(':') != std::string::npos;
  const std::string url = "ssh://" + net::encode(user) + "@" + (v6 ? "[" + address + "]" : address);
  return base::json::array({base::json::object({{"name", "SSH"}, {"url", url}})});
}

base::result<machine_facts> complete_facts(
    const services& cloud, const arm::scope& call, const resource_id& id, machine_facts known
) {
  const base::json& expanded = known.model.at({"properties", "instanceView"});
  if (!known.power && expanded.is_object()) {
    known.power = power_of(expanded["statuses"]);
  } else if (!known.power) {
    auto view = cloud.compute().instance_view(call, id);
    if (!view) {
      return view.error();
    }
    known.power = power_of((*view)["statuses"]);
    known.changed = changed_of((*view)["statuses"]);
  }
  if (known.public_ip.empty()) {
    auto outside = companion_address(cloud, call, id, kind_id::public_ip_address, public_address);
    if (!outside) {
      return outside.error();
    }
    known.public_ip = std::move(*outside);
  }
  if (known.private_ip.empty()) {
    auto inside = companion_address(cloud, call, id, kind_id::network_interface, private_address);
    if (!inside) {
      return inside.error();
    }
    known.private_ip = std::move(*inside);
  }
  return known;
}

base::result<machine_facts>
read_facts(const services& cloud, const arm::scope& call, const resource_id& id, base::json model) {
  return complete_facts(cloud, call, id, {std::move(model), {}, "", "", {}});
}

} // namespace siteagent::azure
