// SPDX-License-Identifier: MIT
// One JSON line per answered request.
#include "journal.hpp"

#include "core/base/json.hpp"

#include <openssl/evp.h>

#include <array>

namespace siteagent::emulators {

using base::json;

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text.push_back(digits[digest.at(i) >> 4U]);
    text.push_back(digits[digest.at(i) & 15U]);
  }
  return text;
}

base::result<void> journal::open(const std::string& file) {
  if (file.empty()) {
    return {};
  }
  {
    std::ifstream existing(file);
    std::string line;
    while (std::getline(existing, line)) {
      ++seq_;
    }
  }
  out_.open(file, std::ios::app);
  if (!out_) {
    return base::error{
        .code = base::error_code::invalid, .message = "--journal " + file + ": cannot write to it"};
  }
  return {};
}

void journal::write(const journal_entry& e) {
  json line = json::object({
      {"seq", 0},
      {"time", base::to_rfc3339(e.time, true)},
      {"method", e.method},
      {"path", e.path},
      {"query", e.query},
      {"status", e.status},
      {"request_id", e.request_id},
      {"body_sha256", sha256_hex(e.body)},
      {"fault", e.fault.empty() ? json() : json(e.fault)},
  });
  const std::lock_guard lock(mutex_);
  line.set("seq", ++seq_);
  if (out_.is_open()) {
    out_ << line.dump() << '\n' << std::flush;
  }
}

} // namespace siteagent::emulators
