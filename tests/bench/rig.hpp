// SPDX-License-Identifier: MIT
// The real plugin, loaded as the agent loads it, on an azure-emulator process.
#pragma once

#include "core/host/instance.hpp"
#include "tests/integration/site.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::bench {

using base::json;

// azure.so with the settings of a rehearsal. `min_ms`: polling.min_ms. Throws when it does not
// load.
std::shared_ptr<host::instance> open_azure(const std::string& emulator_url, int min_ms);

// Seeds a running emulator, however long it takes.
void seed(const integration::emulator& azure, const json& seed);

// Calls to Azure by status, tokens apart.
std::map<int, std::size_t> statuses(const std::vector<integration::journal_line>& journal);

double seconds_since(std::chrono::steady_clock::time_point start);

// The measurements; each prints its part of the table.
void bench_lists();
void bench_creates();
void bench_members();
// In a process of its own, so that its peak is the plugin's and the host's alone: the operation
// named in `job` on the machines named in it; prints {"rows","wall_s","peak_mib"}.
int run_list_child(const std::string& job_file);

} // namespace siteagent::bench
