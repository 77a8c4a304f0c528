// SPDX-License-Identifier: MIT
#include "render.hpp"

#include "context.hpp"

#include "core/base/uuid.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

json id_object(std::string_view id) {
  return json::object({{"id", id}});
}

// The ipConfiguration of an interface that refers to `key` under `member`.
json* find_configuration(resource& interface, std::string_view member, std::string_view key) {
  for (auto& configuration :
       interface.body.member_ref("properties").member_ref("ipConfigurations").items()) {
    if (key_of(configuration.at({"properties", member, "id"}).string_or("")) == key) {
      return &configuration;
    }
  }
  return nullptr;
}

void render_subnet(world& w, resource& r, json& properties) {
  json users;
  const std::string key = r.path.key();
  for (const auto& user : w.users_of(key)) {
    auto* interface = w.find(user);
    if (interface == nullptr || interface->path.kind != kind::network_interface) {
      continue;
    }
    if (const auto* configuration = find_configuration(*interface, "subnet", key)) {
      users.push_back(id_object((*configuration)["id"].string_or("")));
    }
  }
  if (!users.is_null()) {
    properties.set("ipConfigurations", users);
  }
}

void render_network(world& w, const resource& r, json& properties) {
  json subnets = json::array();
  for (const auto& key : w.children(r.path.key())) {
    subnets.push_back(render(w, *w.find(key)));
  }
  properties.set("subnets", subnets);
}

void render_security_group(world& w, const resource& r, json& body) {
  auto& properties = body.member_ref("properties");
  json rules = json::array();
  for (const auto& key : w.children(r.path.key())) {
    rules.push_back(render(w, *w.find(key)));
  }
  properties.set("securityRules", rules);
  for (auto& rule : properties.member_ref("defaultSecurityRules").items()) {
    rule.set("etag", r.etag);
    rule.member_ref("properties").set("provisioningState", text_of(r.state, true));
  }
  json interfaces;
  json subnets;
  for (const auto& user : w.users_of(r.path.key())) {
    const auto* u = w.find(user);
    if (u != nullptr && u->path.kind == kind::network_interface) {
      interfaces.push_back(id_object(u->path.id()));
    } else if (u != nullptr && u->path.kind == kind::subnet) {
      subnets.push_back(id_object(u->path.id()));
    }
  }
  if (!interfaces.is_null()) {
    properties.set("networkInterfaces", interfaces);
  }
  if (!subnets.is_null()) {
    properties.set("subnets", subnets);
  }
}

void render_public_ip(world& w, const resource& r, json& properties) {
  for (const auto& user : w.users_of(r.path.key())) {
    auto* interface = w.find(user);
    if (interface == nullptr) {
      continue;
    }
    if (const auto* configuration =
            find_configuration(*interface, "publicIPAddress", r.path.key())) {
      properties.set("ipConfiguration", id_object((*configuration)["id"].string_or("")));
    }
  }
}

// The machine an interface is attached to, once its create has ended.
const resource* attached_machine(world& w, const std::string& key) {
  for (const auto& user : w.users_of(key)) {
    const auto* machine = w.find(user);
    if (machine != nullptr && machine->path.kind == kind::virtual_machine &&
        machine->state != provisioning::creating) {
      return machine;
    }
  }
  return nullptr;
}

void render_interface(world& w, const resource& r, json& properties) {
  for (auto& configuration : properties.member_ref("ipConfigurations").items()) {
    configuration.set("etag", r.etag);
    configuration.member_ref("properties").set("provisioningState", text_of(r.state, true));
  }
  if (const auto* machine = attached_machine(w, r.path.key())) {
    if (!r.interface.mac.empty()) {
      properties.set("macAddress", r.interface.mac);
    }
    properties.set("primary", true);
    properties.set("virtualMachine", id_object(machine->path.id()));
  }
}

void render_disk(world& w, const resource& r, json& body) {
  if (body["properties"].find("diskState") == nullptr) {
    return; // still being created
  }
  std::string_view state = "Unattached";
  for (const auto& user : w.users_of(r.path.key())) {
    const auto* machine = w.find(user);
    if (machine != nullptr && machine->path.kind == kind::virtual_machine) {
      body.set("managedBy", machine->path.id());
      state = machine->machine.power == power::deallocated ? "Reserved" : "Attached";
    }
  }
  body.member_ref("properties").set("diskState", state);
}

json render_availability_set(world& w, const resource& r) {
  json body = r.body;
  json machines = json::array();
  for (const auto& user : w.users_of(r.path.key())) {
    if (const auto* machine = w.find(user)) {
      machines.push_back(id_object(machine->path.id()));
    }
  }
  if (machines.size() > 0) {
    body.member_ref("properties").set("virtualMachines", machines);
  }
  return body;
}

