// SPDX-License-Identifier: MIT
// Documents against packaging/schema/stado-<name>.schema.json.
#pragma once

#include "core/base/json.hpp"
#include "tests/integration/process.hpp"

#include <string>

namespace siteagent::fleet::test {

// "" = it keeps to the schema; else what and where.
inline std::string schema_fault(const std::string& name, const base::json& document) {
  const std::string file = SITEAGENT_SCHEMA_DIR "/stado-" + name + ".schema.json";
  const auto schema = base::json_schema::compile(integration::read_file(file));
  if (!schema) {
    return file + ": " + schema.error().message;
  }
  const auto found = schema->check(document);
  return found ? found->keyword + " at " + found->pointer + " (" + found->schema_pointer + ") in " +
                     document.dump()
               : std::string();
}

} // namespace siteagent::fleet::test
