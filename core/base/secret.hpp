// SPDX-License-Identifier: MIT
// Secrets: typed, wiped, never printed; and the registry that scrubs known values from any text.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::base {

// Text that is wiped when it goes. There is deliberately no operator<< and no conversion.
class secret {
public:
  secret() = default;

  explicit secret(std::string_view text) : text_(text) {}

  secret(const secret&) = default;
  secret(secret&& other) noexcept;
  secret& operator=(const secret& other);
  secret& operator=(secret&& other) noexcept;
  ~secret();

  // The only way to the bytes; the name is greppable.
  std::string_view reveal() const { return text_; }

  bool empty() const { return text_.empty(); }

  friend bool operator==(const secret&, const secret&) = default;

private:
  void wipe() noexcept;

  std::string text_;
};

// Known secret values. protect() takes effect for every later scrub(). [any thread]
class redactor {
public:
  // Values shorter than 6 bytes are not taken: they would garble ordinary text.
  void protect(std::string_view value);
  // Every protected value replaced by "***".
  std::string scrub(std::string_view text) const;

private:
  mutable std::mutex mutex_;
  std::vector<secret> values_; // longest first
};

// The process's registry: logs, errors and audit all scrub through it. Never destroyed.
redactor& global_redactor();

} // namespace siteagent::base