json status(std::string_view code, std::string_view level, std::string_view display) {
  return json::object({{"code", code}, {"level", level}, {"displayStatus", display}});
}

json provisioning_status(const resource& r, base::wall_time now) {
  json s;
  switch (r.state) {
  case provisioning::creating:
    s = status("ProvisioningState/creating", "Info", "Creating");
    break;
  case provisioning::updating:
    s = status("ProvisioningState/updating", "Info", "Updating");
    break;
  case provisioning::deleting:
    s = status("ProvisioningState/deleting", "Info", "Deleting");
    break;
  case provisioning::failed:
    s = status(
        "ProvisioningState/failed/" + r.machine.failure_code, "Error", "Provisioning failed"
    );
    s.set("message", r.machine.failure_message);
    break;
  case provisioning::succeeded:
    s = status("ProvisioningState/succeeded", "Info", "Provisioning succeeded");
    break;
  }
  s.set("time", compute_time(r.state == provisioning::succeeded ? r.changed : now));
  return s;
}

json power_status(power p) {
  switch (p) {
  case power::none:
    return {};
  case power::starting:
    return status("PowerState/starting", "Info", "VM starting");
  case power::running:
    return status("PowerState/running", "Info", "VM running");
  case power::stopping:
    return status("PowerState/stopping", "Info", "VM stopping");
  case power::stopped:
    return status("PowerState/stopped", "Info", "VM stopped");
  case power::deallocating:
    return status("PowerState/deallocating", "Info", "VM deallocating");
  case power::deallocated:
    return status("PowerState/deallocated", "Info", "VM deallocated");
  }
  return {};
}

// A machine shows no power state at first, then "starting", while its create runs.
power visible_power(world& w, const resource& r, base::wall_time now) {
  if (r.machine.power_hidden) {
    return power::none;
  }
  if (r.state != provisioning::creating) {
    const bool lags = now < r.machine.power_changed + w.behaviour.instance_view_lag;
    return lags ? r.machine.power_seen : r.machine.power;
  }
  const auto it = w.operations.find(key_of(r.operation));
  if (it == w.operations.end()) {
    return power::none;
  }
  const auto& op = it->second;
  return now - op.started > (op.due - op.started) / 3 ? power::starting : power::none;
}

json statuses(world& w, const resource& r, base::wall_time now) {
  json list = json::array({provisioning_status(r, now)});
  const json p = power_status(visible_power(w, r, now));
  if (!p.is_null()) {
    list.push_back(p);
  }
  if (r.machine.hibernated && r.machine.power == power::deallocated) {
    list.push_back(status("HibernationState/Hibernated", "Info", "VM hibernated"));
  }
  return list;
}

void add_guest_parts(const resource& r, base::wall_time now, json& view) {
  const auto& properties = r.body["properties"];
  view.set("computerName", properties.at({"osProfile", "computerName"}));
  const bool windows =
      properties.at({"storageProfile", "osDisk", "osType"}).string_or("") == "Windows";
  view.set("osName", windows ? "Windows Server" : "linux");
  view.set("osVersion", "1.0");
  json ready = status("ProvisioningState/succeeded", "Info", "Ready");
  ready.set("message", "Guest Agent is running");
  ready.set("time", compute_time(now));
  view.set(
      "vmAgent",
      json::object(
          {{"vmAgentVersion", "2.9.1.1"},
           {"statuses", json::array({ready})},
           {"extensionHandlers", json::array()}}
      )
  );
}

} // namespace

json render(world& w, resource& r) {
  json body = r.body;
  if (r.path.kind == kind::ssh_key) {
    return body; // written at once, it has no state
  }
  if (r.path.kind == kind::availability_set) {
    return render_availability_set(w, r); // nor has this
  }
  const bool network = is_network(r.path.kind);
  if (network) {
    body.set("etag", r.etag);
  } else if (r.path.kind == kind::virtual_machine) {
    body.set("etag", "\"" + std::to_string(r.machine.version) + "\"");
  }
  // Taken last: a reference to a member does not outlive a new sibling.
  auto& properties = body.member_ref("properties");
  properties.set("provisioningState", text_of(r.state, network));
  switch (r.path.kind) {
  case kind::virtual_network:
    render_network(w, r, properties);
    break;
  case kind::subnet:
    render_subnet(w, r, properties);
    break;
  case kind::public_ip:
    render_public_ip(w, r, properties);
    break;
  case kind::security_group:
    render_security_group(w, r, body);
    break;
  case kind::network_interface:
    render_interface(w, r, properties);
    break;
  case kind::disk:
    render_disk(w, r, body);
    break;
  case kind::virtual_machine:
    if (w.behaviour.hides_stopped_disks && r.machine.power == power::deallocated) {
      auto& disk = properties.member_ref("storageProfile").member_ref("osDisk");
      disk.erase("diskSizeGB");
      disk.member_ref("managedDisk").erase("storageAccountType");
    }
    break;
  case kind::security_rule:
  case kind::application_group:
  case kind::ssh_key:
  case kind::availability_set:
    break;
  }
  return body;
}

