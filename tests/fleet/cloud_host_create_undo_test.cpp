// SPDX-License-Identifier: MIT
// create: every way it fails from its third step on, and what is left behind.
#include "tests/fleet/cloud_host_create_fixture.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet::test {

namespace {

using base::error_code;
using cloud_host::detail_of;

// --- steps 3 to 5 -----------------------------------------------------------------------------

TEST_F(cloud_host_create, F16_R33_every_host_that_cannot_be_asked_is_named_and_nothing_recorded) {
  rig.edit_registry([](base::json& d) {
    base::json mac = d["targets"][0];
    mac.set("name", "mac").set("ssh", "builder@192.0.2.8");
    d.member_ref("targets").push_back(mac);
    d.member_ref("cloud_hosts").set("admit_from", base::json::array({"build-host", "mac"}));
  });
  bytes = rig.registry_bytes();
  rig.hosts.fail("build-host", failure(error_code::transient, "no route"));
  rig.hosts.fail("mac", failure(error_code::transient, "asleep"));
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("build-host: no route"), std::string::npos) << e.message;
  EXPECT_NE(e.message.find("mac: asleep"), std::string::npos) << e.message;
  EXPECT_EQ(detail_of(e)["step"].integer(), 3);
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F17_answers_that_are_no_addresses_are_refused_for_good) {
  rig.cloud.says.admits_private = false;

  struct {
    const char* curl;
    const char* said;
  } const cases[] = {
      {"echo 10.0.0.1", "10.0.0.1"},
      {"echo '<html>hello'", "<html>hello"},
      {"exit 22", "refused to tell"},
      {"exit 127", "curl"},
  };

  for (const auto& each : cases) {
    rig.hosts.shim("build-host", "curl", each.curl);
    const base::error e = failed();
    EXPECT_NE(base::class_of(e.code), base::error_class::transient) << each.curl;
    EXPECT_NE(e.message.find("build-host"), std::string::npos) << e.message;
    EXPECT_NE(e.message.find(each.said), std::string::npos) << e.message;
    expect_untouched(rig, bytes, keys);
  }
}

TEST_F(cloud_host_create, F18_addresses_that_cannot_be_recorded_end_it) {
  rig.hosts.before("build-host", [this] { rig.forbid_registry_writes(); });
  const base::error e = failed();
  rig.forbid_registry_writes(false);
  EXPECT_NE(e.message.find("cloud_hosts.egress"), std::string::npos) << e.message;
  EXPECT_EQ(rig.cloud.count("admit_addresses"), 0U);
  EXPECT_EQ(rig.registry().at({"cloud_hosts", "egress"}).size(), 0U);
  EXPECT_TRUE(rig.talk.has_warned_of("cloud_hosts_creating.b1 still counts its hour"));
}

TEST_F(cloud_host_create, F19_F20_F21_F22_what_refuses_the_admission_is_shown_in_its_own_words) {
  const char* words[] = {
      "the subnet net-here/builders does not exist",
      "the application security group stado-cloud-hosts-here was not made: HTTP 403: "
      "RequestDisallowedByPolicy by assignment deny-all",
      "no priority from 100 to 4096 is free in builders-nsg",
      "readmitting b0: its security group is gone"};
  for (const char* said : words) {
    fleet_rig fresh;
    ASSERT_TRUE(fresh.at().keys->generate("other"));
    const std::string before = fresh.registry_bytes();
    const std::string store = fresh.credentials_bytes();
    fresh.cloud.fail("admit_addresses", failure(error_code::forbidden, said));
    const auto r = fresh.create();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().message, said);
    EXPECT_EQ(detail_of(r.error())["step"].integer(), 4);
    EXPECT_EQ(fresh.cloud.count("create_host"), 0U);
    expect_only_addresses(fresh, before, store);
  }
}

TEST_F(cloud_host_create, F23_F24_a_key_that_cannot_be_made_ends_it) {
  rig.programs.keygen_fails = true;
  const base::error e = failed();
  EXPECT_NE(e.message.find("ssh-keygen"), std::string::npos) << e.message;
  EXPECT_EQ(detail_of(e)["step"].integer(), 5);
  EXPECT_EQ(rig.cloud.count("create_host"), 0U);
  expect_only_addresses(rig, bytes, keys);
}

// --- step 6 -----------------------------------------------------------------------------------

