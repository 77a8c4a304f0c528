// SPDX-License-Identifier: MIT
// The handlers, one per collection below /api/. Each sees the path segments behind the collection's
// name in context::rest.
#pragma once

#include "api.hpp"

namespace siteagent::waldur_emulator {

reply handle_orders(context& c);
reply handle_provider_resources(context& c);
reply handle_resources(context& c);
reply handle_provider_offerings(context& c);
reply handle_public_offerings(context& c);
reply handle_plans(context& c);
reply handle_service_providers(context& c);
reply handle_customers(context& c);
reply handle_projects(context& c);
reply handle_users(context& c);
reply handle_version(context& c);
reply handle_component_usages(context& c);
reply handle_component_user_usages(context& c);
reply handle_identities(context& c);
reply handle_services(context& c);
reply handle_agent_logs(context& c);
reply handle_event_subscriptions(context& c);
reply handle_processors(context& c);
reply handle_offering_users(context& c);
reply handle_service_accounts(context& c);
reply handle_course_accounts(context& c);
reply handle_user_limits(context& c);
reply handle_api_keys(context& c);
reply handle_periodic_policies(context& c);
reply handle_import_requests(context& c);
reply handle_importables(context& c);

// POST /api/marketplace-orders/.
reply place_order(context& c);
// The consumer agreed: pending-provider, or beyond with auto_approve.
void begin_provider_review(context& c, order& o);
// Makes an order on a resource and answers {"order_uuid": ...}; shared by the resource actions.
reply order_for_resource(context& c, const resource& r, order o);

} // namespace siteagent::waldur_emulator
