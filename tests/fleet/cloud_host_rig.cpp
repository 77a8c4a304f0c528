// SPDX-License-Identifier: MIT
#include "tests/fleet/cloud_host_rig.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace siteagent::fleet::test {

namespace {

constexpr const char* first_registry = R"({
  "schema_version": 2,
  "targets": [
    {
      "name": "build-host",
      "kind": "local",
      "ssh": "builder@192.0.2.9",
      "hostnames": [],
      "release_platform": "linux-amd64",
      "weight": 1.0
    }
  ],
  "cloud_hosts": {
    "admit_from": [
      "build-host"
    ]
  },
  "note": "kept"
}
)";

template <class T>
T must(base::result<T> r) {
  if (!r) {
    throw std::runtime_error(r.error().message);
  }
  return std::move(*r);
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

base::error failure(base::error_code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

void recorder::say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  said.emplace_back(line);
}

void recorder::step(std::string_view what) {
  const std::lock_guard lock(mutex_);
  steps.emplace_back(what);
}

void recorder::waiting(std::string_view what) {
  const std::lock_guard lock(mutex_);
  waits.emplace_back(what);
}

void recorder::warn(std::string_view line) {
  const std::lock_guard lock(mutex_);
  warnings.emplace_back(line);
}

bool recorder::has_warned_of(std::string_view part) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& w) {
    return w.find(part) != std::string::npos;
  });
}

std::filesystem::path folder_channel::home(const std::string& name) {
  const std::filesystem::path home = root_ / name;
  const std::lock_guard lock(mutex_);
  if (!std::filesystem::exists(home)) {
    std::filesystem::create_directories(home / "bin");
    std::filesystem::create_directories(home / ".cargo" / "bin");
    const auto write = [](const std::filesystem::path& file, const std::string& body) {
      std::ofstream(file) << "#!/bin/bash\n" << body << "\n";
      std::filesystem::permissions(file, std::filesystem::perms(0755));
    };
    write(home / "bin/hostname", "echo " + name);
    write(home / "bin/uname", "case \"$1\" in -s) echo Linux;; -m) echo x86_64;; esac");
    write(home / "bin/curl", "echo 198.51.100.4");
    write(
        home / "bin/cloud-init",
        "case \"$*\" in *json*) echo '{\"status\":\"done\",\"errors\":[]}';; *) echo 'status: "
        "done';; esac"
    );
    write(home / "bin/node", "echo v18.19.0");
    write(home / "bin/npm", "echo 9.2.0");
    write(home / ".cargo/bin/rustc", "echo 'rustc 1.80.0 (051478957 2024-07-21)'");
  }
  return home;
}

void folder_channel::shim(
    const std::string& name, const std::string& program, const std::string& body
) {
  const bool is_rust = program == "rustc" || program == "cargo";
  const auto file = home(name) / (is_rust ? ".cargo/bin" : "bin") / program;
  std::ofstream(file) << "#!/bin/bash\n" << body << "\n";
  std::filesystem::permissions(file, std::filesystem::perms(0755));
}

void folder_channel::fail(const std::string& name, base::error e, unsigned times) {
  const std::lock_guard lock(mutex_);
  faults_.insert_or_assign(name, fault{std::move(e), times});
}

void folder_channel::heal(const std::string& name) {
  const std::lock_guard lock(mutex_);
  faults_.erase(name);
}

void folder_channel::before(const std::string& name, std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  hooks_.insert_or_assign(name, std::move(what));
}

std::vector<std::string> folder_channel::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

base::result<remote_answer> folder_channel::run(
    const target& host,
    const std::vector<std::string>& words,
    std::string_view input,
    const channel_options& o
) {
  const std::filesystem::path at = home(host.name);
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(host.name + " " + words.front() + (words.size() > 1 ? " " + words[1] : ""));
    if (const auto found = hooks_.find(host.name); found != hooks_.end()) {
      hook = found->second;
    }
  }
  if (hook) {
    hook();
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = faults_.find(host.name);
        found != faults_.end() && found->second.times > 0) {
      --found->second.times;
      return found->second.error;
    }
  }
  command c;
  c.argv = {
      "/usr/bin/env", "HOME=" + at.string(), "PATH=" + (at / "bin").string() + ":/usr/bin:/bin"};
  c.argv.insert(c.argv.end(), words.begin(), words.end());
  c.input = input.empty() ? o.input : std::string(input);
  c.cap = o.cap;
  const auto done = system_runner().run(c, o.stop);
  if (!done) {
    return done.error();
  }
  return remote_answer{
      .status = done->status, .output = done->output, .error_output = done->error_output};
}

