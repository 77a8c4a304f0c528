// SPDX-License-Identifier: MIT
// A JSON file that several processes change: alone under a lock, replaced atomically.
#pragma once

#include "core/base/json.hpp"

#include <functional>
#include <string>

namespace siteagent::null {

// Gives `work` the file's content (an empty object when there is no file yet) and writes what it
// left there when it returns true. Throws sagent::failure when the file cannot be locked, read or
// written. A killed process leaves the old content or the new; `durable` asks the same of a power
// cut, which costs a wait for the disk. [any thread]
enum class durable : bool { no, yes };
void change_locked(
    const std::string& file, durable d, const std::function<bool(base::json&)>& work
);

// Adds one line to a file, in one piece. Throws likewise.
void append_line(const std::string& file, const std::string& line);

} // namespace siteagent::null
