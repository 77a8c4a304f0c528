// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/play.hpp"

#include "core/app/assemble.hpp"
#include "core/app/rehearsal/player.hpp"
#include "core/app/rehearsal/script.hpp"
#include "core/config/rewrite.hpp"
#include "core/host/instance.hpp"
#include "core/host/plugin.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace siteagent::app {

namespace {

// What the operator should know before the play begins: the schema's word on his settings.
void check_settings(
    performance& p,
    const config::agent_config& config,
    const config::offering& offering,
    const std::string& schema
) {
  const auto own = std::find_if(
      config.offerings.begin(),
      config.offerings.end(),
      [&](const config::offering& o) { return o.uuid == offering.uuid; }
  );
  if (own == config.offerings.end()) {
    return; // the file's findings say why
  }
  host::instance_options options;
  options.offering_name = own->name;
  options.settings = own->backend_settings;
  options.config_file = config.file;
  options.key_path = "backend_settings";
  std::vector<config::finding> findings;
  (void)host::convert_settings(schema, options, findings);
  for (const config::finding& f : findings) {
    p.problems.push_back(f.text());
  }
}

class stage {
public:
  stage(const config::agent_config& config, const command_line& line)
      : config_(config), line_(line) {}

  base::result<std::vector<performance>> play() {
    base::result<std::unique_ptr<scratch_folder>> folder = scratch_folder::make();
    if (!folder) {
      return folder.error();
    }
    folder_ = *std::move(folder);
    base::result<config::value> file = config::read_tree(config_.file);
    if (!file) {
      return file.error();
    }
    auto waldur =
        double_of_a_service::start("waldur-emulator", {}, folder_->file("waldur"), "waldur");
    if (!waldur) {
      return waldur.error();
    }
    waldur_ = *std::move(waldur);
    file_ = on_stage(*std::move(file), waldur_->url());
    // Read again: what was wrong with the real Waldur's address or token is of no account here.
    const base::result<config::agent_config> playing =
        config::parse(config::to_yaml(file_), config_.file);
    if (!playing) {
      return playing.error();
    }
    std::vector<config::offering> offerings = playing->offerings;
    if (const auto wanted = base::uuid::parse(line_.offering); !line_.offering.empty()) {
      std::erase_if(offerings, [&](const config::offering& o) { return o.uuid != wanted; });
    }
    if (auto seeded = waldur_->call("POST", "/_emu/seed", waldur_seed(offerings)); !seeded) {
      return seeded.error();
    }
    std::vector<performance> out;
    for (const config::offering& o : offerings) {
      out.push_back(play_one(o));
    }
    return out;
  }

private:
  performance play_one(const config::offering& o) {
    performance p;
    p.offering = o.uuid.hex();
    p.name = o.name;
    if (base::result<void> done = play_into(p, o); !done) {
      p.problems.push_back(done.error().message);
    }
    return p;
  }

  base::result<void> play_into(performance& p, const config::offering& o) {
    std::vector<rehearsal_rule> rules;
    std::string schema;
    for (const std::string& id : plugins_of(o)) {
      base::result<host::plugin_info> info =
          host::inspect_plugin(id, host::search_path(line_.plugin_directories));
      if (!info) {
        return info.error();
      }
      base::result<rehearsal_rule> rule = read_rule(info->settings_schema(), id);
      if (!rule) {
        return rule.error();
      }
      p.plugin += (p.plugin.empty() ? "" : ", ") + id + " " + info->version;
      check_settings(p, config_, o, info->settings_schema());
      schema = info->settings_schema();
      rules.push_back(*std::move(rule));
    }
    if (rules.empty()) {
      return base::error{
          .code = base::error_code::invalid,
          .message = "every role of this offering is off; there is nothing to rehearse"};
    }
    base::result<double_of_a_service*> cloud = emulator_for(rules, p);
    if (!cloud) {
      return cloud.error();
    }
    const std::string url = *cloud == nullptr ? "" : (*cloud)->url();
    const config::value file = with_only(file_, o.uuid, rules, url, folder_->file(o.uuid.hex()));
    const std::string yaml = config::to_yaml(file);
    if (auto seeded = seed(*cloud, rules, yaml, schema); !seeded) {
      return seeded;
    }
    const std::string config_file = folder_->file(o.uuid.hex() + ".yaml");
    if (auto written = write_private(config_file, yaml); !written) {
      return written;
    }
    play_life(p, o, *folder_, config_file, line_, *waldur_, *cloud);
    return {};
  }

  base::result<double_of_a_service*>
  emulator_for(const std::vector<rehearsal_rule>& rules, performance& p) {
    for (const rehearsal_rule& rule : rules) {
      if (rule.emulator.empty()) {
        continue;
      }
      p.emulator = rule.emulator;
      std::unique_ptr<double_of_a_service>& found = emulators_[rule.emulator];
      if (!found) {
        auto made = double_of_a_service::start(
            rule.emulator, rule.arguments, folder_->file("cloud-" + rule.emulator), "cloud"
        );
        if (!made) {
          return made.error();
        }
        found = *std::move(made);
      }
      return found.get();
    }
    return static_cast<double_of_a_service*>(nullptr);
  }

  base::result<void> seed(
      double_of_a_service* cloud,
      const std::vector<rehearsal_rule>& rules,
      const std::string& yaml,
      const std::string& schema
  ) const {
    const base::result<config::agent_config> playing = config::parse(yaml, config_.file);
    if (!playing || playing->offerings.empty()) {
      return base::error{
          .code = base::error_code::invalid, .message = "the offering cannot be put on the stage"};
    }
    host::instance_options options;
    options.settings = playing->offerings.front().backend_settings;
    std::vector<config::finding> ignored; // told before, with their true positions
    const base::json settings = host::convert_settings(schema, options, ignored).settings;
    for (const rehearsal_rule& rule : rules) {
      if (cloud == nullptr || rule.seed.is_null()) {
        continue;
      }
      const base::json document =
          replaced(replaced(rule.seed, "{emulator}", cloud->url()), "{settings}", settings);
      if (auto done = cloud->call("POST", "/_emu/seed", document); !done) {
        return base::with_context(done.error(), "the emulated cloud");
      }
    }
    return {};
  }

  const config::agent_config& config_;
  const command_line& line_;
  std::unique_ptr<scratch_folder> folder_; // last to go
  config::value file_;
  std::unique_ptr<double_of_a_service> waldur_;
  std::map<std::string, std::unique_ptr<double_of_a_service>> emulators_;
};

} // namespace

base::result<std::vector<performance>>
rehearse(const config::agent_config& config, const command_line& line) {
  return stage(config, line).play();
}

} // namespace siteagent::app