base::result<remote_answer> folder_channel::run_words(
    const target& host, const std::vector<std::string>& words, const channel_options& o
) {
  return run(host, words, {}, o);
}

base::result<remote_answer> folder_channel::run_script(
    const target& host,
    std::string_view script,
    const std::vector<std::string>& parameters,
    const channel_options& o
) {
  std::vector<std::string> words{"/bin/bash", "-s", "--"};
  words.insert(words.end(), parameters.begin(), parameters.end());
  return run(host, words, script, o);
}

base::result<std::string> folder_channel::pinned_host_key(const target& host) {
  return "SHA256:key-of-" + host.name;
}

base::result<void> folder_channel::forget_host_key(std::string_view target_name) {
  const std::lock_guard lock(mutex_);
  forgotten.emplace_back(target_name);
  return {};
}

base::result<channel::transport_words> folder_channel::words_for_copy(const target& host) {
  return failure(base::error_code::unsupported, "no copy to " + host.name);
}

base::result<finished> local_programs::run(const command& c, std::stop_token stop) {
  if (c.argv.front() == "curl") {
    return finished{
        .status = 0, .output = own_address, .error_output = "", .output_was_cut = false};
  }
  if (keygen_fails && c.argv.front() == "ssh-keygen") {
    return failure(base::error_code::not_found, "there is no program ssh-keygen on PATH");
  }
  return system_runner().run(c, stop);
}

fleet_rig::fleet_rig(const fleet_rig* sharing)
    : store(sharing != nullptr ? sharing->store : std::make_shared<integration::temp_dir>()),
      hosts(folder.path() / "hosts"), settings_(must(base::json::parse(R"({
        "providers": ["fake"],
        "fake": {"account": "a", "login": "builder",
                 "credit_floor": {"id": "ruling-12", "amount": 500, "currency": "USD",
                                  "words": "Never below five hundred."}},
        "api": {"url": "http://127.0.0.1:9/"},
        "cloud_host": {"limits": {"ssh_up": 20, "probe_ms": 1, "lock_wait": 20}}})"))) {
  if (sharing == nullptr) {
    integration::write_file(store->file("registry.json"), first_registry);
  }
  set("storage.local.path", base::json(store->path().string()).dump());
}

std::string fleet_rig::profile_file() const {
  return folder.file("config.json");
}

