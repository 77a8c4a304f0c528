// SPDX-License-Identifier: MIT
// The null provider of cloud hosts: the operations of sagent/cloud_host_provider.h on a cloud that
// is one JSON file.
#pragma once

#include "plugins/null/cloud_host/cloud.hpp"
#include "plugins/null/cloud_host/settings.hpp"

#include <sagent/cpp/plugin.hpp>

namespace siteagent::null {

class null_hosts final : public sagent::cloud_host_provider {
public:
  null_hosts(sagent::host host, const sagent::request& settings);

  static const char* settings_schema() { return hosts_settings_schema; }

  static const char* describe() { return hosts_description; }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  void validate_host(sagent::call& call, const sagent::request& request) override;
  void price_size(sagent::call& call, const sagent::request& request) override;
  void credit_balance(sagent::call& call, const sagent::request& request) override;
  void admit_addresses(sagent::call& call, const sagent::request& request) override;
  void create_host(sagent::call& call, const sagent::request& request) override;
  void host_state(sagent::call& call, const sagent::request& request) override;
  void list_hosts(sagent::call& call, const sagent::request& request) override;
  void delete_host(sagent::call& call, const sagent::request& request) override;
  void check(sagent::call& call, const sagent::request& request) override;

private:
  // Throws when the cloud wants credentials and none are stored.
  void log_in(const scene& s) const;

  sagent::host host_;
  hosts_settings settings_;
};

// The objects a host is made of, by the names this provider gives them.
struct host_names {
  explicit host_names(const std::string& name)
      : address(name + "-ip"), group(name + "-nsg"), interface(name + "-nic"), machine(name),
        disk(name + "-os") {}

  std::string address;
  std::string group;
  std::string interface;
  std::string machine;
  std::string disk;
};

// size as the price list or state.sizes spells it, or as it came; nullopt: state.sizes lacks it.
std::optional<std::string> canonical_size(const base::json& state, std::string_view size);
// Throws SAGENT_E_NOT_FOUND when state.locations names others than this one.
const base::json& get_location(const base::json& state, std::string_view location);

// One rule that lets `addresses` in on TCP `port`, to `destination` ("*" = all).
base::json admitting_rule(
    std::string_view name,
    const base::json& addresses,
    std::int64_t port,
    std::string_view destination,
    std::int64_t priority
);
// Lists of addresses compare as sets; a lone one may stand in `source`.
bool is_same_rule(const base::json& a, const base::json& b);
// The lowest from 100 to 4096 that no inbound rule holds; nullopt: none is free.
std::optional<std::int64_t> free_priority(const base::json& rules);

} // namespace siteagent::null
