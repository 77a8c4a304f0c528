// SPDX-License-Identifier: MIT
// Parts of a machine's body, for tests that change one of them.
#pragma once

#include "core/base/json.hpp"

namespace siteagent::azure_emulator {

inline base::json& properties_of(base::json& body) {
  return body.member_ref("properties");
}

inline base::json& profile_of(base::json& body) {
  return properties_of(body).member_ref("osProfile");
}

inline base::json& first_key(base::json& body) {
  return profile_of(body)
      .member_ref("linuxConfiguration")
      .member_ref("ssh")
      .member_ref("publicKeys")
      .items()[0];
}

inline base::json& os_disk(base::json& body) {
  return properties_of(body).member_ref("storageProfile").member_ref("osDisk");
}

inline base::json& image(base::json& body) {
  return properties_of(body).member_ref("storageProfile").member_ref("imageReference");
}

} // namespace siteagent::azure_emulator
