// SPDX-License-Identifier: MIT
// The host keys pinned for targets: an OpenSSH known_hosts file whose names are target names.
#pragma once

#include "core/base/result.hpp"
#include "core/fleet/runner.hpp"

#include <stop_token>
#include <string>
#include <string_view>

namespace siteagent::fleet {

// Lines are appended by ssh itself, without a lock; taking one out is locked against others that
// take one out. [any thread]
class known_hosts {
public:
  // `programs` must outlive it.
  known_hosts(std::string file, runner& programs) : file_(std::move(file)), programs_(&programs) {}

  const std::string& file() const { return file_; }

  // SHA256 fingerprint of the first key under that name; "" when there is none.
  base::result<std::string> fingerprint(std::string_view name, std::stop_token stop = {}) const;
  base::result<void> forget(std::string_view name) const;
  // Appends the lines of another such file.
  base::result<void> add_from(const std::string& other) const;

private:
  std::string file_;
  runner* programs_;
};

} // namespace siteagent::fleet
