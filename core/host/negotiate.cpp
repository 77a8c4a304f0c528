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
  const std::pair<const char*, sagent_method> mandatory[] = {
      {"ping", t.ping},
      {"evaluate_order", t.evaluate_order},
      {"create_resource", t.create_resource},
      {"delete_resource", t.delete_resource},
      {"pause", t.pause},
      {"downscale", t.downscale},
      {"restore", t.restore},
      {"pull_resources", t.pull_resources},
      {"report_usage", t.report_usage},
      {"list_resources", t.list_resources},
      {"set_resource_limits", t.set_resource_limits},
      {"diagnostics", t.diagnostics},
  };
  std::vector<std::string> missing;
  for (const auto& [name, slot] : mandatory) {
    if (slot == nullptr) {
      missing.emplace_back(name);
    }
  }
  if (!missing.empty()) {
    return refusal(
        "the table " SAGENT_EXT_RESOURCE_BACKEND " lacks mandatory operations: " +
        base::join(missing, ", ") + "; its author must implement them"
    );
  }
  return copied;
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
