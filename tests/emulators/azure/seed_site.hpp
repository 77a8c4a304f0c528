// SPDX-License-Identifier: MIT
// The seed key "site": a world in which the backend_settings of an azure offering hold. What they
// name and is not there yet is added; nothing is replaced.
#pragma once

#include "catalog.hpp"
#include "seeder.hpp"

#include "core/base/json.hpp"
#include "core/base/result.hpp"

namespace siteagent::azure_emulator {

// `value`: the settings of one offering, or an array of them. Subscription, service principal (with
// the secret "emulator-secret"), locations, sizes and images. A size that the catalog does not know
// gets the figures its name tells (Standard_E4s_v5: 4 cores, 8 GiB each) and is else like others.
base::result<void> add_site_offers(catalog& c, const base::json& value);

// The shared resource group, and the network of subnet_id with its group.
base::result<void> add_site_objects(seeder& s, const base::json& value);

} // namespace siteagent::azure_emulator
