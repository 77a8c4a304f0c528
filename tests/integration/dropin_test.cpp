// SPDX-License-Identifier: MIT
// A site that ran the Python agent, with its file, its command names and its machine.
#include "tests/integration/seed.hpp"

#include <sys/stat.h>

#include <csignal>
#include <ctime>
#include <fcntl.h>

namespace siteagent::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string old_machine = "e2ef0000000000000000000000000901";

json document(const std::string& name) {
  return *json::parse(read_file(SITEAGENT_SWITCHING_DIR "/" + name));
}

void replace(std::string& text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

// The world of docs/switching: what the Python agent left.
struct old_site {
  old_site()
      : s([] {
          site_options options;
          options.azure_seed = document("azure.json");
          options.waldur_seed = document("waldur.json");
          return options;
        }()) {
    std::string yaml = read_file(SITEAGENT_SWITCHING_DIR "/waldur-site-agent-config.yaml");
    replace(yaml, "https://waldur.example.com", s.waldur().url());
    const std::string cloud = s.azure().url();
    replace(
        yaml,
        "backend_settings:\n",
        "backend_settings:\n      cloud: {resource_manager: " + cloud + ", authority: " + cloud +
            ", audience: " + cloud + ", prices: " + cloud + "}\n"
    );
    write_file(s.config_file(), yaml);
  }

  // One of the Python agent's commands; `words` come after its name.
  agent_run run(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), std::string(SITEAGENT_BIN_DIR "/") + name);
    const std::string output = s.dir().file("python-" + std::to_string(++runs) + ".log");
    process command(
        words, {{"WALDUR_SITE_AGENT_HEARTBEAT_PATH", s.dir().file("heartbeat")}}, output
    );
    const auto code = command.wait(std::chrono::seconds(60));
    EXPECT_TRUE(code.has_value()) << name << " did not end: " << command.output();
    return {code.value_or(-1), command.output()};
  }

  agent_run with_plugins(const std::string& name, std::vector<std::string> words = {}) const {
    words.insert(words.end(), {"-c", s.config_file(), "--plugin-dir", SITEAGENT_PLUGIN_DIR});
    return run(name, std::move(words));
  }

  // The rows of the billing period, as the portal shows them.
  std::map<std::string, std::string> rows() const {
    std::map<std::string, std::string> out;
    for (const json& u :
         portal("marketplace-component-usages/?resource_uuid=" + old_machine).items()) {
      out[u["type"].string_or("")] = std::string(u["usage"].number_text().value_or("")) + " in " +
                                     u["billing_period"].string_or("");
    }
    return out;
  }

  json portal(const std::string& path) const {
    return call("GET", s.waldur().url() + "/api/" + path, {}, staff_token).body;
  }

  std::vector<std::string> waldur_writes(std::size_t from = 0) const {
    std::vector<std::string> out;
    const auto lines = s.waldur().journal();
    for (std::size_t i = from; i < lines.size(); ++i) {
      if (lines[i].is_write() && lines[i].path.find("site-agent") == std::string::npos) {
        out.push_back(lines[i].path);
      }
    }
    return out;
  }

  site s;
  mutable int runs = 0;
};

// The first day of this month, as the old agent dated its reports.
std::string this_month() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%Y-%m-01T00:00:00+00:00", &parts);
  return {text.data(), size};
}

// cores, memory and both disks of the size, which is what the old plugin metered.
std::map<std::string, std::string> figures_of_the_size(const site& s) {
  const http_answer sizes = s.call_azure(
      "GET",
      "/subscriptions/" + std::string(subscription) +
          "/providers/Microsoft.Compute/locations/westeurope/vmSizes",
      "2024-07-01"
  );
  for (const json& size : sizes.body["value"].items()) {
    if (size["name"] == json("Standard_B1s")) {
      const std::int64_t disk = size["osDiskSizeInMB"].integer().value_or(0) +
                                size["resourceDiskSizeInMB"].integer().value_or(0);
      return {
          {"cpu", std::to_string(size["numberOfCores"].integer().value_or(0)) + ".00"},
          {"ram", std::to_string(size["memoryInMB"].integer().value_or(0)) + ".00"},
          {"disk", std::to_string(disk) + ".00"}};
    }
  }
  return {};
}

