// SPDX-License-Identifier: MIT
#include "core/waldur/authorizer.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"
#include "core/net/url.hpp"
#include "core/waldur/client.hpp"
#include "core/waldur/failure.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::waldur {

namespace {

constexpr std::string_view what = "OIDC token request";

std::chrono::seconds lifetime_of(const base::json& answer) {
  constexpr std::int64_t usual = 300;
  constexpr std::int64_t longest = 24 * 3'600;
  constexpr std::int64_t margin = 30;
  const std::int64_t seconds = answer["expires_in"].integer().value_or(usual);
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, margin, longest) - margin);
}

// A header's value on the wire.
bool is_sendable(std::string_view token) {
  return !token.empty() && std::all_of(token.begin(), token.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7F;
  });
}

base::secret token_header(const base::secret& token) {
  return base::secret("Token " + std::string(token.reveal()));
}

} // namespace

authorizer::authorizer(const client_options& options, net::transport& transport)
    : options_(options), transport_(transport),
      secret_(options.oidc_token_url.empty() ? options.token : options.oidc_client_secret) {
  base::global_redactor().protect(options_.token.reveal());
  base::global_redactor().protect(options_.oidc_client_secret.reveal());
  if (!is_oidc()) {
    header_ = token_header(secret_);
  }
}

bool authorizer::is_oidc() const {
  return !options_.oidc_token_url.empty();
}

base::result<base::secret> authorizer::header() {
  const std::lock_guard one_flight(mutex_);
  if (is_oidc() && (header_.empty() || options_.clock->steady() >= expires_)) {
    auto fetched = fetch();
    if (!fetched && fetched.error().code == base::error_code::auth && is_secret_new()) {
      fetched = fetch();
    }
    if (!fetched) {
      return fetched.error();
    }
  }
  return header_;
}

bool authorizer::renew(const base::secret& used) {
  const std::lock_guard lock(mutex_);
  if (!(header_ == used)) {
    return true; // another call was faster
  }
  if (is_oidc()) {
    header_ = base::secret();
    return true;
  }
  if (!is_secret_new()) {
    return false;
  }
  header_ = token_header(secret_);
  return true;
}

// Reads the secret where it lies and takes it over if it is another one.
bool authorizer::is_secret_new() {
  if (!options_.read_secret_again) {
    return false;
  }
  base::result<base::secret> read = options_.read_secret_again();
  if (!read || read->empty() || *read == secret_ || !is_sendable(read->reveal())) {
    return false;
  }
  base::global_redactor().protect(read->reveal());
  secret_ = *std::move(read);
  if (options_.on_warning) {
    options_.on_warning("waldur: the credentials were refused and read again; they are new");
  }
  return true;
}

std::string authorizer::scrub(std::string_view text) const {
  std::string out = base::global_redactor().scrub(text);
  const std::lock_guard lock(token_mutex_);
  const std::string_view token = access_token_.reveal();
  for (std::size_t at = token.empty() ? std::string::npos : out.find(token);
       at != std::string::npos;
       at = out.find(token, at + 3)) {
    out.replace(at, token.size(), "***");
  }
  return out;
}

net::request authorizer::token_request() const {
  net::request q;
  q.method = "POST";
  q.url = options_.oidc_token_url;
  q.headers = {{"Accept", "application/json"}};
  if (!options_.user_agent.empty()) {
    q.headers.emplace_back("User-Agent", options_.user_agent);
  }
  q.content_type = "application/x-www-form-urlencoded";
  q.body = net::build_query(
      {{"grant_type", "client_credentials"},
       {"client_id", options_.oidc_client_id},
       {"client_secret", std::string(secret_.reveal())}}
  );
  q.max_body = std::size_t{1} << 20U;
  q.stop_requested = options_.stop_requested;
  return q;
}

base::result<void> authorizer::fetch() {
  auto answer = transport_.perform(token_request());
  if (!answer) {
    // Whatever became of the token, the call it was meant for was not sent.
    base::error e = base::with_context(std::move(answer).error(), what);
    e.code = e.code == base::error_code::outcome_unknown ? base::error_code::transient : e.code;
    e.may_have_been_sent = false;
    return e;
  }
  return take(*answer);
}

base::result<void> authorizer::take(const net::response& r) {
  if (r.status != 200) {
    const std::string words(base::truncated(scrub(server_words(r.body)), 500));
    base::error e = status_failure(what, r, words, false, options_.clock->wall());
    const bool is_refusal = r.status == 400 || r.status == 401 || r.status == 403;
    e.code = is_refusal ? base::error_code::auth : e.code;
    return e;
  }
  const auto body = base::json::parse(r.body);
  const std::string token = body ? (*body)["access_token"].string_or("") : "";
  if (!is_sendable(token)) {
    return base::error{
        base::error_code::transient,
        std::string(what) + ": the answer holds no usable access_token"};
  }
  const std::lock_guard lock(token_mutex_);
  access_token_ = base::secret(token);
  header_ = base::secret("Bearer " + token);
  expires_ = options_.clock->steady() + lifetime_of(*body);
  return {};
}

} // namespace siteagent::waldur
