// SPDX-License-Identifier: MIT
// create: the nine steps, what stops it before anything is made, and its dry run.
#include "tests/fleet/cloud_host_create_fixture.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

namespace siteagent::fleet::test {

namespace {

using base::error_code;
using cloud_host::detail_of;

TEST(checkpoint_text, says_what_is_waited_for) {
  for (const auto& [json, text] : std::vector<std::pair<const char*, const char*>>{
           {R"({"phase":"poll","verb":"put","kind":"virtual-machine","percent":60})",
            "virtual-machine, 60 %"},
           {R"({"phase":"before","verb":"delete","kind":"disk"})", "the removal of disk"},
           {R"({"phase":"wait","reason":"throttled","class":"write","for_ms":11001})",
            "the cloud, which limits calls of class write for 12 s"},
           {R"({"phase":"wait"})", "the cloud, which limits calls"},
           {R"({})", "an object"},
       }) {
    EXPECT_EQ(cloud_host::text_of_checkpoint(*base::json::parse(json)), text);
  }
}

TEST_F(cloud_host_create, T1_R22_R26_R29_R46_makes_a_host_in_nine_steps) {
  const auto r = rig.create();
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(
      rig.cloud.calls(),
      (std::vector<std::string>{
          "validate_host b1",
          "price_size Medium here",
          "credit_balance",
          "admit_addresses here",
          "create_host b1"})
  );
  EXPECT_EQ(
      rig.talk.said,
      (std::vector<std::string>{
          "projected hourly burn: 0.384 USD (b1 Medium at 0.384 USD, here; 0 cloud host(s) already "
          "running at 0.00 USD)",
          "credit: balance 900.00 USD, 899.616 USD after one hour of all of them, above the floor "
          "500.00 USD (the operator's ruling ruling-12: \"Never below five hundred.\")"})
  );
  std::vector<std::string> numbered;
  for (const std::string& s : rig.talk.steps) {
    numbered.push_back(s.substr(0, 6));
  }
  EXPECT_EQ(
      numbered,
      (std::vector<std::string>{
          "step 1", "step 2", "step 3", "step 4", "step 5", "step 6", "step 7", "step 8", "step 9"})
  );
}

TEST_F(
    cloud_host_create, T1_R1_R4_R32_the_registry_gains_the_target_and_the_addresses_and_nothing_else
) {
  ASSERT_TRUE(rig.create());
  base::json now = rig.registry();
  const base::json entry = now["targets"][1];
  EXPECT_EQ(entry["name"].string_or(""), "b1");
  EXPECT_EQ(entry["kind"].string_or(""), "local");
  EXPECT_EQ(entry["ssh"].string_or(""), "builder@127.0.0.2");
  EXPECT_EQ(entry["release_platform"].string_or(""), "linux-amd64");
  EXPECT_EQ(entry["hostnames"].size(), 0U); // R99: its name is an identity already
  now.member_ref("targets").items().pop_back();
  now.member_ref("cloud_hosts").erase("egress");
  EXPECT_EQ(now.pretty() + "\n", bytes);
}

TEST_F(cloud_host_create, R46_R110_A22_the_record_has_everything_that_returns_the_host) {
  ASSERT_TRUE(rig.create());
  const base::json cloud = rig.registry()["targets"][1]["cloud"];
  EXPECT_EQ(cloud["provider"].string_or(""), "fake");
  EXPECT_EQ(cloud["location"].string_or(""), "here");
  EXPECT_EQ(cloud["size"].string_or(""), "Medium");
  EXPECT_EQ(cloud["disk_gb"].integer(), 64);
  EXPECT_EQ(cloud["hourly_usd"].number_text(), "0.384");
  EXPECT_EQ(cloud["priced_where"].string_or(""), "here");
  EXPECT_EQ(cloud["idle_minutes"].integer(), 30);
  EXPECT_EQ(cloud["address"].string_or(""), "127.0.0.2");
  EXPECT_EQ(cloud["vm_id"].string_or(""), "generation-1");
  EXPECT_EQ(cloud["created_at"].string_or(""), "2026-11-29T12:00:00Z"); // A23
  EXPECT_EQ(cloud["resources"], rig.cloud.machines["b1"].resources);
  EXPECT_EQ(cloud["host_key"].string_or(""), "SHA256:key-of-b1");
}

TEST_F(cloud_host_create, R2_R39_R40_the_machine_holds_the_public_half_of_the_key_just_minted) {
  ASSERT_TRUE(rig.create());
  EXPECT_TRUE(rig.has_key("b1"));
  const fake::machine& m = rig.cloud.machines["b1"];
  const auto all = *rig.at().keys->list();
  const auto key = std::find_if(all.begin(), all.end(), [](const fleet_key& k) {
    return k.item == "stado-ssh-b1";
  });
  ASSERT_NE(key, all.end());
  EXPECT_EQ(m.public_key, key->public_key);
  EXPECT_NE(m.user_data.find(key->public_key), std::string::npos);
  EXPECT_EQ(m.login, "builder");
  EXPECT_EQ(m.addresses, (std::vector<std::string>{"198.51.100.4"})); // R34
  EXPECT_EQ(m.tags["stado_cloud_host"].string_or(""), "b1");
  EXPECT_NE(m.tags["stado_created"].string_or(""), "");
}

TEST_F(cloud_host_create, T1_nothing_of_it_stays_once_it_is_recorded) {
  ASSERT_TRUE(rig.create());
  EXPECT_FALSE(rig.is_journaled("b1"));
  EXPECT_FALSE(rig.is_marked("b1"));
  EXPECT_EQ(rig.registry().find("cloud_hosts_creating"), nullptr);
}

TEST_F(cloud_host_create, T1_stores_are_readable_by_their_owner_alone) {
  ASSERT_TRUE(rig.create());
  for (const char* file : {".stado/credentials.json", ".stado/cloud-hosts.lock"}) {
    const auto mode = std::filesystem::status(rig.folder.path() / file).permissions();
    EXPECT_EQ(mode & std::filesystem::perms(0777), std::filesystem::perms(0600)) << file;
  }
}

TEST_F(cloud_host_create, R81_the_document_has_every_field) {
  const auto r = rig.create();
  ASSERT_TRUE(r) << r.error().message;
  const base::json j = to_json(*r);
  EXPECT_EQ(j["hourly_usd"].number_text(), "0.384");
  EXPECT_EQ(j["projected"].dump(), R"({"total_usd":0.384,"hosts":0,"hosts_usd":0.00})");
  EXPECT_EQ(
      j["credit"].dump(),
      R"({"balance":900.00,"currency":"USD","after":899.616,"floor":{"id":"ruling-12",)"
      R"("amount":500.00,"currency":"USD","words":"Never below five hundred."}})"
  );
  EXPECT_EQ(j.at({"egress", "build-host", "address"}).string_or(""), "198.51.100.4");
  EXPECT_EQ(j["resource_id"].string_or(""), "/virtual-machine/b1");
  EXPECT_EQ(j.at({"toolchain", "node"}).string_or(""), "v18.19.0");
  EXPECT_EQ(j.at({"toolchain", "rustc"}).string_or(""), "rustc 1.80.0 (051478957 2024-07-21)");
  EXPECT_EQ(j.at({"boot", "status"}).string_or(""), "done");
  EXPECT_EQ(j["hostname"].string_or(""), "b1");
  EXPECT_EQ(j["generation"].string_or("").size(), 64U);
}

TEST_F(
    cloud_host_create, R25_asks_for_the_hour_in_every_configured_location_and_takes_the_highest
) {
  rig.cloud.quotes.push_back({"there", *base::decimal::parse("0.5"), "USD", "hours"});
  auto c = rig.at();
  c.bound.locations = {"There", "here"};
  const auto r = cloud_host::create(c, rig.request());
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->cost.price.where, "there");
  EXPECT_EQ(rig.cloud.calls()[1], "price_size Medium there here");
}

TEST_F(cloud_host_create, R38_every_declared_host_is_readmitted) {
  rig.declare("b0");
  ASSERT_TRUE(rig.create());
  EXPECT_EQ(rig.cloud.machines["b0"].addresses, (std::vector<std::string>{"198.51.100.4"}));
  EXPECT_EQ(
      rig.talk.said[0],
      "projected hourly burn: 0.768 USD (b1 Medium at 0.384 USD, here; 1 cloud host(s) already "
      "running at 0.384 USD)"
  );
}

TEST_F(cloud_host_create, A8_warns_when_this_machine_is_not_admitted) {
  rig.programs.own_address = "198.51.100.77";
  ASSERT_TRUE(rig.create());
  EXPECT_TRUE(rig.talk.has_warned_of("198.51.100.77"));
}

TEST_F(cloud_host_create, warns_when_no_applied_reap_pass_ran_lately) {
  ASSERT_TRUE(rig.create());
  EXPECT_TRUE(rig.talk.has_warned_of("no applied reap pass is known"));
  rig.talk.warnings.clear();
  rig.edit_registry([&](base::json& document) {
    document.member_ref("cloud_hosts_reaped")
        .set("fake", base::json::object({{"at", base::to_rfc3339(rig.clock.wall())}, {"by", "x"}}));
  });
  rig.cloud.address = "127.0.0.3";
  ASSERT_TRUE(rig.create("b2"));
  EXPECT_FALSE(rig.talk.has_warned_of("reap pass"));
}

// --- preconditions and step 1 -----------------------------------------------------------------

TEST_F(cloud_host_create, F6_a_malformed_api_url_is_refused_before_anything) {
  rig.set("api.url", "\"ftp://site\"");
  auto at = std::optional<cloud_host::context>();
  try {
    at = rig.at();
  } catch (const std::exception& refused) {
    EXPECT_NE(std::string(refused.what()).find("api.url"), std::string::npos);
    return; // the profile as a whole is refused already
  }
  const auto r = cloud_host::create(*at, rig.request());
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("api.url"), std::string::npos);
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_create, F7_no_registry_is_refused_naming_where_it_should_be) {
  std::filesystem::remove(rig.store->file("registry.json"));
  const base::error e = failed();
  EXPECT_NE(e.message.find(rig.store->file("registry.json")), std::string::npos);
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_create, F8_R19_without_admit_from_it_refuses_with_the_seed_s_words) {
  rig.edit_registry([](base::json& d) { d.erase("cloud_hosts"); });
  const base::error e = failed();
  EXPECT_TRUE(e.message.starts_with(
      "the registry names no host whose address a cloud host admits (cloud_hosts.admit_from is "
      "absent); "
  )) << e.message;
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_create, F9_R23_a_registered_name_is_refused) {
  const base::error e = failed("build-host");
  EXPECT_EQ(e.message, "target 'build-host' is already registered");
  EXPECT_EQ(detail_of(e)["step"].integer(), 1);
  EXPECT_TRUE(rig.cloud.calls().empty());
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F9_R24_R98_names_that_are_no_identifiers_are_refused_by_nobody_but_us) {
  for (const std::string name : {"B1", "-b", "b.", "b b", "", "b/1", "ü"}) {
    const base::error e = failed(name);
    EXPECT_NE(e.message.find("is not a target identifier"), std::string::npos) << name;
  }
  EXPECT_NE(failed(std::string(65, 'a')).message.find("64"), std::string::npos);
  EXPECT_TRUE(rig.cloud.calls().empty());
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, R98_a_computer_name_that_another_target_has_is_refused_before_it_costs) {
  rig.edit_registry([](base::json& d) {
    d.member_ref("targets").items()[0].set("hostnames", base::json::array({"b-1"}));
  });
  EXPECT_NE(failed("b.1").message.find("build-host"), std::string::npos);
  EXPECT_TRUE(rig.cloud.calls().empty());
}

