// SPDX-License-Identifier: MIT
// sync-resource-limits: what the cloud gave each machine into Waldur's limits, once. Only figures
// that differ are written.
#include "core/agent/request_body.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/text.hpp"

#include <iostream>

namespace siteagent::app {

namespace {

struct tally {
  std::size_t changed = 0;
  std::size_t kept = 0;
  std::size_t unknown = 0;
  std::size_t failed = 0;
};

std::string clean(const std::string& text) {
  return base::global_redactor().scrub(text);
}

base::result<std::map<base::uuid, base::json>> pull(
    agent::offering_context& offering,
    agent::portal& waldur,
    const std::vector<waldur::resource>& resources
) {
  const auto cloud = offering.backend_for(offering.config().membership_sync_backend);
  if (!cloud) {
    return cloud.error();
  }
  const auto info = offering.info(waldur);
  if (!info) {
    return info.error();
  }
  host::call_request request;
  request.body.set("resources", agent::resource_refs(resources));
  request.body.set("tags", agent::offering_tags(offering.config().uuid));
  request.body.set("uuid_tag", agent::tag_resource);
  request.body.set("components", (*info)->components_body);
  auto answer = (*cloud)->call(host::operation::pull_resources, request, {});
  if (!answer) {
    return std::move(answer).error();
  }
  return agent::rows_by_uuid(*std::move(answer));
}

waldur::limits figures_of(const base::json& row) {
  waldur::limits figures;
  for (const auto& [type, amount] : row["limits"].members()) {
    if (const auto text = amount.number_text()) {
      figures.emplace(type, std::string(*text));
    }
  }
  return figures;
}

void sync_one(
    agent::portal& waldur,
    const waldur::resource& resource,
    const base::json* row,
    bool dry_run,
    tally& sum
) {
  const std::string who = "  resource " + resource.uuid.hex() + " (" + clean(resource.name) + "): ";
  const bool is_seen = row != nullptr && (*row)["presence"] == base::json("present");
  const waldur::limits figures = is_seen ? figures_of(*row) : waldur::limits{};
  if (figures.empty()) {
    std::cout << who << (is_seen ? "the plugin gives no limits" : "not seen in the cloud")
              << "; left as it is\n";
    ++sum.unknown;
    return;
  }
  if (agent::same_limits(figures, resource.limits)) {
    ++sum.kept;
    return;
  }
  if (!dry_run) {
    if (const auto written = waldur.set_limits(resource.uuid, figures); !written) {
      std::cout << who << "FAILED: " << clean(written.error().message) << '\n';
      ++sum.failed;
      return;
    }
  }
  std::cout << who << agent::limits_to_json(resource.limits).dump() << " -> "
            << agent::limits_to_json(figures).dump() << '\n';
  ++sum.changed;
}

bool sync(agent::offering_context& offering, agent::portal& waldur, bool dry_run, tally& sum) {
  std::cout << offering.config().name << " (" << offering.config().uuid.hex() << ")\n";
  if (offering.config().membership_sync_backend.empty()) {
    std::cout << "  membership_sync_backend is off; nobody knows its limits\n";
    return true;
  }
  const auto failed = [](const base::error& e) {
    std::cout << "  FAILED  " << clean(e.message) << '\n';
    return false;
  };
  auto resources = waldur.list_resources({"OK", "Erred"});
  if (!resources) {
    return failed(resources.error());
  }
  std::erase_if(*resources, [](const waldur::resource& r) {
    return base::trim(r.backend_id).empty();
  });
  if (resources->empty()) {
    return true;
  }
  const auto rows = pull(offering, waldur, *resources);
  if (!rows) {
    return failed(rows.error());
  }
  const std::size_t before = sum.failed;
  for (const waldur::resource& r : *resources) {
    const auto row = rows->find(r.uuid);
    sync_one(waldur, r, row == rows->end() ? nullptr : &row->second, dry_run, sum);
  }
  return sum.failed == before;
}

} // namespace

int run_sync_resource_limits(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  tally sum;
  const auto one = [&](agent::offering_context& offering,
                       agent::portal& waldur,
                       agent::environment&) { return sync(offering, waldur, line.dry_run, sum); };
  fine = for_each_offering(*config, line, {}, one) && fine;
  std::cout << sum.changed << " changed, " << sum.kept << " unchanged, " << sum.unknown
            << " unknown, " << sum.failed << " failed"
            << (line.dry_run ? "; nothing was written" : "") << '\n';
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
