// SPDX-License-Identifier: MIT
// The membership part of one offering.
#include "core/agent/members/membership.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::hours reconciliation_interval{1};
// Users come in crowds: one pass for all who came meanwhile.
constexpr std::chrono::seconds gathering{10};

bool is_gone(const base::error& e) {
  return e.http_status == 404;
}

} // namespace

membership::membership(offering_context& offering, portal& waldur, environment& env)
    : membership(
          offering, waldur, env, make_username_source(offering.config().username_management_backend)
      ) {}

membership::membership(
    offering_context& offering,
    portal& waldur,
    environment& env,
    std::unique_ptr<username_source> source
)
    : offering_(offering), waldur_(waldur), env_(env), people_(waldur.find_people()),
      status_(offering, waldur, env) {
  if (people_ != nullptr) {
    users_ = std::make_unique<offering_users>(offering, waldur, *people_, env, std::move(source));
  }
}

base::result<void> membership::run() {
  const base::steady_time start = env_.clock.steady();
  const base::result<void> users = refresh_users(is_reconciliation_due());
  base::result<void> resources = status_.run();
  if (users && resources) {
    status_.owed().settle_everything(start);
  } else {
    status_.owed().owe_everything();
  }
  return resources;
}

bool membership::is_reconciliation_due() {
  if (!offering_.config().username_reconciliation_enabled) {
    return false;
  }
  const base::steady_time now = env_.clock.steady();
  const std::lock_guard lock(mutex_);
  if (reconciled_ && now - *reconciled_ < reconciliation_interval) {
    return false;
  }
  reconciled_ = now;
  return true;
}

// What fails here is logged; the resources are synchronised all the same.
base::result<void> membership::refresh_users(bool reconcile) {
  if (!users_) {
    return {};
  }
  base::result<void> answer = users_->refresh();
  if (reconcile) {
    const base::result<void> names = users_->reconcile();
    if (answer && !names) {
      answer = names;
    }
  }
  if (!answer && !env_.stop.stop_requested()) {
    offering_.log().failure(
        observe::level::warning, "offering users wait for the next pass", answer.error()
    );
  }
  return answer;
}

base::result<void> membership::sync_these(std::vector<waldur::resource> resources) {
  std::vector<base::uuid> uuids;
  for (const waldur::resource& r : resources) {
    uuids.push_back(r.uuid);
  }
  base::result<void> answer = status_.run_some(std::move(resources));
  if (!answer) {
    for (const base::uuid& uuid : uuids) {
      status_.owed().owe(uuid);
    }
  }
  return answer;
}

base::result<void> membership::on_resource(const base::uuid& resource) {
  base::result<waldur::resource> read = waldur_.get_resource(resource);
  if (!read) {
    if (is_gone(read.error())) { // unlinked, or another provider's: not ours to act on
      status_.owed().settle(resource);
      return {};
    }
    status_.owed().owe(resource);
    return std::move(read).error();
  }
  return sync_these({*std::move(read)});
}

base::result<void> membership::sync_project(const base::uuid& project) {
  if (people_ == nullptr || !may_have_users()) {
    return {};
  }
  base::result<std::vector<waldur::resource>> resources = people_->list_project_resources(project);
  if (!resources) {
    status_.owed().owe_everything();
    return base::with_context(std::move(resources).error(), "list resources of the project");
  }
  return sync_these(*std::move(resources));
}

base::result<void> membership::on_role_change(const role_change& change) {
  base::result<void> named;
  if (change.user && users_) {
    const auto found = people_->find_offering_users(*change.user);
    named = found ? users_->handle(*found) : base::result<void>(found.error());
    if (!named) {
      status_.owed().owe_everything();
    }
  }
  base::result<void> synced;
  if (change.resource) {
    synced = may_have_users() ? on_resource(*change.resource) : base::result<void>();
  } else if (change.project) {
    synced = sync_project(*change.project);
  }
  return synced ? named : synced;
}

base::result<void> membership::on_offering_user(const base::uuid& offering_user) {
  if (!users_) {
    return {};
  }
  const base::result<waldur::offering_user> user = people_->get_offering_user(offering_user);
  base::result<void> handled;
  if (user) {
    handled = users_->handle({*user});
  } else if (!is_gone(user.error())) {
    handled = user.error();
  }
  if (!handled) {
    status_.owed().owe_everything();
  } else if (may_have_users()) {
    status_.owed().owe_everything(gathering);
  }
  return handled;
}

base::result<void> membership::on_account_change(const base::uuid& project) {
  return sync_project(project);
}

base::result<void> membership::on_forced_sync() {
  status_.forget_pauses();
  return run();
}

base::result<void> membership::on_status_timer() {
  return run();
}

base::result<void> membership::on_users_timer() {
  return refresh_users(offering_.config().username_reconciliation_enabled);
}

std::optional<base::steady_time> membership::next_due() const {
  return status_.owed().next_due();
}

base::result<void> membership::retry_failed() {
  if (status_.owed().is_everything_due()) {
    return run();
  }
  base::result<void> all;
  std::vector<waldur::resource> resources;
  for (const base::uuid& uuid : status_.owed().due()) {
    base::result<waldur::resource> read = waldur_.get_resource(uuid);
    if (read) {
      resources.push_back(*std::move(read));
    } else if (is_gone(read.error())) {
      status_.owed().settle(uuid);
    } else {
      status_.owed().owe(uuid);
      all = std::move(read).error();
    }
  }
  if (!resources.empty()) {
    base::result<void> synced = sync_these(std::move(resources));
    all = synced ? all : synced;
  }
  return all;
}

} // namespace siteagent::agent
