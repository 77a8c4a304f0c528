/* SPDX-License-Identifier: MIT
 * A correct plugin, to be broken in exactly one place by the file that includes this. Its functions
 * can be replaced one by one by the macros. */
#ifndef ZOO_H
#define ZOO_H

#include <sagent/resource_backend.h>

#include <string.h>

#ifdef __cplusplus
#pragma GCC diagnostic ignored "-Wold-style-cast" /* the common part of C and C++ */
#endif
#ifdef __GNUC__
#define ZOO_UNUSED __attribute__((unused))
#endif

ZOO_UNUSED static sagent_code
zoo_nothing(sagent_instance* self, const sagent_call* call, const sagent_request* request) {
  (void)self, (void)call, (void)request;
  return SAGENT_OK;
}

ZOO_UNUSED static sagent_code zoo_open(
    const sagent_host* host,
    const sagent_call* call,
    const sagent_request* settings,
    sagent_instance** out
) {
  static int instance;
  (void)host, (void)call, (void)settings;
  *out = (sagent_instance*)(void*)&instance;
  return SAGENT_OK;
}

ZOO_UNUSED static void zoo_close(sagent_instance* self) {
  (void)self;
}

/* Reports `code` with a text. */
ZOO_UNUSED static void zoo_fail(const sagent_call* call, sagent_code code, const char* text) {
  sagent_error_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  info.code = code;
  info.message.data = text;
  info.message.len = strlen(text);
  info.retry_after_ms = -1;
  call->fail(call, &info);
}

ZOO_UNUSED static sagent_code zoo_emit(const sagent_call* call, const char* json) {
  return call->emit(call, json, strlen(json));
}

#ifndef ZOO_PING
#define ZOO_PING zoo_nothing
#endif
#ifndef ZOO_CREATE_RESOURCE
#define ZOO_CREATE_RESOURCE zoo_nothing
#endif
#ifndef ZOO_OPEN
#define ZOO_OPEN zoo_open
#endif
#ifndef ZOO_CLOSE
#define ZOO_CLOSE zoo_close
#endif
#ifndef ZOO_BACKEND_SIZE
#define ZOO_BACKEND_SIZE sizeof(sagent_resource_backend)
#endif
#ifndef ZOO_DESCRIPTOR_SIZE
#define ZOO_DESCRIPTOR_SIZE sizeof(sagent_plugin)
#endif
#ifndef ZOO_MINOR_REQUIRED
#define ZOO_MINOR_REQUIRED SAGENT_ABI_MINOR
#endif
#ifndef ZOO_THREADS
#define ZOO_THREADS SAGENT_THREADS_PER_INSTANCE
#endif
#ifndef ZOO_ENTRY
#define ZOO_ENTRY sagent_plugin_v0
#endif

static const sagent_resource_backend zoo_backend = {
    (uint32_t)ZOO_BACKEND_SIZE,
    0,
    ZOO_PING,
    zoo_nothing,
    ZOO_CREATE_RESOURCE,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    zoo_nothing,
    NULL,
    NULL,
    NULL,
};

ZOO_UNUSED static const void* zoo_extension(const char* id) {
  return strcmp(id, SAGENT_EXT_RESOURCE_BACKEND) == 0 ? &zoo_backend : NULL;
}

ZOO_UNUSED static const sagent_plugin zoo_plugin = {
    (uint32_t)ZOO_DESCRIPTOR_SIZE,
    SAGENT_ABI_MINOR,
    ZOO_MINOR_REQUIRED,
    ZOO_THREADS,
    ZOO_ID,
    "1.0",
    "zoo",
    ZOO_OPEN,
    ZOO_CLOSE,
    zoo_extension,
    NULL,
    NULL,
};

#ifndef ZOO_OWN_ENTRY
#ifdef __cplusplus
extern "C"
#endif
    SAGENT_EXPORT const sagent_plugin*
    ZOO_ENTRY(void);

const sagent_plugin* ZOO_ENTRY(void) {
  return &zoo_plugin;
}
#endif

#endif
