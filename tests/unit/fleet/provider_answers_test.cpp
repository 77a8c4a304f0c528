// SPDX-License-Identifier: MIT
// The typed operations: what is asked, and how strictly the answers are read.
#include "provider_fixture.hpp"

#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::tests {
namespace {

using fleet::provider;

class provider_calls : public provider_rig {
protected:
  static fleet::known_host known() {
    return {"b1", "Here", "generation-1", json::object({{"machine", "/m/b1"}})};
  }

  static fleet::create_host_request order() {
    fleet::create_host_request r;
    r.place = {"b1", "here", "Medium", 64};
    r.login = "dev";
    r.public_key = "ssh-ed25519 AAAA";
    r.user_data = "#cloud-config\n";
    r.addresses = {"198.51.100.4"};
    r.group_id = "group";
    r.tags = json::object({{"stado_cloud_host", "b1"}});
    return r;
  }

  static fleet::admission_request admission() {
    fleet::admission_request r;
    r.addresses = {"198.51.100.4"};
    r.ensure_location = "here";
    r.locations = {"here"};
    r.hosts = {known()};
    r.tags = json::object({{"t", "v"}});
    return r;
  }

  // The body as the plugin got it.
  template <class Call>
  json asked(Call&& call) {
    section(R"("echo":true)");
    auto opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    json seen;
    if (opened) {
      call(**opened, [&seen](const json& what) {
        seen = what["echo"];
        return base::result<void>();
      });
    }
    return seen;
  }
};

TEST_F(provider_calls, put_every_member_of_a_create_into_the_body) {
  const json seen = asked([](provider& p, const fleet::progress_function& note) {
    (void)p.create_host(order(), note, {});
  });
  EXPECT_EQ(seen["dry_run"], json(false));
  EXPECT_EQ(
      seen["request"],
      parsed(R"({"name":"b1","location":"here","size":"Medium","disk_gb":64,"login":"dev",
          "public_key":"ssh-ed25519 AAAA","user_data":"#cloud-config\n","addresses":["198.51.100.4"],
          "group":"stado-cloud-hosts","port":22,"group_id":"group","tags":{"stado_cloud_host":"b1"}})"
      )
  );
}

TEST_F(provider_calls, put_every_member_of_an_admission_into_the_body) {
  const json seen = asked([](provider& p, const fleet::progress_function& note) {
    (void)p.admit_addresses(admission(), true, note, {});
  });
  EXPECT_EQ(seen["dry_run"], json(true));
  EXPECT_EQ(
      seen["request"],
      parsed(R"({"addresses":["198.51.100.4"],"group":"stado-cloud-hosts","port":22,
          "ensure_location":"here","locations":["here"],"tags":{"t":"v"},
          "hosts":[{"name":"b1","location":"Here","vm_id":"generation-1","resources":{"machine":"/m/b1"}}]})"
      )
  );
}

TEST_F(provider_calls, ask_to_delete_by_generation_or_by_the_tag_alone) {
  const auto remove = [](const fleet::known_host& h) {
    return [h](provider& p, const fleet::progress_function& note) {
      (void)p.delete_host(h, note, {});
    };
  };
  json seen = asked(remove(known()))["request"];
  EXPECT_EQ(seen["vm_id"], json("generation-1"));
  EXPECT_EQ(seen["resources"], parsed(R"({"machine":"/m/b1"})"));
  EXPECT_EQ(seen["tag"], json("stado_cloud_host"));
  seen = asked(remove({"b1", "", "", {}}))["request"];
  EXPECT_TRUE(seen.find("vm_id") != nullptr && seen["vm_id"].is_null());
  EXPECT_TRUE(seen.find("resources") != nullptr && seen["resources"].is_null());
}

