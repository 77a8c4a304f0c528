// SPDX-License-Identifier: MIT
// Event mode with everything real but the cloud and the portal: the agent's process, a RabbitMQ
// with STOMP over WebSocket, and a Waldur emulator that makes queues in it and publishes there.
#include "tests/integration/expect.hpp"
#include "tests/integration/site.hpp"
#include "tests/rabbitmq/broker.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <random>

namespace siteagent::integration {

namespace {

using rabbitmq::broker;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::chrono::seconds patience{150}; // a machine that is busy, a pause that doubled

std::string management_with_login() {
  std::string url = broker::shared().management_url();
  const std::string login =
      std::string(broker::admin_user) + ":" + std::string(broker::admin_password) + "@";
  return url.insert(url.find("://") + 3, login);
}

site_options driven_by_events(bool tls, const std::string& more_keys = "") {
  const rabbitmq::broker_ports& ports = broker::shared().ports();
  site_options options;
  options.keys =
      std::string("    stomp_enabled: true\n") + //
      "    stomp_ws_host: 127.0.0.1\n" +         //
      "    stomp_ws_port: " + std::to_string(tls ? ports.web_stomp_tls : ports.web_stomp) + "\n" +
      "    websocket_use_tls: " + (tls ? "true" : "false") + "\n" + more_keys;
  options.waldur_arguments = {"--rabbitmq-management", management_with_login()};
  return options;
}

class EventMode : public ::testing::Test {
protected:
  void SetUp() override {
    if (const auto why = broker::why_unavailable()) {
      GTEST_SKIP() << *why;
    }
    broker::shared().start();
  }

  void TearDown() override {
    if (s) {
      if (agent && agent->is_running()) {
        agent->signal(SIGTERM);
        EXPECT_EQ(agent->wait(std::chrono::seconds(30)), 0) << agent->output();
      }
      if (HasFailure() && agent) {
        std::fprintf(stderr, "%s\n", agent->output().c_str());
      }
      s->waldur().reset(); // with what it made in the broker
    }
  }

  void open(site_options options) { s = std::make_unique<site>(std::move(options)); }

  void start(const std::string& mode = "event_process") {
    agent = s->start_agent(mode, false);
    ASSERT_TRUE(agent_says("connected to the event queue"));
  }

  bool says(const process& who, const std::string& what, unsigned times = 1) {
    return wait_for_change(
        s->dir().path().string(), [&] { return count_of(who.output(), what) >= times; }, patience
    );
  }

  bool agent_says(const std::string& what, unsigned times = 1) { return says(*agent, what, times); }

  static unsigned count_of(const std::string& text, const std::string& what) {
    unsigned count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++count;
    }
    return count;
  }

  // The portal shows that this many orders are done.
  bool done(std::size_t orders) {
    return wait_for_change(
        s->waldur().directory(),
        [&] {
          const auto lines = s->waldur().journal();
          return static_cast<std::size_t>(std::count_if(
                     lines.begin(),
                     lines.end(),
                     [](const journal_line& l) {
                       return l.path.ends_with("/set_state_done/") && l.status == 200;
                     }
                 )) >= orders;
        },
        patience
    );
  }

  // Machines made: one PUT that made something each, if all is well. Two processes may both try, of
  // which the cloud refuses one.
  std::size_t creations() {
    const std::vector<journal_line> writes = s->azure().writes();
    return static_cast<std::size_t>(std::count_if(
        writes.begin(),
        writes.end(),
        [](const journal_line& l) {
          return l.method == "PUT" && l.status == 201 &&
                 l.path.find("/virtualMachines/") != std::string::npos;
        }
    ));
  }

  json consumer() { return s->waldur().inventory()["event_consumers"][0]; }

  std::string queue() { return consumer()["queue_name"].string_or(""); }

  std::string virtual_host() { return consumer()["user_uuid"].string_or(""); }

  bool is_queue_empty() {
    return broker::shared().wait_for_depth(virtual_host(), queue(), {0, 0}, patience);
  }

  void admin(const std::string& call_name, const json& body) {
    const http_answer answer = call("POST", s->waldur().url() + "/_emu/" + call_name, body);
    ASSERT_LT(answer.status, 300) << answer.body.dump();
  }

  json publication(const json& body) { return json::object({{"queue", queue()}, {"body", body}}); }

  json message_about(const std::string& order, const std::string& state) {
    return json::object(
        {{"object_type", "order"},
         {"offering_uuid", offering_uuid},
         {"order_uuid", order},
         {"order_state", state},
         {"resource_uuid", s->resource_of(order)}}
    );
  }

