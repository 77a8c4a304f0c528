// SPDX-License-Identifier: MIT
// The objects of the emulated Waldur. Plain values: the whole store can be copied, which is how a
// seed is tried before it takes effect. Identifiers are 32 lower-case hex digits.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace siteagent::waldur_emulator {

using base::json;

// Rows in the order they were made, found by uuid. References die with the next add or remove.
template <class Row>
class table {
public:
  Row* find(std::string_view uuid) {
    const auto found = index_.find(std::string(uuid));
    return found == index_.end() ? nullptr : &rows_[found->second];
  }

  const Row* find(std::string_view uuid) const {
    const auto found = index_.find(std::string(uuid));
    return found == index_.end() ? nullptr : &rows_[found->second];
  }

  // Replaces a row of the same uuid.
  Row& add(Row row) {
    if (Row* existing = find(row.uuid)) {
      *existing = std::move(row);
      return *existing;
    }
    index_.emplace(row.uuid, rows_.size());
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(rows_, predicate);
    index_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      index_.emplace(rows_[i].uuid, i);
    }
  }

  void clear() {
    rows_.clear();
    index_.clear();
  }

  std::vector<Row>& rows() { return rows_; }

  const std::vector<Row>& rows() const { return rows_; }

private:
  std::vector<Row> rows_;
  std::unordered_map<std::string, std::size_t> index_;
};

struct grant {
  std::string role;  // "OFFERING.MANAGER", "CUSTOMER.OWNER", "PROJECT.ADMIN", ...
  std::string scope; // "offering", "customer", "project"
  std::string scope_uuid;
};

struct user {
  std::string uuid;
  std::string username;
  std::string full_name;
  std::string email;
  std::string token; // never shown
  bool is_staff = false;
  bool shows_permissions = true; // false: /api/users/me/ leaves them out
  json profile = json::object(); // first_name, organization, ...: what has no member of its own
  std::optional<std::vector<std::string>> consents; // offerings; nullopt: to all
  std::vector<grant> grants;
  std::vector<std::string> denied; // permissions withheld whatever the roles say
};

struct customer {
  std::string uuid;
  std::string name;
  std::string slug;
  bool blocked = false;
  bool archived = false;
};

struct service_provider {
  std::string uuid;
  std::string customer;
};

struct project {
  std::string uuid;
  std::string name;
  std::string slug;
  std::string description;
  std::string customer;
  std::string start_date; // YYYY-MM-DD or ""
  std::string end_date;
};

struct ssh_key {
  std::string uuid;
  std::string name;
  std::string public_key;
};

// `type` and `billing_type` decide; every other field is kept as it was given.
struct component {
  std::string uuid;
  std::string type;
  std::string billing_type;
  json fields = json::object();
};

struct offering {
  std::string uuid;
  std::string name;
  std::string slug;
  std::string type;
  std::string state;
  std::string description;
  std::string customer;
  std::string backend_id;
  json plugin_options = json::object();
  json options = json::object();
  json partitions = json::array();
  std::vector<std::string> exposed_fields; // what the provider is shown of a user
  std::vector<component> components;

  component* find_component(std::string_view type_name);
  const component* find_component(std::string_view type_name) const;
};

struct plan {
  std::string uuid;
  std::string name;
  std::string offering;
  json quotas = json::object();
  json prices = json::object();
};

struct resource {
  std::string uuid;
  std::string name;
  std::string slug;
  std::string state;
  std::string offering;
  std::string project;
  std::string plan; // "" = none
  std::string backend_id;
  std::string effective_id;
  json backend_metadata = json::object();
  json attributes = json::object();
  json limits = json::object();
  json options = json::object();
  json endpoints = json::array();
  json current_usages = json::object();
  json member_statuses = json::array(); // as last reported by the agent
  bool paused = false;
  bool downscaled = false;
  bool restrict_member_access = false;
  std::string end_date;
  std::string error_message;
  std::string error_traceback;
  base::wall_time created;
  base::wall_time modified;
  std::optional<base::wall_time> last_sync;
};

struct order {
  std::string uuid;
  std::string slug;
  std::string type;
  std::string state;
  std::string resource;
  std::string offering;
  std::string project;
  std::string plan;     // "" = none; of an Update: the new one
  std::string old_plan; // "" = none
  json limits = json::object();
  json attributes = json::object();
  std::string backend_id;
  std::string start_date;
  std::string created_by; // user
  std::string request_comment;
  std::string termination_comment;
  std::string provider_message;
  std::string provider_message_url;
  std::string provider_rejection_comment;
  std::string consumer_rejection_comment;
  std::string error_message;
  std::string error_traceback;
  base::wall_time created;
  base::wall_time modified;
  std::optional<base::wall_time> completed;
};

// The account of a user with an offering.
struct offering_user {
  std::string uuid;
  std::string offering;
  std::string user;
  std::string username;
  std::string state;
  bool is_restricted = false;
  std::string comment;
  std::string comment_url;
  base::wall_time created;
  base::wall_time modified;
};

// A service or course account of a project.
struct project_account {
  std::string uuid;
  std::string kind; // "service_account", "course_account"
  std::string username;
  std::string email;
  std::string state; // OK, Closed, Erred
  std::string project;
  base::wall_time created;
};

