// SPDX-License-Identifier: MIT
// What `stado registry get|set|push` do to a document: dotted paths, and the rule that nothing but
// the cloud host commands takes a rented machine out of it.
#include "core/fleet/registry.hpp"

#include "core/base/text.hpp"
#include "core/fleet/registry_document.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::fleet {

namespace {

std::optional<std::size_t> index_from(std::string_view key) {
  std::size_t index = 0;
  const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), index);
  return failed == std::errc() && end == key.data() + key.size() ? std::optional(index)
                                                                 : std::nullopt;
}

// The member of an object, or the element of an array by index or by its name; nullptr: none.
base::json* step(base::json& here, std::string_view key) {
  if (!here.is_array()) {
    return here.find(key);
  }
  std::vector<base::json>& items = here.items();
  if (const auto index = index_from(key); index && *index < items.size()) {
    return &items[*index];
  }
  for (base::json& item : items) {
    if (item["name"].string() == key) {
      return &item;
    }
  }
  return nullptr;
}

std::string names_in(const base::json& here) {
  constexpr std::size_t most = 30;
  std::vector<std::string> names;
  for (const auto& [key, value] : here.members()) {
    names.push_back(key);
  }
  for (std::size_t n = 0; here.is_array() && n < here.size(); ++n) {
    names.push_back(here[n]["name"].string_or(std::to_string(n)));
  }
  if (names.empty()) {
    return here.is_object() || here.is_array() ? "it is empty" : "it holds a plain value";
  }
  const bool cut = names.size() > most;
  names.resize(std::min(names.size(), most));
  return "there is " + base::join(names, ", ") + (cut ? ", ..." : "");
}

base::error absent(std::string_view path, std::string_view parent, const base::json& here) {
  const std::string where = parent.empty() ? "the registry" : std::string(parent);
  return {
      base::error_code::not_found,
      "the registry has no " + std::string(path) + ": in " + where + " " + names_in(here)};
}

struct place {
  base::json* holder = nullptr;
  std::string parent; // dotted; "" = the root
  std::string key;
};

// Everything but the last segment, which may be new.
base::result<place> find_place(base::json& document, std::string_view path) {
  place at{&document, "", ""};
  const std::vector<std::string_view> keys = base::split(path, '.');
  if (std::any_of(keys.begin(), keys.end(), [](std::string_view key) { return key.empty(); })) {
    return base::error{
        base::error_code::invalid,
        "'" + std::string(path) + "' is no path such as targets.0.notes"};
  }
  for (std::size_t n = 0; n + 1 < keys.size(); ++n) {
    base::json* next = step(*at.holder, keys[n]);
    std::string here = at.parent + (at.parent.empty() ? "" : ".") + std::string(keys[n]);
    if (next == nullptr) {
      return absent(here, at.parent, *at.holder);
    }
    at.holder = next;
    at.parent = std::move(here);
  }
  at.key = keys.back();
  return at;
}

base::result<void> put(const place& at, std::string_view path, base::json value) {
  if (base::json* old = step(*at.holder, at.key)) {
    *old = std::move(value);
    return {};
  }
  if (at.holder->is_array() && index_from(at.key) == at.holder->size()) {
    at.holder->push_back(std::move(value));
    return {};
  }
  if (!at.holder->is_object()) {
    return absent(path, at.parent, *at.holder);
  }
  at.holder->set(at.key, std::move(value));
  return {};
}

// Without its entry, or with another machine's data in it, a rented machine bills unseen.
base::result<void> keep_cloud_hosts(const base::json& before, const base::json& after) {
  for (const target& host : targets_of(before)) {
    if (!host.cloud) {
      continue;
    }
    const auto now = find_target(after, host.name);
    std::string lost;
    if (!now || !now->cloud) {
      lost = !now ? "its entry" : "its entry's cloud";
    } else if (now->cloud->provider != host.cloud->provider) {
      lost = "cloud.provider";
    } else if (now->cloud->vm_id != host.cloud->vm_id) {
      lost = "cloud.vm_id";
    } else if (now->cloud->location != host.cloud->location) {
      lost = "cloud.location";
    } else if (now->cloud->resources != host.cloud->resources) {
      lost = "cloud.resources";
    }
    if (!lost.empty()) {
      return base::error{
          base::error_code::refused,
          "target '" + host.name + "' is a cloud host, and this would remove or replace " + lost +
              ", by which its machine is found; stado cloud host delete " + host.name +
              " --provider " + host.cloud->provider + " returns it"};
    }
  }
  return {};
}

base::result<registry_receipt> finish(
    const registry_store& store,
    const registry_snapshot& read,
    const base::json& after,
    registry_receipt receipt
) {
  receipt.read_generation = read.generation;
  receipt.generation = read.generation;
  // Not operator==, for which 1.0 and 1 are the same: numbers are kept as they were written.
  if (after.dump() == read.document.dump()) {
    return receipt;
  }
  if (auto kept = keep_cloud_hosts(read.document, after); !kept) {
    return std::move(kept).error();
  }
  const auto written = store.write(after, read.generation);
  if (!written) {
    return written.error();
  }
  receipt.changed = true;
  receipt.generation = written->generation;
  return receipt;
}

} // namespace

base::result<registry_receipt>
set_in_registry(const registry_store& store, std::string_view path, std::string_view text) {
  const auto read = store.read();
  if (!read) {
    return read.error();
  }
  registry_receipt receipt;
  receipt.path = path;
  receipt.value = value_from(text);
  base::json after = read->document;
  const auto at = find_place(after, path);
  if (!at) {
    return at.error();
  }
  if (const base::json* old = step(*at->holder, at->key)) {
    receipt.previous = *old;
  }
  if (auto done = put(*at, path, receipt.value); !done) {
    return std::move(done).error();
  }
  return finish(store, *read, after, std::move(receipt));
}

base::result<base::json> get_in_registry(const base::json& document, std::string_view path) {
  base::json copy = document;
  const auto at = find_place(copy, path);
  if (!at) {
    return at.error();
  }
  const base::json* found = step(*at->holder, at->key);
  if (found == nullptr) {
    return absent(path, at->parent, *at->holder);
  }
  return *found;
}

base::result<registry_receipt> push_registry(
    const registry_store& store,
    const base::json& document,
    const std::optional<std::string>& generation
) {
  auto read = store.read();
  if (!read) {
    return std::move(read).error();
  }
  if (generation && *generation != read->generation) {
    return lost_race(store.location(), *generation, read->generation);
  }
  return finish(store, *read, document, {});
}

} // namespace siteagent::fleet
