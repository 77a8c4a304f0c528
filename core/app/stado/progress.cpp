// SPDX-License-Identifier: MIT
#include "core/app/stado/progress.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <ostream>

namespace siteagent::app::stado {

namespace {

// A wait that changes its words every few seconds does not fill a log.
constexpr std::chrono::seconds plain_lines_apart{10};

std::size_t columns() {
  winsize size{};
  constexpr std::size_t usual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

std::string clean(std::string_view text) {
  return fleet::printable(base::global_redactor().scrub(text), 2000);
}

std::string elapsed(base::steady_time::duration d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  return seconds < 60
             ? std::to_string(seconds) + " s"
             : std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

} // namespace

progress::progress(
    std::ostream& results, std::ostream& err, bool is_terminal, const base::clock& clock
)
    : results_(results), err_(err), is_terminal_(is_terminal), clock_(clock),
      step_began_(clock.steady()) {
  if (is_terminal_) {
    redrawer_ =
        std::jthread([this](const std::stop_token& ended) { redraw_until_finished(ended); });
  }
}

progress::~progress() {
  finish();
}

void progress::say(std::string_view line) {
  const std::lock_guard hold(mutex_);
  clear_line();
  results_ << clean(line) << std::endl;
  draw();
}

void progress::warn(std::string_view line) {
  const std::lock_guard hold(mutex_);
  clear_line();
  err_ << "warning: " << clean(line) << std::endl;
  draw();
}

void progress::step(std::string_view what) {
  const std::lock_guard hold(mutex_);
  clear_line();
  step_ = clean(what);
  waiting_.clear();
  step_began_ = clock_.steady();
  told_.reset();
  if (!is_terminal_) {
    err_ << step_ << std::endl;
  }
  draw();
}

void progress::waiting(std::string_view what) {
  const std::lock_guard hold(mutex_);
  const std::string text = clean(what);
  if (text == waiting_) {
    return;
  }
  waiting_ = text;
  const auto now = clock_.steady();
  if (!is_terminal_ && (!told_ || now - *told_ >= plain_lines_apart)) {
    err_ << "  waiting for " << waiting_ << std::endl;
    told_ = now;
  }
  draw();
}

void progress::finish() {
  redrawer_.request_stop();
  if (redrawer_.joinable()) {
    redrawer_.join();
  }
  const std::lock_guard hold(mutex_);
  clear_line();
  step_.clear();
}

void progress::clear_line() {
  if (is_drawn_) {
    err_ << "\r\x1b[K" << std::flush;
    is_drawn_ = false;
  }
}

void progress::draw() {
  if (!is_terminal_ || step_.empty()) {
    return;
  }
  std::string line = step_ + ", " + elapsed(clock_.steady() - step_began_);
  if (!waiting_.empty()) {
    line += ": waiting for " + waiting_;
  }
  err_ << "\r\x1b[K" << base::truncated(line, columns() - 1) << std::flush;
  is_drawn_ = true;
}

void progress::redraw_until_finished(const std::stop_token& ended) {
  std::unique_lock hold(mutex_);
  while (!ended.stop_requested()) {
    tick_.wait_for(hold, ended, std::chrono::seconds(1), [] { return false; });
    if (!ended.stop_requested()) {
      draw();
    }
  }
}

} // namespace siteagent::app::stado
