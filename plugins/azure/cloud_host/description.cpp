// SPDX-License-Identifier: MIT
// Static texts about the provider: what it says about itself, and the schema of its settings.
#include "plugins/azure/cloud_host/host_settings.hpp"

#include "core/base/json.hpp"

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

json binding(const char* key, const char* variable, bool is_list = false) {
  json out = json::object({{"key", key}, {"env", variable}});
  if (is_list) {
    out.set("list", true);
  }
  return out;
}

json credential(const char* item, const char* variable, json fields) {
  return json::object(
      {{"item", item},
       {"item_env", variable},
       {"fields", std::move(fields)},
       {"secret_fields", json::array({"client_secret"})}}
  );
}

std::string described() {
  json logins = json::array();
  for (const std::string& name : reserved_logins()) {
    logins.push_back(name);
  }
  return json::object(
             {{"display_name", "Azure"},
              {"bindings",
               json::array(
                   {binding("subscription_id", "AZURE_SUBSCRIPTION_ID"),
                    binding("resource_group", "AZURE_RESOURCE_GROUP"),
                    binding("vnet", "AZURE_VNET"),
                    binding("subnet", "AZURE_SUBNET"),
                    binding("image_urn", "AZURE_IMAGE_URN"),
                    binding("vm_username", "AZURE_VM_USERNAME")}
               )},
              {"optional_bindings", json::array({binding("locations", "AZURE_LOCATIONS", true)})},
              {"login_binding", "vm_username"},
              {"locations_binding", "locations"},
              {"reserved_logins", std::move(logins)},
              {"address_families", json::array({"ipv4"})},
              {"admits_private", false},
              {"user_data_max_bytes", 65'535},
              {"name_max", 64},
              {"key_types", json::array({"ed25519"})},
              {"credentials",
               json::object(
                   {{"control",
                     credential(
                         "stado-azure",
                         "WC_AZURE_SECRET",
                         json::array({"tenant_id", "client_id", "client_secret"})
                     )},
                    {"billing",
                     credential(
                         "wisent-azure-billing-sp",
                         "WC_AZURE_BILLING_SECRET",
                         json::array(
                             {"tenant_id",
                              "client_id",
                              "client_secret",
                              "billing_account",
                              "billing_profile_system_id",
                              "billing_profile",
                              "subscription_id"}
                         )
                     )}}
               )}}
  ).dump();
}

} // namespace

const char* description() {
  static const std::string text = described();
  return text.c_str();
}

const char* host_settings_schema() {
  return R"json({
  "$schema": "http://json-schema.org/draft-04/schema#",
  "title": "Azure cloud host settings",
  "type": "object",
  "required": ["bindings"],
  "properties": {
    "bindings": {
      "type": "object",
      "required": ["subscription_id", "resource_group", "vnet", "subnet", "image_urn", "vm_username"],
      "properties": {
        "subscription_id": {"type": "string", "description": "Subscription the hosts are made in"},
        "resource_group": {"type": "string", "description": "Group of hosts, networks and application groups"},
        "vnet": {"type": "string", "description": "The network of a location is <vnet>-<location>"},
        "subnet": {"type": "string", "description": "Subnet in each of these networks"},
        "image_urn": {"type": "string", "description": "publisher:offer:sku:version of a Debian-family image"},
        "vm_username": {"type": "string", "description": "Login account of the hosts"},
        "locations": {"type": "array", "items": {"type": "string"}, "description": "Where sizes are priced"}
      }
    },
    "credentials": {
      "type": "object",
      "properties": {
        "control": {
          "type": "object",
          "description": "Service principal, used where the machine has no managed identity",
          "properties": {
            "tenant_id": {"type": "string"},
            "client_id": {"type": "string"},
            "client_secret": {"type": "string", "x-secret": true}
          }
        },
        "billing": {
          "type": "object",
          "description": "Service principal that may read the credit, and its scope",
          "properties": {
            "tenant_id": {"type": "string"},
            "client_id": {"type": "string"},
            "client_secret": {"type": "string", "x-secret": true},
            "billing_account": {"type": "string"},
            "billing_profile_system_id": {"type": "string"},
            "billing_profile": {"type": "string"},
            "subscription_id": {"type": "string"}
          }
        }
      }
    },
    "options": {
      "type": "object",
      "properties": {
        "cloud": {
          "type": "object",
          "description": "Another cloud, or an emulator: origins without a path",
          "properties": {
            "name": {"type": "string", "description": "AzureCloud, AzureChinaCloud or AzureUSGovernment; other keys win"},
            "resource_manager": {"type": "string"},
            "authority": {"type": "string"},
            "audience": {"type": "string"},
            "prices": {"type": "string", "description": "Origin of the retail price list"},
            "billing": {"type": "string", "description": "Origin of the billing accounts; default: resource_manager"},
            "metadata": {"type": "string", "description": "Instance metadata service"},
            "ca_file": {"type": "string", "description": "PEM file of an own certificate authority"}
          }
        }
      }
    },
    "limits": {
      "type": "object",
      "properties": {
        "operation_s": {"type": "integer", "minimum": 1},
        "rollback_retry_s": {"type": "integer", "minimum": 1},
        "poll_ms": {"type": "integer", "minimum": 1}
      }
    }
  }
})json";
}

} // namespace siteagent::azure::cloud_host
