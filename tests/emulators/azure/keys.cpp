// SPDX-License-Identifier: MIT
#include "keys.hpp"

#include "crypto.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>
#include <chrono>
#include <ctime>

namespace siteagent::azure_emulator {

namespace {

struct deleter {
  void operator()(BIO* p) const { BIO_free_all(p); }

  void operator()(X509* p) const { X509_free(p); }

  void operator()(BIGNUM* p) const { BN_free(p); }

  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }

  void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }

  void operator()(OSSL_PARAM_BLD* p) const { OSSL_PARAM_BLD_free(p); }

  void operator()(OSSL_PARAM* p) const { OSSL_PARAM_free(p); }
};

template <class T>
using owned = std::unique_ptr<T, deleter>;

owned<BIO> reader_of(std::string_view text) {
  return owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

owned<X509> read_certificate(std::string_view pem) {
  const auto in = reader_of(pem);
  owned<X509> out(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return out;
}

owned<BIGNUM> number_of(const base::json& text) {
  const std::string bytes = from_base64url(text.string_or(""));
  if (bytes.empty()) {
    return nullptr;
  }
  return owned<BIGNUM>(BN_bin2bn(
      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr
  ));
}

std::string digest_of(const X509* certificate, const EVP_MD* kind) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  X509_digest(certificate, kind, out.data(), &length);
  return base64url({reinterpret_cast<const char*>(out.data()), length});
}

} // namespace

public_key_ptr public_key(std::string_view pem) {
  if (const auto certificate = read_certificate(pem)) {
    return public_key_ptr(X509_get_pubkey(certificate.get()));
  }
  const auto in = reader_of(pem);
  public_key_ptr out(PEM_read_bio_PUBKEY(in.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return out;
}

public_key_ptr web_key_of(const base::json& web_key) {
  const auto n = number_of(web_key["n"]);
  const auto e = number_of(web_key["e"]);
  if (web_key["kty"].string_or("") != "RSA" || !n || !e) {
    return nullptr;
  }
  const owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  const owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder.get()));
  const owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  EVP_PKEY* key = nullptr;
  EVP_PKEY_fromdata_init(context.get());
  EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get());
  ERR_clear_error();
  return public_key_ptr(key);
}

std::optional<certificate_facts> certificate_of(std::string_view pem) {
  const auto certificate = read_certificate(pem);
  if (!certificate) {
    return std::nullopt;
  }
  std::tm parts{};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts);
  return certificate_facts{
      digest_of(certificate.get(), EVP_sha1()),
      digest_of(certificate.get(), EVP_sha256()),
      base::wall_time(std::chrono::seconds(timegm(&parts)))};
}

bool is_signed_by(
    EVP_PKEY* key, std::string_view algorithm, std::string_view text, std::string_view signature
) {
  const bool pss = algorithm == "PS256";
  if (key == nullptr || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA ||
      (!pss && algorithm != "RS256")) {
    return false;
  }
  const owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;
  bool ok = EVP_DigestVerifyInit(context.get(), &options, EVP_sha256(), nullptr, key) == 1;
  if (ok && pss) {
    ok = EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1;
  }
  ok = ok && EVP_DigestVerify(
                 context.get(),
                 reinterpret_cast<const unsigned char*>(signature.data()),
                 signature.size(),
                 reinterpret_cast<const unsigned char*>(text.data()),
                 text.size()
             ) == 1;
  ERR_clear_error();
  return ok;
}

} // namespace siteagent::azure_emulator
