// SPDX-License-Identifier: MIT
#include "core/host/negotiate.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace siteagent::host {

namespace {

// Sizes of the first version of each table: what every plugin of this major has at least.
constexpr std::size_t first_descriptor_size =
    offsetof(sagent_plugin, validate_settings) + sizeof(sagent_plugin::validate_settings);
constexpr std::size_t first_backend_size =
    offsetof(sagent_resource_backend, remove_members) + sizeof(sagent_method);
constexpr std::size_t first_provider_size =
    offsetof(sagent_cloud_host_provider, check) + sizeof(sagent_method);
// A larger one is not a newer table but a wild pointer.
constexpr std::size_t largest_plausible_size = 64 * 1024;

base::error refusal(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

// Copies min(theirs, ours) into zeroes.
template <class Table>
base::result<Table> copy_in(const Table* offered, std::size_t first_size, const std::string& what) {
  std::uint32_t size = 0;
  std::memcpy(&size, offered, sizeof size);
  if (size < first_size) {
    return refusal(
        what + " is " + std::to_string(size) + " bytes long, but version 0.1 of the ABI has " +
        std::to_string(first_size) + "; rebuild the plugin with the headers of this agent"
    );
  }
  if (size > largest_plausible_size) {
    return refusal(
        what + " claims " + std::to_string(size) +
        " bytes, which is no table of this ABI; set struct_size to its sizeof"
    );
  }
  Table copy{};
  std::memcpy(&copy, offered, std::min<std::size_t>(size, sizeof copy));
  return copy;
}

// `table` when every mandatory operation is there.
template <class Table>
base::result<Table> complete(
    const base::result<Table>& table,
    const std::string& extension,
    std::initializer_list<std::pair<const char*, bool>> mandatory
) {
  std::vector<std::string> missing;
  for (const auto& [name, is_set] : mandatory) {
    if (!is_set) {
      missing.emplace_back(name);
    }
  }
  if (!missing.empty()) {
    return refusal(
        "the table " + extension + " lacks mandatory operations: " + base::join(missing, ", ") +
        "; its author must implement them"
    );
  }
  return table;
}

} // namespace

bool is_plugin_id(std::string_view id) {
  if (id.empty() || id.size() > 32 || id[0] < 'a' || id[0] > 'z') {
    return false;
  }
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

base::result<sagent_plugin> read_descriptor(const sagent_plugin* offered, std::string_view stem) {
  if (offered == nullptr) {
    return refusal(SAGENT_ENTRY_NAME " returned NULL: the plugin refuses this agent");
  }
  auto copied = copy_in(offered, first_descriptor_size, "the plugin's descriptor");
  if (!copied) {
    return copied;
  }
  const sagent_plugin& d = *copied;
  if (d.abi_minor_required > SAGENT_ABI_MINOR) {
    return refusal(
        "the plugin needs ABI " + std::to_string(SAGENT_ABI_MAJOR) + "." +
        std::to_string(d.abi_minor_required) + ", this agent offers " +
        std::to_string(SAGENT_ABI_MAJOR) + "." + std::to_string(SAGENT_ABI_MINOR) +
        "; upgrade the agent or install an older plugin"
    );
  }
  if (d.id == nullptr || d.create == nullptr || d.destroy == nullptr ||
      d.get_extension == nullptr) {
    std::vector<std::string> missing;
    for (const auto& [name, is_set] :
         {std::pair("id", d.id != nullptr),
          std::pair("create", d.create != nullptr),
          std::pair("destroy", d.destroy != nullptr),
          std::pair("get_extension", d.get_extension != nullptr)}) {
      if (!is_set) {
        missing.emplace_back(name);
      }
    }
    return refusal("the plugin's descriptor has no " + base::join(missing, ", "));
  }
  const std::string_view id(d.id, ::strnlen(d.id, 64));
  if (!is_plugin_id(id)) {
    return refusal(
        "the plugin's id is not of the form [a-z][a-z0-9-]{0,31}; its author must change it"
    );
  }
  if (id != stem) {
    return refusal(
        "the file is named " + std::string(stem) + ".so but holds the plugin '" + std::string(id) +
        "'; name it " + std::string(id) + ".so"
    );
  }
  return copied;
}

base::result<sagent_resource_backend> read_backend(const sagent_resource_backend* offered) {
  if (offered == nullptr) {
    return refusal("the plugin does not offer " SAGENT_EXT_RESOURCE_BACKEND);
  }
  auto copied = copy_in(offered, first_backend_size, "the table " SAGENT_EXT_RESOURCE_BACKEND);
  if (!copied) {
    return copied;
  }
  const sagent_resource_backend& t = *copied;
  return complete(
      copied,
      SAGENT_EXT_RESOURCE_BACKEND,
      {
          {"ping", t.ping != nullptr},
          {"evaluate_order", t.evaluate_order != nullptr},
          {"create_resource", t.create_resource != nullptr},
          {"delete_resource", t.delete_resource != nullptr},
          {"pause", t.pause != nullptr},
          {"downscale", t.downscale != nullptr},
          {"restore", t.restore != nullptr},
          {"pull_resources", t.pull_resources != nullptr},
          {"report_usage", t.report_usage != nullptr},
          {"list_resources", t.list_resources != nullptr},
          {"set_resource_limits", t.set_resource_limits != nullptr},
          {"diagnostics", t.diagnostics != nullptr},
      }
  );
}

base::result<sagent_cloud_host_provider>
read_cloud_host_provider(const sagent_cloud_host_provider* offered) {
  if (offered == nullptr) {
    return refusal("the plugin does not offer " SAGENT_EXT_CLOUD_HOST_PROVIDER);
  }
  auto copied = copy_in(offered, first_provider_size, "the table " SAGENT_EXT_CLOUD_HOST_PROVIDER);
  if (!copied) {
    return copied;
  }
  const sagent_cloud_host_provider& t = *copied;
  return complete(
      copied,
      SAGENT_EXT_CLOUD_HOST_PROVIDER,
      {
          {"describe", t.describe != nullptr},
          {"validate_host", t.validate_host != nullptr},
          {"price_size", t.price_size != nullptr},
          {"credit_balance", t.credit_balance != nullptr},
          {"admit_addresses", t.admit_addresses != nullptr},
          {"create_host", t.create_host != nullptr},
          {"host_state", t.host_state != nullptr},
          {"list_hosts", t.list_hosts != nullptr},
          {"delete_host", t.delete_host != nullptr},
          {"check", t.check != nullptr},
      }
  );
}

std::string_view name_of_thread_model(std::uint32_t model) {
  switch (model) {
  case SAGENT_THREADS_PARALLEL:
    return "parallel";
  case SAGENT_THREADS_PER_INSTANCE:
    return "per_instance";
  default:
    return "serial";
  }
}

} // namespace siteagent::host
