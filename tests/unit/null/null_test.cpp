// SPDX-License-Identifier: MIT
// The null plugin through the host, as the agent uses it.
#include "core/host/instance.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace {

namespace host = siteagent::host;
namespace config = siteagent::config;
using host::operation;
using siteagent::base::error_code;
using siteagent::base::json;

constexpr const char* uuid_a = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
constexpr const char* uuid_b = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

// Settings are easier to read as JSON; the host wants them as the YAML reader makes them.
config::value to_value(const json& j) {
  config::value v;
  if (j.is_object()) {
    v.type = config::value::kind::map;
    for (const auto& [key, member] : j.members()) {
      v.map.emplace_back(key, to_value(member));
    }
  } else if (j.is_array()) {
    v.type = config::value::kind::list;
    for (const json& item : j.items()) {
      v.list.push_back(to_value(item));
    }
  } else {
    v.type = config::value::kind::scalar;
    v.quoted = j.is_string();
    v.text = j.is_string() ? j.string_or("") : j.dump();
  }
  return v;
}

class null_plugin : public testing::Test {
protected:
  null_plugin() {
    std::string pattern = (std::filesystem::temp_directory_path() / "null_test.XXXXXX").string();
    directory = ::mkdtemp(pattern.data());
  }

  ~null_plugin() override { std::filesystem::remove_all(directory); }

  static std::shared_ptr<host::instance> open(const std::string& settings = "{}") {
    auto loaded = host::load_plugin("null", host::search_path({SITEAGENT_PLUGINS}));
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (!loaded) {
      return nullptr;
    }
    host::instance_options o;
    o.offering_name = "null";
    o.settings = to_value(*json::parse(settings));
    auto opened = host::instance::open(*loaded, o);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *opened : nullptr;
  }

  std::shared_ptr<host::instance> open_with_file() const {
    return open(json::object({{"state_file", state_file()}}).dump());
  }

  std::string state_file() const { return directory + "/state.json"; }

  static json tags_of(const std::string& uuid) {
    return json::object({{"managed-by", "test"}, {"waldur-resource-uuid", uuid}});
  }

  static host::call_request request(const std::string& uuid, json body = json::object()) {
    host::call_request r;
    r.idempotency_key = uuid;
    r.body = std::move(body);
    r.body.set("tags", tags_of(uuid)).set("uuid_tag", "waldur-resource-uuid");
    return r;
  }

  static host::call_request at(const std::string& uuid, json body = json::object()) {
    auto r = request(uuid, std::move(body));
    r.target = "null:" + uuid;
    return r;
  }

  // The one object emitted, or {"error": ...}.
  static json one(host::instance& i, operation op, const host::call_request& r) {
    const auto answer = i.call(op, r);
    if (!answer) {
      return json::object({{"error", siteagent::base::name_of(answer.error().code)}});
    }
    return answer->size() == 1 ? answer->at(0) : json();
  }

  static std::vector<std::string> objects(host::instance& i, const json& tags) {
    host::call_request r;
    r.body.set("tags", tags).set("uuid_tag", "waldur-resource-uuid").set("objects", true);
    const auto answer = i.call(operation::list_resources, r);
    std::vector<std::string> ids;
    for (const json& o : answer ? *answer : std::vector<json>()) {
      ids.push_back(o["id"].string_or(""));
    }
    return ids;
  }

  static json pull(host::instance& i, const std::string& uuid, const std::string& id = "") {
    host::call_request r;
    r.body.set("resources", json::array({json::object({{"uuid", uuid}, {"backend_id", id}})}));
    return one(i, operation::pull_resources, r);
  }

  std::string directory;
};

TEST_F(null_plugin, makes_a_resource_and_adopts_it_the_second_time) {
  const auto i = open();
  const json made = one(*i, operation::create_resource, request(uuid_a));
  EXPECT_EQ(made["backend_id"], json("null:" + std::string(uuid_a)));
  EXPECT_EQ(made["adopted"], json(false));
  EXPECT_EQ(made["endpoints"][0]["url"], json("ssh://null@127.0.0.1"));
  EXPECT_EQ(made["metadata"]["power_state"], json("running"));
  const json again = one(*i, operation::create_resource, request(uuid_a));
  EXPECT_EQ(again["adopted"], json(true));
  EXPECT_EQ(again["backend_id"], made["backend_id"]);
  EXPECT_EQ(objects(*i, json::object()).size(), 2u);
}

TEST_F(null_plugin, needs_an_idempotency_key_to_create) {
  EXPECT_EQ(one(*open(), operation::create_resource, {})["error"], json("invalid"));
}

