// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/admission.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

std::optional<std::string> declared_api_url(const context& c) {
  return c.settings->text("api.url", "STADO_API_URL");
}

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end()) {
    list.push_back(item);
  }
}

bool may_pass(const base::error& e) {
  return base::class_of(e.code) == base::error_class::transient;
}

} // namespace

base::result<std::string> api_url_of(const context& c) {
  const auto text = declared_api_url(c);
  if (!text) {
    return base::error{
        .code = base::error_code::refused,
        .message = "the fleet hosts cannot be asked for their addresses: api.url is not declared; "
                   "stado config set api.url declares it"};
  }
  return check_api_url(*text);
}

base::result<void> check_declared_api_url(const context& c) {
  if (const auto text = declared_api_url(c)) {
    if (const auto checked = check_api_url(*text); !checked) {
      return checked.error();
    }
  }
  return {};
}

base::result<egress_measurement> measure_fleet(const context& c, const base::json& registry) {
  const auto url = api_url_of(c);
  if (!url) {
    return url.error();
  }
  const auto admit_from = admit_from_of(registry);
  if (!admit_from) {
    return admit_from.error();
  }
  const egress_question question{
      .api_url = *url,
      .hosts = *admit_from,
      .allow_private = c.cloud->description().admits_private,
      .cap = c.limits.egress};
  c.talk->waiting("the public addresses of " + base::join(*admit_from, ", "));
  egress_measurement measured = measure_egress(*c.hosts, registry, question, *c.clock, c.stop);
  if (!c.stop.stop_requested() && !measured.records.empty()) {
    // Enrolling happens from here, admitted or not; the operator may have other reasons.
    const auto own = measure_own_egress(*c.programs, question, c.stop);
    const auto admitted = addresses_of(measured.records);
    if (own && std::find(admitted.begin(), admitted.end(), *own) == admitted.end()) {
      c.talk->warn(
          "this machine's own address " + *own +
          " is not among those of cloud_hosts.admit_from, so it cannot reach cloud hosts"
      );
    }
  }
  return measured;
}

base::error unmeasured(const std::vector<egress_failure>& failures) {
  base::error out{.code = base::error_code::refused, .message = {}};
  std::vector<std::string> parts;
  parts.reserve(failures.size());
  for (const egress_failure& f : failures) {
    parts.push_back(f.host + ": " + f.cause.message);
  }
  if (std::all_of(failures.begin(), failures.end(), [](const egress_failure& f) {
        return may_pass(f.cause);
      })) {
    out.code = base::error_code::transient;
  }
  for (const egress_failure& f : failures) {
    if (f.cause.code == base::error_code::cancelled) {
      out.code = base::error_code::cancelled;
    }
  }
  out.message = "not every fleet host told its public address: " + base::join(parts, "; ");
  return out;
}

std::map<std::string, egress_record> merged_records(
    const base::json& registry,
    const std::vector<std::string>& admit_from,
    const std::map<std::string, egress_record>& measured
) {
  const auto recorded = egress_of(registry);
  std::map<std::string, egress_record> out;
  for (const std::string& name : admit_from) {
    if (const auto fresh = measured.find(name); fresh != measured.end()) {
      out.insert(*fresh);
    } else if (const auto old = recorded.find(name); old != recorded.end()) {
      out.insert(*old);
    }
  }
  return out;
}

base::result<registry_snapshot>
record_egress(const context& c, const std::map<std::string, egress_record>& records) {
  auto written = c.registry->change([&](base::json& document) -> base::result<bool> {
    set_egress(document, records);
    return true;
  });
  if (!written) {
    return with_context(
        after_retries(std::move(written).error()),
        "the addresses were not recorded in cloud_hosts.egress"
    );
  }
  return written;
}

admission_request admission_for(
    const context& c,
    const base::json& registry,
    const std::map<std::string, egress_record>& records,
    const std::optional<std::string>& ensure
) {
  admission_request out;
  out.addresses = addresses_of(records);
  out.ensure_location = ensure;
  if (ensure) {
    add_once(out.locations, *ensure);
  }
  for (const target& t : cloud_hosts_of(registry, c.id())) {
    add_once(out.locations, base::to_lower(t.cloud->location));
    out.hosts.push_back(known_host_of(t));
  }
  return out;
}

base::error after_retries(base::error e) {
  if (e.code == base::error_code::conflict) {
    e.code = base::error_code::transient;
    e.detail.clear();
  }
  return e;
}

} // namespace siteagent::fleet::cloud_host
