// SPDX-License-Identifier: MIT
// stado fleet key: the keys by which the fleet's hosts are reached.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

struct key_options {
  std::string target;
  std::string file;
  bool json = false;
};

base::result<fleet::fleet_keys> open_keys(const invocation& i) {
  const auto p = fleet::profile::load(i.env, i.where);
  if (!p) {
    return p.error();
  }
  auto store = fleet::credential_store::open(*p, i.where);
  if (!store) {
    return std::move(store).error();
  }
  return fleet::fleet_keys(*std::move(store), *i.programs, i.where, i.env, *i.clock);
}

base::json to_json(const fleet::fleet_key& key) {
  return base::json::object(
      {{"item", key.item},
       {"key_type", key.key_type},
       {"fingerprint", key.fingerprint},
       {"public_key", key.public_key}}
  );
}

// `generate` or, with a file, `add`.
int run_store(const invocation& i, const key_options& o) {
  const auto keys = open_keys(i);
  if (!keys) {
    return report_failure(i, keys.error(), o.json);
  }
  const auto key = o.file.empty() ? keys->generate(o.target)
                                  : keys->add(o.target, std::filesystem::absolute(o.file).string());
  if (!key) {
    return report_failure(i, key.error(), o.json);
  }
  if (o.json) {
    print_json(i, to_json(*key));
  } else {
    *i.out << key->item << ' ' << key->fingerprint << '\n' << key->public_key << std::endl;
  }
  return exit_success;
}

int run_list(const invocation& i, const key_options& o) {
  const auto keys = open_keys(i);
  if (!keys) {
    return report_failure(i, keys.error(), o.json);
  }
  const auto list = keys->list();
  if (!list) {
    return report_failure(i, list.error(), o.json);
  }
  if (o.json) {
    base::json all = base::json::array();
    for (const fleet::fleet_key& key : *list) {
      all.push_back(to_json(key));
    }
    print_json(i, base::json::object({{"keys", std::move(all)}}));
    return exit_success;
  }
  for (const fleet::fleet_key& key : *list) {
    *i.out << key.item << '\t' << key.key_type << '\t' << key.fingerprint << '\n';
  }
  if (list->empty()) {
    *i.out << "the credential store holds no fleet key\n";
  }
  i.out->flush();
  return exit_success;
}

int run_remove(const invocation& i, const key_options& o) {
  const auto keys = open_keys(i);
  if (!keys) {
    return report_failure(i, keys.error(), o.json);
  }
  const auto removed = keys->remove(o.target);
  if (!removed) {
    return report_failure(i, removed.error(), o.json);
  }
  const std::string item = fleet::key_item_of(o.target);
  if (o.json) {
    print_json(i, base::json::object({{"item", item}, {"removed", *removed}}));
  } else {
    *i.out << item << (*removed ? " removed" : " was not there") << std::endl;
  }
  return exit_success;
}

// Each of them prints a document, too.
CLI::App&
add(CLI::App& parent,
    chosen_command& chosen,
    const char* name,
    const char* text,
    int (*work)(const invocation&, const key_options&),
    const std::shared_ptr<key_options>& options) {
  CLI::App& sub = add_local_command(parent, chosen, name, text, work, options);
  add_json_flag(sub, options->json);
  return sub;
}

} // namespace

void add_fleet_commands(CLI::App& app, chosen_command& chosen) {
  CLI::App& fleet = *app.add_subcommand("fleet", "The fleet's hosts and their keys");
  fleet.require_subcommand(1);
  CLI::App& key = *fleet.add_subcommand("key", "The keys by which hosts are reached");
  key.require_subcommand(1);
  const auto options = std::make_shared<key_options>();
  const auto target = [&](CLI::App& sub) {
    sub.add_option("TARGET", options->target, "The target's name; it need not be registered")
        ->required();
  };
  target(
      add(key,
          chosen,
          "generate",
          "Make an ed25519 key and store it; replaces the one that is there",
          run_store,
          options)
  );
  CLI::App& added =
      add(key,
          chosen,
          "add",
          "Store a private key that is there already; replaces the stored one",
          run_store,
          options);
  target(added);
  added.add_option("FILE", options->file, "The private key: owner-only, without a passphrase")
      ->required();
  add(key, chosen, "ls", "List the stored keys", run_list, options);
  target(add(key, chosen, "rm", "Remove a stored key", run_remove, options));
  add_fleet_key_check_command(key, chosen);
  add_fleet_enroll_command(fleet, chosen);
}

} // namespace siteagent::app::stado
