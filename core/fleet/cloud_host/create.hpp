// SPDX-License-Identifier: MIT
// `stado cloud host create`: nine steps in a fixed order; the first that fails ends it and what was
// made is removed.
#pragma once

#include "core/fleet/cloud_host/context.hpp"
#include "core/fleet/credit_gate.hpp"
#include "core/fleet/enroll.hpp"
#include "core/fleet/user_data.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct create_request {
  std::string name;
  std::string location; // any case; used in lower case
  std::string size;
  std::int64_t disk_gb = 0;
  std::int64_t idle_minutes = 0;
};

// What step 2 found out.
struct affordable {
  priced_size price;
  burn hours;
  gate_decision credit;
  credit_floor floor;
};

struct create_report {
  std::string provider;
  create_request request; // size in the provider's spelling
  affordable cost;
  std::map<std::string, egress_record> egress;
  created_host made;
  std::string resource_id; // of the machine; "" = not told
  probed_host probed;
  std::string generation; // of the registry that records it
  boot_report boot;
};

base::json to_json(const create_report& r);
base::json projected_json(const burn& b);
base::json credit_json(const gate_decision& d, const credit_floor& f);

// Errors: of the step that failed, with `detail` members step (0: before the first), projected and
// credit (refused by the gate), created and not_removed. `cancelled` begins with "interrupted in
// step n". One that says so leaves the registered host in place (step 9).
base::result<create_report> create(const context& c, create_request r);

// `--dry-run`: the same questions, every one of them, nothing written.
struct dry_run_report {
  create_request request;
  std::optional<priced_size> price;
  std::optional<burn> hours;
  std::optional<gate_decision> credit;
  std::optional<credit_floor> floor;
  std::map<std::string, egress_record> egress;
  std::vector<check_line> checks;

  bool would_create() const; // no needed check failed
};

base::json to_json(const dry_run_report& r, std::string_view provider);

// Errors only for what makes the questions meaningless: no registry, a bad name, an impossible
// size.
base::result<dry_run_report> rehearse_create(const context& c, create_request r);

} // namespace siteagent::fleet::cloud_host
