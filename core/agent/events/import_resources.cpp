// SPDX-License-Identifier: MIT
// Which machines could be imported.
#include "core/agent/events/import_resources.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/order_run.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <map>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};

class import_answer {
public:
  import_answer(offering_context& offering, portal& waldur, event_portal& events, environment& env)
      : offering_(offering), waldur_(waldur), events_(events), env_(env) {}

  base::result<void> offer_all() {
    if (base::result<void> known = read_known(); !known) {
      return known;
    }
    const base::result<std::vector<base::json>> machines = list_machines();
    if (!machines) {
      return base::with_context(machines.error(), "list machines");
    }
    for (const base::json& machine : *machines) {
      if (env_.stop.stop_requested()) {
        return base::error{base::error_code::cancelled, "the agent is asked to stop"};
      }
      if (base::result<void> offered = offer(machine); !offered) {
        return offered;
      }
    }
    return {};
  }

private:
  // Also of resources that change or end just now: their machines are no strays.
  base::result<void> read_known() {
    const base::result<std::vector<waldur::resource>> resources =
        waldur_.list_resources({"OK", "Erred", "Creating", "Updating", "Terminating"});
    if (!resources) {
      return base::with_context(resources.error(), "list resources");
    }
    for (const waldur::resource& r : *resources) {
      known_ids_.insert(base::to_lower(base::trim(r.backend_id)));
      known_.insert(r.uuid.hex()); // being created: no id yet, but its tag
    }
    return {};
  }

  base::result<std::vector<base::json>> list_machines() {
    const base::result<std::shared_ptr<backend>> cloud =
        offering_.backend_for(offering_.config().order_processing_backend);
    if (!cloud) {
      return cloud.error();
    }
    if (base::result<void> admitted = offering_.admit(**cloud); !admitted) {
      return std::move(admitted).error();
    }
    const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
    if (!info) {
      return info.error();
    }
    progress_board::activity activity = env_.progress.begin(
        "importable machines of " + offering_.config().name,
        (*cloud)->deadline_of(host::operation::list_resources) + call_grace
    );
    host::call_request request;
    request.body.set("tags", offering_tags(offering_.config().uuid));
    request.body.set("uuid_tag", tag_resource);
    request.body.set("components", (*info)->components_body);
    request.body.set("objects", false);
    host::call_options options;
    options.stop = env_.stop;
    options.checkpoint =
        make_checkpoint(env_, offering_, activity, nullptr, offering_.log(), std::string("import"));
    base::result<std::vector<base::json>> rows =
        (*cloud)->call(host::operation::list_resources, request, options);
    if (!rows && react_to(rows.error()) == reaction::hold_offering) {
      offering_.hold(rows.error());
    }
    return rows;
  }

  base::result<void> offer(const base::json& machine) {
    const std::string id = machine["backend_id"].string_or("");
    if (id.empty() || known_ids_.contains(base::to_lower(id)) ||
        known_.contains(machine["uuid"].string_or(""))) {
      return {};
    }
    const std::string slug = machine["tags"][tag_project].string_or("");
    const base::result<std::optional<base::uuid>> project = find_project(slug);
    if (!project) {
      return project.error();
    }
    if (!*project) {
      offering_.log().info(
          "machine not offered for import: its project is not known",
          {{"backend_id", id}, {"project", slug}}
      );
      return {};
    }
    const base::result<bool> there = events_.is_importable_known(**project, id);
    if (!there) {
      return there.error();
    }
    if (*there) {
      return {};
    }
    base::json metadata;
    metadata.set(
        "limits", machine["limits"].is_object() ? machine["limits"] : base::json::object()
    );
    base::result<void> submitted = events_.submit_importable(**project, id, metadata);
    if (submitted) {
      offering_.log().info("machine offered for import", {{"backend_id", id}, {"project", slug}});
    }
    return submitted;
  }

  base::result<std::optional<base::uuid>> find_project(const std::string& slug) {
    if (slug.empty()) {
      return std::optional<base::uuid>();
    }
    const auto known = projects_.find(slug);
    if (known != projects_.end()) {
      return known->second;
    }
    base::result<std::optional<base::uuid>> found = events_.find_project(slug);
    if (found) {
      projects_.emplace(slug, *found);
    }
    return found;
  }

  offering_context& offering_;
  portal& waldur_;
  event_portal& events_;
  environment& env_;
  std::set<std::string> known_ids_; // in lower case
  std::set<std::string> known_;     // uuids
  std::map<std::string, std::optional<base::uuid>> projects_;
};

} // namespace

base::result<void> answer_import_request(
    offering_context& offering,
    portal& waldur,
    event_portal& events,
    environment& env,
    const base::uuid& request
) {
  const base::result<std::string> state = events.get_import_request(request);
  if (!state) {
    return state.error();
  }
  if (base::equals_ignoring_case(*state, "done") || base::equals_ignoring_case(*state, "erred")) {
    return {};
  }
  // In processing already: begun by an agent that did not live to end it.
  if (base::result<void> started = events.start_import(request);
      !started && !is_state_conflict(started.error())) {
    return started;
  }
  const base::result<void> offered = import_answer(offering, waldur, events, env).offer_all();
  if (offered) {
    return repeat_write(env, [&] { return events.finish_import(request); });
  }
  if (!env.stop.stop_requested()) {
    // The cloud's own words stay in the log.
    const std::string text = offered.error().public_message.empty()
                                 ? "The machines of this offering cannot be listed now"
                                 : safe_text(offered.error().public_message);
    (void)repeat_write(env, [&] { return events.fail_import(request, text); });
  }
  return offered;
}

} // namespace siteagent::agent
