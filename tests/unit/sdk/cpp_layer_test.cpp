// SPDX-License-Identifier: MIT
// The C++ layer of the SDK against a small host of our own: nothing of the core is linked.
#include <sagent/cpp/plugin.hpp>

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <vector>

namespace {

// A backend whose methods do what the request's body says.
class sample final : public sagent::resource_backend {
public:
  sample(sagent::host host, const sagent::request& settings) : host_(host) {
    if (settings.body == "refuse") {
      throw sagent::failure(SAGENT_E_INVALID, "bad settings");
    }
    if (settings.body == "break") {
      throw std::runtime_error("broken constructor");
    }
  }

  static const char* settings_schema() { return "{\"type\":\"object\"}"; }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  void ping(sagent::call& call, const sagent::request& request) override {
    if (request.body == "failure") {
      sagent::failure f(SAGENT_E_QUOTA, "no room");
      f.public_message = "No room";
      f.provider_code = "QuotaExceeded";
      f.provider_request_id = "r-1";
      f.detail = "{\"http_status\":409}";
      f.retry_after_ms = 7;
      throw f;
    }
    if (request.body == "ok failure") {
      throw sagent::failure(SAGENT_OK, "nonsense");
    }
    if (request.body == "memory") {
      throw std::bad_alloc();
    }
    if (request.body == "exception") {
      throw std::logic_error("a bug");
    }
    if (request.body == "integer") {
      throw 42;
    }
    if (request.body == "secret") {
      call.emit(
          "{\"secret\":\"" + std::string(host_.read_secret("sagent-secret:1").reveal()) + "\"}"
      );
      return;
    }
    if (request.body == "lost secret") {
      (void)host_.read_secret("unknown");
    }
    if (request.body == "refused emit") {
      call.emit("no json");
    }
    host_.log(SAGENT_LOG_INFO, "pinged");
    host_.protect("derived-token");
    call.emit("{\"target\":\"" + std::string(request.target) + "\"}");
  }

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

private:
  sagent::host host_;
};

} // namespace

SAGENT_PLUGIN("sample", "1.2.3", "us", sample)

namespace {

// What the host saw.
struct journal {
  std::vector<std::string> emitted;
  std::vector<std::string> logged;
  std::vector<std::string> guarded;
  sagent_error_info failure{};
  std::map<std::string, std::string> texts;
  int failures = 0;
};

std::string copy(const sagent_str& s) {
  return std::string(sagent::view(s));
}

journal& of(const sagent_call* c) {
  return *static_cast<journal*>(c->host_data);
}

journal& of(const sagent_host* h) {
  return *static_cast<journal*>(h->host_data);
}

class cpp_layer : public testing::Test {
protected:
  cpp_layer() {
    host.struct_size = sizeof host;
    host.host_data = &seen;
    host.get_service = [](const sagent_host*, const char* id) -> const void* {
      static const sagent_log_service log = {
          sizeof(sagent_log_service),
          0,
          [](const sagent_host* h, std::int32_t, const char* text, std::uint64_t len) {
            of(h).logged.emplace_back(text, len);
          },
          nullptr};
      static const sagent_secrets_service secrets = {
          sizeof(sagent_secrets_service),
          0,
          [](const sagent_host*,
             const char* reference,
             std::uint64_t len,
             sagent_secret_sink sink,
             void* ctx) -> sagent_code {
            if (std::string_view(reference, len) != "sagent-secret:1") {
              return SAGENT_E_NOT_FOUND;
            }
            sink(ctx, "the-secret", 10);
            return SAGENT_OK;
          },
          [](const sagent_host* h, const char* bytes, std::uint64_t len) {
            of(h).guarded.emplace_back(bytes, len);
          }};
      if (std::strcmp(id, SAGENT_SERVICE_LOG) == 0) {
        return &log;
      }
      return std::strcmp(id, SAGENT_SERVICE_SECRETS) == 0 ? &secrets : nullptr;
    };
    call.struct_size = sizeof call;
    call.host_data = &seen;
    call.remaining_ms = [](const sagent_call*) -> std::int64_t { return 1000; };
    call.wait_ms = [](const sagent_call*, std::int64_t) -> sagent_code { return SAGENT_OK; };
    call.emit = [](const sagent_call* c, const char* json, std::uint64_t len) -> sagent_code {
      if (len == 0 || json[0] != '{') {
        return SAGENT_E_PLUGIN_BUG;
      }
      of(c).emitted.emplace_back(json, len);
      return SAGENT_OK;
    };
    call.fail = [](const sagent_call* c, const sagent_error_info* info) {
      journal& j = of(c);
      ++j.failures;
      j.failure = *info;
      j.texts = {
          {"message", copy(info->message)},
          {"public_message", copy(info->public_message)},
          {"provider_code", copy(info->provider_code)},
          {"provider_request_id", copy(info->provider_request_id)},
          {"detail", copy(info->detail)}};
    };
    call.checkpoint = [](const sagent_call*, const char*, std::uint64_t) -> sagent_code {
      return SAGENT_OK;
    };
  }

