// SPDX-License-Identifier: MIT
// stado registry: the document that names the fleet's hosts.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/registry_document.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <iterator>
#include <memory>

namespace siteagent::app::stado {

namespace {

constexpr std::size_t short_generation = 12;

struct registry_options {
  std::string path;
  std::string value;
  std::string file;
  std::string generation;
  bool json = false;
};

base::result<fleet::registry_store> open_store(const invocation& i) {
  const auto p = fleet::profile::load(i.env, i.where);
  if (!p) {
    return p.error();
  }
  return fleet::registry_store::open(*p, i.where, *i.clock);
}

int run_pull(const invocation& i, const registry_options& o) {
  const auto store = open_store(i);
  if (!store) {
    return report_failure(i, store.error(), o.json);
  }
  const auto read = store->read();
  if (!read) {
    return report_failure(i, read.error(), o.json);
  }
  base::result<base::json> value =
      o.path.empty() ? read->document : fleet::get_in_registry(read->document, o.path);
  if (!value) {
    return report_failure(i, value.error(), o.json);
  }
  if (o.json) {
    *i.out << base::json::object({{"location", store->location()},
                                  {"generation", read->generation},
                                  {"path", o.path.empty() ? base::json() : base::json(o.path)},
                                  {"value", *std::move(value)}}
              ).pretty()
           << std::endl;
    return exit_success;
  }
  *i.err << "registry " << store->location() << " generation " << read->generation << std::endl;
  const auto text = value->string();
  *i.out << (text ? std::string(*text) : value->pretty()) << std::endl;
  return exit_success;
}

void report_receipt(
    const invocation& i,
    const fleet::registry_store& store,
    const fleet::registry_receipt& receipt,
    std::string_view verb,
    bool json
) {
  const std::string state = receipt.changed ? std::string(verb) : "unchanged";
  if (!json) {
    *i.out << (receipt.path.empty() ? "the registry" : receipt.path) << ": " << state << " in "
           << store.location() << ", generation " << receipt.generation.substr(0, short_generation)
           << std::endl;
    return;
  }
  base::json document = base::json::object(
      {{"schema", "stado.registry." + std::string(verb) + "/1"},
       {"state", state},
       {"location", store.location()}}
  );
  if (!receipt.path.empty()) {
    document.set("path", receipt.path);
    document.set("previous", receipt.previous);
    document.set("value", receipt.value);
  }
  document.set("read_generation", receipt.read_generation);
  document.set("generation", receipt.generation);
  print_json(i, document);
}

int run_set(const invocation& i, const registry_options& o) {
  const auto store = open_store(i);
  if (!store) {
    return report_failure(i, store.error(), o.json);
  }
  const auto receipt = fleet::set_in_registry(*store, o.path, o.value);
  if (!receipt) {
    return report_failure(i, receipt.error(), o.json);
  }
  report_receipt(i, *store, *receipt, "set", o.json);
  return exit_success;
}

int run_push(const invocation& i, const registry_options& o) {
  const auto store = open_store(i);
  if (!store) {
    return report_failure(i, store.error(), o.json);
  }
  const bool is_input = o.file == "-";
  const auto text =
      is_input
          ? base::result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
          : fleet::read_file(o.file);
  if (!text) {
    return report_failure(i, text.error(), o.json);
  }
  const auto document = fleet::parse_document(is_input ? "standard input" : o.file, *text);
  if (!document) {
    return report_failure(i, document.error(), o.json);
  }
  const auto receipt = fleet::push_registry(
      *store,
      *document,
      o.generation.empty() ? std::nullopt : std::optional<std::string>(o.generation)
  );
  if (!receipt) {
    return report_failure(i, receipt.error(), o.json);
  }
  report_receipt(i, *store, *receipt, "push", o.json);
  return exit_success;
}

int run_validate(const invocation& i, const registry_options& o) {
  std::string file = o.file;
  if (file.empty()) {
    const auto store = open_store(i);
    if (!store) {
      return report_failure(i, store.error(), false);
    }
    file = store->location();
  }
  const auto text = fleet::read_file(file);
  if (!text) {
    return report_failure(i, text.error(), false);
  }
  const auto document = fleet::parse_document(file, *text);
  if (!document) {
    return report_failure(i, document.error(), false);
  }
  if (const auto fault = fleet::validate_registry(*document)) {
    return report_failure(
        i, {base::error_code::invalid, file + ": " + fault->where + " " + fault->rule}, false
    );
  }
  *i.out << file << " is valid" << std::endl;
  return exit_success;
}

} // namespace

void add_registry_commands(CLI::App& app, chosen_command& chosen) {
  CLI::App& registry =
      *app.add_subcommand("registry", "The registry: the document that names the fleet's hosts");
  registry.require_subcommand(1);
  registry.footer(
      "A PATH is dotted, as in targets.build-host.notes; elements of an array are named by their\n"
      "index or their name. A name with dots is reached by its index only.\n"
      "Every write checks the whole document, keeps what this program does not know, and succeeds\n"
      "only when nobody changed the registry meanwhile (else exit status 75)."
  );
  const auto options = std::make_shared<registry_options>();
  const auto path = [&](CLI::App& sub) {
    return sub.add_option("--path", options->path, "The dotted path")->type_name("PATH");
  };
  for (const char* name : {"pull", "show"}) {
    CLI::App& sub =
        add_local_command(registry, chosen, name, "Print the registry", run_pull, options);
    path(sub);
    add_json_flag(sub, options->json);
  }
  CLI::App& get = add_local_command(registry, chosen, "get", "Print one value", run_pull, options);
  path(get)->required();
  add_json_flag(get, options->json);
  CLI::App& set = add_local_command(registry, chosen, "set", "Change one value", run_set, options);
  path(set)->required();
  set.add_option("--value", options->value, "JSON, or else a plain text")
      ->required()
      ->type_name("JSON");
  add_json_flag(set, options->json);
  set.footer("Only the last segment of PATH may be new. A cloud host is returned with stado cloud "
             "host delete, not here.");
  CLI::App& push =
      add_local_command(registry, chosen, "push", "Replace the whole registry", run_push, options);
  push.add_option("FILE", options->file, "The new document; - is standard input")->required();
  push.add_option(
          "--generation",
          options->generation,
          "The generation that pull printed: refuse when the registry was changed since"
  )
      ->type_name("HEX");
  add_json_flag(push, options->json);
  add_local_command(registry, chosen, "validate", "Check the registry", run_validate, options)
      .add_option("PATH", options->file, "Another file than the one in use");
}

} // namespace siteagent::app::stado
