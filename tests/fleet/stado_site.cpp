// SPDX-License-Identifier: MIT
#include "tests/fleet/stado_site.hpp"

#include "core/base/clock.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace siteagent::fleet::test {

namespace {

using base::json;
using integration::read_file;
using integration::write_file;

json parsed(const std::string& text) {
  auto document = json::parse(text);
  return document ? *std::move(document) : json();
}

} // namespace

json ended::document() const {
  return parsed(out);
}

stado_site::stado_site(std::size_t clouds) : fleet_host("build-host") {
  std::filesystem::create_directories(state("local-storage"));
  json hosts = json::array();
  for (std::size_t i = 0; i < clouds; ++i) {
    waiting.push_back(std::make_unique<machine>("cloud-" + std::to_string(i)));
    const machine& m = *waiting.back();
    hosts.push_back(json::object(
        {{"address", m.address()}, {"port", m.port()}, {"folder", m.ssh_folder().string()}}
    ));
  }
  const json profile = json::object(
      {{"providers", json::array({"null"})},
       {"null",
        json::object(
            {{"state_file", (folder_.path() / "cloud.json").string()},
             {"vm_username", machine::login()},
             {"hosts", hosts},
             {"credit_floor",
              json::object(
                  {{"id", "ruling-12"},
                   {"amount", 500},
                   {"currency", "USD"},
                   {"words", "Never below five hundred."}}
              )}}
        )},
       {"api", json::object({{"url", "http://127.0.0.1:9"}})},
       {"cloud_host",
        json::object(
            {{"limits",
              json::object({{"ssh_up", 60}, {"probe_ms", 50}, {"poll_ms", 10}, {"boot", 60}})}}
        )}}
  );
  write_file(state("config.json"), profile.pretty());
  const json fleet = json::object(
      {{"name", "build-host"},
       {"kind", "local"},
       {"ssh", fleet_host.destination()},
       {"hostnames", json::array()},
       {"release_platform", "linux-amd64"}}
  );
  const json registry = json::object(
      {{"schema_version", 2},
       {"targets", json::array({fleet})},
       {"cloud_hosts", json::object({{"admit_from", json::array({"build-host"})}})}}
  );
  write_file(state("local-storage/registry.json"), registry.pretty() + "\n");
  const ended minted = run({"fleet", "key", "generate", "build-host"});
  const std::size_t key = minted.out.find("ssh-ed25519 ");
  if (minted.code != 0 || key == std::string::npos) {
    throw std::runtime_error("no key for build-host: " + minted.err);
  }
  fleet_host.authorize(minted.out.substr(key, minted.out.find('\n', key) - key));
  // The provider's own credentials.
  json store = parsed(read_file(state("credentials.json")));
  store.set(
      "null-control", json::object({{"account", "a"}, {"secret", std::string(cloud_secret)}})
  );
  write_file(state("credentials.json"), store.pretty());
  std::filesystem::permissions(state("credentials.json"), std::filesystem::perms(0600));
}

stado_site::running::running(const stado_site& site, const std::vector<std::string>& words)
    : folder_(std::make_unique<integration::temp_dir>()) {
  std::vector<std::string> argv{
      "/bin/sh",
      "-c",
      "out=$1; shift; exec \"$@\" >\"$out/out\" 2>\"$out/err\"",
      "sh",
      folder_->path().string(),
      SITEAGENT_BIN_DIR "/stado",
      "--plugin-dir",
      SITEAGENT_PLUGIN_DIR};
  argv.insert(argv.end(), words.begin(), words.end());
  integration::process::environment extra = site.extra;
  extra["HOME"] = site.home();
  process_ = std::make_unique<integration::process>(argv, extra, folder_->file("shell"));
}

bool stado_site::running::wait_for(const std::string& text) const {
  const bool came = integration::wait_for_change(
      folder_->path().string(),
      [&] {
        return read_file(folder_->file("err")).find(text) != std::string::npos ||
               !process_->is_running();
      },
      std::chrono::seconds(60)
  );
  return came && read_file(folder_->file("err")).find(text) != std::string::npos;
}

ended stado_site::running::wait(std::chrono::seconds deadline) {
  ended e;
  e.code = process_->wait(deadline).value_or(-1);
  e.out = read_file(folder_->file("out"));
  e.err = read_file(folder_->file("err"));
  return e;
}

ended stado_site::run(const std::vector<std::string>& words) const {
  return running(*this, words).wait();
}

std::vector<std::string> stado_site::create_words(const std::string& name) {
  return {
      "cloud",
      "host",
      "create",
      name,
      "--provider",
      "null",
      "--location",
      "here",
      "--size",
      "Medium",
      "--disk-gb",
      "64",
      "--idle-minutes",
      "30"};
}

std::string stado_site::registry_bytes() const {
  return read_file(state("local-storage/registry.json"));
}

json stado_site::registry() const {
  return parsed(registry_bytes());
}

json stado_site::cloud() const {
  return parsed(read_file(folder_.file("cloud.json")));
}

void stado_site::set_cloud(const std::string& key, const json& value) {
  json document = cloud();
  if (document.is_null()) {
    document = json::object();
  }
  document.set(key, value);
  write_file(folder_.file("cloud.json"), document.pretty());
}

void stado_site::script(const json& script) {
  set_cloud("script", script);
}

std::vector<std::string> stado_site::objects() const {
  std::vector<std::string> out;
  const json state = cloud();
  for (const auto& [id, object] : state["objects"].members()) {
    if (object.at({"tags", "stado_cloud_host"}).is_string()) {
      out.push_back(id);
    }
  }
  return out;
}

std::vector<std::string> stado_site::calls() const {
  std::vector<std::string> out;
  const std::string log = read_file(folder_.file("cloud.json.calls"));
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = log.find('\n', begin);
    out.push_back(parsed(log.substr(begin, end - begin))["op"].string_or(""));
    begin = end == std::string::npos ? log.size() : end + 1;
  }
  return out;
}

bool stado_site::is_known(const std::string& name) const {
  const json document = registry();
  const auto& targets = document["targets"].items();
  const bool is_target = std::any_of(targets.begin(), targets.end(), [&](const json& t) {
    return t["name"].string() == name;
  });
  return is_target || document["cloud_hosts_creating"].find(name) != nullptr ||
         std::filesystem::exists(state("cloud-hosts/" + name + ".json"));
}

bool stado_site::has_key(const std::string& name) const {
  return read_file(state("credentials.json")).find("\"stado-ssh-" + name + "\"") !=
         std::string::npos;
}

void stado_site::stand_idle(const std::string& name, machine& on, std::chrono::minutes since)
    const {
  std::filesystem::create_directories(on.work() / "runs");
  std::filesystem::permissions(on.work(), std::filesystem::perms(0700));
  std::filesystem::last_write_time(
      on.work() / "runs", std::filesystem::file_time_type::clock::now() - since
  );
  const auto created = base::real_clock().wall() - since - std::chrono::hours(1);
  const ended set = run(
      {"registry",
       "set",
       "--path",
       "targets." + name + ".cloud.created_at",
       "--value",
       json(base::to_rfc3339(created)).dump()}
  );
  if (set.code != 0) {
    throw std::runtime_error(set.err);
  }
}

} // namespace siteagent::fleet::test
