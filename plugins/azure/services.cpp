// SPDX-License-Identifier: MIT
#include "plugins/azure/services.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/managed_identity.hpp"
#include "plugins/azure/error_map.hpp"

namespace siteagent::azure {

namespace {

// The host's secrets service throws; here failures are values.
base::result<base::secret>
read_secret(const sagent::host& host, const std::string& reference, std::string_view key) {
  try {
    const sagent::secret bytes = host.read_secret(reference);
    return base::secret(bytes.reveal());
  } catch (const sagent::failure& f) {
    return make_error(
        reason::credentials,
        base::error_code::auth,
        "read " + std::string(key) + ": " + f.message + "; check where it is kept"
    );
  }
}

arm::identity_choice identity_of(const settings& s) {
  const credential_settings& c = s.credentials;
  return {s.client_id, c.managed_identity_object_id, c.managed_identity_resource_id};
}

arm::credential_ptr credential_of(const settings& s, const sagent::host& host) {
  const credential_settings& c = s.credentials;
  const arm::secret_reader reader = [host, c](std::string_view key) {
    return read_secret(host, c.reference(key), key);
  };
  switch (c.kind) {
  case credential_kind::client_secret:
    break;
  case credential_kind::client_certificate:
    return arm::make_certificate_credential(
        reader, !c.client_certificate_password.empty(), c.send_certificate_chain
    );
  case credential_kind::workload_identity:
    return arm::make_federated_credential(c.federated_token_file);
  case credential_kind::managed_identity:
    return arm::make_managed_identity(c.metadata_origin, identity_of(s));
  }
  return arm::make_secret_credential(reader);
}

arm::principal principal_of(const settings& s) {
  arm::principal who{s.authority, s.tenant_id, s.client_id, s.audience};
  if (s.credentials.kind == credential_kind::managed_identity) {
    who.authority = s.credentials.metadata_origin;
    who.identity = identity_of(s).text();
  }
  return who;
}

arm::pipeline_options options_of(
    const settings& s,
    const sagent::host& host,
    net::transport& transport,
    const base::clock& clock,
    registry& shared,
    const std::shared_ptr<shared_by_subscription>& mine
) {
  arm::pipeline_options o;
  o.resource_manager = s.resource_manager;
  o.transport = &transport;
  o.clock = &clock;
  o.tokens = shared.tokens(principal_of(s));
  o.throttling = std::shared_ptr<arm::throttle>(mine, &mine->throttling);
  o.providers = std::shared_ptr<arm::registrar>(mine, &mine->providers);
  o.proof = credential_of(s, host);
  o.protect = [host](std::string_view bytes) { host.protect(bytes); };
  o.floor = s.poll_min;
  o.cap = s.poll_max;
  return o;
}

template <class Client>
const Client& built(
    std::once_flag& once,
    std::unique_ptr<Client>& slot,
    const arm::pipeline& arm,
    const std::string& subscription
) {
  std::call_once(once, [&] { slot = std::make_unique<Client>(arm, subscription); });
  return *slot;
}

} // namespace

bool name_claims::take(const std::string& name, const std::string& resource) {
  const std::lock_guard guard(mutex_);
  const auto [it, fresh] = holders_.emplace(base::to_lower(name), resource);
  return fresh || it->second == resource;
}

void name_claims::release_all(const std::string& resource) {
  const std::lock_guard guard(mutex_);
  std::erase_if(holders_, [&](const auto& entry) { return entry.second == resource; });
}

std::shared_ptr<arm::token_source> registry::tokens(const arm::principal& who) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<arm::token_source>& slot = tokens_[who.key()];
  if (!slot) {
    slot = std::make_shared<arm::token_source>(who);
  }
  return slot;
}

std::shared_ptr<shared_by_subscription>
registry::subscription(const std::string& resource_manager, const std::string& id) {
  const std::lock_guard guard(mutex_);
  std::shared_ptr<shared_by_subscription>& slot =
      subscriptions_[resource_manager + "\n" + base::to_lower(id)];
  if (!slot) {
    slot = std::make_shared<shared_by_subscription>();
  }
  return slot;
}

registry& process_registry() {
  static auto* const only = new registry;
  return *only;
}

services::services(
    const settings& s,
    const sagent::host& host,
    net::transport& transport,
    const base::clock& clock,
    registry& shared
)
    : subscription_(s.subscription_id), price_origin_(s.prices), currency_(s.currency),
      hosts_(s.hosts), host_(host), clock_(clock),
      shared_(shared.subscription(s.resource_manager, s.subscription_id)),
      arm_(options_of(s, host, transport, clock, shared, shared_)) {}

const resources_client& services::resources() const {
  return built(resources_once_, resources_, arm_, subscription_);
}

const compute_client& services::compute() const {
  return built(compute_once_, compute_, arm_, subscription_);
}

const network_client& services::network() const {
  return built(network_once_, network_, arm_, subscription_);
}

const monitor_client& services::monitor() const {
  return built(monitor_once_, monitor_, arm_, subscription_);
}

const price_client& services::prices() const {
  std::call_once(prices_once_, [&] {
    const arm::pipeline_options& o = arm_.options();
    prices_ = std::make_unique<price_client>(price_options{
        price_origin_, currency_, o.transport, o.clock, o.floor});
  });
  return *prices_;
}

} // namespace siteagent::azure
