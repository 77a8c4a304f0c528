/* SPDX-License-Identifier: MIT
 * Defect: an id outside [a-z][a-z0-9-]{0,31}. */
#define ZOO_ID "Bad_Id"
#include "zoo.h"
