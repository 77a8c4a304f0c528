/* SPDX-License-Identifier: MIT
 * Defect: a mandatory operation is not set. */
#define ZOO_ID "lacks-create"
#define ZOO_CREATE_RESOURCE NULL
#include "zoo.h"
