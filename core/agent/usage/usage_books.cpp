// SPDX-License-Identifier: MIT
// The usage of single users over waldur::client. In test builds every write is also a crash point.
#include "core/agent/usage/usage_books.hpp"

#include "core/host/crash_point.hpp"

namespace siteagent::agent {

namespace {

using base::result;
using base::uuid;

result<void> written(std::string_view what, result<void> answer) {
  host::reach_crash_point(base::json::object({{"phase", "after"}, {"verb", "post"}, {"kind", what}})
  );
  return answer;
}

class client_books final : public usage_books {
public:
  client_books(waldur::client& client, uuid offering) : client_(client), offering_(offering) {}

  result<std::vector<waldur::user_usage>>
  list_user_usages(const uuid& resource, std::string_view billing_period) override {
    return client_.list_user_usages(resource, billing_period);
  }

  result<void> set_user_usages(
      const uuid& component_usage, const std::vector<waldur::user_usage_item>& items
  ) override {
    return written("set_user_usages", client_.set_user_usages(component_usage, items));
  }

  result<void>
  set_user_usage(const uuid& component_usage, const waldur::user_usage_item& item) override {
    return written("set_user_usage", client_.set_user_usage(component_usage, item));
  }

  result<std::map<std::string, uuid>> list_offering_users() override {
    const auto users = client_.list_offering_users(offering_, {}, {});
    if (!users) {
      return users.error();
    }
    std::map<std::string, uuid> out;
    for (const waldur::offering_user& u : *users) {
      if (!u.username.empty()) {
        out.emplace(u.username, u.uuid);
      }
    }
    return out;
  }

  result<bool> is_staff() override {
    const result<base::json> me = client_.users_me();
    if (!me) {
      return me.error();
    }
    return (*me)["is_staff"].boolean().value_or(false);
  }

private:
  waldur::client& client_;
  const uuid offering_;
};

} // namespace

std::unique_ptr<usage_books> make_usage_books(waldur::client& client, base::uuid offering) {
  return std::make_unique<client_books>(client, offering);
}

} // namespace siteagent::agent
