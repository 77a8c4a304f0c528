// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/assertion.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "plugins/azure/base64.hpp"
#include "plugins/azure/error_map.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>

namespace siteagent::azure::arm {

namespace {

constexpr std::chrono::minutes life{10};
constexpr std::chrono::minutes skew{5};

struct deleter {
  void operator()(BIO* p) const { BIO_free_all(p); }

  void operator()(X509* p) const { X509_free(p); }

  void operator()(PKCS12* p) const { PKCS12_free(p); }

  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }

  void operator()(STACK_OF(X509) * p) const { sk_X509_pop_free(p, X509_free); }
};

template <class T>
using owned = std::unique_ptr<T, deleter>;
using key_ptr = std::unique_ptr<EVP_PKEY, free_key>;

base::error unusable(std::string_view why) {
  ERR_clear_error();
  return make_error(
      reason::credentials, base::error_code::auth, "use client_certificate: " + std::string(why)
  );
}

owned<BIO> reader_of(std::string_view bytes) {
  return owned<BIO>(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

int give_password(char* buffer, int size, int /*writing*/, void* data) {
  const auto* password = static_cast<const std::string_view*>(data);
  const std::size_t length = std::min(password->size(), static_cast<std::size_t>(size));
  std::memcpy(buffer, password->data(), length);
  return static_cast<int>(length);
}

// Any object's DER by one of OpenSSL's i2d functions.
std::string der_of(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int length = i2d_X509(certificate, &bytes);
  std::string out;
  if (length > 0) {
    out.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
    OPENSSL_free(bytes);
  }
  return out;
}

base::wall_time time_of(const ASN1_TIME* t) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(t, &parts) != 1) {
    return {};
  }
  return base::wall_time(std::chrono::seconds(timegm(&parts)));
}

std::string subject_of(X509* certificate) {
  const owned<BIO> out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const auto length = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(std::max(length, 0L))};
}

struct parts {
  key_ptr key;
  std::vector<owned<X509>> certificates; // the first is the key's own, once checked
};

base::result<parts> read_pem(std::string_view bytes, std::string_view password) {
  parts out;
  const auto certificates = reader_of(bytes);
  while (X509* one = PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)) {
    out.certificates.emplace_back(one);
  }
  ERR_clear_error();
  const auto key = reader_of(bytes);
  out.key.reset(PEM_read_bio_PrivateKey(key.get(), nullptr, give_password, &password));
  if (!out.key) {
    const bool locked = bytes.find("ENCRYPTED") != std::string_view::npos;
    return unusable(
        locked ? "its key is encrypted and client_certificate_password does not open it"
               : "it holds no private key; the PEM must have the certificate and its key"
    );
  }
  if (out.certificates.empty()) {
    return unusable("it holds a key but no certificate; the PEM must have both");
  }
  return out;
}

base::result<parts> read_pkcs12(std::string_view bytes, const std::string& password) {
  const auto source = reader_of(bytes);
  const owned<PKCS12> box(d2i_PKCS12_bio(source.get(), nullptr));
  if (!box) {
    return unusable("it is neither PEM nor PKCS#12");
  }
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  STACK_OF(X509)* others = nullptr;
  if (PKCS12_parse(box.get(), password.c_str(), &key, &certificate, &others) != 1) {
    const auto code = ERR_peek_last_error();
    const bool wrong = ERR_GET_REASON(code) == PKCS12_R_MAC_VERIFY_FAILURE;
    return unusable(
        wrong ? "client_certificate_password does not open the PKCS#12 file"
              : "the PKCS#12 file cannot be read; one with old encryption is converted by openssl "
                "pkcs12 -legacy"
    );
  }
  parts out;
  out.key.reset(key);
  const owned<STACK_OF(X509)> rest(others);
  if (certificate != nullptr) {
    out.certificates.emplace_back(certificate);
  }
  for (int i = 0; rest && i < sk_X509_num(rest.get()); ++i) {
    X509* one = sk_X509_value(rest.get(), i);
    X509_up_ref(one);
    out.certificates.emplace_back(one);
  }
  if (!out.key || out.certificates.empty()) {
    return unusable("the PKCS#12 file must hold the certificate and its key");
  }
  return out;
}

