// SPDX-License-Identifier: MIT
// plan: what a start of the agent would change. Reads only, on both sides.
#include "core/agent/plan.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/secret.hpp"

#include <iostream>
#include <map>

namespace siteagent::app {

namespace {

using agent::planned_change;

const char* word(planned_change::target t) {
  return t == planned_change::target::waldur ? "waldur" : "cloud";
}

std::string clean(const std::string& text) {
  return base::global_redactor().scrub(text);
}

std::string text_of(const base::json& value) {
  return clean(value.is_string() ? value.string_or("") : value.dump());
}

base::json to_json(const planned_change& c) {
  base::json out = base::json::object({{"on", word(c.where)}, {"action", c.action}});
  for (const auto& [key, value] :
       {std::pair("order", c.order), {"resource", c.resource}, {"name", c.name}}) {
    if (!value.empty()) {
      out.set(key, value);
    }
  }
  out.set("now", c.now);
  out.set("then", c.then);
  return out;
}

void print(const planned_change& c) {
  std::cout << "    " << (c.where == planned_change::target::waldur ? "waldur  " : "cloud   ")
            << c.action;
  if (!c.now.is_null()) {
    std::cout << ": " << text_of(c.now);
  }
  if (!c.then.is_null()) {
    std::cout << (c.now.is_null() ? ": " : " -> ") << text_of(c.then);
  }
  std::cout << '\n';
}

// By resource, in the order in which the agent came to them.
void print(const std::vector<planned_change>& changes) {
  std::vector<std::string> resources;
  std::map<std::string, std::vector<const planned_change*>> by_resource;
  for (const planned_change& c : changes) {
    std::vector<const planned_change*>& list = by_resource[c.resource];
    if (list.empty()) {
      resources.push_back(c.resource);
    }
    list.push_back(&c);
  }
  for (const std::string& r : resources) {
    std::string name;
    std::string order;
    for (const planned_change* c : by_resource[r]) {
      name = name.empty() ? c->name : name;
      order = order.empty() ? c->order : order;
    }
    std::cout << "  resource " << r << (name.empty() ? "" : " (" + clean(name) + ")")
              << (order.empty() ? "" : ", order " + order) << '\n';
    for (const planned_change* c : by_resource[r]) {
      print(*c);
    }
  }
}

} // namespace

int run_plan(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  agent::change_list changes;
  base::json document = base::json::array();
  std::size_t count = 0;
  const auto one = [&](agent::offering_context& offering,
                       agent::portal& waldur,
                       agent::environment& env) {
    const std::unique_ptr<agent::portal> planning = agent::make_planning_portal(waldur, changes);
    const std::vector<base::error> failures = agent::plan_offering(offering, *planning, env);
    const std::vector<planned_change> found = changes.take();
    count += found.size();
    if (line.json) {
      base::json list = base::json::array();
      for (const planned_change& c : found) {
        list.push_back(to_json(c));
      }
      base::json problems = base::json::array();
      for (const base::error& e : failures) {
        problems.push_back(clean(e.message));
      }
      document.push_back(base::json::object(
          {{"offering", offering.config().uuid.hex()},
           {"name", offering.config().name},
           {"changes", std::move(list)},
           {"problems", std::move(problems)}}
      ));
      return failures.empty();
    }
    std::cout << offering.config().name << " (" << offering.config().uuid.hex() << ")\n";
    print(found);
    if (found.empty() && failures.empty()) {
      std::cout << "  nothing to do\n";
    }
    for (const base::error& e : failures) {
      std::cout << "  FAILED  " << clean(e.message) << '\n';
    }
    return failures.empty();
  };
  const auto wrap = [&](std::shared_ptr<agent::backend> cloud) {
    return agent::make_planning_backend(std::move(cloud), changes);
  };
  fine = for_each_offering(*config, line, wrap, one) && fine;
  if (line.json) {
    std::cout << clean(base::json::object({{"offerings", std::move(document)}}).pretty()) << '\n';
  } else {
    std::cout << count << " change(s); nothing was written\n";
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
