// SPDX-License-Identifier: MIT
#include "tests/unit/azure/credential_keys.hpp"

#include "core/base/text.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>

namespace siteagent::azure::test {

namespace {

struct deleter {
  void operator()(BIO* p) const { BIO_free_all(p); }

  void operator()(X509* p) const { X509_free(p); }

  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }

  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }

  void operator()(PKCS12* p) const { PKCS12_free(p); }

  void operator()(BIGNUM* p) const { BN_free(p); }
};

template <class T>
using owned = std::unique_ptr<T, deleter>;

template <class Write>
std::string text_of(Write write) {
  const owned<BIO> out(BIO_new(BIO_s_mem()));
  write(out.get());
  char* text = nullptr;
  const auto length = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(length)};
}

std::string base64url(const std::string& bytes) {
  std::string out;
  for (const char c : base::base64(bytes)) {
    if (c != '=') {
      out += c == '+' ? '-' : c == '/' ? '_' : c;
    }
  }
  return out;
}

owned<X509> certify(EVP_PKEY* key, base::wall_time start, int days) {
  owned<X509> c(X509_new());
  X509_set_version(c.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), 1);
  const auto at = std::chrono::system_clock::to_time_t(start);
  ASN1_TIME_set(X509_getm_notBefore(c.get()), at);
  ASN1_TIME_set(X509_getm_notAfter(c.get()), at + static_cast<std::time_t>(days) * 86400);
  X509_set_pubkey(c.get(), key);
  X509_NAME* name = X509_get_subject_name(c.get());
  const auto* text = reinterpret_cast<const unsigned char*>("site-agent");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(c.get(), name);
  X509_sign(c.get(), key, EVP_sha256());
  return c;
}

std::string pem_of(X509* c) {
  return text_of([&](BIO* out) { PEM_write_bio_X509(out, c); });
}

std::string pem_of(EVP_PKEY* key, const char* password) {
  return text_of([&](BIO* out) {
    PEM_write_bio_PKCS8PrivateKey(
        out,
        key,
        password == nullptr ? nullptr : EVP_aes_256_cbc(),
        password,
        password == nullptr ? 0 : 9,
        nullptr,
        nullptr
    );
  });
}

owned<EVP_PKEY> read_key(const std::string& pem) {
  const owned<BIO> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return owned<EVP_PKEY>(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}

std::string modulus_of(EVP_PKEY* key) {
  BIGNUM* n = nullptr;
  EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n);
  const owned<BIGNUM> number(n);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(n)), '\0');
  BN_bn2bin(n, reinterpret_cast<unsigned char*>(bytes.data()));
  return base64url(bytes);
}

} // namespace

test_certificate
make_certificate(base::wall_time start, int days, const test_certificate* same_key_as) {
  const owned<EVP_PKEY> key =
      same_key_as != nullptr ? read_key(same_key_as->key) : owned<EVP_PKEY>(EVP_RSA_gen(2048));
  const auto certificate = certify(key.get(), start, days);
  const owned<PKCS12> box(PKCS12_create(
      "pass-word", "site-agent", key.get(), certificate.get(), nullptr, 0, 0, 0, 10, 0
  ));
  test_certificate out;
  out.certificate = pem_of(certificate.get());
  out.key = pem_of(key.get(), nullptr);
  out.locked_key = pem_of(key.get(), "pass-word");
  out.pkcs12 = text_of([&](BIO* b) { i2d_PKCS12_bio(b, box.get()); });
  out.public_key = text_of([&](BIO* b) { PEM_write_bio_PUBKEY(b, key.get()); });
  out.modulus = modulus_of(key.get());
  return out;
}

std::string make_curve_certificate(base::wall_time start) {
  const owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  return pem_of(key.get(), nullptr) + pem_of(certify(key.get(), start, 30).get());
}

std::string
sign_jwt(const test_certificate& with, const std::string& header, const std::string& claims) {
  const std::string text = base64url(header) + "." + base64url(claims);
  const auto key = read_key(with.key);
  const owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get());
  std::size_t length = 512;
  std::string signature(length, '\0');
  EVP_DigestSign(
      context.get(),
      reinterpret_cast<unsigned char*>(signature.data()),
      &length,
      reinterpret_cast<const unsigned char*>(text.data()),
      text.size()
  );
  signature.resize(length);
  return text + "." + base64url(signature);
}

} // namespace siteagent::azure::test
