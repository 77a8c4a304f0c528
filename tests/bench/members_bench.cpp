// SPDX-License-Identifier: MIT
// A pass of membership_sync of the real agent over many machines: one that has everything to do and
// one that has nothing to do; calls to either side, time and memory.
#include "tests/bench/rig.hpp"

#include "core/base/clock.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace siteagent::bench {

namespace {

// The names the emulator gives to machines that are seeded by number.
std::string machine_id(int number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - digits.size(), '0');
  return "/subscriptions/" + std::string(integration::subscription) +
         "/resourceGroups/seed-machines/providers/Microsoft.Compute/virtualMachines/vm-" + digits;
}

json waldur_seed(int machines) {
  const std::string now = base::to_rfc3339(base::real_clock().wall());
  json resources = json::array();
  for (int i = 1; i <= machines; ++i) {
    resources.push_back(json::object(
        {{"name", "vm " + std::to_string(i)}, {"backend_id", machine_id(i)}, {"last_sync", now}}
    ));
  }
  return json::object({{"resources", std::move(resources)}});
}

// Of the agents that ended so far; the emulators run on.
double peak_mib() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

bool is_about_resources(const integration::journal_line& line) {
  return line.path.find("/marketplace-provider-resources/") != std::string::npos ||
         line.path.find("/marketplace-offering-users/") != std::string::npos;
}

void measure(const integration::site& s, int machines, const char* what) {
  const std::uintmax_t waldur = s.waldur().journal_size();
  const std::uintmax_t azure = s.azure().journal_size();
  const auto start = std::chrono::steady_clock::now();
  const integration::agent_run run =
      s.run_agent("membership_sync", {}, std::chrono::seconds(1'200));
  const double wall = seconds_since(start);
  if (run.exit_code != 0) {
    throw std::runtime_error(run.log);
  }
  std::vector<integration::journal_line> lines = s.waldur().journal(waldur);
  std::erase_if(lines, [](const auto& line) { return !is_about_resources(line); });
  const auto writes =
      std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.is_write(); });
  std::printf(
      "%-28s %8d %8zu %8ld %8zu %10.2f %10.1f\n",
      what,
      machines,
      lines.size() - static_cast<std::size_t>(writes),
      static_cast<long>(writes),
      s.azure().journal(azure).size(),
      wall,
      peak_mib()
  );
}

} // namespace

void bench_members() {
  std::printf(
      "%-28s %8s %8s %8s %8s %10s %10s\n",
      "membership_sync",
      "machines",
      "reads",
      "writes",
      "Azure",
      "seconds",
      "peak MiB"
  );
  std::vector<std::unique_ptr<integration::site>> sites; // kept: see peak_mib
  for (const int machines : {1'000, 5'000}) {
    integration::site_options options;
    options.waldur_seed = waldur_seed(machines);
    sites.push_back(std::make_unique<integration::site>(std::move(options)));
    seed(sites.back()->azure(), json::object({{"machines", machines}}));
    measure(*sites.back(), machines, "everything to do");
    measure(*sites.back(), machines, "nothing to do");
  }
}

} // namespace siteagent::bench
