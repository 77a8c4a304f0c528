// SPDX-License-Identifier: MIT
#include "tests/unit/net/test_certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace siteagent::net::test {

namespace {

constexpr long hour = 3'600;

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) {
    throw std::runtime_error("test certificate: extension refused: " + value);
  }
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void set_name(X509_NAME* name, const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.c_str());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, bytes, -1, -1, 0);
}

template <class Write>
void write_file(const std::string& path, Write write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    throw std::runtime_error("test certificate: cannot write " + path);
  }
  write(file);
  std::fclose(file);
}

void write_key(const std::string& path, EVP_PKEY* key) {
  write_file(path, [&](std::FILE* f) {
    PEM_write_PrivateKey(f, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void write_certificate(const std::string& path, X509* certificate) {
  write_file(path, [&](std::FILE* f) { PEM_write_X509(f, certificate); });
}

} // namespace

temporary_directory::temporary_directory() {
  std::string pattern = std::filesystem::temp_directory_path() / "sagent-net-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no temporary directory");
  }
  path_ = pattern;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

authority::authority(const temporary_directory& where, const std::string& name)
    : where_(where), name_(name), file_(where.file(name + ".pem")),
      key_(EVP_EC_gen("P-256"), EVP_PKEY_free), certificate_(X509_new(), X509_free) {
  X509* c = certificate_.get();
  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), 1);
  X509_gmtime_adj(X509_getm_notBefore(c), -24 * hour);
  X509_gmtime_adj(X509_getm_notAfter(c), 24 * hour);
  X509_set_pubkey(c, key_.get());
  set_name(X509_get_subject_name(c), "test authority " + name);
  X509_set_issuer_name(c, X509_get_subject_name(c));
  add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(c, key_.get(), EVP_sha256());
  write_certificate(file_, c);
}

issued authority::issue(const std::string& names, bool is_expired) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> owner(X509_new(), X509_free);
  X509* c = owner.get();
  X509_set_version(c, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial_);
  X509_gmtime_adj(X509_getm_notBefore(c), is_expired ? -2 * hour : -hour);
  X509_gmtime_adj(X509_getm_notAfter(c), is_expired ? -hour : hour);
  X509_set_pubkey(c, key.get());
  set_name(X509_get_subject_name(c), "test server");
  X509_set_issuer_name(c, X509_get_subject_name(certificate_.get()));
  add_extension(c, certificate_.get(), NID_subject_alt_name, names);
  X509_sign(c, key_.get(), EVP_sha256());
  const std::string stem = name_ + "-" + std::to_string(serial_);
  const issued out{where_.file(stem + ".pem"), where_.file(stem + ".key")};
  write_certificate(out.certificate_file, c);
  write_key(out.key_file, key.get());
  return out;
}

} // namespace siteagent::net::test
