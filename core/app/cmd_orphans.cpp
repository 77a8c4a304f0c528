// SPDX-License-Identifier: MIT
// orphans: tagged objects with nothing live in Waldur behind them, and resources without a
// machine. Deletes only with --delete, and only what is asked back by its exact id.
#include "core/agent/orphans.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/decimal.hpp"
#include "core/base/secret.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

namespace siteagent::app {

namespace {

using agent::orphan_object;

base::json to_json(const orphan_object& o) {
  base::json out = base::json::object(
      {{"id", o.id}, {"kind", o.kind}, {"why", o.why}, {"deletable", o.why_not.empty()}}
  );
  if (o.resource) {
    out.set("resource", o.resource->hex());
  }
  if (o.created) {
    out.set("created_at", base::to_rfc3339(*o.created));
  }
  if (!o.price_month.empty()) {
    out.set("price_month", base::json::number(o.price_month)).set("currency", o.currency);
  }
  if (!o.why_not.empty()) {
    out.set("why_not", o.why_not);
  }
  return out;
}

base::json to_json(const agent::orphan_report& report) {
  base::json objects = base::json::array();
  for (const orphan_object& o : report.objects) {
    objects.push_back(to_json(o));
  }
  base::json missing = base::json::array();
  for (const agent::missing_machine& m : report.missing) {
    missing.push_back(base::json::object(
        {{"resource", m.resource.hex()},
         {"name", m.name},
         {"state", m.state},
         {"backend_id", m.backend_id}}
    ));
  }
  return base::json::object({{"objects", std::move(objects)}, {"missing", std::move(missing)}});
}

// The sum per currency, and how many objects have no price.
std::string total_of(const std::vector<orphan_object>& objects) {
  std::map<std::string, base::decimal> sums;
  std::size_t unknown = 0;
  for (const orphan_object& o : objects) {
    const auto price = base::decimal::parse(o.price_month);
    const auto sum = price ? sums[o.currency].plus(*price) : std::nullopt;
    if (sum) {
      sums[o.currency] = *sum;
    } else {
      ++unknown;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [currency, sum] : sums) {
    parts.push_back(sum.to_fixed(2) + " " + currency + " a month");
  }
  if (unknown > 0) {
    parts.push_back(std::to_string(unknown) + " of unknown price");
  }
  return base::join(parts, ", ");
}

void print(const agent::orphan_report& report) {
  for (const orphan_object& o : report.objects) {
    std::cout << "  " << o.kind << ' ' << o.id << "\n      " << o.why;
    if (o.created) {
      std::cout << "; created " << base::to_rfc3339(*o.created);
    }
    std::cout << "; "
              << (o.price_month.empty() ? "price unknown"
                                        : o.price_month + " " + o.currency + " a month")
              << (o.why_not.empty() ? "" : "; not deletable: " + o.why_not) << '\n';
  }
  for (const agent::missing_machine& m : report.missing) {
    std::cout << "  resource " << m.resource.hex() << " (" << m.name << ") is " << m.state
              << " and has no machine: " << m.backend_id << '\n';
  }
  if (report.objects.empty() && report.missing.empty()) {
    std::cout << "  none\n";
  } else if (!report.objects.empty()) {
    std::cout << "  " << report.objects.size() << " object(s): " << total_of(report.objects)
              << '\n';
  }
}

// What the operator typed and may go, in the report's order. `line_ok` false: something else was
// typed too.
std::vector<orphan_object>
ask_back(const std::vector<orphan_object>& objects, std::istream& in, bool& all_known) {
  std::vector<orphan_object> deletable;
  for (const orphan_object& o : objects) {
    if (o.why_not.empty()) {
      deletable.push_back(o);
    }
  }
  if (deletable.empty()) {
    std::cerr << "nothing that may be deleted\n";
    return {};
  }
  std::cerr << "Type the exact ids to delete, one a line, then an empty line:\n";
  std::set<std::string> typed;
  for (std::string line; std::getline(in, line) && !base::trim(line).empty();) {
    const std::string id(base::trim(line));
    const bool known = std::any_of(deletable.begin(), deletable.end(), [&](const orphan_object& o) {
      return o.id == id;
    });
    if (known) {
      typed.insert(id);
    } else {
      std::cerr << "not an id of this list, or not deletable: " << id << '\n';
      all_known = false;
    }
  }
  std::erase_if(deletable, [&](const orphan_object& o) { return !typed.contains(o.id); });
  return deletable;
}

// One line per chosen object. false: something stayed.
bool remove(
    agent::offering_context& offering,
    agent::portal& waldur,
    agent::environment& env,
    const std::vector<orphan_object>& objects,
    base::json& document
) {
  bool fine = true;
  const std::vector<orphan_object> chosen = ask_back(objects, std::cin, fine);
  if (chosen.empty()) {
    return fine;
  }
  const base::result<std::vector<agent::deletion>> done =
      agent::delete_orphans(offering, waldur, env, chosen);
  if (!done) {
    std::cerr << done.error().message << '\n';
    return false;
  }
  base::json list = base::json::array();
  for (const agent::deletion& d : *done) {
    std::cerr << (d.failure ? "  FAILED   " : "  deleted  ") << d.id
              << (d.failure ? ": " + base::global_redactor().scrub(d.failure->message) : "")
              << '\n';
    list.push_back(base::json::object({{"id", d.id}, {"deleted", !d.failure}}));
    fine = fine && !d.failure;
  }
  document.set("deletions", std::move(list));
  return fine;
}

} // namespace

int run_orphans(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  base::json offerings = base::json::array();
  const auto one = [&](agent::offering_context& offering,
                       agent::portal& waldur,
                       agent::environment& env) {
    const std::string& name = offering.config().name;
    if (offering.config().order_processing_backend.empty()) {
      std::cerr << "offering '" << name << "': no order processing here, so nothing is ours\n";
      return true;
    }
    const base::result<agent::orphan_report> report = find_orphans(offering, waldur, env);
    if (!report) {
      std::cerr << "offering '" << name
                << "': " << base::global_redactor().scrub(report.error().message) << '\n';
      return false;
    }
    base::json document = to_json(*report);
    if (!line.json) {
      std::cout << name << " (" << offering.config().uuid.hex() << ")\n";
      print(*report);
      std::cout.flush();
    }
    const bool removed = !line.remove || remove(offering, waldur, env, report->objects, document);
    document.set("offering", offering.config().uuid.hex()).set("name", name);
    offerings.push_back(std::move(document));
    return removed;
  };
  fine = for_each_offering(*config, line, {}, one) && fine;
  if (line.json) {
    std::cout << base::json::object({{"offerings", std::move(offerings)}}).pretty() << '\n';
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