TEST_F(provider_calls, stop_when_progress_says_so) {
  section(R"("echo":true)");
  auto opened = open();
  ASSERT_TRUE(opened);
  const auto refuse = [](const json&) -> base::result<void> {
    return base::error{.code = error_code::cancelled, .message = "interrupted"};
  };
  const auto stopped = (*opened)->create_host(order(), refuse, {});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
}

TEST_F(provider_calls, give_back_every_answer_typed) {
  const auto p = answering(R"({
    "validate_host":[{"size":"Medium"}],
    "price_size":[{"size":"Medium","source":"list","read_at":"t","quotes":[
      {"location":"Here","hour":"0.3840000001","currency":"USD","meter":"m"}]}],
    "credit_balance":[{"reported":true,"current":"900.0000000009","estimated":"880.10","currency":"USD",
      "scope":"account"}],
    "admit_addresses":[{"locations":[{"location":"Here","group_id":"g","rule":"created","priority":101}],
      "hosts":[{"name":"b1","outcome":"updated"}],"warnings":["w"]}],
    "create_host":[{"address":"203.0.113.7","ssh_port":2222,"vm_id":"v","created_at":"t","resources":{"a":1}}],
    "host_state":[{"state":"running","vm_id":"v"}],
    "list_hosts":[{"name":"b1","vm_id":"v","location":"here","state":"running","created_at":"t",
      "tags":{"x":"y"},"resources":{},"objects":[{"kind":"disk","id":"d"}]},
      {"name":"b2","location":"here","state":"absent","tags":{},"resources":{},"objects":[]}],
    "delete_host":[{"released":[{"kind":"disk","id":"d","outcome":"already_gone"}],
      "held":[{"kind":"nic","id":"n","cause":"c"}]}],
    "check":[{"name":"a","ok":true,"detail":"d"},{"name":"b","ok":false,"needed":false}]})");
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(*p->validate_host({"b1", "here", "medium", 64}), "Medium");
  const auto prices = p->price_size("medium", {"here"});
  ASSERT_TRUE(prices) << prices.error().message;
  EXPECT_EQ(prices->quotes.at(0).location, "here");
  EXPECT_EQ(fleet::format_money(prices->quotes.at(0).hour), "0.384000001") << "prices up";
  const auto credit = p->credit_balance();
  ASSERT_TRUE(credit) << credit.error().message;
  EXPECT_EQ(fleet::format_money(*credit->current), "900.00") << "balances down";
  EXPECT_EQ(fleet::format_money(*credit->estimated), "880.10");
  EXPECT_EQ(credit->scope, "account");
  const auto admitted = p->admit_addresses(admission(), false, {}, {});
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->locations.at(0).priority, 101);
  EXPECT_EQ(admitted->hosts.at(0).outcome, "updated");
  EXPECT_EQ(admitted->warnings, std::vector<std::string>{"w"});
  const auto made = p->create_host(order(), {}, {});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->ssh_port, 2222);
  EXPECT_EQ(made->resources, parsed(R"({"a":1})"));
  EXPECT_EQ(*p->host_state(known()), "running");
  const auto hosts = p->list_hosts();
  ASSERT_TRUE(hosts) << hosts.error().message;
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ(hosts->at(0).objects.at(0).id, "d");
  EXPECT_EQ(hosts->at(1).vm_id, "");
  const auto removed = p->delete_host(known(), {}, {});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->released.at(0).outcome, "already_gone");
  EXPECT_EQ(removed->held.at(0).cause, "c");
  const auto checks = p->check({"here"});
  ASSERT_TRUE(checks) << checks.error().message;
  EXPECT_TRUE(checks->at(0).needed);
  EXPECT_FALSE(checks->at(1).needed);
}

TEST_F(provider_calls, read_a_dry_runs_checks) {
  const auto p =
      answering(R"({"create_host":[{"checks":[{"name":"subnet","ok":true,"detail":"d"}]}]})");
  ASSERT_NE(p, nullptr);
  const auto checks = p->try_create_host(order());
  ASSERT_TRUE(checks) << checks.error().message;
  EXPECT_EQ(checks->at(0).name, "subnet");
}

