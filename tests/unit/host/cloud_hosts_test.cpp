// SPDX-License-Identifier: MIT
// The second extension: loading, settings of its own, operations of its own.
#include "support.hpp"

#include "core/host/deadlines.hpp"
#include "core/host/negotiate.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using host::operation;
using siteagent::base::error_code;
using siteagent::base::json;

host::instance_options hosts_with(json settings) {
  return {
      .offering_name = {},
      .settings = config::to_value(settings),
      .config_file = "profile.json",
      .key_path = "settings",
      .extension = SAGENT_EXT_CLOUD_HOST_PROVIDER,
      .secrets = {}};
}

json account() {
  return json::object({{"bindings", json::object({{"account", "abc"}, {"login", "dev"}})}});
}

TEST(cloud_hosts, stand_beside_a_resource_backend_in_one_plugin) {
  const auto both = load("two-extensions", good_plugins());
  ASSERT_NE(both, nullptr);
  const host::plugin_info info = host::info_of(*both);
  EXPECT_EQ(
      info.extensions,
      (std::vector<std::string>{SAGENT_EXT_RESOURCE_BACKEND, SAGENT_EXT_CLOUD_HOST_PROVIDER})
  );
  EXPECT_NE(info.settings_schema().find("state"), std::string::npos);
  EXPECT_NE(
      info.settings_schema(SAGENT_EXT_CLOUD_HOST_PROVIDER).find("bindings"), std::string::npos
  );
  EXPECT_EQ(info.settings_schema("sagent.other/1"), "");
  EXPECT_EQ((*json::parse(info.cloud_hosts))["display_name"], json("Two"));
}

TEST(cloud_hosts, are_seen_by_inspection_as_by_loading) {
  const auto seen = host::inspect_plugin("two-extensions", developer(good_plugins()));
  ASSERT_TRUE(seen) << seen.error().message;
  const host::plugin_info info = host::info_of(*load("two-extensions", good_plugins()));
  EXPECT_EQ(seen->extensions, info.extensions);
  EXPECT_EQ(seen->settings_schemas, info.settings_schemas);
  EXPECT_EQ(seen->cloud_hosts, info.cloud_hosts);
}

TEST(cloud_hosts, F3_are_not_offered_by_every_plugin) {
  const auto plain = load("minimal", good_plugins());
  ASSERT_NE(plain, nullptr);
  EXPECT_FALSE(host::info_of(*plain).offers(SAGENT_EXT_CLOUD_HOST_PROVIDER));
  const auto opened = host::instance::open(plain, hosts_with(account()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::invalid);
  EXPECT_NE(opened.error().message.find(SAGENT_EXT_CLOUD_HOST_PROVIDER), std::string::npos);
}

TEST(cloud_hosts, have_only_the_operations_of_their_extension) {
  const auto both = load("two-extensions", good_plugins());
  const auto hosts = host::instance::open(both, hosts_with(account()));
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_TRUE((*hosts)->call(operation::host_state, {}));
  EXPECT_EQ((*hosts)->call(operation::ping, {}).error().code, error_code::unsupported);
  const auto backend = open("two-extensions", good_plugins());
  ASSERT_NE(backend, nullptr);
  EXPECT_TRUE(backend->call(operation::ping, {}));
  EXPECT_EQ(backend->call(operation::check, {}).error().code, error_code::unsupported);
}

TEST(cloud_hosts, read_a_secret_that_is_no_setting_afresh_at_each_use) {
  auto options = hosts_with(account());
  options.settings = config::to_value(json::object({
      {"bindings", json::object({{"account", "abc"}})},
      {"credentials", json::object({{"control", json::object({{"key", "control.key"}})}})},
      {"options", json::object({{"echo", true}})},
  }));
  int reads = 0;
  options.secrets.emplace_back("control.key", [&reads] {
    ++reads;
    return siteagent::base::result<siteagent::base::secret>(
        siteagent::base::secret(std::string(10 + static_cast<std::size_t>(reads), 'k'))
    );
  });
  const auto opened = host::instance::open(load("two-extensions", good_plugins()), options);
  ASSERT_TRUE(opened) << opened.error().message;
  std::vector<json> sizes;
  host::call_options o;
  o.checkpoint = [&sizes](const json& what) {
    sizes.push_back(what.at({"echo", "secret_size"}));
    return siteagent::base::result<void>();
  };
  EXPECT_EQ(reads, 0) << "not when it is opened";
  EXPECT_TRUE((*opened)->call(operation::check, {}, o));
  EXPECT_TRUE((*opened)->call(operation::check, {}, o));
  EXPECT_EQ(sizes, (std::vector<json>{11, 12}));
}

TEST(cloud_hosts, have_settings_checked_by_their_own_schema_without_a_limits_key_of_the_agent) {
  const auto both = load("two-extensions", good_plugins());
  json settings = account();
  settings.set("limits", json::object({{"operation_s", 5}, {"poll_ms", 1}}));
  EXPECT_TRUE(host::instance::open(both, hosts_with(settings)));
  settings.set("options", json::object({{"ecko", true}}));
  std::vector<config::finding> findings;
  const auto refused = host::instance::open(both, hosts_with(settings), &findings);
  ASSERT_FALSE(refused);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].key, "settings.options.ecko");
  EXPECT_NE(findings[0].why.find("did you mean 'echo'"), std::string::npos);
}

TEST(cloud_hosts, have_the_deadlines_of_their_header) {
  EXPECT_EQ(host::default_deadline(operation::validate_host), 60s);
  EXPECT_EQ(host::default_deadline(operation::price_size), 10min);
  EXPECT_EQ(host::default_deadline(operation::credit_balance), 60s);
  EXPECT_EQ(host::default_deadline(operation::admit_addresses), 20min);
  EXPECT_EQ(host::default_deadline(operation::create_host), 60min);
  EXPECT_EQ(host::default_deadline(operation::host_state), 60s);
  EXPECT_EQ(host::default_deadline(operation::list_hosts), 10min);
  EXPECT_EQ(host::default_deadline(operation::delete_host), 120min);
  EXPECT_EQ(host::default_deadline(operation::check), 60s);
  EXPECT_EQ(host::name_of(operation::admit_addresses), "admit_addresses");
  for (const std::string_view key : host::limit_keys()) {
    EXPECT_FALSE(key.empty() || key == "create_host_s") << key;
  }
}

TEST(cloud_hosts, F3_with_a_table_that_lacks_an_operation_or_is_too_short_are_refused) {
  auto loaded = host::load_plugin("hosts-incomplete", developer(broken_plugins()));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("delete_host"), std::string::npos);
  EXPECT_NE(loaded.error().message.find(SAGENT_EXT_CLOUD_HOST_PROVIDER), std::string::npos);
  sagent_cloud_host_provider table{};
  table.struct_size = offsetof(sagent_cloud_host_provider, check);
  const auto read = host::read_cloud_host_provider(&table);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("bytes long"), std::string::npos);
  EXPECT_FALSE(host::read_cloud_host_provider(nullptr));
}

TEST(cloud_hosts, of_a_newer_plugin_lose_their_unknown_tail) {
  const auto loaded = load("hosts-say-nothing", broken_plugins());
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(host::info_of(*loaded).cloud_hosts, "");
}

} // namespace
