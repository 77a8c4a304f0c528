// SPDX-License-Identifier: MIT
// YAML text to a value tree. Internal to core/config; the only user of yaml-cpp is yaml.cpp.
#pragma once

#include "core/base/result.hpp"
#include "core/config/value.hpp"

#include <string>
#include <vector>

namespace siteagent::config {

// The one document in `text`. Duplicate keys, tags and keys that are no text become fatal findings
// and reading goes on; everything that leaves no tree to look at is the error, whose message starts
// with name:line:column. At most 100000 values (aliases counted each time they are used) and 64
// levels.
base::result<value>
read_yaml(const std::string& text, const std::string& name, std::vector<finding>& findings);

} // namespace siteagent::config
