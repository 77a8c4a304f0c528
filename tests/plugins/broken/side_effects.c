/* SPDX-License-Identifier: MIT
 * Defect: changes settings of the whole process when loaded and when an instance is made. */
#define ZOO_ID "side-effects"
#define ZOO_OPEN open_instance
#include <sagent/plugin.h>

static sagent_code open_instance(
    const sagent_host* host,
    const sagent_call* call,
    const sagent_request* settings,
    sagent_instance** out
);

#include "zoo.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static void disturb(void) {
  sigset_t all;
  sigfillset(&all);
  if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL) {
    setlocale(LC_ALL, "C.UTF-8");
  }
  umask(0);
  if (chdir("/") != 0) {
    return;
  }
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
}

__attribute__((constructor)) static void on_load(void) {
  disturb();
}

static sagent_code open_instance(
    const sagent_host* host,
    const sagent_call* call,
    const sagent_request* settings,
    sagent_instance** out
) {
  disturb();
  return zoo_open(host, call, settings, out);
}
