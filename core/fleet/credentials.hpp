// SPDX-License-Identifier: MIT
// The credential store: one owner-only JSON file, item id -> flat object of texts.
#pragma once

#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/surroundings.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

struct credential_item {
  std::string kind; // "" = not stated; "key-pair"
  std::map<std::string, base::secret, std::less<>> fields;
};

// Every call reads or replaces the file under its lock; nothing is kept in memory. Values read are
// protected in base::global_redactor(), except ids ("..._id"), times ("..._at") and the public
// parts of keys. [any thread]
class credential_store {
public:
  // credentials.store / STADO_CREDENTIALS_STORE (both set and different: `refused`), a bare
  // absolute path or file://; default ~/.stado/credentials.json. Other locators are refused by
  // name.
  static base::result<credential_store> open(const profile& p, const folders& f);

  const std::string& file() const { return file_; }

  // nullopt: no such item, or no file yet. `refused` naming file and rule when it is a link, not
  // regular, of another owner, or readable by group or others; `invalid` when it is no such JSON.
  base::result<std::optional<credential_item>> find(std::string_view id) const;
  base::result<std::map<std::string, credential_item>> all() const;
  base::result<void> put(std::string_view id, const credential_item& item) const;
  // false: there was none.
  base::result<bool> remove(std::string_view id) const;

private:
  explicit credential_store(std::string file) : file_(std::move(file)) {}

  // false: `change` answered so, and nothing was written.
  base::result<bool> edit(const std::function<bool(base::json& root)>& change) const;

  std::string file_;
};

} // namespace siteagent::fleet
