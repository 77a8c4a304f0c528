// SPDX-License-Identifier: MIT
// What the parts of the seed share.
#pragma once

#include "seed_reader.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur_emulator {

// Ids of objects that were given none: the same prefix as the documented ones, counted up.
std::string default_uuid(std::size_t number);

template <class Row>
std::string first_uuid(const table<Row>& t) {
  return t.rows().empty() ? std::string() : t.rows().front().uuid;
}

// Reads the list under `key`, if it is there, into a table that is emptied first.
template <class Row, class Read>
base::result<void>
read_list(const json& document, std::string_view key, table<Row>& target, Read read) {
  const json* value = document.find(key);
  if (value == nullptr) {
    return {};
  }
  target.clear();
  return for_each_item(*value, key, read);
}

// The strings of an array.
std::vector<std::string> texts_of(const json& list);
// auto_approve, page_size, timezone, ...
base::result<void> read_settings(store& s, const json& document);
// Accounts, limits, keys, import requests, policies.
base::result<void> read_people(store& s, const json& document, base::wall_time now);
// Takes away what belongs to an object that went.
void repair_people(store& s);
// The n-th user, from 0, that is neither staff nor a manager of an offering; else the first one.
std::string nth_member(const store& s, std::size_t n);

} // namespace siteagent::waldur_emulator