TEST_F(cloud_host_create, F25_an_object_of_that_name_is_left_alone_and_named) {
  rig.cloud.machines["b1"].name = "b1"; // somebody's, with no tag of ours
  const base::error e = failed();
  EXPECT_NE(e.message.find("virtual-machine b1 exists already"), std::string::npos);
  EXPECT_TRUE(rig.cloud.machines.contains("b1"));
  EXPECT_EQ(rig.cloud.count("delete_host"), 0U);
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_FALSE(rig.is_marked("b1"));
  EXPECT_FALSE(rig.is_journaled("b1"));
}

TEST_F(
    cloud_host_create, F26_F27_F28_R43_A16_what_the_cloud_refuses_leaves_neither_object_nor_key
) {
  for (const std::string& kind : fake::kinds()) {
    fleet_rig fresh;
    ASSERT_TRUE(fresh.at().keys->generate("other"));
    const std::string before = fresh.registry_bytes();
    const std::string store = fresh.credentials_bytes();
    fresh.cloud.fail_create_at(kind, failure(error_code::quota, "quota of " + kind));
    const auto r = fresh.create();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().message, "quota of " + kind);
    EXPECT_EQ(detail_of(r.error())["step"].integer(), 6);
    EXPECT_EQ(detail_of(r.error())["not_removed"].size(), 0U);
    expect_only_addresses(fresh, before, store);
  }
}

TEST_F(cloud_host_create, F29_an_operation_that_never_ended_is_looked_for_and_removed_by_us) {
  rig.cloud.fail(
      "create_host",
      failure(error_code::deadline, "the virtual machine was not ready within 1200 s"),
      1,
      1,
      fake::cloud::when::after
  );
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::deadline); // 69
  EXPECT_EQ(rig.cloud.count("delete_host"), 1U);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F30_what_cannot_be_removed_is_named_bills_and_can_be_deleted_by_name) {
  rig.cloud.fail_create_at(
      "virtual-machine", failure(error_code::quota, "no cores"), {"public-address"}
  );
  const base::error e = failed();
  EXPECT_TRUE(e.message.starts_with("no cores; ")) << e.message; // the cause stays first
  EXPECT_NE(e.message.find("public-address /public-address/b1 (it is held)"), std::string::npos);
  EXPECT_NE(e.message.find("billing"), std::string::npos);
  EXPECT_EQ(
      detail_of(e)["not_removed"].dump(),
      R"([{"kind":"public-address","id":"/public-address/b1","cause":"it is held"}])"
  );
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_TRUE(rig.is_journaled("b1"));
  EXPECT_TRUE(rig.is_marked("b1")); // its hour counts until it is gone
}

TEST_F(cloud_host_create, A15_A16_a_key_item_of_that_name_is_put_back) {
  ASSERT_TRUE(rig.at().keys->generate("b1"));
  keys = rig.credentials_bytes();
  rig.cloud.fail_create_at("virtual-machine", failure(error_code::quota, "no cores"));
  failed();
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_TRUE(rig.talk.has_warned_of("stado-ssh-b1"));
}

// --- steps 7 and 8 ----------------------------------------------------------------------------

TEST_F(cloud_host_create, F31_R45_a_host_that_never_answers_is_deleted_again) {
  rig.set("cloud_host.limits.ssh_up", "1");
  rig.set("cloud_host.limits.probe_ms", "400");
  rig.hosts.fail("b1", failure(error_code::transient, "builder@127.0.0.2: connection refused"));
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::transient);
  EXPECT_NE(e.message.find("builder@127.0.0.2: connection refused"), std::string::npos);
  EXPECT_EQ(detail_of(e)["step"].integer(), 7);
  EXPECT_EQ(rig.cloud.count("delete_host"), 1U);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F32_R45_a_host_that_refuses_the_key_is_deleted_again) {
  rig.hosts.fail("b1", failure(error_code::forbidden, "b1: not the pinned key"));
  EXPECT_NE(failed().message.find("not the pinned key"), std::string::npos);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F33_R44_A31_an_unsupported_platform_is_deleted_again) {
  rig.hosts.shim("b1", "uname", "case \"$1\" in -s) echo Linux;; -m) echo aarch64;; esac");
  const base::error e = failed();
  EXPECT_NE(e.message.find("Linux, aarch64"), std::string::npos) << e.message;
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F34_a_name_taken_meanwhile_or_a_foreign_identity_is_deleted_again) {
  rig.cloud.at("create_host", [this] {
    rig.edit_registry([](base::json& d) {
      base::json entry = d["targets"][0];
      entry.set("name", "b1").set("ssh", "builder@192.0.2.66");
      d.member_ref("targets").push_back(entry);
    });
  });
  EXPECT_NE(failed().message.find("already registered"), std::string::npos);
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_FALSE(rig.find("b1")->cloud);

  fleet_rig second;
  second.cloud.address = "192.0.2.9"; // build-host's
  const auto r = second.create();
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("build-host"), std::string::npos) << r.error().message;
  EXPECT_TRUE(second.cloud.machines.empty());
}

