// SPDX-License-Identifier: MIT
// The agent's own records: identity, service, processor.
#include "core/waldur/client_impl.hpp"

#include <utility>

namespace siteagent::waldur {

namespace {

json dependencies_of(const agent_build& build) {
  json list = json::array();
  for (const auto& [package, version] : build.dependencies) {
    list.push_back(json::object({{"package", package}, {"version", version}}));
  }
  return list;
}

} // namespace

// Another agent, or another part of this one, may create it between our look and our word.
base::result<client::impl::known_identity> client::impl::find_or_create_identity(
    const base::uuid& offering_id, const agent_build& build, bool tell
) {
  base::result<known_identity> made = try_identity(offering_id, build, tell);
  const bool is_taken =
      !made && (made.error().http_status == 400 || made.error().http_status == 409);
  return is_taken ? try_identity(offering_id, build, tell) : std::move(made);
}

base::result<client::impl::known_identity>
client::impl::try_identity(const base::uuid& offering_id, const agent_build& build, bool tell) {
  const std::string what = "register the agent for offering " + offering_id.hex();
  std::string name = "agent-" + offering_id.hex();
  std::optional<base::uuid> known;
  // The Python agent used the UUID as it was configured, possibly dashed.
  for (const std::string& candidate : {name, "agent-" + offering_id.dashed()}) {
    const auto rows = http.list(what, identities_path, {{"name", candidate}});
    if (!rows) {
      return rows.error();
    }
    if (!rows->empty()) {
      const auto id = required_uuid(rows->front(), "uuid");
      if (!id) {
        return base::with_context(id.error(), "waldur: " + what);
      }
      known = *id;
      name = candidate;
      break;
    }
  }
  if (known && !tell) {
    return known_identity{*known, false};
  }
  const json body = json::object(
      {{"offering", offering_id.hex()},
       {"name", name},
       {"version", build.version},
       {"last_restarted", build.last_restarted},
       {"dependencies", dependencies_of(build)},
       {"config_file_path", ""},
       {"config_file_content", ""}}
  );
  const auto answer = known ? http.write(what, "PUT", item(identities_path, *known), &body, {200})
                            : http.write(what, "POST", identities_path, &body, {201});
  if (!answer) {
    return answer.error();
  }
  if (known) {
    return known_identity{*known, true};
  }
  const auto id = required_uuid(*answer, "uuid");
  if (!id) {
    return base::with_context(id.error(), "waldur: " + what);
  }
  return known_identity{*id, tell};
}

base::result<base::uuid>
client::impl::identity_of(const base::uuid& offering_id, const agent_build& build, bool tell) {
  const std::lock_guard lock(identities_mutex);
  const auto known = identities.find(offering_id);
  if (known != identities.end() && (known->second.is_told || !tell)) {
    return known->second.id;
  }
  const base::result<known_identity> found = find_or_create_identity(offering_id, build, tell);
  if (!found) {
    return found.error();
  }
  identities[offering_id] = *found;
  return found->id;
}

base::result<json> client::impl::post_to_identity(
    const std::string& what,
    const base::uuid& offering_id,
    const agent_build& build,
    bool tell,
    std::string_view action,
    const json& body
) {
  for (bool is_second_try = false;; is_second_try = true) {
    base::result<base::uuid> identity = identity_of(offering_id, build, tell);
    if (!identity) {
      return std::move(identity).error();
    }
    base::result<json> answer =
        http.write(what, "POST", item(identities_path, *identity, action), &body, {200, 201});
    // 404 is the server's word for "no such call" and for "no such identity": look once again.
    if (answer || answer.error().http_status != 404 || is_second_try) {
      return answer;
    }
    const std::lock_guard lock(identities_mutex);
    identities.erase(offering_id);
  }
}

base::result<base::uuid> client::register_service(
    const base::uuid& offering_id,
    const agent_build& build,
    std::string_view name,
    std::string_view mode
) {
  const std::string what = "register " + std::string(name) + " for offering " + offering_id.hex();
  const base::result<json> answer = impl_->post_to_identity(
      what,
      offering_id,
      build,
      true,
      "register_service",
      json::object({{"name", name}, {"mode", mode}})
  );
  if (!answer) {
    return answer.error();
  }
  const auto id = required_uuid(*answer, "uuid");
  return id ? id : base::with_context(id.error(), "waldur: " + what);
}

base::result<void> client::register_processor(
    const base::uuid& service,
    std::string_view name,
    std::string_view backend_type,
    std::string_view backend_version
) {
  constexpr std::size_t longest_type = 100;
  const json body = json::object(
      {{"name", name},
       {"backend_type", base::truncated(backend_type, longest_type)},
       {"backend_version", backend_version}}
  );
  return done(impl_->http.write(
      "register processor " + std::string(name) + " of service " + service.hex(),
      "POST",
      item(services_path, service, "register_processor"),
      &body,
      {200, 201}
  ));
}

base::result<void> client::set_statistics(const base::uuid& service, const json& statistics) {
  const json body = json::object({{"statistics", statistics}});
  return impl_->post(
      "set statistics of service " + service.hex(),
      item(services_path, service, "set_statistics"),
      &body
  );
}

} // namespace siteagent::waldur
