// SPDX-License-Identifier: MIT
// /api/marketplace-offering-users/: the accounts of users with an offering and their life.
#include "events.hpp"
#include "members.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::size_t longest_username = 100;

bool provides(const context& c, const offering_user& x, std::string_view permission) {
  const offering* o = c.data.offerings.find(x.offering);
  return o != nullptr && manages(c.who, *o, permission);
}

struct transition {
  std::string_view action;
  std::string_view target;
  std::vector<std::string_view> sources;
};

const std::vector<transition>& transitions() {
  static const std::vector<transition> all{
      {"begin_creating", "Creating", {"Requested", "Error creating"}},
      {"set_ok",
       "OK",
       {"Requested",
        "Creating",
        "Pending account linking",
        "Pending additional validation",
        "Error creating",
        "Error deleting",
        "Requested deletion",
        "Deleting"}},
      {"set_pending_additional_validation",
       "Pending additional validation",
       {"Creating", "Error creating", "Pending account linking"}},
      {"set_pending_account_linking",
       "Pending account linking",
       {"Creating", "Error creating", "Pending additional validation"}},
      {"set_validation_complete",
       "OK",
       {"Pending additional validation", "Pending account linking"}},
      {"set_error_creating",
       "Error creating",
       {"Requested", "Creating", "Pending account linking", "Pending additional validation"}},
      {"request_deletion",
       "Requested deletion",
       {"OK",
        "Creating",
        "Pending account linking",
        "Pending additional validation",
        "Error creating"}},
      {"set_deleting", "Deleting", {"Requested deletion", "Error deleting"}},
      {"set_deleted", "Deleted", {"Requested", "Deleting"}},
      {"set_error_deleting", "Error deleting", {"Requested deletion", "Deleting"}}};
  return all;
}

reply move_on(context& c, offering_user& x, const transition& t) {
  if (std::find(t.sources.begin(), t.sources.end(), x.state) == t.sources.end()) {
    std::string valid;
    for (std::string_view source : t.sources) {
      valid += (valid.empty() ? "" : ", ") + std::string(source);
    }
    return wrong_state(valid);
  }
  if (t.action.starts_with("set_pending_")) {
    const std::string url = optional_text(c, "comment_url");
    if (!url.empty() && url.find("://") == std::string::npos) {
      return bad_field("comment_url", "Enter a valid URL.");
    }
    x.comment = optional_text(c, "comment");
    x.comment_url = url;
  } else if (t.action == "set_validation_complete") {
    x.comment.clear();
    x.comment_url.clear();
  }
  set_state(c.data, x, t.target, c.call.now);
  return status_text("State has been changed.");
}

reply update_restricted(context& c, offering_user& x) {
  const auto value = c.body["is_restricted"].boolean();
  if (!value) {
    return bad_field("is_restricted", "Must be a valid boolean.");
  }
  x.is_restricted = *value;
  x.modified = c.call.now;
  note(c.data, x, "update", json::object({{"changed_fields", json::array({"is_restricted"})}}));
  return status_text("Restriction status has been updated.");
}

reply patch(context& c, offering_user& x) {
  if (const json* given = c.body.find("username")) {
    const auto text = given->is_null() ? std::optional<std::string_view>("") : given->string();
    if (!text) {
      return bad_field("username", "Not a valid string.");
    }
    if (text->size() > longest_username) {
      return bad_field("username", "Ensure this field has no more than 100 characters.");
    }
    set_username(c.data, x, std::string(*text), c.call.now);
  }
  return ok(show_offering_user(c, x));
}

reply list_users(const context& c) {
  auto of_offering = uuid_filter(c, "offering_uuid");
  if (!of_offering) {
    return of_offering.error();
  }
  auto of_user = uuid_filter(c, "user_uuid");
  if (!of_user) {
    return of_user.error();
  }
  const auto states = values_of(c, "state");
  for (const auto& s : states) {
    if (std::find(offering_user_states.begin(), offering_user_states.end(), s) ==
        offering_user_states.end()) {
      return bad_field(
          "state", "Select a valid choice. " + s + " is not one of the available choices."
      );
    }
  }
  const std::string restricted = c.request.parameter("is_restricted");
  const auto rows = select(c.data.offering_users, [&](const offering_user& x) {
    return (!*of_offering || **of_offering == x.offering) && (!*of_user || **of_user == x.user) &&
           (states.empty() || std::find(states.begin(), states.end(), x.state) != states.end()) &&
           (restricted.empty() || (restricted == "true") == x.is_restricted) &&
           (provides(c, x, "OFFERING.LIST") || x.user == c.who.uuid);
  });
  return list_of(c, rows, show_offering_user);
}

reply create(context& c) {
  const auto uuid_in = [&c](std::string_view key, std::string_view collection) {
    const std::string text = optional_text(c, key);
    const std::string linked = uuid_of_link(text, {collection, "marketplace-public-offerings"});
    return linked.empty() ? hex_or_empty(text) : linked;
  };
  const offering* o = c.data.offerings.find(uuid_in("offering", "marketplace-provider-offerings"));
  const user* u = c.data.users.find(uuid_in("user", "users"));
  if (o == nullptr || u == nullptr) {
    return bad_field(o == nullptr ? "offering" : "user", "Object does not exist.");
  }
  if (!manages(c.who, *o, "OFFERING.CREATE_USER")) {
    return forbidden();
  }
  if (find_offering_user(c.data, o->uuid, u->uuid) != nullptr) {
    return bad_field("non_field_errors", "The fields offering, user must make a unique set.");
  }
  offering_user x;
  x.uuid = random_uuid();
  x.offering = o->uuid;
  x.user = u->uuid;
  x.username = optional_text(c, "username");
  x.state = x.username.empty() ? "Requested" : "OK";
  x.created = c.call.now;
  x.modified = c.call.now;
  const offering_user& stored = c.data.offering_users.add(std::move(x));
  note(c.data, stored, "create");
  return created(show_offering_user(c, stored));
}

reply remove(context& c, const offering_user& x) {
  note(c.data, x, "delete");
  const std::string uuid = x.uuid;
  c.data.offering_users.remove_if([&](const offering_user& y) { return y.uuid == uuid; });
  net::server_response gone;
  gone.status = 204;
  return gone;
}

reply act(context& c, offering_user& x) {
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  if (!provides(c, x, "OFFERING.UPDATE_USER")) {
    return forbidden();
  }
  const std::string action = c.action();
  for (const auto& t : transitions()) {
    if (t.action == action) {
      return move_on(c, x, t);
    }
  }
  return action == "update_restricted" ? update_restricted(c, x) : reply(not_found());
}

} // namespace

reply handle_offering_users(context& c) {
  if (c.is_list()) {
    if (c.is("GET")) {
      return list_users(c);
    }
    return c.is("POST") ? create(c) : reply(method_not_allowed(c));
  }
  offering_user* x = c.data.offering_users.find(hex_or_empty(c.rest[0]));
  if (x == nullptr || !(provides(c, *x, "OFFERING.LIST") || x->user == c.who.uuid)) {
    return not_found();
  }
  if (!c.action().empty()) {
    return act(c, *x);
  }
  if (c.is("GET")) {
    return ok(trimmed(c, show_offering_user(c, *x)));
  }
  if (!provides(c, *x, "OFFERING.UPDATE_USER")) {
    return forbidden();
  }
  if (c.is("PATCH") || c.is("PUT")) {
    return patch(c, *x);
  }
  return c.is("DELETE") ? remove(c, *x) : reply(method_not_allowed(c));
}

} // namespace siteagent::waldur_emulator
