// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/access.hpp"

#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

constexpr arm::milliseconds identity_patience{2'000};

// The same call with less time.
class brief_call {
public:
  brief_call(const sagent::call& outer, const base::clock& clock, arm::milliseconds time)
      : outer_(*outer.raw()), clock_(clock), until_(clock.steady() + time) {
    table_ = outer_;
    table_.host_data = this;
    table_.remaining_ms = [](const sagent_call* c) { return self(c).left(); };
    table_.wait_ms = [](const sagent_call* c, std::int64_t ms) {
      return self(c).outer_.wait_ms(&self(c).outer_, ms);
    };
    table_.checkpoint = [](const sagent_call*, const char*, std::uint64_t) {
      return sagent_code{SAGENT_OK};
    };
  }

  sagent::call call() const { return sagent::call(&table_); }

private:
  static const brief_call& self(const sagent_call* c) {
    return *static_cast<const brief_call*>(c->host_data);
  }

  std::int64_t left() const {
    const auto own = std::chrono::duration_cast<arm::milliseconds>(until_ - clock_.steady());
    return std::min<std::int64_t>(own.count(), outer_.remaining_ms(&outer_));
  }

  const sagent_call& outer_;
  const base::clock& clock_;
  base::steady_time until_;
  sagent_call table_{};
};

base::error both_refused(const base::error& identity, const base::error& principal) {
  base::error e = principal;
  e.message =
      "Azure lets neither credential in: " + identity.message + "; and " + principal.message;
  return e;
}

base::error none_stored() {
  return make_error(
      reason::credentials,
      base::error_code::auth,
      "no service principal is stored: store item stado-azure with tenant_id, client_id and "
      "client_secret"
  );
}

} // namespace

base::result<void> access::try_identity(const sagent::call& call, std::string_view trace_id) const {
  if (!identity_) {
    identity_ = std::make_unique<services>(s_.azure, host_, transport_, clock_, shared_);
  }
  const brief_call brief(call, clock_, identity_patience);
  const sagent::call brief_view = brief.call();
  auto entered = identity_->arm().authenticate(arm::scope(brief_view, trace_id));
  if (!entered && arm::is_stop(entered.error())) {
    return make_error(
        reason::credentials,
        base::error_code::auth,
        "get a token of the managed identity: the metadata service does not answer within 2 s"
    );
  }
  return entered;
}

base::result<const services*>
access::enter(const sagent::call& call, std::string_view trace_id) const {
  const std::lock_guard guard(mutex_);
  if (chosen_ != nullptr) {
    return chosen_;
  }
  const arm::scope scope(call, trace_id);
  const auto by_identity = try_identity(call, trace_id);
  if (auto go_on = scope.check(); !go_on) {
    return go_on.error();
  }
  if (by_identity) {
    chosen_ = identity_.get();
    return chosen_;
  }
  if (!s_.control) {
    return both_refused(by_identity.error(), none_stored());
  }
  if (!principal_) {
    principal_ = std::make_unique<services>(s_.by_principal(), host_, transport_, clock_, shared_);
  }
  const auto by_principal = principal_->arm().authenticate(scope);
  if (!by_principal) {
    return arm::is_stop(by_principal.error())
               ? by_principal.error()
               : both_refused(by_identity.error(), by_principal.error());
  }
  chosen_ = principal_.get();
  return chosen_;
}

std::string access::who() const {
  const std::lock_guard guard(mutex_);
  return chosen_ == identity_.get() || !s_.control ? "managed identity of this machine"
                                                   : "service principal " + s_.control->client_id;
}

const services& access::billing() const {
  const std::lock_guard guard(mutex_);
  if (!billing_) {
    settings s = s_.azure;
    s.resource_manager = s.billing;
    s.credentials.kind = credential_kind::client_secret;
    s.credentials.client_secret = s_.billing->who.client_secret;
    s.tenant_id = s_.billing->who.tenant_id;
    s.client_id = s_.billing->who.client_id;
    billing_ = std::make_unique<services>(s, host_, transport_, clock_, shared_);
  }
  return *billing_;
}

} // namespace siteagent::azure::cloud_host
