// SPDX-License-Identifier: MIT
// offering-options: the order form's options, in the shape of the offering's `options` in Waldur,
// ready to paste. What was left out, and why, goes to stderr.
#include "core/app/assemble.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"

#include <iostream>

namespace siteagent::app {

namespace {

using base::json;

// Of describe's members, those that Waldur's form has.
json form_of(const std::vector<json>& options) {
  json order = json::array();
  json fields = json::object();
  for (const json& option : options) {
    const std::string name = option["name"].string_or("");
    json field = json::object();
    for (const char* key : {"type", "label", "required", "choices", "default", "help_text"}) {
      if (const json* value = option.find(key)) {
        field.set(key, *value);
      }
    }
    order.push_back(name);
    fields.set(name, std::move(field));
  }
  return json::object({{"order", std::move(order)}, {"options", std::move(fields)}});
}

void explain(const std::vector<json>& options) {
  for (const json& option : options) {
    const std::string name = option["name"].string_or("");
    for (const json& left : option["left_out"].items()) {
      std::cerr << "  left out of " << name << ": " << left["choice"].string_or("") << ": "
                << left["reason"].string_or("") << '\n';
    }
    const bool is_empty = option.find("choices") != nullptr && option["choices"].size() == 0;
    if (is_empty) {
      std::cerr << "  " << name << ": nothing can be ordered now; see 'diagnose'\n";
    }
  }
}

bool print_form(
    const config::offering& offering, const agent::backend_factory& open, bool compact
) {
  const std::string& id = offering.order_processing_backend;
  std::cerr << offering.name << " (" << offering.uuid.hex() << "), plugin " << id << '\n';
  const base::result<std::shared_ptr<agent::backend>> cloud = open(offering, id);
  if (!cloud) {
    std::cerr << "  " << cloud.error().message << '\n';
    return false;
  }
  host::call_request request;
  request.body = describe_options(offering);
  const base::result<std::vector<json>> options =
      (*cloud)->call(host::operation::describe, request, {});
  if (!options) {
    std::cerr << "  " << options.error().message << '\n';
    return false;
  }
  const json form = form_of(*options);
  std::cout << (compact ? form.dump() : form.pretty()) << std::endl;
  explain(*options);
  return true;
}

} // namespace

int run_offering_options(const command_line& line) {
  bool fine = true;
  const std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  const agent::backend_factory open = make_backends(*config, line.plugin_directories);
  for (const config::offering& offering : config->offerings) {
    if (offering.order_processing_backend.empty()) {
      std::cerr << offering.name << ": its orders are not carried out by this agent; skipped\n";
      continue;
    }
    fine &= print_form(offering, open, line.json);
  }
  return fine ? exit_fine : exit_failed;
}

} // namespace siteagent::app