TEST(dropin, a_site_switched_over_shows_the_rows_it_showed_before) {
  const old_site old;
  const auto figures = figures_of_the_size(old.s);
  ASSERT_EQ(figures.size(), 3U);
  json usages = json::array();
  for (const auto& [type, amount] : figures) {
    usages.push_back(json::object({{"type", type}, {"amount", amount}}));
  }
  const auto reported = call(
      "POST",
      old.s.waldur().url() + "/api/marketplace-component-usages/set_usage/",
      json::object({{"resource", old_machine}, {"date", this_month()}, {"usages", usages}}),
      agent_token
  );
  ASSERT_EQ(reported.status, 201) << reported.body.dump();
  const auto before = old.rows();
  ASSERT_EQ(before.size(), 3U);
  const json limits = old.s.resource(old_machine)["limits"];
  const std::size_t start = old.s.waldur().journal().size();

  for (const char* mode : {"order_process", "membership_sync", "report"}) {
    const agent_run run = old.with_plugins("waldur_site_agent", {"-m", mode, "--once"});
    EXPECT_EQ(run.exit_code, 0) << mode << run.log;
  }

  EXPECT_EQ(old.rows(), before);
  EXPECT_EQ(old.s.resource(old_machine)["limits"], limits);
  EXPECT_THAT(old.waldur_writes(start), testing::Each(Not(HasSubstr("set_usage"))))
      << "equal rows are not sent again";
  const json machine = old.s.resource(old_machine)["backend_metadata"]["virtual_machine"];
  for (const char* key :
       {"id", "name", "location", "size", "power_state", "public_ip", "private_ip"}) {
    EXPECT_NE(machine.find(key), nullptr) << key;
  }
  EXPECT_THAT(old.s.azure().writes(), IsEmpty()) << "the old machine is as it was";
}

TEST(dropin, a_new_period_gets_the_rows_that_the_old_agent_would_have_booked) {
  const old_site old;
  ASSERT_THAT(old.rows(), IsEmpty());
  const agent_run run = old.with_plugins("waldur_site_agent", {"--mode=report", "--once"});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  std::map<std::string, std::string> expected;
  for (const auto& [type, amount] : figures_of_the_size(old.s)) {
    expected[type] = amount + " in " + this_month().substr(0, 10);
  }
  EXPECT_EQ(old.rows(), expected);
}

TEST(dropin, orders_of_old_and_new_machines_are_carried_out_under_the_old_name) {
  const old_site old;
  const std::string order = old.s.order_machine("web 1");
  const std::string end = old.s.terminate(old_machine);
  const agent_run run = old.with_plugins("waldur_site_agent", {"--once"});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_EQ(old.s.order_state(order), "done");
  EXPECT_EQ(old.s.order_state(end), "done");
  EXPECT_EQ(old.s.machine_count(), 1U);
}

TEST(dropin, diagnostics_take_the_old_flags_and_show_no_secret) {
  const old_site old;
  const agent_run run = old.with_plugins("waldur_site_diagnostics", {"-m", "report"});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_THAT(
      run.log,
      AllOf(
          HasSubstr("ok      component cpu: billed limit"),
          Not(HasSubstr("emulator-secret")),
          Not(HasSubstr(std::string(agent_token)))
      )
  );
}

