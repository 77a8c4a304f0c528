// SPDX-License-Identifier: MIT
// Defect: exceptions leave the plugin.
#define ZOO_ID "throws"
#define ZOO_PING ping
#define ZOO_CREATE_RESOURCE create_resource
#include <sagent/plugin.h>

#include <stdexcept>

static sagent_code ping(sagent_instance*, const sagent_call*, const sagent_request*) {
  throw std::runtime_error("out of the plugin");
}

static sagent_code create_resource(sagent_instance*, const sagent_call*, const sagent_request*) {
  throw 42;
}

#include "zoo.h"