TEST_F(cloud_host_create, a_host_named_as_this_machine_would_never_be_reached_and_is_refused) {
  rig.local_hostname = "b1.example.org";
  EXPECT_NE(failed().message.find("host name of this machine"), std::string::npos);
}

TEST_F(cloud_host_create, F35_enrolling_that_is_not_allowed_is_found_in_step_1) {
  rig.edit_registry([](base::json& d) {
    d.set("enrollment", base::json::object({{"allow_enroll", false}}));
  });
  bytes = rig.registry_bytes();
  const base::error e = failed();
  EXPECT_NE(e.message.find("enrollment.allow_enroll"), std::string::npos);
  EXPECT_EQ(detail_of(e)["step"].integer(), 1);
  EXPECT_TRUE(rig.cloud.calls().empty());
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, R12_what_the_provider_cannot_make_is_refused_before_step_2) {
  rig.cloud.fail("validate_host", failure(error_code::invalid, "a disk of 64 GiB is too small"));
  EXPECT_EQ(failed().message, "a disk of 64 GiB is too small");
  EXPECT_EQ(rig.cloud.count("price_size"), 0U);
}

TEST_F(cloud_host_create, SSH_01_a_first_boot_text_that_is_too_long_is_refused_before_any_write) {
  rig.cloud.says.user_data_max_bytes = 1000;
  const base::error e = failed();
  EXPECT_NE(e.message.find("1000"), std::string::npos) << e.message;
  EXPECT_EQ(detail_of(e)["step"].integer(), 1);
  EXPECT_TRUE(rig.cloud.calls().empty());
  expect_untouched(rig, bytes, keys);
  rig.cloud.says.user_data_max_bytes = 65535;
  ASSERT_TRUE(rig.create());
  rig.cloud.says.user_data_max_bytes = rig.cloud.machines["b1"].user_data.size();
  rig.cloud.address = "127.0.0.8";
  EXPECT_TRUE(rig.create("b2")); // measured to the byte
}

