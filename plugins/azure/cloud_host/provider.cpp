// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/provider.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/answers.hpp"
#include "plugins/azure/cloud_host/admit.hpp"
#include "plugins/azure/cloud_host/create_host.hpp"
#include "plugins/azure/cloud_host/credit.hpp"
#include "plugins/azure/cloud_host/host_checks.hpp"
#include "plugins/azure/cloud_host/host_prices.hpp"
#include "plugins/azure/cloud_host/host_reading.hpp"
#include "plugins/azure/cloud_host/remove_host.hpp"
#include "plugins/azure/cloud_host/size_name.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/traffic_log.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

using arm::scope;
using base::json;

template <class T>
T value_or_throw(base::result<T> r) {
  if (!r) {
    raise(std::move(r).error());
  }
  return std::move(*r);
}

base::error bad_field(std::string_view field, const std::string& why) {
  base::error e =
      make_error(reason::invalid, base::error_code::invalid, "a cloud host on Azure: " + why);
  add_detail(e, "field", field);
  return e;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Names of machines, and the host names made of them.
std::string objection_to_name(const std::string& name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  constexpr std::size_t longest = 64;
  if (name.empty() || name.size() > longest) {
    return "a name has 1 to 64 characters";
  }
  if (name.find_first_not_of(allowed) != std::string::npos) {
    return "a name is made of a-z, 0-9, '.', '_' and '-'";
  }
  if (!is_word(name.front()) || !is_word(name.back())) {
    return "a name begins and ends with a letter or a digit";
  }
  return name.find_first_not_of("0123456789") == std::string::npos
             ? "Azure takes no host name of digits alone"
             : "";
}

std::vector<std::string> locations_of(const json& body) {
  std::vector<std::string> out;
  for (const json& item : body["locations"].items()) {
    const std::string location = normal_location(item.string_or(""));
    if (!location.empty() && std::find(out.begin(), out.end(), location) == out.end()) {
      out.push_back(location);
    }
  }
  return out;
}

// The tag by which everything of a host is found again: the one whose value is its name.
std::string host_tag_of(const host_plan& plan) {
  for (const auto& [name, value] : plan.tags.members()) {
    if (value.string_or("") == plan.name) {
      return name;
    }
  }
  raise(make_error(
      reason::invalid,
      base::error_code::invalid,
      "create a cloud host: no tag holds its name, so it could never be found again"
  ));
}

} // namespace

base::result<std::string> checked_place(const json& body) {
  constexpr std::int64_t largest_disk = 4'095;
  const std::string name = body["name"].string_or("");
  if (const std::string why = objection_to_name(name); !why.empty()) {
    return bad_field("name", "'" + name + "' cannot be its name: " + why);
  }
  const std::string location = normal_location(body["location"].string_or(""));
  if (location.empty() || !std::all_of(location.begin(), location.end(), is_word)) {
    return bad_field(
        "location", "'" + body["location"].string_or("") + "' is no location, such as westeurope"
    );
  }
  const std::string size = body["size"].string_or("");
  if (!is_size_name(size)) {
    return bad_field("size", "'" + size + "' is no machine size, such as Standard_D4s_v5");
  }
  if (is_arm64_size(size)) {
    return bad_field(
        "size",
        canonical_size(size) + " has an arm64 processor, and hosts are linux-amd64; choose a size "
                               "without 'p' behind its number"
    );
  }
  const auto disk = body["disk_gb"].integer();
  if (!disk || *disk < 1 || *disk > largest_disk) {
    return bad_field("disk_gb", "a system disk has 1 to 4095 GiB");
  }
  return canonical_size(size);
}

provider::provider(sagent::host host, const sagent::request& request, const dependencies& d)
    : s_(value_or_throw(parse_host_settings(request.body))), clock_(*d.clock),
      transport_(net::log_exchanges(d.make_transport(s_.azure), traffic_log(host))),
      access_(s_, host, *transport_, clock_, *d.shared),
      prices_({s_.azure.prices, s_.azure.currency, transport_.get(), &clock_, s_.azure.poll_min}) {}

const services& provider::entered(const sagent::call& call, const sagent::request& request) const {
  return *value_or_throw(access_.enter(call, request.trace_id));
}

