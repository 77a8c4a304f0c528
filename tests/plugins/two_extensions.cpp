// SPDX-License-Identifier: MIT
// One plugin with both extensions: a backend that has nothing, and a cloud host provider that
// answers what its settings say:
//   options.answers.<operation>   objects to emit, in order
//   options.failures.<operation>  {"code","message","detail"?,"retry_after_ms"?}
//   options.echo                  true: each operation emits {"request":body,"dry_run":bool,
//                                 "settings":{...},"secret":"text"?} instead
#include "core/base/json.hpp"

#include <sagent/cpp/plugin.hpp>

#include <string>

namespace {

using siteagent::base::json;

class backend final : public sagent::resource_backend {
public:
  backend(sagent::host, const sagent::request&) {}

  static const char* settings_schema() {
    return R"({"type":"object","properties":{"state":{"type":"string"}}})";
  }

  void ping(sagent::call&, const sagent::request&) override {}

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

class hosts final : public sagent::cloud_host_provider {
public:
  hosts(sagent::host host, const sagent::request& settings)
      : host_(host), settings_(*json::parse(settings.body)) {
    if (settings_.at({"options", "refuse"}).boolean() == true) {
      throw sagent::failure(SAGENT_E_INVALID, "the bindings do not fit together");
    }
  }

  static const char* settings_schema() {
    return R"({
      "type": "object",
      "required": ["bindings"],
      "properties": {
        "bindings": {"type": "object", "properties": {
          "account": {"type": "string", "pattern": "^[a-z]+$"},
          "login": {"type": "string"},
          "regions": {"type": "array", "items": {"type": "string"}}}},
        "credentials": {"type": "object"},
        "options": {"type": "object", "additionalProperties": false, "properties": {
          "answers": {"type": "object"},
          "failures": {"type": "object"},
          "echo": {"type": "boolean"},
          "refuse": {"type": "boolean"}}},
        "limits": {"type": "object"}
      }
    })";
  }

  static const char* describe() {
    return R"({
      "display_name": "Two",
      "bindings": [{"key": "account", "env": "TWO_ACCOUNT"}, {"key": "login", "env": ""}],
      "optional_bindings": [{"key": "regions", "env": "TWO_REGIONS", "list": true}],
      "login_binding": "login",
      "locations_binding": "regions",
      "reserved_logins": ["root"],
      "address_families": ["ipv4"],
      "admits_private": false,
      "user_data_max_bytes": 1000,
      "name_max": 40,
      "key_types": ["ed25519"],
      "credentials": {"control": {"item": "two-control", "item_env": "TWO_ITEM",
                                  "fields": ["client_id", "key"], "secret_fields": ["key"]}}
    })";
  }

#define SCRIPTED(name)                                                                             \
  void name(sagent::call& call, const sagent::request& request) override {                         \
    answer(#name, call, request);                                                                  \
  }
  SCRIPTED(validate_host)
  SCRIPTED(price_size)
  SCRIPTED(credit_balance)
  SCRIPTED(admit_addresses)
  SCRIPTED(create_host)
  SCRIPTED(host_state)
  SCRIPTED(list_hosts)
  SCRIPTED(delete_host)
  SCRIPTED(check)
#undef SCRIPTED

private:
  void answer(const char* operation, sagent::call& call, const sagent::request& request) {
    const json& options = settings_["options"];
    if (options["echo"].boolean() == true) {
      json echo = json::object({{"request", *json::parse(request.body)}});
      echo.set("dry_run", request.dry_run);
      echo.set("settings", settings_);
      const json& key = settings_.at({"credentials", "control", "key"});
      if (key.is_string()) {
        const sagent::secret value = host_.read_secret(*key.string());
        echo.set("secret_size", static_cast<int>(value.reveal().size()));
      }
      const std::string text = json::object({{"phase", "after"}, {"echo", echo}}).dump();
      if (const sagent_code stop = call.checkpoint(text); stop != SAGENT_OK) {
        throw sagent::failure(stop, "stopped");
      }
    }
    if (const json* failure = options["failures"].find(operation)) {
      sagent::failure f(
          static_cast<sagent_code>((*failure)["code"].integer().value_or(200)),
          (*failure)["message"].string_or("failed")
      );
      f.detail = (*failure)["detail"].is_null() ? "" : (*failure)["detail"].dump();
      f.retry_after_ms = (*failure)["retry_after_ms"].integer().value_or(-1);
      throw f;
    }
    for (const json& each : options["answers"][operation].items()) {
      call.emit(each.dump());
    }
  }

  sagent::host host_;
  json settings_;
};

} // namespace

SAGENT_PLUGIN("two-extensions", "1.0", "site agent", backend, hosts)
