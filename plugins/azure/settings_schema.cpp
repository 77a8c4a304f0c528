// SPDX-License-Identifier: MIT
// The schema of backend_settings, as text: the host converts YAML by it.
#include "plugins/azure/settings.hpp"

namespace siteagent::azure {

const char* settings_schema() {
  return R"json({
  "$schema": "http://json-schema.org/draft-04/schema#",
  "title": "Azure backend settings",
  "type": "object",
  "properties": {
    "subscription_id": {"type": "string", "description": "Subscription the machines are made in"},
    "tenant_id": {"type": "string", "description": "Directory (tenant) of the service principal; not for managed identities"},
    "client_id": {"type": "string", "description": "Application (client) id of the service principal, or of a managed identity"},
    "client_secret": {"type": "string", "x-secret": true, "description": "The secret's value, not its id"},
    "credential": {
      "type": "string",
      "enum": ["client_secret", "client_certificate", "workload_identity", "managed_identity"],
      "description": "Which credential; not needed where the other keys tell"
    },
    "client_certificate": {"type": "string", "x-secret": true, "description": "PEM with certificate and RSA key, or PKCS#12"},
    "client_certificate_password": {"type": "string", "x-secret": true, "description": "Of an encrypted key or PKCS#12 file"},
    "send_certificate_chain": {"type": "boolean", "description": "Send the certificates along (x5c)"},
    "federated_token_file": {"type": "string", "description": "Absolute path of another issuer's token, read for each exchange"},
    "managed_identity_object_id": {"type": "string", "description": "Of a user-assigned identity; or client_id, or the ARM id"},
    "managed_identity_resource_id": {"type": "string", "description": "ARM id of a user-assigned identity"},
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
        "name": {"type": "string", "description": "AzureCloud, AzureChinaCloud or AzureUSGovernment; other keys win"},
        "resource_manager": {"type": "string"},
        "authority": {"type": "string"},
        "audience": {"type": "string"},
        "prices": {"type": "string", "description": "Origin of the retail price list; default: the public cloud's"},
        "metadata": {"type": "string", "description": "Instance metadata service, for managed_identity"},
        "ca_file": {"type": "string", "description": "PEM file of an own certificate authority"}
      }
    },
    "password_login": {"type": "string", "enum": ["enabled", "disabled"]},
    "disk_source": {"type": "string", "enum": ["size", "actual"]},
    "limits_source": {"type": "string", "enum": ["order", "size"]},
    "public_ip": {
      "type": "string", "enum": ["standard", "none"],
      "description": "none: machines have private addresses only"
    },
    "subnet_id": {"type": "string", "description": "An existing subnet for all machines; no network is made then"},
    "tags": {
      "type": "object", "additionalProperties": {"type": "string"},
      "description": "On everything that is made, beside the agent's own; at most 40"
    },
    "allowed_sizes": {
      "type": ["array", "string"], "items": {"type": "string"},
      "description": "Others are rejected before approval"
    },
    "allowed_locations": {
      "type": ["array", "string"], "items": {"type": "string"},
      "description": "Others are rejected before approval"
    },
    "allowed_images": {
      "type": ["array", "string"], "items": {"type": "string"},
      "description": "publisher:offer:sku for every version, or with :version; others are rejected"
    },
    "currency": {"type": "string", "description": "Of list prices, USD; others are conversions"},
    "max_hourly_price": {
      "type": ["string", "number"],
      "description": "Highest list price of a machine's hour, without disk, address and traffic"
    },
    "max_machines": {"type": ["integer", "string"], "description": "Machines this offering may have at once"},
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
    "arguments": ["--timing", "instant"],
    "seed": {"site": "{settings}"},
    "settings": {
      "cloud": {
        "resource_manager": "{emulator}", "authority": "{emulator}", "audience": "{emulator}",
        "prices": "{emulator}"
      },
      "polling": {"min_ms": 10, "max_ms": 200},
      "tenant_id": "22222222-2222-2222-2222-222222222222",
      "client_id": "33333333-3333-3333-3333-333333333333",
      "credential": "client_secret",
      "client_secret": "emulator-secret",
      "client_certificate": null,
      "client_certificate_password": null,
      "send_certificate_chain": null,
      "federated_token_file": null,
      "managed_identity_object_id": null,
      "managed_identity_resource_id": null
    }
  }
})json";
}

} // namespace siteagent::azure
