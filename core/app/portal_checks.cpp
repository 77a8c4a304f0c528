// SPDX-License-Identifier: MIT
#include "core/app/portal_checks.hpp"

#include "core/app/assemble.hpp"
#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::app {

namespace {

using base::json;

constexpr std::string_view agent_offering_type = "Marketplace.Slurm";
constexpr std::string_view wanted_role = "OFFERING.MANAGER";

std::string give_role(const config::offering& offering, const std::string& user) {
  return "; in Waldur, give user " + user + " the role " + std::string(wanted_role) +
         " on offering " + offering.uuid.hex();
}

// The client says what failed and why; this adds what helps here.
std::string with_remedy(const base::error& e, const config::offering& offering) {
  if (e.code == base::error_code::forbidden || e.code == base::error_code::not_found) {
    return e.message + give_role(offering, "of the token");
  }
  const bool passing = e.http_status != 0 && base::class_of(e.code) == base::error_class::transient;
  return passing ? e.message + "; try again later" : e.message;
}

bool is_scope(const json& grant, const std::optional<base::uuid>& wanted) {
  const auto scope = base::uuid::parse(grant["scope_uuid"].string_or(""));
  return scope && wanted && *scope == *wanted;
}

// Does the role let its holder carry out the offering's orders?
bool acts_as_provider(
    const json& grant, const config::offering& offering, const waldur::offering* seen
) {
  const std::string role = grant["role_name"].string_or("");
  return (role == wanted_role && is_scope(grant, offering.uuid)) ||
         (role == "CUSTOMER.OWNER" && seen != nullptr && is_scope(grant, seen->customer));
}

void check_state(const waldur::offering& seen, check_report& report) {
  const std::string what = "offering in Waldur";
  const std::string shown = seen.name + (seen.name.empty() ? "" : ", ") + "type " + seen.type +
                            ", state " + seen.state + ", " +
                            std::to_string(seen.components.size()) + " component(s)";
  if (!seen.type.empty() && seen.type != agent_offering_type) {
    report.failed(
        what,
        shown + "; an agent can only complete orders of type " + std::string(agent_offering_type) +
            ": make an offering of that type"
    );
  } else if (seen.state == "Paused") {
    report.ok(what, shown + ": takes no new orders until it is resumed");
  } else if (!seen.state.empty() && seen.state != "Active") {
    report.failed(what, shown + "; nobody can order from it: activate it in Waldur");
  } else {
    report.ok(what, shown);
  }
}

void check_component(
    const config::component& local, const waldur::offering& seen, check_report& report
) {
  const std::string what = "component " + local.type;
  const auto it = std::find_if(
      seen.components.begin(),
      seen.components.end(),
      [&](const waldur::offering_component& c) { return c.type == local.type; }
  );
  if (it == seen.components.end()) {
    report.failed(
        what,
        "not in Waldur, so its usage would not be booked; add it to the offering, billed " +
            local.accounting_type
    );
  } else if (it->billing_type.empty() || it->billing_type == local.accounting_type) {
    report.ok(what, "billed " + local.accounting_type);
  } else {
    report.failed(
        what,
        "billed " + it->billing_type + " in Waldur, accounting_type " + local.accounting_type +
            " in the configuration; make them equal"
    );
  }
}

void check_power_option(
    const config::offering& offering,
    const waldur::offering& seen,
    std::string_view option,
    std::string_view action,
    check_report& report
) {
  const std::string verb(action);
  if (!seen.plugin_options[option].boolean().value_or(false)) {
    report.ok(
        option,
        "not set, so staff cannot " + verb +
            " resources; set this plugin option of the offering "
            "to offer it"
    );
  } else if (offering.membership_sync_backend.empty()) {
    report.failed(
        option,
        "set in Waldur, but no plugin does it: set membership_sync_backend, or unset the option"
    );
  } else {
    report.ok(option, "set: staff can " + verb + " resources");
  }
}

void check_keys(
    waldur::client& client,
    const config::offering& offering,
    const waldur::offering& seen,
    check_report& report
) {
  if (!seen.customer) {
    return;
  }
  const auto keys = client.list_ssh_keys(*seen.customer);
  if (keys) {
    report.ok("SSH keys", std::to_string(keys->size()) + " of the service provider readable");
  } else {
    report.failed(
        "SSH keys",
        with_remedy(keys.error(), offering) + "; until then orders that name a registered key wait"
    );
  }
}

bool has_any(const json& options, const json& names) {
  return std::any_of(names.items().begin(), names.items().end(), [&](const json& name) {
    return options[name.string_or("")].is_object();
  });
}

void check_absent_option(const json& wanted, const json& form, check_report& report) {
  const std::string name = wanted["name"].string_or("");
  const std::string what = "order option " + name;
  if (has_any(form["options"], wanted["instead"])) {
    report.ok(what, "another option of the form serves instead");
  } else if (wanted["required"].boolean().value_or(false)) {
    report.failed(
        what,
        "not in the order form, so orders made with it are refused; paste what 'offering-options' "
        "prints into the offering's options"
    );
  } else if (const std::string usual = wanted["default"].string_or(""); !usual.empty()) {
    report.ok(what, "not in the order form; orders get " + usual);
  }
}

void check_present_option(const json& wanted, const json& given, check_report& report) {
  const std::string what = "order option " + wanted["name"].string_or("");
  const std::size_t count = given["choices"].size();
  if (!given["type"].string_or("").starts_with("select")) {
    report.ok(what, "free text in the order form");
    return;
  }
  if (count == 0) {
    report.failed(what, "has no choices; paste those that 'offering-options' prints");
    return;
  }
  std::vector<std::string> broken;
  for (const json& choice : wanted["left_out"].items()) {
    broken.push_back(choice["choice"].string_or("") + " (" + choice["reason"].string_or("") + ")");
  }
  if (broken.empty()) {
    report.ok(what, std::to_string(count) + " choice(s), all can be ordered");
  } else {
    report.failed(
        what,
        std::to_string(broken.size()) + " of " + std::to_string(count) +
            " choices cannot be ordered: " + base::join(broken, ", ") +
            "; remove them from the offering's options"
    );
  }
}

} // namespace

