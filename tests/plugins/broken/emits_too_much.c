/* SPDX-License-Identifier: MIT
 * Defect: one result above 1 MiB, and the refusal ignored. */
#define ZOO_ID "emits-too-much"
#define ZOO_PING ping
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request);

#include "zoo.h"

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  static char text[1024 * 1024 + 16];
  (void)self, (void)request;
  memset(text, ' ', sizeof text);
  text[0] = '{';
  text[sizeof text - 1] = '}';
  call->emit(call, text, sizeof text);
  return SAGENT_OK;
}
