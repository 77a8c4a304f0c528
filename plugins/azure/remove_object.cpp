// SPDX-License-Identifier: MIT
#include "plugins/azure/remove_object.hpp"

#include "core/base/text.hpp"
#include "core/net/retry.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

// How long each kind of refusal is believed to be passing.
constexpr milliseconds in_use_patience = std::chrono::minutes(3);
constexpr milliseconds reserved_patience = std::chrono::minutes(5);
constexpr milliseconds busy_patience = std::chrono::minutes(5);
constexpr unsigned most_ambiguous = 5;

class patience_of_removal {
public:
  patience_of_removal(const services& cloud, bool eager)
      : cloud_(cloud), eager_(eager), started_(cloud.clock().steady()),
        given_(cloud.hosts() ? std::optional(cloud.hosts()->removal) : std::nullopt) {}

  // nullopt: give up.
  std::optional<milliseconds> next(const base::error& e) {
    const milliseconds floor = cloud_.arm().options().floor;
    const milliseconds passed = std::chrono::ceil<milliseconds>(cloud_.clock().steady() - started_);
    switch (reason_of(e)) {
    case reason::in_use:
      // References linger for a while after what held them is gone.
      return eager_ && passed < given_.value_or(in_use_patience) ? std::optional(growing(floor * 5))
                                                                 : std::nullopt;
    case reason::nic_reserved:
      return passed < given_.value_or(reserved_patience) ? std::optional(floor * 15) : std::nullopt;
    case reason::busy:
    case reason::precondition: // none was set: somebody else's write came between
    case reason::superseded:
    case reason::half_made:
      return passed < given_.value_or(busy_patience)
                 ? std::optional(std::max(e.retry_after.value_or(floor * 5), floor))
                 : std::nullopt;
    case reason::ambiguous:
      return (given_ ? passed < *given_ : ambiguous_++ < most_ambiguous)
                 ? std::optional(growing(floor))
                 : std::nullopt;
    case reason::throttled:
      return given_ && passed < *given_
                 ? std::optional(std::max(e.retry_after.value_or(floor * 10), floor))
                 : std::nullopt;
    default:
      return std::nullopt;
    }
  }

private:
  milliseconds growing(milliseconds first) {
    return net::backoff{first, first * 8}.delay(tries_++, 1.0);
  }

  const services& cloud_;
  bool eager_;
  base::steady_time started_;
  std::optional<milliseconds> given_; // by the owner of cloud hosts
  unsigned tries_ = 0;
  unsigned ambiguous_ = 0;
};

// "Not found" as the answer to a DELETE is believed when a look says the same: what still holds on
// to others would keep them busy for minutes.
base::result<void> confirm_absence(
    const services& cloud, const arm::scope& call, const kind& k, const resource_id& id
) {
  const auto seen =
      arm::read_if_present(cloud.arm(), call, url_of(id, k), describe("look for", k, id));
  if (!seen) {
    return seen.error();
  }
  if (*seen) {
    return make_error(
        reason::busy,
        base::error_code::transient,
        describe("delete", k, id) + ": Azure does not find it and shows it"
    );
  }
  return {};
}

base::result<void>
delete_once(const services& cloud, const arm::scope& call, const kind& k, const resource_id& id) {
  arm::write_request w;
  w.method = "DELETE";
  w.path = url_of(id, k) + std::string(k.delete_query);
  w.what = describe("delete", k, id);
  const std::string what = w.what;
  auto started = checked_write(cloud, call, k, id, std::move(w));
  if (!started) {
    if (started.error().code != base::error_code::not_found) {
      return std::move(started).error();
    }
    return confirm_absence(cloud, call, k, id);
  }
  auto gone = arm::follow(cloud.arm(), call, *started, following(cloud, k, id, "delete", what));
  if (!gone) {
    return std::move(gone).error();
  }
  return {};
}

struct version_row {
  std::string_view provider;
  std::string_view version;
};

constexpr auto versions = std::to_array<version_row>(
    {{"Microsoft.Compute", "2024-07-01"},
     {"Microsoft.Network", "2024-05-01"},
     {"Microsoft.Resources", "2021-04-01"}}
);

} // namespace

base::result<void> remove_object(
    const services& cloud, const arm::scope& call, const kind& k, const resource_id& id, bool eager
) {
  patience_of_removal again(cloud, eager);
  for (;;) {
    auto done = delete_once(cloud, call, k, id);
    if (done) {
      cloud.info(describe("deleted", k, id));
      return cloud.hosts() ? note_removed(call, k, id) : base::result<void>();
    }
    if (arm::is_stop(done.error())) {
      return done;
    }
    // After a doubt, look: it may be gone already, and a second DELETE would only confuse.
    std::optional<bool> still_there;
    while (!still_there) {
      const auto pause = again.next(done.error());
      if (!pause || *pause > call.remaining()) {
        return done;
      }
      if (auto slept = call.wait(*pause); !slept) {
        return slept;
      }
      auto seen =
          arm::read_if_present(cloud.arm(), call, url_of(id, k), describe("look for", k, id));
      if (seen) {
        still_there = seen->has_value();
      } else if (cloud.hosts() && !arm::is_stop(seen.error())) {
        done = std::move(seen).error();
      } else {
        return std::move(seen).error();
      }
    }
    if (!*still_there) {
      return cloud.hosts() ? note_removed(call, k, id) : base::result<void>();
    }
  }
}

kind kind_for(const resource_id& id) {
  if (const kind* known = find_kind(id.type())) {
    return *known;
  }
  kind out = kind_of(kind_id::network_interface);
  out.name = "object";
  out.created = false;
  out.prefix = "";
  for (const version_row& v : versions) {
    if (base::equals_ignoring_case(v.provider, id.provider)) {
      out.api_version = v.version;
    }
  }
  return out;
}

} // namespace siteagent::azure
