/* SPDX-License-Identifier: MIT
 * Services the host gives to a plugin; fetched once in create by host->get_service(id). */
#ifndef SAGENT_SERVICES_H
#define SAGENT_SERVICES_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SAGENT_SERVICE_LOG "sagent.log/1"
#define SAGENT_LOG_DEBUG 0
#define SAGENT_LOG_INFO 1
#define SAGENT_LOG_WARNING 2
#define SAGENT_LOG_ERROR 3

/* Sized. The host adds offering, plugin and trace id, and redacts. */
typedef struct sagent_log_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* One line, at most 16 KiB; longer text is refused whole and counted. [any-thread] */
  void (*log)(const sagent_host* host, int32_t level, const char* text, uint64_t len);
  /* Non-zero: a line of that level would be kept. [any-thread] */
  int32_t (*enabled)(const sagent_host* host, int32_t level);
} sagent_log_service;

#define SAGENT_SERVICE_SECRETS "sagent.secrets/1"
/* Receives the secret's bytes, which are wiped when it returns. Copy only into wiped memory. */
typedef void (*sagent_secret_sink)(void* ctx, const char* bytes, uint64_t len);

/* Sized. */
typedef struct sagent_secrets_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Read the secret behind a reference (the string that stands in the settings), afresh: call per
   * use or per token refresh, so that rotation needs no restart. SAGENT_E_NOT_FOUND: unknown
   * reference; SAGENT_E_AUTH: its file, variable or credential cannot be read. [any-thread] */
  sagent_code (*get
  )(const sagent_host* host, const char* reference, uint64_t len, sagent_secret_sink sink, void* ctx
  );
  /* Redact these bytes (8 or more) from every log line, error and result from now on: for derived
   * secrets such as tokens and generated passwords. [any-thread] */
  void (*protect)(const sagent_host* host, const char* bytes, uint64_t len);
} sagent_secrets_service;

#define SAGENT_SERVICE_CLOCK "sagent.clock/1"

/* Sized. Tests move this clock; deadlines come from sagent_call, never from here. */
typedef struct sagent_clock_service {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t (*unix_ms)(const sagent_host* host); /* wall time, UTC [any-thread] */
  int64_t (*mono_ms)(const sagent_host* host); /* monotonic, arbitrary origin [any-thread] */
} sagent_clock_service;

#ifdef __cplusplus
}
#endif

#endif
