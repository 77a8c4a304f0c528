// SPDX-License-Identifier: MIT
// One create: its nine steps, what they made, and taking it back.
#pragma once

#include "core/fleet/cloud_host/create.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

// "price and credit", of step 2; 0: the preconditions.
std::string_view step_name(int step);

class creation {
public:
  creation(const context& c, create_request r);

  base::result<create_report> run();

private:
  using outcome = base::result<void>;

  // create_steps.cpp
  outcome check_name();
  outcome price_and_gate();
  outcome measure_addresses();
  outcome admit_addresses();
  outcome mint_key();
  // create_host.cpp
  outcome make_resources();
  outcome enroll_host();
  outcome record_host();
  outcome check_first_boot();

  outcome mark(const credit_floor& floor, const credit_answer& credit);
  outcome gate_again();
  outcome note_progress(const base::json& what);
  outcome note_object(const host_object& object, bool is_there);
  outcome write_journal(int step);
  base::error refused_by_gate() const;

  // create_undo.cpp
  base::error failed(int step, base::error cause);
  std::vector<held_object> undo(int step, const base::error& cause);
  std::vector<held_object> undo_resources(const base::error& cause);
  std::vector<held_object> still_there(std::string_view cause) const;
  void undo_entry();
  void undo_key();
  void forget_marks();
  base::error interrupted(int step, base::error cause) const;

  const context& at_;
  create_request wanted_;
  create_report report_;
  base::json registry_; // as last read
  std::string started_at_;
  std::string group_id_;
  fleet_key key_;
  journal_entry journal_;
  std::optional<credit_answer> balance_;
  std::optional<credential_item> old_key_; // what minting replaced
  bool is_priced_ = false;                 // report_.cost.price and hours are set
  bool is_judged_ = false;                 // report_.cost.credit is set
  bool is_marked_ = false;                 // cloud_hosts_creating names this host
  bool is_journaled_ = false;
  bool is_key_minted_ = false;
  bool is_making_begun_ = false;                // create_host was called
  bool is_made_ = false;                        // and succeeded
  std::optional<base::error> progress_refused_; // why the journal could not follow
  bool is_recording_begun_ = false;
  bool is_undoing_ = false;
  std::vector<host_object> made_; // by this create, in order, also what is gone again
};

} // namespace siteagent::fleet::cloud_host
