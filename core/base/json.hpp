// SPDX-License-Identifier: MIT
// JSON values. The only wrapper over RapidJSON; no RapidJSON type appears above this header.
//
// Parsing is guarded: depth, element count, duplicate keys, UTF-8, trailing text. Numbers keep
// their text ("0.10" stays "0.10"), because money and usage must never pass through a double.
// Objects keep the order of their members. Reading is tolerant: an absent member or a member of
// another type reads as null / nullopt, never as garbage; absent and null stay distinguishable
// through find().
#pragma once

#include "core/base/result.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::base {

struct json_limits {
  unsigned depth = 64;
  std::size_t elements = 2'000'000;
};

class json {
public:
  enum class kind : std::uint8_t { null, boolean, number, string, array, object };
  using member = std::pair<std::string, json>;

  json() = default; // null

  json(std::nullptr_t) {} // NOLINT(google-explicit-constructor)

  json(std::string text); // NOLINT(google-explicit-constructor)

  json(std::string_view text) : json(std::string(text)) {} // NOLINT(google-explicit-constructor)

  json(const char* text) : json(std::string(text)) {} // NOLINT(google-explicit-constructor)

  template <std::same_as<bool> B>
  json(B value) : kind_(kind::boolean), boolean_(value) {} // NOLINT(google-explicit-constructor)

  template <std::integral I>

  requires(!std::same_as<I, bool>) json(I value)
      : kind_(kind::number), text_(std::to_string(value)) {} // NOLINT(google-explicit-constructor)

  static json object(std::initializer_list<member> members = {});
  static json array(std::vector<json> items = {});
  // `text` must be a JSON number; else null.
  static json number(std::string_view text);

  // One document, nothing after it but white space. The error names line and column.
  static result<json> parse(std::string_view text, json_limits limits = {});

  // Compact text; invalid UTF-8 inside a string is replaced by U+FFFD, so the result is always
  // JSON.
  std::string dump() const;
  // Two-space indentation, for people.
  std::string pretty() const;

  kind type() const noexcept { return kind_; }

  bool is_null() const noexcept { return kind_ == kind::null; }

  bool is_object() const noexcept { return kind_ == kind::object; }

  bool is_array() const noexcept { return kind_ == kind::array; }

  bool is_string() const noexcept { return kind_ == kind::string; }

  bool is_number() const noexcept { return kind_ == kind::number; }

  bool is_bool() const noexcept { return kind_ == kind::boolean; }

  // Member lookup. find: nullptr when absent (a null member is not absent). operator[]: a shared
  // null when absent or when this is no object.
  const json* find(std::string_view key) const noexcept;
  json* find(std::string_view key) noexcept;
  const json& operator[](std::string_view key) const noexcept;
  // Element lookup; a shared null when out of range or no array.
  const json& operator[](std::size_t index) const noexcept;
  // A chain of members: at({"properties", "instanceView", "statuses"}).
  const json& at(std::initializer_list<std::string_view> path) const noexcept;

  // Text of a string; nullopt for every other type.
  std::optional<std::string_view> string() const noexcept;
  // Text of a string, or `fallback`.
  std::string string_or(std::string_view fallback) const;
  // Numbers that are integral (also "12.0", "1e3") and fit; with strings of digits accepted too,
  // as Waldur sends them.
  std::optional<std::int64_t> integer() const noexcept;
  std::optional<bool> boolean() const noexcept;
  // The number as it was written, or the text of a string; nullopt otherwise.
  std::optional<std::string_view> number_text() const noexcept;

  // Elements of an array or members of an object; empty for other types.
  const std::vector<json>& items() const noexcept;
  std::vector<json>& items() noexcept;
  const std::vector<member>& members() const noexcept;
  std::vector<member>& members() noexcept;

  std::size_t size() const noexcept;

  // Sets or replaces a member; turns null into an object. Returns *this for chaining.
  json& set(std::string_view key, json value);
  // Returns the member, creating a null one; turns null into an object. The reference ends with the
  // next member added to this object.
  json& member_ref(std::string_view key);
  void erase(std::string_view key);
  // Appends; turns null into an array.
  json& push_back(json value);

  // Structural; numbers are equal when their decimal values are ("1.0" == "1"), objects without
  // regard to member order.
  friend bool operator==(const json& a, const json& b) noexcept;

private:
  kind kind_ = kind::null;
  bool boolean_ = false;
  std::string text_; // string value or number text
  std::vector<json> items_;
  std::vector<member> members_;
};

// A compiled JSON Schema (draft 4).
class json_schema {
public:
  // `invalid` when the schema text itself is no JSON object.
  static result<json_schema> compile(std::string_view schema_text);
  json_schema(json_schema&&) noexcept;
  json_schema& operator=(json_schema&&) noexcept;
  ~json_schema();

  struct violation {
    std::string pointer;        // JSON pointer into the document, "" = the root
    std::string keyword;        // "required", "type", ...
    std::string schema_pointer; // where in the schema
  };

  // nullopt: valid. The first violation only.
  std::optional<violation> check(const json& document) const;

private:
  struct impl;
  explicit json_schema(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace siteagent::base
