// SPDX-License-Identifier: MIT
#include "plugins/azure/bodies.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/own_network.hpp"

namespace siteagent::azure {

namespace {

using base::json;

json reference(const machine_plan& p, kind_id which) {
  return json::object({{"id", companion(p.machine, which).text()}});
}

json placed(const machine_plan& p, json properties) {
  return json::object(
      {{"location", p.order.location}, {"tags", p.tags}, {"properties", std::move(properties)}}
  );
}

json texts(const std::vector<std::string>& values) {
  json out = json::array();
  for (const std::string& v : values) {
    out.push_back(v);
  }
  return out;
}

json network_body(const machine_plan& p) {
  return placed(
      p,
      json::object(
          {{"addressSpace", json::object({{"addressPrefixes", json::array({p.s.network_cidr})}})}}
      )
  );
}

json subnet_body(const machine_plan& p) {
  // What Azure assumes without it differs by API version, and machines without an address of their
  // own would silently lose their way out.
  return json::object(
      {{"properties",
        json::object({{"addressPrefix", p.s.subnet_cidr}, {"defaultOutboundAccess", true}})}}
  );
}

json address_body(const machine_plan& p) {
  json body = placed(
      p, json::object({{"publicIPAllocationMethod", "Static"}, {"publicIPAddressVersion", "IPv4"}})
  );
  body.set("sku", json::object({{"name", "Standard"}}));
  return body;
}

json security_group_body(const machine_plan& p) {
  const json rule = json::object(
      {{"name", "default-allow-ssh"},
       {"properties",
        json::object(
            {{"protocol", "Tcp"},
             {"sourcePortRange", "*"},
             {"destinationPortRange", "22"},
             {"sourceAddressPrefixes", texts(p.s.allowed_ssh_ranges)},
             {"destinationAddressPrefix", "*"},
             {"access", "Allow"},
             {"direction", "Inbound"},
             {"priority", 1000}}
        )}}
  );
  return placed(p, json::object({{"securityRules", json::array({rule})}}));
}

json interface_body(const machine_plan& p) {
  json connection = json::object(
      {{"primary", true},
       {"privateIPAllocationMethod", "Dynamic"},
       {"subnet", json::object({{"id", subnet_of(p.s, p.machine).text()}})}}
  );
  if (is_made(kind_id::public_ip_address, p.s)) {
    json address = reference(p, kind_id::public_ip_address);
    address.set("properties", json::object({{"deleteOption", "Delete"}}));
    connection.set("publicIPAddress", std::move(address));
  }
  json configuration = json::object({{"name", "ipconf" + p.machine.name()}});
  configuration.set("properties", std::move(connection));
  json properties = json::object({{"ipConfigurations", json::array({configuration})}});
  if (is_made(kind_id::network_security_group, p.s)) {
    properties.set("networkSecurityGroup", reference(p, kind_id::network_security_group));
  }
  return placed(p, std::move(properties));
}

json os_profile(const machine_plan& p, const base::secret& password) {
  const json key = json::object(
      {{"path", "/home/" + p.order.user_name + "/.ssh/authorized_keys"},
       {"keyData", p.order.ssh_key}}
  );
  json profile = json::object(
      {{"computerName", computer_name(p.machine.name())},
       {"adminUsername", p.order.user_name},
       {"linuxConfiguration",
        json::object(
            {{"disablePasswordAuthentication", !p.s.password_login},
             {"ssh", json::object({{"publicKeys", json::array({key})}})}}
        )}}
  );
  if (p.s.password_login) {
    profile.set("adminPassword", password.reveal());
  }
  if (!p.order.user_data.empty()) {
    profile.set("customData", base::base64(p.order.user_data));
  }
  return profile;
}

json storage_profile(const machine_plan& p) {
  const json image = json::object(
      {{"publisher", p.order.image.publisher},
       {"offer", p.order.image.offer},
       {"sku", p.order.image.sku},
       {"version", p.image.version}}
  );
  const json disk = json::object(
      {{"name", companion(p.machine, kind_id::disk).name()},
       {"createOption", "FromImage"},
       {"deleteOption", "Delete"}}
  );
  return json::object({{"imageReference", image}, {"osDisk", disk}});
}

json machine_body(const machine_plan& p, const base::secret& password) {
  json interface = reference(p, kind_id::network_interface);
  interface.set("properties", json::object({{"primary", true}, {"deleteOption", "Delete"}}));
  json body = placed(
      p,
      json::object(
          {{"hardwareProfile", json::object({{"vmSize", p.order.size}})},
           {"storageProfile", storage_profile(p)},
           {"osProfile", os_profile(p, password)},
           {"networkProfile",
            json::object({{"networkInterfaces", json::array({std::move(interface)})}})}}
      )
  );
  if (p.image.plan.is_object()) {
    body.set("plan", p.image.plan);
  }
  return body;
}

} // namespace

base::json body_of(kind_id which, const machine_plan& p, const base::secret& password) {
  switch (which) {
  case kind_id::resource_group:
    return json::object({{"location", p.order.location}, {"tags", p.tags}});
  case kind_id::virtual_network:
    return network_body(p);
  case kind_id::subnet:
    return subnet_body(p);
  case kind_id::public_ip_address:
    return address_body(p);
  case kind_id::network_security_group:
    return security_group_body(p);
  case kind_id::network_interface:
    return interface_body(p);
  case kind_id::virtual_machine:
    return machine_body(p, password);
  case kind_id::disk: // comes with its machine
  case kind_id::application_security_group:
  case kind_id::security_rule:
    break;
  }
  return {};
}

} // namespace siteagent::azure
