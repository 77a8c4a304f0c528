// SPDX-License-Identifier: MIT
#include "core/app/stado/cloud_command.hpp"

#include "core/base/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <ostream>

namespace siteagent::app::stado {

namespace {

constexpr std::size_t most_columns = 100;

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::vector<std::size_t> widths_of(
    const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows
) {
  std::vector<std::size_t> out(header.size());
  const auto measure = [&](const std::vector<std::string>& row) {
    for (std::size_t n = 0; n < row.size(); ++n) {
      out[n] = std::max(out[n], width_of(row[n]));
    }
  };
  measure(header);
  std::for_each(rows.begin(), rows.end(), measure);
  return out;
}

// Cells are printable ASCII as far as they are long: names, places, escaped causes.
void shorten(std::string& cell, std::size_t width) {
  if (width_of(cell) > width) {
    cell = std::string(base::truncated(cell, width - 1)) + "\u2026";
  }
}

std::string positive_number(std::string& text) {
  constexpr std::size_t most_digits = 9;
  const bool is_number =
      !text.empty() && text.size() <= most_digits &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      text.find_first_not_of('0') != std::string::npos;
  return is_number ? std::string() : "'" + text + "' is no whole number of at least 1";
}

} // namespace

void add_cloud_options(CLI::App& command, cloud_options& o) {
  command
      .add_option(
          "--provider", o.provider, "The cloud: the id of an installed plugin that rents hosts"
      )
      ->required()
      ->type_name("PROVIDER");
  command.add_flag("--json", o.json, "Print one JSON document on standard output");
}

void add_positive(
    CLI::App& command, const std::string& name, std::int64_t& value, const std::string& about
) {
  command.add_option(name, value, about)
      ->required()
      ->check(CLI::Validator(positive_number, "", ""))
      ->type_name(name == "--disk-gb" ? "GIB" : "MINUTES");
}

int with_workplace(const invocation& i, bool json, const workplace_function& act) {
  auto parts = open_substrate(i);
  if (!parts) {
    return report_failure(i, parts.error(), json);
  }
  progress talk(json ? *i.err : *i.out, *i.err, i.err_is_terminal, *i.clock);
  fleet::cloud_host::workplace w;
  w.settings = &parts->profile;
  w.registry = &parts->registry;
  w.credentials = &parts->credentials;
  w.keys = parts->keys.get();
  w.hosts = parts->channel.get();
  w.programs = i.programs;
  w.clock = i.clock;
  w.talk = &talk;
  w.where = i.where;
  w.local_hostname = i.local_hostname;
  w.plugins = i.plugins;
  w.stop = i.stop;
  w.give_up = i.give_up;
  return act(w, talk);
}

int with_provider(const invocation& i, const cloud_options& o, const context_function& act) {
  return with_workplace(i, o.json, [&](const fleet::cloud_host::workplace& w, progress& talk) {
    const auto opened = fleet::cloud_host::open_session(w, o.provider);
    if (!opened) {
      talk.finish();
      return report_cloud_failure(i, opened.error(), o.json);
    }
    return act(opened->at, talk);
  });
}

void end_at_first_signal(const invocation& i) {
  if (i.nothing_to_undo) {
    i.nothing_to_undo();
  }
}

int report_cloud_failure(const invocation& i, const base::error& e, bool json) {
  static constexpr std::array<std::string_view, 7> members{
      "step", "projected", "credit", "created", "not_removed", "missing", "released"};
  const base::json detail = fleet::cloud_host::detail_of(e);
  base::json more = base::json::object();
  for (const std::string_view member : members) {
    if (const base::json* found = detail.find(member)) {
      more.set(member, *found);
    }
  }
  return report_failure(i, e, json, more);
}

void print_fitted_table(
    const invocation& i,
    const std::vector<std::string>& header,
    std::vector<std::vector<std::string>> rows,
    const std::vector<narrowing>& narrow
) {
  std::vector<std::size_t> widths = widths_of(header, rows);
  std::size_t total = 2 * (widths.size() - 1);
  for (const std::size_t w : widths) {
    total += w;
  }
  for (const narrowing& n : narrow) {
    const std::size_t least = std::max(n.least, width_of(header[n.column]));
    if (total > most_columns && widths[n.column] > least) {
      const std::size_t cut = std::min(total - most_columns, widths[n.column] - least);
      total -= cut;
      widths[n.column] -= cut;
      for (auto& row : rows) {
        shorten(row[n.column], widths[n.column]);
      }
    }
  }
  print_table(i, header, rows);
}

void print_checks(const invocation& i, const std::vector<fleet::check_line>& checks) {
  for (const fleet::check_line& l : checks) {
    *i.out << (l.ok       ? "  ok    "
               : l.needed ? "  FAIL  "
                          : "  note  ")
           << l.name << (l.detail.empty() ? "" : ": ") << fleet::printable(l.detail, 2000) << '\n';
  }
  i.out->flush();
}

void add_cloud_commands(CLI::App& app, chosen_command& chosen) {
  CLI::App* cloud = app.add_subcommand("cloud", "Rent build hosts from a cloud, and return them");
  cloud->require_subcommand(1);
  CLI::App* host = cloud->add_subcommand("host", "Cloud hosts: create, list, delete, reap");
  host->require_subcommand(1);
  add_cloud_create(*host, chosen);
  add_cloud_list(*host, chosen);
  add_cloud_delete(*host, chosen);
  add_cloud_reap(*host, chosen);
  add_cloud_check(*cloud, chosen);
}

} // namespace siteagent::app::stado
