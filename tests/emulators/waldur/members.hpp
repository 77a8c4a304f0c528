// SPDX-License-Identifier: MIT
// Users as an offering sees them: what it is shown of them, and the accounts they get there.
#pragma once

#include "model.hpp"

#include <array>
#include <string>
#include <string_view>

namespace siteagent::waldur_emulator {

inline constexpr std::array<std::string_view, 10> offering_user_states{
    "Requested",
    "Creating",
    "Pending account linking",
    "Pending additional validation",
    "OK",
    "Requested deletion",
    "Deleting",
    "Deleted",
    "Error creating",
    "Error deleting"};

// One attribute of a user by its name: "email", "organization"; null when there is none.
json attribute_of(const user& u, std::string_view name);
// Those that the offering exposes: {"username": ..., "email": ...}.
json exposed_attributes(const store& s, const user& u, std::string_view offering_uuid);
const offering_user*
find_offering_user(const store& s, std::string_view offering_uuid, std::string_view user_uuid);
// Sets the state and tells it.
void set_state(store& s, offering_user& u, std::string_view state, base::wall_time now);
// Sets the name as a save does: a new one makes an account OK that was on its way.
void set_username(store& s, offering_user& u, const std::string& username, base::wall_time now);
// Accounts that the server makes by itself: for the members of the resource's project, when the
// offering lets the provider have users.
void make_offering_users(store& s, const resource& r, base::wall_time now);
// A user left a project: accounts with offerings he has no resource of any more are to go.
void retire_offering_users(store& s, const user& u, base::wall_time now);

} // namespace siteagent::waldur_emulator