// --- step 2 -----------------------------------------------------------------------------------

TEST_F(cloud_host_create, F10_a_price_list_that_cannot_be_read_refuses) {
  rig.cloud.fail("price_size", failure(error_code::transient, "page 2 did not come"));
  const base::error e = failed();
  EXPECT_EQ(e.code, error_code::transient); // 69
  EXPECT_NE(e.message.find("page 2 did not come"), std::string::npos);
  EXPECT_NE(e.message.find("here"), std::string::npos);
  EXPECT_TRUE(rig.talk.said.empty());
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F11_a_size_that_is_quoted_nowhere_or_elsewhere_only_is_refused) {
  rig.cloud.quotes = {{"there", *base::decimal::parse("0.5"), "USD", "hours"}};
  const base::error nowhere = failed();
  EXPECT_NE(nowhere.message.find("Medium"), std::string::npos);
  EXPECT_NE(nowhere.message.find("here"), std::string::npos);
  auto c = rig.at();
  c.bound.locations = {"there"};
  const auto elsewhere = cloud_host::create(c, rig.request());
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().message.find("not quoted in here"), std::string::npos);
  EXPECT_TRUE(rig.talk.said.empty()); // before any money line
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F12_R121_a_declared_host_without_an_hour_blocks) {
  rig.declare("b0");
  rig.edit_registry([](base::json& d) {
    d.member_ref("targets").items()[1].member_ref("cloud").set("hourly_usd", "much");
  });
  bytes = rig.registry_bytes();
  keys = rig.credentials_bytes();
  const base::error e = failed();
  EXPECT_NE(e.message.find("b0"), std::string::npos) << e.message;
  EXPECT_EQ(rig.registry_bytes(), bytes);
  EXPECT_EQ(rig.cloud.machines.size(), 1U);
}

