// SPDX-License-Identifier: MIT
// load-components: the file's components into Waldur. What is equal already is not written.
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/app/component_plan.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/text.hpp"

#include <iostream>

namespace siteagent::app {

namespace {

using action = component_change::action;

struct tally {
  std::size_t created = 0;
  std::size_t updated = 0;
  std::size_t kept = 0;
  std::size_t failed = 0;
};

std::string clean(const std::string& text) {
  return base::global_redactor().scrub(text);
}

void print(std::string_view word, const std::string& type, const std::string& detail) {
  std::cout << "  " << word << std::string(8 - word.size(), ' ') << clean(type)
            << (detail.empty() ? "" : ": " + clean(detail)) << '\n';
}

void write(
    waldur::client& waldur,
    const base::uuid& offering,
    const component_change& change,
    bool dry_run,
    tally& sum
) {
  const bool is_new = change.what == action::create;
  if (!dry_run) {
    const base::result<void> written = is_new ? waldur.create_component(offering, change.body)
                                              : waldur.update_component(offering, change.body);
    if (!written) {
      print("FAILED", change.type, written.error().message);
      ++sum.failed;
      return;
    }
  }
  print(
      is_new ? "create" : "update",
      change.type,
      is_new ? change.body.dump() : base::join(change.differences, ", ")
  );
  ++(is_new ? sum.created : sum.updated);
}

void load(waldur::client& waldur, const config::offering& offering, bool dry_run, tally& sum) {
  const auto server = waldur.list_components(offering.uuid);
  if (!server) {
    print("FAILED", "offering", server.error().message);
    ++sum.failed;
    return;
  }
  for (const component_change& change : plan_components(offering.components, *server)) {
    switch (change.what) {
    case action::create:
    case action::update:
      write(waldur, offering.uuid, change, dry_run, sum);
      break;
    case action::keep:
      print("same", change.type, "");
      ++sum.kept;
      break;
    case action::foreign:
      print("alone", change.type, "only in Waldur; left as it is");
      break;
    case action::refused:
      print("FAILED", change.type, change.why);
      ++sum.failed;
      break;
    }
  }
}

} // namespace

int run_load_components(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  tally sum;
  for (const config::offering& offering : config->offerings) {
    std::cout << offering.name << " (" << offering.uuid.hex() << ")\n";
    const auto waldur = make_client(offering, "load-components", nullptr, {});
    if (!waldur) {
      print("FAILED", "Waldur", waldur.error().message);
      ++sum.failed;
      continue;
    }
    load(**waldur, offering, line.dry_run, sum);
  }
  std::cout << sum.created << (line.dry_run ? " to create, " : " created, ") << sum.updated
            << (line.dry_run ? " to update, " : " updated, ") << sum.kept << " unchanged, "
            << sum.failed << " failed" << (line.dry_run ? "; nothing was written" : "") << '\n';
  return fine && sum.failed == 0 ? exit_fine : exit_failed;
}

} // namespace siteagent::app
