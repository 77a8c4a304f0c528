// SPDX-License-Identifier: MIT
// The schema of backend_settings, as text: the host converts YAML by it.
#include "plugins/azure/settings.hpp"

namespace siteagent::azure {

const char* settings_schema() {
  return R"json({
  "$schema": "http://json-schema.org/draft-04/schema#",
  "title": "Azure backend settings",
  "type": "object",
  "required": ["subscription_id", "tenant_id", "client_id", "client_secret"],
  "properties": {
    "subscription_id": {"type": "string", "description": "Subscription the machines are made in"},
    "tenant_id": {"type": "string", "description": "Directory (tenant) of the service principal"},
    "client_id": {"type": "string", "description": "Application (client) id of the service principal"},
    "client_secret": {"type": "string", "x-secret": true, "description": "The secret's value, not its id"},
    "default_location": {"type": "string", "description": "Region of orders that name none"},
    "default_resource_group": {"type": "string", "description": "Shared group; unset: one group per machine"},
    "default_size": {"type": "string", "description": "Size of orders that name none"},
    "default_image": {"type": ["string", "object"], "description": "publisher:offer:sku:version"},
    "network_cidr": {"type": "string", "description": "Address space of each machine's network, 10.0.0.0/16"},
    "subnet_cidr": {"type": "string", "description": "Its subnet, 10.0.0.0/24"},
    "allowed_ssh_ranges": {
      "type": ["array", "string"], "items": {"type": "string"},
      "description": "Who may connect on port 22: CIDR, address or service tag; none: nobody"
    },
    "cloud": {
      "type": "object",
      "description": "Another cloud, or an emulator: origins without a path",
      "properties": {
        "resource_manager": {"type": "string"},
        "authority": {"type": "string"},
        "audience": {"type": "string"},
        "prices": {"type": "string"},
        "ca_file": {"type": "string", "description": "PEM file of an own certificate authority"}
      }
    },
    "password_login": {"type": "string", "enum": ["enabled", "disabled"]},
    "disk_source": {"type": "string", "enum": ["size", "actual"]},
    "limits_source": {"type": "string", "enum": ["order", "size"]},
    "public_ip": {"type": "string", "enum": ["standard", "none"]},
    "subnet_id": {"type": "string"},
    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
    "allowed_sizes": {"type": "array", "items": {"type": "string"}},
    "allowed_locations": {"type": "array", "items": {"type": "string"}},
    "allowed_images": {"type": "array", "items": {"type": "string"}},
    "max_hourly_price": {"type": ["string", "number"]},
    "max_machines": {"type": "integer"},
    "limits": {"type": "object", "description": "Deadlines in seconds, read by the agent"},
    "polling": {
      "type": "object",
      "properties": {
        "min_ms": {"type": "integer", "minimum": 1},
        "max_ms": {"type": "integer", "minimum": 1}
      }
    }
  },
  "additionalProperties": true,
  "x-rehearsal": {
    "emulator": "azure-emulator",
    "settings": {
      "subscription_id": "11111111-1111-1111-1111-111111111111",
      "tenant_id": "22222222-2222-2222-2222-222222222222",
      "client_id": "33333333-3333-3333-3333-333333333333",
      "client_secret": "emulator-secret"
    }
  }
})json";
}

} // namespace siteagent::azure
