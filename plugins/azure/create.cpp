// SPDX-License-Identifier: MIT
#include "plugins/azure/create.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/bodies.hpp"
#include "plugins/azure/disk_tags.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/guard_rails.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/own_network.hpp"
#include "plugins/azure/password.hpp"
#include "plugins/azure/place.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr std::size_t longest_tag_value = 256;
constexpr unsigned agent_polls = 60; // about ten minutes at the usual pause

// Azure compares names of tags without case.
void set_tag(base::json& tags, std::string_view name, base::json value) {
  std::erase_if(tags.members(), [&](const base::json::member& m) {
    return base::equals_ignoring_case(m.first, name);
  });
  tags.set(name, std::move(value));
}

// The operator's tags, the name the customer chose (the machine's own is a slug), and, above all,
// the host's.
base::json all_tags(const creation& c) {
  base::json tags = base::json::object();
  for (const auto& [name, value] : c.s.tags) {
    tags.set(name, value);
  }
  set_tag(tags, display_name_tag, base::truncated(c.order.name, longest_tag_value));
  for (const auto& [name, value] : c.tags.members()) {
    set_tag(tags, name, value.string_or(""));
  }
  set_tag(tags, c.who.tag, c.who.value);
  return tags;
}

// A shared group carries nobody's uuid, or clean-up by tag would take it away.
base::json shared_group_body(const creation& c) {
  base::json tags = base::json::object();
  for (const auto& [name, value] : c.s.tags) {
    tags.set(name, value);
  }
  return base::json::object({{"location", c.order.location}, {"tags", std::move(tags)}});
}

bool is_failed(const base::json& model) {
  return arm::state_of(model.at({"properties", "provisioningState"})) == arm::run_state::failed;
}

// The failed status with its code, "ProvisioningState/failed/<code>".
struct failed_status {
  std::string code;
  std::string message;
};

failed_status failed_status_of(const base::json& view) {
  for (const base::json& s : view["statuses"].items()) {
    const std::string code = s["code"].string_or("");
    const auto parts = base::split(code, '/');
    if (parts.size() >= 2 && base::equals_ignoring_case(parts[0], "ProvisioningState") &&
        base::equals_ignoring_case(parts[1], "failed")) {
      return {parts.size() > 2 ? std::string(parts[2]) : "", s["message"].string_or("")};
    }
  }
  return {};
}

bool agent_is_ready(const base::json& view) {
  for (const base::json& s : view.at({"vmAgent", "statuses"}).items()) {
    if (base::equals_ignoring_case(s["code"].string_or(""), "ProvisioningState/succeeded") ||
        base::equals_ignoring_case(s["displayStatus"].string_or(""), "Ready")) {
      return true;
    }
  }
  return false;
}

// A first boot that took too long for Azure may still end well; the machine runs and bills.
base::result<void>
await_agent(const creation& c, const resource_id& machine, const base::error& timed_out) {
  const milliseconds pause = std::clamp(
      kind_of(kind_id::virtual_machine).usual_poll,
      c.cloud.arm().options().floor,
      c.cloud.arm().options().cap
  );
  for (unsigned i = 0; i < agent_polls; ++i) {
    auto view = c.cloud.compute().instance_view(c.call, machine);
    if (!view) {
      return view.error();
    }
    if (agent_is_ready(*view)) {
      return {};
    }
    if (auto slept = c.call.wait(pause); !slept) {
      return slept.error();
    }
  }
  return timed_out;
}

base::error as_final(base::error e) {
  // Azure's verdict on the operation, whatever its code: a machine that failed stays failed, and
  // the same order tried again finds the same machine.
  constexpr int verdict = 200;
  if (e.http_status == verdict && e.code == base::error_code::transient) {
    e.code = base::error_code::permanent;
    e.public_message = "The cloud could not make the machine. Order again.";
  }
  return as_refusal(std::move(e));
}

