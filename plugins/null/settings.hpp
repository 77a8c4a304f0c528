// SPDX-License-Identifier: MIT
// The settings of the null plugin; each key is described in README.md.
#pragma once

namespace siteagent::null {

inline constexpr const char* settings_schema = R"json({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "state_file": {"type": "string", "pattern": "^/"},
    "token": {"type": "string", "x-secret": true},
    "users": {"type": "string", "enum": ["none", "plain", "limited"]},
    "usage": {
      "type": "object",
      "additionalProperties": {"type": ["number", "string"]}
    },
    "user_usage": {
      "type": "object",
      "additionalProperties": {"type": ["number", "string"]}
    },
    "latency_ms": {
      "type": "object",
      "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 86400000}
    },
    "crash_at": {"type": "string", "pattern": "^(before|after):[a-z_]+$"},
    "hang_at": {"type": "string", "pattern": "^(before|after):[a-z_]+$"},
    "faults": {
      "type": "array",
      "items": {
        "type": "object",
        "additionalProperties": false,
        "required": ["operation", "code"],
        "properties": {
          "operation": {
            "type": "string",
            "enum": [
              "ping", "evaluate_order", "create_resource", "delete_resource", "pause", "downscale",
              "restore", "pull_resources", "report_usage", "list_resources", "set_resource_limits",
              "diagnostics", "add_members", "remove_members", "describe"
            ]
          },
          "nth": {"type": "integer", "minimum": 1},
          "times": {"type": "integer", "minimum": 1},
          "after_writes": {"type": "integer", "minimum": 0},
          "code": {"type": ["integer", "string"]},
          "message": {"type": "string"},
          "public_message": {"type": "string"},
          "retry_after_ms": {"type": "integer", "minimum": 0}
        }
      }
    }
  },
  "x-rehearsal": {
    "settings": {
      "state_file": "{folder}.json", "latency_ms": null, "crash_at": null, "hang_at": null,
      "faults": null
    }
  }
})json";

} // namespace siteagent::null
