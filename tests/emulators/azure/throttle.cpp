// SPDX-License-Identifier: MIT
#include "throttle.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <cmath>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

struct verb_class {
  std::string_view name; // "reads", "writes", "deletes"
  std::string_view word; // for messages
  double size;
  double per_second;
};

verb_class class_of(std::string_view method) {
  if (method == "GET" || method == "HEAD") {
    return {"reads", "read", 250, 25};
  }
  if (method == "DELETE") {
    return {"deletes", "delete", 200, 10};
  }
  return {"writes", "write", 200, 10};
}

constexpr double global_factor = 15;

struct policy {
  std::string_view name;
  double machine_refill = 0; // per minute; 0 = no limit per machine
  double region_refill = 0;
};

// The compute provider's class of a request; nullptr name: none.
policy compute_policy(const net::server_request& http, bool is_machine, bool is_list) {
  const auto& s = http.segments;
  const std::string last = s.empty() ? std::string() : base::to_lower(s.back());
  const bool polls = std::any_of(s.begin(), s.end(), [](const std::string& part) {
    return equals_ignoring_case(part, "operations") || equals_ignoring_case(part, "DiskOperations");
  });
  if (polls) {
    return {"GetOperation", 15, 5000};
  }
  if (is_list) {
    return {"HighCostGet", 0, 300};
  }
  if (!is_machine) {
    return {};
  }
  if (http.method == "GET") {
    return {"LowCostGet", 12, 8000};
  }
  if (http.method == "PUT") {
    return {"PutVM", 4, 500};
  }
  if (http.method == "DELETE" || last == "deallocate") {
    return {"DeleteVM", 4, 500};
  }
  return {"UpdateVM", 4, 500};
}

reply front_door_refusal(
    const verb_class& verbs, std::string_view subscription, std::string_view principal, int seconds
) {
  reply r = gateway_error(
      429,
      {"SubscriptionRequestsThrottled",
       "Number of '" + std::string(verbs.word) + "' requests for subscription '" +
           std::string(subscription) + "' actor '" + std::string(principal) +
           "' exceeded. Please try again after '" + std::to_string(seconds) +
           "' seconds. For more information, see https://aka.ms/arm-throttling."}
  );
  r.headers.emplace_back("Retry-After", std::to_string(seconds));
  return r;
}

std::string remaining(const std::string& bucket, double level) {
  return "Microsoft.Compute/" + bucket + ";" + std::to_string(static_cast<std::int64_t>(level));
}

// The compute provider answers without the outer "error".
reply compute_refusal(const std::string& target, double allowed, int seconds) {
  const json inner = json::object(
      {{"operationGroup", target},
       {"allowedRequestCount", static_cast<std::int64_t>(allowed)},
       {"measuredRequestCount", static_cast<std::int64_t>(allowed) + 1}}
  );
  reply r = json_reply(
      429,
      json::object(
          {{"code", "OperationNotAllowed"},
           {"message",
            "The server rejected the request because too many requests have been received for this "
            "subscription."},
           {"details",
            json::array({json::object(
                {{"code", "TooManyRequests"}, {"target", target}, {"message", inner.dump()}}
            )})}}
      )
  );
  r.headers.emplace_back("Retry-After", std::to_string(seconds));
  return r;
}

reply network_refusal(int seconds) {
  reply r = error_reply(
      429, {"TooManyRequests", "Too many requests to the network provider.", "", json::array()}
  );
  r.headers.emplace_back("Retry-After", std::to_string(seconds));
  return r;
}

} // namespace

std::optional<int>
throttle::take(const std::string& name, double size, double per_second, base::wall_time now) {
  auto [it, is_new] = buckets_.try_emplace(name, bucket{size, size, per_second, now});
  auto& b = it->second;
  if (!is_new && now > b.filled) {
    const std::chrono::duration<double> passed = now - b.filled;
    b.level = std::min(b.size, b.level + passed.count() * b.per_second);
    b.filled = now;
  }
  if (b.level >= 1 || !enforced_) {
    b.level = std::max(0.0, b.level - 1);
    return std::nullopt;
  }
  return std::max(1, static_cast<int>(std::ceil((1 - b.level) / b.per_second)));
}

double throttle::level(const std::string& name, double fallback) const {
  const auto it = buckets_.find(name);
  return it == buckets_.end() ? fallback : it->second.level;
}

std::optional<reply> throttle::front_door(
    const net::server_request& http,
    std::string_view subscription,
    std::string_view principal,
    base::wall_time now
) {
  const auto verbs = class_of(http.method);
  const std::string scope = base::to_lower(subscription) + "|" + std::string(verbs.name);
  own_bucket_ = scope + "|" + std::string(principal);
  own_scope_ = "subscription";
  const auto own = take(own_bucket_, verbs.size, verbs.per_second, now);
  const auto all =
      take(scope + "|", verbs.size * global_factor, verbs.per_second * global_factor, now);
  if (!own && !all) {
    return std::nullopt;
  }
  return front_door_refusal(
      verbs, subscription, principal, std::max(own.value_or(0), all.value_or(0))
  );
}

