// SPDX-License-Identifier: MIT
#include "tests/integration/site.hpp"

#include "core/net/url.hpp"

#include <algorithm>
#include <csignal>
#include <stdexcept>

namespace siteagent::integration {

namespace {

net::transport& http() {
  static auto made = net::make_transport({});
  if (!made) {
    throw std::runtime_error(made.error().message);
  }
  return **made;
}

json must(http_answer answer, int expected, const std::string& what) {
  if (answer.status != expected) {
    throw std::runtime_error(
        what + ": HTTP " + std::to_string(answer.status) + " " + answer.body.dump()
    );
  }
  return std::move(answer.body);
}

// Offerings ...0201, ...0202 have plans ...0401, ...0402.
std::string plan_of(std::string_view offering) {
  std::string plan(offering);
  plan.replace(plan.size() - 4, 2, "04");
  return plan;
}

std::string member_text(const json& v, std::string_view key) {
  return v[key].string_or("");
}

} // namespace

http_answer call(
    const std::string& method,
    const std::string& url,
    const json& body,
    std::string_view waldur_token
) {
  net::request r;
  r.method = method;
  r.url = url;
  if (!body.is_null()) {
    r.body = body.dump();
  }
  if (!waldur_token.empty()) {
    r.headers.emplace_back("Authorization", "Token " + std::string(waldur_token));
  }
  const auto answer = http().perform(r);
  if (!answer) {
    throw std::runtime_error(method + " " + url + ": " + answer.error().message);
  }
  const auto parsed = json::parse(answer->body.empty() ? "null" : answer->body);
  return {answer->status, parsed ? *parsed : json(answer->body)};
}

emulator::emulator(
    const std::string& program,
    const temp_dir& dir,
    const std::string& name,
    const std::vector<std::string>& extra
)
    : directory_(dir.file(name)),
      scheme_(
          std::find(extra.begin(), extra.end(), "--tls-auto") == extra.end() ? "http" : "https"
      ) {
  std::filesystem::create_directory(directory_);
  journal_ = directory_ + "/journal.jsonl";
  const std::string port_file = directory_ + "/port";
  std::vector<std::string> arguments = {
      program, "--listen", "127.0.0.1:0", "--port-file", port_file, "--journal", journal_};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  process_ = std::make_unique<process>(arguments, process::environment{}, directory_ + "/output");
  const bool ready = wait_for_change(
      directory_,
      [&] { return std::filesystem::exists(port_file) || !process_->is_running(); },
      std::chrono::seconds(30)
  );
  if (!ready || !std::filesystem::exists(port_file)) {
    throw std::runtime_error(name + " did not start: " + process_->output());
  }
  port_ = std::stoi(read_file(port_file));
}

json emulator::inventory() const {
  return must(call("GET", url() + "/_emu/inventory"), 200, "inventory");
}

void emulator::reset() const {
  must(call("POST", url() + "/_emu/reset", json::object()), 204, "reset");
}

void emulator::seed(const json& document) const {
  must(call("POST", url() + "/_emu/seed", document), 204, "seed");
}

std::vector<journal_line> emulator::journal(std::uintmax_t from) const {
  std::vector<journal_line> lines;
  const std::string text = read_file(journal_, from);
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       start = end + 1, end = text.find('\n', start)) {
    const auto line = json::parse(text.substr(start, end - start));
    if (!line) {
      throw std::runtime_error("journal: " + line.error().message);
    }
    lines.push_back(
        {member_text(*line, "method"),
         member_text(*line, "path"),
         member_text(*line, "query"),
         static_cast<int>((*line)["status"].integer().value_or(-1)),
         !(*line)["fault"].is_null(),
         member_text(*line, "fault")}
    );
  }
  return lines;
}

std::vector<journal_line> emulator::writes() const {
  std::vector<journal_line> out;
  for (journal_line& line : journal()) {
    if (line.is_write() && line.path.find("/oauth2/") == std::string::npos) {
      out.push_back(std::move(line));
    }
  }
  return out;
}

void emulator::set_faults(const json& rules) const {
  const auto answer = call("PUT", url() + "/_emu/faults", json::object({{"rules", rules}}));
  if (answer.status >= 300) {
    throw std::runtime_error("faults: " + answer.body.dump());
  }
}

void emulator::advance_clock(int seconds) const {
  const auto answer = call("POST", url() + "/_emu/clock", json::object({{"advance_s", seconds}}));
  if (answer.status >= 300) {
    throw std::runtime_error("clock: " + answer.body.dump());
  }
}

bool emulator::wait_for_journal(
    const std::function<bool(const journal_line&)>& fits, std::chrono::seconds deadline
) const {
  return wait_for_change(
      directory_,
      [&] {
        for (const journal_line& line : journal()) {
          if (fits(line)) {
            return true;
          }
        }
        return false;
      },
      deadline
  );
}

