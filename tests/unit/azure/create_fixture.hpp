// SPDX-License-Identifier: MIT
// Orders that create machines over the fake Azure.
#pragma once

#include "core/base/text.hpp"
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {

class azure_create : public azure_test {
protected:
  fake_call create() { return run(&backend::create_resource); }

  void attribute(const char* key, base::json value) {
    body.member_ref("order").member_ref("attributes").set(key, std::move(value));
  }

  base::json put_body(std::string_view path_part) const {
    for (const logged& l : arm.log()) {
      if (l.method == "PUT" &&
          base::to_lower(l.path).find(base::to_lower(path_part)) != std::string::npos) {
        return *base::json::parse(l.body);
      }
    }
    return {};
  }

  void shared_group() {
    settings.set("default_resource_group", "shared");
    base::json group = base::json::object(
        {{"location", "westeurope"},
         {"properties", base::json::object({{"provisioningState", "Succeeded"}})}}
    );
    arm.put(group_id("shared"), group);
  }
};

} // namespace siteagent::azure::test
