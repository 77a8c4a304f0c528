/* SPDX-License-Identifier: MIT
 * Defect: its table of cloud hosts lacks a mandatory operation. */
#define ZOO_ID "hosts-incomplete"
#define ZOO_OWN_ENTRY
#include "zoo.h"

#include <sagent/cloud_host_provider.h>

static const char* describe(void) {
  return "{}";
}

static sagent_cloud_host_provider hosts;
static sagent_plugin incomplete;

static const void* extension(const char* id) {
  return strcmp(id, SAGENT_EXT_CLOUD_HOST_PROVIDER) == 0 ? &hosts : NULL;
}

const sagent_plugin* sagent_plugin_v0(void) {
  incomplete = zoo_plugin;
  incomplete.get_extension = extension;
  hosts.struct_size = sizeof hosts;
  hosts.describe = describe;
  hosts.validate_host = zoo_nothing;
  hosts.price_size = zoo_nothing;
  hosts.credit_balance = zoo_nothing;
  hosts.admit_addresses = zoo_nothing;
  hosts.create_host = zoo_nothing;
  hosts.host_state = zoo_nothing;
  hosts.list_hosts = zoo_nothing;
  hosts.check = zoo_nothing;
  return &incomplete;
}