TEST(dropin, components_are_loaded_once_and_then_left_alone) {
  const old_site old;
  std::string yaml = read_file(old.s.config_file());
  replace(yaml, "        label: Disk\n", "        label: Disks\n        limit: 8\n");
  yaml +=
      "      gpu: {measured_unit: Cards, accounting_type: one, label: GPU, limit_period: annual}\n";
  write_file(old.s.config_file(), yaml);
  const auto load = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"-c", old.s.config_file()});
    return old.run("waldur_site_load_components", std::move(more));
  };
  const agent_run dry = load({"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.log;
  EXPECT_THAT(dry.log, HasSubstr("1 to create, 1 to update, 2 unchanged, 0 failed; nothing was"));
  EXPECT_THAT(old.waldur_writes(), IsEmpty());

  const agent_run first = load({});
  EXPECT_EQ(first.exit_code, 0) << first.log;
  EXPECT_THAT(
      first.log,
      AllOf(
          HasSubstr("1 created, 1 updated, 2 unchanged, 0 failed"),
          HasSubstr(R"(name "Disk" -> "Disks", limit_amount null -> 8)")
      )
  );
  const json shown = old.portal(
      "marketplace-provider-offerings/" + std::string(offering_uuid) + "/"
  )["components"];
  EXPECT_EQ(shown.size(), 4U);
  EXPECT_EQ(shown[3]["type"], json("gpu"));
  EXPECT_EQ(shown[3]["billing_type"], json("one"));
  EXPECT_EQ(shown[3]["is_prepaid"], json(true));
  EXPECT_EQ(shown[3]["limit_period"], json("annual"));

  const std::size_t writes = old.waldur_writes().size();
  const agent_run second = load({});
  EXPECT_EQ(second.exit_code, 0) << second.log;
  EXPECT_THAT(second.log, HasSubstr("0 created, 0 updated, 4 unchanged, 0 failed"));
  EXPECT_EQ(old.waldur_writes().size(), writes);
}

TEST(dropin, components_that_waldur_refuses_fail_alone) {
  const old_site old;
  old.s.waldur().set_faults(
      json::parse(
          R"([{"match":{"method":"POST","path":"create_offering_component"},"do":{"status":400,"body":{"type":["Bad."]}}}])"
      )
          .value()
  );
  write_file(
      old.s.config_file(),
      read_file(old.s.config_file()) +
          "      gpu: {measured_unit: Cards, accounting_type: usage, label: GPU}\n"
          "      npu: {measured_unit: Cards, accounting_type: usage, label: NPU}\n"
  );
  const agent_run run = old.run("waldur_site_load_components", {"-c", old.s.config_file()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(
      run.log,
      AllOf(
          HasSubstr("FAILED  gpu: "),
          HasSubstr("Bad."),
          HasSubstr("create  npu: "),
          HasSubstr("1 created, 0 updated, 3 unchanged, 1 failed")
      )
  );
}

TEST(dropin, limits_follow_the_cloud_only_where_the_plugin_gives_them) {
  const old_site old;
  const agent_run none = old.with_plugins("waldur_sync_resource_limits");
  EXPECT_EQ(none.exit_code, 0) << none.log;
  EXPECT_THAT(none.log, HasSubstr("the plugin gives no limits; left as it is"));
  EXPECT_THAT(old.waldur_writes(), IsEmpty());

  std::string yaml = read_file(old.s.config_file());
  replace(yaml, "      default_location:", "      limits_source: size\n      default_location:");
  write_file(old.s.config_file(), yaml);
  const agent_run first = old.with_plugins("waldur_sync_resource_limits");
  EXPECT_EQ(first.exit_code, 0) << first.log;
  EXPECT_THAT(first.log, HasSubstr("1 changed, 0 unchanged, 0 unknown, 0 failed"));
  const json limits = old.s.resource(old_machine)["limits"];
  EXPECT_EQ(limits["ram"], json(1024));
  const agent_run second = old.with_plugins("waldur_sync_resource_limits");
  EXPECT_THAT(second.log, HasSubstr("0 changed, 1 unchanged, 0 unknown, 0 failed"));
}

TEST(dropin, jobs_of_account_providers_find_nothing_to_do) {
  const old_site old;
  const std::string name = "Azure VM (e2ef0000000000000000000000000201): ";
  const agent_run homes = old.run("waldur_site_create_homedirs", {"-c", old.s.config_file()});
  EXPECT_EQ(homes.exit_code, 0);
  EXPECT_THAT(homes.log, HasSubstr(name + "nothing to do: home directories lie inside"));
  const agent_run users = old.with_plugins("waldur_sync_offering_users");
  EXPECT_EQ(users.exit_code, 0);
  EXPECT_THAT(users.log, HasSubstr(name + "done: whoever waited was taken on or let go"));
  for (const char* command : {"waldur_sync_offering_users", "waldur_site_create_homedirs"}) {
    EXPECT_EQ(old.run(command, {"-c", old.s.dir().file("absent.yaml")}).exit_code, 1);
  }
  EXPECT_THAT(old.waldur_writes(), IsEmpty());
  const agent_run test = old.run("waldur_site_test_order", {"--template", "x", "--dry-run"});
  EXPECT_EQ(test.exit_code, 1);
  EXPECT_THAT(test.log, HasSubstr("waldur_site_test_order: not offered: "));
}

TEST(dropin, offering_users_that_wait_are_taken_on_unless_usernames_are_off) {
  const old_site old;
  old.s.waldur().seed(*json::parse(
      R"({"offerings": [{"uuid": "e2ef0000000000000000000000000201", "name": "Machines",
          "type": "Marketplace.Slurm", "plugin_options": {
            "username_generation_policy": "service_provider",
            "service_provider_can_create_offering_user": true}}],
          "offering_users": [{"username": "", "state": "Requested"}]})"
  ));
  const auto state = [&] {
    return old.portal("marketplace-offering-users/")[0]["state"].string_or("none");
  };
  ASSERT_EQ(state(), "Requested");
  const std::string usual = read_file(old.s.config_file());
  std::string off = usual;
  replace(off, "    backend_type:", "    username_management_backend: \"\"\n    backend_type:");
  write_file(old.s.config_file(), off);
  const agent_run none = old.with_plugins("waldur_sync_offering_users");
  EXPECT_EQ(none.exit_code, 0) << none.log;
  EXPECT_THAT(none.log, HasSubstr("nothing to do: username_management_backend is off"));
  EXPECT_EQ(state(), "Requested");
  write_file(old.s.config_file(), usual);
  const agent_run run = old.with_plugins("waldur_sync_offering_users");
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_EQ(state(), "Creating") << run.log;
}

