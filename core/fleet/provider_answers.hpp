// SPDX-License-Identifier: MIT
// Strict reading of what a provider's plugin says: the first member that is missing or of another
// type makes the whole answer a bug of the plugin.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/provider.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// `where` is the path of the object that is read, "" for the answer itself. After a complaint every
// reading goes on with blanks; ask fault() at the end.
class answer_reader {
public:
  // what begins the message: "null: price_size".
  explicit answer_reader(std::string what) : what_(std::move(what)) {}

  // The only object of the answer; a complaint and null when there are more or none.
  const base::json& only(const std::vector<base::json>& answer);

  std::string text(const base::json& o, const std::string& where, std::string_view key); // not ""
  // Absent and null read as "".
  std::string optional_text(const base::json& o, const std::string& where, std::string_view key);
  std::string word(
      const base::json& o,
      const std::string& where,
      std::string_view key,
      std::initializer_list<std::string_view> allowed
  );
  std::int64_t integer(const base::json& o, const std::string& where, std::string_view key);
  bool flag(const base::json& o, const std::string& where, std::string_view key);
  bool optional_flag(const base::json& o, const std::string& where, std::string_view key);
  const base::json& list(const base::json& o, const std::string& where, std::string_view key);
  const base::json& object(const base::json& o, const std::string& where, std::string_view key);
  std::vector<std::string>
  texts(const base::json& o, const std::string& where, std::string_view key);

  void complain(std::string_view member, std::string_view rule);
  base::error bug(std::string_view rule) const;

  // `plugin_bug` naming the first member that was wrong.
  std::optional<base::error> fault() const;

private:
  std::string what_;
  std::string first_;
};

// Each reads one operation's answer; `what` begins the message of an error.
base::result<std::string> read_size(const std::string& what, const std::vector<base::json>& answer);
base::result<price_answer>
read_prices(const std::string& what, const std::vector<base::json>& answer);
base::result<credit_answer>
read_credit(const std::string& what, const std::vector<base::json>& answer);
base::result<admission> read_admission(
    const std::string& what,
    const std::vector<base::json>& answer,
    const admission_request& asked,
    bool dry_run
);
base::result<created_host>
read_created(const std::string& what, const std::vector<base::json>& answer);
// {"checks":[...]} of a dry run
base::result<std::vector<check_line>>
read_dry_run(const std::string& what, const std::vector<base::json>& answer);
// one object per check
base::result<std::vector<check_line>>
read_checks(const std::string& what, const std::vector<base::json>& answer);
base::result<std::string>
read_state(const std::string& what, const std::vector<base::json>& answer);
base::result<std::vector<listed_host>>
read_hosts(const std::string& what, const std::vector<base::json>& answer);
base::result<removal> read_removal(const std::string& what, const std::vector<base::json>& answer);

} // namespace siteagent::fleet
