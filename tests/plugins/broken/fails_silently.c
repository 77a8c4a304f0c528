/* SPDX-License-Identifier: MIT
 * Defect: failures without a reason; create_resource with a code of no known class. */
#define ZOO_ID "fails-silently"
#define ZOO_PING ping
#define ZOO_CREATE_RESOURCE create_resource
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)call, (void)request;
  return 177; /* transient, of a later version */
}

static sagent_code
create_resource(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)call, (void)request;
  return -5;
}

#include "zoo.h"
