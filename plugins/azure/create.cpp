// SPDX-License-Identifier: MIT
#include "plugins/azure/create.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/bodies.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/password.hpp"
#include "plugins/azure/place.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr std::size_t longest_tag_value = 256;
constexpr unsigned agent_polls = 60; // about ten minutes at the usual pause

// The host's tags, the operator's, and the name the customer chose (the machine's own is a slug).
base::json all_tags(const creation& c) {
  base::json tags = base::json::object();
  for (const auto& [name, value] : c.s.tags) {
    tags.set(name, value);
  }
  tags.set("display-name", base::truncated(c.order.name, longest_tag_value));
  for (const auto& [name, value] : c.tags.members()) {
    tags.set(name, value.string_or(""));
  }
  tags.set(c.who.tag, c.who.value);
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
  // A machine that failed stays failed: trying the same order again finds the same machine.
  if (reason_of(e) == reason::half_made && e.code == base::error_code::transient) {
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

base::result<base::json> make_machine(const creation& c, const machine_plan& plan) {
  const kind& k = kind_of(kind_id::virtual_machine);
  const auto body = [&] {
    base::secret password;
    if (c.s.password_login) {
      password = random_password();
      c.cloud.protect(password.reveal());
    }
    return body_of(kind_id::virtual_machine, plan, password);
  };
  auto machine = make(c.cloud, c.call, c.who, {k, plan.machine, body});
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

// Everything before the machine, in the table's order.
base::result<void>
make_surroundings(const creation& c, const machine_plan& plan, bool shared_group) {
  for (const kind& k : all_kinds()) {
    const bool skipped =
        !k.created || k.id == kind_id::virtual_machine ||
        (k.id == kind_id::network_security_group && c.s.allowed_ssh_ranges.empty());
    if (skipped) {
      continue;
    }
    const bool shared = shared_group && k.id == kind_id::resource_group;
    const making m{
        k,
        companion(plan.machine, k.id),
        [&] { return shared ? shared_group_body(c) : body_of(k.id, plan, base::secret()); },
        shared};
    auto done = make(c.cloud, c.call, c.who, m);
    if (!done) {
      return std::move(done).error();
    }
    c.cloud.info(describe(done->adopted ? "found" : "created", k, m.id));
  }
  return {};
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
  c.cloud.info(describe("adopted", k, machine));
  return created{std::move(*facts), true};
}

struct claim_guard {
  const services& cloud;
  const std::string& resource;

  ~claim_guard() { cloud.names().release_all(resource); }
};

base::result<created> create_at(const creation& c, const place& where, const image_info& image) {
  const machine_plan plan{c.s, c.order, image, where.machine, all_tags(c)};
  if (auto ready = make_surroundings(c, plan, where.shared_group); !ready) {
    return std::move(ready).error();
  }
  auto model = make_machine(c, plan);
  if (!model) {
    return model.error();
  }
  c.cloud.info(describe("created", kind_of(kind_id::virtual_machine), where.machine));
  auto facts = read_facts(c.cloud, c.call, where.machine, std::move(*model));
  if (!facts) {
    return facts.error();
  }
  return created{std::move(*facts), false};
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
  auto found = find_belongings(c.cloud, c.call, c.who);
  if (!found) {
    return found.error();
  }
  const std::vector<resource_id> machines = found->machines();
  if (!machines.empty()) {
    return adopt(c, machines.front());
  }
  const auto image = check_with_azure(c.cloud, c.call, c.order);
  if (!image) {
    return image.error();
  }
  auto where = place_of(*found, c.s);
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
  return create_at(c, *where, *image);
}

} // namespace siteagent::azure