TEST_F(provider_calls, take_a_credit_that_is_not_told_and_one_without_a_figure) {
  auto p = answering(R"({"credit_balance":[{"reported":false,"reason":"none here"}]})");
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(p->credit_balance()->reason, "none here");
  p = answering(R"({"credit_balance":[{"reported":true}]})");
  const auto credit = p->credit_balance();
  ASSERT_TRUE(credit);
  EXPECT_FALSE(credit->current || credit->estimated);
}

struct spoilt_answer {
  const char* name;
  const char* operation;
  const char* answers; // of that operation
  const char* words;
};

class provider_answers : public provider_calls, public testing::WithParamInterface<spoilt_answer> {
protected:
  static std::optional<base::error> call(provider& p, const std::string& operation) {
    const auto error_of = [](const auto& r) {
      return r ? std::nullopt : std::optional<base::error>(r.error());
    };
    if (operation == "validate_host") {
      return error_of(p.validate_host({}));
    }
    if (operation == "price_size") {
      return error_of(p.price_size("m", {"here"}));
    }
    if (operation == "credit_balance") {
      return error_of(p.credit_balance());
    }
    if (operation == "admit_addresses") {
      return error_of(p.admit_addresses(admission(), false, {}, {}));
    }
    if (operation == "create_host") {
      return error_of(p.create_host(order(), {}, {}));
    }
    if (operation == "host_state") {
      return error_of(p.host_state(known()));
    }
    if (operation == "list_hosts") {
      return error_of(p.list_hosts());
    }
    if (operation == "delete_host") {
      return error_of(p.delete_host(known(), {}, {}));
    }
    return error_of(p.check({}));
  }
};

TEST_P(provider_answers, with_a_wrong_member_are_a_bug_that_names_it) {
  const std::string operation = GetParam().operation;
  const auto p = answering("{\"" + operation + "\":" + GetParam().answers + "}");
  ASSERT_NE(p, nullptr);
  const auto e = call(*p, operation);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code, error_code::plugin_bug);
  EXPECT_NE(e->message.find("two-extensions: " + operation + ": "), std::string::npos)
      << e->message;
  EXPECT_NE(e->message.find(GetParam().words), std::string::npos) << e->message;
}

