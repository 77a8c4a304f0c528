// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/play.hpp"

#include "core/app/assemble.hpp"
#include "core/app/rehearsal/script.hpp"
#include "core/base/text.hpp"
#include "core/config/rewrite.hpp"
#include "core/host/instance.hpp"
#include "core/host/plugin.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

namespace siteagent::app {

namespace {

constexpr std::chrono::minutes longest_run{15};
constexpr int most_runs = 3; // of one order
// The emulated Waldur's documented defaults.
constexpr std::string_view staff_token = "e2e0000000000000000000000000token002";
constexpr std::string_view project = "e2ef0000000000000000000000000301";
// Well-formed; nobody has the private half.
constexpr const char* public_key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAUMExohKC82PURLUllgZ251fIOKkZifpq20u8LJ0Nfe rehearsal";

std::set<std::string> objects_in(const base::json& inventory) {
  std::set<std::string> out;
  for (const auto& [kind, objects] : inventory.members()) {
    const base::json& list = objects;
    for (const base::json& o : list.is_array() ? list.items() : std::vector<base::json>()) {
      out.insert(o["id"].string_or(kind + " " + o["name"].string_or("")));
    }
  }
  return out;
}

bool is_over(const std::string& state) {
  return state == "done" || state == "erred" || state == "rejected" || state == "canceled";
}

// One offering on the stage.
class player {
public:
  player(
      performance& p,
      const config::offering& offering,
      const scratch_folder& folder,
      std::string config_file,
      const command_line& line,
      double_of_a_service& waldur,
      double_of_a_service* cloud
  )
      : p_(p), offering_(offering), folder_(folder), config_file_(std::move(config_file)),
        line_(line), waldur_(waldur), cloud_(cloud) {}

  void play() {
    const std::set<std::string> before = inventory();
    skip_journals();
    if (create()) {
      measure();
      power("pause", true);
      power("restore", false);
      terminate();
    }
    for (const std::string& id : inventory()) {
      if (!before.contains(id)) {
        problem("left behind in the cloud: " + id);
      }
    }
  }

private:
  void problem(std::string text) {
    if (std::find(p_.problems.begin(), p_.problems.end(), text) == p_.problems.end()) {
      p_.problems.push_back(std::move(text));
    }
  }

  // The body, or null and a problem.
  base::json portal(const char* method, const std::string& path, const base::json& body = {}) {
    base::result<base::json> answer = waldur_.call(method, path, body, staff_token);
    if (!answer) {
      problem("the emulated Waldur: " + answer.error().message);
      return {};
    }
    return *std::move(answer);
  }

  std::set<std::string> inventory() {
    if (cloud_ == nullptr) {
      return {};
    }
    const base::result<base::json> all = cloud_->call("GET", "/_emu/inventory");
    return all ? objects_in(*all) : std::set<std::string>();
  }

  void skip_journals() {
    (void)waldur_.take_journal();
    if (cloud_ != nullptr) {
      (void)cloud_->take_journal();
    }
  }

  act& begin(const char* name) {
    p_.acts.push_back({name, {}, base::real_clock().wall(), {}});
    return p_.acts.back();
  }

  void end(act& a) {
    a.exchanges = waldur_.take_journal();
    if (cloud_ != nullptr) {
      const std::vector<exchange> more = cloud_->take_journal();
      a.exchanges.insert(a.exchanges.end(), more.begin(), more.end());
    }
    std::stable_sort(
        a.exchanges.begin(),
        a.exchanges.end(),
        [](const exchange& x, const exchange& y) { return x.at < y.at; }
    );
  }

  // One pass of every mode by this very program.
  void run_agent(const act& a) {
    const std::string output = folder_.file("agent-" + std::to_string(++runs_) + ".log");
    std::error_code ignored;
    std::vector<std::string> words = {
        std::filesystem::read_symlink("/proc/self/exe", ignored).string(),
        "-m",
        "all",
        "--once",
        "-c",
        config_file_};
    for (const std::string& directory : line_.plugin_directories) {
      words.insert(words.end(), {"--plugin-dir", directory});
    }
    base::result<child> agent = child::start(
        words,
        {"WALDUR_SITE_AGENT_",
         "HTTP_PROXY=",
         "HTTPS_PROXY=",
         "ALL_PROXY=",
         "http_proxy=",
         "https_proxy=",
         "all_proxy="},
        {"WALDUR_SITE_AGENT_HEARTBEAT_PATH=" + folder_.file("heartbeat")},
        output
    );
    if (!agent) {
      problem(agent.error().message);
      return;
    }
    const std::optional<int> code = agent->wait(longest_run);
    if (!code) {
      problem(a.name + ": the agent did not end within 15 minutes");
    } else if (*code != 0) {
      problem(a.name + ": the agent ended with exit code " + std::to_string(*code));
    }
    read_log(a, output);
  }

  void read_log(const act& a, const std::string& file) {
    const std::string log = read_all(file);
    for (const std::string_view line : base::split(log, '\n')) {
      const base::result<base::json> entry = base::json::parse(line);
      if (!entry || !entry->is_object()) {
        if (!base::trim(line).empty()) {
          problem(a.name + ": " + std::string(line));
        }
        continue;
      }
      const std::string level = base::to_lower((*entry)["level"].string_or(""));
      if (level == "warning" || level == "error" || level == "critical") {
        const std::string why = (*entry)["error"].string_or("");
        const std::string said = (*entry)["event"].string_or("") + (why.empty() ? "" : ": " + why);
        if (said_.insert(said).second) { // each pass says it again
          problem(a.name + ": " + said);
        }
      }
    }
  }

