// SPDX-License-Identifier: MIT
#include "core/fleet/enroll.hpp"
#include "tests/fleet/control.hpp"
#include "tests/fleet/scripted_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace siteagent::fleet {
namespace {

using base::error_code;
using base::json;
using integration::write_file;
using std::chrono::seconds;
using test::control;
using test::machine;
using test::scripted_channel;
using testing::HasSubstr;

target named(const std::string& name) {
  target t;
  t.name = name;
  t.kind = "local";
  t.ssh = "u@198.51.100.7";
  return t;
}

json registry_with(const std::string& more = "") {
  return *json::parse(
      R"({"schema_version":2,"targets":[{"name":"build-host","kind":"local","ssh":"u@10.0.0.4",)"
      R"("hostnames":["bh.example.org"],"release_platform":"linux-amd64"}])" +
      more + "}"
  );
}

TEST(check_enrollable, R23_R24_R99_and_F35) {
  struct row {
    std::string name;
    std::vector<std::string> identities;
    std::string more;
    std::string message; // "" = free
  };

  for (const row& r : {
           row{"b1", {"b1-vm", "198.51.100.7"}, "", ""},
           row{"build-host", {}, "", "target 'build-host' is already registered"},
           row{"B1", {}, "", "'B1' is not a target identifier"},
           row{"-b", {}, "", "is not a target identifier"},
           row{"b\n1", {}, "", "'b\\n1' is not a target identifier"},
           row{"bh.example.org", {}, "", "that is target 'build-host' already"},
           row{"b1", {"10.0.0.4"}, "", "known as '10.0.0.4', and that is target 'build-host'"},
           row{"b1", {}, R"(,"enrollment":{"allow_enroll":true})", ""},
           row{"b1", {}, R"(,"enrollment":{"allow_enroll":false})", "enrollment.allow_enroll"},
       }) {
    const auto checked = check_enrollable(registry_with(r.more), r.name, r.identities);
    if (r.message.empty()) {
      EXPECT_TRUE(checked) << r.name;
    } else {
      ASSERT_FALSE(checked) << r.name;
      EXPECT_EQ(checked.error().code, error_code::refused);
      EXPECT_THAT(checked.error().message, HasSubstr(r.message));
    }
  }
}

TEST(probe_host, R111_asks_three_commands_and_knows_the_platforms) {
  struct row {
    std::string hostname;
    std::string os;
    std::string arch;
    std::string platform; // "" = refused
    std::string message;
  };

  for (const row& r : {
           row{"B1.Example.org.\n", "Linux\n", "x86_64\n", "linux-amd64", ""},
           row{"mac\n", "Darwin\n", "arm64\n", "darwin-arm64", ""},
           row{"b1\n", "Linux\n", "aarch64\n", "", "(Linux, aarch64) is not supported"},
           row{"b1\n", "Darwin\n", "x86_64\n", "", "(Darwin, x86_64) is not supported"},
           row{"", "Linux\n", "x86_64\n", "", "hostname printed \"\" instead of one line"},
           row{"a\nb\n", "Linux\n", "x86_64\n", "", "printed \"a\\nb\" instead of one line"},
           row{"a b\n", "Linux\n", "x86_64\n", "", "its host name \"a b\" is none"},
           row{"$(reboot)\n", "Linux\n", "x86_64\n", "", "its host name \"$(reboot)\" is none"},
           row{"b1\x1b[31m\n", "Linux\n", "x86_64\n", "", "its host name \"b1\\x1b[31m\" is none"},
           row{"b\xff\n", "Linux\n", "x86_64\n", "", "is none"},
           row{std::string(254, 'a'), "Linux\n", "x86_64\n", "", "is none"},
           row{"b1\n", "", "x86_64\n", "", "uname -s printed"},
       }) {
    scripted_channel c([&](const std::string&, const std::string& words) {
      return scripted_channel::said(
          words == "hostname"   ? r.hostname
          : words == "uname -s" ? r.os
          : words == "uname -m" ? r.arch
                                : "?"
      );
    });
    const auto probed = probe_host(c, named("b1"));
    ASSERT_EQ(probed.has_value(), !r.platform.empty()) << r.message;
    if (probed) {
      EXPECT_EQ(probed->release_platform, r.platform);
      EXPECT_EQ(probed->hostname, r.platform == "linux-amd64" ? "b1.example.org" : "mac");
    } else {
      EXPECT_EQ(probed.error().code, error_code::refused);
      EXPECT_THAT(probed.error().message, HasSubstr(r.message));
    }
  }
}

TEST(probe_host, R111_each_command_must_end_with_0) {
  scripted_channel c([](const std::string&, const std::string& words) {
    return words == "hostname" ? scripted_channel::said("b1\n")
                               : scripted_channel::said("Linux\n", 3, "why\n");
  });
  const auto probed = probe_host(c, named("b1"));
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().message, "b1: uname -s ended with status 3: why");
}

