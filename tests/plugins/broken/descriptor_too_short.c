/* SPDX-License-Identifier: MIT
 * Defect: a descriptor shorter than the first one ever published. */
#define ZOO_ID "descriptor-too-short"
#define ZOO_DESCRIPTOR_SIZE offsetof(sagent_plugin, get_extension)
#include "zoo.h"
