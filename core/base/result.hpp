// SPDX-License-Identifier: MIT
// result<T>: a value or an error, with the names of std::expected so that a later standard is a
// typedef away. An error converts implicitly: `return error{...};`.
#pragma once

#include "core/base/error.hpp"

#include <cassert>
#include <utility>
#include <variant>

namespace siteagent::base {

template <class T>
class [[nodiscard]] result {
public:
  // Implicit on purpose: both branches of a function read as plain returns.
  // NOLINTNEXTLINE(google-explicit-constructor)
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(base::error e) : state_(std::in_place_index<1>, std::move(e)) {}

  bool has_value() const noexcept { return state_.index() == 0; }

  explicit operator bool() const noexcept { return has_value(); }

  T& value() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }

  const T& value() const& {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }

  T&& value() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&state_));
  }

  T& operator*() & { return value(); }

  const T& operator*() const& { return value(); }

  T&& operator*() && { return std::move(*this).value(); }

  T* operator->() { return &value(); }

  const T* operator->() const { return &value(); }

  base::error& error() & {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

  const base::error& error() const& {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

  base::error&& error() && {
    assert(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

  T value_or(T fallback) const& { return has_value() ? value() : std::move(fallback); }

private:
  std::variant<T, base::error> state_;
};

template <>
class [[nodiscard]] result<void> {
public:
  result() = default;

  result(base::error e) : failure_(std::move(e)) {} // NOLINT(google-explicit-constructor)

  bool has_value() const noexcept { return !failure_.has_value(); }

  explicit operator bool() const noexcept { return has_value(); }

  base::error& error() & {
    assert(failure_);
    return *failure_;
  }

  const base::error& error() const& {
    assert(failure_);
    return *failure_;
  }

  base::error&& error() && {
    assert(failure_);
    return std::move(*failure_);
  }

private:
  std::optional<base::error> failure_;
};

} // namespace siteagent::base
