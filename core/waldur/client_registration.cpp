// SPDX-License-Identifier: MIT
// The agent's own records: identity, service, processor.
#include "core/waldur/client_impl.hpp"

#include <utility>

namespace siteagent::waldur {

base::result<base::uuid> client::impl::find_or_create_identity(
    const base::uuid& offering_id, std::string_view version, std::string_view last_restarted
) {
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
  const json body = json::object(
      {{"offering", offering_id.hex()},
       {"name", name},
       {"version", version},
       {"last_restarted", last_restarted},
       {"dependencies", json::array()},
       {"config_file_path", ""},
       {"config_file_content", ""}}
  );
  const auto answer = known ? http.write(what, "PUT", item(identities_path, *known), &body, {200})
                            : http.write(what, "POST", identities_path, &body, {201});
  if (!answer) {
    return answer.error();
  }
  if (known) {
    return *known;
  }
  const auto id = required_uuid(*answer, "uuid");
  return id ? id : base::with_context(id.error(), "waldur: " + what);
}

base::result<void> client::register_agent(
    const base::uuid& offering_id,
    std::string_view mode,
    std::string_view processor,
    std::string_view backend_type,
    std::string_view version,
    std::string_view last_restarted
) {
  const std::string what = "register " + std::string(mode) + " for offering " + offering_id.hex();
  const std::lock_guard lock(impl_->identities_mutex);
  auto known = impl_->identities.find(offering_id);
  if (known == impl_->identities.end()) {
    const auto id = impl_->find_or_create_identity(offering_id, version, last_restarted);
    if (!id) {
      return id.error();
    }
    known = impl_->identities.emplace(offering_id, *id).first;
  }
  const json service = json::object({{"name", mode}, {"mode", mode}});
  const auto answer = impl_->http.write(
      what, "POST", item(identities_path, known->second, "register_service"), &service, {200, 201}
  );
  if (!answer) {
    impl_->identities.erase(known); // somebody may have deleted it
    return answer.error();
  }
  const auto service_id = required_uuid(*answer, "uuid");
  if (!service_id) {
    return base::with_context(service_id.error(), "waldur: " + what);
  }
  constexpr std::size_t longest_type = 100;
  const json body = json::object(
      {{"name", processor},
       {"backend_type", base::truncated(backend_type, longest_type)},
       {"backend_version", version}}
  );
  return done(impl_->http.write(
      what, "POST", item(services_path, *service_id, "register_processor"), &body, {200, 201}
  ));
}

} // namespace siteagent::waldur
