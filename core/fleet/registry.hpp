// SPDX-License-Identifier: MIT
// The registry's store: one JSON document in a directory, read with its generation, replaced only
// by who names the generation it read.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/surroundings.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

struct registry_snapshot {
  base::json document;
  std::string generation; // lower-case hex SHA-256 of the file's bytes
  // Set when the stored one could not be read and this is the copy of an earlier reading.
  std::optional<base::wall_time> last_good_of;
};

// Copies share nothing; several processes may use one directory. [any thread]
class registry_store {
public:
  // storage.backend/WC_STORAGE_BACKEND must be "local" or absent (`refused` by name otherwise);
  // root is storage.local.path/WC_LOCAL_STORAGE_PATH, default ~/.stado/local-storage.
  static base::result<registry_store>
  open(const profile& p, const folders& f, const base::clock& clock);

  const std::string& location() const { return file_; } // the document's path

  // `not_found` naming `stado config init`, `invalid` with the broken rule
  // (validate_registry_shape), `transient` when the file cannot be read now. Keeps a copy of each
  // good reading.
  base::result<registry_snapshot> read() const;
  // Falls back to the kept copy; for showing only.
  base::result<registry_snapshot> read_or_last_good() const;

  // Replaces the document when its generation is still this one; checks all rules, refuses to drop
  // a top-level key that is not in `may_drop`, reads back what it wrote. `conflict` with detail
  // {"lost_race":true,...}: the generation moved.
  base::result<registry_snapshot> write(
      const base::json& document,
      std::string_view generation,
      const std::vector<std::string>& may_drop = {}
  ) const;
  // Makes the first document; `conflict` when there is one.
  base::result<registry_snapshot> create(const base::json& document) const;

  // Changes what is there now: read, `edit`, write; repeated when another writer was faster, at
  // most ten times with 20 to 200 ms between; from the fourth time on the edit runs with the
  // store's lock held, so that a crowd of writers cannot starve one. edit answers false when
  // nothing is to be done (no write), or an error, which is returned as it is. It may run several
  // times, calculates only, and does not use the store. cloud_hosts_creating and
  // cloud_hosts_reaped may be dropped by it.
  using edit_function = std::function<base::result<bool>(base::json& document)>;
  base::result<registry_snapshot> change(const edit_function& edit) const;

private:
  registry_store(std::string root, std::string cache, const base::clock& clock);
  base::result<file_lock> lock(std::string_view what) const;
  base::result<registry_snapshot> read_stored() const;
  base::result<registry_snapshot> replace_locked(
      const base::json& document,
      std::string_view generation,
      const std::vector<std::string>& may_drop
  ) const;
  void keep_copy(const std::string& bytes, const std::string& generation) const;

  std::string root_;
  std::string file_;
  std::string cache_; // ~/.stado/cache
  const base::clock* clock_;
};

// `conflict` with detail {"lost_race":true,...}.
base::error
lost_race(const std::string& location, std::string_view read_generation, std::string_view now);

struct registry_receipt {
  bool changed = false;
  std::string path;
  base::json previous;
  base::json value;
  std::string read_generation;
  std::string generation;
};

// `stado registry set`: P is dotted, array elements by index or by their name; only the last
// segment may be new (in an array: the index behind its end). One attempt: `conflict` when the
// generation moved. Refuses to remove a target that carries `cloud`, and to change what finds its
// machine (provider, vm_id, resources, location), naming the verb that returns it.
base::result<registry_receipt>
set_in_registry(const registry_store& store, std::string_view path, std::string_view text);
// `stado registry get`. `not_found` listing the keys that are there.
base::result<base::json> get_in_registry(const base::json& document, std::string_view path);
// `stado registry push`: replaces the whole document under the same rules. `generation`: the one
// the document was made of, so that nobody's change since then is lost; without it only a change
// during this call is noticed.
base::result<registry_receipt> push_registry(
    const registry_store& store,
    const base::json& document,
    const std::optional<std::string>& generation = {}
);

} // namespace siteagent::fleet
