// SPDX-License-Identifier: MIT
// A cloud that is read for real and never written.
#include "core/agent/plan.hpp"

#include "core/agent/request_body.hpp"

#include <map>
#include <utility>

namespace siteagent::agent {

namespace {

using emitted = base::result<std::vector<base::json>>;

base::json row(std::initializer_list<base::json::member> members) {
  return base::json::object(members);
}

class planning_backend final : public backend {
public:
  planning_backend(std::shared_ptr<backend> cloud, change_list& changes)
      : cloud_(std::move(cloud)), changes_(changes) {}

  emitted call(
      host::operation op, const host::call_request& request, const host::call_options& options
  ) override {
    switch (op) {
    case host::operation::create_resource:
      return create(request, options);
    case host::operation::delete_resource:
      return remove(request, options);
    case host::operation::set_resource_limits:
      return set_limits(request, options);
    case host::operation::pause:
    case host::operation::downscale:
      return change_power(op, request, "deallocated");
    case host::operation::restore:
      return change_power(op, request, "running");
    case host::operation::add_members:
    case host::operation::remove_members:
      return std::vector<base::json>{};
    case host::operation::pull_resources:
      return pull(request, options);
    default:
      return cloud_->call(op, request, options);
    }
  }

  std::chrono::milliseconds deadline_of(host::operation op) const override {
    return cloud_->deadline_of(op);
  }

  std::string plugin_id() const override { return cloud_->plugin_id(); }

private:
  struct rehearsed {
    emitted answer;
    bool wanted_to_write = false; // and was stopped before it
  };

  // A plugin that ignores the flag meets the checkpoint in front of its first write.
  rehearsed rehearse(
      host::operation op, const host::call_request& request, const host::call_options& options
  ) {
    bool stopped = false;
    host::call_request dry = request;
    dry.dry_run = true;
    host::call_options guarded = options;
    guarded.checkpoint = [&stopped](const base::json& what) -> base::result<void> {
      const std::string phase = what["phase"].string_or("");
      if (phase == "poll" || phase == "wait") {
        return {};
      }
      stopped = true;
      return base::error{.code = base::error_code::cancelled, .message = "planned only"};
    };
    emitted answer = cloud_->call(op, dry, guarded);
    return {std::move(answer), stopped};
  }

  planned_change about(const host::call_request& request, std::string action) const {
    planned_change change;
    change.where = planned_change::target::cloud;
    change.action = std::move(action);
    change.order = request.body["order"]["uuid"].string_or("");
    change.resource = request.body["resource"]["uuid"].string_or(request.idempotency_key);
    change.name = request.body["resource"]["name"].string_or("");
    return change;
  }

  emitted list_own(
      const host::call_request& request, const host::call_options& options, bool single_objects
  ) {
    host::call_request look;
    look.body.set("tags", request.body["tags"]);
    look.body.set("uuid_tag", request.body["uuid_tag"]);
    look.body.set("objects", single_objects);
    return cloud_->call(host::operation::list_resources, look, options);
  }

  emitted create(const host::call_request& request, const host::call_options& options) {
    emitted machines = list_own(request, options, false);
    if (!machines) {
      return machines;
    }
    if (!machines->empty()) {
      const std::string id = machines->front()["backend_id"].string_or("");
      planned_change change = about(request, "adopt machine");
      change.now = id;
      changes_.add(std::move(change));
      return std::vector<base::json>{row({{"backend_id", id}, {"adopted", true}})};
    }
    const emitted parts = list_own(request, options, true);
    if (!parts) {
      return parts.error();
    }
    rehearsed checked = rehearse(host::operation::create_resource, request, options);
    if (!checked.answer && !checked.wanted_to_write) {
      return checked.answer;
    }
    planned_change change = about(request, "create machine");
    change.then = request.body["order"]["attributes"];
    if (!parts->empty()) {
      base::json ids = base::json::array();
      for (const base::json& part : *parts) {
        ids.push_back(part["id"]);
      }
      change.now = base::json::object({{"made by an earlier attempt", std::move(ids)}});
    }
    std::string id = "(given by the cloud)";
    if (checked.answer && !checked.answer->empty()) {
      const base::json& made = checked.answer->front();
      id = made["would_create"].string_or(made["backend_id"].string_or(id));
    }
    changes_.add(std::move(change));
    return std::vector<base::json>{row({{"backend_id", id}})};
  }

  emitted remove(const host::call_request& request, const host::call_options& options) {
    rehearsed checked = rehearse(host::operation::delete_resource, request, options);
    if (!checked.answer && !checked.wanted_to_write) {
      return checked.answer;
    }
    planned_change change = about(request, "delete machine");
    change.now = request.target.empty() ? base::json("everything tagged for the resource")
                                        : base::json(request.target);
    if (checked.answer) {
      base::json gone = base::json::array();
      base::json kept = base::json::array();
      for (const base::json& report : *checked.answer) {
        for (const base::json& id : report["deleted"].items()) {
          gone.push_back(id);
        }
        for (const base::json& item : report["remaining"].items()) {
          kept.push_back(item);
        }
      }
      if (gone.size() == 0 && kept.size() == 0) {
        return std::vector<base::json>{}; // nothing there
      }
      change.then =
          base::json::object({{"deleted", std::move(gone)}, {"remaining", std::move(kept)}});
    }
    changes_.add(std::move(change));
    return std::vector<base::json>{};
  }

  emitted set_limits(const host::call_request& request, const host::call_options& options) {
    rehearsed checked = rehearse(host::operation::set_resource_limits, request, options);
    if (!checked.answer && !checked.wanted_to_write) {
      return checked.answer;
    }
    planned_change change = about(request, "set limits of machine");
    change.now = request.body["order"]["old_limits"];
    change.then = request.body["order"]["limits"];
    changes_.add(std::move(change));
    return std::vector<base::json>{};
  }

  emitted change_power(host::operation op, const host::call_request& request, const char* wanted) {
    planned_change change = about(request, std::string(host::name_of(op)) + " machine");
    {
      const std::lock_guard lock(mutex_);
      const auto seen = powers_.find(request.target);
      if (seen != powers_.end()) {
        if (seen->second == base::json(wanted)) {
          return std::vector<base::json>{row({{"power", wanted}, {"changed", false}})};
        }
        change.now = seen->second;
      }
      powers_[request.target] = wanted;
    }
    change.then = wanted;
    changes_.add(std::move(change));
    return std::vector<base::json>{row({{"power", wanted}, {"changed", true}})};
  }

  emitted pull(const host::call_request& request, const host::call_options& options) {
    emitted rows = cloud_->call(host::operation::pull_resources, request, options);
    if (!rows) {
      return rows;
    }
    const std::lock_guard lock(mutex_);
    for (base::json& r : *rows) {
      // The id Waldur knows is what a later power change names; its case may differ.
      for (const base::json& asked : request.body["resources"].items()) {
        if (asked["uuid"] != r["uuid"]) {
          continue;
        }
        const auto [power, is_new] =
            powers_.try_emplace(asked["backend_id"].string_or(""), r["power"]);
        if (!is_new) {
          r.set("power", power->second); // planned since
        }
      }
    }
    return rows;
  }

  const std::shared_ptr<backend> cloud_;
  change_list& changes_;
  std::mutex mutex_;
  std::map<std::string, base::json> powers_; // by backend id
};

} // namespace

std::shared_ptr<backend>
make_planning_backend(std::shared_ptr<backend> cloud, change_list& changes) {
  return std::make_shared<planning_backend>(std::move(cloud), changes);
}

} // namespace siteagent::agent
