// SPDX-License-Identifier: MIT
// Error answers, parameters and pages, in the words of Waldur's REST framework.
#include "api.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::size_t largest_page = 300;

std::optional<std::size_t> positive(const std::string& text) {
  std::size_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size() || n == 0) {
    return std::nullopt;
  }
  return n;
}

std::string page_url(const context& c, std::size_t number) {
  net::query_list query;
  for (const auto& [key, value] : c.request.parameters) {
    if (key != "page") {
      query.emplace_back(key, value);
    }
  }
  query.emplace_back("page", std::to_string(number));
  return c.call.base_url + c.request.path + "?" + net::build_query(query);
}

} // namespace

std::string context::url(std::string_view collection, std::string_view uuid) const {
  return call.base_url + "/api/" + std::string(collection) + "/" + std::string(uuid) + "/";
}

base::error refuse(int status, const json& body) {
  return {
      .code = base::error_code::refused,
      .message = "answered " + std::to_string(status),
      .detail = body.dump(),
      .http_status = status};
}

base::error not_found() {
  return refuse(404, json::object({{"detail", "Not found."}}));
}

base::error forbidden() {
  return refuse(
      403, json::object({{"detail", "You do not have permission to perform this action."}})
  );
}

base::error method_not_allowed(const context& c) {
  return refuse(
      405, json::object({{"detail", "Method \"" + c.request.method + "\" not allowed."}})
  );
}

base::error wrong_state(std::string_view valid_states) {
  return refuse(
      409,
      json::object({{"detail", "Valid states for operation: " + std::string(valid_states) + "."}})
  );
}

base::error bad_field(std::string_view field, std::string_view message) {
  return refuse(400, json::object({{std::string(field), json::array({message})}}));
}

base::error bad_request(std::string_view message) {
  return refuse(400, json::array({message}));
}

net::server_response to_response(const base::error& e) {
  net::server_response r;
  r.status = e.http_status == 0 ? 500 : e.http_status;
  r.headers.emplace_back("Content-Type", "application/json");
  r.body = e.detail.empty() ? "{}" : e.detail;
  return r;
}

net::server_response ok(const json& body) {
  return emulators::json_response(200, body);
}

net::server_response created(const json& body) {
  return emulators::json_response(201, body);
}

net::server_response status_text(std::string_view text) {
  return ok(json::object({{"status", text}}));
}

std::vector<std::string> values_of(const context& c, std::string_view key) {
  std::vector<std::string> values;
  for (const auto& [name, value] : c.request.parameters) {
    if (name == key) {
      values.push_back(value);
    }
  }
  return values;
}

base::result<std::optional<std::string>> uuid_filter(const context& c, std::string_view key) {
  const auto values = values_of(c, key);
  if (values.empty() || values.back().empty()) {
    return std::optional<std::string>();
  }
  auto hex = hex_or_empty(values.back());
  if (hex.empty()) {
    return bad_field(key, "Enter a valid UUID.");
  }
  return std::optional<std::string>(std::move(hex));
}

base::result<std::optional<base::wall_time>> time_filter(const context& c, std::string_view key) {
  const auto values = values_of(c, key);
  if (values.empty() || values.back().empty()) {
    return std::optional<base::wall_time>();
  }
  const auto time = base::parse_rfc3339(values.back());
  if (!time) {
    return bad_field(key, "Enter a valid date/time.");
  }
  return std::optional<base::wall_time>(*time);
}

base::result<std::string> required_text(const context& c, std::string_view key) {
  const json* value = c.body.find(key);
  if (value == nullptr) {
    return bad_field(key, "This field is required.");
  }
  if (value->is_null()) {
    return bad_field(key, "This field may not be null.");
  }
  const auto text = value->number_text();
  if (!text) {
    return bad_field(key, "Not a valid string.");
  }
  return std::string(*text);
}

std::string optional_text(const context& c, std::string_view key) {
  return std::string(c.body[key].number_text().value_or(""));
}

std::string uuid_of_link(std::string_view link, const std::vector<std::string_view>& collections) {
  const auto api = link.find("/api/");
  if (api == std::string_view::npos) {
    return {};
  }
  const auto parts = base::split(link.substr(api + 5), '/');
  if (parts.size() < 2 ||
      std::find(collections.begin(), collections.end(), parts[0]) == collections.end()) {
    return {};
  }
  return hex_or_empty(parts[1]);
}

json trimmed(const context& c, json object) {
  const auto wanted = values_of(c, "field");
  if (wanted.empty() || !c.is_read()) {
    return object;
  }
  std::erase_if(object.members(), [&](const json::member& m) {
    return std::find(wanted.begin(), wanted.end(), m.first) == wanted.end();
  });
  return object;
}

base::result<page> page_of(const context& c, std::size_t total) {
  const auto size =
      std::min(largest_page, positive(c.request.parameter("page_size")).value_or(c.data.page_size));
  const std::size_t last = std::max<std::size_t>(1, (total + size - 1) / size);
  const std::string asked = c.request.parameter("page");
  const auto number = asked.empty() ? std::optional<std::size_t>(1) : positive(asked);
  if (!number || *number > last) {
    return refuse(404, json::object({{"detail", "Invalid page."}}));
  }
  page p;
  p.first = (*number - 1) * size;
  p.count = std::min(size, total - std::min(total, p.first));
  std::string link = "<" + page_url(c, 1) + ">; rel=\"first\"";
  if (*number > 1) {
    link += ", <" + page_url(c, *number - 1) + ">; rel=\"prev\"";
  }
  if (*number < last) {
    link += ", <" + page_url(c, *number + 1) + ">; rel=\"next\"";
  }
  link += ", <" + page_url(c, last) + ">; rel=\"last\"";
  p.headers.emplace_back("X-Result-Count", std::to_string(total));
  p.headers.emplace_back("Link", link);
  return p;
}

} // namespace siteagent::waldur_emulator
