/* SPDX-License-Identifier: MIT
 * Defect: struct_size is garbage. */
#define ZOO_ID "size-not-set"
#define ZOO_DESCRIPTOR_SIZE 0xdeadbeefu
#include "zoo.h"
