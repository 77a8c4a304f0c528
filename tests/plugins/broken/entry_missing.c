/* SPDX-License-Identifier: MIT
 * Defect: a shared object without any plugin entry. */
#include <sagent/plugin.h>

SAGENT_EXPORT int not_a_plugin(void);

int not_a_plugin(void) {
  return 0;
}
