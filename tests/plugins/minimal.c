/* SPDX-License-Identifier: MIT
 * The least a plugin can be, in plain C: it accepts every order and has nothing. */
#include <sagent/resource_backend.h>

#include <string.h>

static sagent_code emit(const sagent_call* call, const char* json) {
  return call->emit(call, json, strlen(json));
}

static sagent_code
nothing(sagent_instance* self, const sagent_call* call, const sagent_request* r) {
  (void)self, (void)call, (void)r;
  return SAGENT_OK;
}

static sagent_code accept(sagent_instance* self, const sagent_call* call, const sagent_request* r) {
  (void)self, (void)r;
  return emit(call, "{\"decision\":\"accept\"}");
}

static sagent_code create(sagent_instance* self, const sagent_call* call, const sagent_request* r) {
  static const char text[] = "minimal makes nothing; choose another plugin for real resources";
  sagent_error_info info;
  (void)self, (void)r;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  info.code = SAGENT_E_REFUSED;
  info.message.data = text;
  info.message.len = sizeof text - 1;
  info.retry_after_ms = -1;
  call->fail(call, &info);
  return SAGENT_E_REFUSED;
}

static const sagent_resource_backend backend = {
    .struct_size = sizeof backend,
    .ping = nothing,
    .evaluate_order = accept,
    .create_resource = create,
    .delete_resource = nothing,
    .pause = nothing,
    .downscale = nothing,
    .restore = nothing,
    .pull_resources = nothing,
    .report_usage = nothing,
    .list_resources = nothing,
    .set_resource_limits = nothing,
    .diagnostics = nothing,
};

static sagent_code open_instance(
    const sagent_host* host, const sagent_call* call, const sagent_request* r, sagent_instance** out
) {
  static int only_instance;
  (void)host, (void)call, (void)r;
  *out = (sagent_instance*)(void*)&only_instance;
  return SAGENT_OK;
}

static void close_instance(sagent_instance* self) {
  (void)self;
}

static const void* get_extension(const char* id) {
  return strcmp(id, SAGENT_EXT_RESOURCE_BACKEND) == 0 ? &backend : NULL;
}

const sagent_plugin* sagent_plugin_v0(void) {
  static const sagent_plugin plugin = {
      .struct_size = sizeof plugin,
      .abi_minor = SAGENT_ABI_MINOR,
      .abi_minor_required = 1,
      .thread_model = SAGENT_THREADS_PER_INSTANCE,
      .id = "minimal",
      .version = "1.0",
      .vendor = "site agent",
      .create = open_instance,
      .destroy = close_instance,
      .get_extension = get_extension,
  };
  return &plugin;
}
