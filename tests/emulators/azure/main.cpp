// SPDX-License-Identifier: MIT
// azure-emulator: a local Azure Resource Manager for tests and rehearsals.
#include "service.hpp"

int main(int argc, char** argv) {
  siteagent::azure_emulator::service azure;
  return siteagent::emulators::run(azure, argc, argv);
}