base::result<base::json>
accept_machine(const creation& c, const resource_id& machine, base::json model) {
  if (!is_failed(model)) {
    return model;
  }
  const base::error why = failure_of_machine(c.cloud, c.call, machine);
  if (reason_of(why) == reason::os_timeout) {
    if (auto ready = await_agent(c, machine, why); !ready) {
      return ready.error();
    }
    return model;
  }
  return as_final(why);
}

base::result<base::json> make_machine(const creation& c, const machine_plan& plan, bool absent) {
  const kind& k = kind_of(kind_id::virtual_machine);
  const auto body = [&] {
    base::secret password;
    if (c.s.password_login) {
      password = random_password();
      c.cloud.protect(password.reveal());
    }
    return body_of(kind_id::virtual_machine, plan, password);
  };
  auto machine = make(c.cloud, c.call, c.who, {k, plan.machine, body, false, absent});
  if (machine) {
    return accept_machine(c, plan.machine, std::move(machine->body));
  }
  base::error why = std::move(machine).error();
  if (reason_of(why) != reason::os_timeout) {
    return as_final(std::move(why));
  }
  if (auto ready = await_agent(c, plan.machine, why); !ready) {
    return ready.error();
  }
  auto model = c.cloud.compute().machine(c.call, plan.machine);
  if (!model) {
    return model.error();
  }
  return *model ? base::result<base::json>(std::move(**model)) : base::result<base::json>(why);
}

void note(machine_facts& facts, kind_id which, const made& done) {
  if (which == kind_id::public_ip_address) {
    facts.public_ip = public_address(done.body);
  } else if (which == kind_id::network_interface) {
    facts.private_ip = private_address(done.body);
  }
}

// Everything before the machine, in the table's order; what Azure assigned on the way goes into the
// facts.
base::result<machine_facts>
make_surroundings(const creation& c, const machine_plan& plan, place& where) {
  machine_facts facts;
  bool new_network = false;
  for (const kind& k : all_kinds()) {
    const bool skipped = !is_made(k.id, c.s) || k.id == kind_id::virtual_machine;
    if (skipped) {
      continue;
    }
    const bool shared = where.shared_group && k.id == kind_id::resource_group;
    making m{
        k,
        companion(plan.machine, k.id),
        [&] { return shared ? shared_group_body(c) : body_of(k.id, plan, base::secret()); },
        shared};
    const bool listed = where.seen && where.seen->count(id_key(m.id.text())) != 0;
    if (shared && listed) {
      continue; // taken as it is
    }
    // Lists do not show subnets; a network made just now has none.
    m.absent = where.seen && !listed && (k.id != kind_id::subnet || new_network);
    auto done = make(c.cloud, c.call, c.who, m);
    if (!done) {
      return std::move(done).error();
    }
    if (k.id == kind_id::resource_group && !done->created) {
      where.seen.reset(); // somebody was faster: nothing in it is known to be absent
    }
    note(facts, k.id, *done);
    new_network = k.id == kind_id::virtual_network ? done->created : new_network;
    c.cloud.info(describe(done->adopted ? "found" : "created", k, m.id));
  }
  return facts;
}

// Only operators with tags of their own depend on them; the agent finds a disk by its name.
base::result<void> tag_what_came_along(const creation& c, const base::json& model) {
  return c.s.tags.empty() ? base::result<void>() : tag_disk(c.cloud, c.call, model, all_tags(c));
}

// A machine of ours that is there already: followed to its end, never touched.
base::result<created> adopt(const creation& c, const resource_id& machine) {
  const kind& k = kind_of(kind_id::virtual_machine);
  const making m{k, machine, {}};
  auto seen = c.cloud.compute().machine(c.call, machine);
  if (!seen) {
    return seen.error();
  }
  if (!*seen) {
    // The list is behind: nobody may create beside a machine that may only be late.
    return make_error(
        reason::busy,
        base::error_code::transient,
        describe("adopt", k, machine) + ": Azure lists it but does not find it; try again later"
    );
  }
  auto settled = take_existing(c.cloud, c.call, c.who, m, std::move(**seen));
  if (!settled) {
    return settled.error();
  }
  auto model = accept_machine(c, machine, std::move(*settled));
  if (!model) {
    return model.error();
  }
  auto facts = read_facts(c.cloud, c.call, machine, std::move(*model));
  if (!facts) {
    return facts.error();
  }
  if (auto tagged = tag_what_came_along(c, facts->model); !tagged) {
    return tagged.error();
  }
  c.cloud.info(describe("adopted", k, machine));
  return created{std::move(*facts), true};
}