INSTANTIATE_TEST_SUITE_P(
    members,
    provider_answers,
    testing::Values(
        spoilt_answer{"none", "validate_host", "[]", "0 objects instead of one"},
        spoilt_answer{"two", "host_state", R"([{"state":"a"},{"state":"b"}])", "2 objects"},
        spoilt_answer{"no_size", "validate_host", "[{}]", "size is missing"},
        spoilt_answer{"no_quotes", "price_size", R"([{"size":"m","source":"s"}])", "quotes"},
        spoilt_answer{
            "float_hour",
            "price_size",
            R"([{"size":"m","source":"s","quotes":[{"location":"a","hour":0.3,"currency":"USD"}]}])",
            "quotes[0].hour is no decimal text"},
        spoilt_answer{
            "zero_hour",
            "price_size",
            R"([{"size":"m","source":"s","quotes":[{"location":"a","hour":"0","currency":"USD"}]}])",
            "quotes[0].hour is not above zero"},
        spoilt_answer{
            "no_location",
            "price_size",
            R"([{"size":"m","source":"s","quotes":[{"hour":"1","currency":"USD"}]}])",
            "quotes[0].location"},
        spoilt_answer{"no_reported", "credit_balance", "[{}]", "reported"},
        spoilt_answer{
            "words_as_balance",
            "credit_balance",
            R"([{"reported":true,"current":"much","currency":"USD"}])",
            "current is no decimal text"},
        spoilt_answer{
            "no_currency",
            "credit_balance",
            R"([{"reported":true,"current":"1"}])",
            "currency is missing"},
        spoilt_answer{"nothing_admitted", "admit_addresses", "[{}]", "locations is missing"},
        spoilt_answer{
            "location_left_out",
            "admit_addresses",
            R"([{"locations":[],"hosts":[{"name":"b1","outcome":"updated"}]}])",
            "locations lacks here"},
        spoilt_answer{
            "host_left_out",
            "admit_addresses",
            R"([{"locations":[{"location":"here","group_id":"g","rule":"none"}],"hosts":[]}])",
            "hosts lacks b1"},
        spoilt_answer{
            "no_group",
            "admit_addresses",
            R"([{"locations":[{"location":"here","rule":"none"}],"hosts":[{"name":"b1","outcome":"absent"}]}])",
            "locations[0].group_id"},
        spoilt_answer{
            "unknown_rule_word",
            "admit_addresses",
            R"([{"locations":[{"location":"here","group_id":"g","rule":"done"}],"hosts":[]}])",
            "locations[0].rule is none of created"},
        spoilt_answer{"no_address", "create_host", R"([{"vm_id":"v","resources":{}}])", "address"},
        spoilt_answer{
            "name_as_address",
            "create_host",
            R"([{"address":"b1.example","vm_id":"v","resources":{}}])",
            "address is no IP literal"},
        spoilt_answer{
            "port_out_of_range",
            "create_host",
            R"([{"address":"192.0.2.1","ssh_port":70000,"vm_id":"v","resources":{}}])",
            "ssh_port"},
        spoilt_answer{
            "no_generation", "create_host", R"([{"address":"192.0.2.1","resources":{}}])", "vm_id"},
        spoilt_answer{
            "no_resources", "create_host", R"([{"address":"192.0.2.1","vm_id":"v"}])", "resources"},
        spoilt_answer{"state_no_text", "host_state", R"([{"state":1}])", "state"},
        spoilt_answer{
            "listed_without_tags",
            "list_hosts",
            R"([{"name":"a","location":"l","state":"s","resources":{},"objects":[]}])",
            "object[0].tags"},
        spoilt_answer{
            "object_without_id",
            "list_hosts",
            R"([{"name":"a","location":"l","state":"s","tags":{},"resources":{},"objects":[{"kind":"k"}]}])",
            "object[0].objects[0].id"},
        spoilt_answer{"nothing_released", "delete_host", R"([{"held":[]}])", "released"},
        spoilt_answer{
            "outcome_unknown",
            "delete_host",
            R"([{"released":[{"kind":"k","id":"i","outcome":"maybe"}],"held":[]}])",
            "released[0].outcome"},
        spoilt_answer{
            "held_without_cause",
            "delete_host",
            R"([{"released":[],"held":[{"kind":"k","id":"i"}]}])",
            "held[0].cause"},
        spoilt_answer{"check_without_ok", "check", R"([{"name":"a"}])", "object[0].ok"}
    ),
    [](const auto& given) { return given.param.name; }
);

TEST_F(provider_calls, give_failures_in_the_plugins_words_with_status_and_detail) {
  section(R"("failures":{"create_host":{"code":205,"message":"the disk was not made",
      "detail":{"http_status":403,"provider_code":"Denied","assignment":"a",
      "created":[{"kind":"k","id":"i"}],"not_removed":[]},"retry_after_ms":1500}})");
  auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  const auto made = (*opened)->create_host(order(), {}, {});
  ASSERT_FALSE(made);
  const base::error& e = made.error();
  EXPECT_EQ(e.code, error_code::forbidden);
  EXPECT_EQ(e.message, "the disk was not made");
  EXPECT_EQ(e.http_status, 403);
  EXPECT_EQ(e.provider_code, "Denied");
  EXPECT_EQ(e.retry_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(parsed(e.detail)["created"][0]["id"], json("i"));
  EXPECT_EQ(parsed(e.detail)["assignment"], json("a"));
}

