// SPDX-License-Identifier: MIT
// The copy of the last good reading, for showing when the store cannot be reached.
#include "core/fleet/registry.hpp"

#include "core/fleet/digest.hpp"
#include "core/fleet/registry_document.hpp"

namespace siteagent::fleet {

namespace {

std::string copy_in(const std::string& cache) {
  return cache + "/registry-last-good.json";
}

std::string meta_in(const std::string& cache) {
  return cache + "/registry-last-good.meta.json";
}

} // namespace

// Best effort: a reading is as good without a copy. The meta file names what it belongs to, so
// that two processes that write both files in turns cannot make up a mixture.
void registry_store::keep_copy(const std::string& bytes, const std::string& generation) const {
  const base::json meta = base::json::object(
      {{"read_at", base::to_rfc3339(clock_->wall())},
       {"generation", generation},
       {"location", file_}}
  );
  if (!make_directories(cache_)) {
    return;
  }
  const auto known = read_file(meta_in(cache_));
  const bool same = known && known->find(generation) != std::string::npos &&
                    known->find(base::json(file_).dump()) != std::string::npos;
  if (!same && !replace_cache_file(copy_in(cache_), bytes)) {
    return;
  }
  (void)replace_cache_file(meta_in(cache_), meta.pretty() + "\n").has_value();
}

base::result<registry_snapshot> registry_store::read_or_last_good() const {
  auto stored = read_stored();
  if (stored) {
    return stored;
  }
  const auto bytes = read_file(copy_in(cache_));
  const auto meta_bytes = read_file(meta_in(cache_));
  if (!bytes || !meta_bytes) {
    return stored;
  }
  const auto meta = parse_document(meta_in(cache_), *meta_bytes);
  auto document = parse_document(copy_in(cache_), *bytes);
  if (!meta || !document || validate_registry_shape(*document)) {
    return stored;
  }
  const auto read_at = base::parse_rfc3339((*meta)["read_at"].string_or(""));
  const std::string generation = sha256_hex(*bytes);
  if (!read_at || (*meta)["generation"].string() != generation ||
      (*meta)["location"].string() != file_) {
    return stored;
  }
  return registry_snapshot{*std::move(document), generation, read_at};
}

} // namespace siteagent::fleet
