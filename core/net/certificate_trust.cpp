// SPDX-License-Identifier: MIT
#include "core/net/certificate_trust.hpp"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace siteagent::net {

namespace {

base::error ca_failure(const std::string& file, const std::string& why) {
  return {
      .code = base::error_code::invalid,
      .message = "CA file " + file + ": " + why + "; give a readable file of PEM certificates"};
}

} // namespace

base::result<certificate_store> load_certificates(const std::string& file) {
  errno = 0;
  if (!std::ifstream(file)) {
    return ca_failure(file, std::generic_category().message(errno));
  }
  certificate_store store(X509_STORE_new(), X509_STORE_free);
  const bool is_loaded = store && X509_STORE_load_file(store.get(), file.c_str()) == 1;
  ERR_clear_error(); // the queue is the thread's; its next user would read our entries
  if (!is_loaded) {
    return ca_failure(file, "no certificate could be read from it");
  }
  return store;
}

void verification::apply(SSL_CTX* context, const certificate_store& store) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (store) {
    SSL_CTX_set1_cert_store(context, store.get());
  }
  SSL_CTX_set_cert_verify_callback(context, verify, this);
}

int verification::verify(X509_STORE_CTX* chain, void* self) {
  const int is_good = X509_verify_cert(chain);
  if (is_good != 1) {
    auto& noted = *static_cast<verification*>(self);
    noted.reason_ = X509_STORE_CTX_get_error(chain);
    noted.is_refused_ = true;
  }
  return is_good;
}

std::optional<std::string> verification::problem() const {
  if (!is_refused_) {
    return std::nullopt;
  }
  // The HTTP library's own check of the name says no without leaving a reason of its own.
  const int reason = reason_;
  const bool is_name = reason == X509_V_OK || reason == X509_V_ERR_UNSPECIFIED;
  return is_name ? "it is for another host name" : X509_verify_cert_error_string(reason);
}

} // namespace siteagent::net
