// SPDX-License-Identifier: MIT
// The null plugin: a cloud that exists only in memory or in one file. The smallest honest example
// of a resource backend: it tags what it makes, finds and adopts it again, reads before it writes
// and tells the host about every write.
#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "plugins/null/cloud_host/provider.hpp"
#include "plugins/null/script.hpp"
#include "plugins/null/settings.hpp"
#include "plugins/null/store.hpp"

#include <sagent/cpp/plugin.hpp>

#include <optional>
#include <string>
#include <vector>

namespace siteagent::null {

namespace {

using base::json;

json parse(std::string_view text) {
  auto parsed = json::parse(text);
  if (!parsed) {
    throw sagent::failure(SAGENT_E_INVALID, "the request is no JSON: " + parsed.error().message);
  }
  return std::move(*parsed);
}

// A copy of the resource, or nothing.
std::optional<resource> find(store& s, const std::string& uuid) {
  std::optional<resource> found;
  s.look([&](const resources& all) {
    if (const auto at = all.find(uuid); at != all.end()) {
      found = at->second;
    }
  });
  return found;
}

struct target {
  std::string uuid;
  bool is_disk = false;
};

// "null:<uuid>" or "null:<uuid>/disk".
target parse_target(std::string_view id) {
  static constexpr std::string_view prefix = "null:";
  static constexpr std::string_view disk = "/disk";
  if (id.substr(0, prefix.size()) != prefix) {
    throw sagent::failure(
        SAGENT_E_INVALID, "'" + std::string(id) + "' is no id of this plugin (null:<uuid>)"
    );
  }
  id.remove_prefix(prefix.size());
  const bool is_disk = id.size() > disk.size() && id.substr(id.size() - disk.size()) == disk;
  if (is_disk) {
    id.remove_suffix(disk.size());
  }
  return {std::string(id), is_disk};
}

bool carries(const resource& r, const json& tags) {
  for (const auto& [name, value] : tags.members()) {
    if (r.tags[name].string_or("") != value.string_or("")) {
      return false;
    }
  }
  return true;
}

json described(const resource& r) {
  return json::object({{"power_state", r.power}, {"created_at", r.created_at}});
}

} // namespace

class null_backend final : public sagent::resource_backend {
public:
  null_backend(sagent::host host, const sagent::request& settings)
      : null_backend(host, parse(settings.body)) {}

  static const char* settings_schema() { return null::settings_schema; }

  static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;

  void ping(sagent::call& call, const sagent::request&) override {
    const script::run run(script_, "ping", call);
    if (!token_.empty()) {
      (void)host_.read_secret(token_); // afresh: a rotated one is noticed
    }
    store_.look([](const resources&) {});
    run.finish();
  }

  void evaluate_order(sagent::call& call, const sagent::request& request) override {
    const script::run run(script_, "evaluate_order", call);
    const json body = parse(request.body);
    const json& attributes = body.at({"order", "attributes"});
    json answer = json::object({{"decision", "accept"}});
    for (const char* decision : {"reject", "wait"}) {
      if (!attributes[decision].is_null()) {
        answer = json::object(
            {{"decision", decision},
             {"reason", attributes[decision].string_or("as the order's attributes ask for")}}
        );
        break;
      }
    }
    call.emit(answer.dump());
    run.finish();
  }

  void create_resource(sagent::call& call, const sagent::request& request) override;
  void delete_resource(sagent::call& call, const sagent::request& request) override;

  void pause(sagent::call& call, const sagent::request& request) override {
    set_power("pause", "deallocated", call, request);
  }

  void downscale(sagent::call& call, const sagent::request& request) override {
    set_power("downscale", "deallocated", call, request);
  }

  void restore(sagent::call& call, const sagent::request& request) override {
    set_power("restore", "running", call, request);
  }

  void pull_resources(sagent::call& call, const sagent::request& request) override;
  void report_usage(sagent::call& call, const sagent::request& request) override;
  void list_resources(sagent::call& call, const sagent::request& request) override;
  void set_resource_limits(sagent::call& call, const sagent::request& request) override;

  void diagnostics(sagent::call& call, const sagent::request&) override {
    const script::run run(script_, "diagnostics", call);
    std::size_t count = 0;
    store_.look([&count](const resources& all) { count = all.size(); });
    call.emit(json::object({{"name", "state"},
                            {"ok", true},
                            {"detail", std::to_string(count) + " resources"}}
    ).dump());
    run.finish();
  }