void fleet_rig::set(const std::string& path, const std::string& value) {
  base::json* at = &settings_;
  std::size_t begin = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    at = &at->member_ref(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  if (value.empty()) {
    at->erase(path.substr(begin));
  } else {
    at->set(path.substr(begin), must(base::json::parse(value)));
  }
  integration::write_file(profile_file(), settings_.pretty());
}

cloud_host::context fleet_rig::at() {
  const std::string home = folder.path().string();
  const std::string file = profile_file();
  const environment env = [home, file](std::string_view name) -> std::optional<std::string> {
    if (name == "HOME") {
      return home;
    }
    return name == "STADO_CONFIG" ? std::optional(file) : std::nullopt;
  };
  cloud_host::context c;
  c.where = must(folders::from(env));
  profile_ = must(profile::load(env, c.where));
  registry_ = must(registry_store::open(*profile_, c.where, clock));
  credentials_ = must(credential_store::open(*profile_, c.where));
  keys_.emplace(*credentials_, programs, c.where, env, clock);
  c.settings = &*profile_;
  c.registry = &*registry_;
  c.credentials = &*credentials_;
  c.keys = &*keys_;
  c.hosts = &hosts;
  c.programs = &programs;
  c.clock = &clock;
  c.talk = &talk;
  c.local_hostname = local_hostname;
  c.stop = stop.get_token();
  c.give_up = give_up.get_token();
  c.cloud = &cloud;
  c.bound.login = "builder";
  c.limits = must(limits_of(*profile_));
  return c;
}

cloud_host::create_request fleet_rig::request(const std::string& name) const {
  return {.name = name, .location = "here", .size = "medium", .disk_gb = 64, .idle_minutes = 30};
}

base::result<cloud_host::create_report> fleet_rig::create(const std::string& name) {
  return cloud_host::create(at(), request(name));
}

std::string fleet_rig::registry_bytes() const {
  return text_of(store->file("registry.json"));
}

base::json fleet_rig::registry() const {
  return must(base::json::parse(registry_bytes()));
}

void fleet_rig::edit_registry(const std::function<void(base::json&)>& edit) {
  base::json document = registry();
  edit(document);
  integration::write_file(store->file("registry.json"), document.pretty() + "\n");
}

std::string fleet_rig::credentials_bytes() const {
  return text_of(folder.path() / ".stado/credentials.json");
}

std::optional<target> fleet_rig::find(const std::string& name) const {
  return find_target(registry(), name);
}

bool fleet_rig::has_key(const std::string& name) const {
  return credentials_bytes().find("\"stado-ssh-" + name + "\"") != std::string::npos;
}

bool fleet_rig::is_journaled(const std::string& name) const {
  return std::filesystem::exists(folder.path() / ".stado/cloud-hosts" / (name + ".json"));
}

bool fleet_rig::is_marked(const std::string& name) const {
  return registry()["cloud_hosts_creating"].find(name) != nullptr;
}

void fleet_rig::declare(const std::string& name, const std::string& hourly) {
  const std::string id = "generation-of-" + name;
  fake::machine& m = cloud.machines[name];
  m.name = name;
  m.location = "here";
  m.vm_id = id;
  m.resources = base::json::object({{"machine", "/virtual-machine/" + name}});
  m.tags = base::json::object({{"stado_cloud_host", name}});
  for (const std::string& kind : fake::kinds()) {
    m.objects.push_back({kind, "/" + kind + "/" + name});
  }
  const auto count = registry()["targets"].size();
  edit_registry([&](base::json& document) {
    base::json entry = base::json::object(
        {{"name", name},
         {"kind", "local"},
         {"ssh", "builder@192.0.2." + std::to_string(count + 20)},
         {"hostnames", base::json::array()},
         {"release_platform", "linux-amd64"}}
    );
    entry.set(
        "cloud",
        base::json::object(
            {{"provider", "fake"},
             {"location", "here"},
             {"size", "Medium"},
             {"disk_gb", 64},
             {"hourly_usd", base::json::number(hourly)},
             {"priced_where", "here"},
             {"idle_minutes", 30},
             {"address", "192.0.2." + std::to_string(count + 20)},
             {"vm_id", id},
             {"created_at", base::to_rfc3339(clock.wall())},
             {"resources", m.resources}}
        )
    );
    document.member_ref("targets").push_back(entry);
  });
  must(at().keys->generate(name));
  hosts.home(name);
}

void fleet_rig::stand_idle(const std::string& name, std::chrono::minutes since) {
  const auto runs = hosts.work(name) / "runs";
  std::filesystem::create_directories(runs);
  std::filesystem::permissions(hosts.work(name), std::filesystem::perms(0700));
  std::filesystem::last_write_time(runs, std::filesystem::file_time_type::clock::now() - since);
  // The host is older than that.
  edit_registry([&](base::json& document) {
    for (base::json& t : document.member_ref("targets").items()) {
      if (t["name"].string() == name) {
        t.member_ref("cloud").set(
            "created_at", base::to_rfc3339(clock.wall() - since - std::chrono::hours(1))
        );
      }
    }
  });
}

void fleet_rig::forbid_registry_writes(bool forbid) {
  // Root writes whatever the mode says: a directory in the lock's place stops everybody.
  const auto locks = store->path() / ".locks";
  const auto away = store->path() / ".locks-away";
  std::error_code ignored;
  if (forbid) {
    std::filesystem::rename(locks, away, ignored);
    integration::write_file(locks.string(), "");
  } else {
    std::filesystem::remove(locks, ignored);
    std::filesystem::rename(away, locks, ignored);
  }
}

} // namespace siteagent::fleet::test