TEST_F(cloud_host_create, F13_R20_without_a_ruling_it_refuses_naming_the_key) {
  rig.set("fake.credit_floor", "");
  const base::error e = failed();
  EXPECT_NE(e.message.find("stado config set fake.credit_floor"), std::string::npos);
  EXPECT_EQ(rig.talk.said.size(), 1U); // R30: the burn is known by then
  EXPECT_EQ(rig.cloud.count("credit_balance"), 0U);
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F14_R116_a_balance_that_is_not_told_refuses) {
  rig.cloud.credit.reported = false;
  rig.cloud.credit.reason = "this agreement has no credit API";
  const base::error e = failed();
  EXPECT_NE(e.message.find("this agreement has no credit API"), std::string::npos);
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, F14_R116_a_balance_that_cannot_be_read_now_may_be_later) {
  rig.cloud.fail("credit_balance", failure(error_code::transient, "billing did not answer"));
  EXPECT_EQ(failed().code, error_code::transient);
  expect_untouched(rig, bytes, keys);
}

TEST_F(
    cloud_host_create, F15_R27_R28_R30_a_balance_not_above_the_floor_refuses_behind_the_burn_line
) {
  rig.cloud.credit.current = base::decimal::parse("500.384");
  const base::error e = failed();
  EXPECT_EQ(
      e.message,
      "creating cloud host b1 (Medium) in here is refused: the Fake credit balance 500.384 USD "
      "less one hour of Medium (0.384 USD, here) and one hour of the machines already running "
      "(0.00 USD) is not above the floor 500.00 USD (the operator's ruling ruling-12: \"Never "
      "below "
      "five hundred.\"); raise the balance or change the ruling with stado config set "
      "fake.credit_floor"
  );
  ASSERT_EQ(rig.talk.said.size(), 1U);
  EXPECT_TRUE(rig.talk.said[0].starts_with("projected hourly burn: 0.384 USD"));
  const base::json detail = detail_of(e); // R85
  EXPECT_EQ(detail["step"].integer(), 2);
  EXPECT_EQ(detail["projected"].dump(), R"({"total_usd":0.384,"hosts":0,"hosts_usd":0.00})");
  EXPECT_EQ(detail.at({"credit", "after"}).number_text(), "500.00");
  expect_untouched(rig, bytes, keys);
}

