/* SPDX-License-Identifier: MIT
 * Defect: its cloud hosts do not describe themselves. A newer table, too, whose tail is ignored. */
#define ZOO_ID "hosts-say-nothing"
#define ZOO_OWN_ENTRY
#include "zoo.h"

#include <sagent/cloud_host_provider.h>

static const char* describe(void) {
  return NULL;
}

static struct {
  sagent_cloud_host_provider known;
  sagent_method later[3];
} hosts;

static sagent_plugin silent;

static const void* extension(const char* id) {
  return strcmp(id, SAGENT_EXT_CLOUD_HOST_PROVIDER) == 0 ? &hosts.known : NULL;
}

const sagent_plugin* sagent_plugin_v0(void) {
  silent = zoo_plugin;
  silent.get_extension = extension;
  hosts.known.struct_size = sizeof hosts;
  hosts.known.describe = describe;
  hosts.known.validate_host = zoo_nothing;
  hosts.known.price_size = zoo_nothing;
  hosts.known.credit_balance = zoo_nothing;
  hosts.known.admit_addresses = zoo_nothing;
  hosts.known.create_host = zoo_nothing;
  hosts.known.host_state = zoo_nothing;
  hosts.known.list_hosts = zoo_nothing;
  hosts.known.delete_host = zoo_nothing;
  hosts.known.check = zoo_nothing;
  hosts.later[0] = zoo_nothing;
  return &silent;
}
