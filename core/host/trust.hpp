// SPDX-License-Identifier: MIT
// May this file be loaded? Everything is asked of open descriptors, before anything of the file
// runs: constructors of a shared object run inside dlopen.
#pragma once

#include "core/base/result.hpp"
#include "core/host/plugin.hpp"

#include <string>

namespace siteagent::host {

// Checks `directory.path`/`stem`.so and returns its canonical absolute path. Refused (`invalid`,
// with path, reason and remedy): links, non-regular files, a foreign owner, files or directories
// that group or others may write, files that are no shared object of this machine, cut files.
// Outside developer mode every parent directory must be safe as well; a sticky directory of root
// (/tmp) is, as a parent.
base::result<std::string> check_file(const plugin_directory& directory, std::string_view stem);

// The part that reads the ELF header: `fd` is a regular file of `size` bytes. Public for tests.
base::result<void> check_elf(int fd, std::uint64_t size);

} // namespace siteagent::host
