// SPDX-License-Identifier: MIT
// The state of the emulated cloud: groups, resources, who refers to whom, running operations.
// No locking: the frame calls the emulator under one mutex.
#pragma once

#include "behaviour.hpp"
#include "catalog.hpp"
#include "ids.hpp"
#include "prices.hpp"
#include "timing.hpp"
#include "tracked_map.hpp"

#include "core/base/clock.hpp"
#include "core/base/json.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace siteagent::azure_emulator {

enum class provisioning : std::uint8_t { creating, updating, deleting, succeeded, failed };
enum class power : std::uint8_t {
  none,
  starting,
  running,
  stopping,
  stopped,
  deallocating,
  deallocated,
};

struct group {
  std::string subscription;
  std::string name;
  std::string location;
  base::json tags; // null or object
  provisioning state = provisioning::succeeded;
  std::string operation; // running deletion
  base::wall_time created;
  base::wall_time changed;

  std::string id() const { return group_id(subscription, name); }
};

// What only machines have.
struct machine_part {
  azure_emulator::power power = azure_emulator::power::none;
  azure_emulator::power power_before = azure_emulator::power::none; // of the running action
  std::uint64_t version = 1;                                        // the etag counter
  azure_emulator::power power_seen = azure_emulator::power::none;   // before the last change, which
  base::wall_time power_changed;                                    // a view that lags still shows
  bool power_hidden = false;                                        // the platform cannot tell
  bool generalized = false;
  bool hibernated = false;
  std::string failure_code; // of the last failed operation
  std::string failure_message;
  std::string custom_data;      // base64, for the machine's first boot
  std::string custom_data_hash; // secrets are kept as salted hashes, to notice a change
  std::string password_hash;
  std::string user_data;
  std::string generation = "V2";
};

// What only interfaces have.
struct interface_part {
  std::string mac;
  base::wall_time reserved_until; // after a failed machine create
  std::string reserved_for;       // id of that machine
};

struct resource {
  resource_path path;
  std::string location;
  base::json body; // as its GET shows it, but for the parts that render() adds
  provisioning state = provisioning::succeeded;
  std::string etag;      // network kinds
  std::string operation; // running operation that locks this resource, "" = none
  base::wall_time created;
  base::wall_time changed;
  std::vector<std::string> uses; // keys of the resources this one refers to
  machine_part machine;
  interface_part interface;
  std::string address;           // public address, allocated early and shown late
  base::json undo;               // of a rule: its body before the running write, null = it is new
  std::int64_t unseen_reads = 0; // GETs to come that do not find it yet
};

// What still counts as used by an interface that is gone.
struct lingering_use {
  base::wall_time until;
  std::string holder; // id of the ipConfiguration
};

// A management lock.
struct lock_entry {
  std::string scope; // without slash at the end
  std::string name;
  std::string level; // CanNotDelete, ReadOnly
  std::string notes;
};

enum class action : std::uint8_t {
  write,
  remove,
  create_machine,
  update_machine,
  start,
  deallocate,
  power_off,
  restart,
  remove_machine,
  remove_group,
  run_command,
};

enum class operation_status : std::uint8_t { in_progress, succeeded, failed, canceled };

struct operation {
  std::string id; // guid, or the job id of a group deletion
  azure_emulator::action action = azure_emulator::action::write;
  azure_emulator::pace pace = azure_emulator::pace::network_write;
  std::string subject;            // key of the resource or group
  std::vector<std::string> also;  // keys of further resources that change state with it
  std::vector<std::string> locks; // keys of resources locked besides the subject
  std::string subscription;
  std::string location;
  std::string query;        // of the Azure-AsyncOperation URL, byte for byte
  std::string result_query; // of the Location URL
  base::wall_time started;
  base::wall_time due;
  base::wall_time ended;
  operation_status status = operation_status::in_progress;
  bool is_stuck = false;
  bool is_new = true;                      // a create: its failure leaves the resource Failed
  std::optional<operation_status> planned; // from a fault script
  std::string error_code;
  std::string error_message;
  base::json error_details;
  base::json result; // what the Location URL answers in the end, null = nothing
  base::json event;  // of the request that began it, for the activity log; null = none
};

// A template deployment: what is still to do and what was said about it.
struct deployment {
  std::string id;
  std::string principal; // whose rights its requests have
  std::string base_url;  // of the request that began it
  std::string operation; // of its operationStatuses
  std::string status;    // Accepted, Running, Succeeded, Failed
  base::json properties; // of its GET, but for what follows from the rest
  base::json template_;  // parameters, variables, outputs
  base::json parameters; // values, secrets included
  base::json steps;      // [{id, name, type, version, body, index, depends, status, error}]
  base::wall_time started;
  base::wall_time ended;
};

