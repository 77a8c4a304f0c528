// SPDX-License-Identifier: MIT
#include "core/app/python_names.hpp"

#include <algorithm>
#include <array>

namespace siteagent::app {

namespace {

using flags = std::vector<std::string_view>;

bool is_mode(std::string_view word) {
  constexpr std::array<std::string_view, 4> modes{
      "order_process", "report", "membership_sync", "event_process"};
  return std::find(modes.begin(), modes.end(), word) != modes.end();
}

// "--conf=x" -> "--config-file=x"; as it is when none or several fit.
std::string completed(std::string_view word, const flags& known) {
  const std::string_view name = word.substr(0, word.find('='));
  if (name.size() < 3 || !name.starts_with("--")) {
    return std::string(word);
  }
  std::string_view only;
  for (const std::string_view flag : known) {
    if (flag == name) {
      return std::string(word);
    }
    if (flag.starts_with(name)) {
      if (!only.empty()) {
        return std::string(word);
      }
      only = flag;
    }
  }
  return only.empty() ? std::string(word)
                      : std::string(only) + std::string(word.substr(name.size()));
}

// How many words from `at` on are a mode that changes nothing; 0: none, or one nobody knows, which
// the command line then refuses.
std::size_t idle_mode(const std::vector<std::string>& words, std::size_t at) {
  const std::string& word = words[at];
  if (word == "-m" || word == "--mode") {
    return at + 1 < words.size() && is_mode(words[at + 1]) ? 2 : 0;
  }
  if (word.starts_with("--mode=")) {
    return is_mode(std::string_view(word).substr(7)) ? 1 : 0;
  }
  return word.starts_with("-m") && is_mode(std::string_view(word).substr(2)) ? 1 : 0;
}

} // namespace

std::span<const python_command> python_commands() {
  static const flags usual{"--mode", "--config-file", "--help"};
  static const std::array<python_command, 9> all{
      python_command{"waldur_site_agent", "", usual},
      python_command{"waldur_site_diagnostics", "diagnose", usual},
      python_command{"waldur_site_load_components", "load-components", usual},
      python_command{
          "waldur_site_healthz",
          "healthz",
          {"--config-file", "--max-age", "--liveness-only", "--heartbeat-path", "--help"}},
      python_command{"waldur_sync_offering_users", "sync-offering-users", usual},
      python_command{"waldur_sync_resource_limits", "sync-resource-limits", usual},
      python_command{"waldur_site_create_homedirs", "create-homedirs", usual},
      python_command{
          "waldur_site_test_order",
          "",
          {},
          "an order against a made-up backend says nothing about a cloud; 'waldur-site-agent "
          "rehearse -c FILE' plays the whole life of a machine on local emulators, 'plan -c FILE' "
          "shows what the real orders would do"},
      python_command{
          "waldur_site_load_historical_usage",
          "load-historical-usage",
          {"--config",
           "--offering-uuid",
           "--user-token",
           "--start-date",
           "--end-date",
           "--skip-user-usage",
           "--no-staff-check",
           "--dry-run",
           "--reconcile-stale",
           "--resource-backend-id",
           "--help"}},
  };
  return all;
}

const python_command* find_python_command(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1); // npos + 1 = 0
  const auto all = python_commands();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const python_command& c) { return c.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string>
own_words(const python_command& as, const std::vector<std::string_view>& words) {
  std::vector<std::string> complete;
  complete.reserve(words.size());
  for (const std::string_view word : words) {
    complete.push_back(completed(word, as.flags));
  }
  if (as.command.empty()) {
    return complete;
  }
  std::vector<std::string> out{std::string(as.command)};
  for (std::size_t i = 0; i < complete.size();) {
    if (const std::size_t idle = idle_mode(complete, i); idle > 0) {
      i += idle;
    } else {
      out.push_back(std::move(complete[i++]));
    }
  }
  return out;
}

} // namespace siteagent::app