TEST_F(null_plugin, changes_nothing_in_a_dry_run) {
  const auto i = open();
  auto r = request(uuid_a);
  r.dry_run = true;
  EXPECT_EQ(one(*i, operation::create_resource, r)["adopted"], json(false));
  EXPECT_TRUE(objects(*i, json::object()).empty());

  ASSERT_TRUE(i->call(operation::create_resource, request(uuid_a)));
  auto existing = at(uuid_a);
  existing.dry_run = true;
  EXPECT_EQ(one(*i, operation::pause, existing)["changed"], json(true));
  EXPECT_EQ(one(*i, operation::delete_resource, existing)["deleted"].size(), 2u);
  EXPECT_EQ(objects(*i, json::object()).size(), 2u);
  EXPECT_EQ(pull(*i, uuid_a)["power"], json("running"));
}

TEST_F(null_plugin, tells_the_host_before_and_after_each_write) {
  const auto i = open();
  std::vector<std::string> seen;
  host::call_options o;
  o.checkpoint = [&seen](const json& c) -> siteagent::base::result<void> {
    seen.push_back(
        c["phase"].string_or("") + " " + c["verb"].string_or("") + " " + c["kind"].string_or("")
    );
    return {};
  };
  ASSERT_TRUE(i->call(operation::create_resource, request(uuid_a), o));
  ASSERT_TRUE(i->call(operation::pause, at(uuid_a), o));
  ASSERT_TRUE(i->call(operation::delete_resource, at(uuid_a), o));
  EXPECT_EQ(
      seen,
      (std::vector<std::string>{
          "before put disk",
          "after put disk",
          "before put machine",
          "after put machine",
          "before post machine",
          "after post machine",
          "before delete machine",
          "after delete machine",
          "before delete disk",
          "after delete disk"})
  );
}

TEST_F(null_plugin, deletes_once_and_then_knows_nothing) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  const json gone = one(*i, operation::delete_resource, at(uuid_a));
  EXPECT_EQ(gone["deleted"].size(), 2u);
  EXPECT_EQ(one(*i, operation::delete_resource, at(uuid_a))["error"], json("not_found"));
  EXPECT_EQ(pull(*i, uuid_a)["presence"], json("absent"));
}

TEST_F(null_plugin, cleans_up_by_tag_what_a_failed_create_left) {
  const auto i = open(R"({"faults":[{"operation":"create_resource","after_writes":1,"code":"quota",
                          "message":"no room","public_message":"No room"}]})");
  const auto failed = i->call(operation::create_resource, request(uuid_a));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, error_code::quota);
  EXPECT_EQ(failed.error().message, "null: create_resource: no room");
  EXPECT_EQ(failed.error().public_message, "No room");
  EXPECT_EQ(objects(*i, tags_of(uuid_a)).size(), 1u) << "the disk";
  EXPECT_EQ(pull(*i, uuid_a)["presence"], json("absent"));
  one(*i, operation::delete_resource, request(uuid_a));
  EXPECT_TRUE(objects(*i, json::object()).empty());
  EXPECT_EQ(one(*i, operation::create_resource, request(uuid_a))["adopted"], json(false))
      << "the fault was for the first run only";
}

TEST_F(null_plugin, keeps_a_working_machine_when_asked_to) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  auto r = request(uuid_a);
  r.body.set("keep_working_machine", true);
  EXPECT_EQ(one(*i, operation::delete_resource, r)["error"], json("conflict"));
  EXPECT_EQ(pull(*i, uuid_a)["presence"], json("present"));
}

TEST_F(null_plugin, deletes_a_listed_object_but_no_disk_in_use) {
  const auto i =
      open(R"({"faults":[{"operation":"create_resource","after_writes":1,"code":100}]})");
  one(*i, operation::create_resource, request(uuid_a));
  one(*i, operation::create_resource, request(uuid_b));
  auto r = request(uuid_b);
  r.target = "null:" + std::string(uuid_b) + "/disk";
  EXPECT_EQ(one(*i, operation::delete_resource, r)["error"], json("conflict"));
  r = request(uuid_a);
  r.target = "null:" + std::string(uuid_a) + "/disk";
  EXPECT_EQ(one(*i, operation::delete_resource, r)["deleted"].size(), 1u);
}

