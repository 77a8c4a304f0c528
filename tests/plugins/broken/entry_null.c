/* SPDX-License-Identifier: MIT
 * Defect: the entry function returns NULL. */
#define ZOO_ID "entry-null"
#define ZOO_OWN_ENTRY
#include "zoo.h"

const sagent_plugin* sagent_plugin_v0(void) {
  return NULL;
}
