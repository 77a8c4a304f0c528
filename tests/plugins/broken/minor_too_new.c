/* SPDX-License-Identifier: MIT
 * Defect: needs a newer minor of the ABI than the agent has. */
#define ZOO_ID "minor-too-new"
#define ZOO_MINOR_REQUIRED (SAGENT_ABI_MINOR + 41)
#include "zoo.h"