TEST(dropin, wrong_usage_ends_with_two_under_every_name) {
  const old_site old;
  for (const char* name :
       {"waldur_site_agent",
        "waldur_site_diagnostics",
        "waldur_site_load_components",
        "waldur_site_healthz",
        "waldur_sync_offering_users",
        "waldur_sync_resource_limits",
        "waldur_site_create_homedirs"}) {
    EXPECT_EQ(old.run(name, {"--frobnicate"}).exit_code, 2) << name;
  }
  EXPECT_EQ(old.run("waldur_site_agent", {"-m", "order_proces"}).exit_code, 2);
  EXPECT_EQ(old.run("waldur_site_agent", {"-c", old.s.dir().file("absent.yaml")}).exit_code, 1);
}

TEST(dropin, a_file_without_offerings_idles_with_a_warning) {
  const old_site old;
  write_file(old.s.config_file(), "offerings: []\n");
  const agent_run once = old.with_plugins("waldur_site_agent", {"--once"});
  EXPECT_EQ(once.exit_code, 0) << once.log;
  EXPECT_THAT(once.log, HasSubstr("warning: offerings: empty; the agent idles"));
  const std::string beat = old.s.dir().file("heartbeat");
  std::filesystem::remove(beat);
  process agent(
      {SITEAGENT_BIN_DIR "/waldur_site_agent", "-c", old.s.config_file()},
      {{"WALDUR_SITE_AGENT_HEARTBEAT_PATH", beat}},
      old.s.dir().file("idle.log")
  );
  ASSERT_TRUE(wait_for_change(
      old.s.dir().path().string(),
      [&] { return std::filesystem::exists(beat); },
      std::chrono::seconds(30)
  )) << agent.output();
  EXPECT_TRUE(agent.is_running());
  EXPECT_EQ(old.run("waldur_site_healthz", {"--config-file", old.s.config_file()}).exit_code, 0);
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(std::chrono::seconds(30)), 0) << agent.output();
}

