// SPDX-License-Identifier: MIT
// A Waldur that is read for real and written in memory only.
#include "core/agent/plan.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace siteagent::agent {

namespace {

using target = planned_change::target;

base::json texts_of(const waldur::limits& l) {
  base::json out = base::json::object();
  for (const auto& [type, amount] : l) {
    out.set(type, base::json::number(amount));
  }
  return out;
}

// Only what differs, so that a page of metadata does not hide the one word that changes.
void keep_differences(base::json& now, base::json& then) {
  base::json old_part = base::json::object();
  base::json new_part = base::json::object();
  for (const auto& [key, value] : then.members()) {
    const base::json* before = now.find(key);
    if (before == nullptr || !(*before == value)) {
      old_part.set(key, before == nullptr ? base::json() : *before);
      new_part.set(key, value);
    }
  }
  for (const auto& [key, value] : now.members()) {
    if (then.find(key) == nullptr) {
      old_part.set(key, value);
      new_part.set(key, nullptr);
    }
  }
  now = std::move(old_part);
  then = std::move(new_part);
}

class planning_portal final : public portal {
public:
  planning_portal(portal& waldur, change_list& changes) : waldur_(waldur), changes_(changes) {}

  base::result<std::vector<waldur::order>> list_orders() override {
    base::result<std::vector<waldur::order>> orders = waldur_.list_orders();
    if (orders) {
      for (const waldur::order& o : *orders) {
        remember(o);
      }
    }
    return orders;
  }

  base::result<waldur::order> get_order(const base::uuid& order) override {
    base::result<waldur::order> read = waldur_.get_order(order);
    if (read) {
      remember(*read);
      const std::lock_guard lock(mutex_);
      if (const auto planned = order_states_.find(order); planned != order_states_.end()) {
        read->state = planned->second;
      }
    }
    return read;
  }

  base::result<std::string> get_order_state(const base::uuid& order) override {
    {
      const std::lock_guard lock(mutex_);
      if (const auto planned = order_states_.find(order); planned != order_states_.end()) {
        return planned->second;
      }
    }
    return waldur_.get_order_state(order);
  }

  base::result<void> approve(const base::uuid& order) override {
    return change_order(order, "approve order", "executing", {});
  }

  base::result<void> reject(const base::uuid& order, std::string_view comment) override {
    return change_order(order, "reject order", "rejected", comment);
  }

  base::result<void> set_done(const base::uuid& order) override {
    return change_order(order, "set order done", "done", {});
  }

  base::result<void> set_erred(const base::uuid& order, std::string_view message) override {
    return change_order(order, "set order erred", "erred", message);
  }

  base::result<waldur::offering> get_offering() override { return waldur_.get_offering(); }

  base::result<waldur::plan> get_plan(const base::uuid& plan) override {
    return waldur_.get_plan(plan);
  }

  base::result<std::map<std::string, std::string>> list_ssh_keys(const base::uuid& customer
  ) override {
    return waldur_.list_ssh_keys(customer);
  }

  base::result<waldur::resource> get_resource(const base::uuid& resource) override {
    base::result<waldur::resource> read = waldur_.get_resource(resource);
    if (read) {
      overlay(*read);
    }
    return read;
  }

  base::result<std::vector<waldur::resource>> list_resources(const std::vector<std::string>& states
  ) override {
    base::result<std::vector<waldur::resource>> list = waldur_.list_resources(states);
    if (list) {
      for (waldur::resource& r : *list) {
        overlay(r);
      }
    }
    return list;
  }

  base::result<void>
  set_backend_id(const base::uuid& resource, std::string_view backend_id) override {
    return change_resource(resource, "record backend id", [&](waldur::resource& r) {
      return std::pair<base::json, base::json>(
          std::exchange(r.backend_id, std::string(backend_id)), backend_id
      );
    });
  }

  base::result<void>
  set_backend_metadata(const base::uuid& resource, const base::json& metadata) override {
    return change_resource(resource, "record metadata", [&](waldur::resource& r) {
      base::json then = metadata;
      base::json now = std::exchange(r.backend_metadata, metadata);
      keep_differences(now, then);
      return std::pair(std::move(now), std::move(then));
    });
  }

