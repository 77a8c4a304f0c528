/* SPDX-License-Identifier: MIT
 * Defect: built for another major of the ABI only. */
#define ZOO_ID "wrong-major"
#define ZOO_ENTRY sagent_plugin_v2
#include "zoo.h"