TEST_F(null_plugin, never_touches_what_another_owner_tagged) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  auto r = at(uuid_a);
  r.body.set("tags", tags_of(uuid_b));
  EXPECT_EQ(one(*i, operation::delete_resource, r)["error"], json("refused"));
  r.target = "/subscriptions/1/vm";
  EXPECT_EQ(one(*i, operation::delete_resource, r)["error"], json("invalid"));
  EXPECT_EQ(objects(*i, json::object()).size(), 2u);
}

TEST_F(null_plugin, reads_the_power_state_before_it_changes_it) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  for (const auto& [op, power, changed] :
       {std::tuple(operation::restore, "running", false),
        {operation::pause, "deallocated", true},
        {operation::downscale, "deallocated", false},
        {operation::restore, "running", true}}) {
    const json answer = one(*i, op, at(uuid_a));
    EXPECT_EQ(answer["power"], json(power));
    EXPECT_EQ(answer["changed"], json(changed)) << host::name_of(op);
  }
  EXPECT_EQ(one(*i, operation::pause, at(uuid_b))["error"], json("not_found"));
}

TEST_F(null_plugin, pulls_by_backend_id_or_uuid) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  const json by_uuid = pull(*i, uuid_a);
  EXPECT_EQ(by_uuid["presence"], json("present"));
  EXPECT_EQ(by_uuid["state"], json("ok"));
  EXPECT_EQ(by_uuid["power"], json("running"));
  EXPECT_EQ(pull(*i, uuid_b, "null:" + std::string(uuid_a))["uuid"], json(uuid_b));
  EXPECT_EQ(pull(*i, uuid_b)["presence"], json("absent"));
}

TEST_F(null_plugin, reports_only_what_it_can_measure) {
  const auto i = open(R"({"usage":{"cpu":2,"ram":"4096"}})");
  one(*i, operation::create_resource, request(uuid_a));
  host::call_request r;
  r.body = *json::parse(
      R"({"components":{"cpu":{},"ram":{"unit_factor":"1024"},"disk":{"unit_factor":"1"}},
          "resources":[{"uuid":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","backend_id":""},
                       {"uuid":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","backend_id":""}]})"
  );
  auto rows = i->call(operation::report_usage, r);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0)["total"], json::object({{"cpu", "2"}, {"ram", "4"}}));
  EXPECT_EQ(rows->at(1)["measured"], json(false));
  one(*i, operation::pause, at(uuid_a));
  rows = i->call(operation::report_usage, r);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->at(0)["total"], json::object({{"cpu", "0"}, {"ram", "0"}}));
}

TEST_F(null_plugin, reports_the_same_usage_for_every_user_of_a_machine) {
  const auto i = open(R"({"users":"plain","usage":{"cpu":4},"user_usage":{"cpu":"1.5"}})");
  one(*i, operation::create_resource, request(uuid_a));
  host::call_request r;
  r.body.set("resources", json::array({json::object({{"uuid", uuid_a}, {"backend_id", ""}})}));
  r.body.set("components", json::object({{"cpu", json::object({{"unit_factor", 1}})}}));
  EXPECT_EQ(one(*i, operation::report_usage, r)["users"], json::object());
  const json users = *json::parse(R"([{"username":"ada"},{"username":"bob"}])");
  one(*i, operation::add_members, at(uuid_a, json::object({{"users", users}})));
  const json row = one(*i, operation::report_usage, r);
  EXPECT_EQ(row["total"], json::object({{"cpu", "4"}}));
  EXPECT_EQ(row["users"], *json::parse(R"({"ada":{"cpu":"1.5"},"bob":{"cpu":"1.5"}})"));
  one(*i, operation::pause, at(uuid_a));
  EXPECT_EQ(
      one(*i, operation::report_usage, r)["users"],
      *json::parse(R"({"ada":{"cpu":"0"},"bob":{"cpu":"0"}})")
  );
}

TEST_F(null_plugin, lists_by_all_tags_given) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  one(*i, operation::create_resource, request(uuid_b));
  EXPECT_EQ(objects(*i, json::object({{"managed-by", "test"}})).size(), 4u);
  EXPECT_EQ(objects(*i, tags_of(uuid_a)).size(), 2u);
  EXPECT_EQ(objects(*i, json::object({{"managed-by", "other"}})).size(), 0u);
  host::call_request r;
  r.body.set("tags", tags_of(uuid_b)).set("uuid_tag", "waldur-resource-uuid");
  const json listed = one(*i, operation::list_resources, r);
  EXPECT_EQ(listed["backend_id"], json("null:" + std::string(uuid_b)));
  EXPECT_EQ(listed["uuid"], json(uuid_b));
}

