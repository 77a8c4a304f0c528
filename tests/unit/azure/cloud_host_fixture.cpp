// SPDX-License-Identifier: MIT
#include "tests/unit/azure/cloud_host_fixture.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure::test {

namespace {

using base::json;

json parsed(const std::string& text) {
  const auto document = json::parse(text);
  EXPECT_TRUE(document) << document.error().message << "\n" << text;
  return document ? *document : json();
}

constexpr const char* subnet_of_hosts = R"("resourceGroup":"hosts","location":"westeurope")";

json site() {
  const std::string nsg = "/subscriptions/" + std::string(subscription) +
                          "/resourceGroups/shared-net/providers/Microsoft.Network/"
                          "networkSecurityGroups/subnet-nsg";
  return parsed(
      R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","secret":"right","object_id":"o"}],
  "resourceGroups":[{"name":"hosts","location":"westeurope"},{"name":"shared-net","location":"westeurope"}],
  "networkSecurityGroups":[{"resourceGroup":"shared-net","name":"subnet-nsg","location":"westeurope","properties":{"securityRules":[
    {"name":"web","properties":{"priority":100,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"443"}},
    {"name":"out","properties":{"priority":101,"direction":"Outbound","access":"Allow","protocol":"*","sourceAddressPrefix":"*","sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"*"}}]}}],
  "virtualNetworks":[
    {)" +
      std::string(subnet_of_hosts) +
      R"(,"name":"vnet-westeurope","properties":{"addressSpace":{"addressPrefixes":["10.1.0.0/16"]},"subnets":[
      {"name":"builders","properties":{"addressPrefix":"10.1.1.0/24","networkSecurityGroup":{"id":")" +
      nsg + R"("}}}]}},
    {"resourceGroup":"hosts","location":"northeurope","name":"vnet-northeurope","properties":{"addressSpace":{"addressPrefixes":["10.2.0.0/16"]},"subnets":[
      {"name":"builders","properties":{"addressPrefix":"10.2.1.0/24"}}]}}],
  "networkInterfaces":[{)" +
      std::string(subnet_of_hosts) +
      R"(,"name":"somebody","properties":{"ipConfigurations":[{"name":"c","properties":{"subnet":{"id":"/subscriptions/)" +
      std::string(subscription) +
      R"(/resourceGroups/hosts/providers/Microsoft.Network/virtualNetworks/vnet-westeurope/subnets/builders"}}}]}}]})"
  );
}

void drop_passing(json& object) {
  for (const char* key : {"etag", "instanceView", "time", "uniqueId"}) {
    object.erase(key);
  }
  for (auto& [key, member] : object.members()) {
    drop_passing(member);
  }
  for (json& item : object.items()) {
    drop_passing(item);
  }
}

bool contains(const std::string& text, const std::string& part) {
  return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

} // namespace

base::result<net::response> faulty_transport::perform(const net::request& r) {
  const std::string target = net::decode(r.url.substr(emulated_azure::url.size()));
  for (auto f = faults_.begin(); f != faults_.end(); ++f) {
    const bool matches =
        (f->method.empty() || f->method == r.method) && contains(target, f->path_part);
    if (!matches || (f->skip > 0 && f->skip-- > 0)) {
      continue;
    }
    const fault chosen = *f;
    if (f->times > 0 && --f->times == 0) {
      faults_.erase(f);
    }
    if (chosen.after_effect) {
      (void)to_.perform(r);
    }
    if (chosen.status) {
      return net::response{*chosen.status, chosen.headers, chosen.body};
    }
    base::error e;
    e.code = r.method == "GET" ? base::error_code::transient : base::error_code::outcome_unknown;
    e.message = "the connection was cut";
    e.may_have_been_sent = true;
    return e;
  }
  return to_.perform(r);
}

azure_hosts::azure_hosts() : host(make_host(raw_host, host_data)) {
  azure.seed(site());
  settings = parsed(
      R"({"bindings":{"subscription_id":"11111111-1111-1111-1111-111111111111","resource_group":"hosts","vnet":"vnet",
          "subnet":"builders","image_urn":"Canonical:ubuntu-24_04-lts:server:latest","vm_username":"builder","locations":["westeurope"]},
          "credentials":{"control":{"tenant_id":"22222222-2222-2222-2222-222222222222",
          "client_id":"33333333-3333-3333-3333-333333333333","client_secret":"reference"}},
          "options":{},"limits":{"operation_s":1200,"rollback_retry_s":240,"poll_ms":5000}})"
  );
  json cloud = json::object();
  for (const char* key : {"resource_manager", "authority", "prices", "metadata"}) {
    cloud.set(key, emulated_azure::url);
  }
  settings.member_ref("options").set("cloud", std::move(cloud));
}

void azure_hosts::open() {
  const std::string text = settings.dump();
  sagent_request request{};
  request.struct_size = sizeof request;
  request.body = sagent::borrow(text);
  provider = std::make_unique<cloud_host::provider>(
      host,
      sagent::request(request),
      dependencies{
          [this](const azure::settings&) { return std::make_unique<borrowed_transport>(wire); },
          &azure.clock,
          &shared}
  );
}

fake_call azure_hosts::run(method m, const json& body, bool dry_run) {
  if (!provider) {
    open();
  }
  const std::string text = body.dump();
  sagent_request request{};
  request.struct_size = sizeof request;
  request.body = sagent::borrow(text);
  request.flags = dry_run ? SAGENT_REQ_DRY_RUN : 0U;
  fake_call call(azure.clock);
  call.deadline = azure.clock.steady() + std::chrono::minutes(120);
  if (prepare) {
    prepare(call);
  }
  call.table.host_data = &call;
  call.code = sagent::detail::guarded(call.raw(), [&] {
    sagent::call the_call(call.raw());
    ((*provider).*m)(the_call, sagent::request(request));
  });
  return call;
}

