/* SPDX-License-Identifier: MIT
 * Defect: a mandatory function of the descriptor is not set. */
#define ZOO_ID "lacks-destroy"
#define ZOO_CLOSE NULL
#include "zoo.h"