  void add_members(sagent::call& call, const sagent::request& request) override {
    change_users("add_members", call, request, [this](json& users, const json& wanted) {
      const std::string name = wanted["username"].string_or("");
      json user = users[name];
      json fresh = user;
      fresh.set("role", wanted["role"].is_null() ? user["role"] : wanted["role"]);
      if (has_user_limits_) {
        fresh.set("limits", wanted["limits"].is_null() ? user["limits"] : wanted["limits"]);
      }
      users.set(name, std::move(fresh));
    });
  }

  void remove_members(sagent::call& call, const sagent::request& request) override {
    change_users("remove_members", call, request, [](json& users, const json& stale) {
      users.erase(stale["username"].string_or(""));
    });
  }

  // Nothing here asks for rights; the form may offer the attributes evaluate_order knows.
  void describe(sagent::call& call, const sagent::request& request) override {
    const script::run run(script_, "describe", call);
    const std::string what = parse(request.body)["what"].string_or("");
    if (what == "role") {
      call.emit(json::object({{"rights", json::array()}}).dump());
    } else if (what == "options") {
      for (const char* decision : {"reject", "wait"}) {
        call.emit(json::object({{"name", decision},
                                {"label", std::string("Reason to ") + decision},
                                {"type", "string"},
                                {"required", false},
                                {"help_text", "A text here decides the order so."}}
        ).dump());
      }
    } else {
      throw sagent::failure(SAGENT_E_UNSUPPORTED, "describe knows 'role' and 'options'");
    }
    run.finish();
  }

private:
  null_backend(sagent::host host, const json& settings)
      : host_(host), store_(settings["state_file"].string_or("")), script_(settings),
        token_(settings["token"].string_or("")), usage_(settings["usage"]),
        user_usage_(settings["user_usage"]),
        keeps_users_(settings["users"].string_or("none") != "none"),
        has_user_limits_(settings["users"].string_or("none") == "limited") {}

  // Writes, one per object, with the host told before and after.
  void write(
      script::run& run,
      std::string_view verb,
      std::string_view kind,
      const std::string& id,
      const std::function<void(resources&)>& work
  ) {
    run.checkpoint("before", verb, kind, id);
    store_.change([&work](resources& all) {
      work(all);
      return true;
    });
    run.checkpoint("after", verb, kind, id);
  }

  void set_power(
      const char* operation,
      const std::string& wanted,
      sagent::call& call,
      const sagent::request& request
  );
  void change_users(
      const char* operation,
      sagent::call& call,
      const sagent::request& request,
      const std::function<void(json& users, const json& user)>& change
  );
  json users_of(const resource& r) const;
  static json measured(const resource& r, const json& figures, const json& components);

