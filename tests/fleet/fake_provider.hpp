// SPDX-License-Identifier: MIT
// A cloud in memory behind the interface `provider`: what it quotes, holds and refuses is set by
// the test, every call is noted. It keeps the contract of the real ones: checkpoints before and
// after each object, a refused checkpoint stops without undoing, a failed create undoes itself.
#pragma once

#include "core/fleet/provider.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::fleet::fake {

struct machine {
  std::string name;
  std::string location;
  std::string size;
  std::string vm_id;
  std::string state = "running"; // "absent": only the objects are there
  std::string created_at = "2026-11-29T12:00:00Z";
  std::string public_key;
  std::string user_data;
  std::string login;
  std::vector<std::string> addresses; // admitted by its own group
  base::json tags = base::json::object();
  base::json resources;
  std::vector<host_object> objects; // in the order they were made
};

// Kinds in the order in which a host is made.
inline const std::vector<std::string>& kinds() {
  static const auto* const all = new std::vector<std::string>{
      "public-address", "security-group", "network-interface", "virtual-machine"};
  return *all;
}

class cloud final : public provider {
public:
  // "<operation> <name or locations>", in the order of the calls; a dry run begins with "dry ".
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  // How often an operation was called.
  std::size_t count(std::string_view operation) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        calls_.begin(),
        calls_.end(),
        [&](const std::string& c) { return c.substr(0, c.find(' ')) == operation; }
    ));
  }

  enum class when : std::uint8_t { before, after }; // the effect

  // The nth run from now of `operation` (and times - 1 after it) fails so. `after`: what it does is
  // done, the answer is lost.
  void fail(
      std::string_view operation,
      base::error e,
      unsigned nth = 1,
      unsigned times = 1,
      when w = when::before
  ) {
    const std::lock_guard lock(mutex_);
    faults_.push_back({std::string(operation), std::move(e), nth, times, w});
  }

  // create_host fails at this kind, undoes what it made and reports created[] in detail; kinds in
  // `cannot_remove` stay and are its not_removed[].
  void
  fail_create_at(std::string kind, base::error e, std::vector<std::string> cannot_remove = {}) {
    const std::lock_guard lock(mutex_);
    create_fault_ = create_fault{std::move(kind), std::move(e), std::move(cannot_remove)};
  }

  // delete_host of this name holds objects of that kind `times` times.
  void hold(
      const std::string& name,
      const std::string& kind,
      std::string cause,
      unsigned times = 1,
      bool retryable = false
  ) {
    const std::lock_guard lock(mutex_);
    holds_.push_back({name, kind, std::move(cause), times, retryable});
  }

  // Runs at the start of every run of the operation, outside the lock; "put <kind>": behind the
  // checkpoint before that object, which is there afterwards.
  void at(const std::string& operation, std::function<void()> what) {
    const std::lock_guard lock(mutex_);
    hooks_[operation] = std::move(what);
  }

  // Set before the calls, read after them.
  provider_description says = default_description();
  std::string canonical_size = "Medium"; // "": the size as asked
  std::vector<price_quote> quotes{{"here", *base::decimal::parse("0.384"), "USD", "hours"}};
  credit_answer credit = default_credit();
  std::string address = "127.0.0.2";
  int port = 22;
  std::map<std::string, machine> machines;
  std::map<std::string, std::vector<std::string>> admitted; // location -> addresses of its rule
  std::vector<std::string> warnings;                        // of admit_addresses
  std::vector<check_line> checks{{"credentials", true, true, "accepted"}};
  std::vector<check_line> create_checks{{"subnet", true, true, "found"}};

  const provider_description& description() const override { return says; }

  base::result<std::string> validate_host(const host_place& p) override {
    if (auto e = enter("validate_host", p.name)) {
      return *e;
    }
    return canonical_size.empty() ? p.size : canonical_size;
  }

  base::result<price_answer>
  price_size(std::string_view size, const std::vector<std::string>& locations) override {
    std::string words(size);
    for (const std::string& l : locations) {
      words += " " + l;
    }
    if (auto e = enter("price_size", words)) {
      return *e;
    }
    price_answer a{canonical_size.empty() ? std::string(size) : canonical_size, {}, "fake prices"};
    for (const price_quote& q : quotes) {
      if (std::find(locations.begin(), locations.end(), q.location) != locations.end()) {
        a.quotes.push_back(q);
      }
    }
    return a;
  }

  base::result<credit_answer> credit_balance() override {
    if (auto e = enter("credit_balance", "")) {
      return *e;
    }
    return credit;
  }

  base::result<admission> admit_addresses(
      const admission_request& r,
      bool dry_run,
      const progress_function& progress,
      std::stop_token stop
  ) override {
    std::string words = r.ensure_location.value_or("-");
    for (const known_host& h : r.hosts) {
      words += " " + h.name;
    }
    if (auto e = enter(dry_run ? "dry admit_addresses" : "admit_addresses", words)) {
      return *e;
    }
    if (stop.stop_requested()) {
      return cancelled();
    }
    admission a;
    a.warnings = warnings;
    for (const std::string& l : r.locations) {
      const bool is_known = admitted.contains(l);
      const bool is_same = is_known && admitted[l] == r.addresses;
      if (!dry_run && !is_same) {
        if (auto told = tell(progress, "before", "put", "security-rule", l); !told) {
          return told.error();
        }
        admitted[l] = r.addresses;
        if (auto told = tell(progress, "after", "put", "security-rule", l); !told) {
          return told.error();
        }
      }
      a.locations.push_back(
          {l,
           dry_run && !is_known ? "" : "group/" + l,
           !is_known ? "created"
           : is_same ? "unchanged"
                     : "updated",
           100}
      );
    }
    for (const known_host& h : r.hosts) {
      const auto found = machines.find(h.name);
      const bool is_there = found != machines.end() && found->second.vm_id == h.vm_id;
      const bool is_same = is_there && found->second.addresses == r.addresses;
      if (is_there && !dry_run) {
        found->second.addresses = r.addresses;
      }
      a.hosts.push_back({h.name, !is_there ? "absent" : is_same ? "unchanged" : "updated"});
    }
    if (auto e = leave("admit_addresses")) {
      return *e;
    }
    return a;
  }

  base::result<created_host> create_host(
      const create_host_request& r, const progress_function& progress, std::stop_token stop
  ) override {
    if (auto e = enter("create_host", r.place.name)) {
      return *e;
    }
    if (machines.contains(r.place.name)) {
      return base::error{
          .code = base::error_code::conflict,
          .message = "virtual-machine " + r.place.name + " exists already"};
    }
    machine& m = machines[r.place.name];
    m = machine_for(r);
    for (const std::string& kind : kinds()) {
      const std::string id = "/" + kind + "/" + r.place.name;
      if (stop.stop_requested()) {
        return cancelled();
      }
      if (create_fault_ && create_fault_->kind == kind) {
        return undo_create(m);
      }
      if (auto told = tell(progress, "before", "put", kind, id); !told) {
        return told.error();
      }
      if (const auto hook = hooks_.find("put " + kind); hook != hooks_.end()) {
        hook->second();
      }
      m.objects.push_back({kind, id});
      if (kind == "virtual-machine") {
        m.state = "running";
        m.vm_id = "generation-" + std::to_string(++generation_);
      }
      if (auto told = tell(progress, "after", "put", kind, id); !told) {
        return told.error();
      }
    }
    if (auto e = leave("create_host")) {
      return *e;
    }
    return created_host{address, port, m.vm_id, m.created_at, m.resources};
  }

  base::result<std::vector<check_line>> try_create_host(const create_host_request& r) override {
    if (auto e = enter("dry create_host", r.place.name)) {
      return *e;
    }
    return create_checks;
  }

  base::result<std::string> host_state(const known_host& h) override {
    if (auto e = enter("host_state", h.name)) {
      return *e;
    }
    const std::lock_guard lock(mutex_);
    const auto found = machines.find(h.name);
    const bool is_there = found != machines.end() && found->second.vm_id == h.vm_id;
    return is_there ? found->second.state : std::string("absent");
  }

  base::result<std::vector<listed_host>> list_hosts() override {
    if (auto e = enter("list_hosts", "")) {
      return *e;
    }
    std::vector<listed_host> all;
    for (const auto& [name, m] : machines) {
      all.push_back(
          {name, m.vm_id, m.location, m.state, m.created_at, m.tags, m.resources, m.objects}
      );
    }
    return all;
  }

  base::result<removal> delete_host(
      const known_host& h, const progress_function& progress, std::stop_token stop
  ) override {
    if (auto e = enter("delete_host", h.name)) {
      return *e;
    }
    removal done;
    const auto found = machines.find(h.name);
    if (found == machines.end()) {
      for (auto kind = kinds().rbegin(); kind != kinds().rend(); ++kind) {
        done.released.push_back({*kind, "/" + *kind + "/" + h.name, "already_gone"});
      }
      return done;
    }
    machine& m = found->second;
    if (!h.vm_id.empty() && !m.vm_id.empty() && h.vm_id != m.vm_id) {
      done.held.push_back(
          {"virtual-machine",
           "/virtual-machine/" + h.name,
           "it is generation " + m.vm_id + ", not " + h.vm_id}
      );
      return done;
    }
    if (auto e = remove_objects(m, done, progress, stop)) {
      return *e;
    }
    if (m.objects.empty()) {
      machines.erase(found);
    }
    if (auto e = leave("delete_host")) {
      return *e;
    }
    return done;
  }

  base::result<std::vector<check_line>> check(const std::vector<std::string>& locations) override {
    std::string words;
    for (const std::string& l : locations) {
      words += (words.empty() ? "" : " ") + l;
    }
    if (auto e = enter("check", words)) {
      return *e;
    }
    return checks;
  }

