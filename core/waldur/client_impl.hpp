// SPDX-License-Identifier: MIT
// What the parts of waldur::client share. Internal to core/waldur.
#pragma once

#include "core/base/text.hpp"
#include "core/waldur/client.hpp"
#include "core/waldur/decode.hpp"
#include "core/waldur/session.hpp"

#include <initializer_list>
#include <map>
#include <mutex>
#include <utility>

namespace siteagent::waldur {

using base::json;

inline constexpr std::string_view orders_path = "marketplace-orders/";
inline constexpr std::string_view offerings_path = "marketplace-provider-offerings/";
inline constexpr std::string_view resources_path = "marketplace-provider-resources/";
inline constexpr std::string_view providers_path = "marketplace-service-providers/";
inline constexpr std::string_view usages_path = "marketplace-component-usages/";
inline constexpr std::string_view identities_path = "marketplace-site-agent-identities/";
inline constexpr std::string_view services_path = "marketplace-site-agent-services/";

inline std::string
item(std::string_view collection, const base::uuid& id, std::string_view action = {}) {
  return std::string(collection) + id.hex() + "/" +
         (action.empty() ? "" : std::string(action) + "/");
}

inline net::query_list fields(std::initializer_list<std::string_view> names) {
  net::query_list out;
  for (const std::string_view name : names) {
    out.emplace_back("field", name);
  }
  return out;
}

inline void append(net::query_list& query, const net::query_list& more) {
  query.insert(query.end(), more.begin(), more.end());
}

inline base::result<void> done(base::result<json> answer) {
  if (!answer) {
    return std::move(answer).error();
  }
  return {};
}

// Oldest first; those of unknown age last, in the server's order.
inline bool is_older(const order& a, const order& b) {
  if (a.created && b.created) {
    return *a.created < *b.created;
  }
  return a.created.has_value() && !b.created;
}

inline json error_texts(std::string_view message) {
  // Old servers read both fields unconditionally.
  return json::object({{"error_message", message}, {"error_traceback", ""}});
}

struct client::impl {
  impl(client_options options, std::shared_ptr<net::transport> transport)
      : http(std::move(options), std::move(transport)) {}

  warn_function warner(const std::string& what) {
    return [this, what](const std::string& text) { http.warn("waldur: " + what + ": " + text); };
  }

  // One undecodable row does not hide the others.
  template <class T, class Decode>
  std::vector<T>
  decode_rows(const std::string& what, const std::vector<json>& rows, Decode decode) {
    std::vector<T> out;
    for (const json& row : rows) {
      auto one = decode(row);
      if (one) {
        out.push_back(*std::move(one));
        continue;
      }
      const std::string id(base::truncated(row["uuid"].string_or("without uuid"), 40));
      http.warn("waldur: " + what + ": the row " + id + " was left out: " + one.error().message);
    }
    return out;
  }

  template <class T, class Decode>
  base::result<T> decode_one(const std::string& what, base::result<json> answer, Decode decode) {
    if (!answer) {
      return std::move(answer).error();
    }
    base::result<T> one = decode(*answer);
    if (!one) {
      return base::with_context(std::move(one).error(), "waldur: " + what);
    }
    return one;
  }

  base::result<void> post(
      const std::string& what, std::string_view path, const json* body = nullptr, int success = 200
  ) {
    return done(http.write(what, "POST", path, body, {success}));
  }

  struct known_identity {
    base::uuid id;
    bool is_told = false; // it shows what `build` says, not only that there is an agent
  };

  // client_registration.cpp
  base::result<known_identity>
  find_or_create_identity(const base::uuid& offering, const agent_build& build, bool tell);
  base::result<known_identity>
  try_identity(const base::uuid& offering, const agent_build& build, bool tell);
  base::result<base::uuid>
  identity_of(const base::uuid& offering, const agent_build& build, bool tell);
  // A call of the identity; 404 may mean that somebody deleted it: then it is made once again.
  base::result<json> post_to_identity(
      const std::string& what,
      const base::uuid& offering,
      const agent_build& build,
      bool tell,
      std::string_view action,
      const json& body
  );

  session http;
  std::mutex identities_mutex;
  std::map<base::uuid, known_identity> identities; // by offering, once registered
};

} // namespace siteagent::waldur
