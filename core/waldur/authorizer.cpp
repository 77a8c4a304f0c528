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

std::shared_ptr<credentials> credentials_of(const client_options& options) {
  if (!options.oidc_token_url.empty() && options.tokens) {
    return options.tokens->find_or_make(options);
  }
  auto own = std::make_shared<credentials>();
  const bool is_oidc = !options.oidc_token_url.empty();
  own->secret = is_oidc ? options.oidc_client_secret : options.token;
  own->header = is_oidc ? base::secret() : token_header(own->secret);
  return own;
}

} // namespace

std::shared_ptr<credentials> token_cache::find_or_make(const client_options& options) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const entry& e) { return e.shared.expired(); });
  for (const entry& e : entries_) {
    const bool is_same = e.url == options.oidc_token_url && e.client_id == options.oidc_client_id &&
                         e.secret == options.oidc_client_secret;
    if (auto shared = is_same ? e.shared.lock() : nullptr) {
      return shared;
    }
  }
  auto made = std::make_shared<credentials>();
  made->secret = options.oidc_client_secret;
  entries_.push_back(
      {options.oidc_token_url, options.oidc_client_id, options.oidc_client_secret, made}
  );
  return made;
}

std::shared_ptr<token_cache> make_token_cache() {
  return std::make_shared<token_cache>();
}

authorizer::authorizer(const client_options& options, net::transport& transport)
    : options_(options), transport_(transport), credentials_(credentials_of(options)) {
  base::global_redactor().protect(options_.token.reveal());
  base::global_redactor().protect(options_.oidc_client_secret.reveal());
}

bool authorizer::is_oidc() const {
  return !options_.oidc_token_url.empty();
}

base::result<base::secret> authorizer::header() {
  const std::lock_guard one_flight(credentials_->mutex);
  if (is_oidc() &&
      (credentials_->header.empty() || options_.clock->steady() >= credentials_->expires)) {
    auto fetched = fetch();
    if (!fetched && fetched.error().code == base::error_code::auth && is_secret_new()) {
      fetched = fetch();
    }
    if (!fetched) {
      return fetched.error();
    }
  }
  return credentials_->header;
}

bool authorizer::renew(const base::secret& used) {
  const std::lock_guard lock(credentials_->mutex);
  if (!(credentials_->header == used)) {
    return true; // another call was faster
  }
  if (is_oidc()) {
    credentials_->header = base::secret();
    return true;
  }
  if (!is_secret_new()) {
    return false;
  }
  credentials_->header = token_header(credentials_->secret);
  return true;
}

// Reads the secret where it lies and takes it over if it is another one.
bool authorizer::is_secret_new() {
  if (!options_.read_secret_again) {
    return false;
  }
  base::result<base::secret> read = options_.read_secret_again();
  if (!read || read->empty() || *read == credentials_->secret || !is_sendable(read->reveal())) {
    return false;
  }
  base::global_redactor().protect(read->reveal());
  credentials_->secret = *std::move(read);
  if (options_.on_warning) {
    options_.on_warning("waldur: the credentials were refused and read again; they are new");
  }
  return true;
}

std::string authorizer::scrub(std::string_view text) const {
  std::string out = base::global_redactor().scrub(text);
  const std::lock_guard lock(credentials_->token_mutex);
  const std::string_view token = credentials_->access_token.reveal();
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
       {"client_secret", std::string(credentials_->secret.reveal())}}
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
  const std::lock_guard lock(credentials_->token_mutex);
  credentials_->access_token = base::secret(token);
  credentials_->header = base::secret("Bearer " + token);
  credentials_->expires = options_.clock->steady() + lifetime_of(*body);
  return {};
}

} // namespace siteagent::waldur
