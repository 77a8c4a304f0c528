// SPDX-License-Identifier: MIT
// One plugin with two extensions, each served by a class of its own, and the shape of the tables:
// nothing of the core is linked.
#include <sagent/cpp/plugin.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

int alive = 0;

class backend final : public sagent::resource_backend {
public:
  backend(sagent::host, const sagent::request&) { ++alive; }

  ~backend() override { --alive; }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  static const char* settings_schema() { return "{\"title\":\"backend\"}"; }

  void ping(sagent::call& call, const sagent::request&) override { call.emit("{\"is\":\"a\"}"); }

  void evaluate_order(sagent::call&, const sagent::request&) override {}

  void create_resource(sagent::call&, const sagent::request&) override {}

  void delete_resource(sagent::call&, const sagent::request&) override {}

  void pause(sagent::call&, const sagent::request&) override {}

  void downscale(sagent::call&, const sagent::request&) override {}

  void restore(sagent::call&, const sagent::request&) override {}

  void pull_resources(sagent::call&, const sagent::request&) override {}

  void report_usage(sagent::call&, const sagent::request&) override {}

  void list_resources(sagent::call&, const sagent::request&) override {}

  void set_resource_limits(sagent::call&, const sagent::request&) override {}

  void diagnostics(sagent::call&, const sagent::request&) override {}
};

// Every method says its own name; the settings say what goes wrong.
class hosts : public sagent::cloud_host_provider {
public:
  hosts(sagent::host, const sagent::request& settings) {
    if (settings.body == "refuse") {
      throw sagent::failure(SAGENT_E_INVALID, "bad settings");
    }
    alive += 100;
  }

  ~hosts() override { alive -= 100; }

  static const char* settings_schema() { return "{\"title\":\"hosts\"}"; }

  static const char* describe() { return "{\"display_name\":\"Sample\"}"; }

#define SAYS_ITS_NAME(name)                                                                        \
  void name(sagent::call& call, const sagent::request&) override {                                 \
    call.emit("{\"" #name "\":1}");                                                                \
  }
  SAYS_ITS_NAME(validate_host)
  SAYS_ITS_NAME(price_size)
  SAYS_ITS_NAME(credit_balance)
  SAYS_ITS_NAME(admit_addresses)
  SAYS_ITS_NAME(create_host)
  SAYS_ITS_NAME(host_state)
  SAYS_ITS_NAME(list_hosts)
  SAYS_ITS_NAME(delete_host)
#undef SAYS_ITS_NAME

  void check(sagent::call&, const sagent::request& request) override {
    sagent::failure f(SAGENT_E_FORBIDDEN, std::string(request.body));
    f.detail = "{\"http_status\":403}";
    throw f;
  }
};

class without_words final : public hosts {
public:
  using hosts::hosts;

  static const char* describe() { throw std::runtime_error("no words"); }
};

SAGENT_PLUGIN("sample", "1.2.3", "us", backend, hosts)

std::vector<std::string> emitted;
std::string failed;
std::string detail;

class both_extensions : public testing::Test {
protected:
  both_extensions() {
    emitted.clear();
    failed.clear();
    detail.clear();
    call_.struct_size = sizeof call_;
    call_.emit = [](const sagent_call*, const char* json, std::uint64_t len) {
      emitted.emplace_back(json, len);
      return sagent_code{SAGENT_OK};
    };
    call_.fail = [](const sagent_call*, const sagent_error_info* info) {
      failed = sagent::view(info->message);
      detail = sagent::view(info->detail);
    };
  }

  sagent_instance* create(const char* extension, const char* body = "{}") {
    sagent_request r{};
    r.struct_size = sizeof r;
    r.target = sagent::borrow(extension);
    r.body = sagent::borrow(body);
    sagent_instance* made = nullptr;
    code_ = plugin_->create(nullptr, &call_, &r, &made);
    return made;
  }

  sagent_code run(sagent_method slot, sagent_instance* self, const char* body = "{}") {
    sagent_request r{};
    r.struct_size = sizeof r;
    r.body = sagent::borrow(body);
    return slot(self, &call_, &r);
  }

