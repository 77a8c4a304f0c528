// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/remove.hpp"

#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

base::error refused(std::string message) {
  return {.code = base::error_code::refused, .message = std::move(message)};
}

struct known {
  std::optional<target> declared;
  std::optional<unfinished> begun;
};

base::error not_known(const context& c, const base::json& registry, std::string_view name) {
  std::vector<std::string> names;
  for (const target& t : cloud_hosts_of(registry, c.id())) {
    names.push_back(t.name);
  }
  return refused(
      "the registry declares no " + c.cloud->description().display_name + " cloud host " +
      printable(name, 64) + " (it declares " +
      (names.empty() ? std::string("none") : base::join(names, ", ")) + ")"
  );
}

base::result<known> look_up(const context& c, const base::json& registry, std::string_view name) {
  known out;
  auto begun = find_unfinished(c, registry, name);
  if (!begun) {
    return begun.error();
  }
  out.begun = std::move(*begun);
  const auto t = find_target(registry, name);
  if (t && t->cloud && t->cloud->provider == c.id()) {
    out.declared = t;
  }
  if (!out.declared && !out.begun) {
    return not_known(c, registry, name);
  }
  if (out.begun && out.begun->state != unfinished::life::dead) {
    return refused(
        "cloud host " + out.begun->text() +
        " is being created; wait for that, or end that command, which removes what it made"
    );
  }
  return out;
}

progress_function telling(const context& c) {
  return [&c](const base::json& what) -> base::result<void> {
    if (what["phase"].string_or("") != "after") {
      c.talk->waiting(text_of_checkpoint(what));
    }
    return {};
  };
}

// What the cloud released must not be billed to a rule that forbids the entry to go.
base::result<void> check_removable(const context& c, const std::string& name) {
  auto now = c.registry->read();
  if (!now) {
    return now.error();
  }
  if (validate_registry(now->document)) {
    return {}; // broken before; the machine stops billing all the same, and the entry goes later
  }
  base::json after = now->document;
  remove_target(after, name);
  clear_creating(after, name);
  if (const auto fault = validate_registry(after)) {
    return refused(
        name + " cannot leave the registry: without it " + fault->where + " " + fault->rule +
        "; change that first (nothing was deleted)"
    );
  }
  return {};
}

base::error held_error(const context& c, const std::string& name, const removal& r) {
  base::error e = refused(
      name + " is still registered because " + c.cloud->description().display_name +
      " did not release everything: " + text_of(r.held) + "; deleting it again retries"
  );
  if (std::all_of(r.held.begin(), r.held.end(), [](const held_object& o) { return o.retryable; })) {
    e.code = base::error_code::transient;
  }
  e = with_detail(std::move(e), "not_removed", to_json(r.held));
  return with_detail(std::move(e), "released", to_json(r.released));
}

base::result<void> drop_key(const context& c, const std::string& name, delete_report& report) {
  const auto removed = c.keys->remove(name);
  if (!removed) {
    return base::error{
        .code = removed.error().code,
        .message = "the cloud side and the entry of " + name + " are gone, but credential item " +
                   key_item_of(name) + " could not be removed: " + removed.error().message +
                   "; stado fleet key rm " + name + " removes it"};
  }
  report.is_key_removed = *removed;
  return {};
}

// `is_own`: the journal tells of what was just released, and not of another create of that name.
void drop_traces(const context& c, const std::string& name, bool is_own) {
  if (auto forgotten = c.hosts->forget_host_key(name); !forgotten) {
    c.talk->warn(forgotten.error().message);
  }
  if (!is_own) {
    return;
  }
  if (auto removed = c.journals().remove(name); !removed) {
    c.talk->warn(removed.error().message);
  }
}

