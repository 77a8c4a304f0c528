// SPDX-License-Identifier: MIT
// Defect: code of the plugin runs after the agent is done with it: an exit handler, a static object
// and a thread-local object, the latter two with destructors. Its settings decide whether create
// fails.
#define ZOO_ID "late-exit"
#define ZOO_OPEN open_instance
#include <sagent/plugin.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct at_end {
  std::string text = "long enough to live on the heap, so that a sanitizer watches it";

  ~at_end() { text.append(" until the end"); }
};

at_end global;
thread_local at_end of_thread;

void exit_handler() {
  global.text.append("!");
}

sagent_code open_instance(
    const sagent_host*, const sagent_call*, const sagent_request* settings, sagent_instance** out
) {
  std::atexit(&exit_handler);
  of_thread.text.append("?");
  const std::string_view body(settings->body.data, settings->body.len);
  if (body.find("refuse") != std::string_view::npos) {
    return SAGENT_E_INVALID;
  }
  *out = reinterpret_cast<sagent_instance*>(&global);
  return SAGENT_OK;
}

} // namespace

#include "zoo.h"
