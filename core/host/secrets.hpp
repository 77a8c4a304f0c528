// SPDX-License-Identifier: MIT
// Where a secret of the settings comes from, and reading it.
#pragma once

#include "core/base/result.hpp"
#include "core/base/secret.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::host {

// The forms an operator may write: a value as it is, ${ENV}, file:/absolute/path (one trailing line
// feed is not part of the secret), credential:name (a file in $CREDENTIALS_DIRECTORY of systemd).
// Checks the form only; the text of the error never repeats a literal value.
base::result<void> check_secret_source(std::string_view source);

// True when `source` is the secret itself.
bool is_literal_secret(std::string_view source);

// Reads it afresh. `auth` when the variable, file or credential cannot be read, is empty or is
// larger than 64 KiB; names the source, never the value. The value is protected in
// base::global_redactor() before this returns.
base::result<base::secret> read_secret_source(std::string_view source);

using secret_sources = std::vector<std::pair<std::string, std::string>>; // reference -> source

// Reads a secret that has no such form, for example from a store. An empty value counts as `auth`.
using secret_reader = std::function<base::result<base::secret>()>;

// The secrets of one instance by the reference that stands in its settings. Constant after
// construction. [any thread]
class secret_store {
public:
  secret_store() = default;
  explicit secret_store(const secret_sources& sources);

  // Before the store is used; replaces what the reference stood for.
  void add(std::string reference, secret_reader reader);

  // `not_found` for a reference that was never given out; else as read_secret_source, or the
  // reader's own error.
  base::result<base::secret> read(std::string_view reference) const;

private:
  std::map<std::string, secret_reader, std::less<>> readers_;
};

} // namespace siteagent::host