base::result<delete_report> remove_unfinished(const context& c, const unfinished& u) {
  const auto released = release_unfinished(c, u, telling(c), c.stop);
  if (!released) {
    return released.error();
  }
  if (!released->held.empty()) {
    return held_error(c, u.name, *released);
  }
  delete_report out;
  out.name = u.name;
  out.provider = c.id();
  out.released = released->released;
  const auto written = c.registry->change([&](base::json& document) -> base::result<bool> {
    const auto marked = creating_of(document, c.id());
    const bool is_marked = std::any_of(marked.begin(), marked.end(), [&](const creating_host& m) {
      return m.name == u.name;
    });
    if (is_marked) {
      clear_creating(document, u.name);
    }
    return is_marked;
  });
  if (!written) {
    return with_context(
        after_retries(written.error()),
        "the cloud side of " + u.name +
            " is released, but the registry could not be written; deleting it again finishes"
    );
  }
  out.generation = written->generation;
  // Before its fifth step a create had no key of its own: one of that name is somebody else's.
  constexpr int key_step = 5;
  if ((u.journal && u.journal->step >= key_step) || !out.released.empty()) {
    if (auto dropped = drop_key(c, u.name, out); !dropped) {
      return dropped.error();
    }
  }
  drop_traces(c, u.name, u.journal.has_value());
  return out;
}

} // namespace

base::json to_json(const delete_report& r) {
  return base::json::object(
      {{"name", r.name},
       {"provider", r.provider},
       {"released", to_json(r.released)},
       {"entry_removed", r.is_entry_removed},
       {"key_removed", r.is_key_removed},
       {"generation", r.generation}}
  );
}

base::result<delete_report> remove_declared(const context& c, const target& t) {
  if (auto removable = check_removable(c, t.name); !removable) {
    return removable.error();
  }
  const auto released = c.cloud->delete_host(known_host_of(t), telling(c), c.stop);
  if (!released) {
    return released.error();
  }
  if (!released->held.empty()) {
    return held_error(c, t.name, *released);
  }
  delete_report out;
  out.name = t.name;
  out.provider = c.id();
  out.released = released->released;
  bool is_used_again = false;
  const auto written = c.registry->change([&](base::json& document) -> base::result<bool> {
    const auto now = find_target(document, t.name);
    // Another machine may have been faster, and the name even be used again.
    const bool is_the_same = now && now->cloud && now->cloud->vm_id == t.cloud->vm_id;
    const auto begun = creating_of(document, c.id());
    is_used_again =
        now ? !is_the_same : std::any_of(begun.begin(), begun.end(), [&](const creating_host& m) {
          return m.name == t.name;
        });
    return is_the_same && remove_target(document, t.name);
  });
  if (!written) {
    return with_context(
        after_retries(written.error()),
        "the cloud side of " + t.name +
            " is released, but the registry could not be written; deleting it again finishes"
    );
  }
  out.is_entry_removed = true;
  out.generation = written->generation;
  if (is_used_again) {
    return out; // key and pin are the new host's
  }
  const auto journal = c.journals().find(t.name);
  const bool is_own =
      journal && *journal && (*journal)->created["vm_id"].string_or("") == t.cloud->vm_id;
  if (auto dropped = drop_key(c, t.name, out); !dropped) {
    return dropped.error();
  }
  drop_traces(c, t.name, is_own);
  return out;
}

base::result<delete_report> remove(const context& c, std::string_view name) {
  auto registry = c.registry->read();
  if (!registry) {
    return registry.error();
  }
  // Refused before the lock: a create that runs here holds it, perhaps for long.
  if (auto first = look_up(c, registry->document, name); !first) {
    return first.error();
  }
  c.talk->step("deleting " + std::string(name));
  auto lock = take_lock(c, "deleting " + std::string(name));
  if (!lock) {
    return lock.error();
  }
  registry = c.registry->read();
  if (!registry) {
    return registry.error();
  }
  const auto found = look_up(c, registry->document, name);
  if (!found) {
    return found.error();
  }
  if (!found->declared) {
    return remove_unfinished(c, *found->begun);
  }
  auto removed = remove_declared(c, *found->declared);
  if (!removed || !found->begun) {
    return removed;
  }
  // Besides the host, an older create of the name left something.
  auto leftover = remove_unfinished(c, *found->begun);
  if (!leftover) {
    return leftover;
  }
  removed->released.insert(
      removed->released.end(), leftover->released.begin(), leftover->released.end()
  );
  removed->generation = leftover->generation;
  return removed;
}

} // namespace siteagent::fleet::cloud_host
