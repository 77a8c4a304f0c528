// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/registration.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

constexpr std::string_view version = "?api-version=2021-04-01";
constexpr unsigned most_polls = 60; // ten units apart
constexpr milliseconds remembered = std::chrono::minutes(1);

bool can_be_namespace(std::string_view name) {
  return !name.empty() && name.size() <= 128 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.';
         });
}

// "/subscriptions/<id>" of a URL; "" when it has none.
std::string subscription_path(std::string_view url) {
  constexpr std::string_view key = "/subscriptions/";
  const auto at = base::to_lower(url).find(key);
  if (at == std::string::npos) {
    return "";
  }
  const auto end = url.find_first_of("/?", at + key.size());
  return std::string(url.substr(at, end == std::string_view::npos ? end : end - at));
}

base::error
explained(const base::error& e, const std::string& subscription, const std::string& provider) {
  const std::string id = subscription.substr(subscription.rfind('/') + 1);
  const bool forbidden = reason_of(e) == reason::permission;
  std::string text = "register resource provider " + provider + ": ";
  text += forbidden
              ? "the subscription is not registered for it, and the service principal lacks the "
                "right " +
                    provider + "/register/action on " + subscription
              : e.message;
  text += "; let an owner of the subscription run: az provider register --namespace " + provider +
          " --subscription " + id;
  base::error out = make_error(reason::configuration, base::error_code::not_ready, std::move(text));
  out.http_status = e.http_status;
  out.provider_code = e.provider_code;
  out.provider_request_id = e.provider_request_id;
  return out;
}

base::result<void>
tell(const scope& call, std::string_view phase, const std::string& id, std::string_view verb) {
  return call.checkpoint(base::json::object(
      {{"phase", phase}, {"verb", verb}, {"kind", "resource-provider"}, {"id", id}}
  ));
}

// Errors that must reach the caller as they are: he stops, or comes again.
bool is_passing(const base::error& e) {
  return is_stop(e) || base::class_of(e.code) == base::error_class::transient ||
         e.code == base::error_code::auth;
}

base::result<void> register_and_wait(
    const pipeline& arm,
    const scope& call,
    const std::string& subscription,
    const std::string& provider
) {
  const std::string id = subscription + "/providers/" + provider;
  const std::string what = "register resource provider " + provider;
  if (auto go_on = tell(call, "before", id, "post"); !go_on) {
    return go_on;
  }
  write_request w;
  w.method = "POST";
  w.path = id + "/register" + std::string(version);
  w.what = what;
  auto answer = arm.write(call, w);
  if (auto go_on = tell(call, "after", id, "post"); !go_on) {
    return go_on;
  }
  if (!answer) {
    return is_passing(answer.error()) ? answer.error()
                                      : explained(answer.error(), subscription, provider);
  }
  base::json seen = std::move(answer->body);
  for (unsigned poll = 0; poll < most_polls; ++poll) {
    if (base::equals_ignoring_case(seen["registrationState"].string_or(""), "Registered")) {
      return {};
    }
    if (auto slept = call.wait(arm.options().floor * 10); !slept) {
      return slept;
    }
    if (auto go_on = tell(call, "poll", id, "post"); !go_on) {
      return go_on;
    }
    auto read = arm.read(call, id + std::string(version), what);
    if (!read) {
      return read.error();
    }
    seen = std::move(read->body);
  }
  // A region may accept calls while the whole is still registering: the repeated write will tell.
  return {};
}

} // namespace

std::string missing_provider(const error_body& body) {
  constexpr std::string_view code = "MissingSubscriptionRegistration";
  constexpr std::string_view key = "namespace '";
  std::string named;
  for (const error_node& node : body.nodes) {
    if (!base::equals_ignoring_case(node.code, code)) {
      continue;
    }
    const auto at = node.message.find(key);
    const auto end = at == std::string::npos ? at : node.message.find('\'', at + key.size());
    if (!node.target.empty()) {
      named = node.target;
    } else if (end != std::string::npos && named.empty()) {
      named = node.message.substr(at + key.size(), end - at - key.size());
    }
  }
  return can_be_namespace(named) ? named : std::string();
}

base::result<void> registrar::ensure(
    const pipeline& arm, const scope& call, std::string_view url, const std::string& provider
) {
  const std::string key = base::to_lower(provider);
  const base::clock& clock = *arm.options().clock;
  std::unique_lock lock(mutex_);
  bool waited = false;
  while (entries_[key].busy) {
    waited = true;
    changed_.wait_for(lock, milliseconds(50));
    if (auto go_on = call.check(); !go_on) {
      return go_on;
    }
  }
  entry& mine = entries_[key];
  if (mine.refusal && clock.steady() < mine.until) {
    return *mine.refusal;
  }
  if (waited) {
    return {}; // somebody else has just done it
  }
  mine.busy = true;
  lock.unlock();
  auto done = register_and_wait(arm, call, subscription_path(url), provider);
  lock.lock();
  mine.busy = false;
  mine.refusal.reset();
  if (!done && reason_of(done.error()) == reason::configuration) {
    mine.refusal = done.error();
    mine.until = clock.steady() + remembered;
  }
  changed_.notify_all();
  return done;
}

} // namespace siteagent::azure::arm
