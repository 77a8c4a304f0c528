// SPDX-License-Identifier: MIT
// The identity that Azure gives the machine this agent runs on: tokens from its metadata service.
#pragma once

#include "core/net/transport.hpp"
#include "plugins/azure/arm/credential.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

inline constexpr std::string_view metadata_origin = "http://169.254.169.254";

// At most one is set; none: the machine's own (system-assigned) identity.
struct identity_choice {
  std::string client_id;
  std::string object_id;
  std::string resource_id; // ARM id of a user-assigned identity

  // "object_id=…", "client_id=…", "resource_id=…" or "of this machine".
  std::string text() const;
};

// `origin`: of the metadata service. The first look (one second) tells a machine outside Azure from
// one whose service is busy.
credential_ptr make_managed_identity(std::string origin, identity_choice which);

// Why requests must not go to that metadata service in plain http, or "": the link-local address
// and loopback only.
std::string objection_to_metadata_origin(std::string_view origin);

// Sends what is for `origin` by `metadata`, everything else by `usual`: the metadata service is
// spoken to in plain http, and nothing else ever is.
std::unique_ptr<net::transport> split_transport(
    std::unique_ptr<net::transport> usual,
    std::unique_ptr<net::transport> metadata,
    std::string origin
);

} // namespace siteagent::azure::arm