  // true: done.
  bool run_until_over(act& a, const std::string& order) {
    base::json shown;
    for (int i = 0; i < most_runs; ++i) {
      run_agent(a);
      shown = portal("GET", "/api/marketplace-orders/" + order + "/");
      if (is_over(shown["state"].string_or(""))) {
        break;
      }
    }
    const std::string state = shown["state"].string_or("unknown");
    std::string text = "order " + state;
    for (const char* key : {"error_message", "provider_rejection_comment"}) {
      if (const std::string told = shown[key].string_or(""); !told.empty()) {
        text += ": " + told;
      }
    }
    a.notes.push_back(text);
    if (state != "done") {
      problem(a.name + ": the customer's " + text);
    }
    return state == "done";
  }

  bool create() {
    act& a = begin("create");
    const std::string offering = offering_.uuid.hex();
    const std::string path = "/api/marketplace-public-offerings/" + offering + "/";
    const base::json shown = portal("GET", path);
    const base::json plan = shown["plans"].is_array() && shown["plans"].size() > 0
                                ? shown["plans"][0]["url"]
                                : base::json();
    const base::json made = portal(
        "POST",
        "/api/marketplace-orders/",
        base::json::object(
            {{"offering", waldur_.url() + path},
             {"project", waldur_.url() + "/api/projects/" + std::string(project) + "/"},
             {"plan", plan},
             {"attributes",
              base::json::object({{"name", "rehearsal"}, {"ssh_public_key", public_key}})},
             {"limits", order_limits(offering_)},
             {"accepting_terms_of_service", true}}
        )
    );
    const std::string order = made["uuid"].string_or("");
    if (order.empty()) {
      end(a);
      return false;
    }
    const bool done = run_until_over(a, order);
    resource_ = portal("GET", "/api/marketplace-orders/" + order + "/")["marketplace_resource_uuid"]
                    .string_or("");
    end(a);
    describe_resource(a);
    return done;
  }

  void describe_resource(act& a) {
    const base::json r = portal("GET", "/api/marketplace-provider-resources/" + resource_ + "/");
    a.notes.push_back(
        "resource " + r["state"].string_or("") + ", " + r["backend_id"].string_or("")
    );
    a.notes.push_back("limits " + r["limits"].dump());
    if (r["backend_metadata"].is_object() && r["backend_metadata"].size() > 0) {
      a.notes.push_back("metadata " + r["backend_metadata"].dump());
    }
    const base::json& endpoints = r["endpoints"];
    for (const base::json& e :
         endpoints.is_array() ? endpoints.items() : std::vector<base::json>()) {
      a.notes.push_back("endpoint " + e["name"].string_or("") + " " + e["url"].string_or(""));
    }
  }

  // The single pass after the order has metered the machine, if that role is on.
  void measure() {
    const base::json rows =
        portal("GET", "/api/marketplace-component-usages/?resource_uuid=" + resource_);
    for (const base::json& row : rows.is_array() ? rows.items() : std::vector<base::json>()) {
      p_.usage.push_back(base::json::object(
          {{"month", row["billing_period"].string_or("").substr(0, 7)},
           {"component", row["type"]},
           {"usage", row["usage"]}}
      ));
    }
    act& a = begin("report");
    end(a);
    if (offering_.reporting_backend.empty()) {
      a.notes.emplace_back("reporting_backend is off: no usage is reported");
    } else if (p_.usage.size() == 0) {
      problem("report: no usage row reached Waldur");
    }
  }

  void power(const char* name, bool paused) {
    act& a = begin(name);
    portal(
        "POST",
        "/api/marketplace-resources/" + resource_ + "/set_paused/",
        base::json::object({{"paused", paused}})
    );
    run_agent(a);
    end(a);
    const bool acted = std::any_of(a.exchanges.begin(), a.exchanges.end(), [](const exchange& e) {
      return e.side == "cloud" && e.is_write() && e.path.find("/oauth2/") == std::string::npos;
    });
    if (offering_.membership_sync_backend.empty()) {
      a.notes.emplace_back("membership_sync_backend is off: nobody follows the portal's switch");
      problem(std::string(name) + ": membership_sync_backend is off, the machine stays as it is");
    } else if (cloud_ != nullptr && !acted) {
      problem(std::string(name) + ": nothing was changed in the cloud");
    }
  }

  void terminate() {
    act& a = begin("terminate");
    const base::json made = portal(
        "POST", "/api/marketplace-resources/" + resource_ + "/terminate/", base::json::object()
    );
    const std::string order = made["order_uuid"].string_or("");
    if (!order.empty()) {
      run_until_over(a, order);
    }
    end(a);
  }

  performance& p_;
  const config::offering& offering_;
  const scratch_folder& folder_;
  const std::string config_file_;
  const command_line& line_;
  double_of_a_service& waldur_;
  double_of_a_service* cloud_;
  std::string resource_;
  std::set<std::string> said_;
  int runs_ = 0;
};

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
      base::result<rehearsal_rule> rule = read_rule(info->settings_schema, id);
      if (!rule) {
        return rule.error();
      }
      p.plugin += (p.plugin.empty() ? "" : ", ") + id + " " + info->version;
      check_settings(p, config_, o, info->settings_schema);
      schema = info->settings_schema;
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
    player(p, o, *folder_, config_file, line_, *waldur_, *cloud).play();
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
