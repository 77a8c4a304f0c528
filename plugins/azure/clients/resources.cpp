// SPDX-License-Identifier: MIT
#include "plugins/azure/clients/resources.hpp"

#include "core/net/url.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/ownership.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

constexpr std::string_view subscriptions_version = "2022-12-01";
constexpr std::string_view resources_version = "2021-04-01";

// An OData literal: quotes are doubled.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') {
      out += c;
    }
  }
  return out + "'";
}

std::string by_tag(std::string_view tag, std::string_view value) {
  return "$filter=" +
         net::encode("tagName eq " + quoted(tag) + " and tagValue eq " + quoted(value));
}

// Old services ignore filters they do not know; what is deleted by this list must really carry it.
std::vector<base::json>
only_tagged(std::vector<base::json> all, std::string_view tag, std::string_view value) {
  const owner wanted{std::string(tag), std::string(value)};
  all.erase(
      std::remove_if(
          all.begin(),
          all.end(),
          [&](const base::json& o) { return holder_of(o, wanted) != holder::mine; }
      ),
      all.end()
  );
  return all;
}

} // namespace

std::string resources_client::base_path() const {
  return "/subscriptions/" + net::encode(subscription_);
}

base::result<base::json> resources_client::subscription(const arm::scope& call) const {
  auto r = arm_.read(
      call,
      base_path() + "?api-version=" + std::string(subscriptions_version),
      "read subscription " + subscription_
  );
  if (!r) {
    return r.error();
  }
  return std::move(r->body);
}

base::result<std::string>
resources_client::registration(const arm::scope& call, std::string_view provider) const {
  auto r = arm_.read(
      call,
      base_path() + "/providers/" + net::encode(provider) +
          "?api-version=" + std::string(resources_version),
      "read resource provider " + std::string(provider)
  );
  if (!r) {
    return r.error();
  }
  return r->body["registrationState"].string_or("unknown");
}

base::result<std::vector<std::string>> resources_client::locations(const arm::scope& call) const {
  auto all = arm::read_all(
      arm_,
      call,
      base_path() + "/locations?api-version=" + std::string(subscriptions_version),
      "list locations"
  );
  if (!all) {
    return all.error();
  }
  std::vector<std::string> out;
  for (const base::json& l : *all) {
    out.push_back(normal_location(l["name"].string_or("")));
  }
  return out;
}

base::result<std::optional<base::json>>
resources_client::group(const arm::scope& call, std::string_view name) const {
  const kind& k = kind_of(kind_id::resource_group);
  const resource_id id = resource_id::of_group(subscription_, name);
  return arm::read_if_present(arm_, call, url_of(id, k), describe("read", k, id));
}

base::result<std::vector<base::json>>
resources_client::members(const arm::scope& call, std::string_view group) const {
  return arm::read_all(
      arm_,
      call,
      resource_id::of_group(subscription_, group).path() +
          "/resources?api-version=" + std::string(resources_version),
      "list the members of group " + std::string(group)
  );
}

base::result<std::vector<base::json>> resources_client::tagged(
    const arm::scope& call, std::string_view tag, std::string_view value
) const {
  auto all = arm::read_all(
      arm_,
      call,
      base_path() + "/resources?api-version=" + std::string(resources_version) + "&" +
          by_tag(tag, value) + "&$expand=createdTime",
      "list objects tagged " + std::string(tag)
  );
  if (!all) {
    return all.error();
  }
  return only_tagged(std::move(*all), tag, value);
}

base::result<std::vector<base::json>> resources_client::tagged_members(
    const arm::scope& call, std::string_view group, std::string_view tag
) const {
  auto all = arm::read_all(
      arm_,
      call,
      resource_id::of_group(subscription_, group).path() +
          "/resources?api-version=" + std::string(resources_version) +
          "&$filter=" + net::encode("tagName eq " + quoted(tag)) + "&$expand=createdTime",
      "list objects of group " + std::string(group) + " tagged " + std::string(tag)
  );
  if (!all) {
    base::error e = std::move(all).error();
    if (e.code == base::error_code::not_found) {
      // A group that is not there says nothing about hosts: the setting may be wrong.
      e.code = base::error_code::permanent;
      e.message += "; check the name of the resource group";
    }
    return e;
  }
  std::erase_if(*all, [&](const base::json& o) { return tag_of(o, tag).empty(); });
  return all;
}

base::result<std::vector<base::json>> resources_client::tagged_groups(
    const arm::scope& call, std::string_view tag, std::string_view value
) const {
  auto all = arm::read_all(
      arm_,
      call,
      base_path() + "/resourcegroups?api-version=" + std::string(resources_version) + "&" +
          by_tag(tag, value) + "&$expand=createdTime",
      "list groups tagged " + std::string(tag)
  );
  if (!all) {
    return all.error();
  }
  return only_tagged(std::move(*all), tag, value);
}

} // namespace siteagent::azure
