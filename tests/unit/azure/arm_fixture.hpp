// SPDX-License-Identifier: MIT
// The ARM layer alone over the fake Azure.
#pragma once

#include "plugins/azure/arm/operation.hpp"
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {

using arm::milliseconds;
using std::chrono::seconds;

inline constexpr const char* some_path =
    "/subscriptions/11111111-1111-1111-1111-111111111111?api-version=2022-12-01";

class azure_arm : public azure_test {
protected:
  azure_arm()
      : call_(clock), wrapped_(call_.raw()), scope_(wrapped_, "0123456789abcdef0123456789abcdef") {
    rebuild();
  }

  void rebuild() {
    arm::pipeline_options o;
    o.resource_manager = base_url;
    o.transport = &arm;
    o.clock = &clock;
    o.tokens = shared.tokens({std::string(base_url), "t", "c", std::string(base_url)});
    o.throttling = std::make_shared<arm::throttle>();
    o.providers = std::make_shared<arm::registrar>();
    o.proof = arm::make_secret_credential([this](std::string_view) -> base::result<base::secret> {
      return base::secret(host_data.secret);
    });
    o.protect = [](std::string_view) {};
    pipe_ = std::make_unique<arm::pipeline>(o);
  }

  base::result<arm::response>
  read(std::string_view target = some_path, arm::patience p = arm::patience::brief) {
    return pipe_->read(scope_, target, "read", p);
  }

  // Time that passes while something runs.
  milliseconds during(const std::function<void()>& what) {
    const auto before = clock.steady();
    what();
    return std::chrono::duration_cast<milliseconds>(clock.steady() - before);
  }

  arm::followed followed_object(const char* verb) {
    arm::followed f;
    f.path = group_id() + "/providers/Microsoft.Network/networkInterfaces/n?api-version=1";
    f.what = "follow";
    f.verb = verb;
    f.kind = "network-interface";
    f.id = "n";
    return f;
  }

  void put_object(const char* state) {
    arm.put(group_id(), tagged());
    base::json o = tagged();
    o.member_ref("properties").set("provisioningState", state);
    arm.put(group_id() + "/providers/Microsoft.Network/networkInterfaces/n", o);
  }

  static arm::response started(int status, net::header_list headers = {}) {
    arm::response r;
    r.status = status;
    r.headers = std::move(headers);
    return r;
  }

  fake_call call_;
  sagent::call wrapped_;
  arm::scope scope_;
  std::unique_ptr<arm::pipeline> pipe_;
};

} // namespace siteagent::azure::test
