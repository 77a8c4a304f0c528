// SPDX-License-Identifier: MIT
// What the null provider says of itself and which settings it takes; README.md describes each.
#pragma once

namespace siteagent::null {

inline constexpr const char* hosts_description = R"json({
  "display_name": "Null",
  "bindings": [
    {"key": "state_file", "env": "NULL_STATE_FILE"},
    {"key": "vm_username", "env": "NULL_VM_USERNAME"}
  ],
  "optional_bindings": [
    {"key": "locations", "env": "NULL_LOCATIONS", "list": true}
  ],
  "login_binding": "vm_username",
  "locations_binding": "locations",
  "reserved_logins": ["admin", "administrator"],
  "address_families": ["ipv4"],
  "admits_private": true,
  "user_data_max_bytes": 65535,
  "name_max": 64,
  "key_types": ["ed25519"],
  "credentials": {
    "control": {
      "item": "null-control",
      "item_env": "NULL_CREDENTIALS",
      "fields": ["account", "secret"],
      "secret_fields": ["secret"]
    }
  }
})json";

inline constexpr const char* hosts_settings_schema = R"json({
  "type": "object",
  "required": ["bindings"],
  "properties": {
    "bindings": {
      "type": "object",
      "additionalProperties": false,
      "required": ["state_file", "vm_username"],
      "properties": {
        "state_file": {"type": "string", "pattern": "^/"},
        "vm_username": {"type": "string"},
        "locations": {"type": "array", "items": {"type": "string"}}
      }
    },
    "credentials": {
      "type": "object",
      "properties": {
        "control": {
          "type": "object",
          "properties": {"account": {"type": "string"}, "secret": {"type": "string"}}
        }
      }
    },
    "options": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "hosts": {
          "type": "array",
          "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["address"],
            "properties": {
              "address": {"type": "string"},
              "port": {"type": "integer", "minimum": 1, "maximum": 65535},
              "folder": {"type": "string", "pattern": "^/"}
            }
          }
        }
      }
    },
    "limits": {
      "type": "object",
      "properties": {
        "operation_s": {"type": "integer", "minimum": 1},
        "rollback_retry_s": {"type": "integer", "minimum": 1},
        "poll_ms": {"type": "integer", "minimum": 0}
      }
    }
  }
})json";

} // namespace siteagent::null
