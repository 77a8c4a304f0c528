// SPDX-License-Identifier: MIT
#include "context.hpp"

#include <array>
#include <cstdio>

namespace siteagent::azure_emulator {

using base::json;

reply json_reply(int status, const json& body) {
  reply r;
  r.status = status;
  r.headers.emplace_back("Content-Type", "application/json; charset=utf-8");
  r.body = body.dump();
  return r;
}

reply empty_reply(int status) {
  reply r;
  r.status = status;
  return r;
}

json error_body(const error_text& e) {
  json inner = json::object({{"code", e.code}, {"message", e.message}});
  if (!e.target.empty()) {
    inner.set("target", e.target);
  }
  if (e.details) {
    inner.set("details", *e.details);
  }
  return json::object({{"error", inner}});
}

reply error_reply(int status, const error_text& e) {
  reply r = json_reply(status, error_body(e));
  r.headers.emplace_back("x-ms-failure-cause", "service");
  return r;
}

reply gateway_error(int status, const error_text& e) {
  reply r = json_reply(status, error_body(e));
  r.headers.emplace_back("x-ms-failure-cause", "gateway");
  return r;
}

reply resource_not_found(const resource_path& path) {
  // Children are answered by the network provider, in its own words.
  if (!path.child.empty()) {
    return error_reply(
        404, {"NotFound", "Resource " + path.id() + " not found.", "", json::array()}
    );
  }
  return gateway_error(
      404,
      {"ResourceNotFound",
       "The Resource '" + type_name(path.kind) + "/" + path.name + "' under resource group '" +
           path.group +
           "' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"}
  );
}

reply group_not_found(std::string_view group) {
  return gateway_error(
      404,
      {"ResourceGroupNotFound", "Resource group '" + std::string(group) + "' could not be found."}
  );
}

std::string if_match(const context& c) {
  return c.http.header("if-match");
}

std::string if_none_match(const context& c) {
  return c.http.header("if-none-match");
}

std::string compute_time(base::wall_time t) {
  const auto since = t.time_since_epoch();
  const auto ticks = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count() / 100;
  std::array<char, 16> fraction{};
  std::snprintf(
      fraction.data(), fraction.size(), ".%07lld", static_cast<long long>(ticks % 10'000'000)
  );
  std::string text = base::to_rfc3339(t);
  text.pop_back();
  return text + fraction.data() + "+00:00";
}

} // namespace siteagent::azure_emulator
