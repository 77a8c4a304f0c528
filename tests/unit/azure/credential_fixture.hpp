// SPDX-License-Identifier: MIT
// A token endpoint in the test's hands, and a call to ask it by.
#pragma once

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "plugins/azure/arm/token.hpp"
#include "plugins/azure/base64.hpp"
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/fixture.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::azure::test {

using arm::milliseconds;
using std::chrono::seconds;

// Answers by a function and keeps what it saw. [any thread]
class endpoint final : public net::transport {
public:
  using answer = base::result<net::response>;

  base::result<net::response> perform(const net::request& r) override {
    {
      const std::lock_guard guard(mutex_);
      seen_.push_back(r);
    }
    return respond(r);
  }

  std::vector<net::request> seen() const {
    const std::lock_guard guard(mutex_);
    return seen_;
  }

  net::query_list last_form() const { return net::parse_query(seen().back().body); }

  std::function<answer(const net::request&)> respond = [](const net::request&) -> answer {
    return json_response(200, *base::json::parse(R"({"access_token":"tok","expires_in":3599})"));
  };

private:
  mutable std::mutex mutex_;
  std::vector<net::request> seen_;
};

inline endpoint::answer answered(int status, const std::string& body) {
  net::response r;
  r.status = status;
  r.body = body;
  return r;
}

inline endpoint::answer refused(int status, const std::string& name, int code) {
  return answered(
      status,
      R"({"error":")" + name + R"(","error_description":"AADSTS00: words","error_codes":[)" +
          std::to_string(code) + "]}"
  );
}

inline std::string field(const net::query_list& form, std::string_view name) {
  for (const auto& [key, value] : form) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

class azure_token : public testing::Test {
protected:
  azure_token() : call_(clock), wrapped_(call_.raw()), scope_(wrapped_, "") {
    call_.deadline = clock.steady() + std::chrono::hours(24 * 1000); // tests let days pass
  }

  arm::token_environment environment() {
    return {
        login,
        clock,
        *proof,
        [this](std::string_view s) { protected_.emplace_back(s); },
        milliseconds(1'000)};
  }

  base::result<base::secret> get() { return source.get(scope_, environment()); }

  bool is_protected(std::string_view text) const {
    return std::find(protected_.begin(), protected_.end(), text) != protected_.end();
  }

  // The secret in use; empty material of another credential leaves it alone.
  arm::secret_reader reader() {
    return [this](std::string_view key) -> base::result<base::secret> {
      return base::secret(secrets[std::string(key)]);
    };
  }

  static arm::principal who() {
    return {"https://login.example", "t", "c", "https://management.example"};
  }

  base::manual_clock clock;
  endpoint login;
  std::map<std::string, std::string> secrets{{"client_secret", "s3cret-value"}};
  arm::credential_ptr proof = arm::make_secret_credential(reader());
  arm::token_source source{who()};
  std::vector<std::string> protected_;
  fake_call call_;
  sagent::call wrapped_;
  arm::scope scope_;
};

} // namespace siteagent::azure::test
