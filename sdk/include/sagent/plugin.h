/* SPDX-License-Identifier: MIT
 *
 * The C ABI between the site agent (the host) and a cloud plugin: entry point, descriptor,
 * request, call and errors. Valid as C99 and C++11; nothing of C++ or of any library crosses it.
 *
 * Growth policy (in force from the first tagged release on; until then the entry symbol is
 * sagent_plugin_v0 and everything may change):
 *  - semantics are ABI: ownership, lifetime, threads, NULL-ability and codes never change in place;
 *  - a new optional operation is appended to its table and raises SAGENT_ABI_MINOR;
 *  - a changed operation gets a new slot or a new extension id, the old one stays callable;
 *  - a dead slot keeps its place.
 *
 * Two kinds of struct: "frozen" never changes; "sized" starts with struct_size, is only ever
 * reached by pointer and grows at its end. Whoever reads a sized struct honours the size its
 * author wrote (SAGENT_HAS).
 *
 * Ownership: everything passed in is borrowed until the function returns. Results leave through
 * the callbacks of sagent_call, which copy. Nobody frees anything across this line.
 *
 * Threads, as tags: [any-thread], [worker] (one of the host's own blocking threads; which calls
 * may overlap is decided by thread_model), [init] (once, before any worker).
 *
 * No exception and no longjmp may leave a plugin function, nor cross a host callback.
 */
#ifndef SAGENT_PLUGIN_H
#define SAGENT_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SAGENT_ABI_MAJOR 0
#define SAGENT_ABI_MINOR 1
/* The only exported symbol of a plugin. The ABI major is part of its name. */
#define SAGENT_ENTRY_NAME "sagent_plugin_v0"

/* Frozen. Borrowed UTF-8 bytes, not NUL-terminated; data may be NULL when len is 0. */
typedef struct sagent_str {
  const char* data;
  uint64_t len;
} sagent_str;

/* Is `field` inside *ptr as its author compiled it, and set? Use before every optional slot. */
#define SAGENT_HAS(type, ptr, field)                                                               \
  ((ptr) != NULL && (ptr)->struct_size >= offsetof(type, field) + sizeof((ptr)->field) &&          \
   (ptr)->field != NULL)

/* ---- Result codes ----------------------------------------------------------------------------
 * The hundreds digit is the class, and only the class decides what the host does: 1xx the same
 * request may work later; 150 it may have happened, look before repeating; 2xx somebody must
 * change something first; 3xx a rule said no; 4xx the target is not there; 9xx the contract was
 * broken. An unknown code is treated as its class, an unknown class as 900. */
typedef int32_t sagent_code;

enum {
  SAGENT_OK = 0,
  SAGENT_E_TRANSIENT = 100,       /* network, 5xx, lock held by another operation */
  SAGENT_E_THROTTLED = 101,       /* see retry_after_ms */
  SAGENT_E_NO_CAPACITY = 102,     /* the cloud has no room now (at start of a machine) */
  SAGENT_E_DEADLINE = 103,        /* remaining_ms ran out */
  SAGENT_E_CANCELLED = 104,       /* the host asked to stop (cancel, checkpoint, shutdown) */
  SAGENT_E_NOT_READY = 105,       /* the backend cannot serve now; orders stay untouched */
  SAGENT_E_OUTCOME_UNKNOWN = 150, /* a write may or may not have happened */
  SAGENT_E_PERMANENT = 200,
  SAGENT_E_INVALID = 201, /* settings, attributes or body are wrong */
  SAGENT_E_AUTH = 202,    /* credentials refused: orders wait, the operator is told */
  SAGENT_E_CONFLICT = 203,
  SAGENT_E_UNSUPPORTED = 204, /* operation not offered by this backend */
  SAGENT_E_FORBIDDEN = 205,   /* authenticated, but not permitted (roles, policy) */
  SAGENT_E_REFUSED = 300,
  SAGENT_E_QUOTA = 301,
  SAGENT_E_PRICE = 302,
  SAGENT_E_NOT_FOUND = 400,
  SAGENT_E_PLUGIN_BUG = 900,
  SAGENT_E_PLUGIN_LOST = 901
};

/* Opaque, the plugin's. Lives from create until destroy. */
typedef struct sagent_instance sagent_instance;
typedef struct sagent_call sagent_call;
typedef struct sagent_host sagent_host;

/* Sized. Data of one request; every string is borrowed until the method returns. */
typedef struct sagent_request {
  uint32_t struct_size;
  uint32_t flags;             /* SAGENT_REQ_* */
  sagent_str target;          /* backend id of the resource; in create and validate_settings the id
                                 of the extension; empty when none */
  sagent_str body;            /* one JSON object; its members are named at each slot */
  sagent_str idempotency_key; /* set for mutating calls: the resource's uuid, 32 hex digits; the
                                 same for every retry, also after a restart of the host */
  sagent_str trace_id;        /* for logs and for the cloud's correlation header */
} sagent_request;

#define SAGENT_REQ_DRY_RUN 1u /* check, but change nothing */