struct user_limit {
  std::string uuid;
  std::string resource;
  std::string component_type;
  std::string offering_user;
  std::string limit;
};

struct api_key {
  std::string uuid;
  std::string resource;
  std::string client_id;
  std::string state; // Creating, OK, Updating, Erred
  std::string key;   // never shown
  std::string error_message;
  base::wall_time created;
  base::wall_time modified;
};

struct import_request {
  std::string uuid;
  std::string offering;
  std::string state; // Sent, Processing, Done, Erred
  std::string error_message;
  std::string error_traceback;
  base::wall_time created;
};

// What an agent found at its backend and Waldur does not have.
struct importable {
  std::string uuid;
  std::string name;
  std::string offering;
  std::string project;
  std::string backend_id;
  json backend_metadata = json::object();
  base::wall_time created;
};

struct periodic_policy {
  std::string uuid;
  std::string offering;
  json results = json::array(); // what agents reported
};

struct component_usage {
  std::string uuid;
  std::string resource;
  std::string type;
  std::string usage;          // two decimals
  std::string date;           // as it was sent
  std::string billing_period; // YYYY-MM-01
  std::string description;
  bool recurring = false;
  base::wall_time created;
  base::wall_time modified;
};

struct user_usage {
  std::string uuid;
  std::string component_usage;
  std::string username;
  std::string user;  // URL of an offering user or ""
  std::string usage; // two decimals
};

struct identity {
  std::string uuid;
  std::string offering;
  std::string name;
  std::string created_by;
  json fields = json::object(); // version, dependencies, last_restarted, config_file_*
  base::wall_time created;
  base::wall_time modified;
};

struct service {
  std::string uuid;
  std::string identity;
  std::string name;
  std::string mode;
  std::string state;
  json statistics = json::object();
  base::wall_time created;
  base::wall_time modified;
};

struct processor {
  std::string uuid;
  std::string service;
  std::string name;
  std::string backend_type;
  std::string backend_version;
  base::wall_time created;
  base::wall_time last_run;
};

// Something that happened, before it is known which queues hear of it.
struct event {
  std::string object_type;
  std::string offering;
  std::string subject; // uuid of the object: its messages are numbered
  json payload = json::object();
  json context = json::object(); // what only a unified queue is told besides
};

// The one queue of an agent's identity.
struct event_consumer {
  std::string uuid;
  std::string identity;
  std::string user;
  std::string rmq_username;
  bool has_queue = false;
  std::vector<std::string> object_types; // empty = all

  std::string queue_name() const { return "consumer_" + uuid; }
};

// The older kind: a subscription by user and object type, a queue by offering. Its uuid is the
// broker's user.
struct event_subscription {
  std::string uuid;
  std::string user;
  std::string object_type;
  std::string description;
  base::wall_time created;
};

struct subscription_queue {
  std::string uuid;
  std::string subscription;
  std::string offering;
  std::string object_type;

  std::string queue_name() const {
    return "subscription_" + subscription + "_offering_" + offering + "_" + object_type;
  }
};

struct store {
  bool auto_approve = false; // orders start in executing
  std::size_t page_size = 10;
  std::string version = "7.7.0";
  base::time_zone zone; // of billing periods

  table<user> users;
  table<customer> customers;
  table<service_provider> providers;
  table<project> projects;
  table<ssh_key> keys;
  table<offering> offerings;
  table<plan> plans;
  table<resource> resources;
  table<order> orders;
  table<component_usage> usages;
  table<user_usage> user_usages;
  table<identity> identities;
  table<service> services;
  table<processor> processors;
  bool takes_logs = true;
  json logs = json::array();

  table<offering_user> offering_users;
  table<project_account> accounts;
  table<user_limit> user_limits;
  table<api_key> api_keys;
  table<import_request> import_requests;
  table<importable> importables;
  table<periodic_policy> policies;

  bool unified_queues = true; // false: a server before register_queue
  std::vector<std::string> observable_types;
  table<event_consumer> consumers;
  table<event_subscription> subscriptions;
  table<subscription_queue> subscription_queues;
  std::vector<event> events;                                         // since the last delivery
  std::map<std::string, std::int64_t, std::less<>> sequence_numbers; // by subject
  bool told_of_no_broker = false;
  base::wall_time last_idle_check;
  base::wall_time last_hourly; // run of the server's hourly tasks

  std::unordered_map<std::string, std::vector<std::string>> orders_by_resource;

  order& add_order(order o);
  // Orders of a resource that are neither done, erred, canceled nor rejected.
  std::vector<const order*> open_orders(std::string_view resource_uuid) const;
  const user* find_token(std::string_view token) const;
  // Resources of the project that are not terminated, in the order they were made.
  std::vector<const resource*> living_resources(std::string_view project_uuid) const;
};

// "Web 1" -> "web-1"
std::string slugify(std::string_view name);
// 32 lower-case hex digits from either form, or "".
std::string hex_or_empty(std::string_view text);
std::string random_uuid();

// Provider side: staff, a manager of the offering or an owner of its customer, unless the
// permission is withheld from the user.
bool manages(const user& u, const offering& o, std::string_view permission);
// The role of a member of a project, or "".
std::string role_in(const user& u, std::string_view project_uuid);
// Consumer side: staff, a role in the project or an owner of its customer.
bool consumes(const user& u, const project& p);

} // namespace siteagent::waldur_emulator
