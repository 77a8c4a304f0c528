// SPDX-License-Identifier: MIT
// The program as its owner runs it: stado, the null provider's plugin, real sshds.
#include "tests/fleet/schema_check.hpp"
#include "tests/fleet/stado_site.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

namespace siteagent::fleet::test {

namespace {

using base::json;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(stado_site_life, T1_R1_R3_R22_a_host_is_rented_built_on_listed_and_returned) {
  stado_site site;
  machine& rented = *site.waiting[0];
  const std::string before = site.registry_bytes();

  const ended created = site.run([] {
    auto words = stado_site::create_words();
    words.push_back("--json");
    return words;
  }());
  ASSERT_EQ(created.code, 0) << created.err;
  EXPECT_EQ(schema_fault("cloud-host-create", created.document()), "");
  EXPECT_TRUE(
      holds(created.err, "projected hourly burn: 0.40 USD (b1 Medium at 0.40 USD, there") ||
      holds(created.err, "projected hourly burn: 0.384 USD (b1 Medium")
  ) << created.err; // A3: under --json the money lines are on standard error
  EXPECT_EQ(created.document()["address"].string_or(""), rented.address());
  const std::vector<std::string> calls = site.calls();
  std::vector<std::string> order;
  for (const std::string& c : calls) {
    if (order.empty() || order.back() != c) {
      order.push_back(c);
    }
  }
  EXPECT_EQ(
      order,
      (std::vector<std::string>{
          "validate_host", "price_size", "credit_balance", "admit_addresses", "create_host"})
  );
  EXPECT_TRUE(holds(rented.file(".ssh/user-data"), "#cloud-config"));

  const ended built =
      site.run({"host", "kompilator", "b1", "--", "sh", "-c", "rustc --version; exit 3"});
  EXPECT_EQ(built.code, 3) << built.err;
  EXPECT_TRUE(holds(built.out, "rustc 1.91.1")) << built.out;

  const ended listed = site.run({"cloud", "host", "list", "--provider", "null", "--json"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  EXPECT_EQ(schema_fault("cloud-host-list", listed.document()), "");
  EXPECT_EQ(listed.document()["hosts"][0]["state"].string_or(""), "running");

  const ended judged = site.run({"cloud", "host", "reap", "--provider", "null", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_EQ(schema_fault("cloud-host-reap", judged.document()), "");
  EXPECT_EQ(judged.document()["hosts"][0]["state"].string_or(""), "idle");

  const ended deleted = site.run({"cloud", "host", "delete", "b1", "--provider", "null", "--json"});
  ASSERT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_EQ(schema_fault("cloud-host-delete", deleted.document()), "");
  EXPECT_TRUE(site.objects().empty());
  EXPECT_FALSE(site.is_known("b1"));
  EXPECT_FALSE(site.has_key("b1"));
  EXPECT_EQ(rented.file(".ssh/authorized_keys"), "");
}

TEST(stado_site_life, R71_R74_people_get_tables_of_at_most_100_columns) {
  stado_site site;
  ASSERT_EQ(site.create().code, 0);
  const ended listed = site.run({"cloud", "host", "list", "--provider", "null"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_TRUE(holds(listed.out, "\nNAME  STATE")) << listed.out;
  EXPECT_TRUE(holds(listed.out, "hourly burn of the running ones: 0.")) << listed.out;
  const ended reaped = site.run({"cloud", "host", "reap", "--provider", "null"});
  for (const std::string& text : {listed.out, reaped.out}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 104U) << line; // an ellipsis has three bytes
    }
  }
}

TEST(stado_site_life, LEAK_05_A19_A20_a_stopped_machine_is_shown_as_such_and_said_to_bill) {
  stado_site site;
  ASSERT_EQ(site.create().code, 0);
  json objects = site.cloud()["objects"];
  for (auto& [id, object] : objects.members()) {
    if (object["kind"].string() == "virtual-machine") {
      object.set("power", "stopped");
    }
  }
  site.set_cloud("objects", objects);
  const ended listed = site.run({"cloud", "host", "list", "--provider", "null"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_TRUE(holds(listed.out, "b1: stopped without being deallocated, it still bills"))
      << listed.out;
  EXPECT_TRUE(holds(listed.out, "hourly burn of the running ones: 0.00 USD\n")) << listed.out;
}

TEST(stado_site_life, R51_T8_a_build_keeps_its_host_from_being_reaped_and_an_idle_one_goes) {
  stado_site site;
  machine& rented = *site.waiting[0];
  ASSERT_EQ(site.create().code, 0);
  site.stand_idle("b1", rented, std::chrono::minutes(31));
  {
    stado_site::running build(site, {"host", "kompilator", "b1", "--", "sleep", "600"});
    ASSERT_TRUE(machine::wait_for(rented.work() / "runs", [&] {
      return !std::filesystem::is_empty(rented.work() / "runs");
    }));
    const ended busy =
        site.run({"cloud", "host", "reap", "--provider", "null", "--apply", "--json"});
    EXPECT_EQ(busy.code, 0) << busy.err;
    EXPECT_EQ(busy.document()["hosts"][0]["state"].string_or(""), "busy") << busy.out;
    build.signal(SIGTERM);
    EXPECT_EQ(build.wait().code, 143);
  }
  site.stand_idle("b1", rented, std::chrono::minutes(31));
  const ended tick = site.run({"coordinator", "--once"});
  EXPECT_EQ(tick.code, 0) << tick.err;
  EXPECT_TRUE(holds(tick.err, "[tick] cloud-host reaper: reaped b1 (idle 31 min, limit 30 min)"))
      << tick.err; // R61, R62
  EXPECT_TRUE(site.objects().empty());
  EXPECT_FALSE(site.is_known("b1"));
}

TEST(stado_site_life, F54_R63_a_tick_in_which_everything_fails_still_ends_well) {
  stado_site site;
  ASSERT_EQ(site.create().code, 0);
  site.fleet_host.stop();
  site.waiting[0]->stop();
  site.script(*json::parse(
      R"({"faults":[{"operation":"admit_addresses","error":"forbidden","message":"policy"},
                    {"operation":"host_state","error":"transient"}]})"
  ));
  const ended tick = site.run({"coordinator", "--once"});
  EXPECT_EQ(tick.code, 0) << tick.err;
  EXPECT_TRUE(holds(tick.err, "[tick] cloud-host reaper: addresses: ")) << tick.err;
  EXPECT_TRUE(holds(tick.err, "[tick] cloud-host reaper: could not read b1: ")) << tick.err;
  EXPECT_EQ(site.objects().size(), 5U);
}

TEST(stado_site_life, F1_F3_F4_F9_F48_R7_to_R16_R77_R79_R85_what_is_refused_and_how_it_ends) {
  stado_site site(0);
  const auto with = [&](std::vector<std::string> words, const std::string& option) {
    words.push_back(option);
    return words;
  };
  const auto create = stado_site::create_words();

  struct {
    const char* what;
    std::vector<std::string> words;
    std::map<std::string, std::string> variables;
    int code;
    std::string said;
  } const cases[] = {
      {"F1 grammar", with(create, "--frobnicate"), {}, 2, "--frobnicate"},
      {"F1 R12 zero disk",
       {"cloud",
        "host",
        "create",
        "b1",
        "--provider",
        "null",
        "--location",
        "here",
        "--size",
        "Medium",
        "--disk-gb",
        "0",
        "--idle-minutes",
        "5"},
       {},
       2,
       "--disk-gb"},
      {"F1 R12 a unit",
       {"cloud",
        "host",
        "create",
        "b1",
        "--provider",
        "null",
        "--location",
        "here",
        "--size",
        "Medium",
        "--disk-gb",
        "10GB",
        "--idle-minutes",
        "5"},
       {},
       2,
       "--disk-gb"},
      {"F3 R13 no plugin",
       {"cloud", "host", "list", "--provider", "nowhere"},
       {},
       1,
       SITEAGENT_PLUGIN_DIR},
      {"F4 R14 R15 disabled",
       {"cloud", "host", "list", "--provider", "null"},
       {{"WC_DISABLED_PROVIDERS", "null"}},
       1,
       "Error: PROVIDER_DISABLED:"},
      {"F4 R14 R15 not enabled",
       {"cloud", "host", "list", "--provider", "null"},
       {{"WC_PROVIDERS", "other"}},
       1,
       "Error: PROVIDER_NOT_ENABLED:"},
      {"F48", {"cloud", "host", "delete", "b9", "--provider", "null"}, {}, 1, "(it declares none)"},
      {"F9",
       {"cloud",
        "host",
        "create",
        "build-host",
        "--provider",
        "null",
        "--location",
        "here",
        "--size",
        "Medium",
        "--disk-gb",
        "64",
        "--idle-minutes",
        "5"},
       {},
       1,
       "Error: target 'build-host' is already registered"},
  };

  for (const auto& each : cases) {
    site.extra = each.variables;
    const ended plain = site.run(each.words);
    EXPECT_EQ(plain.code, each.code) << each.what << plain.err;
    EXPECT_TRUE(holds(plain.err, each.said)) << each.what << ": " << plain.err;
    EXPECT_EQ(plain.err.rfind("Error: ") != std::string::npos, true) << each.what;
    const ended as_json = site.run(with(each.words, "--json"));
    EXPECT_EQ(as_json.code, each.code) << each.what;
    EXPECT_EQ(schema_fault("error", as_json.document()), "") << each.what;
  }
  EXPECT_TRUE(site.calls().empty()); // nothing reached the cloud
}

TEST(stado_site_life, F5_R16_every_missing_binding_is_named_in_one_sentence) {
  stado_site site(0);
  json profile = *json::parse(integration::read_file(site.state("config.json")));
  profile.member_ref("null").erase("vm_username");
  profile.member_ref("null").erase("state_file");
  integration::write_file(site.state("config.json"), profile.pretty());
  const ended e = site.run({"cloud", "host", "list", "--provider", "null", "--json"});
  EXPECT_EQ(e.code, 1);
  EXPECT_TRUE(holds(
      e.err,
      "is addressed with bindings this deployment does not declare: null.state_file, "
      "null.vm_username; stado config set declares each"
  )) << e.err;
  EXPECT_EQ(e.document()["missing"].size(), 2U);
  EXPECT_EQ(schema_fault("error", e.document()), "");
}

TEST(stado_site_life, F2_a_profile_that_is_no_json_is_named) {
  stado_site site(0);
  integration::write_file(site.state("config.json"), "{");
  const ended e = site.run({"cloud", "host", "list", "--provider", "null"});
  EXPECT_EQ(e.code, 1);
  EXPECT_TRUE(holds(e.err, site.state("config.json"))) << e.err;
}

TEST(stado_site_life, F15_F16_R78_the_gate_and_the_fleet_refuse_with_their_exit_codes) {
  stado_site site;
  site.set_cloud("credit", *json::parse(R"({"current":"500.10","currency":"USD"})"));
  auto words = stado_site::create_words();
  words.push_back("--json");
  const ended refused = site.run(words);
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(schema_fault("error", refused.document()), "");
  EXPECT_EQ(refused.document()["step"].integer(), 2);
  EXPECT_TRUE(refused.document()["credit"].is_object()) << refused.out;
  site.set_cloud("credit", *json::parse(R"({"current":"900","currency":"USD"})"));
  site.fleet_host.stop();
  const ended asleep = site.run(words);
  EXPECT_EQ(asleep.code, 69) << asleep.err;
  EXPECT_EQ(asleep.document()["retryable"].boolean(), true);
  EXPECT_FALSE(site.is_known("b1"));
}

TEST(stado_site_life, the_check_and_the_dry_run_ask_and_write_nothing) {
  stado_site site;
  const std::string bytes = site.registry_bytes();
  const ended check = site.run({"cloud", "check", "--provider", "null", "--json"});
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_EQ(schema_fault("cloud-host-check", check.document()), "");
  auto words = stado_site::create_words();
  words.push_back("--dry-run");
  words.push_back("--json");
  const ended dry = site.run(words);
  EXPECT_EQ(dry.code, 0) << dry.err << dry.out;
  EXPECT_EQ(schema_fault("cloud-host-dry-run", dry.document()), "");
  EXPECT_TRUE(site.objects().empty());
  EXPECT_EQ(site.registry_bytes(), bytes);
  EXPECT_FALSE(site.has_key("b1"));
  const ended bad = site.run({"cloud", "check", "--provider", "null", "--json"});
  EXPECT_EQ(bad.code, 0);
}

// --- interrupted and killed at every step -----------------------------------------------------

// Something that stands in the way of one step until the command is ended.
struct obstacle {
  int step = 0;
  std::string awaited; // on standard error, before the signal
  std::function<void(stado_site&)> put;
  std::function<void(stado_site&)> take_away = [](stado_site&) {};
};

void slow(stado_site& site, const std::string& operation) {
  site.script(json::object({{"latency_ms", json::object({{operation, 1500}})}}));
}

obstacle obstacle_of(int step) {
  const std::string begun = "step " + std::to_string(step) + " of 9";
  switch (step) {
  case 1:
    return {.step = 1, .awaited = begun, .put = [](stado_site& s) { slow(s, "validate_host"); }};
  case 2:
    return {.step = 2, .awaited = begun, .put = [](stado_site& s) { slow(s, "price_size"); }};
  case 3:
    return {
        .step = 3,
        .awaited = begun,
        .put = [](stado_site& s) { s.fleet_host.shim("curl", "exec sleep 600"); },
        .take_away = [](stado_site& s) { s.fleet_host.shim("curl", "cat \"$HOME/egress\""); }};
  case 4:
    return {.step = 4, .awaited = begun, .put = [](stado_site& s) { slow(s, "admit_addresses"); }};
  case 5: // ssh-keygen does not begin
    return {
        .step = 5,
        .awaited = begun,
        .put =
            [](stado_site& s) {
              const std::string folder = s.home() + "/programs";
              std::filesystem::create_directories(folder);
              integration::write_file(folder + "/closed", "");
              const std::string program = folder + "/ssh-keygen";
              integration::write_file(
                  program,
                  "#!/bin/sh\nwhile [ -e " + folder +
                      "/closed ]; do sleep 0.02; done\nexec /usr/bin/ssh-keygen \"$@\"\n"
              );
              std::filesystem::permissions(program, std::filesystem::perms(0755));
              s.extra["PATH"] = folder + ":/usr/local/bin:/usr/bin:/bin";
            },
        .take_away = [](stado_site& s) { std::filesystem::remove(s.home() + "/programs/closed"); }};
  case 6: // the machine is never ready
    return {
        .step = 6,
        .awaited = begun,
        .put = [](stado_site& s
               ) { s.script(*json::parse(R"({"polls":{"virtual-machine":{"put":-1}}})")); },
        .take_away = [](stado_site& s) { s.script(json::object()); }};
  case 7:
  case 8: // the same, until the registry is locked; see stuck_create
    return {
        .step = step,
        .awaited = "waiting for ssh to",
        .put = [](stado_site& s) { s.waiting[0]->stop(); },
        .take_away = [](stado_site& s) { s.waiting[0]->start(); }};
  default:
    return {
        .step = 9,
        .awaited = "step 9 of 9",
        .put = [](stado_site& s) { s.waiting[0]->shim("cloud-init", "exec sleep 600"); },
        .take_away = [](stado_site& s
                     ) { s.waiting[0]->shim("cloud-init", "echo 'status: done'"); }};
  }
}

// The registry's lock, as another writer holds it.
class held_registry {
public:
  explicit held_registry(const stado_site& site) {
    const std::filesystem::directory_iterator locks(site.state("local-storage/.locks"));
    fd_ = ::open(locks->path().c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(::flock(fd_, LOCK_EX), 0);
  }

  held_registry(const held_registry&) = delete;
  held_registry& operator=(const held_registry&) = delete;

  ~held_registry() { ::close(fd_); }

private:
  int fd_ = -1;
};

class stado_site_steps : public testing::TestWithParam<int> {
protected:
  // A create that stands in the middle of the step.
  std::unique_ptr<stado_site::running> stuck_create() {
    in_the_way.put(site);
    auto create = std::make_unique<stado_site::running>(site, stado_site::create_words());
    EXPECT_TRUE(create->wait_for(in_the_way.awaited));
    if (in_the_way.step == 6) {
      EXPECT_TRUE(integration::wait_for_change(
          site.state("cloud-hosts"),
          [this] {
            return holds(
                integration::read_file(site.state("cloud-hosts/b1.json")), "network-interface"
            );
          },
          std::chrono::seconds(60)
      ));
    }
    if (in_the_way.step == 8) {
      held.emplace(site);
      site.waiting[0]->start();
      EXPECT_TRUE(create->wait_for("step 8 of 9"));
    }
    return create;
  }

  // Steps that cannot be stopped half way: what keeps them goes, and they end.
  void let_go() {
    held.reset();
    if (in_the_way.step == 5) {
      in_the_way.take_away(site);
    }
  }

  std::optional<held_registry> held;
  obstacle in_the_way = obstacle_of(GetParam());
  stado_site site;
};

TEST_P(stado_site_steps, F39_F40_T13_sigterm_leaves_nothing_that_bills) {
  const auto create = stuck_create();
  create->signal(SIGTERM);
  let_go();
  const ended e = create->wait();
  EXPECT_EQ(e.code, 143) << e.err;
  const bool stays = GetParam() >= 8; // R50; and what is being recorded is recorded
  const int step = stays ? 9 : GetParam();
  EXPECT_TRUE(holds(e.err, "Error: interrupted in step " + std::to_string(step))) << e.err;
  EXPECT_EQ(site.objects().size(), stays ? 5U : 0U);
  EXPECT_EQ(site.is_known("b1"), stays);
  EXPECT_EQ(site.has_key("b1"), stays);
}

TEST_P(stado_site_steps, F41_T14_sigkill_is_seen_by_list_and_returned_by_delete) {
  {
    const auto create = stuck_create();
    create->signal(SIGKILL);
    EXPECT_EQ(create->wait().code, 137);
  }
  held.reset();
  if (GetParam() != 8) {
    in_the_way.take_away(site);
  }
  site.script(json::object());
  const bool is_known = site.is_known("b1");
  EXPECT_EQ(is_known, GetParam() >= 3);
  EXPECT_EQ(site.objects().empty(), GetParam() < 6);
  const ended listed = site.run({"cloud", "host", "list", "--provider", "null", "--json"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  const ended reaped = site.run({"cloud", "host", "reap", "--provider", "null", "--apply"});
  EXPECT_EQ(reaped.code, 0) << reaped.err;
  if (is_known && GetParam() < 9) {
    EXPECT_EQ(listed.document()["hosts"][0]["state"].string_or(""), "interrupted") << listed.out;
    EXPECT_TRUE(holds(listed.err, "stado cloud host delete b1 --provider null")) << listed.err;
  }
  if (is_known) {
    const ended deleted = site.run({"cloud", "host", "delete", "b1", "--provider", "null"});
    EXPECT_EQ(deleted.code, 0) << deleted.err;
  }
  EXPECT_TRUE(site.objects().empty());
  EXPECT_FALSE(site.is_known("b1"));
  EXPECT_FALSE(site.has_key("b1"));
  EXPECT_EQ(site.registry()["targets"].size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(each, stado_site_steps, testing::Range(1, 10));

TEST(stado_site_signals, F41_T14_dying_behind_each_write_of_the_cloud_leaves_nothing_unknown) {
  for (const char* point :
       {"before:put:public-address",
        "after:put:public-address",
        "after:put:security-group",
        "after:put:network-interface",
        "before:put:virtual-machine",
        "poll:put:virtual-machine",
        "after:put:virtual-machine",
        "after:create_host"}) {
    stado_site site;
    site.script(json::object({{"crash_at", point}, {"polls", 2}}));
    const ended died = site.create();
    EXPECT_EQ(died.code, 70) << point << died.err;
    EXPECT_TRUE(site.is_known("b1")) << point;
    const ended deleted = site.run({"cloud", "host", "delete", "b1", "--provider", "null"});
    EXPECT_EQ(deleted.code, 0) << point << deleted.err;
    EXPECT_TRUE(site.objects().empty()) << point;
    EXPECT_FALSE(site.is_known("b1")) << point;
    EXPECT_FALSE(site.has_key("b1")) << point;
  }
}

TEST(stado_site_signals, F40_a_second_signal_names_what_is_left_and_delete_returns_it) {
  stado_site site;
  site.waiting[0]->stop();
  site.script(*json::parse(R"({"polls":{"delete":-1}})"));
  stado_site::running create(site, stado_site::create_words());
  ASSERT_TRUE(create.wait_for("waiting for ssh to")) << create.wait().err;
  create.signal(SIGINT);
  ASSERT_TRUE(create.wait_for("undoing")) << create.wait().err;
  ASSERT_TRUE(create.wait_for("waiting for the removal of")) << create.wait().err;
  create.signal(SIGINT);
  const ended e = create.wait();
  EXPECT_EQ(e.code, 130) << e.err;
  EXPECT_TRUE(holds(e.err, "not removed, and billing until it is")) << e.err;
  EXPECT_TRUE(site.is_known("b1"));
  site.script(json::object());
  const ended deleted = site.run({"cloud", "host", "delete", "b1", "--provider", "null"});
  EXPECT_EQ(deleted.code, 0) << deleted.err;
  EXPECT_TRUE(site.objects().empty());
}

TEST(stado_site_signals, R117_the_second_command_waits_and_names_who_holds_the_lock) {
  stado_site site;
  const std::string file = site.state("cloud-hosts.lock");
  const int held = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(held, 0);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  stado_site::running create(site, stado_site::create_words());
  EXPECT_TRUE(create.wait_for("cloud-hosts.lock"));
  ::close(held);
  EXPECT_EQ(create.wait().code, 0);
}

// --- secrets ----------------------------------------------------------------------------------

// The arguments of every process, seen again and again until it goes.
class argument_watch {
public:
  argument_watch()
      : thread_([this](const std::stop_token& ended) {
          while (!ended.stop_requested()) {
            look();
          }
        }) {}

  ~argument_watch() = default;
  argument_watch(const argument_watch&) = delete;
  argument_watch& operator=(const argument_watch&) = delete;

  std::set<std::string> end() {
    thread_.request_stop();
    thread_.join();
    return seen_;
  }

private:
  // Not a stream: those throw when the process goes while it is being read.
  static std::string arguments_of(const std::string& file) {
    std::string text(64U << 10U, '\0');
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    const auto length = fd < 0 ? 0 : ::read(fd, text.data(), text.size());
    if (fd >= 0) {
      ::close(fd);
    }
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return text;
  }

  void look() {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") == std::string::npos) {
        seen_.insert(arguments_of(entry.path() / "cmdline"));
      }
    }
  }

  std::set<std::string> seen_;
  std::jthread thread_;
};

TEST(stado_site_secrets, T15_R80_no_secret_is_in_arguments_logs_registry_or_journal) {
  stado_site site;
  argument_watch watch;
  site.script(*json::parse(R"({"requires_credentials":true,"polls":20})"));
  stado_site::running create(site, stado_site::create_words());
  std::string journal;
  std::string limits;
  if (create.wait_for("step 6 of 9")) {
    journal = integration::read_file(site.state("cloud-hosts/b1.json"));
    limits = integration::read_file("/proc/" + std::to_string(create.id()) + "/limits");
  }
  const ended e = create.wait();
  ASSERT_EQ(e.code, 0) << e.err;
  const ended listed = site.run({"cloud", "host", "list", "--provider", "null", "--json"});
  const ended deleted = site.run({"cloud", "host", "delete", "b1", "--provider", "null"});
  const std::set<std::string> arguments = watch.end();
  const std::string everything = e.out + e.err + listed.out + listed.err + deleted.out +
                                 deleted.err + site.registry_bytes() + journal +
                                 site.cloud().dump();
  for (const std::string& secret :
       {std::string(cloud_secret), std::string("PRIVATE KEY"), std::string("b3BlbnNzaC1rZXk")}) {
    EXPECT_FALSE(holds(everything, secret)) << secret;
    for (const std::string& a : arguments) {
      EXPECT_FALSE(holds(a, secret)) << a;
    }
  }
  bool has_seen_ssh = false;
  for (const std::string& a : arguments) {
    has_seen_ssh = has_seen_ssh || holds(a, "IdentitiesOnly=yes");
  }
  EXPECT_TRUE(has_seen_ssh); // else the watch proves nothing
  EXPECT_TRUE(limits.empty() || holds(limits, "Max core file size        0"));
  // Private keys leave the store only as files that are gone by now.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(site.state(""))) {
    if (entry.is_regular_file() && entry.path().filename() != "credentials.json") {
      EXPECT_FALSE(holds(integration::read_file(entry.path().string()), "PRIVATE KEY"))
          << entry.path();
    }
  }
}

} // namespace

} // namespace siteagent::fleet::test