TEST_F(cloud_host_create, F35_enrolling_forbidden_meanwhile_is_deleted_again) {
  rig.cloud.at("create_host", [this] {
    rig.edit_registry([](base::json& d) {
      d.set("enrollment", base::json::object({{"allow_enroll", false}}));
    });
  });
  EXPECT_NE(failed().message.find("enrollment.allow_enroll"), std::string::npos);
  EXPECT_TRUE(rig.cloud.machines.empty());
}

TEST_F(cloud_host_create, F36_R47_a_host_that_cannot_be_recorded_is_deleted_again) {
  rig.hosts.before("b1", [this] { rig.forbid_registry_writes(); });
  const base::error e = failed();
  rig.forbid_registry_writes(false);
  EXPECT_NE(e.message.find("could not be recorded"), std::string::npos) << e.message;
  EXPECT_EQ(detail_of(e)["step"].integer(), 8);
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_FALSE(rig.find("b1"));
  EXPECT_TRUE(rig.talk.has_warned_of("cloud_hosts_creating.b1"));
}

// --- step 9 -----------------------------------------------------------------------------------

TEST_F(cloud_host_create, F37_R49_R50_an_unclean_first_boot_leaves_a_registered_host) {
  rig.hosts.shim(
      "b1",
      "cloud-init",
      "case \"$*\" in *json*) echo '{\"status\":\"error\",\"errors\":[\"apt failed\"]}';; *) echo "
      "'status: error'; exit 1;; esac"
  );
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::refused);
  EXPECT_TRUE(e.message.starts_with("b1: the first boot did not finish cleanly")) << e.message;
  EXPECT_NE(e.message.find("/var/log/cloud-init-output.log"), std::string::npos);
  EXPECT_NE(e.message.find("stado cloud host delete b1 --provider fake"), std::string::npos);
  EXPECT_EQ(detail_of(e)["step"].integer(), 9);
  EXPECT_TRUE(rig.find("b1")->cloud);
  EXPECT_TRUE(rig.has_key("b1"));
  EXPECT_TRUE(rig.cloud.machines.contains("b1"));
  EXPECT_FALSE(rig.is_journaled("b1"));
}

TEST_F(cloud_host_create, F38_R48_a_missing_toolchain_leaves_a_registered_host) {
  rig.hosts.shim("b1", "node", "exit 127");
  const base::error e = failed();
  EXPECT_NE(e.message.find("node"), std::string::npos);
  EXPECT_NE(e.message.find("/var/log/cloud-init-output.log"), std::string::npos);
  EXPECT_TRUE(rig.find("b1")->cloud);
}

// --- interruptions ----------------------------------------------------------------------------

TEST_F(cloud_host_create, F39_T13_stopped_before_step_6_nothing_is_left) {
  struct {
    int step;
    std::function<void(fleet_rig&)> arrange;
  } const cases[] = {
      {2, [](fleet_rig& r) { r.cloud.at("price_size", [&r] { r.stop.request_stop(); }); }},
      {3, [](fleet_rig& r) { r.cloud.at("credit_balance", [&r] { r.stop.request_stop(); }); }},
      {3, [](fleet_rig& r) { r.hosts.before("build-host", [&r] { r.stop.request_stop(); }); }},
      {4, [](fleet_rig& r) { r.cloud.at("admit_addresses", [&r] { r.stop.request_stop(); }); }},
  };

  for (const auto& each : cases) {
    fleet_rig fresh;
    ASSERT_TRUE(fresh.at().keys->generate("other"));
    const std::string store = fresh.credentials_bytes();
    each.arrange(fresh);
    const auto r = fresh.create();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, error_code::cancelled);
    EXPECT_TRUE(r.error().message.starts_with("interrupted in step ")) << r.error().message;
    EXPECT_FALSE(fresh.is_marked("b1"));
    EXPECT_FALSE(fresh.is_journaled("b1"));
    EXPECT_EQ(fresh.credentials_bytes(), store);
    EXPECT_EQ(fresh.cloud.count("create_host"), 0U);
  }
}

