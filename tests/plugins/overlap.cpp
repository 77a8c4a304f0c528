// SPDX-License-Identifier: MIT
// A correct plugin that shows how its calls overlap; built once per thread model. ping answers how
// many calls are inside the shared object at once, at most so far. create_resource waits until two
// are inside, or the call ends.
#define ZOO_ID OVERLAP_ID
#define ZOO_THREADS OVERLAP_THREADS
#define ZOO_PING ping
#define ZOO_CREATE_RESOURCE create_resource
#include <sagent/plugin.h>

static sagent_code ping(sagent_instance*, const sagent_call* call, const sagent_request*);
static sagent_code
create_resource(sagent_instance*, const sagent_call* call, const sagent_request*);

#include "broken/zoo.h"

#include <atomic>
#include <string>
#include <thread>

static std::atomic<int> inside{0};
static std::atomic<int> most{0};

namespace {

struct visit {
  visit() {
    const int now = ++inside;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
  }

  ~visit() { --inside; }
};

} // namespace

static sagent_code ping(sagent_instance*, const sagent_call* call, const sagent_request*) {
  const visit v;
  std::this_thread::yield();
  return zoo_emit(call, ("{\"most\":" + std::to_string(most) + "}").c_str());
}

static sagent_code
create_resource(sagent_instance*, const sagent_call* call, const sagent_request*) {
  const visit v;
  while (most < 2) {
    if (const sagent_code stop = call->wait_ms(call, 1); stop != SAGENT_OK) {
      return stop;
    }
  }
  return SAGENT_OK;
}
