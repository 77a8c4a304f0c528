/* SPDX-License-Identifier: MIT
 * Defect: the id differs from the file's name. */
#define ZOO_ID "another-id"
#include "zoo.h"
