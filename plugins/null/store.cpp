// SPDX-License-Identifier: MIT
#include "plugins/null/store.hpp"

#include "plugins/null/locked_file.hpp"

#include <sagent/cpp/plugin.hpp>

namespace siteagent::null {

namespace {

using base::json;

json to_json(const resource& r) {
  return json::object({
      {"uuid", r.uuid},
      {"name", r.name},
      {"created_at", r.created_at},
      {"tags", r.tags},
      {"limits", r.limits},
      {"users", r.users},
      {"has_disk", r.has_disk},
      {"has_machine", r.has_machine},
      {"power", r.power},
  });
}

resource from_json(const json& j) {
  resource r;
  r.uuid = j["uuid"].string_or("");
  r.name = j["name"].string_or("");
  r.created_at = j["created_at"].string_or("");
  r.tags = j["tags"];
  r.limits = j["limits"];
  r.users = j["users"];
  r.has_disk = j["has_disk"].boolean().value_or(false);
  r.has_machine = j["has_machine"].boolean().value_or(false);
  r.power = j["power"].string_or("running");
  return r;
}

resources read_all(const std::string& file, const json& content) {
  resources all;
  if (content.size() > 0 && !content["resources"].is_array()) {
    throw sagent::failure(
        SAGENT_E_NOT_READY,
        "state file " + file + " is damaged; remove it to begin with an empty cloud"
    );
  }
  for (const json& each : content["resources"].items()) {
    resource r = from_json(each);
    all[r.uuid] = std::move(r);
  }
  return all;
}

json all_of(const resources& all) {
  json list = json::array();
  for (const auto& [uuid, r] : all) {
    list.push_back(to_json(r));
  }
  return json::object({{"resources", list}});
}

} // namespace

void store::change(const std::function<bool(resources&)>& work) {
  if (file_.empty()) {
    const std::lock_guard lock(mutex_);
    resources copy = in_memory_;
    if (work(copy)) {
      in_memory_ = std::move(copy);
    }
    return;
  }
  change_locked(file_, durable::yes, [&](json& content) {
    resources all = read_all(file_, content);
    if (!work(all)) {
      return false;
    }
    content = all_of(all);
    return true;
  });
}

void store::look(const std::function<void(const resources&)>& work) {
  change([&work](resources& all) {
    work(all);
    return false;
  });
}

} // namespace siteagent::null