site::site(site_options options) : plugin_dir_(SITEAGENT_PLUGIN_DIR), options_(std::move(options)) {
  const auto seed_arguments = [&](const std::string& name, const json& seed) {
    std::vector<std::string> out;
    if (!seed.is_null()) {
      const std::string file = dir_.file(name);
      write_file(file, seed.dump());
      out = {"--seed", file};
    }
    return out;
  };
  auto azure_arguments = seed_arguments("azure-seed.json", options_.azure_seed);
  azure_arguments.insert(azure_arguments.end(), {"--timing", "instant"});
  azure_ = std::make_unique<emulator>(
      SITEAGENT_BIN_DIR "/azure-emulator", dir_, "azure", azure_arguments
  );
  auto waldur_arguments = seed_arguments("waldur-seed.json", options_.waldur_seed);
  waldur_arguments.insert(
      waldur_arguments.end(), options_.waldur_arguments.begin(), options_.waldur_arguments.end()
  );
  waldur_ = std::make_unique<emulator>(
      SITEAGENT_BIN_DIR "/waldur-emulator", dir_, "waldur", waldur_arguments
  );
  config_file_ = dir_.file("config.yaml");
  write_config(default_offering_yaml("Azure VM", offering_uuid) + options_.offerings, options_.top);
}

std::string site::default_offering_yaml(
    std::string_view name, std::string_view uuid, std::string_view resource_manager
) const {
  std::string ranges;
  for (const std::string& range : options_.allowed_ssh_ranges) {
    ranges +=
        (ranges.empty() ? "      allowed_ssh_ranges:\n        - " : "        - ") + range + "\n";
  }
  const std::string manager =
      resource_manager.empty() ? azure_->url() : std::string(resource_manager);
  return "  - name: " + std::string(name) + "\n" +                       //
         "    waldur_api_url: " + waldur_->url() + "/api/\n" +           //
         "    waldur_api_token: " + std::string(agent_token) + "\n" +    //
         "    waldur_offering_uuid: " + std::string(uuid) + "\n" +       //
         "    backend_type: azure\n"                                     //
         "    order_processing_backend: azure\n"                         //
         "    reporting_backend: azure\n"                                //
         "    backend_settings:\n"                                       //
         "      subscription_id: 11111111-1111-1111-1111-111111111111\n" //
         "      tenant_id: 22222222-2222-2222-2222-222222222222\n"       //
         "      client_id: 33333333-3333-3333-3333-333333333333\n"       //
         "      client_secret: emulator-secret\n"                        //
         "      cloud:\n"                                                //
         "        resource_manager: " +
         manager + "\n" +                               //
         "        authority: " + azure_->url() + "\n" + //
         "        audience: " + azure_->url() + "\n" +  //
         "        prices: " + azure_->url() + "\n" +    //
         "      polling:\n"                             //
         "        min_ms: 10\n"                         //
         "        max_ms: 100\n"                        //
         "      default_location: westeurope\n"         //
         "      default_size: Standard_B1s\n"           //
         "      default_image: Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest\n" +
         ranges + options_.settings + //
         options_.keys +              //
         "    backend_components:\n"  //
         "      cpu: {measured_unit: Cores, unit_factor: 1, accounting_type: limit, label: CPU}\n"
         "      ram: {measured_unit: MiB, unit_factor: 1, accounting_type: limit, label: RAM}\n"
         "      disk: {measured_unit: MiB, unit_factor: 1, accounting_type: limit, label: Disk}\n";
}

void site::write_config(const std::string& offerings, const std::string& top) const {
  write_file(config_file_, top + "offerings:\n" + offerings);
}

std::string
site::order_machine(const std::string& name, json attributes, std::string_view offering) const {
  attributes.set("name", name);
  if (attributes.find("ssh_public_key") == nullptr && attributes.find("ssh_key") == nullptr) {
    attributes.set("ssh_public_key", ssh_key);
  }
  const json made = must(
      call(
          "POST",
          waldur_->url() + "/api/marketplace-orders/",
          json::object(
              {{"offering",
                waldur_->url() + "/api/marketplace-public-offerings/" + std::string(offering) +
                    "/"},
               {"project", waldur_->url() + "/api/projects/" + std::string(project_uuid) + "/"},
               {"plan",
                waldur_->url() + "/api/marketplace-public-plans/" + plan_of(offering) + "/"},
               {"attributes", std::move(attributes)},
               {"limits", json::object({{"cpu", 1}, {"ram", 1024}, {"disk", 30720}})},
               {"accepting_terms_of_service", true}}
          ),
          staff_token
      ),
      201,
      "order"
  );
  return member_text(made, "uuid");
}

std::string site::terminate(const std::string& resource) const {
  const json made = must(
      call(
          "POST",
          waldur_->url() + "/api/marketplace-resources/" + resource + "/terminate/",
          json::object(),
          staff_token
      ),
      200,
      "terminate"
  );
  return member_text(made, "order_uuid");
}

json site::order(const std::string& uuid) const {
  return must(
      call("GET", waldur_->url() + "/api/marketplace-orders/" + uuid + "/", {}, staff_token),
      200,
      "order"
  );
}

