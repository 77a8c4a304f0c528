// SPDX-License-Identifier: MIT
// Failures as reactions and as words for the customer.
#include "core/agent/verdict.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"

namespace siteagent::agent {

namespace {

constexpr std::size_t text_limit = 2000;

std::string_view stock_text(const base::error& e) {
  if (e.code == base::error_code::quota) {
    return "The provider has no room for this order at the moment";
  }
  if (base::class_of(e.code) == base::error_class::refused) {
    return "The provider refused this order";
  }
  if (e.code == base::error_code::deadline) {
    return "The provider's system did not finish this order in time";
  }
  return "The provider's system could not carry out this order";
}

} // namespace

reaction react_to(const base::error& e) {
  if (e.code == base::error_code::auth) {
    return reaction::hold_offering;
  }
  if (e.code == base::error_code::cancelled) {
    return reaction::stopped;
  }
  switch (base::class_of(e.code)) {
  case base::error_class::permanent:
  case base::error_class::refused:
    return reaction::fail;
  case base::error_class::not_found:
    return reaction::not_there;
  case base::error_class::transient:
  case base::error_class::outcome_unknown:
  case base::error_class::broken:
    return reaction::retry;
  }
  return reaction::retry;
}

std::string safe_text(std::string_view text) {
  std::string clean = base::global_redactor().scrub(text);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = ' ';
    }
  }
  return std::string(base::truncated(base::trim(clean), text_limit));
}

std::string customer_text(const base::error& e, std::string_view reference, bool expose_details) {
  const std::string suffix = " (reference " + std::string(reference) + ")";
  std::string text = e.public_message;
  if (text.empty()) {
    text = stock_text(e);
    if (expose_details && !e.provider_code.empty()) {
      text += " [" + e.provider_code + "]";
    }
    text += "; please contact the service provider";
  }
  const std::string clean = safe_text(text);
  return std::string(base::truncated(clean, text_limit - suffix.size())) + suffix;
}

} // namespace siteagent::agent
