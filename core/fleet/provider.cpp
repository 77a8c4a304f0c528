// SPDX-License-Identifier: MIT
#include "core/fleet/provider.hpp"

#include "core/base/text.hpp"
#include "core/fleet/provider_answers.hpp"

#include <algorithm>
#include <filesystem>

namespace siteagent::fleet {

namespace {

using base::json;

std::vector<binding> bindings_in(answer_reader& read, const json& all, const std::string& where) {
  std::vector<binding> made;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string at = where + "[" + std::to_string(i) + "]";
    const json& each = all[i];
    made.push_back(
        {.key = read.text(each, at, "key"),
         .variable = read.optional_text(each, at, "env"),
         .is_list = read.optional_flag(each, at, "list")}
    );
  }
  return made;
}

std::vector<std::pair<std::string, credential_source>>
credentials_in(answer_reader& read, const json& description) {
  std::vector<std::pair<std::string, credential_source>> made;
  const json* all = description.find("credentials");
  if (all == nullptr) {
    return made;
  }
  if (!all->is_object()) {
    read.complain("credentials", "is no object");
  }
  for (const auto& [role, each] : all->members()) {
    const std::string at = "credentials." + role;
    made.emplace_back(
        role,
        credential_source{
            .item = read.text(each, at, "item"),
            .item_variable = read.optional_text(each, at, "item_env"),
            .fields = read.texts(each, at, "fields"),
            .secret_fields = read.texts(each, at, "secret_fields")}
    );
  }
  return made;
}

bool has(const std::vector<binding>& all, std::string_view key, bool as_list) {
  return std::any_of(all.begin(), all.end(), [&](const binding& b) {
    return b.key == key && b.is_list == as_list;
  });
}

std::size_t size_in(answer_reader& read, const json& description, std::string_view key) {
  static constexpr std::int64_t most = 1 << 20;
  const std::int64_t size = read.integer(description, "", key);
  if (size < 1 || size > most) {
    read.complain(key, "is not from 1 to " + std::to_string(most));
  }
  return static_cast<std::size_t>(std::clamp<std::int64_t>(size, 1, most));
}

std::vector<std::string> paths_of(const std::vector<host::plugin_directory>& directories) {
  std::vector<std::string> paths;
  for (const host::plugin_directory& d : directories) {
    paths.push_back(d.path);
  }
  return paths;
}

bool is_installed(const std::string& id, const std::vector<host::plugin_directory>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const auto& d) {
    std::error_code failed;
    return std::filesystem::exists(
        std::filesystem::symlink_status(d.path + "/" + id + ".so", failed)
    );
  });
}

} // namespace

base::result<provider_description> parse_description(std::string_view id, std::string_view text) {
  answer_reader read(std::string(id) + ": what it says of its cloud hosts");
  const auto parsed = json::parse(text);
  const json said = parsed ? *parsed : json();
  if (!said.is_object()) {
    return read.bug("is no JSON object");
  }
  provider_description d;
  d.id = id;
  d.display_name = read.text(said, "", "display_name");
  d.bindings = bindings_in(read, read.list(said, "", "bindings"), "bindings");
  if (said.find("optional_bindings") != nullptr) {
    d.optional_bindings =
        bindings_in(read, read.list(said, "", "optional_bindings"), "optional_bindings");
  }
  d.login_binding = read.text(said, "", "login_binding");
  d.locations_binding = read.optional_text(said, "", "locations_binding");
  if (said.find("reserved_logins") != nullptr) {
    d.reserved_logins = read.texts(said, "", "reserved_logins");
  }
  d.admits_private = read.optional_flag(said, "", "admits_private");
  d.user_data_max_bytes = size_in(read, said, "user_data_max_bytes");
  d.name_max = size_in(read, said, "name_max");
  d.credentials = credentials_in(read, said);
  if (!has(d.bindings, d.login_binding, false)) {
    read.complain("login_binding", "names no required binding");
  }
  if (!d.locations_binding.empty() && !has(d.optional_bindings, d.locations_binding, true)) {
    read.complain("locations_binding", "names no optional binding that is a list");
  }
  if (auto fault = read.fault()) {
    return *fault;
  }
  return d;
}

base::result<loaded_provider>
load_provider(std::string_view name, const std::vector<host::plugin_directory>& directories) {
  const std::string id = base::to_lower(base::trim(name));
  const std::string searched = base::join(paths_of(directories), ", ");
  const bool is_file_name = id.find('/') == std::string::npos && !id.empty();
  if (is_file_name && !is_installed(id, directories)) {
    return base::error{
        .code = base::error_code::not_found,
        .message = "there is no provider '" + std::string(base::truncated(id, 64)) + "': no " +
                   std::string(base::truncated(id, 64)) + ".so in " + searched +
                   "; install its plugin or correct the name"};
  }
  auto plugin = host::load_plugin(id, directories);
  if (!plugin) {
    return base::with_context(
        plugin.error(), "provider '" + std::string(base::truncated(id, 64)) + "'"
    );
  }
  const host::plugin_info info = host::info_of(**plugin);
  if (!info.offers(SAGENT_EXT_CLOUD_HOST_PROVIDER)) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "provider '" + id + "' has no cloud hosts: " + info.path + " (version " +
                   info.version + ") offers " + base::join(info.extensions, ", ") + " and not " +
                   SAGENT_EXT_CLOUD_HOST_PROVIDER + "; searched " + searched +
                   "; choose another provider or install a newer plugin"};
  }
  auto description = parse_description(id, info.cloud_hosts);
  if (!description) {
    return base::with_context(description.error(), info.path);
  }
  return loaded_provider{*std::move(plugin), *std::move(description)};
}

} // namespace siteagent::fleet
