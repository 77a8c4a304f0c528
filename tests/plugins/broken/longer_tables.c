/* SPDX-License-Identifier: MIT
 * No defect: tables longer than ours, as a newer plugin has them; the tail must be ignored. */
#define ZOO_ID "longer-tables"
#define ZOO_OWN_ENTRY
#include "zoo.h"

static struct {
  sagent_plugin known;
  void* later[4];
} longer_plugin;

static struct {
  sagent_resource_backend known;
  sagent_method later[4];
} longer_backend;

static const void* extension(const char* id) {
  if (strcmp(id, SAGENT_EXT_RESOURCE_BACKEND) != 0) {
    return NULL;
  }
  longer_backend.known = zoo_backend;
  longer_backend.known.struct_size = sizeof longer_backend;
  longer_backend.later[0] = zoo_nothing;
  return &longer_backend;
}

const sagent_plugin* sagent_plugin_v0(void) {
  longer_plugin.known = zoo_plugin;
  longer_plugin.known.struct_size = sizeof longer_plugin;
  longer_plugin.known.abi_minor = SAGENT_ABI_MINOR + 7;
  longer_plugin.known.get_extension = extension;
  longer_plugin.later[0] = &longer_plugin;
  return &longer_plugin.known;
}
