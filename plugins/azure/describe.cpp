// SPDX-License-Identifier: MIT
// describe: what an operator copies elsewhere. The role needs no Azure, the options only read it.
#include "plugins/azure/answers.hpp"
#include "plugins/azure/backend.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/order_options.hpp"
#include "plugins/azure/role_definition.hpp"

namespace siteagent::azure {

void backend::describe(sagent::call& call, const sagent::request& request) {
  const auto body = base::json::parse(request.body);
  const std::string what = body ? (*body)["what"].string_or("") : "";
  if (what == "role") {
    for (const base::json& role :
         role_definitions(s_, kinds_of_metering((*body)["components"]).hours)) {
      call.emit(role.dump());
    }
    return;
  }
  if (what != "options") {
    throw sagent::failure(
        SAGENT_E_UNSUPPORTED, "describe knows 'role' and 'options', not '" + what + "'"
    );
  }
  const arm::scope scope(call, request.trace_id);
  auto options = order_options(cloud_, s_, scope, read_candidates((*body)["choices"]));
  if (!options) {
    raise(std::move(options).error());
  }
  for (const base::json& option : *options) {
    call.emit(option.dump());
  }
}

} // namespace siteagent::azure