TEST_F(cloud_host_create, R117_a_create_of_another_machine_counts_with_its_hour) {
  rig.edit_registry([&](base::json& d) {
    set_creating(
        d,
        {.name = "elsewhere",
         .provider = "fake",
         .location = "here",
         .size = "Medium",
         .hourly = base::decimal(300),
         .started_at = base::to_rfc3339(rig.clock.wall()),
         .by = "other-machine pid 7 start 1 boot x"}
    );
  });
  bytes = rig.registry_bytes();
  ASSERT_TRUE(rig.create());
  EXPECT_TRUE(
      rig.talk.said[0].find("1 cloud host(s) already running at 300.00 USD") != std::string::npos
  ) << rig.talk.said[0];
  EXPECT_TRUE(rig.is_marked("elsewhere"));
}

TEST_F(cloud_host_create, R117_of_two_creates_sharing_the_registry_each_counts_the_other_s_hour) {
  fleet_rig other(&rig);
  other.local_hostname = "control-2";
  std::barrier both(2);
  for (fleet_rig* r : {&rig, &other}) {
    r->cloud.credit.current = base::decimal::parse("500.5"); // enough for one
    r->cloud.at("credit_balance", [&both] { both.arrive_and_wait(); });
  }
  std::optional<base::result<cloud_host::create_report>> second;
  std::thread thread([&] { second = other.create("b2"); });
  const auto first = rig.create("b1");
  thread.join();
  EXPECT_NE(first.has_value(), second->has_value());
  const base::error& refused = first ? second->error() : first.error();
  EXPECT_NE(
      refused.message.find("one hour of the machines already running (0.384 USD)"),
      std::string::npos
  ) << refused.message;
  EXPECT_EQ(rig.registry()["targets"].size(), 2U);
  EXPECT_EQ(rig.registry().find("cloud_hosts_creating"), nullptr);
}

