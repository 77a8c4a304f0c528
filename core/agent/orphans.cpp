// SPDX-License-Identifier: MIT
// Tagged objects without a live resource, and resources without a machine.
#include "core/agent/orphans.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <map>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};

// What Waldur says about the resource of an object.
struct standing {
  bool over = false; // positively: nothing live can need the object
  std::string why = {};
  std::string machine = {}; // the backend id of a live resource
  std::string state = {};
};

standing standing_of(const base::result<waldur::resource>& read) {
  if (!read) {
    const bool hidden = react_to(read.error()) == reaction::not_there;
    return {
        .why = hidden ? "Waldur does not show its resource to this agent"
                      : "its resource cannot be read: " + read.error().message};
  }
  const waldur::resource& r = *read;
  standing s{.machine = std::string(base::trim(r.backend_id)), .state = r.state};
  const std::string who = "resource " + r.name;
  if (r.state == "Terminated") {
    s.over = true;
    s.why = who + " is Terminated";
  } else if (r.state == "Erred" && s.machine.empty()) {
    s.over = true;
    s.why = who + " is Erred and never had a machine";
  }
  return s;
}

class search {
public:
  search(offering_context& offering, portal& waldur, environment& env)
      : offering_(offering), waldur_(waldur), env_(env),
        activity_(env.progress.begin(
            "orphans of " + offering.config().name, std::chrono::hours(1) + call_grace
        )) {}

  base::result<orphan_report> run() {
    base::result<std::shared_ptr<backend>> cloud =
        offering_.backend_for(offering_.config().order_processing_backend);
    if (!cloud) {
      return std::move(cloud).error();
    }
    cloud_ = *std::move(cloud);
    orphan_report report;
    if (base::result<void> done = look_at_objects(report); !done) {
      return std::move(done).error();
    }
    if (base::result<void> done = look_for_machines(report); !done) {
      return std::move(done).error();
    }
    return report;
  }

private:
  base::result<std::vector<base::json>> list(bool single_objects) {
    host::call_request request;
    request.body.set("tags", offering_tags(offering_.config().uuid));
    request.body.set("uuid_tag", tag_resource);
    request.body.set("objects", single_objects);
    request.body.set("prices", single_objects);
    return cloud_->call(host::operation::list_resources, request, options("orphans"));
  }

  host::call_options options(const char* what) {
    host::call_options o;
    o.stop = env_.stop;
    o.checkpoint = make_checkpoint(env_, offering_, activity_, nullptr, offering_.log(), what);
    return o;
  }

  const standing& of(const base::uuid& resource) {
    const auto known = standings_.find(resource);
    return known != standings_.end()
               ? known->second
               : standings_.emplace(resource, standing_of(waldur_.get_resource(resource)))
                     .first->second;
  }

  base::result<void> look_at_objects(orphan_report& report) {
    base::result<std::vector<base::json>> machines = list(false);
    if (!machines) {
      return base::with_context(std::move(machines).error(), "list machines");
    }
    for (const base::json& m : *machines) {
      machines_.insert(base::to_lower(m["backend_id"].string_or("")));
    }
    base::result<std::vector<base::json>> objects = list(true);
    if (!objects) {
      return base::with_context(std::move(objects).error(), "list tagged objects");
    }
    for (const base::json& o : *objects) {
      if (std::optional<orphan_object> found = judge(o)) {
        report.objects.push_back(*std::move(found));
      }
    }
    return {};
  }

  // nullopt: somebody live is behind it.
  std::optional<orphan_object> judge(const base::json& o) {
    orphan_object made;
    made.id = o["id"].string_or("");
    made.kind = o["kind"].string_or("object");
    made.resource = base::uuid::parse(o["uuid"].string_or(""));
    made.created = base::parse_rfc3339(o["created_at"].string_or(""));
    made.price_month = o["price_month"].number_text().value_or("");
    made.currency = o["currency"].string_or("");
    if (!made.resource) {
      made.why = "its tag names no resource";
      made.why_not = "nobody can tell whose it is";
      return made;
    }
    const standing& s = of(*made.resource);
    made.why = s.why;
    if (s.over) {
      made.why_not = too_young(made.created);
      return made;
    }
    if (s.state.empty()) {
      made.why_not = "unknown is not gone";
      return made;
    }
    const bool second_machine = machines_.contains(base::to_lower(made.id)) && !s.machine.empty() &&
                                !base::equals_ignoring_case(s.machine, made.id);
    if (!second_machine) {
      return std::nullopt;
    }
    made.why = "its resource is " + s.state + " with another machine: " + s.machine;
    made.why_not = "its resource is alive";
    return made;
  }

