// SPDX-License-Identifier: MIT
#include "core/fleet/registry.hpp"

#include "core/base/text.hpp"
#include "core/fleet/digest.hpp"
#include "core/fleet/registry_document.hpp"

#include <algorithm>
#include <random>
#include <thread>

namespace siteagent::fleet {

namespace {

constexpr std::string_view object_name = "registry.json";
constexpr int most_attempts = 10;
constexpr int attempts_without_lock = 3;
constexpr std::chrono::seconds lock_wait(60); // a write takes milliseconds

base::error with_file(const std::string& file, const registry_fault& fault) {
  return {base::error_code::invalid, file + ": " + fault.where + " " + fault.rule};
}

bool is_lost_race(const base::error& e) {
  return e.code == base::error_code::conflict && e.detail.find("lost_race") != std::string::npos;
}

// The bytes of the document; `invalid` when they would not read back as the same document.
base::result<std::string> bytes_of(const std::string& file, const base::json& document) {
  std::string bytes = document.pretty() + "\n";
  const auto back = parse_document(file, bytes);
  if (!back) {
    return back.error();
  }
  if (*back != document) {
    return base::error{
        base::error_code::invalid, file + ": the new document holds text that is no UTF-8"};
  }
  return bytes;
}

base::error lacks_key(const std::string& file, const std::string& key) {
  return {
      base::error_code::refused,
      file + ": the new document lacks '" + key +
          "', which the stored one has; keep it, whatever it is for"};
}

base::result<void> refuse_dropped_keys(
    const std::string& file,
    const base::json& before,
    const base::json& after,
    const std::vector<std::string>& may_drop
) {
  for (const auto& [key, value] : before.members()) {
    const bool may = std::find(may_drop.begin(), may_drop.end(), key) != may_drop.end();
    if (after.find(key) == nullptr && !may) {
      return lacks_key(file, key);
    }
  }
  return {};
}

void pause_between_attempts() {
  constexpr int shortest_ms = 20;
  constexpr int longest_ms = 200;
  std::random_device source;
  std::uniform_int_distribution<int> time(shortest_ms, longest_ms);
  std::this_thread::sleep_for(std::chrono::milliseconds(time(source)));
}

} // namespace

base::error lost_race(const std::string& file, std::string_view read, std::string_view now) {
  return {
      .code = base::error_code::conflict,
      .message = file + " was changed by somebody else since generation " +
                 std::string(read.substr(0, 12)) + " was read (it is " +
                 std::string(now.substr(0, 12)) + " now); run the command again",
      .detail =
          base::json::object({{"lost_race", true}, {"read_generation", read}, {"generation", now}}
          ).dump()};
}

registry_store::registry_store(std::string root, std::string cache, const base::clock& clock)
    : root_(std::move(root)), file_(root_ + "/" + std::string(object_name)),
      cache_(std::move(cache)), clock_(&clock) {}

base::result<registry_store>
registry_store::open(const profile& p, const folders& f, const base::clock& clock) {
  const std::string backend = p.text("storage.backend", "WC_STORAGE_BACKEND").value_or("local");
  if (backend != "local") {
    return base::error{
        base::error_code::refused,
        "storage.backend is '" + backend +
            "'; this program keeps the registry in a directory only: stado config set "
            "storage.backend local"};
  }
  const std::string root = f.expand(
      p.text("storage.local.path", "WC_LOCAL_STORAGE_PATH").value_or("~/.stado/local-storage")
  );
  if (root.front() != '/') {
    return base::error{
        base::error_code::invalid,
        "storage.local.path is '" + root + "', which is no absolute path"};
  }
  return registry_store(root, f.state + "/cache", clock);
}

base::result<file_lock> registry_store::lock(std::string_view what) const {
  if (auto made = make_directories(root_); !made) {
    return std::move(made).error();
  }
  return file_lock::take(
      root_ + "/.locks/" + sha256_hex(object_name), what, {.longest = lock_wait, .on_wait = {}}
  );
}

base::result<registry_snapshot> registry_store::read_stored() const {
  const auto bytes = read_file(file_);
  if (!bytes) {
    base::error e = bytes.error();
    if (e.code == base::error_code::not_found) {
      e.message = "there is no registry at " + file_ +
                  "; stado config init makes one, or set storage.local.path to where it is";
    }
    return e;
  }
  auto document = parse_document(file_, *bytes);
  if (!document) {
    return std::move(document).error();
  }
  if (const auto fault = validate_registry_shape(*document)) {
    return with_file(file_, *fault);
  }
  registry_snapshot snapshot{*std::move(document), sha256_hex(*bytes), {}};
  keep_copy(*bytes, snapshot.generation);
  return snapshot;
}

base::result<registry_snapshot> registry_store::read() const {
  return read_stored();
}

base::result<registry_snapshot> registry_store::write(
    const base::json& document,
    std::string_view generation,
    const std::vector<std::string>& may_drop
) const {
  const auto held = lock("registry write");
  return held ? replace_locked(document, generation, may_drop) : held.error();
}

base::result<registry_snapshot> registry_store::replace_locked(
    const base::json& document,
    std::string_view generation,
    const std::vector<std::string>& may_drop
) const {
  if (const auto fault = validate_registry(document)) {
    return with_file(file_, *fault);
  }
  const auto bytes = bytes_of(file_, document);
  if (!bytes) {
    return bytes.error();
  }
  const auto stored = read_file(file_);
  if (!stored) {
    return stored.error();
  }
  if (const std::string now = sha256_hex(*stored); now != generation) {
    return lost_race(file_, generation, now);
  }
  const auto before = parse_document(file_, *stored);
  if (!before) {
    return before.error();
  }
  if (auto kept = refuse_dropped_keys(file_, *before, document, may_drop); !kept) {
    return std::move(kept).error();
  }
  if (auto replaced = replace_file(file_, *bytes); !replaced) {
    return std::move(replaced).error();
  }
  const auto back = read_file(file_);
  if (!back || *back != *bytes) {
    return base::error{
        base::error_code::outcome_unknown,
        file_ + " does not read back as it was written; look at it and at its file system"};
  }
  return registry_snapshot{document, sha256_hex(*bytes), {}};
}

base::result<registry_snapshot> registry_store::create(const base::json& document) const {
  if (const auto fault = validate_registry(document)) {
    return with_file(file_, *fault);
  }
  const auto bytes = bytes_of(file_, document);
  if (!bytes) {
    return bytes.error();
  }
  const auto held = lock("registry create");
  if (!held) {
    return held.error();
  }
  if (auto created = create_file(file_, *bytes); !created) {
    return std::move(created).error();
  }
  return registry_snapshot{document, sha256_hex(*bytes), {}};
}

base::result<registry_snapshot> registry_store::change(const edit_function& edit) const {
  const std::vector<std::string> may_drop{"cloud_hosts_creating", "cloud_hosts_reaped"};
  for (int attempt = 1;; ++attempt) {
    const bool locked = attempt > attempts_without_lock;
    std::optional<file_lock> held;
    if (locked) {
      auto taken = lock("registry edit");
      if (!taken) {
        return std::move(taken).error();
      }
      held = *std::move(taken);
    }
    auto snapshot = read_stored();
    if (!snapshot) {
      return snapshot;
    }
    const auto changed = edit(snapshot->document);
    if (!changed) {
      return changed.error();
    }
    if (!*changed) {
      return read_stored(); // what the edit may have touched and then left is not handed out
    }
    auto written = locked ? replace_locked(snapshot->document, snapshot->generation, may_drop)
                          : write(snapshot->document, snapshot->generation, may_drop);
    if (written || !is_lost_race(written.error()) || attempt == most_attempts) {
      return written;
    }
    held.reset();
    pause_between_attempts();
  }
}

} // namespace siteagent::fleet
