// SPDX-License-Identifier: MIT
#include "plugins/null/cloud_host/cloud.hpp"

#include "core/base/clock.hpp"
#include "core/base/error.hpp"
#include "plugins/null/cloud_host/faults.hpp"
#include "plugins/null/locked_file.hpp"

#include <unistd.h>

#include <algorithm>

namespace siteagent::null {

namespace {

using base::json;

constexpr int crash_status = 70;

json parse(std::string_view text) {
  auto parsed = json::parse(text);
  if (!parsed) {
    throw sagent::failure(SAGENT_E_INVALID, "the request is no JSON: " + parsed.error().message);
  }
  return *std::move(parsed);
}

std::string now() {
  return base::to_rfc3339(base::real_clock().wall(), true);
}

std::string sentence(
    std::string_view kind, std::string_view name, std::string_view what, std::string_view verb
) {
  return "the " + words_of(kind) + " " + std::string(name) + " " + std::string(what) + ": " +
         std::string(verb) + " " + id_of(kind, name);
}

// Who refers to this object, so that it cannot go.
std::string user_of(const json& state, const std::string& id) {
  for (const auto& [other, object] : state["objects"].members()) {
    for (const char* reference : {"address_id", "group_id", "interface_id"}) {
      if (object[reference].string_or("") == id) {
        return other;
      }
    }
    if (object["disk_id"].string_or("") == id) {
      return other;
    }
  }
  return "";
}

// state.quota: {"<kind>": how many there may be}
std::optional<sagent::failure>
quota_failure(const json& state, std::string_view kind, const std::string& words) {
  const auto most = state["quota"][kind].integer();
  std::int64_t count = 0;
  for (const auto& [id, object] : state["objects"].members()) {
    count += object["kind"].string_or("") == kind ? 1 : 0;
  }
  if (!most || count < *most) {
    return std::nullopt;
  }
  sagent::failure f(
      SAGENT_E_QUOTA,
      words + ": HTTP 409: QuotaExceeded: " + std::to_string(count) + " of " +
          std::to_string(*most) + " are in use"
  );
  f.provider_code = "QuotaExceeded";
  f.detail = json::object({{"http_status", 409}, {"provider_code", "QuotaExceeded"}}).dump();
  return f;
}

// The effect of an operation's end.
void end_operation(json& state, const std::string& id, std::string_view verb) {
  json& objects = state.member_ref("objects");
  if (verb == "put") {
    if (json* object = objects.find(id)) {
      object->set("status", "ready");
      object->erase("polls");
    }
    return;
  }
  const json gone = objects[id];
  objects.erase(id);
  // The system disk goes with its machine, unless the script says that it stays.
  const std::string disk = gone["disk_id"].string_or("");
  if (!disk.empty() && state.at({"script", "disk_survives"}).boolean() != true) {
    objects.erase(disk);
  }
}

} // namespace

std::string id_of(std::string_view kind, std::string_view name) {
  return "/null/" + std::string(kind) + "/" + std::string(name);
}

std::string words_of(std::string_view kind) {
  std::string words(kind);
  std::replace(words.begin(), words.end(), '-', ' ');
  return words;
}

hosts_settings::hosts_settings(const json& settings)
    : state_file(settings.at({"bindings", "state_file"}).string_or("")),
      secret(settings.at({"credentials", "control", "secret"}).string_or("")),
      operation(settings.at({"limits", "operation_s"}).integer().value_or(1200)),
      rollback_retry(settings.at({"limits", "rollback_retry_s"}).integer().value_or(240)),
      poll_ms(settings.at({"limits", "poll_ms"}).integer().value_or(5000)) {
  for (const json& each : settings.at({"options", "hosts"}).items()) {
    hosts.push_back(
        {each["address"].string_or(""),
         static_cast<int>(each["port"].integer().value_or(22)),
         each["folder"].string_or("")}
    );
  }
}

scene::scene(
    const hosts_settings& settings,
    std::string operation,
    sagent::call& call,
    const sagent::request& request
)
    : settings_(settings), operation_(std::move(operation)), call_(call),
      body_(parse(request.body)), dry_run_(request.dry_run) {
  json line = json::object({{"time", now()}, {"op", operation_}});
  if (dry_run_) {
    line.set("dry_run", true);
  }
  append_line(settings_.state_file + ".calls", line.set("request", body_).dump());
  const json script = state()["script"];
  crash_at_ = script["crash_at"].string_or("");
  has_faults_ = script["faults"].is_array();
  crash_if_due("before:" + operation_);
  pause(script["latency_ms"][operation_].integer().value_or(0));
  if (auto failure = operation_fault("before")) {
    throw *std::move(failure);
  }
}

json scene::state() const {
  json copy;
  change_locked(settings_.state_file, durable::no, [&copy](json& content) {
    copy = content;
    return false;
  });
  return copy;
}

void scene::change(const std::function<void(json&)>& edit) const {
  change_locked(settings_.state_file, durable::no, [&edit](json& content) {
    edit(content);
    return true;
  });
}

void scene::announce(
    std::string_view phase, std::string_view verb, std::string_view kind, const std::string& id
) {
  const json what = json::object({{"phase", phase}, {"verb", verb}, {"kind", kind}, {"id", id}});
  const sagent_code stop = call_.checkpoint(what.dump());
  crash_if_due(std::string(phase) + ":" + std::string(verb) + ":" + std::string(kind));
  if (stop != SAGENT_OK) {
    throw told_to_stop(stop);
  }
}

void scene::pause(std::int64_t ms) {
  if (ms <= 0) {
    return;
  }
  if (const sagent_code stop = call_.wait_ms(ms); stop != SAGENT_OK) {
    throw told_to_stop(stop);
  }
}

// Once: the process that comes after this one goes on.
void scene::crash_if_due(const std::string& point) {
  if (crash_at_ == point) {
    change([](json& content) { content.member_ref("script").erase("crash_at"); });
    ::_exit(crash_status);
  }
}

std::optional<sagent::failure> scene::fault_due(
    std::string_view verb,
    std::string_view kind,
    std::string_view name,
    std::string_view when,
    const std::string& words
) {
  if (!has_faults_) {
    return std::nullopt;
  }
  std::optional<json> fault;
  change_locked(settings_.state_file, durable::no, [&](json& content) {
    fault = take_fault(content, {operation_, verb, kind, name, when});
    return true; // counts
  });
  if (!fault) {
    return std::nullopt;
  }
  return failure_of(*fault, words, kind, kind.empty() ? "" : id_of(kind, name));
}

std::optional<sagent::failure> scene::operation_fault(std::string_view when) {
  return fault_due("", "", "", when, "null could not " + operation_);
}

std::optional<json> scene::read(std::string_view kind, std::string_view name) {
  read_nothing(kind, name);
  const json all = state();
  const json* found = all["objects"].find(id_of(kind, name));
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void scene::read_nothing(std::string_view kind, std::string_view name) {
  if (auto failure =
          fault_due("get", kind, name, "before", sentence(kind, name, "cannot be read", "GET"))) {
    throw *std::move(failure);
  }
}

void scene::put(std::string_view kind, const std::string& name, const maker& properties) {
  const std::string id = id_of(kind, name);
  const std::string words = sentence(kind, name, "was not made", "PUT");
  announce("before", "put", kind, id);
  if (auto failure = fault_due("put", kind, name, "before", words)) {
    throw *std::move(failure);
  }
  if (auto failure = quota_failure(state(), kind, words)) {
    throw *std::move(failure);
  }
  change([&](json& content) {
    const std::int64_t polls = polls_of(content, "put", kind);
    json object = properties(content);
    object.set("kind", kind).set("name", name).set("status", "creating").set("polls", polls);
    content.member_ref("objects").set(id, std::move(object));
  });
  // A lost answer: what is there was made, whatever the answer would have been.
  if (auto failure = fault_due("put", kind, name, "after", words); failure && !read(kind, name)) {
    throw *std::move(failure);
  }
  if (auto failure = follow("put", kind, name)) {
    throw *std::move(failure);
  }
  announce("after", "put", kind, id);
}

void scene::write(
    std::string_view kind,
    const std::string& id,
    const std::string& name,
    const std::function<void(json&)>& edit
) {
  announce("before", "put", kind, id);
  const std::string words = "the " + words_of(kind) + " " + name + " was not written: PUT " + id;
  if (auto failure = fault_due("put", kind, name, "before", words)) {
    throw *std::move(failure);
  }
  change(edit);
  // Whoever sends it again after a lost answer finds it done.
  (void)fault_due("put", kind, name, "after", words);
  announce("after", "put", kind, id);
}

std::optional<sagent::failure>
scene::follow(std::string_view verb, std::string_view kind, const std::string& name) {
  const std::string id = id_of(kind, name);
  const std::string_view what = verb == "put" ? "was not made" : "was not deleted";
  const auto give_up = base::real_clock().steady() + settings_.operation;
  for (;;) {
    bool is_over = false;
    change_locked(settings_.state_file, durable::no, [&](json& content) {
      json* object = content.member_ref("objects").find(id);
      const std::int64_t left = object == nullptr ? 0 : (*object)["polls"].integer().value_or(0);
      is_over = left == 0;
      if (left > 0) {
        object->set("polls", left - 1);
      }
      return left > 0;
    });
    if (is_over) {
      break;
    }
    if (base::real_clock().steady() >= give_up) {
      return sagent::failure(
          SAGENT_E_DEADLINE,
          sentence(kind, name, what, verb == "put" ? "PUT" : "DELETE") +
              ": the operation did not end within " + std::to_string(settings_.operation.count()) +
              " s"
      );
    }
    announce("poll", verb, kind, id);
    pause(settings_.poll_ms);
  }
  const std::string words = sentence(kind, name, what, verb == "put" ? "PUT" : "DELETE");
  if (auto failure = fault_due(verb, kind, name, "end", words)) {
    change([&](json& content) {
      if (json* object = content.member_ref("objects").find(id)) {
        object->set("status", "failed");
        object->erase("polls");
      }
    });
    return failure;
  }
  change([&](json& content) { end_operation(content, id, verb); });
  return std::nullopt;
}

// A rule of script.held: {"kind","name"?,"cause"?,"tries": n requests | "calls": n operations}.
std::optional<sagent::failure>
scene::hold_due(std::string_view kind, const std::string& name, bool& is_final) {
  std::optional<std::string> cause;
  change_locked(settings_.state_file, durable::no, [&](json& content) {
    json* rules = content.member_ref("script").find("held");
    for (std::size_t i = 0; rules != nullptr && i < rules->size(); ++i) {
      json& rule = rules->items()[i];
      if (rule["kind"].string_or("") != kind ||
          (rule["name"].is_string() && rule["name"].string_or("") != name)) {
        continue;
      }
      const bool is_by_call = !rule["calls"].is_null();
      const char* count = is_by_call ? "calls" : "tries";
      const std::int64_t left = rule[count].integer().value_or(0);
      const bool is_known = std::find(holds_of_this_call_.begin(), holds_of_this_call_.end(), i) !=
                            holds_of_this_call_.end();
      if (left <= 0 && !(is_by_call && is_known)) {
        continue;
      }
      if (!is_known || !is_by_call) {
        rule.set(count, left - 1);
        holds_of_this_call_.push_back(i);
      }
      is_final = is_by_call;
      cause = rule["cause"].string_or("the cloud still holds it");
      return true;
    }
    return false;
  });
  if (!cause) {
    return std::nullopt;
  }
  return sagent::failure(SAGENT_E_CONFLICT, *cause);
}

// nullopt: it is gone. is_final: another try would not help.
std::optional<sagent::failure>
scene::try_remove(std::string_view kind, const std::string& name, bool& is_final) {
  const std::string id = id_of(kind, name);
  const std::string words = sentence(kind, name, "was not deleted", "DELETE");
  if (auto held = hold_due(kind, name, is_final)) {
    return held;
  }
  if (auto failure = fault_due("delete", kind, name, "before", words)) {
    const auto code = base::class_of(failure->code);
    is_final = code != base::error_class::transient && code != base::error_class::outcome_unknown &&
               failure->code != SAGENT_E_CONFLICT;
    return failure;
  }
  if (const std::string user = user_of(state(), id); !user.empty()) {
    return sagent::failure(SAGENT_E_CONFLICT, "it is used by " + user);
  }
  change([&](json& content) {
    if (json* object = content.member_ref("objects").find(id)) {
      object->set("status", "deleting").set("polls", polls_of(content, "delete", kind));
    }
  });
  if (auto failure = fault_due("delete", kind, name, "after", words)) {
    return failure; // the answer is lost, the next look tells
  }
  return follow("delete", kind, name);
}

removed scene::remove(std::string_view kind, const std::string& name) {
  removed r;
  r.was_there = read(kind, name).has_value();
  if (!r.was_there) {
    r.gone = true;
    return r;
  }
  const std::string id = id_of(kind, name);
  announce("before", "delete", kind, id);
  const auto give_up = base::real_clock().steady() + settings_.rollback_retry;
  for (;;) {
    bool is_final = false;
    const auto failure = try_remove(kind, name, is_final);
    r.gone = !read(kind, name);
    if (r.gone) {
      announce("after", "delete", kind, id);
      return r;
    }
    r.cause = failure ? failure->message : "it is still there";
    const bool is_out_of_time = base::real_clock().steady() >= give_up;
    if (is_final || is_out_of_time) {
      r.is_out_of_time = !is_final;
      return r;
    }
    pause(std::max<std::int64_t>({settings_.poll_ms, failure ? failure->retry_after_ms : 0, 1}));
  }
}

void scene::finish(const json& answer) {
  finish(std::vector<json>{answer});
}

void scene::finish(const std::vector<json>& answers) {
  crash_if_due("after:" + operation_);
  if (auto failure = operation_fault("after")) {
    throw *std::move(failure);
  }
  for (const json& answer : answers) {
    call_.emit(answer.dump());
  }
}

} // namespace siteagent::null
