/* SPDX-License-Identifier: MIT
 * Defect: emits a result after it reported a failure. */
#define ZOO_ID "emits-after-fail"
#define ZOO_PING ping
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request);

#include "zoo.h"

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)request;
  zoo_fail(call, SAGENT_E_TRANSIENT, "first it failed");
  zoo_emit(call, "{\"then\":\"it went on\"}");
  return SAGENT_E_TRANSIENT;
}
