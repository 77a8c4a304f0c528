// SPDX-License-Identifier: MIT
// Tables of names, and nothing else.
#include "core/config/python_agent.hpp"

#include <algorithm>
#include <array>

namespace siteagent::config {

namespace {

constexpr std::string_view cloud_gives_ids =
    "no effect: the cloud gives each machine an id of its own";
constexpr std::string_view no_accounts = "no effect: machines have no accounting accounts";
constexpr std::string_view no_homes =
    "no effect: home directories lie inside the machines, where the agent never logs in";

constexpr std::array unused{
    unused_setting{"allocation_prefix", cloud_gives_ids},
    unused_setting{"project_prefix", no_accounts},
    unused_setting{"customer_prefix", no_accounts},
    unused_setting{"default_account", no_accounts},
    unused_setting{
        "soft_delete", "no effect: a terminated machine is deleted, or it would go on costing"},
    unused_setting{"check_backend_id_uniqueness", cloud_gives_ids},
    unused_setting{"check_all_offerings", cloud_gives_ids},
    unused_setting{"backend_id_max_retries", cloud_gives_ids},
    unused_setting{"default_homedir_umask", no_homes},
    unused_setting{"enable_user_homedir_account_creation", no_homes},
    unused_setting{"homedir_base_path", no_homes},
    unused_setting{"homedir_quota", no_homes},
    unused_setting{"periodic_limits", "no effect: a machine's limits are those of its size"},
};

constexpr std::array<std::string_view, 19> plugins{
    "slurm",
    "moab",
    "mup",
    "waldur",
    "opennebula",
    "digitalocean",
    "okd",
    "rancher",
    "rancher-kc-crd",
    "harbor",
    "nextcloud",
    "k8s-ut-namespace",
    "ceph_s3",
    "croit_usage",
    "envoy",
    "envoy-usage",
    "cscs-dwdi-compute",
    "cscs-dwdi-storage",
    "cscs-dwdi-inference",
};

constexpr std::array<std::string_view, 2> username_plugins{"ldap", "waldur-identity-bridge"};

} // namespace

std::span<const unused_setting> unused_settings() {
  return unused;
}

std::string_view why_unused(std::string_view settings_key) {
  const auto* const found = std::find_if(unused.begin(), unused.end(), [&](const auto& u) {
    return u.key == settings_key;
  });
  return found == unused.end() ? std::string_view{} : found->why;
}

std::span<const std::string_view> python_only_plugins() {
  return plugins;
}

bool is_python_only_plugin(std::string_view id) {
  return std::find(plugins.begin(), plugins.end(), id) != plugins.end();
}

std::span<const std::string_view> python_only_username_plugins() {
  return username_plugins;
}

bool is_python_only_username_plugin(std::string_view id) {
  return std::find(username_plugins.begin(), username_plugins.end(), id) != username_plugins.end();
}

} // namespace siteagent::config