json render_group(const group& g) {
  json body = json::object(
      {{"id", g.id()},
       {"name", g.name},
       {"type", "Microsoft.Resources/resourceGroups"},
       {"location", g.location}}
  );
  if (!g.tags.is_null()) {
    body.set("tags", g.tags);
  }
  body.set("properties", json::object({{"provisioningState", text_of(g.state, false)}}));
  return body;
}

json render_generic(world& w, resource& r) {
  const json body = render(w, r);
  json out = json::object(
      {{"id", r.path.id()}, {"name", r.path.own_name()}, {"type", type_name(r.path.kind)}}
  );
  for (const auto* key : {"sku", "kind", "managedBy", "plan", "identity", "zones"}) {
    if (const auto* value = body.find(key)) {
      out.set(key, *value);
    }
  }
  out.set("location", r.location);
  if (const auto* tags = body.find("tags")) {
    out.set("tags", *tags);
  }
  return out;
}

void show_address(world& w, resource& r) {
  auto& properties = r.body.member_ref("properties");
  const std::string method = properties["publicIPAllocationMethod"].string_or("");
  if (method != "Static" || properties.find("ipAddress") != nullptr) {
    return;
  }
  if (r.address.empty()) {
    r.address = w.new_address();
  }
  properties.set("ipAddress", r.address);
}

void show_disk_details(resource& r, base::wall_time now) {
  std::string name = r.body.at({"sku", "name"}).string_or("Standard_LRS");
  r.body.set("sku", json::object({{"name", name}, {"tier", name.substr(0, name.find('_'))}}));
  auto& properties = r.body.member_ref("properties");
  const auto size = properties["diskSizeGB"].integer().value_or(30);
  if (properties.find("diskState") != nullptr) {
    properties.set("diskSizeBytes", size * (std::int64_t{1} << 30));
    return;
  }
  const bool premium = name.rfind("Premium", 0) == 0;
  properties.set("diskIOPSReadWrite", premium ? 240 : 500);
  properties.set("diskMBpsReadWrite", premium ? 50 : 60);
  properties.set("encryption", json::object({{"type", "EncryptionAtRestWithPlatformKey"}}));
  properties.set("networkAccessPolicy", "AllowAll");
  properties.set("publicNetworkAccess", "Enabled");
  properties.set("timeCreated", compute_time(now));
  properties.set("diskState", "Unattached");
  properties.set("diskSizeBytes", size * (std::int64_t{1} << 30));
  properties.set("uniqueId", base::uuid::random().dashed());
}

json instance_view(world& w, const resource& r, base::wall_time now) {
  json view;
  const power p = visible_power(w, r, now);
  if (p == power::running && r.state != provisioning::creating) {
    add_guest_parts(r, now, view);
  }
  json disks = json::array();
  json ready = status("ProvisioningState/succeeded", "Info", "Provisioning succeeded");
  ready.set("time", compute_time(r.changed));
  const auto& storage = r.body.at({"properties", "storageProfile"});
  disks.push_back(
      json::object({{"name", storage.at({"osDisk", "name"})}, {"statuses", json::array({ready})}})
  );
  for (const auto& disk : storage["dataDisks"].items()) {
    disks.push_back(json::object({{"name", disk["name"]}, {"statuses", json::array({ready})}}));
  }
  view.set("disks", disks);
  if (r.body.at({"properties", "diagnosticsProfile", "bootDiagnostics", "enabled"}).boolean() ==
      true) {
    view.set("bootDiagnostics", json::object());
  }
  view.set("hyperVGeneration", r.machine.generation);
  view.set("statuses", statuses(w, r, now));
  return view;
}

json render_status_only(world& w, resource& r, base::wall_time now) {
  const auto& properties = r.body["properties"];
  return json::object(
      {{"name", r.path.name},
       {"id", r.path.id()},
       {"type", type_name(r.path.kind)},
       {"location", r.location},
       {"properties",
        json::object(
            {{"vmId", properties["vmId"]},
             {"hardwareProfile", properties["hardwareProfile"]},
             {"provisioningState", text_of(r.state, false)},
             {"instanceView", json::object({{"statuses", statuses(w, r, now)}})}}
        )}}
  );
}

} // namespace siteagent::azure_emulator
