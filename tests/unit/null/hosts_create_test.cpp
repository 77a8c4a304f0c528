// SPDX-License-Identifier: MIT
// The null provider: making hosts, and undoing what was made.
#include "hosts_fixture.hpp"

#include <algorithm>
#include <thread>

namespace {

using namespace null_test;

const std::vector<std::string> made_in_order = {
    "before:put:public-address",
    "after:put:public-address",
    "before:put:security-group",
    "after:put:security-group",
    "before:put:network-interface",
    "after:put:network-interface",
    "before:put:virtual-machine",
    "after:put:virtual-machine"};

class null_create : public null_cloud {
protected:
  void admit() { answer(operation::admit_addresses, admission()); }

  error create_fails(const std::string& name = "b1") {
    return failure(operation::create_host, host_body(name));
  }

  static std::vector<std::string> kinds(const json& list) {
    std::vector<std::string> all;
    for (const json& each : list.items()) {
      all.push_back(each["kind"].string_or(""));
    }
    return all;
  }
};

TEST_F(null_create, R40_makes_address_group_interface_and_machine_in_this_order) {
  const json made = make("b1");
  EXPECT_EQ(told_, made_in_order);
  EXPECT_EQ(made["ssh_port"], json(22));
  EXPECT_EQ(made["address"], object("/null/public-address/b1-ip")["address"]);
  const json machine = object("/null/virtual-machine/b1");
  EXPECT_EQ(made["vm_id"], machine["vm_id"]);
  EXPECT_EQ(made["created_at"], machine["created_at"]);
  EXPECT_EQ(machine["power"], json("running"));
  EXPECT_EQ(machine["size"], json("Medium")) << "the cloud's own spelling";
  EXPECT_EQ(made.at({"resources", "virtual-machine"}), json("/null/virtual-machine/b1"));
  const json interface = object("/null/network-interface/b1-nic");
  EXPECT_EQ(interface["application_groups"][0], host_body("b1")["group_id"]);
  EXPECT_EQ(interface["group_id"], json("/null/security-group/b1-nsg"));
  EXPECT_EQ(objects().size(), 5u);
  for (const std::string& id : objects()) {
    EXPECT_EQ(object(id)["tags"], host_body("b1")["tags"]) << id;
    EXPECT_EQ(object(id)["status"], json("ready")) << id;
  }
}

TEST_F(null_create, lets_the_key_in_at_the_next_waiting_machine_and_shuts_it_on_return) {
  options_ = json::object(
      {{"hosts",
        json::array(
            {json::object({{"address", "127.0.0.8"}, {"port", 2201}, {"folder", folder_ + "/one"}}),
             json::object({{"address", "127.0.0.9"}, {"port", 2202}, {"folder", folder_ + "/two"}})}
        )}}
  );
  const json one = make("b1");
  const json two = make("b2");
  EXPECT_EQ(one["address"], json("127.0.0.8"));
  EXPECT_EQ(two["address"], json("127.0.0.9"));
  EXPECT_EQ(two["ssh_port"], json(2202));
  EXPECT_EQ(text_of(folder_ + "/two/authorized_keys"), "ssh-ed25519 AAAA b2\n");
  EXPECT_EQ(text_of(folder_ + "/two/user-data"), "#cloud-config\n");
  EXPECT_EQ(create_fails("b3").code, error_code::no_capacity);
  answer(operation::delete_host, known("b1", one["vm_id"]));
  EXPECT_EQ(text_of(folder_ + "/one/authorized_keys"), "");
  EXPECT_EQ(make("b3")["address"], json("127.0.0.8"));
}

TEST_F(null_create, two_at_once_never_share_a_waiting_machine) {
  admit();
  script(R"({"polls":3})");
  const auto opened = open_with(settings());
  std::vector<std::string> addresses(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto made = opened->call(
            operation::create_host,
            {.target = {},
             .body = host_body("b" + std::to_string(i)),
             .idempotency_key = {},
             .dry_run = false}
        );
        addresses[i] = made ? made->front()["address"].string_or("") : made.error().message;
      });
    }
  }
  std::sort(addresses.begin(), addresses.end());
  EXPECT_EQ(std::unique(addresses.begin(), addresses.end()), addresses.end());
  EXPECT_EQ(objects().size(), 5u * 8u);
}

class null_existing : public null_create, public testing::WithParamInterface<const char*> {};

TEST_P(null_existing, F25_object_of_that_name_is_named_and_nothing_is_written) {
  admit();
  const std::string id = GetParam();
  change([&](json& all) {
    all.member_ref("objects").set(id, json::object({{"kind", "x"}, {"owner", "somebody"}}));
  });
  const json before = state();
  const error e = create_fails();
  EXPECT_EQ(e.code, error_code::conflict);
  EXPECT_NE(e.message.find(id), std::string::npos);
  EXPECT_EQ(parse(e.detail).at({"resource", "id"}), json(id));
  EXPECT_EQ(state(), before);
  EXPECT_TRUE(told_.empty());
}