base::result<parts> read_any(std::string_view bytes, std::string_view password) {
  if (bytes.find("-----BEGIN ") != std::string_view::npos) {
    return read_pem(bytes, password);
  }
  const std::string text(password);
  const auto decoded = base64_decode(base::trim(bytes));
  auto read = read_pkcs12(decoded ? std::string_view(*decoded) : bytes, text);
  if (!read && !decoded) {
    // Whoever reads secrets drops a last line end, which here may be the last byte of the file.
    auto again = read_pkcs12(std::string(bytes) + "\n", text);
    return again ? std::move(again) : std::move(read);
  }
  return read;
}

std::string base64url(std::string_view bytes) {
  std::string out;
  for (const char c : base::base64(bytes)) {
    if (c != '=') {
      out += c == '+' ? '-' : c == '/' ? '_' : c;
    }
  }
  return out;
}

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, kind, nullptr);
  return {reinterpret_cast<const char*>(out.data()), length};
}

base::result<std::string> signature(EVP_PKEY* key, std::string_view text, bool pss) {
  const owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;
  bool ok = EVP_DigestSignInit(context.get(), &options, EVP_sha256(), nullptr, key) == 1;
  if (ok && pss) {
    ok = EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t length = 0;
  ok = ok && EVP_DigestSign(context.get(), nullptr, &length, data, text.size()) == 1;
  std::string out(length, '\0');
  ok = ok &&
       EVP_DigestSign(
           context.get(), reinterpret_cast<unsigned char*>(out.data()), &length, data, text.size()
       ) == 1;
  if (!ok) {
    return unusable("its key cannot sign");
  }
  out.resize(length);
  return out;
}

std::int64_t unix_seconds(base::wall_time t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

} // namespace

base::result<signing_certificate>
load_certificate(std::string_view bytes, std::string_view password) {
  auto read = read_any(bytes, password);
  if (!read) {
    return read.error();
  }
  if (EVP_PKEY_get_base_id(read->key.get()) != EVP_PKEY_RSA) {
    return unusable("its key is no RSA key; Entra ID takes RSA keys for applications");
  }
  auto& all = read->certificates;
  const auto own = std::find_if(all.begin(), all.end(), [&](const owned<X509>& c) {
    return X509_check_private_key(c.get(), read->key.get()) == 1;
  });
  ERR_clear_error();
  if (own == all.end()) {
    return unusable("its key belongs to none of its certificates");
  }
  std::rotate(all.begin(), own, own + 1);
  signing_certificate out;
  out.key = std::move(read->key);
  out.certificate = der_of(all.front().get());
  for (auto other = all.begin() + 1; other != all.end(); ++other) {
    out.chain.push_back(der_of(other->get()));
  }
  out.subject = subject_of(all.front().get());
  out.not_before = time_of(X509_get0_notBefore(all.front().get()));
  out.not_after = time_of(X509_get0_notAfter(all.front().get()));
  return out;
}

base::result<base::secret>
sign_assertion(const signing_certificate& with, const assertion_claims& claims) {
  if (claims.now >= with.not_after) {
    return unusable(
        "the certificate " + with.subject + " expired at " + base::to_rfc3339(with.not_after) +
        "; make a new one and register it with the application"
    );
  }
  if (claims.now + skew < with.not_before) {
    return unusable(
        "the certificate " + with.subject + " is valid from " + base::to_rfc3339(with.not_before) +
        " on; check the clock of this machine"
    );
  }
  base::json header = base::json::object(
      {{"alg", claims.rs256 ? "RS256" : "PS256"},
       {"typ", "JWT"},
       {"x5t#S256", base64url(digest(EVP_sha256(), with.certificate))},
       {"x5t", base64url(digest(EVP_sha1(), with.certificate))}}
  );
  if (claims.with_chain) {
    base::json chain = base::json::array({base::base64(with.certificate)});
    for (const std::string& issuer : with.chain) {
      chain.push_back(base::base64(issuer));
    }
    header.set("x5c", std::move(chain));
  }
  const auto now = unix_seconds(claims.now);
  const auto span = std::chrono::duration_cast<std::chrono::seconds>(life).count();
  const base::json payload = base::json::object(
      {{"aud", claims.audience},
       {"iss", claims.client_id},
       {"sub", claims.client_id},
       {"jti", base::uuid::random().dashed()},
       {"iat", now},
       {"nbf", now - std::chrono::duration_cast<std::chrono::seconds>(skew).count()},
       {"exp", now + span}}
  );
  const std::string text = base64url(header.dump()) + "." + base64url(payload.dump());
  const auto signed_text = signature(with.key.get(), text, !claims.rs256);
  if (!signed_text) {
    return signed_text.error();
  }
  return base::secret(text + "." + base64url(*signed_text));
}

} // namespace siteagent::azure::arm