// A host that fails so and so often, then answers; each call takes `each` of the clock.
base::result<probed_host>
probe_after(error_code code, int failures, seconds each, std::vector<std::string>* told = nullptr) {
  base::manual_clock clock;
  scripted_channel c([&](const std::string&, const std::string& words) {
    clock.advance(each);
    if (failures-- > 0) {
      return scripted_channel::failed(code, "b1: cause");
    }
    return scripted_channel::said(
        words == "hostname"   ? "b1"
        : words == "uname -s" ? "Linux"
                              : "x86_64"
    );
  });
  probe_patience p;
  p.every = std::chrono::milliseconds(1);
  p.waiting = [&](const std::string& cause) {
    if (told != nullptr) {
      told->push_back(cause);
    }
  };
  return probe_host_patiently(c, named("b1"), p, clock, {});
}

TEST(probe_host_patiently, F31_waits_for_ssh_to_come_up_within_its_bound) {
  std::vector<std::string> told;
  EXPECT_TRUE(probe_after(error_code::transient, 80, seconds(10), &told));
  EXPECT_EQ(told.size(), 80U);
  EXPECT_EQ(told.front(), "b1: cause");
  const auto late = probe_after(error_code::transient, 200, seconds(10));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::transient);
  EXPECT_THAT(late.error().message, HasSubstr("within 900 s: b1: cause"));
}

TEST(probe_host_patiently, F32_a_refused_key_gets_two_minutes) {
  EXPECT_TRUE(probe_after(error_code::auth, 11, seconds(10)));
  const auto late = probe_after(error_code::auth, 20, seconds(10));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::auth);
}

TEST(probe_host_patiently, other_failures_are_final) {
  for (const error_code code :
       {error_code::forbidden, error_code::invalid, error_code::not_found, error_code::cancelled}) {
    std::vector<std::string> told;
    const auto probed = probe_after(code, 1, seconds(1), &told);
    ASSERT_FALSE(probed);
    EXPECT_EQ(probed.error().code, code);
    EXPECT_TRUE(told.empty());
  }
}

TEST(probe_host_patiently, a_stop_ends_the_wait) {
  std::stop_source stop;
  base::manual_clock clock;
  scripted_channel c([](const std::string&, const std::string&) {
    return scripted_channel::failed(error_code::transient);
  });
  probe_patience p;
  p.every = seconds(600);
  p.waiting = [&](const std::string&) { stop.request_stop(); };
  const auto probed = probe_host_patiently(c, named("b1"), p, clock, stop.get_token());
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code, error_code::cancelled);
}

TEST(entry_for, R99_hostnames_repeat_neither_name_nor_address) {
  const auto hostnames = [](const std::string& hostname) {
    return entry_for(
        "b1",
        *parse_destination("u@198.51.100.7"),
        {.hostname = hostname, .os = "Linux", .arch = "x86_64", .release_platform = "linux-amd64"},
        "rented"
    );
  };
  EXPECT_EQ(
      hostnames("b1").dump(),
      R"({"name":"b1","kind":"local","ssh":"u@198.51.100.7","release_platform":"linux-amd64",)"
      R"("hostnames":[],"os":"Linux","arch":"x86_64","notes":"rented"})"
  );
  EXPECT_EQ(hostnames("198.51.100.7")["hostnames"].size(), 0U);
  EXPECT_EQ(hostnames("vm7")["hostnames"][0].string(), "vm7");
}