std::string site::order_state(const std::string& uuid) const {
  return member_text(order(uuid), "state");
}

std::string site::resource_of(const std::string& uuid) const {
  return member_text(order(uuid), "marketplace_resource_uuid");
}

json site::resource(const std::string& uuid) const {
  return must(
      call(
          "GET",
          waldur_->url() + "/api/marketplace-provider-resources/" + uuid + "/",
          {},
          staff_token
      ),
      200,
      "resource"
  );
}

void site::cancel(const std::string& order) const {
  must(
      call(
          "POST",
          waldur_->url() + "/api/marketplace-orders/" + order + "/cancel/",
          json::object(),
          staff_token
      ),
      200,
      "cancel"
  );
}

void site::set_paused(const std::string& resource, bool paused) const {
  must(
      call(
          "POST",
          waldur_->url() + "/api/marketplace-resources/" + resource + "/set_paused/",
          json::object({{"paused", paused}}),
          staff_token
      ),
      200,
      "set_paused"
  );
}

void site::set_downscaled(const std::string& resource, bool downscaled) const {
  must(
      call(
          "POST",
          waldur_->url() + "/api/marketplace-resources/" + resource + "/set_downscaled/",
          json::object({{"downscaled", downscaled}}),
          staff_token
      ),
      200,
      "set_downscaled"
  );
}

std::vector<std::string> site::agent_arguments(const std::string& mode, bool once) const {
  std::vector<std::string> out = {
      SITEAGENT_BIN_DIR "/waldur-site-agent",
      "-m",
      mode,
      "-c",
      config_file_,
      "--plugin-dir",
      plugin_dir_};
  if (once) {
    out.emplace_back("--once");
  }
  return out;
}

std::unique_ptr<process>
site::start_agent(const std::string& mode, bool once, const process::environment& extra) const {
  process::environment environment = extra;
  environment.emplace("WALDUR_SITE_AGENT_HEARTBEAT_PATH", dir_.file("heartbeat"));
  environment.emplace("WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES", "0.02");
  return std::make_unique<process>(
      agent_arguments(mode, once),
      environment,
      dir_.file("agent-" + std::to_string(++runs_) + ".log")
  );
}

agent_run site::run_agent(
    const std::string& mode, const process::environment& extra, std::chrono::seconds deadline
) const {
  const auto agent = start_agent(mode, true, extra);
  const auto code = agent->wait(deadline);
  if (!code) {
    throw std::runtime_error("the agent did not end in time: " + agent->output());
  }
  return {*code, agent->output()};
}

agent_run site::run_command(std::vector<std::string> words, const std::string& input) const {
  const std::string name = "command-" + std::to_string(++runs_);
  write_file(dir_.file(name + ".in"), input);
  words.insert(
      words.begin(),
      {"/bin/sh",
       "-c",
       R"(exec "$@" < "$0.in" 2> "$0.err")",
       dir_.file(name),
       SITEAGENT_BIN_DIR "/waldur-site-agent"}
  );
  words.insert(words.end(), {"-c", config_file_, "--plugin-dir", plugin_dir_});
  process command(words, {}, dir_.file(name + ".log"));
  const auto code = command.wait(std::chrono::seconds(120));
  if (!code) {
    throw std::runtime_error("the command did not end in time: " + command.output());
  }
  return {*code, command.output(), read_file(dir_.file(name + ".err"))};
}

http_answer site::call_azure(
    const std::string& method,
    const std::string& path,
    const std::string& api_version,
    const json& body
) const {
  const auto transport = *net::make_transport({});
  net::request login;
  login.method = "POST";
  login.url = azure_->url() + "/22222222-2222-2222-2222-222222222222/oauth2/v2.0/token";
  login.content_type = "application/x-www-form-urlencoded";
  login.body = "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333"
               "&client_secret=emulator-secret&scope=" +
               azure_->url() + "/.default";
  const std::string token =
      json::parse(transport->perform(login)->body)->find("access_token")->string_or("");
  net::request r;
  r.method = method;
  r.url = azure_->url() + path + "?api-version=" + api_version;
  r.headers = {{"Authorization", "Bearer " + token}};
  if (!body.is_null()) {
    r.body = body.dump();
  }
  const auto answer = transport->perform(r);
  if (!answer) {
    throw std::runtime_error(answer.error().message);
  }
  return {answer->status, json::parse(answer->body).value_or(json())};
}

std::size_t site::machine_count() const {
  return azure_->inventory()["virtualMachines"].size();
}

std::vector<std::string> site::cloud_objects() const {
  std::vector<std::string> out;
  const json all = azure_->inventory();
  for (const auto& [kind, objects] : all.members()) {
    for (const json& o : objects.items()) {
      if (o.find("id") != nullptr) {
        out.push_back(kind + " " + o["id"].string_or(""));
      }
    }
  }
  return out;
}

} // namespace siteagent::integration