struct claim_guard {
  const services& cloud;
  const std::string& resource;

  ~claim_guard() { cloud.names().release_all(resource); }
};

base::result<created> create_at(const creation& c, place where, const image_info& image) {
  const machine_plan plan{c.s, c.order, image, where.machine, all_tags(c)};
  auto known = make_surroundings(c, plan, where);
  if (!known) {
    return std::move(known).error();
  }
  const bool absent = where.seen && where.seen->count(id_key(where.machine.text())) == 0;
  auto model = make_machine(c, plan, absent);
  if (!model) {
    return model.error();
  }
  c.cloud.info(describe("created", kind_of(kind_id::virtual_machine), where.machine));
  known->model = std::move(*model);
  auto facts = complete_facts(c.cloud, c.call, where.machine, std::move(*known));
  if (!facts) {
    return facts.error();
  }
  if (auto tagged = tag_what_came_along(c, facts->model); !tagged) {
    return tagged.error();
  }
  return created{std::move(*facts), false};
}

// Azure's rule counts for groups still to be made: those that exist have passed it.
base::result<void> check_shared_group(const creation& c) {
  const std::string& group = c.s.default_resource_group;
  const std::string objection = objection_to_group_name(group);
  if (!c.s.is_shared_group() || objection.empty()) {
    return {};
  }
  const auto seen = c.cloud.resources().group(c.call, group);
  if (!seen) {
    return seen.error();
  }
  if (*seen) {
    return {};
  }
  return make_error(
      reason::configuration,
      base::error_code::not_ready,
      "backend_settings.default_resource_group '" + group +
          "' does not exist and cannot be made: the name " + objection
  );
}

} // namespace

base::error
failure_of_machine(const services& cloud, const arm::scope& call, const resource_id& id) {
  const std::string what = describe("create", kind_of(kind_id::virtual_machine), id);
  auto view = cloud.compute().instance_view(call, id);
  if (!view) {
    return view.error();
  }
  const failed_status status = failed_status_of(*view);
  arm::error_body body;
  body.status = 200;
  body.nodes.push_back(
      {status.code.empty() ? "ProvisioningFailed" : status.code, status.message, ""}
  );
  return map_error(body, what);
}

base::result<created> create_machine(const creation& c) {
  const claim_guard claims{c.cloud, c.who.value};
  // One query: a group made for this resource that is still empty is found by its name below.
  auto objects = c.cloud.resources().tagged(c.call, c.who.tag, c.who.value);
  if (!objects) {
    return objects.error();
  }
  const belongings found{std::move(*objects), {}};
  const std::vector<resource_id> machines = found.machines();
  if (!machines.empty()) {
    return adopt(c, machines.front());
  }
  const auto image = check_with_azure(c.cloud, c.call, c.s, c.order);
  if (!image) {
    return image.error();
  }
  const rail_check rails{c.cloud, c.s, c.call, c.order, c.who, c.offering_tags};
  for (const auto& checked : {check_price(rails), check_shared_group(c)}) {
    if (!checked) {
      return checked.error();
    }
  }
  const auto slot = take_slot(rails);
  if (!slot) {
    return slot.error();
  }
  auto where = place_of(found, c.s);
  if (!where) {
    auto chosen = choose_place(c.cloud, c.call, c.s, c.who, c.order.name);
    if (!chosen) {
      return chosen.error();
    }
    where = std::move(*chosen);
  }
  if (c.dry_run) {
    return created{
        machine_facts{base::json::object({{"id", where->machine.text()}}), {}, "", ""}, false};
  }
  auto done = create_at(c, std::move(*where), *image);
  return done ? std::move(done) : learn_from(c.cloud, c.order, std::move(done).error());
}

} // namespace siteagent::azure
