// SPDX-License-Identifier: MIT
// What messages make the agent do: re-read, act once, keep the order per resource, lose nothing.
#include "events_world.hpp"

#include "core/agent/events/event_worker.hpp"
#include "core/agent/track.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <random>
#include <sstream>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class events_handlers : public ::testing::Test {
protected:
  events_handlers() { renew(make_offering()); }

  void renew(const config::offering& c) {
    handlers.reset();
    orders.reset();
    w.renew_offering(c);
    orders = std::make_unique<order_pass>(*w.offering, w.waldur, w.env);
    handlers = std::make_unique<event_handlers>(event_parts{
        *w.offering,
        w.waldur,
        events,
        has_orders ? orders.get() : nullptr,
        has_members ? &members : nullptr,
        ledger,
        w.env,
        w.env,
        minutes(30)});
  }

  void given_order(unsigned n, const std::string& type, const std::string& state) {
    w.waldur.add_order(n, type, state);
    w.waldur.add_resource(n + 1000, type == "Create" ? "Creating" : "OK");
  }

  // Delivered, and the message's ticket watched.
  std::weak_ptr<void> deliver(const json& body, const std::string& type = "") {
    net::stomp_message message;
    message.body = body.dump();
    base::result<event_message> read = read_message(message, type);
    EXPECT_TRUE(read);
    auto ticket = std::make_shared<int>(0);
    const std::weak_ptr<void> watched = ticket;
    handlers->take(*std::move(read), std::move(ticket));
    return watched;
  }

  void handle(const json& body) {
    deliver(body);
    handlers->wait();
  }

  unsigned created() {
    return static_cast<unsigned>(w.cloud->calls(operation::create_resource).size());
  }

  event_snapshot seen() { return ledger.snapshot(0); }

  world w;
  fake_event_portal events{w.waldur};
  fake_members members;
  event_ledger ledger{"Machines", w.clock};
  bool has_orders = true;
  bool has_members = true;
  std::unique_ptr<order_pass> orders;
  std::unique_ptr<event_handlers> handlers;
};

TEST_F(events_handlers, an_order_message_carries_the_order_out) {
  given_order(1, "Create", "pending-provider");
  handle(order_message(1, "pending-provider"));
  EXPECT_EQ(w.waldur.state_of(1), "done");
  EXPECT_EQ(created(), 1U);
  EXPECT_EQ(seen().handled, 1U);
}

