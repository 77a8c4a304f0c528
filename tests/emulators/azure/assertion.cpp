// SPDX-License-Identifier: MIT
#include "assertion.hpp"

#include "crypto.hpp"
#include "keys.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::chrono::minutes skew{5};

struct token {
  json header;
  json claims;
  std::string signed_text;
  std::string signature;

  std::string claim(std::string_view name) const { return claims[name].string_or(""); }

  std::string algorithm() const { return header["alg"].string_or(""); }
};

std::optional<token> parse(std::string_view jwt) {
  const auto parts = base::split(jwt, '.');
  if (parts.size() != 3) {
    return std::nullopt;
  }
  const auto header = json::parse(from_base64url(parts[0]));
  const auto claims = json::parse(from_base64url(parts[1]));
  if (!header || !claims || !header->is_object() || !claims->is_object()) {
    return std::nullopt;
  }
  return token{
      *header,
      *claims,
      std::string(parts[0]) + "." + std::string(parts[1]),
      from_base64url(parts[2])};
}

base::wall_time time_claim(const token& t, std::string_view name, std::int64_t otherwise) {
  return base::wall_time(std::chrono::seconds(t.claims[name].integer().value_or(otherwise)));
}

std::optional<login_error> check_time(const token& t, base::wall_time now) {
  const auto expires = time_claim(t, "exp", 0);
  const auto begins = time_claim(t, "nbf", 0);
  if (now > expires + skew || now + skew < begins) {
    return refused(
        700024,
        "Current time: " + base::to_rfc3339(now) + ", expiry time of assertion " +
            base::to_rfc3339(expires) + "."
    );
  }
  return std::nullopt;
}

// "aud" may be a text or a list.
std::vector<std::string> audiences_of(const token& t) {
  std::vector<std::string> out;
  for (const auto& item : t.claims["aud"].items()) {
    out.push_back(item.string_or(""));
  }
  if (const auto lone = t.claims["aud"].string()) {
    out.emplace_back(*lone);
  }
  return out;
}

bool names_one_of(const token& t, const std::vector<std::string>& wanted) {
  const auto given = audiences_of(t);
  return std::any_of(given.begin(), given.end(), [&](const std::string& a) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& w) {
      return equals_ignoring_case(a, w);
    });
  });
}

// The thumbprints in the header must all be those of one registered certificate.
const std::string* registered(const token& t, const application_entry& a) {
  const std::string sha1 = t.header["x5t"].string_or("");
  const std::string sha256 = t.header["x5t#S256"].string_or("");
  for (const auto& pem : a.login.certificates) {
    const auto facts = certificate_of(pem);
    const bool fits = (sha1.empty() || sha1 == facts->sha1) &&
                      (sha256.empty() || sha256 == facts->sha256) && !(sha1 + sha256).empty();
    if (fits) {
      return &pem;
    }
  }
  return nullptr;
}

std::optional<login_error> check_own(const token& t, const assertion_check& how) {
  const std::string& id = how.application.client_id;
  const std::string* certificate = registered(t, how.application);
  if (certificate == nullptr) {
    return refused(700027, "The key was not found.");
  }
  if (!is_signed_by(public_key(*certificate).get(), t.algorithm(), t.signed_text, t.signature)) {
    return refused(700027, "The signature is invalid.");
  }
  if (how.now > certificate_of(*certificate)->not_after) {
    return refused(700027, "The key used is expired.");
  }
  if (!equals_ignoring_case(t.claim("iss"), id) || !equals_ignoring_case(t.claim("sub"), id)) {
    return refused(700021, "iss and sub must be the client id.");
  }
  if (!names_one_of(t, how.audiences)) {
    return refused(700023, "Expected audience is '" + how.audiences.front() + "'.");
  }
  if (auto bad = check_time(t, how.now)) {
    return bad;
  }
  if (how.only_once == nullptr) {
    return std::nullopt;
  }
  std::erase_if(*how.only_once, [&](const auto& entry) { return entry.second + skew < how.now; });
  const std::string key = id + "\n" + t.claim("jti");
  if (t.claim("jti").empty() || !how.only_once->emplace(key, time_claim(t, "exp", 0)).second) {
    return refused(700027, "The assertion has been used before.");
  }
  return std::nullopt;
}

bool is_signed_by_issuer(const token& t, const federated_entry& f) {
  if (!f.key.empty()) {
    return is_signed_by(public_key(f.key).get(), t.algorithm(), t.signed_text, t.signature);
  }
  const std::string kid = t.header["kid"].string_or("");
  const auto& keys = f.jwks["keys"].items();
  return std::any_of(keys.begin(), keys.end(), [&](const json& key) {
    const std::string name = key["kid"].string_or("");
    return (name.empty() || kid.empty() || name == kid) &&
           is_signed_by(web_key_of(key).get(), t.algorithm(), t.signed_text, t.signature);
  });
}

std::optional<login_error> check_federated(const token& t, const assertion_check& how) {
  const federated_entry* trusted = nullptr;
  bool issuer_known = false;
  bool subject_known = false;
  for (const auto& f : how.application.login.federated) {
    const bool same_issuer = f.issuer == t.claim("iss"); // case counts, as in the real service
    const bool same_subject = same_issuer && f.subject == t.claim("sub");
    issuer_known = issuer_known || same_issuer;
    subject_known = subject_known || same_subject;
    if (same_subject && names_one_of(t, {f.audience})) {
      trusted = &f;
    }
  }
  if (trusted == nullptr) {
    const auto given = audiences_of(t);
    return !issuer_known    ? refused(700211, t.claim("iss"))
           : !subject_known ? refused(700213, t.claim("sub"))
                            : refused(700212, given.empty() ? std::string() : given.front());
  }
  if (!is_signed_by_issuer(t, *trusted)) {
    return refused(700027, "The signature is invalid.");
  }
  return check_time(t, how.now);
}

} // namespace

std::optional<login_error> check_assertion(std::string_view jwt, const assertion_check& how) {
  const auto t = parse(jwt);
  if (!t) {
    return refused(50027);
  }
  const std::string issuer = t->claim("iss");
  const auto& federated = how.application.login.federated;
  const bool is_foreign =
      std::any_of(
          federated.begin(), federated.end(), [&](const auto& f) { return f.issuer == issuer; }
      ) ||
      issuer.rfind("https://", 0) == 0;
  return is_foreign ? check_federated(*t, how) : check_own(*t, how);
}

} // namespace siteagent::azure_emulator
