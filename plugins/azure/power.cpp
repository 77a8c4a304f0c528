// SPDX-License-Identifier: MIT
#include "plugins/azure/power.hpp"

#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr unsigned most_actions = 4;
constexpr unsigned most_looks_after = 30; // reads of a state that does not follow the action

std::string_view wanted_state(power_goal goal) {
  return goal == power_goal::running ? "running" : "deallocated";
}

// Azure is on its way; another action would only collide.
bool is_moving(std::string_view power, power_goal goal) {
  if (power == "deallocating" || power == "stopping") {
    return true;
  }
  return power == "starting" && goal == power_goal::running;
}

base::result<void>
act(const services& cloud, const arm::scope& call, const resource_id& machine, power_goal goal) {
  const kind& k = kind_of(kind_id::virtual_machine);
  const std::string action = goal == power_goal::running ? "start" : "deallocate";
  arm::write_request w;
  w.method = "POST";
  w.path = machine.path() + "/" + action + "?api-version=" + std::string(k.api_version);
  w.fresh = true;
  w.what = describe(action, k, machine);
  const std::string what = w.what;
  auto started = checked_write(cloud, call, k, machine, std::move(w));
  if (!started) {
    return std::move(started).error();
  }
  auto done = arm::follow(cloud.arm(), call, *started, following(cloud, k, machine, "post", what));
  if (!done) {
    return std::move(done).error();
  }
  return {};
}

bool is_passing(const base::error& e) {
  const reason why = reason_of(e);
  // "Precondition" although none was set: somebody else's write came between.
  return why == reason::busy || why == reason::superseded || why == reason::ambiguous ||
         why == reason::half_made || why == reason::precondition;
}

base::result<base::json> present(
    const services& cloud, const arm::scope& call, const resource_id& machine, const owner& who
) {
  const kind& k = kind_of(kind_id::virtual_machine);
  for (int look = 0; look < 2; ++look) {
    auto model = cloud.compute().machine(call, machine);
    if (!model) {
      return model.error();
    }
    if (*model && !who.tag.empty() && holder_of(**model, who) == holder::other) {
      return make_error(
          reason::invalid,
          base::error_code::conflict,
          describe("change", k, machine) + ": it carries another resource's tag"
      );
    }
    if (*model) {
      return std::move(**model);
    }
    if (look == 0) {
      if (auto slept = call.wait(cloud.arm().options().floor); !slept) {
        return slept.error();
      }
    }
  }
  return make_error(
      reason::absent,
      base::error_code::not_found,
      describe("change", k, machine) + ": it does not exist; it is not made again"
  );
}

} // namespace

base::result<power_result> bring_to(
    const services& cloud,
    const arm::scope& call,
    const resource_id& machine,
    const owner& who,
    power_goal goal
) {
  const kind& k = kind_of(kind_id::virtual_machine);
  const milliseconds pause =
      std::clamp(k.usual_poll, cloud.arm().options().floor, cloud.arm().options().cap);
  unsigned actions = 0;
  unsigned looks = 0;
  bool acted = false;
  for (;;) {
    auto model = present(cloud, call, machine, who);
    if (!model) {
      return model.error();
    }
    auto view = cloud.compute().instance_view(call, machine);
    if (!view) {
      return view.error();
    }
    const std::string power = power_of((*view)["statuses"]).value_or("");
    if (power == wanted_state(goal)) {
      auto facts = read_facts(cloud, call, machine, std::move(*model));
      if (!facts) {
        return facts.error();
      }
      return power_result{std::move(*facts), actions > 0};
    }
    if (!is_moving(power, goal) && !acted) {
      if (++actions > most_actions) {
        return make_error(
            reason::busy,
            base::error_code::transient,
            describe("change", k, machine) + ": its power state stays '" + power +
                "'; try again later"
        );
      }
      auto done = act(cloud, call, machine, goal);
      if (!done && !is_passing(done.error())) {
        return std::move(done).error();
      }
      acted = done.has_value();
      if (acted) {
        looks = 0;
        continue;
      }
    }
    // The view lags behind the action; after a while the action is taken for lost.
    if (acted && ++looks > most_looks_after) {
      acted = false;
    }
    const auto slept = call.wait(pause);
    if (!slept) {
      return base::error(slept.error());
    }
    if (auto told = call.checkpoint(base::json::object(
            {{"phase", "poll"}, {"verb", "post"}, {"kind", k.name}, {"id", machine.text()}}
        ));
        !told) {
      return told.error();
    }
  }
}

} // namespace siteagent::azure
