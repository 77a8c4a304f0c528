// SPDX-License-Identifier: MIT
// Usage and status of many machines: calls, time and memory, and how they grow.
#include "tests/bench/rig.hpp"

#include "core/base/clock.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace siteagent::bench {

namespace {

struct measured {
  std::size_t calls = 0;
  std::size_t rows = 0;
  double wall_s = 0;
  double peak_mib = 0;
};

double number(const json& value) {
  return std::stod(std::string(value.number_text().value_or("0")));
}

// The names the emulator gives to machines that are seeded by number.
std::string machine_id(int number) {
  std::string digits = std::to_string(number);
  digits.insert(0, 6 - digits.size(), '0');
  return "/subscriptions/" + std::string(integration::subscription) +
         "/resourceGroups/seed-machines/providers/Microsoft.Compute/virtualMachines/vm-" + digits;
}

json request_body(std::int64_t machines) {
  json resources = json::array();
  for (int i = 1; i <= machines; ++i) {
    resources.push_back(json::object({{"uuid", std::to_string(i)}, {"backend_id", machine_id(i)}}));
  }
  const base::month now = base::time_zone().month_of(base::real_clock().wall());
  const json component = json::object({{"unit_factor", "1"}});
  return json::object(
      {{"resources", std::move(resources)},
       {"components", json::object({{"cpu", component}, {"ram", component}, {"disk", component}})},
       {"period", json::object({{"year", now.year}, {"month", now.number}})},
       {"timezone", "UTC"}}
  );
}

// Peak of this program since it was started; what its parent held does not count.
double peak_mib() {
  const std::string status = integration::read_file("/proc/self/status");
  const auto at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::stod(status.substr(at + 6)) / 1024;
}

measured measure(
    const integration::emulator& azure,
    const integration::temp_dir& dir,
    int machines,
    const std::string& operation
) {
  const std::string job = dir.file("job.json");
  const std::string output = dir.file("child.out");
  integration::write_file(
      job,
      json::object({{"url", azure.url()}, {"operation", operation}, {"machines", machines}}).dump()
  );
  const std::size_t before = azure.journal().size();
  integration::process child({"/proc/self/exe", "--child", job}, {}, output);
  const auto code = child.wait(std::chrono::seconds(600));
  const std::string said = child.output();
  const auto line = json::parse(said.substr(said.rfind('{')));
  if (!code || *code != 0 || !line) {
    throw std::runtime_error(operation + ": " + said);
  }
  return {
      azure.journal().size() - before - 1, // the token
      static_cast<std::size_t>((*line)["rows"].integer().value_or(0)),
      number((*line)["wall_s"]),
      number((*line)["peak_mib"])};
}

void print(const std::string& what, int machines, const measured& m) {
  std::printf(
      "%-28s %8d %8zu %8zu %10.2f %10.1f\n",
      what.c_str(),
      machines,
      m.rows,
      m.calls,
      m.wall_s,
      m.peak_mib
  );
}

void print_ratio(const std::string& what, const measured& few, const measured& many) {
  std::printf(
      "%-28s %8s %8s %8.1f %10.1f %10.1f\n",
      (what + ", ratio").c_str(),
      "10",
      "",
      static_cast<double>(many.calls) / static_cast<double>(std::max<std::size_t>(few.calls, 1)),
      many.wall_s / std::max(few.wall_s, 0.001),
      many.peak_mib / std::max(few.peak_mib, 1.0)
  );
}

} // namespace

void bench_lists() {
  std::printf(
      "%-28s %8s %8s %8s %10s %10s\n", "lists", "machines", "rows", "calls", "seconds", "peak MiB"
  );
  std::map<std::string, std::vector<measured>> all;
  for (const int machines : {1'000, 10'000}) {
    const integration::temp_dir dir;
    const integration::emulator azure(
        SITEAGENT_BIN_DIR "/azure-emulator", dir, "azure", {"--timing", "instant"}
    );
    seed(azure, json::object({{"machines", machines}}));
    for (const char* operation : {"report_usage", "pull_resources"}) {
      all[operation].push_back(measure(azure, dir, machines, operation));
      print(operation, machines, all[operation].back());
    }
  }
  for (const auto& [operation, two] : all) {
    print_ratio(operation, two[0], two[1]);
  }
}

int run_list_child(const std::string& job_file) {
  auto job = json::parse(integration::read_file(job_file));
  if (!job) {
    std::fprintf(stderr, "%s\n", job.error().message.c_str());
    return 1;
  }
  const auto instance = open_azure((*job)["url"].string_or(""), 1'000);
  host::call_request request;
  request.body = request_body((*job)["machines"].integer().value_or(0));
  const bool usage = (*job)["operation"].string_or("") == "report_usage";
  const auto start = std::chrono::steady_clock::now();
  const auto rows = instance->call(
      usage ? host::operation::report_usage : host::operation::pull_resources, request
  );
  if (!rows) {
    std::fprintf(stderr, "%s\n", rows.error().message.c_str());
    return 1;
  }
  std::size_t good = 0;
  for (const json& row : *rows) {
    good += row["measured"] == json(true) || row["presence"] == json("present") ? 1U : 0U;
  }
  std::printf(
      "{\"rows\":%zu,\"wall_s\":%.3f,\"peak_mib\":%.1f}\n", good, seconds_since(start), peak_mib()
  );
  return 0;
}

} // namespace siteagent::bench