  std::string too_young(const std::optional<base::wall_time>& created) const {
    if (!created) {
      return "the cloud does not say when it was created";
    }
    return env_.clock.wall() - *created < youngest_orphan ? "it is younger than a day" : "";
  }

  base::result<void> look_for_machines(orphan_report& report) {
    base::result<std::vector<waldur::resource>> resources = waldur_.list_resources({"OK", "Erred"});
    if (!resources) {
      return base::with_context(std::move(resources).error(), "list resources");
    }
    std::erase_if(*resources, [](const waldur::resource& r) {
      return base::trim(r.backend_id).empty();
    });
    if (resources->empty()) {
      return {};
    }
    host::call_request request;
    request.body.set("resources", resource_refs(*resources));
    request.body.set("tags", offering_tags(offering_.config().uuid));
    request.body.set("uuid_tag", tag_resource);
    base::result<std::vector<base::json>> rows =
        cloud_->call(host::operation::pull_resources, request, options("missing machines"));
    if (!rows) {
      return base::with_context(std::move(rows).error(), "read machines");
    }
    const std::map<base::uuid, base::json> seen = rows_by_uuid(*std::move(rows));
    for (const waldur::resource& r : *resources) {
      const auto row = seen.find(r.uuid);
      if (row != seen.end() && row->second["presence"].string_or("") == "absent") {
        report.missing.push_back({r.uuid, r.name, r.state, r.backend_id});
      }
    }
    return {};
  }

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  progress_board::activity activity_;
  std::shared_ptr<backend> cloud_;
  std::map<base::uuid, standing> standings_;
  std::set<std::string> machines_; // ids in lower case
};

base::result<void> delete_one(
    offering_context& offering,
    portal& waldur,
    environment& env,
    backend& cloud,
    const orphan_object& object
) {
  const standing now = standing_of(waldur.get_resource(*object.resource));
  if (!now.over) {
    return base::error{
        .code = base::error_code::conflict,
        .message =
            object.id + " stays: " + (now.why.empty() ? "its resource is alive again" : now.why)};
  }
  progress_board::activity activity = env.progress.begin(
      "deletion of " + object.id, cloud.deadline_of(host::operation::delete_resource) + call_grace
  );
  const std::string reference = base::uuid::random().hex();
  host::call_request request;
  request.target = object.id;
  request.idempotency_key = object.resource->hex();
  request.body.set("offering", offering_to_json(offering.config()));
  request.body.set("tags", resource_tags(offering.config().uuid, *object.resource, ""));
  request.body.set("uuid_tag", tag_resource);
  host::call_options options;
  options.stop = env.stop;
  options.trace_id = reference;
  options.checkpoint = make_checkpoint(
      env,
      offering,
      activity,
      nullptr,
      offering.log().with("resource", object.resource->hex()),
      reference
  );
  base::result<std::vector<base::json>> answer =
      cloud.call(host::operation::delete_resource, request, options);
  if (!answer && react_to(answer.error()) != reaction::not_there) {
    return std::move(answer).error();
  }
  return {};
}

} // namespace

base::result<orphan_report>
find_orphans(offering_context& offering, portal& waldur, environment& env) {
  return search(offering, waldur, env).run();
}

base::result<std::vector<deletion>> delete_orphans(
    offering_context& offering,
    portal& waldur,
    environment& env,
    const std::vector<orphan_object>& chosen
) {
  base::result<std::shared_ptr<backend>> cloud =
      offering.backend_for(offering.config().order_processing_backend);
  if (!cloud) {
    return std::move(cloud).error();
  }
  std::vector<deletion> report;
  for (const orphan_object& o : chosen) {
    deletion line{o.id, std::nullopt};
    if (!o.why_not.empty() || !o.resource) {
      line.failure = base::error{
          .code = base::error_code::conflict,
          .message = o.id + " may not be deleted: " + o.why_not};
    }
    report.push_back(std::move(line));
  }
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!report[i].failure) {
      open.push_back(i);
    }
  }
  for (std::size_t before = open.size() + 1; open.size() < before && !env.stop.stop_requested();) {
    before = open.size();
    std::erase_if(open, [&](std::size_t i) {
      base::result<void> done = delete_one(offering, waldur, env, **cloud, chosen[i]);
      report[i].failure = done ? std::nullopt : std::optional<base::error>(std::move(done).error());
      return !report[i].failure;
    });
  }
  return report;
}

} // namespace siteagent::agent