TEST_F(provider_calls, keep_the_plugins_name_before_words_about_the_plugin) {
  section(
      R"("answers":{"check":[{"name":"a","ok":true}]},"failures":{"check":{"code":900,"message":"m"}})"
  );
  auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  const auto checks = (*opened)->check({});
  ASSERT_FALSE(checks);
  EXPECT_EQ(checks.error().message.substr(0, 14), "two-extensions");
}

// F39: a signal ends what the cloud lets wait, whichever operation it is.
TEST_F(provider_calls, F39_end_with_the_token_that_is_listened_to) {
  section(R"("answers":{"price_size":{"quotes":[]},"credit_balance":{"reported":false}})");
  auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  std::stop_source first;
  (*opened)->listen_to(first.get_token());
  first.request_stop();
  const auto prices = (*opened)->price_size("Medium", {"here"});
  ASSERT_FALSE(prices);
  EXPECT_EQ(prices.error().code, error_code::cancelled) << prices.error().message;
  const auto credit = (*opened)->credit_balance();
  ASSERT_FALSE(credit);
  EXPECT_EQ(credit.error().code, error_code::cancelled) << credit.error().message;
  const auto tagged = (*opened)->list_hosts();
  ASSERT_FALSE(tagged);
  EXPECT_EQ(tagged.error().code, error_code::cancelled) << tagged.error().message;
}

// The null provider through the typed interface: the same life as the tool gives it.
TEST_F(provider_rig, of_the_null_plugin_lives_a_whole_life) {
  home_.write_profile(
      R"({"null":{"state_file":")" + home_.path("cloud.json") + R"(","vm_username":"dev"},
          "cloud_host":{"limits":{"poll_ms":1}}})"
  );
  const auto loaded = load("null", SITEAGENT_PLUGINS);
  const fleet::profile p = home_.profile();
  const auto b = fleet::bindings_of(p, loaded.description);
  ASSERT_TRUE(b) << b.error().message;
  const auto store = fleet::credential_store::open(p, home_.where());
  ASSERT_TRUE(store);
  auto opened = fleet::open_provider(loaded, p, *b, *store);
  ASSERT_TRUE(opened) << opened.error().message;
  provider& cloud = **opened;
  EXPECT_EQ(*cloud.validate_host({"b1", "here", "medium", 64}), "Medium");
  EXPECT_EQ(cloud.price_size("Medium", {"here", "there"})->quotes.size(), 2u);
  EXPECT_TRUE(cloud.credit_balance()->current);
  fleet::admission_request admission;
  admission.addresses = {"198.51.100.4"};
  admission.ensure_location = "here";
  admission.locations = {"here"};
  const auto admitted = cloud.admit_addresses(admission, false, {}, {});
  ASSERT_TRUE(admitted) << admitted.error().message;
  fleet::create_host_request r;
  r.place = {"b1", "here", "Medium", 64};
  r.login = "dev";
  r.public_key = "ssh-ed25519 AAAA";
  r.addresses = admission.addresses;
  r.group_id = admitted->locations.at(0).group_id;
  r.tags = json::object({{"stado_cloud_host", "b1"}});
  EXPECT_TRUE(cloud.try_create_host(r));
  const auto made = cloud.create_host(r, {}, {});
  ASSERT_TRUE(made) << made.error().message;
  const fleet::known_host host{"b1", "here", made->vm_id, made->resources};
  EXPECT_EQ(*cloud.host_state(host), "running");
  EXPECT_EQ(cloud.list_hosts()->size(), 1u);
  const auto removed = cloud.delete_host(host, {}, {});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(removed->held.empty());
  EXPECT_EQ(*cloud.host_state(host), "absent");
  EXPECT_TRUE(cloud.list_hosts()->empty());
  EXPECT_TRUE(cloud.check({"here"}));
}

} // namespace
} // namespace siteagent::tests
