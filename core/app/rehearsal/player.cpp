// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/player.hpp"

#include "core/app/rehearsal/script.hpp"
#include "core/base/text.hpp"

#include <algorithm>
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

} // namespace

void play_life(
    performance& p,
    const config::offering& offering,
    const scratch_folder& folder,
    const std::string& config_file,
    const command_line& line,
    double_of_a_service& waldur,
    double_of_a_service* cloud
) {
  player(p, offering, folder, config_file, line, waldur, cloud).play();
}

} // namespace siteagent::app
