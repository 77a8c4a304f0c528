// SPDX-License-Identifier: MIT
// Objects as their GET shows them.
#pragma once

#include "api.hpp"
#include "model.hpp"

namespace siteagent::waldur_emulator {

json show_user(const context& c, const user& u);
json show_customer(const context& c, const customer& x);
json show_project(const context& c, const project& p);
json show_provider(const context& c, const service_provider& p);
json show_key(const context& c, const ssh_key& k);
json show_component(const context& c, const component& x);
json show_plan(const context& c, const plan& p);
json show_offering(const context& c, const offering& o);
json show_resource(const context& c, const resource& r);
json show_order(const context& c, const order& o);
json show_usage(const context& c, const component_usage& u);
json show_user_usage(const context& c, const user_usage& u);
json show_offering_user(const context& c, const offering_user& x);
json show_account(const context& c, const project_account& a);
json show_user_limit(const context& c, const user_limit& x);
json show_api_key(const context& c, const api_key& k); // never the key
json show_import_request(const context& c, const import_request& r);
json show_importable(const context& c, const importable& x);
json show_policy(const context& c, const periodic_policy& p);
json show_subscription(const context& c, const event_subscription& x);
json show_consumer(const context& c, const event_consumer& x);
json show_identity(const context& c, const identity& i);
json show_service(const context& c, const service& s);
json show_processor(const context& c, const processor& p);

} // namespace siteagent::waldur_emulator
