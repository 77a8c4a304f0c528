// SPDX-License-Identifier: MIT
// The waldur-emulator program.
#include "waldur.hpp"

int main(int argc, char** argv) {
  siteagent::waldur_emulator::waldur emulator;
  return siteagent::emulators::run(emulator, argc, argv);
}