  std::unique_ptr<site> s;
  std::unique_ptr<process> agent;
};

TEST_F(EventMode, CarriesOrdersOutAsTheyArePlacedAndStopsMachinesThatArePaused) {
  open(driven_by_events(false, "    membership_sync_backend: azure\n"));
  start();
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
  const std::string resource = s->resource_of(order);
  s->set_paused(resource, true);
  EXPECT_TRUE(s->azure().wait_for_journal([](const journal_line& l) {
    return l.method == "POST" && l.path.find("/deallocate") != std::string::npos;
  }));
  const std::string end = s->terminate(resource);
  ASSERT_TRUE(done(2));
  EXPECT_THAT(s->cloud_objects(), IsEmpty());
  EXPECT_TRUE(is_queue_empty()) << "every message is acknowledged";
  EXPECT_EQ(s->order_state(end), "done");
}

TEST_F(EventMode, TalksToTheBrokerOverTls) {
  open(driven_by_events(true, "    verify_ssl: false\n"));
  start();
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
}

TEST_F(EventMode, DoesNotTalkToABrokerItCannotTrust) {
  open(driven_by_events(true));
  agent = s->start_agent("event_process", false);
  EXPECT_TRUE(agent_says("the connection to the event queue is lost"));
  EXPECT_THAT(agent->output(), HasSubstr("certificate"));
  EXPECT_THAT(agent->output(), Not(HasSubstr(std::string(agent_token))));
}

TEST_F(EventMode, OlderServersWithAQueuePerTypeAreFollowedLikewise) {
  site_options options = driven_by_events(false);
  options.waldur_seed = json::object({{"unified_queues", false}});
  open(std::move(options));
  start();
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
}

TEST_F(EventMode, SinglePassesRegisterTheQueueAndLeaveTheMessages) {
  open(driven_by_events(false));
  const std::string order = s->order_machine("web 1");
  const agent_run run = s->run_agent("event_process");
  EXPECT_EQ(run.exit_code, 0) << run.log;
  expect_exactly_one_machine(*s, order);
  EXPECT_TRUE(broker::shared().has_queue(virtual_host(), queue()));
  EXPECT_THAT(run.log, Not(HasSubstr("connected to the event queue")));
}

TEST_F(EventMode, PolledModesLeaveTheOfferingToIt) {
  open(driven_by_events(false));
  const std::string order = s->order_machine("web 1");
  const agent_run run = s->run_agent("order_process");
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_THAT(run.log, HasSubstr("driven by events"));
  EXPECT_EQ(s->order_state(order), "pending-provider");
}

TEST_F(EventMode, AllModesInOneProcessFollowEvents) {
  open(driven_by_events(false));
  start("all");
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
}

TEST_F(EventMode, case_ord_02_what_happened_while_the_broker_was_away_is_done_when_it_is_back) {
  open(driven_by_events(false));
  start();
  broker::shared().stop();
  ASSERT_TRUE(agent_says("the connection to the event queue is lost"));
  const std::string order = s->order_machine("web 1");
  broker::shared().start();
  ASSERT_TRUE(agent_says("connected to the event queue", 2));
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
}

TEST_F(EventMode, case_evt_02_a_queue_that_is_deleted_is_registered_again_and_nothing_is_lost) {
  open(driven_by_events(false));
  start();
  const std::string host = virtual_host();
  const std::string name = queue();
  admin("delete_queue", json::object({{"queue", name}}));
  const std::string order = s->order_machine("web 1"); // told to nobody
  ASSERT_TRUE(agent_says("connected to the event queue", 2));
  EXPECT_TRUE(broker::shared().has_queue(host, name));
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
  const std::string second = s->order_machine("web 2");
  ASSERT_TRUE(done(2)) << "and messages come again";
  EXPECT_EQ(s->order_state(second), "done");
}

// F31
TEST_F(EventMode, ARotatedTokenIsReadAgainAndTheQueueRegisteredWithIt) {
  open(driven_by_events(false));
  const std::string file = s->dir().file("token");
  write_file(file, std::string(agent_token) + "\n");
  std::string yaml = read_file(s->config_file());
  const std::string as_text = "waldur_api_token: " + std::string(agent_token);
  yaml.replace(yaml.find(as_text), as_text.size(), "waldur_api_token: file:" + file);
  write_file(s->config_file(), yaml);
  start();
  const std::string fresh = "e2e0000000000000000000000000token009";
  admin("rotate_token", json::object({{"old", agent_token}, {"new", fresh}}));
  write_file(file, fresh + "\n");
  broker::shared().close_connections(virtual_host());
  ASSERT_TRUE(agent_says("connected to the event queue", 2));
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
  EXPECT_THAT(agent->output(), Not(HasSubstr(fresh)));
}

TEST_F(EventMode, case_evt_05_bad_messages_stop_nothing) {
  open(driven_by_events(false));
  start();
  for (const std::string& body :
       {std::string(),
        std::string("[]"),
        std::string("{}"),
        std::string("{\"order_uuid\":"),
        std::string(200, '[') + std::string(200, ']'),
        std::string("{\"object_type\":\"order\",\"order_uuid\":null}"),
        std::string("{\"object_type\":\"unheard_of\"}"),
        std::string("{\"object_type\":\"order\",\"order_state\":\"executing\",\"order_uuid\":"
                    "\"00000000000000000000000000000404\"}")}) {
    admin("publish", json::object({{"queue", queue()}, {"body", body}}));
  }
  const std::string order = s->order_machine("web 1");
  ASSERT_TRUE(done(1));
  expect_exactly_one_machine(*s, order);
  EXPECT_TRUE(is_queue_empty());
  EXPECT_EQ(count_of(agent->output(), "connected to the event queue"), 1U);
  EXPECT_THAT(
      s->waldur().writes(),
      Not(::testing::Contains(::testing::Field(&journal_line::path, HasSubstr("set_state_erred"))))
  );
}

// F6
TEST_F(EventMode, MessagesThatComeManyTimesAndAPollBesideThemMakeOneMachine) {
  open(driven_by_events(false));
  start();
  std::string polled = read_file(s->config_file());
  const std::string on = "stomp_enabled: true";
  const std::string events_file = read_file(s->config_file());
  polled.replace(polled.find(on), on.size(), "stomp_enabled: false");
  write_file(s->config_file(), polled);
  const std::string order = s->order_machine("web 1");
  const auto poll = s->start_agent("order_process", true);
  for (const char* state : {"executing", "pending-provider", "done", "executing"}) {
    admin("publish", publication(message_about(order, state)).set("times", 20));
  }
  EXPECT_EQ(poll->wait(patience), 0) << poll->output();
  ASSERT_TRUE(done(1));
  EXPECT_TRUE(is_queue_empty());
  expect_exactly_one_machine(*s, order);
  EXPECT_EQ(creations(), 1U);
  write_file(s->config_file(), events_file);
}

// Competing consumers: what the dead one had in hand is delivered to the other.
TEST_F(EventMode, TwoAgentsOnOneQueueShareTheWorkAndOneOfThemMayBeKilled) {
  constexpr std::size_t orders = 8;
  open(driven_by_events(false));
  s->azure().set_faults(json::array({json::object(
      {{"match", json::object({{"method", "PUT"}, {"path", "/virtualMachines/[^/]+$"}})},
       {"when", "before"},
       {"do", json::object({{"delay_ms", 700}})}}
  )}));
  start();
  const auto other = s->start_agent("event_process", false);
  ASSERT_TRUE(says(*other, "connected to the event queue"));
  for (std::size_t i = 0; i < orders; ++i) {
    s->order_machine("web " + std::to_string(i));
  }
  ASSERT_TRUE(says(*other, "\"kind\":\"network-interface\""));
  ASSERT_TRUE(agent_says("\"kind\":\"network-interface\"")) << "both have work";
  other->signal(SIGKILL);
  ASSERT_TRUE(done(orders));
  EXPECT_EQ(s->machine_count(), orders);
  EXPECT_TRUE(is_queue_empty());
}

TEST_F(EventMode, TenThousandMessagesLoseNoOrderAndDoubleNone) {
  constexpr std::size_t orders = 20;
  constexpr std::size_t messages = 10'000;
  site_options options = driven_by_events(false);
  options.waldur_seed = json::object({{"auto_approve", true}});
  open(std::move(options));
  start();
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < orders; ++i) {
    const std::string order = s->order_machine("web " + std::to_string(i));
    for (std::size_t n = 0; n < messages / orders; ++n) {
      bodies.push_back(message_about(
                           order,
                           n % 3 == 0   ? "executing"
                           : n % 3 == 1 ? "done"
                                        : "pending-provider"
      )
                           .dump());
    }
  }
  std::mt19937 random(4); // NOLINT(cert-msc51-cpp): the same every time
  std::shuffle(bodies.begin(), bodies.end(), random);
  broker::shared().create_virtual_host(virtual_host()); // it is there; we may publish in it
  broker::shared().publish_all(virtual_host(), queue(), bodies);
  s->order_machine("last"); // its message stands behind all others
  ASSERT_TRUE(done(orders + 1));
  EXPECT_TRUE(is_queue_empty());
  EXPECT_EQ(creations(), orders + 1);
  EXPECT_EQ(s->machine_count(), orders + 1);
  EXPECT_EQ(count_of(agent->output(), "connected to the event queue"), 1U);
  agent->signal(SIGTERM);
  ASSERT_EQ(agent->wait(std::chrono::seconds(30)), 0);
  const std::string log = agent->output();
  const std::size_t at = log.find("\"received\":\"");
  ASSERT_NE(at, std::string::npos) << log.substr(log.size() - 2000);
  EXPECT_GE(std::stoul(log.substr(at + 12)), messages);
}

} // namespace

} // namespace siteagent::integration
