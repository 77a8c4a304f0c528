/* SPDX-License-Identifier: MIT
 * Defect: its constructor crashes, as a damaged file may. */
#define ZOO_ID "crashes-on-load"
#include "zoo.h"

#include <signal.h>
#include <unistd.h>

__attribute__((constructor)) static void crash(void) {
  kill(getpid(), SIGKILL);
}