class world {
public:
  catalog offer;
  azure_emulator::timing timing = azure_emulator::timing::fast();
  tracked_map<group> groups;                                 // by key
  std::map<std::string, resource> resources;                 // by key
  tracked_map<operation> operations;                         // by lower-case id
  std::set<std::pair<base::wall_time, std::string>> due;     // running operations by their end
  std::deque<std::pair<base::wall_time, std::string>> ended; // for their expiry

  price_settings prices = price_settings::defaults();
  base::json billing;            // the seed's, checked; null = no account
  tracked_map<lock_entry> locks; // by key
  // Of what a subscription registered itself, by provider_key(): its state, and until when that is
  // on its way.
  std::map<std::string, std::string> provider_states;
  std::map<std::string, base::wall_time> registrations;

  tracked_map<lingering_use> lingering; // by the key of what is used

  tracked_map<deployment> deployments; // by key
  std::deque<base::json> activity;     // the activity log, oldest first
  std::uint64_t first_event = 0;       // how many events came before the oldest one kept
  tracked_map<base::json> seeded;      // the last value of every seed key but objects
  base::wall_time roles_since;         // when the seed's role assignments were made
  bool tracks_changes = false;         // whether touched is kept; track_changes() sets it
  std::set<std::string> touched;       // keys of resources that may have changed

  // Settings a seed may change.
  azure_emulator::behaviour behaviour;
  std::size_t machine_page = 200;
  std::size_t generic_page = 1000;
  std::chrono::seconds interface_hold{180};
  std::optional<std::chrono::seconds> registration; // of a provider; nullopt = as the timing says
  bool basic_addresses_allowed = false;
  std::vector<std::string> public_addresses; // what the first static addresses are
  bool machine_tags_on_disks = false;
  bool upper_case_groups_in_lists = false;
  bool quotas_checked = true;      // off while a seed is applied
  int network_update_status = 200; // what a PUT on an existing virtual network answers

  // Registration state of a namespace in a subscription; a change under way ends by itself.
  // "" = unknown.
  std::string provider_state(
      std::string_view subscription, std::string_view provider, base::wall_time now
  ) const;
  static std::string provider_key(std::string_view subscription, std::string_view provider);
  std::chrono::milliseconds registration_time() const;
  group* find_group(std::string_view subscription, std::string_view name);
  resource* find(std::string_view key);
  // From now on every map notes what may have changed.
  void track_changes();
  void forget_touched();
  // Adds to the activity log, which has an end.
  void add_event(base::json event);
  // Drops all groups and resources.
  void clear_objects();
  // Adds or replaces.
  resource& put(resource r);
  void erase(const std::string& key);
  // Replaces the references of a resource (ids or keys; the unknown ones are kept too).
  void set_uses(resource& r, const std::vector<std::string>& ids);
  const std::set<std::string>& users_of(const std::string& key) const;

  // Visits the resources whose keys begin with `prefix` and are not below `from`, in order, until
  // told to stop by false.
  using visitor = std::function<bool(const std::string& key, const resource& r)>;
  void walk(const std::string& prefix, const std::string& from, const visitor& visit) const;
  // Keys in order: resources of one kind, in one subscription, in one group when given.
  std::vector<std::string>
  list(kind k, std::string_view subscription, std::string_view group = {}) const;
  // Keys of the children of a parent resource.
  std::vector<std::string> children(std::string_view parent_key) const;
  std::vector<std::string> in_group(std::string_view group_key) const;

  // The seeded ones in their order, then 20.x.y.z; never twice.
  std::string new_address();
  std::string new_mac();
  void touch_etag(resource& r); // after each change
  // Locks at and below what is gone.
  void drop_locks(const std::string& key);

  std::pair<std::uint32_t, std::uint32_t> counters() const { return {next_address_, next_mac_}; }

  void set_counters(std::uint32_t address, std::uint32_t mac) {
    next_address_ = address;
    next_mac_ = mac;
  }

private:
  std::unordered_map<std::string, std::set<std::string>> users_;
  std::uint32_t next_address_ = 1;
  std::uint32_t next_mac_ = 1;
};

// How the keys of all resources of a subscription, or of one of its groups, begin.
std::string prefix_of(std::string_view subscription, std::string_view group);

std::string_view text_of(provisioning p, bool network);

} // namespace siteagent::azure_emulator
