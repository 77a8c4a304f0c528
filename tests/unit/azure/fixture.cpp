// SPDX-License-Identifier: MIT
#include "tests/unit/azure/fixture.hpp"

#include <cstring>

namespace siteagent::azure::test {

namespace {

fake_call& self_of(const sagent_call* call) {
  return *static_cast<fake_call*>(call->host_data);
}

extern "C" {

static std::int64_t remaining_ms(const sagent_call* call) {
  const fake_call& self = self_of(call);
  return std::chrono::duration_cast<std::chrono::milliseconds>(self.deadline - self.clock.steady())
      .count();
}

static sagent_code wait_ms(const sagent_call* call, std::int64_t ms) {
  fake_call& self = self_of(call);
  const std::int64_t left = remaining_ms(call);
  self.clock.advance(std::chrono::milliseconds(std::min(ms, std::max<std::int64_t>(left, 0))));
  return ms <= left ? sagent_code{SAGENT_OK} : sagent_code{SAGENT_E_DEADLINE};
}

static sagent_code emit(const sagent_call* call, const char* text, std::uint64_t len) {
  self_of(call).emitted.push_back(*base::json::parse(std::string_view(text, len)));
  return SAGENT_OK;
}

static void fail(const sagent_call* call, const sagent_error_info* info) {
  fake_call& self = self_of(call);
  self.message = sagent::view(info->message);
  self.public_message = sagent::view(info->public_message);
  self.provider_code = sagent::view(info->provider_code);
  self.retry_after_ms = info->retry_after_ms;
  const auto detail = base::json::parse(sagent::view(info->detail));
  self.detail = detail ? *detail : base::json();
}

static sagent_code checkpoint(const sagent_call* call, const char* text, std::uint64_t len) {
  fake_call& self = self_of(call);
  self.checkpoints.push_back(*base::json::parse(std::string_view(text, len)));
  return self.on_checkpoint ? self.on_checkpoint(self.checkpoints.back()) : sagent_code{SAGENT_OK};
}

} // extern "C"

extern "C" {

static sagent_code get_secret(
    const sagent_host* host, const char*, std::uint64_t, sagent_secret_sink sink, void* ctx
) {
  const auto* state = static_cast<host_state*>(host->host_data);
  sink(ctx, state->secret.data(), state->secret.size());
  return SAGENT_OK;
}

static void protect_secret(const sagent_host* host, const char* bytes, std::uint64_t len) {
  static_cast<host_state*>(host->host_data)->protected_values.emplace_back(bytes, len);
}

static const void* find_service(const sagent_host*, const char* id) {
  static const sagent_secrets_service secrets{
      sizeof(sagent_secrets_service), 0, get_secret, protect_secret};
  return std::strcmp(id, SAGENT_SERVICE_SECRETS) == 0 ? &secrets : nullptr;
}

} // extern "C"

} // namespace

const sagent_host* make_host(sagent_host& raw, host_state& data) {
  raw.struct_size = sizeof raw;
  raw.abi_minor = SAGENT_ABI_MINOR;
  raw.host_data = &data;
  raw.get_service = find_service;
  return &raw;
}

fake_call::fake_call(base::manual_clock& c)
    : clock(c), deadline(c.steady() + std::chrono::minutes(45)) {
  table.struct_size = sizeof table;
  table.host_data = this;
  table.remaining_ms = remaining_ms;
  table.wait_ms = wait_ms;
  table.emit = emit;
  table.fail = fail;
  table.checkpoint = checkpoint;
}

azure_test::azure_test() : host(make_host(raw_host, host_data)) {
  settings = *base::json::parse(
      R"({"subscription_id":"11111111-1111-1111-1111-111111111111","tenant_id":"t","client_id":"c",
          "client_secret":"reference","default_location":"westeurope","default_size":"Standard_B1s",
          "default_image":"Canonical:jammy:22_04-lts:latest","allowed_ssh_ranges":["203.0.113.0/24"]})"
  );
  settings.set(
      "cloud", base::json::object({{"resource_manager", base_url}, {"authority", base_url}})
  );
  body = *base::json::parse(
      R"({"order":{"type":"Create","attributes":{}},"resource":{"name":"web"},"uuid_tag":"resource-uuid",
          "tags":{"managed-by":"agent","resource-uuid":"0123456789abcdef0123456789abcdef","offering-uuid":"0ff"},
          "components":{"cpu":{"unit_factor":"1"},"ram":{"unit_factor":"1024"},"disk":{}}})"
  );
  body.member_ref("order").member_ref("attributes").set("ssh_public_key", ed25519_key);
}

void azure_test::open(const std::function<void(base::json&)>& change) {
  if (change) {
    change(settings);
  }
  const std::string text = settings.dump();
  sagent_request request{};
  request.struct_size = sizeof request;
  request.body = sagent::borrow(text);
  azure = std::make_unique<backend>(
      host,
      sagent::request(request),
      dependencies{
          [this](const azure::settings&) { return std::make_unique<borrowed_transport>(arm); },
          &clock,
          &shared}
  );
}

fake_call azure_test::run(method m, std::string_view target, std::string_view key) {
  if (!azure) {
    open();
  }
  const std::string text = body.dump();
  sagent_request request{};
  request.struct_size = sizeof request;
  request.target = sagent::borrow(target);
  request.body = sagent::borrow(text);
  request.idempotency_key = sagent::borrow(key);
  fake_call call(clock);
  if (prepare) {
    prepare(call);
  }
  call.table.host_data = &call;
  call.code = sagent::detail::guarded(call.raw(), [&] {
    sagent::call the_call(call.raw());
    ((*azure).*m)(the_call, sagent::request(request));
  });
  return call;
}

std::string azure_test::group_id(std::string_view name) {
  return "/subscriptions/" + std::string(subscription) + "/resourceGroups/" + std::string(name);
}

std::string
azure_test::object_id(std::string_view type, std::string_view name, std::string_view group) {
  return group_id(group) + "/providers/" + std::string(type) + "/" + std::string(name);
}

base::json azure_test::tagged(std::string_view value) {
  return base::json::object(
      {{"location", "westeurope"},
       {"tags", base::json::object({{uuid_tag, value}})},
       {"properties", base::json::object({{"provisioningState", "Succeeded"}})}}
  );
}

std::vector<std::string> kinds_of(
    const std::vector<base::json>& checkpoints, std::string_view phase, std::string_view verb
) {
  std::vector<std::string> out;
  for (const base::json& c : checkpoints) {
    if (c["phase"].string_or("") == phase && c["verb"].string_or("") == verb) {
      out.push_back(c["kind"].string_or(""));
    }
  }
  return out;
}

} // namespace siteagent::azure::test