  ~cpp_layer() override {
    if (instance != nullptr) {
      plugin->destroy(instance);
    }
  }

  static sagent_request request(std::string_view body) {
    sagent_request r{};
    r.struct_size = sizeof r;
    r.body = sagent::borrow(body);
    r.target = sagent::borrow("t");
    return r;
  }

  sagent_code create(std::string_view settings = "{}") {
    const sagent_request r = request(settings);
    return plugin->create(&host, &call, &r, &instance);
  }

  sagent_code ping(std::string_view body) {
    if (instance == nullptr && create() != SAGENT_OK) {
      return SAGENT_E_PLUGIN_LOST;
    }
    const sagent_request r = request(body);
    return backend->ping(instance, &call, &r);
  }

  const sagent_plugin* plugin = sagent_plugin_v0();
  const sagent_resource_backend* backend =
      static_cast<const sagent_resource_backend*>(plugin->get_extension(SAGENT_EXT_RESOURCE_BACKEND)
      );
  journal seen;
  sagent_host host{};
  sagent_call call{};
  sagent_instance* instance = nullptr;
};

TEST_F(cpp_layer, describes_the_plugin) {
  EXPECT_EQ(plugin, sagent_plugin_v0()) << "the same pointer each time";
  EXPECT_EQ(plugin->struct_size, sizeof(sagent_plugin));
  EXPECT_STREQ(plugin->id, "sample");
  EXPECT_STREQ(plugin->version, "1.2.3");
  EXPECT_EQ(plugin->thread_model, SAGENT_THREADS_PARALLEL);
  EXPECT_EQ(plugin->get_extension("sagent.resource-backend/1x"), nullptr);
  EXPECT_EQ(plugin->get_extension(nullptr), nullptr);
  EXPECT_STREQ(plugin->get_settings_schema(SAGENT_EXT_RESOURCE_BACKEND), "{\"type\":\"object\"}");
  EXPECT_EQ(plugin->get_settings_schema("other"), nullptr);
}

TEST_F(cpp_layer, sets_exactly_the_slots_that_are_overridden) {
  EXPECT_EQ(backend->struct_size, sizeof(sagent_resource_backend));
  EXPECT_NE(backend->ping, nullptr);
  EXPECT_NE(backend->diagnostics, nullptr);
  EXPECT_EQ(backend->add_members, nullptr);
  EXPECT_EQ(backend->remove_members, nullptr);
}

TEST_F(cpp_layer, brings_results_log_lines_and_guarded_secrets_to_the_host) {
  EXPECT_EQ(ping("go"), SAGENT_OK);
  EXPECT_EQ(seen.emitted, std::vector<std::string>{"{\"target\":\"t\"}"});
  EXPECT_EQ(seen.logged, std::vector<std::string>{"pinged"});
  EXPECT_EQ(seen.guarded, std::vector<std::string>{"derived-token"});
  EXPECT_EQ(seen.failures, 0);
}

TEST_F(cpp_layer, turns_a_failure_into_code_and_texts) {
  EXPECT_EQ(ping("failure"), SAGENT_E_QUOTA);
  EXPECT_EQ(seen.failure.code, SAGENT_E_QUOTA);
  EXPECT_EQ(seen.failure.retry_after_ms, 7);
  EXPECT_EQ(seen.texts["message"], "no room");
  EXPECT_EQ(seen.texts["public_message"], "No room");
  EXPECT_EQ(seen.texts["provider_code"], "QuotaExceeded");
  EXPECT_EQ(seen.texts["provider_request_id"], "r-1");
  EXPECT_EQ(seen.texts["detail"], "{\"http_status\":409}");
}

TEST_F(cpp_layer, lets_no_exception_through) {
  EXPECT_EQ(ping("memory"), SAGENT_E_TRANSIENT);
  EXPECT_EQ(ping("exception"), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(seen.texts["message"], "unexpected exception: a bug");
  EXPECT_EQ(ping("integer"), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(ping("ok failure"), SAGENT_E_PLUGIN_BUG) << "a failure is never a success";
  EXPECT_EQ(ping("refused emit"), SAGENT_E_PLUGIN_BUG);
}

TEST_F(cpp_layer, reads_secrets_by_reference) {
  EXPECT_EQ(ping("secret"), SAGENT_OK);
  EXPECT_EQ(seen.emitted, std::vector<std::string>{"{\"secret\":\"the-secret\"}"});
  EXPECT_EQ(ping("lost secret"), SAGENT_E_NOT_FOUND);
}

TEST_F(cpp_layer, refuses_settings_without_an_instance) {
  EXPECT_EQ(create("refuse"), SAGENT_E_INVALID);
  EXPECT_EQ(instance, nullptr);
  EXPECT_EQ(seen.texts["message"], "bad settings");
  EXPECT_EQ(create("break"), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(instance, nullptr);
}

TEST_F(cpp_layer, copes_with_a_host_without_services) {
  host.get_service = [](const sagent_host*, const char*) -> const void* { return nullptr; };
  EXPECT_EQ(ping("go"), SAGENT_OK);
  EXPECT_EQ(ping("secret"), SAGENT_E_UNSUPPORTED);
  EXPECT_EQ(sagent::host(nullptr).unix_ms(), -1);
}

TEST_F(cpp_layer, copes_with_a_call_cut_before_fail) {
  call.struct_size = offsetof(sagent_call, fail);
  EXPECT_EQ(ping("failure"), SAGENT_E_QUOTA);
  EXPECT_EQ(seen.failures, 0);
}

TEST(has, looks_at_the_size_and_the_pointer) {
  sagent_log_service service{};
  service.struct_size = offsetof(sagent_log_service, enabled);
  service.log = [](const sagent_host*, std::int32_t, const char*, std::uint64_t) {};
  service.enabled = [](const sagent_host*, std::int32_t) -> std::int32_t { return 1; };
  const sagent_log_service* at = &service;
  EXPECT_TRUE(SAGENT_HAS(sagent_log_service, at, log));
  EXPECT_FALSE(SAGENT_HAS(sagent_log_service, at, enabled)) << "beyond its author's size";
  service.log = nullptr;
  EXPECT_FALSE(SAGENT_HAS(sagent_log_service, at, log));
  at = nullptr;
  EXPECT_FALSE(SAGENT_HAS(sagent_log_service, at, log));
}

TEST(secret, is_moved_and_wiped) {
  sagent::secret a{std::string_view("bytes")};
  sagent::secret b = std::move(a);
  EXPECT_EQ(b.reveal(), "bytes");
  a = std::move(b);
  EXPECT_EQ(a.reveal(), "bytes");
  EXPECT_EQ(sagent::view({nullptr, 0}), "");
}

} // namespace
