/* SPDX-License-Identifier: MIT
 * Defect: create succeeds without an instance. */
#define ZOO_ID "no-instance"
#define ZOO_OPEN open_nothing
#include <sagent/plugin.h>

static sagent_code open_nothing(
    const sagent_host* host,
    const sagent_call* call,
    const sagent_request* settings,
    sagent_instance** out
) {
  (void)host, (void)call, (void)settings, (void)out;
  return SAGENT_OK;
}

#include "zoo.h"