TEST_F(cloud_host_create, F40_T13_stopped_in_step_6_it_removes_what_was_made) {
  unsigned seen = 0;
  rig.cloud.at("create_host", [this, &seen] {
    ++seen;
    rig.stop.request_stop();
  });
  const base::error e = failed();
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(e.code, error_code::cancelled);
  EXPECT_TRUE(e.message.starts_with("interrupted in step 6")) << e.message;
  EXPECT_EQ(detail_of(e)["not_removed"].size(), 0U);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F40_T13_stopped_in_step_7_it_removes_what_was_made) {
  rig.hosts.before("b1", [this] { rig.stop.request_stop(); });
  const base::error e = failed();
  EXPECT_TRUE(e.message.starts_with("interrupted in step ")) << e.message;
  EXPECT_EQ(rig.cloud.count("delete_host"), 1U);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, F40_a_second_signal_stops_the_removal_and_names_what_is_left) {
  rig.hosts.before("b1", [this] { rig.stop.request_stop(); });
  rig.cloud.at("delete_host", [this] { rig.give_up.request_stop(); });
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::cancelled);
  EXPECT_EQ(detail_of(e)["not_removed"].size(), fake::kinds().size());
  EXPECT_NE(e.message.find("/virtual-machine/b1"), std::string::npos);
  EXPECT_TRUE(rig.is_journaled("b1"));
  EXPECT_TRUE(rig.is_marked("b1"));
}

TEST_F(cloud_host_create, R50_stopped_in_step_9_the_host_stays) {
  rig.hosts.shim("b1", "cloud-init", "exec sleep 600");
  rig.hosts.before("b1", [this] {
    if (rig.find("b1")) {
      rig.stop.request_stop();
    }
  });
  const base::error e = failed();
  EXPECT_TRUE(e.message.starts_with("interrupted in step 9")) << e.message;
  EXPECT_NE(e.message.find("stays registered"), std::string::npos);
  EXPECT_TRUE(rig.cloud.machines.contains("b1"));
}

TEST_F(cloud_host_create, the_journal_names_every_object_before_the_next_is_begun) {
  std::vector<std::size_t> seen;
  const journal files(rig.at().where);
  rig.cloud.fail_create_at("virtual-machine", failure(error_code::quota, "no cores"));
  rig.cloud.at("create_host", [&] {
    const auto entry = *files.find("b1");
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->step, 6);
    EXPECT_TRUE(entry->owner_is_alive());
    EXPECT_EQ(entry->request["hourly_usd"].number_text(), "0.384");
    seen.push_back(entry->objects.size());
  });
  failed();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0}));
}

TEST_F(cloud_host_create, F40_F41_a_write_is_in_the_journal_before_it_leaves_and_when_it_is_done) {
  const journal files(rig.at().where);
  rig.cloud.at("put virtual-machine", [&] {
    const auto entry = *files.find("b1");
    ASSERT_TRUE(entry);
    ASSERT_EQ(entry->objects.size(), fake::kinds().size());
    EXPECT_EQ(entry->objects.back().kind, "virtual-machine");
    rig.stop.request_stop(); // the write ends well all the same
  });
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::cancelled);
  EXPECT_EQ(detail_of(e)["created"].size(), fake::kinds().size());
  EXPECT_EQ(detail_of(e)["not_removed"].size(), 0U);
  expect_only_addresses(rig, bytes, keys);
}

TEST_F(cloud_host_create, a_journal_that_cannot_follow_is_the_cause_that_is_told) {
  const std::string directory = rig.at().where.state + "/cloud-hosts";
  rig.cloud.at("put network-interface", [&] {
    std::filesystem::remove_all(directory);
    integration::write_file(directory, "in the way");
  });
  const base::error e = failed();
  EXPECT_NE(e.message.find(directory), std::string::npos) << e.message;
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_FALSE(rig.has_key("b1"));
}

} // namespace

} // namespace siteagent::fleet::test