/* Sized. Why a method failed. Texts are for people and are never parsed. */
typedef struct sagent_error_info {
  uint32_t struct_size;
  sagent_code code;
  sagent_str message;             /* for the operator: one line, English, no secret, next step */
  sagent_str provider_code;       /* the cloud's own error code, verbatim, or empty */
  sagent_str provider_request_id; /* the cloud's id of the failed request, or empty */
  int64_t retry_after_ms;         /* advice; -1: none */
  sagent_str public_message;      /* for the customer: no ids, no addresses; empty: the host shows a
                                     stock text and a correlation id */
  sagent_str detail;              /* JSON object or empty: http_status, provider_code, resource,
                                     assignment, created[], not_removed[] */
} sagent_error_info;

/* Sized. Callbacks of one running method. All are [any-thread] while the method runs and
 * invalid after it returned. */
struct sagent_call {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */
  void* host_data;
  /* Milliseconds until the host stops waiting; <= 0: stop now (deadline or cancel). Ask before
   * each network round and derive socket time-outs from it. */
  int64_t (*remaining_ms)(const sagent_call* call);
  /* Sleep. 0 after the full time, else SAGENT_E_DEADLINE or SAGENT_E_CANCELLED: stop. */
  sagent_code (*wait_ms)(const sagent_call* call, int64_t ms);
  /* One JSON object of the result, at most 1 MiB; 64 MiB per call. Non-zero: refused, nothing was
   * taken; return that code. */
  sagent_code (*emit)(const sagent_call* call, const char* json, uint64_t len);
  /* Explain the failure about to be returned. The first call wins. `fail` followed by SAGENT_OK
   * is a breach of contract and counts as failure. */
  void (*fail)(const sagent_call* call, const sagent_error_info* info);
  /* Called before and after each cloud write and between polls with
   * {"phase":"before|after|poll","verb":"put|post|delete|patch","kind":"virtual-machine",
   *  "id":"...","percent":60,"request_id":"..."}, and before a wait that the cloud's own limits
   * impose with {"phase":"wait","reason":"throttled","class":"which calls wait, for people",
   *  "for_ms":30000}: the host shows it until that time has passed or the next checkpoint comes.
   * Non-zero: stop, leave everything as it is and return that code. */
  sagent_code (*checkpoint)(const sagent_call* call, const char* json, uint64_t len);
};

/* Every operation of every extension has this shape. [worker] */
typedef sagent_code (*sagent_method
)(sagent_instance* self, const sagent_call* call, const sagent_request* request);

/* Sized. What the host offers; valid from create until destroy returned. */
struct sagent_host {
  uint32_t struct_size;
  uint32_t abi_minor;
  void* host_data;
  /* A sized table of services.h by its id, or NULL: cope. [any-thread] */
  const void* (*get_service)(const sagent_host* host, const char* id);
};

/* thread_model */
#define SAGENT_THREADS_SERIAL 0u       /* one call at a time in the whole shared object */
#define SAGENT_THREADS_PER_INSTANCE 1u /* one call at a time per instance */
#define SAGENT_THREADS_PARALLEL 2u     /* any number of calls at once */

/* Sized, static, constant until the process ends. */
typedef struct sagent_plugin {
  uint32_t struct_size;
  uint32_t abi_minor;          /* header the plugin was compiled with */
  uint32_t abi_minor_required; /* lowest host minor it can live with */
  uint32_t thread_model;       /* SAGENT_THREADS_*; the host may be stricter */
  const char* id;              /* [a-z][a-z0-9-]{0,31}; equals the file stem */
  const char* version;         /* free form, for people */
  const char* vendor;          /* free form, for people */
  /* Make an instance of one extension, request->target: only that extension's methods are called
   * on it, so a plugin that offers one may ignore the name. request->body is the settings object,
   * already validated and converted by that extension's schema. Cheap: no network, no threads that
   * outlive destroy. *out is set iff SAGENT_OK. [worker] */
  sagent_code (*create
  )(const sagent_host* host,
    const sagent_call* call,
    const sagent_request* settings,
    sagent_instance** out);
  /* Called once, after the last call returned; joins the instance's own threads. [worker] */
  void (*destroy)(sagent_instance* self);
  /* A static table by extension id, or NULL: not offered. [any-thread] */
  const void* (*get_extension)(const char* id);
  /* JSON Schema (draft 4) of the settings used with that extension, static; NULL: none.
   * Beside the standard keywords the host honours on a property: "x-secret": true (accepts a
   * value, ${ENV}, file:/path or credential:name; reaches the plugin as a reference, see
   * services.h) and, at the top, "x-rehearsal": {"emulator", "settings"}. [any-thread] */
  const char* (*get_settings_schema)(const char* extension_id);
  /* Optional: checks beyond the schema, offline. Same request as create. [worker] */
  sagent_code (*validate_settings
  )(const sagent_host* host, const sagent_call* call, const sagent_request* settings);
} sagent_plugin;

#if defined(__GNUC__)
#define SAGENT_EXPORT __attribute__((visibility("default")))
#else
#define SAGENT_EXPORT
#endif

/* Pure: no I/O, no threads, no allocation; the same pointer each time. [any-thread] */
SAGENT_EXPORT const sagent_plugin* sagent_plugin_v0(void);

#ifdef __cplusplus
}
#endif

#endif