// A registry in a folder of its own.
class enrolling : public testing::Test {
protected:
  enrolling() {
    const std::string root = c.home() / "store";
    std::filesystem::create_directories(root);
    write_file(root + "/registry.json", registry_with().pretty() + "\n");
    const auto p = profile::load(
        [root](std::string_view name) {
          return name == "WC_LOCAL_STORAGE_PATH" ? std::optional(root) : std::nullopt;
        },
        c.where()
    );
    registry =
        std::make_unique<registry_store>(*registry_store::open(*p, c.where(), base::real_clock()));
  }

  control c;
  std::unique_ptr<registry_store> registry;
};

TEST_F(enrolling, R111_probes_over_the_channel_and_writes_once) {
  machine m("vm-b1");
  m.authorize(c.key().public_key);
  const auto enrolled = enroll(*registry, c.hosts(), "b1", m.destination());
  ASSERT_TRUE(enrolled) << enrolled.error().message;
  const auto read = registry->read();
  ASSERT_TRUE(read);
  EXPECT_EQ((*enrolled)["generation"].string(), read->generation);
  const auto host = find_target(read->document, "b1");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->ssh, m.destination());
  EXPECT_EQ(host->hostnames, std::vector<std::string>{"vm-b1"});
  EXPECT_EQ(host->release_platform, "linux-amd64");
  EXPECT_EQ(*c.hosts().pinned_host_key(*host), m.host_key());
  const auto again = enroll(*registry, c.hosts(), "b1", m.destination());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "target 'b1' is already registered");
}

TEST_F(enrolling, R111_nothing_is_written_for_a_host_that_may_not_be_a_target) {
  machine m("bh.example.org"); // the name of another target
  m.authorize(c.key().public_key);
  const auto before = registry->read()->generation;
  const auto taken = enroll(*registry, c.hosts(), "b1", m.destination());
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("target 'build-host' already"));
  m.shim("uname", "echo SunOS");
  write_file(m.home() / "hostname", "b1\n");
  const auto platform = enroll(*registry, c.hosts(), "b1", m.destination());
  ASSERT_FALSE(platform);
  EXPECT_THAT(platform.error().message, HasSubstr("(SunOS, SunOS) is not supported"));
  EXPECT_EQ(registry->read()->generation, before);
}

TEST_F(enrolling, F34_a_registry_that_moved_meanwhile_is_a_lost_race) {
  machine m("b1");
  m.authorize(c.key().public_key);
  scripted_channel slow([&](const std::string&, const std::string& words) {
    if (words == "hostname") {
      EXPECT_TRUE(registry->change([](json& document) {
        document.set("other", 1);
        return base::result<bool>(true);
      }));
      return scripted_channel::said("b1");
    }
    return scripted_channel::said(words == "uname -s" ? "Linux" : "x86_64");
  });
  const auto lost = enroll(*registry, slow, "b1", m.destination());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, error_code::conflict);
}

TEST_F(enrolling, waits_for_a_machine_that_comes_up_later) {
  machine m("b1");
  const target host = c.target_of(m);
  m.stop();
  probe_patience p;
  p.every = std::chrono::milliseconds(10);
  int pauses = 0;
  p.waiting = [&](const std::string& cause) {
    EXPECT_THAT(cause, HasSubstr("Connection refused"));
    if (++pauses == 2) {
      m.start();
    }
  };
  const auto probed = probe_host_patiently(c.hosts(), host, p, base::real_clock(), {});
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_EQ(probed->hostname, "b1");
  EXPECT_EQ(pauses, 2);
}

TEST_F(enrolling, waits_for_a_key_that_is_placed_later) {
  machine m("b1");
  const target host = c.target_of(m);
  m.authorize_nobody();
  probe_patience p;
  p.every = std::chrono::milliseconds(10);
  p.waiting = [&](const std::string& cause) {
    EXPECT_THAT(cause, HasSubstr("the key was refused"));
    m.authorize(c.key().public_key);
  };
  EXPECT_TRUE(probe_host_patiently(c.hosts(), host, p, base::real_clock(), {}));
}

} // namespace
} // namespace siteagent::fleet
