// SPDX-License-Identifier: MIT
// Mode membership_sync on whole sites: what a pass costs, and users that follow Waldur.
#include "tests/integration/site.hpp"

#include "core/base/clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace siteagent::integration {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view resource_1 = "e2ef0000000000000000000000000a01";
constexpr std::string_view resource_2 = "e2ef0000000000000000000000000a02";
constexpr std::string_view project_2 = "e2ef0000000000000000000000000302";

std::string azure_machine(int number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - digits.size(), '0');
  return "/subscriptions/" + std::string(subscription) +
         "/resourceGroups/seed-machines/providers/Microsoft.Compute/virtualMachines/vm-" + digits;
}

std::string now() {
  return base::to_rfc3339(base::real_clock().wall());
}

// What a pass asked of Waldur about resources and people: without the registration of the agent.
std::vector<journal_line> asked(const site& s, std::uintmax_t from) {
  std::vector<journal_line> lines = s.waldur().journal(from);
  std::erase_if(lines, [](const journal_line& l) {
    return l.path.find("marketplace-site-agent") != std::string::npos;
  });
  return lines;
}

std::vector<std::string> writes(const std::vector<journal_line>& lines) {
  std::vector<std::string> out;
  for (const journal_line& l : lines) {
    if (l.is_write()) {
      out.push_back(l.method + " " + l.path);
    }
  }
  return out;
}

