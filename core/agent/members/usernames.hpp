// SPDX-License-Identifier: MIT
// Where the usernames of offering users come from (username_management_backend, Waldur contract
// 4.5). The built-in one, `base`, knows no names: users are taken on, and somebody else, a person
// or a directory's own job, gives the names.
#pragma once

#include "core/base/result.hpp"
#include "core/waldur/people.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace siteagent::agent {

struct username_answer {
  enum class kind : std::uint8_t {
    none,       // no name, and none is to be expected here
    name,       // this one
    linking,    // the user must link an account first
    validation, // the user must be checked first
  };

  kind is = kind::none;
  std::string username;
  std::string comment; // for the user, with an address
  std::string comment_url;
};

// [any thread]
class username_source {
public:
  username_source() = default;
  username_source(const username_source&) = delete;
  username_source& operator=(const username_source&) = delete;
  virtual ~username_source() = default;

  // false: asking it is of no use.
  virtual bool gives_names() const = 0;
  // The name of that user, made now if need be. Errors of the classes transient and unknown outcome
  // leave the user as he is; all others put him into "Error creating".
  virtual base::result<username_answer> get_or_create(const waldur::offering_user& user) = 0;
};

// Null for "" (off) and for a name that is not built in.
std::unique_ptr<username_source> make_username_source(const std::string& backend);

} // namespace siteagent::agent