private:
  struct fault {
    std::string operation;
    base::error error;
    unsigned nth;
    unsigned times;
    when at;
    unsigned seen = 0;
  };

  struct create_fault {
    std::string kind;
    base::error error;
    std::vector<std::string> cannot_remove;
  };

  struct hold_rule {
    std::string name;
    std::string kind;
    std::string cause;
    unsigned times;
    bool retryable;
  };

  static provider_description default_description() {
    provider_description d;
    d.id = "fake";
    d.display_name = "Fake";
    d.bindings = {{"account", "FAKE_ACCOUNT", false}, {"login", "", false}};
    d.optional_bindings = {{"locations", "", true}};
    d.login_binding = "login";
    d.locations_binding = "locations";
    d.reserved_logins = {"root"};
    d.admits_private = true;
    d.user_data_max_bytes = 65535;
    d.name_max = 64;
    return d;
  }

  static credit_answer default_credit() {
    credit_answer a;
    a.reported = true;
    a.current = base::decimal::parse("900.00");
    a.currency = "USD";
    a.scope = "fake account";
    return a;
  }

  static base::error cancelled() {
    return {.code = base::error_code::cancelled, .message = "stopped"};
  }

  std::optional<base::error> due(const std::string& operation, when w) {
    for (fault& f : faults_) {
      if (f.operation == operation && f.at == w && ++f.seen >= f.nth && f.seen < f.nth + f.times) {
        return f.error;
      }
    }
    return std::nullopt;
  }

  // Faults of a dry run are those of "dry <operation>".
  std::optional<base::error> enter(const std::string& operation, const std::string& words) {
    std::function<void()> hook;
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(operation + (words.empty() ? "" : " " + words));
      if (const auto found = hooks_.find(operation); found != hooks_.end()) {
        hook = found->second;
      }
    }
    if (hook) {
      hook();
    }
    const std::lock_guard lock(mutex_);
    return due(operation, when::before);
  }

  std::optional<base::error> leave(const std::string& operation) {
    const std::lock_guard lock(mutex_);
    return due(operation, when::after);
  }

  static base::result<void> tell(
      const progress_function& progress,
      const char* phase,
      const char* verb,
      const std::string& kind,
      const std::string& id
  ) {
    if (!progress) {
      return {};
    }
    return progress(
        base::json::object({{"phase", phase}, {"verb", verb}, {"kind", kind}, {"id", id}})
    );
  }

  static machine machine_for(const create_host_request& r) {
    machine m;
    m.name = r.place.name;
    m.location = r.place.location;
    m.size = r.place.size;
    m.state = "absent";
    m.public_key = r.public_key;
    m.user_data = r.user_data;
    m.login = r.login;
    m.addresses = r.addresses;
    m.tags = r.tags;
    m.resources = base::json::object({{"machine", "/virtual-machine/" + r.place.name}});
    return m;
  }

  // The failure of create_fault_ after everything removable was removed.
  base::error undo_create(machine& m) {
    base::json created = base::json::array();
    for (const host_object& o : m.objects) {
      created.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}}));
    }
    base::json left = base::json::array();
    const std::vector<std::string> stays = create_fault_->cannot_remove;
    std::erase_if(m.objects, [&](const host_object& o) {
      if (std::find(stays.begin(), stays.end(), o.kind) == stays.end()) {
        return true;
      }
      left.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}, {"cause", "it is held"}}));
      return false;
    });
    base::error e = create_fault_->error;
    e.detail = base::json::object({{"created", created}, {"not_removed", left}}).dump();
    create_fault_.reset();
    if (m.objects.empty()) {
      machines.erase(std::string(m.name));
    }
    return e;
  }

  std::optional<base::error> remove_objects(
      machine& m, removal& done, const progress_function& progress, const std::stop_token& stop
  ) {
    while (!m.objects.empty()) {
      const host_object o = m.objects.back();
      if (stop.stop_requested()) {
        return cancelled();
      }
      for (hold_rule& h : holds_) {
        if (h.name == m.name && h.kind == o.kind && h.times > 0) {
          --h.times;
          for (auto each = m.objects.rbegin(); each != m.objects.rend(); ++each) {
            done.held.push_back(
                {each->kind,
                 each->id,
                 each->id == o.id ? h.cause : "needed by " + o.id,
                 each->id != o.id || h.retryable}
            );
          }
          return std::nullopt;
        }
      }
      if (auto told = tell(progress, "before", "delete", o.kind, o.id); !told) {
        return told.error();
      }
      m.objects.pop_back();
      if (o.kind == "virtual-machine") {
        m.state = "absent";
        m.vm_id.clear();
      }
      done.released.push_back({o.kind, o.id, "deleted"});
      if (auto told = tell(progress, "after", "delete", o.kind, o.id); !told) {
        return told.error();
      }
    }
    return std::nullopt;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::deque<fault> faults_;
  std::optional<create_fault> create_fault_;
  std::vector<hold_rule> holds_;
  std::map<std::string, std::function<void()>> hooks_;
  unsigned generation_ = 0;
};

} // namespace siteagent::fleet::fake
