// SPDX-License-Identifier: MIT
// A certificate authority and a loopback certificate with OpenSSL.
#include "tls.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>

namespace siteagent::emulators {

namespace {

template <auto Free>
struct deleter {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};

using key_ptr = std::unique_ptr<EVP_PKEY, deleter<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, deleter<X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, deleter<X509_EXTENSION_free>>;
using bio_ptr = std::unique_ptr<BIO, deleter<BIO_free_all>>;

constexpr long ten_years = 3650L * 24 * 3600;

base::error failure(const std::string& what) {
  return {.code = base::error_code::invalid, .message = "--tls-auto: " + what};
}

bool extend(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const extension_ptr e(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return e && X509_add_ext(certificate, e.get(), -1) == 1;
}

certificate_ptr make_certificate(const char* name, EVP_PKEY* key) {
  certificate_ptr c(X509_new());
  X509_set_version(c.get(), 2);
  // Two runs must not share a serial number: clients cache by issuer and serial.
  std::random_device random;
  const std::uint64_t serial = (std::uint64_t{random()} << 16U) | 1U;
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(c.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -24L * 3600);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), ten_years);
  X509_set_pubkey(c.get(), key);
  X509_NAME_add_entry_by_NID(
      X509_get_subject_name(c.get()),
      NID_commonName,
      V_ASN1_UTF8STRING,
      reinterpret_cast<const unsigned char*>(name),
      -1,
      -1,
      0
  );
  return c;
}

certificate_ptr make_authority(EVP_PKEY* key) {
  auto c = make_certificate("Emulator test authority", key);
  X509_set_issuer_name(c.get(), X509_get_subject_name(c.get()));
  const bool ok = extend(c.get(), c.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                  extend(c.get(), c.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
                  extend(c.get(), c.get(), NID_subject_key_identifier, "hash") &&
                  X509_sign(c.get(), key, EVP_sha256()) > 0;
  return ok ? std::move(c) : nullptr;
}

certificate_ptr make_server(EVP_PKEY* key, X509* authority, EVP_PKEY* authority_key) {
  auto c = make_certificate("localhost", key);
  X509_set_issuer_name(c.get(), X509_get_subject_name(authority));
  const bool ok =
      extend(c.get(), authority, NID_basic_constraints, "critical,CA:FALSE") &&
      extend(c.get(), authority, NID_key_usage, "critical,digitalSignature") &&
      extend(c.get(), authority, NID_ext_key_usage, "serverAuth") &&
      extend(c.get(), authority, NID_authority_key_identifier, "keyid:always") &&
      extend(c.get(), authority, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
      X509_sign(c.get(), authority_key, EVP_sha256()) > 0;
  return ok ? std::move(c) : nullptr;
}

// Written beside and renamed, so that nobody reads half a file.
template <class Write>
bool write_pem(const std::string& file, mode_t mode, Write write) {
  const std::string temporary = file + ".new";
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) {
    return false;
  }
  const bio_ptr bio(BIO_new_fd(fd, BIO_CLOSE));
  const bool ok = bio && write(bio.get()) == 1;
  return ok && std::rename(temporary.c_str(), file.c_str()) == 0;
}

} // namespace

base::result<tls_files> make_loopback_certificate(const std::string& directory) {
  namespace fs = std::filesystem;
  const tls_files files{
      directory + "/ca.pem", directory + "/server.pem", directory + "/server.key"};
  std::error_code ec;
  fs::create_directories(directory, ec);
  if (fs::exists(files.authority, ec) && fs::exists(files.certificate, ec) &&
      fs::exists(files.key, ec)) {
    return files;
  }
  const key_ptr authority_key(EVP_EC_gen("P-256"));
  const key_ptr key(EVP_EC_gen("P-256"));
  if (!authority_key || !key) {
    return failure("cannot make a key");
  }
  const auto authority = make_authority(authority_key.get());
  const auto server =
      authority ? make_server(key.get(), authority.get(), authority_key.get()) : nullptr;
  if (!server) {
    return failure("cannot make a certificate");
  }
  const bool written =
      write_pem(
          files.key,
          0600,
          [&](BIO* b) {
            return PEM_write_bio_PrivateKey(b, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }
      ) &&
      write_pem(
          files.certificate, 0644, [&](BIO* b) { return PEM_write_bio_X509(b, server.get()); }
      ) &&
      write_pem(files.authority, 0644, [&](BIO* b) {
        return PEM_write_bio_X509(b, authority.get());
      });
  if (!written) {
    return failure("cannot write to " + directory);
  }
  return files;
}

} // namespace siteagent::emulators