std::optional<reply> throttle::tenant_door(
    const net::server_request& http,
    std::string_view tenant,
    std::string_view principal,
    base::wall_time now
) {
  const auto verbs = class_of(http.method);
  own_bucket_ = "tenant " + base::to_lower(tenant) + "|" + std::string(verbs.name) + "|" +
                std::string(principal);
  own_scope_ = "tenant";
  const auto wait = take(own_bucket_, verbs.size, verbs.per_second, now);
  if (!wait) {
    return std::nullopt;
  }
  reply r = gateway_error(
      429,
      {"TenantRequestsThrottled",
       "Number of '" + std::string(verbs.word) + "' requests for tenant '" + std::string(tenant) +
           "' actor '" + std::string(principal) + "' exceeded. Please try again after '" +
           std::to_string(*wait) + "' seconds."}
  );
  r.headers.emplace_back("Retry-After", std::to_string(*wait));
  return r;
}

std::optional<reply> throttle::graph(std::string_view principal, base::wall_time now) {
  constexpr double size = 15;
  const std::string name = "graph|" + std::string(principal);
  const auto wait = take(name, size, size / 5, now);
  graph_text_ = std::to_string(static_cast<std::int64_t>(level(name, size)));
  if (!wait) {
    return std::nullopt;
  }
  reply r = error_reply(
      429,
      {"RateLimiting",
       "Please provide below info when asking for support: the client application has been "
       "throttled and should not attempt to repeat the request until an amount of time has "
       "elapsed."}
  );
  r.headers.emplace_back("Retry-After", "5");
  return r;
}

std::optional<reply> throttle::provider(
    const net::server_request& http,
    std::string_view subscription,
    std::string_view region,
    base::wall_time now
) {
  const auto& s = http.segments;
  const auto at = std::find_if(s.begin(), s.end(), [](const std::string& part) {
    return equals_ignoring_case(part, "providers");
  });
  if (s.end() - at < 3) {
    return std::nullopt;
  }
  const std::string ns = base::to_lower(*(at + 1));
  const std::string scope =
      base::to_lower(subscription) + "|" + ns + "|" + std::string(region) + "|";
  if (ns == "microsoft.network") {
    const bool read = http.method == "GET";
    const double size = read ? 10'000 : 1000;
    const auto wait = take(scope + (read ? "read" : "write"), size, size / 300, now);
    return wait ? std::optional(network_refusal(*wait)) : std::nullopt;
  }
  if (ns != "microsoft.compute") {
    return std::nullopt;
  }
  const auto rest = s.end() - at; // providers, namespace, type, [name, ...]
  const bool machines = equals_ignoring_case(*(at + 2), "virtualMachines");
  const bool list = http.method == "GET" && equals_ignoring_case(s.back(), "virtualMachines");
  const auto p = compute_policy(http, machines && rest >= 4, list);
  if (p.name.empty()) {
    return std::nullopt;
  }
  const std::string name(p.name);
  if (p.machine_refill > 0) {
    std::string subject = base::to_lower(http.path);
    // Actions and views count on their machine.
    if (machines && rest > 4) {
      subject = subject.substr(0, subject.rfind('/'));
    }
    const double size = p.machine_refill * 3;
    const auto wait = take(scope + name + subject, size, p.machine_refill / 60, now);
    resource_text_ = remaining(name + "3Min", level(scope + name + subject, size)) + ",";
    if (wait) {
      return compute_refusal(name + "3Min", size, *wait);
    }
  }
  const double size = p.region_refill * 3;
  const auto wait = take(scope + name, size, p.region_refill / 60, now);
  resource_text_ += remaining(name + "30Min", level(scope + name, size));
  if (wait) {
    return compute_refusal(name + "30Min", size, *wait);
  }
  return std::nullopt;
}

void throttle::add_headers(
    const net::server_request& http, std::string_view subscription, net::header_list& headers
) {
  const auto verbs = class_of(http.method);
  const std::string scope = base::to_lower(subscription) + "|" + std::string(verbs.name) + "|";
  if (own_scope_ != "tenant") {
    const double full = verbs.size * global_factor;
    headers.emplace_back(
        "x-ms-ratelimit-remaining-subscription-global-" + std::string(verbs.name),
        std::to_string(static_cast<std::int64_t>(level(scope, full - 1)))
    );
  }
  if (!own_bucket_.empty()) {
    headers.emplace_back(
        "x-ms-ratelimit-remaining-" + own_scope_ + "-" + std::string(verbs.name),
        std::to_string(static_cast<std::int64_t>(level(own_bucket_, verbs.size - 1)))
    );
  }
  if (!resource_text_.empty()) {
    const bool partial = resource_text_.back() == ','; // refused by the bucket of one machine
    headers.emplace_back(
        "x-ms-ratelimit-remaining-resource",
        partial ? resource_text_.substr(0, resource_text_.size() - 1) : resource_text_
    );
    if (resource_text_.find("HighCostGet") != std::string::npos) {
      headers.emplace_back("x-ms-request-charge", "1");
    }
  }
  if (!graph_text_.empty()) {
    headers.emplace_back("x-ms-user-quota-remaining", graph_text_);
    headers.emplace_back("x-ms-user-quota-resets-after", "00:00:05");
  }
  own_bucket_.clear();
  own_scope_.clear();
  resource_text_.clear();
  graph_text_.clear();
}

} // namespace siteagent::azure_emulator
