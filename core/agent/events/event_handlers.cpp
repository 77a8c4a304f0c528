// SPDX-License-Identifier: MIT
// What each kind of message makes the agent do.
#include "core/agent/events/event_handlers.hpp"

#include "core/agent/events/import_resources.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace siteagent::agent {

namespace {

// How often a resource that was busy is asked for.
constexpr std::chrono::seconds busy_pause{5};
constexpr std::size_t shown_bytes = 40;
constexpr const char* all_resources = "all resources"; // a lane

constexpr std::array<std::string_view, 7> finished_states = {
    "done",
    "erred",
    "canceled",
    "rejected",
    "pending-consumer",
    "pending-project",
    "pending-start-date"};

constexpr std::array<std::string_view, 2> open_states = {"pending-provider", "executing"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string hex_or_none(const std::optional<base::uuid>& id) {
  return id ? id->hex() : std::string("-");
}

} // namespace

event_handlers::event_handlers(event_parts parts)
    : parts_(parts), log_(parts.offering.log().with("part", "events")), orders_(parts.env.pool),
      others_(parts.upkeep.pool) {}

event_handlers::handler event_handlers::handler_for(const std::string& object_type) {
  static const std::map<std::string_view, handler> table{
      {"order", &event_handlers::on_order},
      {"resource", &event_handlers::on_resource},
      {"user_role", &event_handlers::on_role},
      {"offering_user", &event_handlers::on_offering_user},
      {"service_account", &event_handlers::on_account},
      {"course_account", &event_handlers::on_account},
      {"importable_resources", &event_handlers::on_import},
      {"offering_resources_sync", &event_handlers::on_forced_sync},
      {"resource_periodic_limits", &event_handlers::on_periodic_limits},
      {"resource_api_key_rotation", &event_handlers::on_api_key},
  };
  const auto found = table.find(object_type);
  return found == table.end() ? nullptr : found->second;
}

void event_handlers::take(event_message message, std::shared_ptr<void> ticket) {
  const handler handle = handler_for(message.object_type);
  if (handle == nullptr) {
    ignore("messages of a kind this agent does not know are dropped", message.object_type);
    return;
  }
  const std::optional<base::uuid> offering = message.uuid_at("offering_uuid");
  if (offering && *offering != parts_.offering.config().uuid) {
    ignore("messages about another offering are dropped", offering->hex());
    return;
  }
  (this->*handle)(message, std::move(ticket));
}

void event_handlers::tick() {
  const base::steady_time now = parts_.env.clock.steady();
  if (now - resumed_ >= busy_pause) {
    resumed_ = now;
    orders_.resume();
  }
}

void event_handlers::wait() {
  orders_.wait();
  others_.wait();
}

// Said once per offering, counted always: whoever sends nonsense could send much of it.
void event_handlers::ignore(const std::string& why, const std::string& detail) {
  parts_.ledger.note_ignored();
  if (parts_.offering.first_time(why)) {
    log_.info(why, {{"seen", safe_text(base::truncated(detail, shown_bytes))}});
  }
}

void event_handlers::settle(const base::result<void>& answer, const std::string& what) {
  if (answer) {
    parts_.ledger.note_handled();
    return;
  }
  parts_.ledger.note_failed(answer.error());
  if (!parts_.env.stop.stop_requested()) {
    log_.failure(
        observe::level::warning,
        "a message could not be acted on, which is left to the timers",
        answer.error(),
        {{"about", what}}
    );
  }
}

void event_handlers::on_order(const event_message& m, lanes::ticket ticket) {
  const std::string state = m.body["order_state"].string_or("");
  const std::optional<base::uuid> order = m.uuid_at("order_uuid");
  if (!order) {
    ignore("order messages without an order are dropped");
    return;
  }
  if (is_one_of(finished_states, state)) {
    parts_.ledger.note_ignored();
    return;
  }
  if (!state.empty() && !is_one_of(open_states, state)) {
    ignore("messages about orders in a state this agent does not know are dropped", state);
    return;
  }
  if (parts_.orders == nullptr) {
    ignore("order messages are dropped: the offering has no order processing");
    return;
  }
  if (const std::optional<base::uuid> resource = m.uuid_at("resource_uuid")) {
    look_at(*resource, std::move(ticket));
    return;
  }
  // Whose it is must be asked, which may take its time.
  const auto joined_by = "order " + order->hex();
  const bool is_new = orders_.submit(
      joined_by,
      joined_by,
      [this, id = *order, ticket] {
        find_resource_of(id, ticket);
        return lanes::outcome::done;
      },
      ticket
  );
  if (!is_new) {
    parts_.ledger.note_joined();
  }
}

void event_handlers::find_resource_of(const base::uuid& order, const lanes::ticket& ticket) {
  if (is_over()) {
    return;
  }
  const base::result<waldur::order> read = parts_.waldur.get_order(order);
  if (!read) {
    // Gone, or none of ours: nothing to do about it.
    if (react_to(read.error()) == reaction::not_there || read.error().http_status == 403) {
      ignore("messages about orders that Waldur does not show are dropped");
      return;
    }
    settle(read.error(), "order " + order.hex());
    wants_order_pass_ = true;
    return;
  }
  if (!is_one_of(open_states, read->state)) {
    parts_.ledger.note_ignored();
  } else if (read->resource) {
    look_at(*read->resource, ticket);
  } else {
    parts_.ledger.note_ignored(); // a later message, or a timer, when it has one
  }
}

void event_handlers::look_at(const base::uuid& resource, lanes::ticket ticket) {
  const std::string key = resource.hex();
  const bool is_new = orders_.submit(
      key,
      key,
      [this, resource] {
        if (is_over()) {
          return lanes::outcome::done;
        }
        const base::result<bool> looked =
            parts_.orders->look(resource, [&] { return parts_.events.list_orders_of(resource); });
        if (looked && !*looked) {
          return lanes::outcome::busy;
        }
        settle(
            looked ? base::result<void>() : base::result<void>(looked.error()),
            "orders of resource " + resource.hex()
        );
        if (!looked) {
          wants_order_pass_ = true;
        }
        return lanes::outcome::done;
      },
      std::move(ticket)
  );
  if (!is_new) {
    parts_.ledger.note_joined();
  }
}

void event_handlers::keep_up(
    const std::string& lane,
    const std::string& identity,
    std::string what,
    std::function<base::result<void>()> work,
    lanes::ticket ticket
) {
  const bool is_new = others_.submit(
      lane,
      identity,
      [this, what = std::move(what), work = std::move(work)] {
        if (!is_over()) {
          const progress_board::activity activity =
              parts_.upkeep.progress.begin("message: " + what, parts_.stuck_after);
          settle(work(), what);
        }
        return lanes::outcome::done;
      },
      std::move(ticket)
  );
  if (!is_new) {
    parts_.ledger.note_joined();
  }
}

void event_handlers::on_resource(const event_message& m, lanes::ticket ticket) {
  const std::optional<base::uuid> resource = m.uuid_at("resource_uuid");
  if (!resource || parts_.members == nullptr) {
    ignore("resource messages that nobody can act on are dropped");
    return;
  }
  const std::string what = "resource " + resource->hex();
  keep_up(
      resource->hex(),
      what,
      what,
      [this, id = *resource] { return parts_.members->on_resource(id); },
      std::move(ticket)
  );
}

void event_handlers::on_role(const event_message& m, lanes::ticket ticket) {
  const role_change change{
      m.uuid_at("user_uuid"), m.uuid_at("project_uuid"), m.uuid_at("resource_uuid")};
  if ((!change.project && !change.resource) || parts_.members == nullptr) {
    ignore("role messages that nobody can act on are dropped");
    return;
  }
  const std::string what = "role of user " + hex_or_none(change.user) + " in project " +
                           hex_or_none(change.project) + ", resource " +
                           hex_or_none(change.resource);
  keep_up(
      "project " + hex_or_none(change.project),
      what,
      what,
      [this, change] { return parts_.members->on_role_change(change); },
      std::move(ticket)
  );
}

void event_handlers::on_offering_user(const event_message& m, lanes::ticket ticket) {
  const std::optional<base::uuid> user = m.uuid_at("offering_user_uuid");
  if (!user || parts_.members == nullptr) {
    ignore("messages about offering users that nobody can act on are dropped");
    return;
  }
  const std::string what = "offering user " + user->hex();
  keep_up(
      what,
      what,
      what,
      [this, id = *user] { return parts_.members->on_offering_user(id); },
      std::move(ticket)
  );
}

void event_handlers::on_account(const event_message& m, lanes::ticket ticket) {
  const std::optional<base::uuid> project = m.uuid_at("project_uuid");
  if (!project || parts_.members == nullptr) {
    ignore("messages about accounts that nobody can act on are dropped");
    return;
  }
  keep_up(
      "project " + project->hex(),
      "accounts of project " + project->hex(),
      "accounts of project " + project->hex(),
      [this, id = *project] { return parts_.members->on_account_change(id); },
      std::move(ticket)
  );
}

void event_handlers::on_import(const event_message& m, lanes::ticket ticket) {
  const std::optional<base::uuid> request = m.uuid_at("backend_resource_request_uuid");
  if (!request || !parts_.offering.config().resource_import_enabled) {
    ignore("requests for importable resources that nobody can answer are dropped");
    return;
  }
  const std::string what = "import request " + request->hex();
  keep_up(
      "imports",
      what,
      what,
      [this, id = *request] {
        return answer_import_request(
            parts_.offering, parts_.waldur, parts_.events, parts_.upkeep, id
        );
      },
      std::move(ticket)
  );
}

void event_handlers::on_forced_sync(const event_message& /*m*/, lanes::ticket ticket) {
  // Each isolated from the failure of the other. Nothing is ever created again by either.
  wants_order_pass_ = true;
  if (parts_.members == nullptr) {
    parts_.ledger.note_handled();
    return;
  }
  keep_up(
      all_resources,
      "forced sync",
      "forced sync of all resources",
      [this] { return parts_.members->on_forced_sync(); },
      std::move(ticket)
  );
}

// Machines have no periodic limits: the policy is told so, or it would wait for an answer.
void event_handlers::on_periodic_limits(const event_message& m, lanes::ticket ticket) {
  const std::optional<base::uuid> policy = m.uuid_at("policy_uuid");
  const std::optional<base::uuid> resource = m.uuid_at("resource_uuid");
  if (!policy || !resource) {
    ignore("messages about periodic limits without policy or resource are dropped");
    return;
  }
  const std::string what = "periodic limits of resource " + resource->hex();
  keep_up(
      resource->hex(),
      what + ", policy " + policy->hex(),
      what,
      [this, policy = *policy, resource = *resource] {
        return parts_.events.report_policy_result(
            policy, resource, false, "The provider's system does not support periodic limits"
        );
      },
      std::move(ticket)
  );
}

// No plugin has keys of an interface to rotate, so nobody waits for one of ours.
void event_handlers::on_api_key(const event_message& /*m*/, lanes::ticket /*ticket*/) {
  ignore("messages about API keys are dropped: no plugin has such keys");
}

void event_handlers::run_timer(
    const std::string& lane, std::string what, std::function<base::result<void>()> work
) {
  const std::string identity = "timer: " + what;
  others_.submit(
      lane,
      identity,
      [this, what = std::move(what), work = std::move(work)] {
        if (is_over()) {
          return lanes::outcome::done;
        }
        const progress_board::activity activity =
            parts_.upkeep.progress.begin(what, parts_.stuck_after);
        if (const base::result<void> answer = work();
            !answer && !parts_.env.stop.stop_requested()) {
          parts_.ledger.note_error(answer.error());
          log_.failure(
              observe::level::warning,
              "not done, tried again later",
              answer.error(),
              {{"what", what}}
          );
        }
        return lanes::outcome::done;
      },
      nullptr
  );
}

void event_handlers::sync_everything() {
  run_timer(all_resources, "status of all resources", [this] {
    return parts_.members->on_status_timer();
  });
}

void event_handlers::retry_members() {
  run_timer(all_resources, "what is owed to resources", [this] {
    return parts_.members->retry_failed();
  });
}

void event_handlers::refresh_users() {
  run_timer(all_resources, "offering users", [this] { return parts_.members->on_users_timer(); });
}

void event_handlers::ping() {
  run_timer("ping", "the sign of life in Waldur", [this] { return parts_.events.ping(); });
}

} // namespace siteagent::agent
