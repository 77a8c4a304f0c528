// SPDX-License-Identifier: MIT
// The registry's store: one JSON document in a directory, read with its generation, replaced only
// by who names the generation it read.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
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
  // a top-level key that is not in `may_drop`. `conflict`: the generation moved.
  base::result<registry_snapshot> write(
      const base::json& document,
      std::string_view generation,
      const std::vector<std::string>& may_drop = {}
  ) const;
  // Makes the first document; `conflict` when there is one.
  base::result<registry_snapshot> create(const base::json& document) const;

  // Changes what is there now: read, `edit`, write; repeated when another writer was faster, at
  // most ten times with 20 to 200 ms between. edit answers false when nothing is to be done (no
  // write), or an error, which is returned as it is. It may run several times. cloud_hosts_creating
  // may be dropped by it.
  using edit_function = std::function<base::result<bool>(base::json& document)>;
  base::result<registry_snapshot> change(const edit_function& edit) const;

private:
  registry_store(std::string root, std::string cache, const base::clock& clock);

  std::string root_;
  std::string file_;
  std::string cache_; // ~/.stado/cache
  const base::clock* clock_;
};

struct registry_receipt {
  bool changed = false;
  std::string path;
  base::json previous;
  base::json value;
  std::string read_generation;
  std::string generation;
};

// `stado registry set`: P is dotted, array elements by index or by their name; only the last
// segment may be new. One attempt: `conflict` when the generation moved. Refuses to remove or
// replace a target that carries `cloud`, naming the verb that returns it.
base::result<registry_receipt>
set_in_registry(const registry_store& store, std::string_view path, std::string_view text);
// `stado registry get`. `not_found` listing the keys that are there.
base::result<base::json> get_in_registry(const base::json& document, std::string_view path);
// `stado registry push`: replaces the whole document under the same rules.
base::result<registry_receipt>
push_registry(const registry_store& store, const base::json& document);

} // namespace siteagent::fleet
