// SPDX-License-Identifier: MIT
// Certificates made while the test runs, in a directory of their own that goes with the object.
#pragma once

#include <memory>
#include <string>

using X509 = struct x509_st;
using EVP_PKEY = struct evp_pkey_st;

namespace siteagent::net::test {

class temporary_directory {
public:
  temporary_directory();
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

struct issued {
  std::string certificate_file; // PEM
  std::string key_file;
};

// A certificate authority.
class authority {
public:
  explicit authority(const temporary_directory& where, const std::string& name = "ca");

  const std::string& file() const { return file_; }

  // `names` as in a subjectAltName: "DNS:a.test,IP:127.0.0.1". Valid from an hour ago, or, when
  // `is_expired`, until an hour ago.
  issued issue(const std::string& names, bool is_expired = false);

private:
  const temporary_directory& where_;
  std::string name_;
  std::string file_;
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  int serial_ = 1;
};

} // namespace siteagent::net::test
