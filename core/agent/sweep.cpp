// SPDX-License-Identifier: MIT
// Removes what earlier runs left in the cloud.
#include "core/agent/sweep.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>
#include <vector>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};

} // namespace

sweep::sweep(offering_context& offering, portal& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env) {}

sweep::~sweep() {
  group_.wait();
}

void sweep::start() {
  if (running_.exchange(true)) {
    return;
  }
  env_.pool.submit(group_, [this] {
    run();
    running_ = false;
  });
}

void sweep::run() {
  if (env_.stop.stop_requested()) {
    return;
  }
  const base::result<std::shared_ptr<backend>> cloud =
      offering_.backend_for(offering_.config().order_processing_backend);
  if (!cloud || !offering_.admit(**cloud)) {
    return; // the order pass says so
  }
  const base::result<std::map<base::uuid, found>> objects = list(**cloud);
  if (!objects) {
    if (react_to(objects.error()) == reaction::hold_offering) {
      offering_.hold(objects.error());
    } else if (!env_.stop.stop_requested()) {
      offering_.log().failure(
          observe::level::warning, "leftovers cannot be looked for", objects.error()
      );
    }
    return;
  }
  for (const auto& [resource, what] : *objects) {
    if (env_.stop.stop_requested()) {
      return;
    }
    settle(**cloud, resource, what);
  }
}

// Everything with our tags, by resource; which of them have a machine.
base::result<std::map<base::uuid, sweep::found>> sweep::list(backend& cloud) {
  std::map<base::uuid, found> objects;
  for (const bool single_objects : {true, false}) {
    progress_board::activity activity = env_.progress.begin(
        "sweep of " + offering_.config().name,
        cloud.deadline_of(host::operation::list_resources) + call_grace
    );
    host::call_request request;
    request.body.set("tags", offering_tags(offering_.config().uuid));
    request.body.set("uuid_tag", tag_resource);
    request.body.set("objects", single_objects);
    host::call_options options;
    options.stop = env_.stop;
    options.checkpoint =
        make_checkpoint(env_, offering_, activity, nullptr, offering_.log(), std::string("sweep"));
    base::result<std::vector<base::json>> rows =
        cloud.call(host::operation::list_resources, request, options);
    if (!rows) {
      return std::move(rows).error();
    }
    for (const base::json& row : *rows) {
      if (const auto uuid = base::uuid::parse(row["uuid"].string_or(""))) {
        objects[*uuid].has_machine |= !single_objects;
      }
    }
  }
  return objects;
}

void sweep::settle(backend& cloud, const base::uuid& resource, const found& what) {
  const std::optional<resource_locks::guard> lock = env_.locks.try_lock(resource);
  if (!lock) {
    return; // an order works on it
  }
  const base::result<waldur::resource> read = waldur_.get_resource(resource);
  if (!read) {
    return;
  }
  const bool recorded = !base::trim(read->backend_id).empty();
  if (read->state == "Terminated") {
    if (what.has_machine && recorded) {
      if (offering_.first_time("terminated but there: " + resource.hex())) {
        offering_.log().warning(
            "a machine exists although its resource is terminated; check and delete it by hand",
            {{"resource", resource.hex()}, {"backend_id", read->backend_id}}
        );
      }
      return;
    }
    // Without an id Waldur never knew of a machine: the create was cancelled under our feet.
    remove(cloud, *read, false);
  } else if (read->state == "Erred" && !recorded) {
    remove(cloud, *read, true);
  }
}

void sweep::remove(backend& cloud, const waldur::resource& resource, bool keep_working_machine) {
  const observe::logger log = offering_.log().with("resource", resource.uuid.hex());
  const std::string reference = base::uuid::random().hex();
  log.info(
      "removing objects of a resource that is over",
      {{"state", resource.state}, {"reference", reference}}
  );
  progress_board::activity activity = env_.progress.begin(
      "sweep of resource " + resource.uuid.hex(),
      cloud.deadline_of(host::operation::delete_resource) + call_grace
  );
  host::call_request request;
  request.idempotency_key = resource.uuid.hex();
  request.body.set("resource", resource_to_json(resource));
  request.body.set("offering", offering_to_json(offering_.config()));
  request.body.set(
      "tags", resource_tags(offering_.config().uuid, resource.uuid, resource.project_slug)
  );
  request.body.set("uuid_tag", tag_resource);
  if (keep_working_machine) {
    request.body.set("keep_working_machine", true);
  }
  host::call_options options;
  options.stop = env_.stop;
  options.trace_id = reference;
  options.checkpoint = make_checkpoint(env_, offering_, activity, nullptr, log, reference);
  const base::result<std::vector<base::json>> answer =
      cloud.call(host::operation::delete_resource, request, options);
  if (answer || react_to(answer.error()) == reaction::not_there) {
    log.info("leftovers removed", {{"reference", reference}});
  } else if (answer.error().code == base::error_code::conflict) {
    log.warning("a working machine exists for an erred resource without id; retry its order");
  } else if (!env_.stop.stop_requested()) {
    log.failure(
        observe::level::warning, "leftovers not removed, tried again later", answer.error()
    );
  }
}

} // namespace siteagent::agent
