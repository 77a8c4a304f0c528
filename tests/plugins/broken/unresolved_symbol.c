/* SPDX-License-Identifier: MIT
 * Defect: linked without the library that has this function. */
extern int function_of_a_missing_library(void);

static int call_it(void) {
  return function_of_a_missing_library();
}

#define ZOO_ID "unresolved-symbol"
#define ZOO_PING ping
#include <sagent/plugin.h>

static sagent_code
ping(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)call, (void)request;
  return call_it();
}

#include "zoo.h"