json azure_hosts::admit_body(std::vector<std::string> addresses) const {
  json list = json::array();
  for (const std::string& address : addresses) {
    list.push_back(address);
  }
  return json::object(
      {{"addresses", std::move(list)},
       {"group", "stado-cloud-hosts"},
       {"port", 22},
       {"ensure_location", "westeurope"},
       {"locations", json::array({"westeurope"})},
       {"hosts", json::array()},
       {"tags", json::object({{"fleet", "f1"}})}}
  );
}

json azure_hosts::create_body(const std::string& name) const {
  return json::object(
      {{"name", name},
       {"location", "westeurope"},
       {"size", "Standard_D2s_v5"},
       {"disk_gb", 64},
       {"login", "builder"},
       {"public_key", ed25519_key},
       {"user_data", "#cloud-config\n{}\n"},
       {"addresses", json::array({"198.51.100.4"})},
       {"group", "stado-cloud-hosts"},
       {"port", 22},
       {"group_id", network_id("applicationSecurityGroups/stado-cloud-hosts-westeurope")},
       {"tags",
        json::object({{"stado_cloud_host", name}, {"stado_created", "2026-11-30T02:00:00Z"}})}}
  );
}

json azure_hosts::rent(const std::string& name) {
  const fake_call admitted = run(&cloud_host::provider::admit_addresses, admit_body());
  EXPECT_EQ(admitted.code, SAGENT_OK) << admitted.message;
  const fake_call created = run(&cloud_host::provider::create_host, create_body(name));
  EXPECT_EQ(created.code, SAGENT_OK) << created.message;
  return created.emitted.empty() ? json() : created.emitted.front();
}

json azure_hosts::delete_body(const std::string& name, const json& created) const {
  return json::object(
      {{"name", name},
       {"vm_id", created["vm_id"]},
       {"resources", created["resources"]},
       {"tag", "stado_cloud_host"}}
  );
}

std::string azure_hosts::network_id(const std::string& rest, const std::string& group) {
  return "/subscriptions/" + std::string(subscription) + "/resourceGroups/" + group +
         "/providers/Microsoft.Network/" + rest;
}

std::string azure_hosts::compute_id(const std::string& rest) {
  return "/subscriptions/" + std::string(subscription) +
         "/resourceGroups/hosts/providers/Microsoft.Compute/" + rest;
}

json azure_hosts::get(const std::string& id) {
  const json all = azure.inventory();
  for (const auto& [kind, objects] : all.members()) {
    for (const json& o : objects.items()) {
      if (same_id(o["id"].string_or(""), id)) {
        return o;
      }
    }
  }
  return {};
}

std::vector<std::string> azure_hosts::parts_of(const std::string& name) {
  std::vector<std::string> out;
  for (const std::string& id :
       {compute_id("virtualMachines/" + name),
        compute_id("disks/" + name + "-os"),
        network_id("networkInterfaces/" + name + "-nic"),
        network_id("networkSecurityGroups/" + name + "-nsg"),
        network_id("publicIPAddresses/" + name + "-ip")}) {
    if (has(id)) {
      out.push_back(id);
    }
  }
  return out;
}

azure_hosts::world azure_hosts::snapshot() {
  azure.advance(std::chrono::seconds(3)); // what is under way ends
  world out;
  const json all = azure.inventory();
  for (const auto& [kind, objects] : all.members()) {
    for (json o : objects.items()) {
      drop_passing(o);
      out[o["id"].string_or("")] = o.dump();
    }
  }
  return out;
}

std::vector<std::string> azure_hosts::differences(const world& before, const world& after) {
  world all = before;
  all.insert(after.begin(), after.end());
  std::vector<std::string> out;
  for (const auto& [id, unused] : all) {
    const auto a = before.find(id);
    const auto b = after.find(id);
    if (a == before.end() || b == after.end() || a->second != b->second) {
      const auto at = id.find("/providers/");
      out.push_back(at == std::string::npos ? id : id.substr(id.find('/', at + 11) + 1));
    }
  }
  return out;
}

void azure_hosts::add_rule(const std::string& name, const std::string& properties) {
  net::request login;
  login.method = "POST";
  login.url = emulated_azure::url + "/22222222-2222-2222-2222-222222222222/oauth2/v2.0/token";
  login.content_type = "application/x-www-form-urlencoded";
  login.headers = {{"Content-Type", login.content_type}};
  login.body = "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333"
               "&client_secret=right&scope=https%3A%2F%2Fmanagement.azure.com%2F.default";
  const json token = parsed(azure.perform(login)->body);
  net::request put;
  put.method = "PUT";
  put.url = emulated_azure::url +
            network_id("networkSecurityGroups/subnet-nsg/securityRules/" + name, "shared-net") +
            "?api-version=2024-05-01";
  put.headers = {
      {"Authorization", "Bearer " + token["access_token"].string_or("")},
      {"Content-Type", "application/json"}};
  put.body = json::object({{"properties", parsed(properties)}}).dump();
  const auto done = azure.perform(put);
  EXPECT_TRUE(done && done->status < 300) << (done ? done->body : done.error().message);
  azure.advance(std::chrono::seconds(3));
}

} // namespace siteagent::azure::test