TEST_F(cloud_host_create, CONC_01_of_two_creates_of_one_name_one_wins_and_keeps_what_it_made) {
  fleet_rig other(&rig);
  other.local_hostname = "control-2";
  std::barrier both(2);
  for (fleet_rig* r : {&rig, &other}) {
    r->cloud.at("credit_balance", [&both] { both.arrive_and_wait(); });
  }
  std::optional<base::result<cloud_host::create_report>> second;
  std::thread thread([&] { second = other.create(); });
  const auto first = rig.create();
  thread.join();
  EXPECT_NE(first.has_value(), second->has_value());
  const fleet_rig& loser = first ? other : rig;
  EXPECT_EQ(loser.cloud.count("create_host") + loser.cloud.count("delete_host"), 0U);
  EXPECT_FALSE(loser.has_key("b1"));
  EXPECT_TRUE(rig.find("b1")->cloud);
}

TEST_F(cloud_host_create, R117_the_gate_is_judged_again_before_anything_is_made) {
  rig.cloud.credit.current = base::decimal::parse("501");
  rig.cloud.at("admit_addresses", [this] {
    rig.edit_registry([](base::json& d) { // another machine declares one meanwhile
      base::json entry = d["targets"][0];
      entry.set("name", "late").set("ssh", "builder@192.0.2.77");
      entry.set(
          "cloud",
          *base::json::parse(
              R"({"provider":"fake","location":"here","size":"M","disk_gb":1,"hourly_usd":2.5,
                  "priced_where":"here","idle_minutes":1,"address":"192.0.2.77","vm_id":"x",
                  "created_at":"2026-11-29T12:00:00Z"})"
          )
      );
      d.member_ref("targets").push_back(entry);
    });
  });
  const base::error e = failed();
  EXPECT_NE(e.message.find("is not above the floor"), std::string::npos);
  EXPECT_EQ(detail_of(e)["step"].integer(), 6);
  EXPECT_EQ(rig.cloud.count("create_host"), 0U);
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_FALSE(rig.is_marked("b1"));
}

// --- dry run ----------------------------------------------------------------------------------

std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string();
    // Copies of readings, locks and the hosts themselves are no writes of the command.
    const bool counts = entry.is_regular_file() && name.find("/cache/") == std::string::npos &&
                        name.find("/hosts/") == std::string::npos && !name.ends_with(".lock");
    if (counts) {
      out[name] = integration::read_file(name);
    }
  }
  return out;
}

TEST_F(cloud_host_create, a_dry_run_asks_everything_and_writes_nothing) {
  rig.declare("b0");
  const auto before = files_below(rig.folder.path());
  bytes = rig.registry_bytes();
  const auto r = cloud_host::rehearse_create(rig.at(), rig.request());
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(r->would_create());
  EXPECT_EQ(
      rig.cloud.calls(),
      (std::vector<std::string>{
          "validate_host b1",
          "price_size Medium here",
          "credit_balance",
          "dry admit_addresses here b0",
          "dry create_host b1"})
  );
  EXPECT_EQ(rig.talk.said.size(), 2U);
  EXPECT_EQ(rig.registry_bytes(), bytes);
  EXPECT_EQ(files_below(rig.folder.path()), before);
  const base::json j = to_json(*r, "fake");
  EXPECT_EQ(j["would_create"].boolean(), true);
  EXPECT_EQ(j["checks"].size(), 5U);
}

TEST_F(cloud_host_create, a_dry_run_goes_on_behind_what_fails) {
  rig.cloud.fail("price_size", failure(error_code::transient, "no prices"));
  rig.cloud.create_checks = {{"quota", false, true, "2 of 4 cores are free"}};
  const auto r = cloud_host::rehearse_create(rig.at(), rig.request());
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->would_create());
  EXPECT_EQ(rig.cloud.count("dry"), 2U);
  EXPECT_EQ(r->checks.back().detail, "2 of 4 cores are free");
}

} // namespace

} // namespace siteagent::fleet::test
