// SPDX-License-Identifier: MIT
// Defect: uses the call after the method returned. ping keeps the call; create_resource uses the
// kept one and emits what its callbacks answered.
#define ZOO_ID "late-callback"
#define ZOO_PING ping
#define ZOO_CREATE_RESOURCE create_resource
#include <sagent/plugin.h>

static sagent_code ping(sagent_instance*, const sagent_call* call, const sagent_request*);
static sagent_code
create_resource(sagent_instance*, const sagent_call* call, const sagent_request*);

#include "zoo.h"

#include <atomic>
#include <string>

static std::atomic<const sagent_call*> kept{nullptr};

static sagent_code ping(sagent_instance*, const sagent_call* call, const sagent_request*) {
  kept = call;
  return SAGENT_OK;
}

static sagent_code
create_resource(sagent_instance*, const sagent_call* call, const sagent_request*) {
  const sagent_call* old = kept;
  zoo_fail(old, SAGENT_E_QUOTA, "too late");
  const std::string answers = "{\"remaining_ms\":" + std::to_string(old->remaining_ms(old)) +
                              ",\"wait_ms\":" + std::to_string(old->wait_ms(old, 60000)) +
                              ",\"emit\":" + std::to_string(zoo_emit(old, "{}")) +
                              ",\"checkpoint\":" + std::to_string(old->checkpoint(old, "{}", 2)) +
                              "}";
  return zoo_emit(call, answers.c_str());
}
