// SPDX-License-Identifier: MIT
// What every cloud host verb works with, and who is told how far it is.
#pragma once

#include "core/base/clock.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/credentials.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/journal.hpp"
#include "core/fleet/keys.hpp"
#include "core/fleet/limits.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/provider.hpp"
#include "core/fleet/registry.hpp"
#include "core/fleet/runner.hpp"

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

// Told while a verb runs. Texts are one line. [any thread]
class narrator {
public:
  narrator() = default;
  narrator(const narrator&) = delete;
  narrator& operator=(const narrator&) = delete;
  virtual ~narrator() = default;

  // A result a person asked for, such as the two money lines.
  virtual void say(std::string_view line) = 0;
  // Begins a part of the work; ends the one before.
  virtual void step(std::string_view what) = 0;
  // What the part waits for now.
  virtual void waiting(std::string_view what) = 0;
  virtual void warn(std::string_view line) = 0;
};

// Borrowed from the program's start, or from a test.
struct workplace {
  const profile* settings = nullptr;
  const registry_store* registry = nullptr;
  const credential_store* credentials = nullptr;
  const fleet_keys* keys = nullptr;
  channel* hosts = nullptr;
  runner* programs = nullptr;
  const base::clock* clock = nullptr;
  narrator* talk = nullptr;
  folders where;
  std::string local_hostname;
  std::vector<host::plugin_directory> plugins;
  std::stop_token stop;    // the first signal: stop, and undo
  std::stop_token give_up; // the second one: stop undoing, too
};

// A workplace and one provider.
struct context : workplace {
  provider* cloud = nullptr;
  bindings bound;
  host_limits limits;

  const std::string& id() const { return cloud->description().id; }

  fleet::journal journals() const { return fleet::journal(where); }

  std::string now() const { return base::to_rfc3339(clock->wall()); }

  // "build-1 pid 123 start 456 boot <id>", for markers that other machines read.
  std::string owner() const { return local_hostname + " " + process_owner(); }
};

struct session {
  std::unique_ptr<provider> cloud; // outlives `at`
  context at;
};

// Trimmed and in lower case.
std::string provider_id_of(std::string_view text);

// The preconditions every verb has, in their order: the plugin, enabled in the profile, bindings,
// limits, the plugin's own checks. Nothing is contacted. Errors as those of the parts.
base::result<session> open_session(const workplace& w, std::string_view provider);
// The same whether the profile enables the provider or not, for a check.
base::result<session> open_session_unchecked(const workplace& w, std::string_view provider);

// <state>/cloud-hosts.lock: one create, delete or reap at a time on this machine. Waits for
// limits.lock_wait (not at all when `wait` is false), saying who holds it.
base::result<file_lock> take_lock(const context& c, std::string_view what, bool wait = true);

// Every error of a verb may carry these members of `detail` for its JSON document: step,
// projected, credit, created, not_removed, missing.
base::error with_detail(base::error e, std::string_view member, base::json value);
// An error's detail as an object, perhaps an empty one.
base::json detail_of(const base::error& e);

base::json to_json(const std::map<std::string, egress_record>& records);
base::json to_json(const std::vector<released_object>& released);
base::json to_json(const std::vector<held_object>& held);
base::json to_json(const std::vector<host_object>& objects);
base::json to_json(const std::vector<check_line>& checks);
// "<kind> <id> (<cause>)" joined by "; ".
std::string text_of(const std::vector<held_object>& held);

// What a checkpoint says is being waited for: "virtual-machine, 60 %", "the removal of disk", "the
// cloud, which limits calls of class write for 12 s".
std::string text_of_checkpoint(const base::json& what);

known_host known_host_of(const target& t);
// The channel's view of a host that is not in the registry.
target host_at(std::string_view name, const destination& where);

} // namespace siteagent::fleet::cloud_host
