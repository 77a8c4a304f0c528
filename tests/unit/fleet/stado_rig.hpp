// SPDX-License-Identifier: MIT
// stado's commands with streams that are strings and a home of their own.
#pragma once

#include "core/app/stado/command.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace siteagent::tests {

struct ended {
  int code = -1;
  std::string out;
  std::string err;
};

class stado_rig : public scratch {
public:
  app::stado::invocation invocation() {
    app::stado::invocation i;
    i.env = env();
    i.where = where();
    i.clock = &base::real_clock();
    i.programs = &fleet::system_runner();
    i.out = &out_;
    i.err = &err_;
    i.local_hostname = "this-machine";
    i.plugins = plugins;
    return i;
  }

  ended run(const std::vector<std::string>& arguments) {
    out_.str("");
    err_.str("");
    const int code = app::stado::run(arguments, invocation());
    return {code, out_.str(), err_.str()};
  }

  std::vector<host::plugin_directory> plugins;

private:
  std::ostringstream out_;
  std::ostringstream err_;
};

} // namespace siteagent::tests
