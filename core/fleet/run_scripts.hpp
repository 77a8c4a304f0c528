// SPDX-License-Identifier: MIT
// The fixed scripts that run on a host: reading its run area, the marker of a reaper, and the
// wrapper around a managed run. For bash 3.2 and later; no operator's word is ever part of them.
#pragma once

#include <string>

namespace siteagent::fleet {

// Prints the lines that parse_host_reading takes.
std::string reading_script();

// $1 owner, $2 seconds after which a marker is nobody's. Status 4: another holds it, and its first
// line is on standard error.
std::string set_marker_script();
std::string clear_marker_script();

// $1 name of a run. Status 4: there is none, and those that stand are on standard output, one a
// line; 5: it still runs.
std::string remove_run_script();

// $1 run, $2 nonce, $3 keep, $4 fetch, $5 source follows (0 or 1 each), $6 the command as JSON, $7
// key of the build cache or "", $8 seconds of silence that end the run, then the program's words.
// Reads lines from standard input: "go", "done", anything else is a sign of life; its end is the
// client's. Prints lines "\x1estado <nonce> " + "returning OWNER", "ready rsync|tar DIRECTORY" or
// "ended STATUS" between the program's bytes.
std::string wrapper_script();

} // namespace siteagent::fleet