TEST_F(events_handlers, an_order_message_without_its_resource_is_enough) {
  given_order(1, "Create", "pending-provider");
  json m = order_message(1, "pending-provider");
  m.erase("resource_uuid");
  m.erase("order_state");
  handle(m);
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(events_handlers, case_ord_06_messages_about_orders_that_need_nothing_cause_no_request) {
  given_order(1, "Create", "pending-provider");
  for (const char* state :
       {"done",
        "erred",
        "canceled",
        "rejected",
        "pending-consumer",
        "pending-project",
        "pending-start-date",
        "weird-new"}) {
    EXPECT_TRUE(deliver(order_message(1, state)).expired()) << state;
  }
  handlers->wait();
  EXPECT_THAT(events.calls(), IsEmpty());
  EXPECT_EQ(w.waldur.calls("get_order") + w.waldur.calls("list_orders"), 0U);
  EXPECT_EQ(w.waldur.state_of(1), "pending-provider");
  EXPECT_EQ(seen().ignored, 8U);
}

TEST_F(events_handlers, case_ord_06_the_fetched_order_decides_and_not_the_message) {
  given_order(1, "Create", "pending-project");
  handle(order_message(1, "executing"));
  EXPECT_EQ(created(), 0U);
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(events_handlers, a_message_says_nothing_about_what_to_make) {
  given_order(1, "Create", "executing");
  json m = order_message(1, "executing");
  m.set("attributes", json::object({{"name", "of the message"}}));
  m.set("order_type", "Terminate");
  handle(m);
  ASSERT_EQ(created(), 1U);
  EXPECT_TRUE(w.cloud->calls(operation::delete_resource).empty());
  EXPECT_TRUE(w.cloud->calls(operation::create_resource)[0]
                  .request.body.at({"order", "attributes", "name"})
                  .is_null());
}

TEST_F(events_handlers, a_message_that_came_too_early_or_too_late_or_twice_does_no_harm) {
  given_order(1, "Create", "pending-provider");
  w.waldur.set_order_state(1, "pending-consumer");
  handle(order_message(1, "executing"));
  EXPECT_EQ(created(), 0U);
  w.waldur.set_order_state(1, "pending-provider");
  handle(order_message(1, "pending-provider"));
  handle(order_message(1, "pending-provider"));
  handle(order_message(1, "executing"));
  EXPECT_EQ(created(), 1U);
  EXPECT_THAT(w.waldur.writes("set_done"), SizeIs(1));
}

TEST_F(events_handlers, a_duplicate_that_waits_is_joined_and_one_that_comes_during_is_looked_at) {
  given_order(1, "Create", "executing");
  gate making;
  w.cloud->on(operation::create_resource, [&](const host::call_request& r, const auto&) {
    EXPECT_TRUE(making.pass());
    return fake_cloud::emitted(std::vector{json::object({{"backend_id", r.idempotency_key}})});
  });
  const auto first = deliver(order_message(1, "executing"));
  ASSERT_TRUE(making.wait_for(1));
  const auto second = deliver(order_message(1, "executing"));
  const auto third = deliver(order_message(1, "executing"));
  EXPECT_FALSE(first.expired());
  EXPECT_FALSE(second.expired()) << "acknowledged only when looked at";
  EXPECT_FALSE(third.expired());
  making.open();
  handlers->wait();
  EXPECT_TRUE(first.expired() && second.expired() && third.expired());
  EXPECT_EQ(created(), 1U);
  EXPECT_EQ(events.count("list_orders_of"), 2U)
      << "once each: before, and for both that came during";
  EXPECT_EQ(seen().joined, 1U);
}

TEST_F(events_handlers, a_long_create_holds_up_nobody_else) {
  for (const unsigned n : {1U, 2U}) {
    given_order(n, "Create", "executing");
  }
  gate making;
  w.cloud->on(operation::create_resource, [&](const host::call_request& r, const auto&) {
    if (r.idempotency_key == uuid_of(1001).hex()) {
      EXPECT_TRUE(making.pass());
    }
    return fake_cloud::emitted(std::vector{json::object({{"backend_id", r.idempotency_key}})});
  });
  const auto slow = deliver(order_message(1, "executing"));
  ASSERT_TRUE(making.wait_for(1));
  const auto quick = deliver(order_message(2, "executing"));
  const auto user = deliver(message_of("offering_user", "offering_user_uuid", 7));
  while (!quick.expired() || !user.expired()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(w.waldur.state_of(2), "done");
  EXPECT_FALSE(slow.expired());
  making.open();
  handlers->wait();
}

TEST_F(events_handlers, the_orders_of_one_resource_follow_their_creation_whatever_came_first) {
  w.waldur.add_resource(2000, "Creating");
  w.waldur.add_order(1, "Create", "executing").resource = uuid_of(2000);
  w.waldur.add_order(2, "Terminate", "executing").resource = uuid_of(2000);
  json m = order_message(2, "executing");
  m.set("resource_uuid", uuid_of(2000).hex());
  handle(m);
  EXPECT_THAT(
      w.waldur.writes("set_done"),
      ElementsAre("set_done " + uuid_of(1).hex(), "set_done " + uuid_of(2).hex())
  );
}

TEST_F(events_handlers, a_resource_that_is_busy_is_asked_for_again_and_its_message_waits) {
  given_order(1, "Create", "executing");
  std::optional<resource_locks::guard> taken = w.locks.try_lock(uuid_of(1001));
  const auto ticket = deliver(order_message(1, "executing"));
  handlers->wait();
  EXPECT_FALSE(ticket.expired());
  EXPECT_EQ(events.count("list_orders_of"), 0U) << "a busy resource costs no request";
  handlers->tick();
  handlers->wait();
  EXPECT_FALSE(ticket.expired());
  taken.reset();
  w.clock.advance(seconds(5));
  handlers->tick();
  handlers->wait();
  EXPECT_TRUE(ticket.expired());
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(events_handlers, an_order_that_waits_for_its_next_try_is_not_tried_earlier_by_messages) {
  given_order(1, "Create", "executing");
  w.cloud->fail(operation::create_resource, failure(error_code::transient), 100);
  for (int i = 0; i < 5; ++i) {
    handle(order_message(1, "executing"));
  }
  EXPECT_EQ(created(), 1U);
  EXPECT_TRUE(orders->next_due());
}

TEST_F(events_handlers, trouble_with_waldur_leaves_the_order_to_the_timers) {
  given_order(1, "Create", "executing");
  events.fail("list_orders_of", http_failure(502));
  handle(order_message(1, "executing"));
  EXPECT_TRUE(handlers->wants_order_pass());
  EXPECT_FALSE(handlers->wants_order_pass()) << "said once";
  EXPECT_EQ(seen().failed, 1U);
  EXPECT_THAT(w.waldur.writes("set_erred"), IsEmpty());
}

TEST_F(events_handlers, case_evt_05_orders_that_waldur_does_not_show_are_dropped_quietly) {
  for (const int status : {404, 403}) {
    w.waldur.fail("get_order", http_failure(status));
    json m = order_message(9, "executing");
    m.erase("resource_uuid");
    EXPECT_FALSE(deliver(m).expired() && false);
    handlers->wait();
  }
  EXPECT_EQ(seen().failed, 0U);
  EXPECT_FALSE(handlers->wants_order_pass());
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
}

TEST_F(events_handlers, case_evt_05_messages_that_nobody_can_act_on_are_acknowledged_and_counted) {
  const std::vector<json> bad = {
      json::object({{"object_type", "unheard_of"}}),
      json::object({{"object_type", "order"}, {"order_uuid", nullptr}}),
      json::object({{"object_type", "order"}, {"order_uuid", 7}}),
      json::object({{"object_type", "resource"}}),
      json::object({{"object_type", "user_role"}}),
      json::object({{"object_type", "offering_user"}}),
      json::object({{"object_type", "service_account"}}),
      json::object({{"object_type", "course_account"}}),
      message_of("importable_resources", "backend_resource_request_uuid", 1), // not enabled
      json::object({{"object_type", "resource_periodic_limits"}}),
      json::object({{"object_type", "resource_api_key_rotation"}, {"action", "rotate"}}),
      order_message(1, "executing").set("offering_uuid", uuid_of(78).hex()),
  };
  for (const json& m : bad) {
    EXPECT_TRUE(deliver(m).expired()) << m.dump();
  }
  handlers->wait();
  EXPECT_EQ(seen().ignored, bad.size());
  EXPECT_THAT(events.calls(), IsEmpty());
  EXPECT_THAT(members.calls(), IsEmpty());
}

struct member_case {
  json message;
  std::string call;
};

TEST_F(events_handlers, membership_messages_reach_membership) {
  const std::string five = uuid_of(5).hex();
  const std::string six = uuid_of(6).hex();
  const std::vector<member_case> cases = {
      {message_of("resource", "resource_uuid", 5), "resource " + five},
      {message_of("user_role", "project_uuid", 5).set("user_uuid", six),
       "role " + six + " " + five + " -"},
      {message_of("user_role", "project_uuid", 5).set("resource_uuid", six),
       "role - " + five + " " + six},
      {message_of("user_role", "resource_uuid", 6), "role - - " + six},
      {message_of("offering_user", "offering_user_uuid", 5), "offering_user " + five},
      {message_of("service_account", "project_uuid", 5), "accounts " + five},
      {message_of("course_account", "project_uuid", 5), "accounts " + five},
      {json::object({{"object_type", "offering_resources_sync"}}), "forced_sync"},
  };
  std::vector<std::string> expected;
  for (const member_case& c : cases) {
    handle(c.message);
    expected.push_back(c.call);
    EXPECT_EQ(members.calls(), expected) << c.message.dump();
  }
  EXPECT_EQ(seen().handled, cases.size());
}

TEST_F(
    events_handlers, without_membership_its_messages_are_dropped_and_forced_sync_looks_at_orders
) {
  has_members = false;
  renew(make_offering());
  handle(message_of("resource", "resource_uuid", 5));
  EXPECT_EQ(seen().ignored, 1U);
  handle(json::object({{"object_type", "offering_resources_sync"}}));
  EXPECT_TRUE(handlers->wants_order_pass());
}

TEST_F(events_handlers, forced_sync_looks_at_orders_also_when_membership_fails) {
  members.failure = failure(error_code::transient);
  handle(json::object({{"object_type", "offering_resources_sync"}}));
  EXPECT_TRUE(handlers->wants_order_pass());
  EXPECT_EQ(seen().failed, 1U);
}

TEST_F(events_handlers, messages_about_one_resource_are_handled_one_after_the_other) {
  gate first;
  std::atomic<unsigned> at_once{0};
  members.hook = [&](const std::string&) {
    EXPECT_EQ(++at_once, 1U);
    EXPECT_TRUE(first.pass());
    --at_once;
  };
  deliver(message_of("resource", "resource_uuid", 5));
  ASSERT_TRUE(first.wait_for(1));
  deliver(message_of("resource", "resource_uuid", 5));
  first.open();
  handlers->wait();
  EXPECT_THAT(members.calls(), SizeIs(2)) << "the second one's news came after the first's look";
}

TEST_F(events_handlers, a_handler_that_fails_or_throws_ends_nothing) {
  members.hook = [](const std::string& what) {
    if (what.ends_with("5")) {
      throw std::runtime_error("a bug");
    }
  };
  EXPECT_FALSE(deliver(message_of("resource", "resource_uuid", 5)).expired() && false);
  handlers->wait();
  const auto ticket = deliver(message_of("resource", "resource_uuid", 6));
  handlers->wait();
  EXPECT_TRUE(ticket.expired());
  EXPECT_THAT(members.calls(), ElementsAre("resource " + uuid_of(6).hex()));
}

TEST_F(events_handlers, a_handler_that_is_stuck_for_half_an_hour_withholds_the_heartbeat) {
  gate stuck;
  members.hook = [&](const std::string&) { EXPECT_TRUE(stuck.pass()); };
  deliver(message_of("resource", "resource_uuid", 5));
  ASSERT_TRUE(stuck.wait_for(1));
  w.clock.advance(minutes(30));
  EXPECT_FALSE(w.board.find_stuck());
  w.clock.advance(seconds(1));
  EXPECT_TRUE(w.board.find_stuck());
  stuck.open();
  handlers->wait();
  EXPECT_FALSE(w.board.find_stuck());
}

TEST_F(events_handlers, a_periodic_policy_is_always_answered) {
  handle(message_of("resource_periodic_limits", "policy_uuid", 3)
             .set("resource_uuid", uuid_of(5).hex()));
  EXPECT_THAT(
      events.calls(),
      ElementsAre("report_policy_result " + uuid_of(3).hex() + " " + uuid_of(5).hex() + " failure")
  );
}

TEST_F(events_handlers, after_a_stop_nothing_new_begins) {
  given_order(1, "Create", "pending-provider");
  w.stop.request_stop();
  handle(order_message(1, "pending-provider"));
  handle(message_of("resource", "resource_uuid", 5));
  EXPECT_EQ(created(), 0U);
  EXPECT_THAT(members.calls(), IsEmpty());
}

// Any loss, duplication and order of messages ends in the same machines, one each.
TEST_F(events_handlers, a_shuffled_lossy_stream_beside_a_poll_makes_every_machine_once) {
  constexpr unsigned count = 60;
  std::vector<json> messages;
  for (unsigned n = 1; n <= count; ++n) {
    given_order(n, "Create", "pending-provider");
    for (const char* state : {"pending-provider", "pending-provider", "executing", "done"}) {
      messages.push_back(order_message(n, state));
    }
  }
  std::mt19937 random(7); // NOLINT(cert-msc51-cpp): the same every time
  std::shuffle(messages.begin(), messages.end(), random);
  messages.resize(messages.size() / 2);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    deliver(messages[i]);
    if (i == messages.size() / 2) {
      EXPECT_TRUE(orders->start());
    }
  }
  handlers->wait();
  orders->wait();
  EXPECT_TRUE(orders->start()); // reconciliation, for what was lost
  orders->wait();
  for (unsigned n = 1; n <= count; ++n) {
    EXPECT_EQ(w.waldur.state_of(n), "done") << n;
  }
  EXPECT_EQ(created(), count);
  EXPECT_THAT(w.waldur.writes("set_done"), SizeIs(count));
}

class events_imports : public events_handlers {
protected:
  events_imports() {
    config::offering c = make_offering();
    c.resource_import_enabled = true;
    renew(c);
    events.projects["project-1"] = uuid_of(31);
  }

  static json
  machine(const std::string& id, const std::string& slug, const std::string& uuid = "") {
    return json::object(
        {{"backend_id", id},
         {"uuid", uuid},
         {"tags", json::object({{"waldur-project-slug", slug}})},
         {"limits", json::object({{"cpu", 2}})}}
    );
  }

  void given(std::vector<json> machines) {
    w.cloud->on(
        operation::list_resources,
        [machines = std::move(machines)](const auto&, const auto&) {
          return fake_cloud::emitted(machines);
        }
    );
  }

  void ask() { handle(message_of("importable_resources", "backend_resource_request_uuid", 9)); }

  const std::string request = uuid_of(9).hex();
};

TEST_F(events_imports, offers_machines_that_no_live_resource_stands_for) {
  w.waldur.add_resource(1, "OK").backend_id = "/VM/known";
  w.waldur.add_resource(2, "Updating").backend_id = "/vm/updating";
  w.waldur.add_resource(3, "Creating"); // no id yet
  w.waldur.add_resource(4, "Terminated").backend_id = "/vm/unlinked";
  events.importables.insert(uuid_of(31).hex() + " /vm/submitted");
  given(
      {machine("/vm/known", "project-1"),
       machine("/vm/updating", "project-1"),
       machine("/vm/young", "project-1", uuid_of(3).hex()),
       machine("/vm/unlinked", "project-1", uuid_of(4).hex()),
       machine("/vm/submitted", "project-1"),
       machine("/vm/foreign", "project-2"),
       machine("/vm/untagged", ""),
       machine("", "project-1")}
  );
  ask();
  EXPECT_THAT(
      events.calls("submit_importable"),
      ElementsAre(
          "submit_importable " + uuid_of(31).hex() + " /vm/unlinked {\"limits\":{\"cpu\":2}}"
      )
  );
  EXPECT_THAT(events.calls("start_import"), ElementsAre("start_import " + request));
  EXPECT_EQ(events.calls().back(), "finish_import " + request);
  EXPECT_EQ(events.count("find_project project-1"), 1U) << "asked once for all its machines";
}

TEST_F(events_imports, a_cloud_that_cannot_be_listed_sets_the_request_erred_without_its_words) {
  w.cloud->fail(operation::list_resources, failure(error_code::transient, "subscription 4711"));
  ask();
  EXPECT_THAT(events.calls("finish_import"), IsEmpty());
  ASSERT_EQ(events.count("fail_import"), 1U);
  EXPECT_THAT(events.calls("fail_import")[0], ::testing::Not(HasSubstr("4711")));
}

TEST_F(events_imports, a_request_that_is_over_is_left_alone_and_one_begun_before_a_crash_goes_on) {
  for (const char* state : {"Done", "Erred"}) {
    events.import_state = state;
    ask();
  }
  EXPECT_EQ(events.count("start_import"), 0U);
  events.import_state = "Processing";
  events.fail("start_import", http_failure(409));
  given({});
  ask();
  EXPECT_EQ(events.count("finish_import"), 1U);
}

// The worker: registration first, timers, single passes.
class events_worker : public ::testing::Test {
protected:
  event_worker& worker(bool once = false) {
    if (!worker_) {
      auto owned = std::make_unique<fake_members>();
      members = owned.get();
      owned->failure = member_failure;
      worker_ = std::make_unique<event_worker>(
          *w.offering,
          w.waldur,
          *events,
          std::move(owned),
          w.env,
          w.env,
          worker_extras{broker.opener(), timers, once}
      );
    }
    return *worker_;
  }

  world w;
  fake_broker broker;
  event_timers timers;
  std::optional<base::error> member_failure;
  std::unique_ptr<fake_event_portal> events = std::make_unique<fake_event_portal>(w.waldur);
  fake_members* members = nullptr;

private:
  std::unique_ptr<event_worker> worker_;
};

TEST_F(events_worker, the_queue_is_registered_before_the_first_look) {
  worker(true);
  w.waldur.before("list_orders", [&] { EXPECT_EQ(events->count("register_queue"), 1U); });
  EXPECT_TRUE(worker().pass());
  EXPECT_EQ(w.waldur.calls("list_orders"), 1U);
}

TEST_F(events_worker, once_runs_the_passes_and_reads_no_message) {
  w.waldur.add_order(1, "Create", "pending-provider");
  w.waldur.add_resource(1001);
  EXPECT_TRUE(worker(true).pass());
  worker().wait();
  EXPECT_EQ(w.waldur.state_of(1), "done");
  EXPECT_THAT(members->calls(), ElementsAre("users_timer", "status_timer"));
  EXPECT_EQ(broker.attempts, 0U);
}

TEST_F(events_worker, a_registration_that_fails_does_not_keep_the_orders_waiting) {
  w.waldur.add_order(1, "Create", "pending-provider");
  w.waldur.add_resource(1001);
  worker(true);
  events->fail("register_queue", http_failure(409));
  EXPECT_TRUE(worker().pass());
  worker().wait();
  EXPECT_EQ(w.waldur.state_of(1), "done");
}

TEST_F(events_worker, a_running_one_connects_after_the_first_look_and_disconnects_at_the_end) {
  EXPECT_TRUE(worker().pass());
  while (!worker().snapshot().is_connected) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(worker().next_due()) << "nothing was missed";
  EXPECT_EQ(worker().snapshot().queue, "consumer_1");
  worker().wait();
  EXPECT_FALSE(broker.last().is_open);
  EXPECT_EQ(events->count("register_queue"), 1U);
}

TEST_F(events_worker, what_a_message_could_not_do_is_due_at_once) {
  EXPECT_TRUE(worker().pass());
  while (!worker().snapshot().is_connected) {
    std::this_thread::yield();
  }
  events->fail("list_orders_of", http_failure(502));
  broker.deliver(order_message(1, "executing"));
  while (!worker().next_due()) {
    std::this_thread::yield();
  }
  EXPECT_LE(*worker().next_due(), w.clock.steady());
  EXPECT_TRUE(worker().pass());
  EXPECT_FALSE(worker().next_due());
  worker().wait();
}

TEST_F(events_worker, timers_look_at_everything_again) {
  EXPECT_TRUE(worker().pass());
  const auto wait_for = [&](std::size_t calls) {
    for (unsigned i = 0; i < 100'000'000 && members->calls().size() < calls; ++i) {
      std::this_thread::yield();
    }
  };
  wait_for(2);
  w.clock.advance(minutes(30));
  while (events->count("ping") == 0) {
    std::this_thread::yield();
  }
  EXPECT_THAT(members->calls(), SizeIs(2));
  w.clock.advance(minutes(30));
  wait_for(4);
  EXPECT_THAT(
      members->calls(),
      UnorderedElementsAre("users_timer", "status_timer", "status_timer", "users_timer")
  );
  worker().wait();
}

TEST_F(events_worker, a_retired_one_closes_its_connection_and_leaves_its_messages_to_the_next) {
  EXPECT_TRUE(worker().pass());
  while (!worker().snapshot().is_connected) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(worker().is_idle());
  w.waldur.add_order(1, "Create", "executing");
  w.waldur.add_resource(1001);
  w.offering->retire();
  broker.deliver(order_message(1, "executing"));
  worker().retire();
  while (!worker().is_idle()) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(broker.last().is_open);
  EXPECT_THAT(broker.acknowledged(), IsEmpty());
  EXPECT_EQ(w.waldur.state_of(1), "executing");
}

TEST_F(events_worker, shows_what_the_schema_of_status_says) {
  std::ifstream file(SITEAGENT_SCHEMA_DIR "/status.schema.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto whole = json::parse(text.str());
  ASSERT_TRUE(whole);
  const json of_events = json::object(
      {{"type", "object"},
       {"properties", json::object({{"events", json::object({{"$ref", "#/definitions/events"}})}})},
       {"definitions", (*whole)["definitions"]}}
  );
  const auto schema = base::json_schema::compile(of_events.dump());
  ASSERT_TRUE(schema);
  const auto expect_as_said = [&] {
    const json shown = worker().events();
    const auto wrong = schema->check(json::object({{"events", shown}}));
    EXPECT_FALSE(wrong) << wrong->pointer << ' ' << wrong->keyword << ' ' << shown.pretty();
  };
  expect_as_said(); // nothing known yet
  EXPECT_TRUE(worker().pass());
  while (!worker().snapshot().is_connected) {
    std::this_thread::yield();
  }
  broker.deliver(order_message(1, "done"));
  while (worker().snapshot().ignored == 0) {
    std::this_thread::yield();
  }
  expect_as_said();
  EXPECT_EQ(worker().events().at({"seen", "order"}).integer(), 1);
  worker().wait();
}

TEST_F(events_worker, an_order_only_offering_asks_for_orders_and_forced_sync) {
  config::offering c = make_offering();
  c.resource_import_enabled = true;
  w.renew_offering(c);
  event_worker alone(
      *w.offering, w.waldur, *events, nullptr, w.env, w.env, {broker.opener(), timers, true}
  );
  EXPECT_TRUE(alone.pass());
  alone.wait();
  EXPECT_THAT(
      events->calls("register"),
      ElementsAre("register_queue order,resource_api_key_rotation,offering_resources_sync,"
                  "importable_resources")
  );
}

// As the real one: no two looks at it are the same.
class creeping_clock final : public base::clock {
public:
  explicit creeping_clock(const base::manual_clock& hands) : hands_(hands) {}

  base::steady_time steady() const override {
    return hands_.steady() + std::chrono::nanoseconds(++looks_);
  }

  base::wall_time wall() const override { return hands_.wall(); }

private:
  const base::manual_clock& hands_;
  mutable std::atomic<int> looks_{0};
};

TEST(track, a_pass_that_is_wanted_now_is_due_also_on_a_clock_that_never_stands_still) {
  world w(1); // one worker: the resource that is busy is met first
  const creeping_clock clock(w.clock);
  const periods usual;
  environment env{clock, w.waits, w.stop.get_token(), w.board, w.locks, w.pool};
  auto waldur = std::make_unique<fake_portal>();
  waldur->offering = w.waldur.offering;
  for (const unsigned n : {1U, 2U}) {
    waldur->add_order(n, "Create", "executing");
    waldur->add_resource(n + 1000);
  }
  fake_portal& portal = *waldur;
  track t(*w.offering, mode::order_process, usual, std::move(waldur), env, env, "", {});
  std::optional<resource_locks::guard> busy = w.locks.try_lock(uuid_of(1001));
  t.turn();
  t.wait();
  ASSERT_EQ(portal.state_of(2), "done");
  busy.reset();
  w.clock.advance(seconds(5)); // far less than the period
  EXPECT_TRUE(t.is_due());
  t.turn();
  t.wait();
  EXPECT_EQ(portal.state_of(1), "done");
}

} // namespace

} // namespace siteagent::agent::test
