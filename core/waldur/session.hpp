// SPDX-License-Identifier: MIT
// One exchange with Waldur: authorization, the retry of reads, paging, and what counts as success.
// Internal to core/waldur. [any thread]
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/transport.hpp"
#include "core/net/url.hpp"
#include "core/waldur/authorizer.hpp"
#include "core/waldur/client.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur {

class session {
public:
  session(client_options options, std::shared_ptr<net::transport> transport);

  // `what` names the call and its object in errors: "get order 5f0c...". `path` is below /api/.
  base::result<base::json>
  get(const std::string& what, std::string_view path, const net::query_list& query = {});
  // Every page; rows that appear twice (they shift between pages) once.
  base::result<std::vector<base::json>>
  list(const std::string& what, std::string_view path, net::query_list query);
  // Sent once. The value is the answer's JSON, null when it has no body.
  base::result<base::json> write(
      const std::string& what,
      std::string_view method,
      std::string_view path,
      const base::json* body,
      const std::vector<int>& success
  );

  void warn(std::string text) const;

  // The address of what is at `path` below /api/.
  std::string url_of(std::string_view path, const net::query_list& query = {}) const;

private:
  struct page {
    net::response head;
    base::json body;
  };

  base::result<page> read(const std::string& what, const std::string& url);
  base::result<page> read_once(const std::string& what, const std::string& url);
  base::result<net::response> exchange(const std::string& what, net::request q);
  net::request new_request(std::string_view method, std::string url) const;
  base::error not_json(const std::string& what, const net::response& r) const;
  base::error failure(const std::string& what, const net::response& r, bool is_write) const;
  bool is_stopped() const;
  void pause(std::chrono::milliseconds wait) const;

  client_options options_;
  std::shared_ptr<net::transport> transport_; // shared with other clients of the same origin
  authorizer authorizer_;
};

} // namespace siteagent::waldur