  sagent::host host_;
  store store_;
  script script_;
  std::string token_; // a reference, not the secret
  json usage_;
  json user_usage_;
  bool keeps_users_;
  bool has_user_limits_;
};

void null_backend::create_resource(sagent::call& call, const sagent::request& request) {
  script::run run(script_, "create_resource", call);
  const json body = parse(request.body);
  const std::string uuid(request.idempotency_key);
  if (uuid.empty()) {
    throw sagent::failure(SAGENT_E_INVALID, "create_resource needs an idempotency key");
  }
  auto made = find(store_, uuid);
  const bool is_adopted = made && made->has_machine;
  if (!made) {
    made = resource{};
    made->uuid = uuid;
    made->name = body.at({"resource", "name"}).string_or(uuid);
    made->tags = body["tags"];
    made->limits = body.at({"order", "limits"});
    made->created_at = base::to_rfc3339(base::real_clock().wall());
  }
  if (!request.dry_run && !made->has_disk) {
    made->has_disk = true;
    write(run, "put", "disk", disk_id(uuid), [&](resources& all) { all[uuid] = *made; });
  }
  if (!request.dry_run && !made->has_machine) {
    made->has_machine = true;
    write(run, "put", "machine", machine_id(uuid), [&](resources& all) { all[uuid] = *made; });
  }
  const json endpoint = json::object({{"name", "ssh"}, {"url", "ssh://null@127.0.0.1"}});
  call.emit(json::object({{"backend_id", machine_id(uuid)},
                          {"metadata", described(*made)},
                          {"endpoints", json::array({endpoint})},
                          {"adopted", is_adopted}}
  ).dump());
  run.finish();
}

void null_backend::delete_resource(sagent::call& call, const sagent::request& request) {
  script::run run(script_, "delete_resource", call);
  const json body = parse(request.body);
  const target wanted = request.target.empty() ? target{std::string(request.idempotency_key), false}
                                               : parse_target(request.target);
  const auto found = find(store_, wanted.uuid);
  if (!found) {
    throw sagent::failure(SAGENT_E_NOT_FOUND, "there is no resource " + wanted.uuid);
  }
  const std::string uuid_tag = body["uuid_tag"].string_or("");
  const json& own_tag = body["tags"][uuid_tag];
  if (!uuid_tag.empty() && own_tag.is_string() &&
      found->tags[uuid_tag].string_or("") != own_tag.string_or("")) {
    throw sagent::failure(
        SAGENT_E_REFUSED, machine_id(found->uuid) + " carries another owner's tag; not touched"
    );
  }
  if (found->has_machine && (wanted.is_disk || body["keep_working_machine"].boolean() == true)) {
    throw sagent::failure(
        SAGENT_E_CONFLICT, machine_id(found->uuid) + " is a working machine; adopt it instead"
    );
  }
  const std::string& uuid = found->uuid;
  json deleted = json::array();
  if (request.dry_run) {
    deleted = found->has_machine ? json::array({machine_id(uuid), disk_id(uuid)})
                                 : json::array({disk_id(uuid)});
    call.emit(json::object({{"deleted", deleted}, {"remaining", json::array()}}).dump());
    return;
  }
  if (found->has_machine) {
    write(run, "delete", "machine", machine_id(uuid), [&](resources& all) {
      all[uuid].has_machine = false;
    });
    deleted.push_back(machine_id(uuid));
  }
  write(run, "delete", "disk", disk_id(uuid), [&](resources& all) { all.erase(uuid); });
  deleted.push_back(disk_id(uuid));
  call.emit(json::object({{"deleted", deleted}, {"remaining", json::array()}}).dump());
  run.finish();
}

void null_backend::set_power(
    const char* operation,
    const std::string& wanted,
    sagent::call& call,
    const sagent::request& request
) {
  script::run run(script_, operation, call);
  const target at = parse_target(request.target);
  auto found = find(store_, at.uuid);
  if (!found || !found->has_machine) {
    throw sagent::failure(SAGENT_E_NOT_FOUND, "there is no machine " + std::string(request.target));
  }
  const bool is_change = found->power != wanted;
  if (is_change && !request.dry_run) {
    found->power = wanted;
    write(run, "post", "machine", machine_id(at.uuid), [&](resources& all) {
      all[at.uuid].power = wanted;
    });
  }
  call.emit(json::object(
                {{"power", wanted}, {"changed", is_change}, {"metadata", described(*found)}}
  ).dump());
  run.finish();
}

// One write for all of them; a user that is nothing to this plugin, or an error, is told apart.
void null_backend::change_users(
    const char* operation,
    sagent::call& call,
    const sagent::request& request,
    const std::function<void(json& users, const json& user)>& change
) {
  script::run run(script_, operation, call);
  const json body = parse(request.body);
  const target at = parse_target(request.target);
  const auto found = find(store_, at.uuid);
  if (!found || !found->has_machine) {
    throw sagent::failure(SAGENT_E_NOT_FOUND, "there is no machine " + std::string(request.target));
  }
  json users = found->users;
  json answers = json::array();
  for (const json& user : body["users"].items()) {
    const std::string name = user["username"].string_or("");
    const bool is_broken = name.rfind("broken", 0) == 0;
    const bool is_nothing = !keeps_users_ || name.rfind("nobody", 0) == 0;
    json answer = json::object({{"username", name}, {"done", !is_broken && !is_nothing}});
    if (is_broken) {
      answer.set("error", "the user " + name + " cannot be changed, as its name asks for");
    } else if (!is_nothing) {
      change(users, user);
    }
    answers.push_back(std::move(answer));
  }
  if (users != found->users && !request.dry_run) {
    write(run, "patch", "users", machine_id(at.uuid), [&](resources& all) {
      all[at.uuid].users = users;
    });
  }
  call.emit(json::object({{"users", answers}}).dump());
  run.finish();
}

json null_backend::users_of(const resource& r) const {
  json users = json::array();
  for (const auto& [name, user] : r.users.members()) {
    json shown = json::object({{"username", name}, {"role", user["role"]}});
    if (has_user_limits_) {
      shown.set("limits", user["limits"].is_null() ? json::object() : user["limits"]);
    }
    users.push_back(std::move(shown));
  }
  return users;
}

void null_backend::pull_resources(sagent::call& call, const sagent::request& request) {
  const script::run run(script_, "pull_resources", call);
  const json body = parse(request.body);
  resources all;
  store_.look([&all](const resources& now) { all = now; });
  for (const json& asked : body["resources"].items()) {
    const std::string uuid = asked["uuid"].string_or("");
    const std::string id = asked["backend_id"].string_or("");
    const auto found = all.find(id.empty() ? uuid : parse_target(id).uuid);
    json answer = json::object({{"uuid", uuid}});
    if (found == all.end() || !found->second.has_machine) {
      answer.set("presence", "absent");
    } else {
      const resource& r = found->second;
      answer.set("presence", "present").set("state", "ok").set("power", r.power);
      answer.set("backend_id", machine_id(r.uuid)).set("metadata", described(r));
      if (r.limits.size() > 0) {
        answer.set("limits", r.limits);
      }
      if (keeps_users_) {
        answer.set("users", users_of(r));
      }
    }
    call.emit(answer.dump());
  }
  run.finish();
}

// The figures in the components' units; on a stopped machine nobody uses anything.
json null_backend::measured(const resource& r, const json& figures, const json& components) {
  json total = json::object();
  for (const auto& [name, component] : components.members()) {
    const auto figure = base::decimal::parse(figures[name].number_text().value_or(""));
    const auto factor = base::decimal::parse(component["unit_factor"].number_text().value_or("1"));
    const auto value = figure && factor ? figure->divided_by(*factor) : std::nullopt;
    if (value) {
      total.set(name, r.power == "running" ? value->to_string() : "0");
    }
  }
  return total;
}

void null_backend::report_usage(sagent::call& call, const sagent::request& request) {
  const script::run run(script_, "report_usage", call);
  const json body = parse(request.body);
  resources all;
  store_.look([&all](const resources& now) { all = now; });
  for (const json& asked : body["resources"].items()) {
    const std::string uuid = asked["uuid"].string_or("");
    const std::string id = asked["backend_id"].string_or("");
    const auto found = all.find(id.empty() ? uuid : parse_target(id).uuid);
    json answer = json::object({{"uuid", uuid}, {"measured", false}});
    if (found != all.end() && found->second.has_machine) {
      const resource& r = found->second;
      if (json total = measured(r, usage_, body["components"]); total.size() > 0) {
        answer.set("measured", true).set("total", std::move(total));
      }
      if (json share = measured(r, user_usage_, body["components"]);
          share.size() > 0 && answer["measured"].boolean() == true) {
        json users = json::object();
        for (const auto& [name, user] : r.users.members()) {
          users.set(name, share);
        }
        answer.set("users", std::move(users));
      }
    }
    call.emit(answer.dump());
  }
  run.finish();
}

void null_backend::list_resources(sagent::call& call, const sagent::request& request) {
  const script::run run(script_, "list_resources", call);
  const json body = parse(request.body);
  const bool wants_objects = body["objects"].boolean().value_or(false);
  const std::string uuid_tag = body["uuid_tag"].string_or("");
  resources all;
  store_.look([&all](const resources& now) { all = now; });
  for (const auto& [key, r] : all) {
    if (!carries(r, body["tags"])) {
      continue;
    }
    const std::string uuid = r.tags[uuid_tag].string_or(r.uuid);
    const auto emit_object = [&](const char* kind, const std::string& id) {
      call.emit(json::object(
                    {{"id", id}, {"kind", kind}, {"uuid", uuid}, {"created_at", r.created_at}}
      ).dump());
    };
    if (wants_objects && r.has_disk) {
      emit_object("disk", disk_id(r.uuid));
    }
    if (wants_objects && r.has_machine) {
      emit_object("machine", machine_id(r.uuid));
    }
    if (!wants_objects && r.has_machine) {
      call.emit(json::object({{"backend_id", machine_id(r.uuid)}, {"uuid", uuid}, {"name", r.name}}
      ).dump());
    }
  }
  run.finish();
}

void null_backend::set_resource_limits(sagent::call& call, const sagent::request& request) {
  script::run run(script_, "set_resource_limits", call);
  const json body = parse(request.body);
  const target at = parse_target(request.target);
  if (!find(store_, at.uuid)) {
    throw sagent::failure(SAGENT_E_NOT_FOUND, "there is no machine " + std::string(request.target));
  }
  write(run, "patch", "machine", machine_id(at.uuid), [&](resources& all) {
    all[at.uuid].limits = body.at({"order", "limits"});
  });
  run.finish();
}

} // namespace siteagent::null

SAGENT_PLUGIN(
    "null",
    SITEAGENT_VERSION,
    "Site Agent",
    siteagent::null::null_backend,
    siteagent::null::null_hosts
)
