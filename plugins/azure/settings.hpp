// SPDX-License-Identifier: MIT
// backend_settings of an offering, checked.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/credential_settings.hpp"
#include "plugins/azure/resource_id.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

struct image_reference {
  std::string publisher;
  std::string offer;
  std::string sku;
  std::string version;

  std::string text() const { return publisher + ":" + offer + ":" + sku + ":" + version; }
};

// Waits of cloud hosts, which their owner bounds; orders go by what Azure is known to take.
struct host_waits {
  std::chrono::milliseconds operation = std::chrono::minutes(20); // one operation of Azure's
  std::chrono::milliseconds removal = std::chrono::minutes(4);    // passing refusals of one removal
  std::chrono::milliseconds poll = std::chrono::seconds(5);       // where Azure names no pause
};

enum class disk_source : std::uint8_t {
  size,   // the disk of the size: its OS disk and its temporary disk
  actual, // the OS disk, the data disks and the temporary disk the machine has
};

struct settings {
  std::string subscription_id;
  std::string tenant_id; // empty only with a managed identity, as client_id
  std::string client_id;
  credential_settings credentials;

  std::string default_location;
  std::string default_resource_group; // empty: a group per machine
  std::string default_size;
  base::json default_image; // text, or an object with the four parts
  std::string network_cidr = "10.0.0.0/16";
  std::string subnet_cidr = "10.0.0.0/24";
  std::vector<std::string> allowed_ssh_ranges;
  std::optional<resource_id> subnet; // an existing one; none: each machine gets its own network
  bool public_ip = true;

  std::string resource_manager = "https://management.azure.com";
  std::string authority = "https://login.microsoftonline.com";
  std::string audience = "https://management.azure.com";
  std::string ca_file;
  std::string prices;  // origin of the retail price list; empty: there is none
  std::string billing; // origin of the billing accounts, for cloud hosts; empty: resource_manager

  bool password_login = true;
  disk_source disk = disk_source::size;
  bool limits_from_size = false;
  std::map<std::string, std::string> tags;
  std::vector<std::string> allowed_sizes;
  std::vector<std::string> allowed_locations;
  std::vector<std::string> allowed_images; // publisher:offer:sku, with or without :version
  std::string currency = "USD";
  std::optional<base::decimal> max_hourly_price; // in `currency`
  std::optional<std::int64_t> max_machines;      // of this offering
  std::chrono::milliseconds poll_min{1'000};
  std::chrono::milliseconds poll_max{60'000};

  std::optional<host_waits> hosts; // set: this instance makes cloud hosts, not machines of orders

  std::vector<std::string> warnings; // for the operator, once at start

  bool is_shared_group() const { return !default_resource_group.empty(); }
};

// JSON Schema, draft 4. Unknown members are allowed: the host warns about them.
const char* settings_schema();

// The tag that keeps what the customer wrote; the machine's own name is a slug.
inline constexpr std::string_view display_name_tag = "display-name";

// `invalid` with a text naming the key, its value and the remedy.
base::result<settings>
parse_settings(std::string_view json_text, const environment& env = process_environment());

} // namespace siteagent::azure