INSTANTIATE_TEST_SUITE_P(
    objects,
    null_existing,
    testing::Values(
        "/null/public-address/b1-ip",
        "/null/security-group/b1-nsg",
        "/null/network-interface/b1-nic",
        "/null/virtual-machine/b1",
        "/null/disk/b1-os"
    )
);

struct refused_write {
  const char* row;
  const char* kind;
  const char* when;
  std::vector<std::string> created;
};

class null_rollback : public null_create, public testing::WithParamInterface<refused_write> {};

TEST_P(null_rollback, R43_removes_what_was_made_in_reverse_and_says_so) {
  admit();
  script(
      R"({"polls":2,"faults":[{"verb":"put","kind":")" + std::string(GetParam().kind) +
      R"(","when":")" + GetParam().when +
      R"(","http_status":409,"code":"Refused","error":"quota"}]})"
  );
  const error e = create_fails();
  EXPECT_EQ(e.code, error_code::quota);
  EXPECT_NE(e.message.find("was not made: PUT /null/"), std::string::npos);
  EXPECT_NE(e.message.find("HTTP 409: Refused"), std::string::npos);
  EXPECT_TRUE(objects().empty());
  const json detail = parse(e.detail);
  EXPECT_EQ(kinds(detail["created"]), GetParam().created);
  EXPECT_EQ(detail["not_removed"].size(), 0u);
  std::vector<std::string> removals;
  for (const std::string& point : told_) {
    if (point.substr(0, 13) == "after:delete:") {
      removals.push_back(point.substr(13));
    }
  }
  std::vector<std::string> reversed = GetParam().created;
  std::reverse(reversed.begin(), reversed.end());
  if (std::string(GetParam().when) == "end" && std::string(GetParam().kind) == "virtual-machine") {
    std::erase(reversed, "disk"); // goes with its machine
  }
  EXPECT_EQ(removals, reversed);
}

INSTANTIATE_TEST_SUITE_P(
    refusals,
    null_rollback,
    testing::Values(
        refused_write{"F26_address", "public-address", "before", {}},
        refused_write{"F26_address_at_its_end", "public-address", "end", {"public-address"}},
        refused_write{"F27_group", "security-group", "before", {"public-address"}},
        refused_write{
            "F27_interface", "network-interface", "before", {"public-address", "security-group"}},
        refused_write{
            "F28_machine",
            "virtual-machine",
            "before",
            {"public-address", "security-group", "network-interface", "disk"}},
        refused_write{
            "F28_machine_at_its_end",
            "virtual-machine",
            "end",
            {"public-address", "security-group", "network-interface", "disk", "virtual-machine"}}
    ),
    [](const auto& given) { return given.param.row; }
);

TEST_F(null_create, F29_an_operation_that_never_ends_is_given_up_and_undone) {
  operation_s_ = 1;
  admit();
  script(R"({"polls":{"virtual-machine":{"put":-1}}})");
  const error e = create_fails();
  EXPECT_EQ(e.code, error_code::deadline);
  EXPECT_NE(e.message.find("did not end within 1 s"), std::string::npos);
  EXPECT_TRUE(objects().empty());
}

TEST_F(null_create, F30_names_what_could_not_be_removed_and_what_stands_on_it) {
  admit();
  script(R"({"held":[{"kind":"network-interface","calls":1,"cause":"reserved for 180 s"}],
             "faults":[{"verb":"put","kind":"virtual-machine","http_status":500}]})");
  const error e = create_fails();
  EXPECT_EQ(e.code, error_code::transient);
  const json left = parse(e.detail)["not_removed"];
  EXPECT_EQ(
      kinds(left),
      (std::vector<std::string>{"network-interface", "security-group", "public-address"})
  );
  EXPECT_EQ(left[0]["cause"], json("reserved for 180 s"));
  EXPECT_NE(e.message.find("HTTP 500"), std::string::npos) << "the first cause stays first";
  EXPECT_EQ(objects().size(), 3u);
}

TEST_F(null_create, a_lost_answer_is_looked_after_and_the_object_kept) {
  admit();
  script(R"({"faults":[{"verb":"put","kind":"virtual-machine","when":"after","http_status":504}]})"
  );
  EXPECT_EQ(answer(operation::create_host, host_body("b1"))["vm_id"].is_string(), true);
  EXPECT_EQ(objects().size(), 5u);
}

TEST_F(null_create, told_to_stop_it_leaves_everything_and_returns_that_code) {
  admit();
  at_checkpoint_ = [](const std::string& point) -> base::result<void> {
    if (point == "after:put:network-interface") {
      return error{.code = error_code::cancelled, .message = "interrupted"};
    }
    return {};
  };
  EXPECT_EQ(create_fails().code, error_code::cancelled);
  EXPECT_EQ(objects().size(), 3u);
}

