// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/create_rules.hpp"

#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/reap.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

base::error refused(std::string message) {
  return {.code = base::error_code::refused, .message = std::move(message)};
}

base::result<void>
check_name(const context& c, const base::json& registry, const std::string& name) {
  const std::size_t longest = c.cloud->description().name_max;
  if (name.size() > longest) {
    return refused(
        "'" + printable(name, 80) + "' is longer than the " + std::to_string(longest) +
        " characters a cloud host's name may have"
    );
  }
  if (!is_target_identifier(name)) {
    return refused(
        "'" + printable(name, 64) +
        "' is not a target identifier: lower-case letters, digits, '.', '_' and '-', the first and "
        "last of them a letter or digit"
    );
  }
  if (find_target(registry, name)) {
    return refused("target '" + name + "' is already registered");
  }
  return {};
}

// Such a host would be taken for this machine and never be reached.
base::result<void> check_not_this_machine(const context& c, const std::string& name) {
  const std::string here = base::to_lower(c.local_hostname);
  const std::string short_here = here.substr(0, here.find('.'));
  for (const std::string& n : {name, computer_name_of(name)}) {
    if (n == here || n == short_here) {
      return refused("the name " + name + " is the host name of this machine; choose another one");
    }
  }
  return {};
}

base::result<void>
check_no_other_create(const context& c, const base::json& registry, const std::string& name) {
  const auto other = find_unfinished(c, registry, name);
  if (!other) {
    return other.error();
  }
  if (!*other) {
    return {};
  }
  if ((*other)->state == unfinished::life::dead) {
    return refused(
        "an earlier create of " + (*other)->text() + " was interrupted; stado cloud host delete " +
        name + " --provider " + c.id() + " returns what it left, then create it again"
    );
  }
  return refused("cloud host " + (*other)->text() + " is being created; wait for that");
}

// A key of this type has one length, so the first boot's text can be measured before there is one.
base::result<void> check_user_data(const context& c, const std::string& name) {
  constexpr std::size_t key_characters = 68;
  const std::string key =
      "ssh-ed25519 " + std::string(key_characters, 'A') + " " + key_item_of(name);
  const std::size_t size = render_user_data(c.bound.login, key).size();
  const std::size_t most = c.cloud->description().user_data_max_bytes;
  if (size > most) {
    return refused(
        "the first boot's text for " + name + " has " + std::to_string(size) +
        " bytes, and the provider takes " + std::to_string(most)
    );
  }
  return {};
}

} // namespace

std::string computer_name_of(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '.', '-');
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

base::result<registry_snapshot> read_for_create(const context& c) {
  if (auto url = check_declared_api_url(c); !url) {
    return url.error();
  }
  auto registry = c.registry->read();
  if (!registry) {
    return registry;
  }
  if (auto admit_from = admit_from_of(registry->document); !admit_from) {
    return admit_from.error();
  }
  return registry;
}

base::result<void>
check_free(const context& c, const base::json& registry, const create_request& r) {
  if (auto name = check_name(c, registry, r.name); !name) {
    return name;
  }
  if (auto other = check_no_other_create(c, registry, r.name); !other) {
    return other;
  }
  if (auto here = check_not_this_machine(c, r.name); !here) {
    return here;
  }
  return check_enrollable(registry, r.name, {computer_name_of(r.name)});
}

base::result<std::string>
check_request(const context& c, const base::json& registry, const create_request& r) {
  if (auto free = check_free(c, registry, r); !free) {
    return free.error();
  }
  if (auto fits = check_user_data(c, r.name); !fits) {
    return fits.error();
  }
  return c.cloud->validate_host(
      {.name = r.name, .location = r.location, .size = r.size, .disk_gb = r.disk_gb}
  );
}

std::vector<std::string> asked_locations(const context& c, std::string_view location) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view text) {
    const std::string one = base::to_lower(base::trim(text));
    if (!one.empty() && std::find(out.begin(), out.end(), one) == out.end()) {
      out.push_back(one);
    }
  };
  for (const std::string& configured : c.bound.locations) {
    add(configured);
  }
  add(location);
  return out;
}

base::result<priced_size> price_of(const context& c, const create_request& r) {
  const auto asked = asked_locations(c, r.location);
  c.talk->waiting("the hours of " + r.size + " in " + base::join(asked, ", "));
  const auto quotes = c.cloud->price_size(r.size, asked);
  if (!quotes) {
    return with_context(
        quotes.error(), "the hour of " + r.size + " in " + base::join(asked, ", ") + " is unknown"
    );
  }
  return highest_hour(*quotes, r.location, asked);
}

create_host_request host_request(
    const context& c,
    const create_request& r,
    const std::map<std::string, egress_record>& records,
    std::string_view group_id,
    std::string_view started_at
) {
  create_host_request out;
  out.place = {.name = r.name, .location = r.location, .size = r.size, .disk_gb = r.disk_gb};
  out.login = c.bound.login;
  out.addresses = addresses_of(records);
  out.group_id = group_id;
  out.tags = base::json::object(
      {{std::string(host_tag), r.name}, {std::string(created_tag), std::string(started_at)}}
  );
  return out;
}

base::result<admitted_location> place_in(const admission& a, std::string_view location) {
  for (const admitted_location& l : a.locations) {
    if (base::equals_ignoring_case(l.location, location)) {
      return l;
    }
  }
  return base::error{
      .code = base::error_code::plugin_bug,
      .message = "the plugin admitted the addresses without a word on " + std::string(location)};
}

void warn_without_reaper(const context& c, const base::json& registry, std::int64_t idle_minutes) {
  constexpr std::int64_t hour = 60;
  constexpr std::int64_t year = 366 * 24 * hour; // a time must hold it
  const std::chrono::minutes bound(std::clamp(idle_minutes, hour, year));
  const auto last = last_applied_pass(registry, c.id());
  if (last && c.clock->wall() - *last <= bound) {
    return;
  }
  c.talk->warn(
      (last ? "the last applied reap pass ran at " + base::to_rfc3339(*last)
            : std::string("no applied reap pass is known")) +
      ", so nothing would return an idle host; run stado coordinator, or stado cloud host reap "
      "--provider " +
      c.id() + " --apply from a timer"
  );
}

} // namespace siteagent::fleet::cloud_host
