// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/host_bodies.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

constexpr std::int64_t own_priority = 100;

json reference(const std::string& id) {
  return json::object({{"id", id}});
}

json placed(const host_plan& p, json properties) {
  return json::object(
      {{"location", p.location}, {"tags", p.tags}, {"properties", std::move(properties)}}
  );
}

json address_body(const host_plan& p) {
  json body = placed(
      p, json::object({{"publicIPAllocationMethod", "Static"}, {"publicIPAddressVersion", "IPv4"}})
  );
  body.set("sku", json::object({{"name", "Standard"}, {"tier", "Regional"}}));
  return body;
}

json group_body(const host_plan& p) {
  return placed(p, json::object({{"securityRules", json::array({body_of(p.rule, own_priority)})}}));
}

// Nothing of it goes with the machine: what is deleted explicitly is confirmed.
json interface_body(const host_plan& p) {
  json connection = json::object(
      {{"primary", true},
       {"privateIPAllocationMethod", "Dynamic"},
       {"subnet", reference(p.subnet.text())},
       {"publicIPAddress", reference(p.objects.address.text())},
       {"applicationSecurityGroups", json::array({reference(p.objects.application_group)})}}
  );
  const json configuration =
      json::object({{"name", "ipconfig1"}, {"properties", std::move(connection)}});
  return placed(
      p,
      json::object(
          {{"ipConfigurations", json::array({configuration})},
           {"networkSecurityGroup", reference(p.objects.group.text())}}
      )
  );
}

json os_profile(const host_plan& p) {
  const json key = json::object(
      {{"path", "/home/" + p.login + "/.ssh/authorized_keys"}, {"keyData", p.public_key}}
  );
  return json::object(
      {{"computerName", computer_name_of(p.name)},
       {"adminUsername", p.login},
       {"customData", base::base64(p.user_data)},
       {"linuxConfiguration",
        json::object(
            {{"disablePasswordAuthentication", true},
             {"ssh", json::object({{"publicKeys", json::array({key})}})}}
        )}}
  );
}

json storage_profile(const host_plan& p) {
  const json image = json::object(
      {{"publisher", p.image.publisher},
       {"offer", p.image.offer},
       {"sku", p.image.sku},
       {"version", p.resolved.version}}
  );
  const json disk = json::object(
      {{"name", p.objects.disk.name()},
       {"createOption", "FromImage"},
       {"deleteOption", "Delete"},
       {"diskSizeGB", p.disk_gb}}
  );
  return json::object({{"imageReference", image}, {"osDisk", disk}});
}

json machine_body(const host_plan& p) {
  json interface = reference(p.objects.interface.text());
  interface.set("properties", json::object({{"primary", true}, {"deleteOption", "Detach"}}));
  json body = placed(
      p,
      json::object(
          {{"hardwareProfile", json::object({{"vmSize", p.size}})},
           {"storageProfile", storage_profile(p)},
           {"osProfile", os_profile(p)},
           {"networkProfile",
            json::object({{"networkInterfaces", json::array({std::move(interface)})}})}}
      )
  );
  if (p.resolved.plan.is_object()) {
    body.set("plan", p.resolved.plan);
  }
  return body;
}

} // namespace

std::string computer_name_of(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c == '.' || c == '_' ? '-' : c;
  }
  return out;
}

base::json body_of(kind_id which, const host_plan& p) {
  switch (which) {
  case kind_id::public_ip_address:
    return address_body(p);
  case kind_id::network_security_group:
    return group_body(p);
  case kind_id::network_interface:
    return interface_body(p);
  case kind_id::virtual_machine:
    return machine_body(p);
  default:
    return {}; // a disk comes with its machine
  }
}

} // namespace siteagent::azure::cloud_host
