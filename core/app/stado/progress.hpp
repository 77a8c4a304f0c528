// SPDX-License-Identifier: MIT
// What a long command tells on standard error: on a terminal one line redrawn every second (which
// step, how long, what it waits for), elsewhere a line for each change.
#pragma once

#include "core/fleet/cloud_host/context.hpp"

#include <chrono>
#include <condition_variable>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace siteagent::app::stado {

class progress final : public fleet::cloud_host::narrator {
public:
  // results: where say() goes. Both streams must outlive the object.
  progress(std::ostream& results, std::ostream& err, bool is_terminal, const base::clock& clock);
  ~progress() override; // takes the redrawn line away

  void say(std::string_view line) override;
  void step(std::string_view what) override;
  void waiting(std::string_view what) override;
  void warn(std::string_view line) override;
  // Takes the redrawn line away for good, before the command's results are printed.
  void finish();

private:
  void clear_line();
  void draw();
  void redraw_until_finished(const std::stop_token& ended);

  std::ostream& results_;
  std::ostream& err_;
  const bool is_terminal_;
  const base::clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any tick_;
  std::string step_;
  std::string waiting_;
  base::steady_time step_began_;
  std::optional<base::steady_time> told_; // when the step's last plain line of waiting was printed
  bool is_drawn_ = false;
  std::jthread redrawer_; // last: it uses the others
};

} // namespace siteagent::app::stado
