// SPDX-License-Identifier: MIT
// What the server tells the queues: one event for each change, and the messages it becomes.
#pragma once

#include "broker.hpp"
#include "model.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur_emulator {

inline constexpr std::array<std::string_view, 14> observable_types{
    "order",
    "user_role",
    "resource",
    "offering_user",
    "importable_resources",
    "service_account",
    "course_account",
    "resource_periodic_limits",
    "offering_resources_sync",
    "resource_api_key_rotation",
    "resource_end_date_change_request",
    "user_lifecycle",
    "user_profile",
    "user_ssh_key"};

// Each appends to store::events. The object is told as it is now.
void note(store& s, const order& o);
void note(store& s, const resource& r);
void note(store& s, const project_account& a, std::string_view action);
// `action`: create, update, delete, attribute_update, username_set; `more` is added to the payload.
void note(store& s, const offering_user& u, std::string_view action, const json& more = {});
void note(store& s, const import_request& r);
void note(store& s, const api_key& k, std::string_view action);
// To every offering with a resource in the project: a role was given or taken.
void note_role(store& s, const user& u, const project& p, std::string_view role, bool granted);
// Members of one resource, or of all of the project (`of` null), are to be looked at again.
void note_members(store& s, const project& p, const resource* of);
void note_resources_sync(store& s, const offering& o, const user& by);
void note_periodic_settings(
    store& s, const periodic_policy& p, const resource& r, const json& settings, base::wall_time now
);

// The messages of the events so far, for every queue that hears of them: of the type, of the
// offering, and its owner may still see the offering. Who owns a unified queue is told nothing on
// the older ones. Empties store::events.
std::vector<broker_message> take_messages(store& s);

// The headers of a message with that text, as the server sets them.
json message_headers(std::string_view queue, std::string_view payload);

// The envelope of a unified queue around a payload; members that are there stay.
void wrap(store& s, json& payload, const event& e);

// Tasks that the server runs by the clock: a reminder of orders that wait for the provider for
// more than an hour, a new look at 50 resources that were not synchronised for an hour.
void run_hourly_tasks(store& s, base::wall_time now);

// Another: services whose processors did not run for ten minutes are idle.
void rest_idle_services(store& s, base::wall_time now);

} // namespace siteagent::waldur_emulator
