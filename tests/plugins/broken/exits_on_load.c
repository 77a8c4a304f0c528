/* SPDX-License-Identifier: MIT
 * Defect: its constructor ends the process. */
#define ZOO_ID "exits-on-load"
#include "zoo.h"

#include <unistd.h>

__attribute__((constructor)) static void leave(void) {
  _exit(0);
}