void check_role(
    const config::offering& offering,
    const json& user,
    const waldur::offering* seen,
    base::wall_time now,
    check_report& report
) {
  const std::string what = "permission for orders";
  const std::string name = user["username"].string_or("of the token");
  if (user["is_staff"].boolean().value_or(false)) {
    report.ok(what, "staff");
    return;
  }
  bool any_shown = false;
  for (const json& grant : user["permissions"].items()) {
    any_shown |= !grant["scope_uuid"].is_null();
    if (!acts_as_provider(grant, offering, seen)) {
      continue;
    }
    const std::string until = grant["expiration_time"].string_or("");
    const auto end = base::parse_rfc3339(until);
    if (end && *end <= now) {
      report.failed(what, "the role ended at " + until + give_role(offering, name));
      return;
    }
    report.ok(what, grant["role_name"].string_or("") + (until.empty() ? "" : ", until " + until));
    return;
  }
  // Servers may hide the roles of agents; then reading the offering as its provider is the proof.
  if (!any_shown && seen != nullptr) {
    report.ok(what, "roles are not shown; the offering can be read as its provider");
  } else {
    report.failed(what, "no role on the offering" + give_role(offering, name));
  }
}

void check_offering(
    const config::offering& offering, const waldur::offering& seen, check_report& report
) {
  check_state(seen, report);
  for (const config::component& c : offering.components) {
    check_component(c, seen, report);
  }
  check_power_option(offering, seen, "supports_pausing", "pause", report);
  check_power_option(offering, seen, "supports_downscaling", "downscale", report);
}

std::optional<waldur::offering>
check_portal(const config::offering& offering, check_report& report) {
  const base::result<std::unique_ptr<waldur::client>> client =
      make_client(offering, "diagnostics", nullptr, {});
  if (!client) {
    report.failed("Waldur", client.error().message);
    return std::nullopt;
  }
  const base::result<json> user = (*client)->users_me();
  report.add(
      user.has_value(),
      "Waldur user",
      user ? (*user)["username"].string_or("") : with_remedy(user.error(), offering)
  );
  base::result<waldur::offering> seen = (*client)->get_offering(offering.uuid);
  if (user) {
    check_role(offering, *user, seen ? &*seen : nullptr, base::real_clock().wall(), report);
  }
  if (seen) {
    check_offering(offering, *seen, report);
    check_keys(**client, offering, *seen, report);
  } else {
    report.failed("offering in Waldur", with_remedy(seen.error(), offering));
  }
  const base::result<std::vector<waldur::order>> orders = (*client)->list_orders(offering.uuid);
  report.add(
      orders.has_value(),
      "open orders",
      orders ? std::to_string(orders->size()) : with_remedy(orders.error(), offering)
  );
  return seen ? std::optional(*std::move(seen)) : std::nullopt;
}

json choices_of_form(const json& form) {
  json out = json::object();
  for (const auto& [name, option] : form["options"].members()) {
    if (option["choices"].size() > 0) {
      out.set(name, option["choices"]);
    }
  }
  return out;
}

void check_order_form(const json& form, const std::vector<json>& options, check_report& report) {
  for (const json& wanted : options) {
    const json& given = form["options"][wanted["name"].string_or("")];
    if (given.is_object()) {
      check_present_option(wanted, given, report);
    } else {
      check_absent_option(wanted, form, report);
    }
  }
}

} // namespace siteagent::app
