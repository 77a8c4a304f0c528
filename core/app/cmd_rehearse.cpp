// SPDX-License-Identifier: MIT
// rehearse: the life of a machine of each offering on emulators, told as a timeline.
#include "core/app/commands.hpp"
#include "core/app/rehearsal/play.hpp"
#include "core/base/secret.hpp"
#include "core/base/text.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <map>

namespace siteagent::app {

namespace {

std::string clean(const std::string& text) {
  return base::global_redactor().scrub(text);
}

double seconds_since(base::wall_time start, base::wall_time at) {
  return std::chrono::duration<double>(at - start).count();
}

std::string stamp(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%7.2f s", seconds < 0 ? 0.0 : seconds);
  return text.data();
}

// What the agent tells of itself in every pass.
bool is_registration(const exchange& e) {
  return e.path.find("/marketplace-site-agent-") != std::string::npos;
}

void print(const act& a) {
  std::cout << "  " << a.name << '\n';
  std::map<std::string, int> reads;
  for (const exchange& e : a.exchanges) {
    if (e.is_write() && !is_registration(e)) {
      std::cout << "    " << stamp(seconds_since(a.started, e.at)) << "  "
                << (e.side + "      ").substr(0, 7) << ' ' << (e.method + "      ").substr(0, 6)
                << ' ' << e.status << ' ' << clean(e.path) << '\n';
    } else {
      ++reads[e.side + (e.is_write() ? " registrations" : " reads")];
    }
  }
  for (const auto& [what, count] : reads) {
    std::cout << "               " << what << ": " << count << '\n';
  }
  for (const std::string& note : a.notes) {
    std::cout << "             = " << clean(note) << '\n';
  }
}

void print(const performance& p) {
  std::cout << p.name << " (" << p.offering << ")"
            << (p.plugin.empty() ? "" : ": plugin " + p.plugin)
            << (p.emulator.empty() ? "" : " on " + p.emulator) << '\n';
  for (const act& a : p.acts) {
    print(a);
  }
  if (p.usage.size() > 0) {
    std::cout << "  usage in Waldur\n";
    for (const base::json& row : p.usage.items()) {
      std::cout << "    " << row["month"].string_or("") << "  " << row["component"].string_or("")
                << "  "
                << (row["usage"].is_string() ? row["usage"].string_or("") : row["usage"].dump())
                << '\n';
    }
  }
  if (!p.problems.empty()) {
    std::cout << "  problems\n";
  }
  for (const std::string& problem : p.problems) {
    std::cout << "    " << clean(problem) << '\n';
  }
}

base::json texts(const std::vector<std::string>& list) {
  base::json out = base::json::array();
  for (const std::string& text : list) {
    out.push_back(text);
  }
  return out;
}

base::json to_json(const performance& p) {
  base::json acts = base::json::array();
  for (const act& a : p.acts) {
    base::json exchanges = base::json::array();
    for (const exchange& e : a.exchanges) {
      exchanges.push_back(base::json::object(
          {{"time", base::to_rfc3339(e.at, true)},
           {"on", e.side},
           {"method", e.method},
           {"path", e.path},
           {"status", e.status}}
      ));
    }
    acts.push_back(base::json::object(
        {{"name", a.name}, {"calls", std::move(exchanges)}, {"notes", texts(a.notes)}}
    ));
  }
  return base::json::object(
      {{"offering", p.offering},
       {"name", p.name},
       {"plugin", p.plugin},
       {"emulator", p.emulator},
       {"acts", std::move(acts)},
       {"usage", p.usage},
       {"problems", texts(p.problems)}}
  );
}

} // namespace

int run_rehearse(const command_line& line) {
  const base::result<config::agent_config> config = config::load(line.config_file);
  if (!config) {
    std::cerr << config.error().message << '\n';
    return exit_failed;
  }
  const base::result<std::vector<performance>> played = rehearse(*config, line);
  if (!played) {
    std::cerr << "waldur-site-agent: rehearse: " << clean(played.error().message) << '\n';
    return exit_failed;
  }
  std::size_t problems = config->findings.size();
  for (const performance& p : *played) {
    problems += p.problems.size();
  }
  if (line.json) {
    base::json findings = base::json::array();
    for (const config::finding& f : config->findings) {
      findings.push_back(f.text());
    }
    base::json offerings = base::json::array();
    for (const performance& p : *played) {
      offerings.push_back(to_json(p));
    }
    std::cout << clean(base::json::object(
                           {{"findings", std::move(findings)}, {"offerings", std::move(offerings)}}
                 ).pretty())
              << '\n';
  } else {
    for (const config::finding& f : config->findings) {
      std::cout << f.text() << '\n';
    }
    for (const performance& p : *played) {
      print(p);
    }
    std::cout << played->size() << " offering(s) rehearsed on emulators, " << problems
              << " problem(s); the real Waldur and the real cloud were not asked\n";
  }
  if (played->empty()) {
    std::cerr << line.config_file << ": no usable offering to rehearse\n";
  }
  return problems == 0 && !played->empty() ? exit_fine : exit_failed;
}

} // namespace siteagent::app
