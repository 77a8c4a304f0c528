// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/credential.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/assertion.hpp"
#include "plugins/azure/error_map.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

namespace siteagent::azure::arm {

namespace {

constexpr std::size_t largest_token_file = std::size_t{64} << 10U;

// The form of a client-credentials exchange. `proof` stands in plain text only in the body.
token_request form_request(const principal& who, net::query_list proof, const std::string& claims) {
  net::query_list form{{"grant_type", "client_credentials"}, {"client_id", who.client_id}};
  form.insert(form.end(), proof.begin(), proof.end());
  form.emplace_back("scope", who.audience + "/.default");
  if (!claims.empty()) {
    form.emplace_back("claims", claims);
  }
  token_request out;
  out.http.method = "POST";
  out.http.url = who.token_url();
  out.http.headers = {{"Accept", "application/json"}};
  out.http.content_type = "application/x-www-form-urlencoded";
  out.http.body = net::build_query(form);
  for (auto* list : {&form, &proof}) {
    for (auto& [key, value] : *list) {
      OPENSSL_cleanse(value.data(), value.size());
    }
  }
  return out;
}

token_request
assertion_request(const principal& who, base::secret assertion, const std::string& claims) {
  token_request out = form_request(
      who,
      {{"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
       {"client_assertion", std::string(assertion.reveal())}},
      claims
  );
  out.derived = std::move(assertion);
  return out;
}

class secret_credential final : public credential {
public:
  explicit secret_credential(secret_reader read) : read_(std::move(read)) {}

  base::result<base::secret> material() const override { return read_("client_secret"); }

  base::result<token_request> compose(
      const principal& who,
      const base::secret& material,
      const std::string& claims,
      base::wall_time /*now*/
  ) const override {
    return form_request(who, {{"client_secret", std::string(material.reveal())}}, claims);
  }

private:
  secret_reader read_;
};

class certificate_credential final : public credential {
public:
  certificate_credential(secret_reader read, bool has_password, bool with_chain)
      : read_(std::move(read)), has_password_(has_password), with_chain_(with_chain) {}

  base::result<base::secret> material() const override { return read_("client_certificate"); }

  base::result<token_request> compose(
      const principal& who,
      const base::secret& material,
      const std::string& claims,
      base::wall_time now
  ) const override {
    const auto certificate = load(material);
    if (!certificate) {
      return certificate.error();
    }
    auto assertion = sign_assertion(
        *certificate, {who.client_id, who.token_url(), now, who.is_adfs(), with_chain_}
    );
    if (!assertion) {
      return assertion.error();
    }
    return assertion_request(who, std::move(*assertion), claims);
  }

  std::optional<base::wall_time> end() const override {
    const auto bytes = material();
    const auto certificate = bytes ? load(*bytes) : bytes.error();
    return certificate ? std::optional(certificate->not_after) : std::nullopt;
  }

private:
  base::result<signing_certificate> load(const base::secret& material) const {
    base::secret password;
    if (has_password_) {
      auto given = read_("client_certificate_password");
      if (!given) {
        return given.error();
      }
      password = std::move(*given);
    }
    return load_certificate(material.reveal(), password.reveal());
  }

  secret_reader read_;
  bool has_password_;
  bool with_chain_;
};

class federated_credential final : public credential {
public:
  explicit federated_credential(std::string file) : file_(std::move(file)) {}

  base::result<base::secret> material() const override {
    std::ifstream in(file_, std::ios::binary);
    if (!in) {
      return unreadable(std::generic_category().message(errno));
    }
    std::string bytes(largest_token_file + 1, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto length = static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0));
    const base::secret token(base::trim(std::string_view(bytes).substr(0, length)));
    OPENSSL_cleanse(bytes.data(), bytes.size());
    const std::string_view text = token.reveal();
    if (length > largest_token_file || std::count(text.begin(), text.end(), '.') != 2) {
      return unreadable("it holds no token (three parts joined by dots)");
    }
    return token;
  }

  base::result<token_request> compose(
      const principal& who,
      const base::secret& material,
      const std::string& claims,
      base::wall_time /*now*/
  ) const override {
    return assertion_request(who, material, claims);
  }

private:
  base::error unreadable(const std::string& why) const {
    return make_error(
        reason::credentials,
        base::error_code::auth,
        "read federated_token_file " + file_ + ": " + why +
            "; check the path and whatever puts the token there"
    );
  }

  std::string file_;
};

} // namespace

base::result<void> credential::look(net::transport& /*transport*/, const scope& /*call*/) const {
  return {};
}

base::error credential::refusal(const net::response& answer, const principal& who) const {
  return token_error(answer, who);
}

base::result<token_answer> credential::read(std::string_view body, base::wall_time now) const {
  return parse_token(body, now);
}

milliseconds credential::first_pause(int /*status*/, milliseconds unit) const {
  return unit;
}

credential_ptr make_secret_credential(secret_reader read) {
  return std::make_shared<secret_credential>(std::move(read));
}

credential_ptr make_certificate_credential(secret_reader read, bool has_password, bool with_chain) {
  return std::make_shared<certificate_credential>(std::move(read), has_password, with_chain);
}

credential_ptr make_federated_credential(std::string token_file) {
  return std::make_shared<federated_credential>(std::move(token_file));
}

} // namespace siteagent::azure::arm
