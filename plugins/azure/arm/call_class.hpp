// SPDX-License-Identifier: MIT
// Which of Azure's budgets a call counts against, read off its method and URL. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

enum class call_kind : std::uint8_t { read, write, remove };

struct call_class {
  call_kind kind = call_kind::read;
  std::string
      provider; // lower case, "microsoft.compute"; "microsoft.resources" when the URL has none
  std::string region;  // "westeurope"; "": not known, counts as any
  std::string policy;  // the compute provider's bucket, "PutVM"; "": none
  std::string subject; // what that bucket also counts alone: a machine, an operation; "": nothing
  bool of_tenant = false; // outside any subscription

  // For people: "write calls to microsoft.compute in westeurope".
  std::string text() const;
};

// `url`: absolute or a path. `region`: what the caller knows; a location in the URL wins.
call_class classify(std::string_view method, std::string_view url, std::string_view region = {});

// "PutVM" of "PutVM3Min", any case; "": not a bucket of the compute provider.
std::string_view policy_of_bucket(std::string_view name);

} // namespace siteagent::azure::arm