TEST_F(null_plugin, keeps_limits_given_to_it) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  const json body = *json::parse(R"({"order":{"limits":{"cpu":4}}})");
  ASSERT_TRUE(i->call(operation::set_resource_limits, at(uuid_a, body)));
  EXPECT_EQ(pull(*i, uuid_a)["limits"], json::object({{"cpu", 4}}));
}

TEST_F(null_plugin, decides_orders_by_their_attributes) {
  const auto i = open();
  const auto decide = [&i](const char* attributes) {
    host::call_request r;
    r.body = *json::parse(std::string(R"({"order":{"attributes":)") + attributes + "}}");
    return one(*i, operation::evaluate_order, r);
  };
  EXPECT_EQ(decide("{}")["decision"], json("accept"));
  EXPECT_EQ(decide(R"({"reject":"too big"})")["decision"], json("reject"));
  EXPECT_EQ(decide(R"({"reject":"too big"})")["reason"], json("too big"));
  EXPECT_EQ(decide(R"({"wait":true})")["decision"], json("wait"));
}

TEST_F(null_plugin, keeps_its_resources_in_a_private_file) {
  one(*open_with_file(), operation::create_resource, request(uuid_a));

  struct stat st {};

  ASSERT_EQ(::stat(state_file().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  const auto later = open_with_file();
  EXPECT_EQ(pull(*later, uuid_a)["presence"], json("present"));
  EXPECT_EQ(one(*later, operation::create_resource, request(uuid_a))["adopted"], json(true));
  one(*later, operation::delete_resource, at(uuid_a));
  EXPECT_TRUE(objects(*open_with_file(), json::object()).empty());
}

TEST_F(null_plugin, forgets_without_a_file) {
  one(*open(), operation::create_resource, request(uuid_a));
  EXPECT_EQ(pull(*open(), uuid_a)["presence"], json("absent"));
}

TEST_F(null_plugin, is_not_ready_when_its_file_is_damaged_or_out_of_reach) {
  std::ofstream(state_file()) << "{";
  const auto damaged = open_with_file();
  EXPECT_EQ(one(*damaged, operation::ping, {})["error"], json("not_ready"));
  EXPECT_EQ(pull(*damaged, uuid_a)["error"], json("not_ready")) << "unknown, not absent";
  const auto nowhere = open(R"({"state_file":"/nonexistent-directory/state.json"})");
  EXPECT_EQ(one(*nowhere, operation::create_resource, request(uuid_a))["error"], json("not_ready"));
}

TEST_F(null_plugin, loses_nothing_when_two_instances_share_a_file) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const auto i = open_with_file();
      for (int n = 0; n < 5; ++n) {
        std::string uuid(32, '0');
        uuid[0] = static_cast<char>('a' + t);
        uuid[1] = static_cast<char>('0' + n);
        EXPECT_EQ(one(*i, operation::create_resource, request(uuid))["adopted"], json(false));
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(objects(*open_with_file(), json::object()).size(), 40u);
}

TEST_F(null_plugin, fails_the_runs_it_is_told_to) {
  const auto i = open(
      R"({"faults":[{"operation":"ping","nth":2,"times":2,"code":"throttled","retry_after_ms":5}]})"
  );
  std::vector<bool> good;
  for (int n = 0; n < 5; ++n) {
    const auto answer = i->call(operation::ping, {});
    good.push_back(answer.has_value());
    if (!answer) {
      EXPECT_EQ(answer.error().code, error_code::throttled);
      EXPECT_EQ(answer.error().retry_after, std::chrono::milliseconds(5));
    }
  }
  EXPECT_EQ(good, (std::vector<bool>{true, false, false, true, true}));
}

// How a child that runs `work` ends: 0 or the signal.
template <class Work>
int end_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST_F(null_plugin, kills_the_process_where_it_is_told_to) {
  // Loaded before the fork: the children then only use what is there.
  ASSERT_NE(open(), nullptr);
  for (const auto& [when, left] : {std::pair("before", 0u), {"after", 2u}}) {
    const std::string settings = json::object({{"state_file", state_file()},
                                               {"crash_at", std::string(when) + ":create_resource"}}
    ).dump();
    EXPECT_EQ(
        end_of_child([&] { one(*open(settings), operation::create_resource, request(uuid_a)); }),
        SIGKILL
    );
    EXPECT_EQ(objects(*open_with_file(), json::object()).size(), left) << when;
  }
}

TEST_F(null_plugin, dies_at_the_crash_point_of_the_environment_and_is_adopted_later) {
  ASSERT_NE(open(), nullptr);
  EXPECT_EQ(
      end_of_child([&] {
        ::setenv("SITEAGENT_CRASH_AT", "after:put:disk:1", 1);
        one(*open_with_file(), operation::create_resource, request(uuid_a));
      }),
      SIGKILL
  );
  const auto i = open_with_file();
  EXPECT_EQ(objects(*i, tags_of(uuid_a)).size(), 1u) << "the disk only";
  EXPECT_EQ(one(*i, operation::create_resource, request(uuid_a))["adopted"], json(false));
  EXPECT_EQ(objects(*i, tags_of(uuid_a)).size(), 2u);
}

TEST_F(null_plugin, tells_its_diagnostics) {
  const json check = one(*open(), operation::diagnostics, {});
  EXPECT_EQ(check["ok"], json(true));
  EXPECT_EQ(check["detail"], json("0 resources"));
}

TEST_F(null_plugin, describes_an_empty_role_and_the_attributes_it_knows) {
  const auto i = open();
  host::call_request asked;
  asked.body.set("what", "role");
  EXPECT_EQ(one(*i, operation::describe, asked)["rights"].size(), 0u);
  asked.body.set("what", "options");
  const auto options = i->call(operation::describe, asked);
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_EQ(options->size(), 2u);
  EXPECT_EQ((*options)[0]["name"], json("reject"));
  EXPECT_EQ((*options)[1]["name"], json("wait"));
  asked.body.set("what", "weather");
  EXPECT_EQ(i->call(operation::describe, asked).error().code, error_code::unsupported);
}

// Usernames a machine shows, and what the last change said of each.
json users_body(std::initializer_list<const char*> names) {
  json users = json::array();
  for (const char* name : names) {
    users.push_back(json::object({{"username", name}, {"role", "PROJECT.MEMBER"}}));
  }
  return json::object({{"users", std::move(users)}});
}

TEST_F(null_plugin, keeps_no_users_unless_it_is_told_to) {
  const auto i = open();
  one(*i, operation::create_resource, request(uuid_a));
  EXPECT_EQ(pull(*i, uuid_a).find("users"), nullptr);
  const json answer = one(*i, operation::add_members, at(uuid_a, users_body({"alice"})));
  EXPECT_EQ(answer["users"][0]["done"], json(false)) << "nothing to do";
  EXPECT_EQ(pull(*i, uuid_a).find("users"), nullptr);
}

TEST_F(null_plugin, adds_and_removes_users_one_by_one) {
  const auto i = open(R"({"users": "plain"})");
  one(*i, operation::create_resource, request(uuid_a));
  EXPECT_TRUE(pull(*i, uuid_a)["users"].is_array());
  const json answer =
      one(*i, operation::add_members, at(uuid_a, users_body({"alice", "bob", "nobody1", "broken1"}))
      );
  ASSERT_EQ(answer["users"].size(), 4u);
  EXPECT_EQ(answer["users"][1]["done"], json(true));
  EXPECT_EQ(answer["users"][2]["done"], json(false));
  EXPECT_EQ(answer["users"][2].find("error"), nullptr);
  EXPECT_NE(answer["users"][3].find("error"), nullptr);
  EXPECT_EQ(
      pull(*i, uuid_a)["users"].dump(),
      R"([{"username":"alice","role":"PROJECT.MEMBER"},{"username":"bob","role":"PROJECT.MEMBER"}])"
  );
  one(*i, operation::remove_members, at(uuid_a, users_body({"alice", "carol"})));
  EXPECT_EQ(pull(*i, uuid_a)["users"].dump(), R"([{"username":"bob","role":"PROJECT.MEMBER"}])");
  EXPECT_EQ(
      one(*i, operation::add_members, at(uuid_b, users_body({"alice"})))["error"], json("not_found")
  );
}

TEST_F(null_plugin, gives_users_limits_of_their_own_where_it_has_them) {
  const auto i = open(json::object({{"state_file", state_file()}, {"users", "limited"}}).dump());
  one(*i, operation::create_resource, request(uuid_a));
  json body = users_body({"alice", "bob"});
  body.member_ref("users").items()[1].set("limits", json::object({{"cpu", 2}}));
  one(*i, operation::add_members, at(uuid_a, body));
  one(*i, operation::add_members, at(uuid_a, users_body({"bob"}))); // says nothing of limits
  const json users = pull(
      *open(json::object({{"state_file", state_file()}, {"users", "limited"}}).dump()), uuid_a
  )["users"];
  EXPECT_EQ(users[0]["limits"].dump(), "{}");
  EXPECT_EQ(users[1]["limits"].dump(), R"({"cpu":2})");
}

} // namespace
