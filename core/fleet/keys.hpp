// SPDX-License-Identifier: MIT
// Fleet keys: one ed25519 pair per target, item stado-ssh-<target> of the credential store.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/fleet/credentials.hpp"
#include "core/fleet/runner.hpp"
#include "core/fleet/surroundings.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

struct fleet_key {
  std::string item;        // "stado-ssh-b1"
  std::string key_type;    // "ED25519"
  std::string fingerprint; // "SHA256:..."
  std::string public_key;  // one line, its comment is the item
};

std::string key_item_of(std::string_view target);

// A private key as a file for `ssh -i`: 0600 in a 0700 directory made for this process, removed
// with the object and, through remove_transient_files, on a signal. What a killed process left is
// removed by the next one.
class key_file {
public:
  ~key_file();
  key_file(const key_file&) = delete;
  key_file& operator=(const key_file&) = delete;

  const std::string& path() const { return path_; }

private:
  friend class fleet_keys;

  key_file(std::string path, bool owned) : path_(std::move(path)), owned_(owned) {}

  std::string path_;
  bool owned_;
};

// Removes every transient file of the process; for its last way out. [any thread]
void remove_transient_files() noexcept;

// [any thread]
class fleet_keys {
public:
  fleet_keys(
      credential_store store,
      runner& programs,
      folders where,
      environment env,
      const base::clock& clock
  );

  // Replaces an existing item. The public half is read back through the reader the channel uses and
  // must match: `permanent` naming the item otherwise, and the item is put back as it was.
  base::result<fleet_key> generate(std::string_view target) const;
  // Stores a key that is there already, of any type ssh-keygen reads: `file` is absolute, regular,
  // owner-only (`refused` otherwise) and without a passphrase (`permanent`). Replaces and reads
  // back as generate does; the file stays.
  base::result<fleet_key> add(std::string_view target, const std::string& file) const;
  // nullopt: none. For a create to put back what it replaced (restore with nullopt removes).
  base::result<std::optional<credential_item>> stored(std::string_view target) const;
  base::result<void>
  restore(std::string_view target, const std::optional<credential_item>& item) const;
  // false: there was none.
  base::result<bool> remove(std::string_view target) const;
  base::result<std::vector<fleet_key>> list() const;
  // $STADO_HOST_SSH_KEY_FILE (absolute, regular, owner-only) instead of the store when set.
  // `not_found` naming item and `stado fleet key generate`.
  base::result<std::shared_ptr<const key_file>> private_key_file(std::string_view target) const;

private:
  base::result<credential_item> make_pair(const std::string& item) const;
  base::result<credential_item>
  item_of_file(const std::string& item, const std::string& file) const;
  base::result<credential_item> item_of(
      const std::string& item,
      const std::string& path,
      std::string_view private_half,
      std::string_view public_half
  ) const;
  base::result<fleet_key>
  keep(std::string_view target, const base::result<credential_item>& made) const;
  base::result<void> read_back(const std::string& item, const std::string& public_key) const;
  base::result<std::shared_ptr<const key_file>> write_out(const std::string& item) const;

  credential_store store_;
  runner* programs_;
  folders where_;
  environment env_;
  const base::clock* clock_;
};

} // namespace siteagent::fleet
