// SPDX-License-Identifier: MIT
// What the subcommands of `stado cloud` have in common.
#pragma once

#include "core/app/stado/command.hpp"
#include "core/app/stado/progress.hpp"
#include "core/fleet/cloud_host/context.hpp"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace siteagent::app::stado {

// --provider and --json, as every one of them has.
struct cloud_options {
  std::string provider;
  bool json = false;
};

void add_cloud_options(CLI::App& command, cloud_options& o);
// A required option of decimal digits, at least 1.
void add_positive(
    CLI::App& command, const std::string& name, std::int64_t& value, const std::string& about
);

// Opens profile, registry, keys and channel and runs `act`; failures are reported.
using workplace_function =
    std::function<int(const fleet::cloud_host::workplace& w, progress& talk)>;
int with_workplace(const invocation& i, bool json, const workplace_function& act);
// And the provider, after the verbs' common preconditions.
using context_function = std::function<int(const fleet::cloud_host::context& c, progress& talk)>;
int with_provider(const invocation& i, const cloud_options& o, const context_function& act);

// Of commands that only read: a provider's reading calls cannot be stopped half way.
void end_at_first_signal(const invocation& i);

// report_failure with the members of the error's detail that belong to the document.
int report_cloud_failure(const invocation& i, const base::error& e, bool json);

// A table of at most 100 columns: cells give way in the order of `narrow`, down to its widths.
struct narrowing {
  std::size_t column;
  std::size_t least;
};

void print_fitted_table(
    const invocation& i,
    const std::vector<std::string>& header,
    std::vector<std::vector<std::string>> rows,
    const std::vector<narrowing>& narrow
);
// "  ok   name: detail", "  FAIL", "  note" for what is not needed.
void print_checks(const invocation& i, const std::vector<fleet::check_line>& checks);

// One file each.
void add_cloud_create(CLI::App& host, chosen_command& chosen);
void add_cloud_list(CLI::App& host, chosen_command& chosen);
void add_cloud_delete(CLI::App& host, chosen_command& chosen);
void add_cloud_reap(CLI::App& host, chosen_command& chosen);
void add_cloud_check(CLI::App& cloud, chosen_command& chosen);

} // namespace siteagent::app::stado