TEST_F(null_create, stopped_in_the_middle_of_a_wait_it_undoes_nothing) {
  admit();
  script(R"({"polls":{"virtual-machine":-1}})");
  at_checkpoint_ = [this](const std::string& point) {
    if (point == "poll:put:virtual-machine") {
      EXPECT_EQ(object("/null/virtual-machine/b1")["status"], json("creating"))
          << "the state is visible meanwhile";
      stop_.request_stop();
    }
    return base::result<void>();
  };
  EXPECT_EQ(create_fails().code, error_code::cancelled);
  EXPECT_EQ(objects().size(), 5u);
}

TEST_F(null_create, takes_as_many_polls_as_told) {
  admit();
  script(R"({"polls":{"put":2,"public-address":1}})");
  answer(operation::create_host, host_body("b1"));
  EXPECT_EQ(std::count(told_.begin(), told_.end(), "poll:put:public-address"), 1);
  EXPECT_EQ(std::count(told_.begin(), told_.end(), "poll:put:virtual-machine"), 2);
}

TEST_F(null_create, a_quota_is_a_limit_on_a_kind) {
  change([](json& all) { all.set("quota", parse(R"({"virtual-machine":1})")); });
  make("b1");
  const error e = create_fails("b2");
  EXPECT_EQ(e.code, error_code::quota);
  EXPECT_EQ(e.provider_code, "QuotaExceeded");
  EXPECT_EQ(objects().size(), 5u) << "b2 was undone";
}

TEST_F(null_create, needs_the_group_of_the_location) {
  EXPECT_EQ(create_fails().code, error_code::not_found);
  EXPECT_TRUE(told_.empty());
}

TEST_F(null_create, the_whole_operation_may_fail_before_and_after) {
  admit();
  script(R"({"faults":[{"operation":"create_host","http_status":429,"retry_after_s":7},
                       {"operation":"create_host","when":"after","error":"outcome_unknown"}]})");
  const error first = create_fails();
  EXPECT_EQ(first.code, error_code::throttled);
  EXPECT_EQ(first.retry_after, std::chrono::seconds(7));
  EXPECT_TRUE(objects().empty());
  EXPECT_EQ(create_fails().code, error_code::outcome_unknown);
  EXPECT_EQ(objects().size(), 5u) << "it is done all the same";
}

TEST_F(null_create, the_kth_request_fails_and_the_count_goes_on_in_the_next_process) {
  admit();
  script(
      R"({"faults":[{"verb":"put","kind":"public-address","nth":2,"times":1,"http_status":500}]})"
  );
  answer(operation::create_host, host_body("b1"));
  open_.reset(); // as another process would find it
  EXPECT_EQ(create_fails("b2").code, error_code::transient);
  answer(operation::create_host, host_body("b3"));
}

TEST_F(null_create, a_dry_run_makes_every_check_and_writes_nothing) {
  json body = host_body("b1");
  body.set("group_id", json()).set("public_key", "").set("user_data", "");
  const json before = state();
  const json checks = answer(operation::create_host, body, true)["checks"];
  std::vector<std::string> names;
  for (const json& each : checks.items()) {
    names.push_back(each["name"].string_or(""));
    EXPECT_EQ(each["ok"], json(true)) << each.dump();
  }
  EXPECT_EQ(
      names, (std::vector<std::string>{"subnet", "image", "size", "quota", "names", "rights"})
  );
  EXPECT_EQ(state(), before);
  change([](json& all) {
    all.set("locations", parse(R"({"there":{}})")).set("sizes", parse(R"({"Large":{}})"));
    all.set("quota", parse(R"({"disk":0})"));
    all.set(
        "script",
        parse(
            R"({"faults":[{"kind":"rights","http_status":403},{"kind":"image","http_status":404}]})"
        )
    );
    all.set("objects", parse(R"({"/null/disk/b1-os":{"kind":"disk"}})"));
  });
  const json bad = answer(operation::create_host, body, true)["checks"];
  EXPECT_EQ(bad.size(), 6u);
  for (const json& each : bad.items()) {
    EXPECT_EQ(each["ok"], json(false)) << each.dump();
  }
}

TEST_F(null_create, F41_crashes_once_where_it_is_told_to) {
  for (const char* point :
       {"before:create_host", "after:put:public-address", "before:put:virtual-machine"}) {
    set_state(R"({"script":{}})");
    admit();
    script(R"({"crash_at":")" + std::string(point) + "\"}");
    EXPECT_EXIT(call(operation::create_host, host_body("b1")), testing::ExitedWithCode(70), "")
        << point;
    EXPECT_TRUE(state().at({"script", "crash_at"}).is_null());
  }
  EXPECT_EQ(objects().size(), 4u) << "address, group, interface and the disk of the last one";
}

} // namespace
