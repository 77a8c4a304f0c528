// SPDX-License-Identifier: MIT
// /api/backend-resource-requests/ (the portal asks what could be imported) and
// /api/backend-resources/ (what an agent answers).
#include "events.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

bool provides(const context& c, std::string_view offering_uuid, std::string_view permission) {
  const offering* o = c.data.offerings.find(offering_uuid);
  return o != nullptr && manages(c.who, *o, permission);
}

std::string uuid_in_body(
    const context& c, std::string_view key, const std::vector<std::string_view>& collections
) {
  const std::string text = optional_text(c, key);
  const std::string linked = uuid_of_link(text, collections);
  return linked.empty() ? hex_or_empty(text) : linked;
}

std::string offering_in_body(const context& c) {
  return uuid_in_body(
      c, "offering", {"marketplace-provider-offerings", "marketplace-public-offerings"}
  );
}

reply create_request(context& c) {
  import_request r;
  r.uuid = random_uuid();
  r.offering = offering_in_body(c);
  r.state = "Sent";
  r.created = c.call.now;
  if (c.data.offerings.find(r.offering) == nullptr) {
    return bad_field("offering", "Object does not exist.");
  }
  if (!provides(c, r.offering, "OFFERING.UPDATE")) {
    return forbidden();
  }
  const import_request& stored = c.data.import_requests.add(std::move(r));
  note(c.data, stored);
  return created(show_import_request(c, stored));
}

reply move_request(context& c, import_request& r, std::string_view action) {
  const bool starts = action == "start_processing";
  const bool fails = action == "set_erred";
  const bool good = starts  ? r.state == "Sent"
                    : fails ? r.state == "Sent" || r.state == "Processing"
                            : r.state == "Processing";
  if (!good) {
    return wrong_state(starts ? "Sent" : fails ? "Sent, Processing" : "Processing");
  }
  if (fails) {
    auto message = required_text(c, "error_message");
    if (!message) {
      return message.error();
    }
    r.error_message = *std::move(message);
    r.error_traceback = optional_text(c, "error_traceback");
  }
  r.state = starts ? "Processing" : fails ? "Erred" : "Done";
  return status_text("Backend resource request state has been changed.");
}

reply create_importable(context& c) {
  importable x;
  x.uuid = random_uuid();
  x.offering = offering_in_body(c);
  x.project = uuid_in_body(c, "project", {"projects"});
  x.created = c.call.now;
  if (c.data.offerings.find(x.offering) == nullptr) {
    return bad_field("offering", "Object does not exist.");
  }
  if (c.data.projects.find(x.project) == nullptr) {
    return bad_field("project", "Object does not exist.");
  }
  if (!provides(c, x.offering, "OFFERING.UPDATE")) {
    return forbidden();
  }
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::string*>{"name", &x.name},
        {"backend_id", &x.backend_id}}) {
    auto text = required_text(c, key);
    if (!text) {
      return text.error();
    }
    *target = *std::move(text);
  }
  if (const json* metadata = c.body.find("backend_metadata")) {
    x.backend_metadata = *metadata;
  }
  const auto& rows = c.data.importables.rows();
  const bool is_known = std::any_of(rows.begin(), rows.end(), [&](const importable& y) {
    return y.offering == x.offering && y.project == x.project && y.backend_id == x.backend_id;
  });
  if (is_known) {
    return bad_field(
        "non_field_errors", "The fields project, offering, backend_id must make a unique set."
    );
  }
  return created(show_importable(c, c.data.importables.add(std::move(x))));
}

// The portal takes one: a resource as if it had been ordered.
reply import_one(context& c, const importable& x) {
  if (!provides(c, x.offering, "OFFERING.UPDATE")) {
    return forbidden();
  }
  resource r;
  r.uuid = random_uuid();
  r.name = x.name;
  r.slug = slugify(x.name);
  r.state = "OK";
  r.offering = x.offering;
  r.project = x.project;
  r.backend_id = x.backend_id;
  r.backend_metadata = x.backend_metadata;
  if (x.backend_metadata["limits"].is_object()) {
    r.limits = x.backend_metadata["limits"];
  }
  r.created = c.call.now;
  r.modified = c.call.now;
  const std::string uuid = x.uuid;
  c.data.importables.remove_if([&](const importable& y) { return y.uuid == uuid; });
  const resource& stored = c.data.resources.add(std::move(r));
  note(c.data, stored);
  return created(show_resource(c, stored));
}

reply list_importables(const context& c) {
  std::optional<std::string> offering;
  std::optional<std::string> project;
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::optional<std::string>*>{"offering_uuid", &offering},
        {"project_uuid", &project}}) {
    auto value = uuid_filter(c, key);
    if (!value) {
      return value.error();
    }
    *target = *std::move(value);
  }
  const auto ids = values_of(c, "backend_id");
  const auto rows = select(c.data.importables, [&](const importable& x) {
    return (ids.empty() || std::find(ids.begin(), ids.end(), x.backend_id) != ids.end()) &&
           (!offering || *offering == x.offering) && (!project || *project == x.project) &&
           provides(c, x.offering, "OFFERING.LIST");
  });
  return list_of(c, rows, show_importable);
}

} // namespace

reply handle_import_requests(context& c) {
  if (c.is_list()) {
    if (c.is("POST")) {
      return create_request(c);
    }
    const auto mine = select(c.data.import_requests, [&](const import_request& r) {
      return provides(c, r.offering, "OFFERING.LIST");
    });
    return c.is("GET") ? list_of(c, mine, show_import_request) : reply(method_not_allowed(c));
  }
  import_request* r = c.data.import_requests.find(hex_or_empty(c.rest[0]));
  if (r == nullptr || !provides(c, r->offering, "OFFERING.LIST")) {
    return not_found();
  }
  const std::string action = c.action();
  if (action.empty()) {
    return c.is("GET") ? reply(ok(trimmed(c, show_import_request(c, *r))))
                       : reply(method_not_allowed(c));
  }
  if (action != "start_processing" && action != "set_done" && action != "set_erred") {
    return not_found();
  }
  if (!c.is("POST")) {
    return method_not_allowed(c);
  }
  return provides(c, r->offering, "OFFERING.UPDATE") ? move_request(c, *r, action)
                                                     : reply(forbidden());
}

reply handle_importables(context& c) {
  if (c.is_list()) {
    if (c.is("POST")) {
      return create_importable(c);
    }
    return c.is("GET") ? list_importables(c) : reply(method_not_allowed(c));
  }
  const importable* x = c.data.importables.find(hex_or_empty(c.rest[0]));
  if (x == nullptr || !provides(c, x->offering, "OFFERING.LIST")) {
    return not_found();
  }
  if (c.action() == "import_resource") {
    return c.is("POST") ? import_one(c, *x) : reply(method_not_allowed(c));
  }
  return c.action().empty() && c.is("GET") ? reply(ok(trimmed(c, show_importable(c, *x))))
                                           : reply(not_found());
}

} // namespace siteagent::waldur_emulator
