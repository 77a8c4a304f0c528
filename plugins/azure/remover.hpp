// SPDX-License-Identifier: MIT
// The engine of deletion: what to delete, in which order, what stays and why.
#pragma once

#include "plugins/azure/kinds.hpp"
#include "plugins/azure/place.hpp"
#include "plugins/azure/remove.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace siteagent::azure {

using optional_json = std::optional<base::json>;

// Something to delete.
struct target {
  kind k;
  resource_id id;
  bool untagged_too = false; // its name or its machine says that it is ours
};

// The work behind remove.hpp: one call, one report. [one thread]
class remover {
public:
  explicit remover(const removal& r) : r_(r) {}

  removal_report by_tag();
  removal_report by_machine(const resource_id& machine);

  base::result<optional_json> read(const kind& k, const resource_id& id) const {
    return arm::read_if_present(
        r_.cloud.arm(), r_.call, url_of(id, k), describe("look for", k, id)
    );
  }

  void remove_targets(std::vector<target> targets);

  removal_report take_report() { return std::move(report_); }

private:
  // Nothing more can be done in this call.
  bool hopeless() const { return hopeless_; }

  void fail(base::error e);

  void keep(const resource_id& id, std::string reason) {
    report_.remaining.push_back({id.text(), std::move(reason)});
  }

  void remove_target(const target& t);
  bool drop_group(const resource_id& group);
  // True: the group was dealt with; its members need no more care.
  bool try_whole_group(const resource_id& machine, const optional_json& model, bool named_by_us);
  void add(std::vector<target>& targets, const resource_id& id, bool untagged_too) const;
  void
  add_companions(std::vector<target>& targets, const resource_id& machine, bool untagged_too) const;
  void add_tagged(std::vector<target>& targets, const belongings& found) const;
  base::result<void> add_derived(belongings& found) const;
  base::result<void>
  add_if_mine(std::vector<base::json>& list, const kind& k, const resource_id& id) const;
  base::result<void> refuse_working_machine(const belongings& found);
  void verify(const resource_id* machine);

  const removal& r_;
  removal_report report_;
  bool hopeless_ = false;
  std::set<std::string> gone_groups_;
};

} // namespace siteagent::azure
