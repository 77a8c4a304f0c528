/* SPDX-License-Identifier: MIT
 * Defect: reports a failure and returns success. */
#define ZOO_ID "fails-then-ok"
#define ZOO_PING ping
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request);

#include "zoo.h"

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)request;
  zoo_fail(call, SAGENT_E_QUOTA, "no room");
  return SAGENT_OK;
}
