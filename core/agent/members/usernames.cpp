// SPDX-License-Identifier: MIT
// The built-in source of usernames.
#include "core/agent/members/usernames.hpp"

namespace siteagent::agent {

namespace {

class base_usernames final : public username_source {
public:
  bool gives_names() const override { return false; }

  base::result<username_answer> get_or_create(const waldur::offering_user&) override {
    return username_answer{};
  }
};

} // namespace

std::unique_ptr<username_source> make_username_source(const std::string& backend) {
  return backend == "base" ? std::make_unique<base_usernames>() : nullptr;
}

} // namespace siteagent::agent
