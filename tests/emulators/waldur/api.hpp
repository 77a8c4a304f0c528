// SPDX-License-Identifier: MIT
// What every call of the REST API shares: its context, the error answers, reading of parameters and
// bodies, lists with pages.
#pragma once

#include "broker.hpp"
#include "core/base/result.hpp"
#include "core/net/server.hpp"
#include "model.hpp"
#include "tests/emulators/common/emulator.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur_emulator {

// An error here is an HTTP answer: http_status and, in detail, the JSON body.
using reply = base::result<net::server_response>;

struct context {
  const net::server_request& request;
  const emulators::call& call;
  store& data;
  const user& who;
  json body;                     // of the request; null when empty
  std::vector<std::string> rest; // path segments behind the collection's name
  broker* queues = nullptr;      // nullptr: a server without a message broker

  bool is_list() const { return rest.empty(); }

  bool is_read() const { return request.method == "GET" || request.method == "HEAD"; }

  bool is(std::string_view method) const {
    return request.method == method || (method == "GET" && request.method == "HEAD");
  }

  // Third segment: the action on one object, or "".
  std::string action() const { return rest.size() > 1 ? rest[1] : std::string(); }

  std::string url(std::string_view collection, std::string_view uuid) const;
};

base::error refuse(int status, const json& body);
base::error not_found();
base::error forbidden();
base::error method_not_allowed(const context& c);
base::error wrong_state(std::string_view valid_states);
// {"field": ["message"]}
base::error bad_field(std::string_view field, std::string_view message);
base::error bad_request(std::string_view message);
net::server_response to_response(const base::error& e);

net::server_response ok(const json& body);
net::server_response created(const json& body);
net::server_response status_text(std::string_view text); // {"status": text}

// Query parameters. A uuid filter that is none is a 400; nullopt = not asked for.
base::result<std::optional<std::string>> uuid_filter(const context& c, std::string_view key);
std::vector<std::string> values_of(const context& c, std::string_view key);
// A date-time filter; 400 when it is none.
base::result<std::optional<base::wall_time>> time_filter(const context& c, std::string_view key);

// Body fields.
base::result<std::string> required_text(const context& c, std::string_view key);
std::string optional_text(const context& c, std::string_view key);
// Uuid at the end of a hyperlink to one of `collections`, "" when it is not one.
std::string uuid_of_link(std::string_view link, const std::vector<std::string_view>& collections);

// Only the fields asked for by `field=`; everything when there is none.
json trimmed(const context& c, json object);

struct page {
  std::size_t first = 0;
  std::size_t count = 0;
  net::header_list headers; // X-Result-Count and Link
};

base::result<page> page_of(const context& c, std::size_t total);

// One page of rows, each rendered and trimmed.
template <class Row, class Render>
reply list_of(const context& c, const std::vector<const Row*>& rows, Render render) {
  auto where = page_of(c, rows.size());
  if (!where) {
    return where.error();
  }
  json array = json::array();
  for (std::size_t i = 0; i < where->count; ++i) {
    array.push_back(trimmed(c, render(c, *rows[where->first + i])));
  }
  auto response = ok(array);
  for (auto& h : where->headers) {
    response.headers.push_back(std::move(h));
  }
  return response;
}

template <class Row, class Predicate>
std::vector<const Row*> select(const table<Row>& t, Predicate predicate) {
  std::vector<const Row*> chosen;
  for (const Row& row : t.rows()) {
    if (predicate(row)) {
      chosen.push_back(&row);
    }
  }
  return chosen;
}

} // namespace siteagent::waldur_emulator