  const sagent_plugin* plugin_ = sagent_plugin_v0();
  const sagent_cloud_host_provider* provider_ = static_cast<const sagent_cloud_host_provider*>(
      plugin_->get_extension(SAGENT_EXT_CLOUD_HOST_PROVIDER)
  );
  sagent_call call_{};
  sagent_code code_ = SAGENT_OK;
};

TEST_F(both_extensions, are_offered_with_their_own_schemas_and_the_strictest_thread_model) {
  ASSERT_NE(provider_, nullptr);
  EXPECT_NE(plugin_->get_extension(SAGENT_EXT_RESOURCE_BACKEND), nullptr);
  EXPECT_EQ(plugin_->get_extension("sagent.cloud-host-provider/2"), nullptr);
  EXPECT_STREQ(
      plugin_->get_settings_schema(SAGENT_EXT_RESOURCE_BACKEND), "{\"title\":\"backend\"}"
  );
  EXPECT_STREQ(
      plugin_->get_settings_schema(SAGENT_EXT_CLOUD_HOST_PROVIDER), "{\"title\":\"hosts\"}"
  );
  EXPECT_EQ(plugin_->thread_model, SAGENT_THREADS_PER_INSTANCE);
  EXPECT_STREQ(provider_->describe(), "{\"display_name\":\"Sample\"}");
}

TEST_F(both_extensions, have_instances_of_their_own_class) {
  sagent_instance* a = create(SAGENT_EXT_RESOURCE_BACKEND);
  sagent_instance* b = create(SAGENT_EXT_CLOUD_HOST_PROVIDER);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(alive, 101);
  const auto* backend_table =
      static_cast<const sagent_resource_backend*>(plugin_->get_extension(SAGENT_EXT_RESOURCE_BACKEND
      ));
  EXPECT_EQ(run(backend_table->ping, a), SAGENT_OK);
  EXPECT_EQ(emitted.back(), "{\"is\":\"a\"}");
  plugin_->destroy(a);
  EXPECT_EQ(alive, 100) << "each is destroyed as what it is";
  plugin_->destroy(b);
  EXPECT_EQ(alive, 0);
}

TEST_F(both_extensions, have_every_operation_in_its_slot) {
  sagent_instance* self = create(SAGENT_EXT_CLOUD_HOST_PROVIDER);
  ASSERT_NE(self, nullptr);
  const std::pair<sagent_method, const char*> slots[] = {
      {provider_->validate_host, "{\"validate_host\":1}"},
      {provider_->price_size, "{\"price_size\":1}"},
      {provider_->credit_balance, "{\"credit_balance\":1}"},
      {provider_->admit_addresses, "{\"admit_addresses\":1}"},
      {provider_->create_host, "{\"create_host\":1}"},
      {provider_->host_state, "{\"host_state\":1}"},
      {provider_->list_hosts, "{\"list_hosts\":1}"},
      {provider_->delete_host, "{\"delete_host\":1}"},
  };
  for (const auto& [slot, answer] : slots) {
    EXPECT_EQ(run(slot, self), SAGENT_OK);
    EXPECT_EQ(emitted.back(), answer);
  }
  EXPECT_EQ(run(provider_->check, self, "no rights"), SAGENT_E_FORBIDDEN);
  EXPECT_EQ(failed, "no rights");
  EXPECT_EQ(detail, "{\"http_status\":403}");
  plugin_->destroy(self);
}

TEST_F(both_extensions, refuse_an_unknown_extension_and_bad_settings) {
  EXPECT_EQ(create("sagent.other/1"), nullptr);
  EXPECT_EQ(code_, SAGENT_E_UNSUPPORTED);
  EXPECT_NE(failed.find("sagent.other/1"), std::string::npos);
  EXPECT_EQ(create(""), nullptr) << "with two classes the host must say which";
  EXPECT_EQ(create(SAGENT_EXT_CLOUD_HOST_PROVIDER, "refuse"), nullptr);
  EXPECT_EQ(code_, SAGENT_E_INVALID);
  EXPECT_EQ(failed, "bad settings");
  EXPECT_EQ(alive, 0);
}

TEST_F(both_extensions, let_no_exception_out_of_describe) {
  EXPECT_EQ(sagent::detail::description_of<without_words>(), nullptr);
}

// The order and the sizes of a table are the ABI: plugins built yesterday have them inside.
TEST(abi_shape, of_the_cloud_host_table_is_as_it_was_published) {
  using table = sagent_cloud_host_provider;
  static_assert(std::is_standard_layout_v<table> && std::is_trivial_v<table>);
  constexpr std::size_t pointer = sizeof(void*);
  EXPECT_EQ(offsetof(table, struct_size), 0u);
  EXPECT_EQ(offsetof(table, describe), 8u);
  const std::size_t offsets[] = {
      offsetof(table, validate_host),
      offsetof(table, price_size),
      offsetof(table, credit_balance),
      offsetof(table, admit_addresses),
      offsetof(table, create_host),
      offsetof(table, host_state),
      offsetof(table, list_hosts),
      offsetof(table, delete_host),
      offsetof(table, check),
  };
  std::size_t due = 8 + pointer;
  for (const std::size_t offset : offsets) {
    EXPECT_EQ(offset, due);
    due += pointer;
  }
  EXPECT_EQ(sizeof(table), due);
  EXPECT_STREQ(SAGENT_EXT_CLOUD_HOST_PROVIDER, "sagent.cloud-host-provider/1");
}

} // namespace