// One path per list, however many pages it has.
std::vector<std::string> lists(const std::vector<journal_line>& lines) {
  std::vector<std::string> out;
  for (const journal_line& l : lines) {
    if (!l.is_write() && l.query.find("page=") == std::string::npos) {
      out.push_back(l.path);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Membership, NothingToDoIsNoWriteAndOneListPerSideHoweverManyMachines) {
  std::map<int, std::vector<std::string>> waldur;
  std::map<int, std::size_t> azure;
  for (const int machines : {10, 100}) {
    site_options options;
    json resources = json::array();
    for (int i = 1; i <= machines; ++i) {
      resources.push_back(json::object(
          {{"name", "vm " + std::to_string(i)},
           {"backend_id", azure_machine(i)},
           {"last_sync", now()}}
      ));
    }
    options.waldur_seed = json::object({{"resources", resources}});
    options.azure_seed = json::object({{"machines", machines}});
    const site s(std::move(options));
    const agent_run first = s.run_agent("membership_sync");
    ASSERT_EQ(first.exit_code, 0) << first.log;
    EXPECT_THAT(writes(asked(s, 0)), SizeIs(machines)) << "metadata, once each";

    const std::uintmax_t waldur_before = s.waldur().journal_size();
    const std::uintmax_t azure_before = s.azure().journal_size();
    const agent_run second = s.run_agent("membership_sync");
    ASSERT_EQ(second.exit_code, 0) << second.log;
    const std::vector<journal_line> lines = asked(s, waldur_before);
    EXPECT_THAT(writes(lines), IsEmpty());
    waldur[machines] = lists(lines);
    azure[machines] = s.azure().journal(azure_before).size();
  }
  EXPECT_THAT(
      waldur[100],
      ElementsAre(
          "/api/marketplace-provider-offerings/" + std::string(offering_uuid) + "/",
          "/api/marketplace-provider-resources/"
      )
  ) << "no team, no user, no single resource: this cloud keeps no users";
  EXPECT_EQ(waldur[10], waldur[100]);
  EXPECT_EQ(azure[10], azure[100]);
}

// The null plugin as a cloud whose machines let users in.
class users_site {
public:
  explicit users_site(json waldur_seed) : site_(options(std::move(waldur_seed))) {
    state_file_ = site_.dir().file("null.json");
    json machines = json::array();
    for (const std::string_view uuid : {resource_1, resource_2}) {
      machines.push_back(json::object(
          {{"uuid", uuid},
           {"name", "machine"},
           {"created_at", "2026-01-01T00:00:00Z"},
           {"tags", json::object()},
           {"limits", json::object()},
           {"users", json::object()},
           {"has_disk", true},
           {"has_machine", true},
           {"power", "running"}}
      ));
    }
    write_file(state_file_, json::object({{"resources", machines}}).dump());
    site_.write_config(
        "  - name: Null VM\n"
        "    waldur_api_url: " +
            site_.waldur().url() +
            "/api/\n"
            "    waldur_api_token: " +
            std::string(agent_token) +
            "\n"
            "    waldur_offering_uuid: " +
            std::string(offering_uuid) +
            "\n"
            "    backend_type: \"null\"\n"
            "    backend_settings:\n"
            "      state_file: " +
            state_file_ +
            "\n"
            "      users: limited\n"
            "      usage: {cpu: 3, ram: 4096}\n"
            "      user_usage: {cpu: \"1.5\"}\n"
            "    backend_components:\n"
            "      cpu: {measured_unit: Cores, unit_factor: 1, accounting_type: usage, label: "
            "CPU}\n"
            "      ram: {measured_unit: MiB, unit_factor: 1, accounting_type: usage, label: RAM}\n",
        "reporting_periods: 1\n"
    );
  }

  static site_options options(json waldur_seed) {
    site_options o;
    o.waldur_seed = std::move(waldur_seed);
    return o;
  }

  const site& operator*() const { return site_; }

  const site* operator->() const { return &site_; }

  void pass() const {
    const agent_run run = site_.run_agent("membership_sync");
    ASSERT_EQ(run.exit_code, 0) << run.log;
  }

  // Names of the users the machine lets in.
  std::vector<std::string> users_of(std::string_view uuid) const {
    std::vector<std::string> names;
    const auto state = json::parse(read_file(state_file_));
    for (const json& r : (*state)["resources"].items()) {
      if (r["uuid"] == json(uuid)) {
        for (const auto& [name, user] : r["users"].members()) {
          names.push_back(name);
        }
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  json user_of(std::string_view uuid, std::string_view name) const {
    const auto state = json::parse(read_file(state_file_));
    for (const json& r : (*state)["resources"].items()) {
      if (r["uuid"] == json(uuid)) {
        return r["users"][name];
      }
    }
    return {};
  }

  std::string state_of_user(const std::string& uuid) const {
    return call(
               "GET",
               site_.waldur().url() + "/api/marketplace-offering-users/" + uuid + "/",
               {},
               staff_token
    )
        .body["state"]
        .string_or("");
  }

private:
  site site_;
  std::string state_file_;
};

json person(int n, const std::string& name, const std::vector<std::string_view>& projects) {
  json permissions = json::array();
  for (const std::string_view project : projects) {
    permissions.push_back(
        json::object({{"role", "PROJECT.MEMBER"}, {"scope", "project"}, {"scope_uuid", project}})
    );
  }
  return json::object(
      {{"uuid", "e2ef00000000000000000000000007" + std::to_string(10 + n)},
       {"username", "login-" + name},
       {"full_name", name},
       {"email", name + "@example.com"},
       {"permissions", permissions}}
  );
}

json account(int n, const std::string& name, const std::string& state) {
  return json::object(
      {{"uuid", "e2ef00000000000000000000000008" + std::to_string(10 + n)},
       {"user", "e2ef00000000000000000000000007" + std::to_string(10 + n)},
       {"username", name},
       {"state", state}}
  );
}

std::string account_uuid(int n) {
  return "e2ef00000000000000000000000008" + std::to_string(10 + n);
}

// Alice in both projects, Bob in the first, Carol without a name yet; a resource in each.
json people_seed(json plugin_options = json::object()) {
  const json manager = json::object(
      {{"role", "OFFERING.MANAGER"}, {"scope", "offering"}, {"scope_uuid", offering_uuid}}
  );
  json users = json::array();
  users.push_back(json::object(
      {{"uuid", "e2ef0000000000000000000000000601"},
       {"username", "site-agent"},
       {"token", agent_token},
       {"permissions", json::array({manager})}}
  ));
  users.push_back(json::object(
      {{"uuid", "e2ef0000000000000000000000000602"},
       {"username", "staff"},
       {"token", staff_token},
       {"is_staff", true}}
  ));
  users.push_back(person(1, "alice", {project_uuid, project_2}));
  users.push_back(person(2, "bob", {project_uuid}));
  users.push_back(person(3, "carol", {project_uuid}));
  const auto machine = [](std::string_view uuid, std::string_view project) {
    return json::object(
        {{"uuid", uuid},
         {"name", "machine"},
         {"project", project},
         {"backend_id", "null:" + std::string(uuid)},
         {"last_sync", now()}}
    );
  };
  return json::object(
      {{"projects",
        json::array(
            {json::object({{"uuid", project_uuid}, {"name", "One"}}),
             json::object({{"uuid", project_2}, {"name", "Two"}})}
        )},
       {"offerings",
        json::array({json::object(
            {{"uuid", offering_uuid},
             {"name", "Machines"},
             {"type", "Marketplace.Slurm"},
             {"plugin_options", std::move(plugin_options)}}
        )})},
       {"users", std::move(users)},
       {"resources",
        json::array({machine(resource_1, project_uuid), machine(resource_2, project_2)})},
       {"offering_users",
        json::array(
            {account(1, "alice", "OK"), account(2, "bob", "OK"), account(3, "", "Requested")}
        )}}
  );
}

TEST(Membership, UsersOfAMachineFollowTheTeamAccountsLimitsAndRestrictions) {
  json seed = people_seed(json::object({{"enable_membership_sync_status", true}}));
  seed.set(
      "service_accounts",
      json::array({json::object({{"username", "robot"}, {"project", project_uuid}})})
  );
  seed.set(
      "user_limits",
      json::array({json::object(
          {{"resource", resource_1},
           {"component_type", "cpu"},
           {"user", account_uuid(2)},
           {"limit", "4"}}
      )})
  );
  const users_site s(std::move(seed));
  s.pass();
  EXPECT_THAT(s.users_of(resource_1), ElementsAre("alice", "bob", "robot"));
  EXPECT_THAT(s.users_of(resource_2), ElementsAre("alice"));
  EXPECT_EQ(s.user_of(resource_1, "bob")["role"], json("PROJECT.MEMBER"));
  s.pass(); // limits of users are known to be kept once a user is there
  EXPECT_EQ(s.user_of(resource_1, "bob").at({"limits", "cpu"}).integer(), 4);

  const std::uintmax_t before = s->waldur().journal_size();
  s.pass();
  EXPECT_THAT(
      writes(asked(*s, before)),
      ElementsAre(
          HasSubstr("set_membership_sync_statuses"), HasSubstr("set_membership_sync_statuses")
      )
  ) << "a new process tells the whole state once per resource, and writes nothing else";

  // Bob leaves the team; the robot is closed.
  json left = json::object(
      {{"users", people_seed()["users"]},
       {"service_accounts",
        json::array(
            {json::object({{"username", "robot"}, {"project", project_uuid}, {"state", "Closed"}})}
        )}}
  );
  left.member_ref("users").items()[3].set("permissions", json::array());
  s->waldur().seed(left);
  s.pass();
  EXPECT_THAT(s.users_of(resource_1), ElementsAre("alice"));

  // The first resource is restricted.
  json restricted = people_seed()["resources"];
  restricted.items()[0].set("restrict_member_access", true);
  s->waldur().seed(json::object({{"resources", restricted}}));
  s.pass();
  EXPECT_THAT(s.users_of(resource_1), IsEmpty());
  EXPECT_THAT(s.users_of(resource_2), ElementsAre("alice"));
}

TEST(Membership, OfferingUsersAreTakenOnAndTornDownByTheBuiltInBackend) {
  const users_site s(people_seed(json::object(
      {{"username_generation_policy", "service_provider"},
       {"service_provider_can_create_offering_user", true}}
  )));
  s.pass();
  EXPECT_EQ(s.state_of_user(account_uuid(3)), "Creating") << "taken on; a name comes by hand";
  EXPECT_THAT(s.users_of(resource_1), ElementsAre("alice", "bob"));
  // A person gives Carol her name, and Alice is asked to go.
  const std::string users = s->waldur().url() + "/api/marketplace-offering-users/";
  EXPECT_EQ(
      call(
          "PATCH", users + account_uuid(3) + "/", json::object({{"username", "carol"}}), staff_token
      )
          .status,
      200
  );
  EXPECT_EQ(
      call("POST", users + account_uuid(1) + "/request_deletion/", json::object(), staff_token)
          .status,
      200
  );
  s.pass();
  EXPECT_EQ(s.state_of_user(account_uuid(1)), "Deleted");
  EXPECT_EQ(s.state_of_user(account_uuid(3)), "OK");
  EXPECT_THAT(s.users_of(resource_1), ElementsAre("bob", "carol"));
  EXPECT_THAT(s.users_of(resource_2), IsEmpty());
}

json rows_of_user_usage(const site& s) {
  const std::string url = s.waldur().url() + "/api/marketplace-component-user-usages/";
  return call("GET", url, {}, staff_token).body;
}

// "alice cpu 1.50", as Waldur shows it.
std::vector<std::string> usage_of_users(const site& s, std::string_view resource) {
  std::vector<std::string> out;
  const json rows = rows_of_user_usage(s);
  for (const json& row : rows.items()) {
    if (row["resource_uuid"] == json(resource)) {
      out.push_back(
          row["username"].string_or("") + " " + row["component_type"].string_or("") + " " +
          row["usage"].string_or("")
      );
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Membership, TheUsageOfEachUserOfAMachineArrivesInWaldurOnce) {
  const users_site s(people_seed());
  s.pass();
  const auto report = [&] {
    const agent_run run = s->run_agent("report");
    EXPECT_EQ(run.exit_code, 0) << run.log;
    return run.log;
  };
  const std::string log = report();
  EXPECT_THAT(usage_of_users(*s, resource_1), ElementsAre("alice cpu 1.50", "bob cpu 1.50")) << log;
  EXPECT_THAT(usage_of_users(*s, resource_2), ElementsAre("alice cpu 1.50"));
  // Rows of people with an account are linked to it.
  const json rows = rows_of_user_usage(*s);
  for (const json& row : rows.items()) {
    EXPECT_THAT(row["user"].string_or(""), HasSubstr("/api/marketplace-offering-users/"));
  }
  const std::uintmax_t before = s->waldur().journal_size();
  report();
  EXPECT_THAT(writes(asked(*s, before)), IsEmpty()) << "what is booked is not booked again";
}

} // namespace
} // namespace siteagent::integration
