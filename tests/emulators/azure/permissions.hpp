// SPDX-License-Identifier: MIT
// What a request wants to do to what, and whether its caller may: role-based access control.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// A request in the terms of access control, locks and policies.
struct request_target {
  enum class verb_kind : std::uint8_t { read, write, remove, action };
  verb_kind verb = verb_kind::read;
  std::string action;         // "Microsoft.Compute/virtualMachines/start/action"
  std::string scope;          // id of the object, or of what holds the list; case as in the request
  std::string provider;       // "Microsoft.Compute"; "Microsoft.Resources" for what is ARM's own
  std::string type;           // "virtualMachines", "virtualNetworks/subnets"; "" for ARM's own
  std::string name;           // last name of the object, "" for lists
  std::string group;          // resource group in the path, "" = none
  bool is_collection = false; // a list: it shows what the caller may read instead of refusing
  bool is_monitor = false;    // operation monitors: their signed URL is the permission
};

request_target target_of(const net::server_request& http);

// Whether the role assignments of a principal allow an action at a scope now. A principal without
// any in the seed may do everything.
bool may(
    const world& w,
    std::string_view principal,
    std::string_view action,
    std::string_view scope,
    base::wall_time now
);

// Whether a principal has any role at, above or below a scope: then the scope itself is visible.
bool may_see(const context& c, std::string_view scope);

// nullopt: allowed; else the 403 AuthorizationFailed to send.
std::optional<reply> check_permission(const context& c, const request_target& target);
// The rights that a write needs on the objects its body refers to; 403 LinkedAuthorizationFailed.
std::optional<reply> check_linked(const context& c, const request_target& target);

// GET {scope}/providers/Microsoft.Authorization/permissions
reply list_permissions(context& c, std::string_view scope);

// "Microsoft.Compute/*/read" against an action, without case; * stands for any characters.
bool action_matches(std::string_view pattern, std::string_view action);

// True when `scope` is `ancestor` or lies below it; ids without case, "/" is above all.
bool is_within(std::string_view scope, std::string_view ancestor);

} // namespace siteagent::azure_emulator