  base::result<void> set_limits(const base::uuid& resource, const waldur::limits& l) override {
    return change_resource(resource, "set limits", [&](waldur::resource& r) {
      return std::pair(texts_of(std::exchange(r.limits, l)), texts_of(l));
    });
  }

  base::result<void>
  set_endpoints(const base::uuid& resource, const std::vector<waldur::endpoint>& list) override {
    return change_resource(resource, "set endpoints", [&](waldur::resource& r) {
      base::json now = base::json::array();
      for (const base::json& e : r.raw["endpoints"].items()) {
        now.push_back(e["url"]);
      }
      base::json then = base::json::array();
      for (const waldur::endpoint& e : list) {
        then.push_back(e.url);
      }
      return std::pair(std::move(now), std::move(then));
    });
  }

  base::result<void>
  set_resource_erred(const base::uuid& resource, std::string_view message) override {
    return change_resource(resource, "set resource erred", [&](waldur::resource& r) {
      return std::pair<base::json, base::json>(
          std::exchange(r.state, "Erred"), "Erred: " + std::string(message)
      );
    });
  }

  base::result<void> set_resource_ok(const base::uuid& resource) override {
    return change_resource(resource, "set resource OK", [&](waldur::resource& r) {
      return std::pair<base::json, base::json>(std::exchange(r.state, "OK"), "OK");
    });
  }

  // Bookkeeping of every pass, no difference between Waldur and the cloud.
  base::result<void> refresh_last_sync(const base::uuid& /*resource*/) override { return {}; }

  base::result<std::vector<waldur::component_usage>>
  list_usages(const base::uuid& resource, std::string_view billing_period) override {
    return waldur_.list_usages(resource, billing_period);
  }

  base::result<void> set_usage(
      const base::uuid& resource,
      std::string_view date,
      const std::vector<waldur::usage_item>& usages
  ) override {
    return change_resource(resource, "book usage", [&](waldur::resource&) {
      base::json then = base::json::object({{"date", date}});
      for (const waldur::usage_item& u : usages) {
        then.set(u.type, base::json::number(u.amount));
      }
      return std::pair(base::json(), std::move(then));
    });
  }

private:
  void remember(const waldur::order& o) {
    const std::lock_guard lock(mutex_);
    orders_.insert_or_assign(o.uuid, o);
  }

  // Shows what was planned, and remembers the rest for the "now" of later changes.
  void overlay(waldur::resource& r) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = resources_.try_emplace(r.uuid, r);
    if (!is_new && touched_.contains(r.uuid)) {
      r = known->second;
    } else {
      known->second = r;
    }
  }

  base::result<void> change_order(
      const base::uuid& order, const char* action, const char* state, std::string_view text
  ) {
    planned_change change{.action = action, .order = order.hex()};
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = orders_.find(order); known != orders_.end()) {
        const waldur::order& o = known->second;
        change.resource = o.resource ? o.resource->hex() : "";
        change.name = o.resource_name;
        change.now = o.type + ", " + o.state;
      }
      order_states_[order] = state;
    }
    if (!text.empty()) {
      change.then = text;
    }
    changes_.add(std::move(change));
    return {};
  }

  // `apply` changes the remembered resource and gives what was and what will be.
  template <class Apply>
  base::result<void>
  change_resource(const base::uuid& resource, const char* action, const Apply& apply) {
    planned_change change{.action = action, .resource = resource.hex()};
    {
      const std::lock_guard lock(mutex_);
      waldur::resource& r = resources_[resource];
      change.name = r.name;
      std::tie(change.now, change.then) = apply(r);
      touched_.insert(resource);
    }
    changes_.add(std::move(change));
    return {};
  }

  portal& waldur_;
  change_list& changes_;
  std::mutex mutex_;
  std::map<base::uuid, waldur::order> orders_;
  std::map<base::uuid, std::string> order_states_; // planned ones only
  std::map<base::uuid, waldur::resource> resources_;
  std::set<base::uuid> touched_;
};

} // namespace

std::unique_ptr<portal> make_planning_portal(portal& waldur, change_list& changes) {
  return std::make_unique<planning_portal>(waldur, changes);
}

} // namespace siteagent::agent
