// SPDX-License-Identifier: MIT
#include "core/base/secret.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace siteagent::base {

secret::secret(secret&& other) noexcept : text_(other.text_) {
  other.wipe();
}

secret& secret::operator=(const secret& other) {
  if (this != &other) {
    wipe();
    text_ = other.text_;
  }
  return *this;
}

secret& secret::operator=(secret&& other) noexcept {
  if (this != &other) {
    wipe();
    text_ = other.text_;
    other.wipe();
  }
  return *this;
}

secret::~secret() {
  wipe();
}

void secret::wipe() noexcept {
  ::explicit_bzero(text_.data(), text_.size());
  text_.clear();
}

void redactor::protect(std::string_view value) {
  constexpr std::size_t shortest = 6;
  if (value.size() < shortest) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto same = [&](const secret& s) { return s.reveal() == value; };
  if (std::any_of(values_.begin(), values_.end(), same)) {
    return;
  }
  const auto place = std::find_if(values_.begin(), values_.end(), [&](const secret& s) {
    return s.reveal().size() < value.size();
  });
  values_.insert(place, secret(value));
}

std::string redactor::scrub(std::string_view text) const {
  std::string out(text);
  const std::lock_guard lock(mutex_);
  for (const secret& s : values_) {
    for (std::size_t at = out.find(s.reveal()); at != std::string::npos;
         at = out.find(s.reveal(), at + 3)) {
      out.replace(at, s.reveal().size(), "***");
    }
  }
  return out;
}

redactor& global_redactor() {
  static auto* the_redactor = new redactor; // never destroyed: used until the last log line
  return *the_redactor;
}

} // namespace siteagent::base