// The probe.

void write_heartbeat(const std::string& path, int seconds_ago) {
  write_file(path, "0\n");
  const std::array<timespec, 2> times{
      timespec{std::time(nullptr) - seconds_ago, 0}, timespec{std::time(nullptr) - seconds_ago, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

TEST(dropin_probe, is_fine_while_the_heartbeat_is_young_and_waldur_knows_the_token) {
  const old_site old;
  write_heartbeat(old.s.dir().file("heartbeat"), 200);
  const agent_run run = old.run("waldur_site_healthz", {"--config-file", old.s.config_file()});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_THAT(run.log, AllOf(HasSubstr("ok      liveness"), HasSubstr("ok      readiness")));
  const auto lines = old.s.waldur().journal();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].path + "?" + lines[0].query, "/api/users/me/?field=uuid");
}

TEST(dropin_probe, fails_for_an_old_or_absent_heartbeat) {
  const old_site old;
  const std::string beat = old.s.dir().file("heartbeat");
  const auto probe = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--config-file", old.s.config_file()});
    return old.run("waldur_site_healthz", std::move(more)).exit_code;
  };
  EXPECT_EQ(probe({}), 1) << "absent";
  write_heartbeat(beat, 301);
  EXPECT_EQ(probe({}), 1) << "older than 300 s";
  EXPECT_EQ(probe({"--max-age", "400"}), 0);
  const std::string other = old.s.dir().file("other");
  write_heartbeat(other, 10);
  EXPECT_EQ(probe({"--heartbeat-path", other}), 0);
  EXPECT_EQ(probe({"--heartbeat-path", other, "--max-age", "5"}), 1);
}

TEST(dropin_probe, needs_one_of_the_offerings_and_nothing_at_all_for_liveness) {
  const old_site old;
  write_heartbeat(old.s.dir().file("heartbeat"), 1);
  const std::string good = read_file(old.s.config_file());
  std::string bad = good;
  replace(bad, std::string(agent_token), "e2e0000000000000000000000000token009");
  write_file(old.s.config_file(), bad);
  const agent_run refused = old.run("waldur_site_healthz", {"--config-file", old.s.config_file()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(
      refused.log, AllOf(HasSubstr("FAILED  readiness: offering 'Azure VM'"), HasSubstr("401"))
  );
  EXPECT_EQ(
      old.run("waldur_site_healthz", {"--liveness-only", "--config-file", "/absent.yaml"})
          .exit_code,
      0
  );
  EXPECT_EQ(old.run("waldur_site_healthz", {"--config-file", "/absent.yaml"}).exit_code, 1);
  write_file(old.s.config_file(), bad + good.substr(good.find("  - name")));
  EXPECT_EQ(old.run("waldur_site_healthz", {"--config-file", old.s.config_file()}).exit_code, 0)
      << "one offering is enough";
}

TEST(dropin_probe, ends_in_time_when_waldur_does_not_answer) {
  const old_site old;
  write_heartbeat(old.s.dir().file("heartbeat"), 1);
  old.s.waldur().set_faults(
      json::parse(R"([{"match":{"path":"users/me","times":0},"do":"hang"}])").value()
  );
  const auto start = std::chrono::steady_clock::now();
  const agent_run run = old.run("waldur_site_healthz", {"--config-file", old.s.config_file()});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.log, HasSubstr("FAILED  readiness: no Waldur answered within 8 s"));
}

} // namespace
} // namespace siteagent::integration