void provider::validate_host(sagent::call& call, const sagent::request& request) {
  const std::string size = value_or_throw(checked_place(body_or_throw(request)));
  call.emit(json::object({{"size", size}}).dump());
}

void provider::price_size(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id);
  const json body = body_or_throw(request);
  call.emit(value_or_throw(
                cloud_host::price_size(
                    prices_, scope, clock_.wall(), body["size"].string_or(""), locations_of(body)
                )
  )
                .dump());
}

void provider::credit_balance(sagent::call& call, const sagent::request& request) {
  if (!s_.billing) {
    raise(make_error(
        reason::credentials,
        base::error_code::auth,
        "read the Azure credit: no billing credential is stored; store item "
        "wisent-azure-billing-sp with tenant_id, client_id, client_secret and its scope"
    ));
  }
  const scope scope(call, request.trace_id);
  call.emit(value_or_throw(read_credit(access_.billing(), scope, *s_.billing)).dump());
}

void provider::admit_addresses(sagent::call& call, const sagent::request& request) {
  const auto order = value_or_throw(read_admission(body_or_throw(request)));
  const scope scope(call, request.trace_id);
  const services& cloud = entered(call, request);
  call.emit(value_or_throw(admit({cloud, s_, scope, request.dry_run}, order)).dump());
}

void provider::create_host(sagent::call& call, const sagent::request& request) {
  host_plan plan = value_or_throw(read_plan(body_or_throw(request), s_, request.dry_run));
  scope scope(call, request.trace_id);
  scope.set_region(plan.location);
  if (request.dry_run) {
    json checks = json::array();
    for (const check_line& line : check_plan(entered(call, request), scope, s_, plan)) {
      checks.push_back(to_json(line));
    }
    call.emit(json::object({{"checks", std::move(checks)}}).dump());
    return;
  }
  std::string tag = host_tag_of(plan);
  const services& cloud = entered(call, request);
  call.emit(
      value_or_throw(cloud_host::create_host({cloud, s_, scope, std::move(plan), std::move(tag)}))
          .dump()
  );
}

void provider::host_state(sagent::call& call, const sagent::request& request) {
  const json body = body_or_throw(request);
  const auto objects =
      value_or_throw(objects_of(s_, body["name"].string_or(""), body["resources"]));
  const scope scope(call, request.trace_id);
  const services& cloud = entered(call, request);
  call.emit(value_or_throw(read_state(cloud, scope, objects, body["vm_id"].string_or(""))).dump());
}

void provider::list_hosts(sagent::call& call, const sagent::request& request) {
  const std::string tag = body_or_throw(request)["tag"].string_or("");
  if (tag.empty()) {
    raise(make_error(
        reason::invalid, base::error_code::invalid, "list cloud hosts: the request names no tag"
    ));
  }
  const scope scope(call, request.trace_id);
  const services& cloud = entered(call, request);
  for (const json& row : value_or_throw(cloud_host::list_hosts(cloud, scope, s_, tag))) {
    call.emit(row.dump());
  }
}

void provider::delete_host(sagent::call& call, const sagent::request& request) {
  const json body = body_or_throw(request);
  const scope scope(call, request.trace_id);
  const services& cloud = entered(call, request);
  const deletion d{
      cloud,
      s_,
      scope,
      body["name"].string_or(""),
      body["vm_id"].string_or(""),
      body["resources"],
      body["tag"].string_or(""),
      request.dry_run};
  call.emit(value_or_throw(cloud_host::delete_host(d)).dump());
}

void provider::check(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id);
  const auto locations = locations_of(body_or_throw(request));
  const auto tell = [&](const check_line& line) { call.emit(to_json(line).dump()); };
  const auto cloud = access_.enter(call, request.trace_id);
  if (cloud) {
    tell({"credentials", true, access_.who()});
    for (const check_line& line : check_site(**cloud, scope, s_, locations)) {
      tell(line);
    }
  } else {
    tell({"credentials", false, cloud.error().message});
  }
  tell(check_billing(access_, scope, s_));
}

} // namespace siteagent::azure::cloud_host
