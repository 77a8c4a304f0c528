/* SPDX-License-Identifier: MIT
 * Defect: a table of operations shorter than the first one ever published. */
#define ZOO_ID "backend-too-short"
#define ZOO_BACKEND_SIZE offsetof(sagent_resource_backend, diagnostics)
#include "zoo.h"
