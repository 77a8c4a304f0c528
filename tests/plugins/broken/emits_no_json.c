/* SPDX-License-Identifier: MIT
 * Defect: a result that is no JSON. */
#define ZOO_ID "emits-no-json"
#define ZOO_PING ping
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request);

#include "zoo.h"

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)request;
  zoo_emit(call, "<html>502 Bad Gateway</html>");
  return SAGENT_OK;
}
