// SPDX-License-Identifier: MIT
// A managed run seen from the client. One connection carries the wrapper: its standard input is the
// client's sign of life, so the host ends the run however the client goes.
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/fleet/delivery.hpp"
#include "core/fleet/descriptor.hpp"
#include "core/fleet/digest.hpp"
#include "core/fleet/marked_stream.hpp"
#include "core/fleet/run_scripts.hpp"
#include "core/fleet/runs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

namespace siteagent::fleet {

namespace {

namespace fs = std::filesystem;
using base::error;
using base::error_code;
using base::json;
using base::result;
using std::chrono::seconds;

// How long the wrapper may take to end a program and to remove a big tree before its client leaves
// it to that alone.
constexpr seconds end_of_run{120};
constexpr seconds end_after_stop{20};

std::string json_of(const std::vector<std::string>& words) {
  json all = json::array();
  for (const std::string& word : words) {
    all.push_back(word);
  }
  return all.dump();
}

// The same for every run from one folder of this machine.
std::string cache_key_of(const kompilator_request& r) {
  if (r.source_directory.empty() && r.revision.empty()) {
    return "";
  }
  std::error_code unknown;
  const fs::path folder =
      fs::weakly_canonical(r.source_directory.empty() ? "." : r.source_directory, unknown);
  return sha256_hex(folder.string()).substr(0, 32);
}

// What the wrapper has told so far, and the end of its connection.
class wrapper_connection {
public:
  wrapper_connection(
      channel& c, const target& host, const kompilator_request& r, std::string run, bool delivers
  )
      : channel_(c), host_(host), request_(r), run_(std::move(run)),
        nonce_(base::uuid::random().hex()), delivers_(delivers) {}

  wrapper_connection(const wrapper_connection&) = delete;
  wrapper_connection& operator=(const wrapper_connection&) = delete;

  ~wrapper_connection() {
    hang_up();
    give_up_.request_stop();
  }

  result<void> open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      return error{
          .code = error_code::transient,
          .message = std::string("no pipe to the run: ") + std::strerror(errno)};
    }
    input_ = descriptor(ends[0]);
    words_ = descriptor(ends[1]);
    ::fcntl(words_.get(), F_SETFL, O_NONBLOCK);
    talk_ = std::jthread([this] { talk(); });
    signs_ = std::jthread([this](std::stop_token stop) { give_signs(std::move(stop)); });
    return {};
  }

  enum class event { ready, returning, ended, closed, stopped };

  // The first of these that has come and is asked for; closed and stopped always are.
  event wait_for(event wanted, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] {
      return closed_ || !returning_.empty() || (wanted == event::ready && !folder_.empty()) ||
             (wanted == event::ended && status_);
    });
    if (wanted == event::ready && !folder_.empty()) {
      return event::ready;
    }
    if (wanted == event::ended && status_) {
      return event::ended;
    }
    if (!returning_.empty()) {
      return event::returning;
    }
    return closed_ ? event::closed : event::stopped;
  }

  void say(std::string_view word) {
    const std::string line = std::string(word) + "\n";
    const std::scoped_lock lock(words_mutex_);
    if (words_) {
      (void)!::write(words_.get(), line.data(), line.size());
    }
  }

  // The wrapper ends the run.
  void hang_up() {
    const std::scoped_lock lock(words_mutex_);
    words_.close();
  }

  // false: still open after that time, and cut off.
  bool close_within(seconds time) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, time, [&] { return closed_; })) {
      return true;
    }
    lock.unlock();
    give_up_.request_stop();
    return false;
  }

  // Valid after the event that they belong to.
  const std::string& folder() const { return folder_; }

  bool has_rsync() const { return has_rsync_; }

  int status() const { return *status_; }

  const std::string& returning() const { return returning_; }

  const result<remote_answer>& answer() const { return answer_; }

private:
  void talk() {
    marked_stream out(
        "\x1estado " + nonce_ + " ",
        [this](std::string_view bytes) {
          if (request_.on_output) {
            request_.on_output(bytes);
          }
        },
        [this](std::string_view text) { note(text); }
    );
    channel_options o;
    o.cap = std::chrono::milliseconds(0);
    o.stop = give_up_.get_token();
    o.input_fd = input_.get();
    o.on_output = [&out](std::string_view bytes) { out.take(bytes); };
    o.on_error_output = [this](std::string_view bytes) {
      if (request_.on_error_output) {
        request_.on_error_output(bytes);
      }
    };
    auto answer = channel_.run_words(host_, words_of_wrapper(), o);
    out.finish();
    const std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
    closed_ = true;
    changed_.notify_all();
  }

  std::vector<std::string> words_of_wrapper() const {
    const auto flag = [](bool is_set) { return std::string(is_set ? "1" : "0"); };
    std::vector<std::string> words{
        "/bin/bash",
        "-c",
        wrapper_script(),
        "stado",
        run_,
        nonce_,
        flag(request_.keep),
        flag(!request_.fetches.empty()),
        flag(delivers_),
        json_of(request_.words),
        cache_key_of(request_),
        std::to_string(request_.silence.count())};
    words.insert(words.end(), request_.words.begin(), request_.words.end());
    return words;
  }

  void note(std::string_view text) {
    const std::string_view kind = text.substr(0, text.find(' '));
    const std::string_view rest = text.substr(std::min(text.size(), kind.size() + 1));
    const std::scoped_lock lock(mutex_);
    if (kind == "ready") {
      has_rsync_ = rest.starts_with("rsync ");
      folder_ = rest.substr(std::min(rest.size(), rest.find(' ') + 1));
    } else if (kind == "ended") {
      int status = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), status);
      status_ = status;
    } else if (kind == "returning") {
      returning_ = rest.empty() ? "a reaper" : printable(rest, 120);
    }
    changed_.notify_all();
  }

  // Six in the time after which silence means that this client is gone.
  void give_signs(std::stop_token stop) {
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(request_.silence) / 6;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, stop, pause, [&] { return closed_; }) && !stop.stop_requested()
    ) {
      lock.unlock();
      say(".");
      lock.lock();
    }
  }

  channel& channel_;
  const target& host_;
  const kompilator_request& request_;
  std::string run_;
  std::string nonce_;
  bool delivers_;
  descriptor input_;
  std::mutex words_mutex_;
  descriptor words_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string folder_;
  bool has_rsync_ = false;
  std::string returning_;
  std::optional<int> status_;
  bool closed_ = false;
  result<remote_answer> answer_ = remote_answer{};
  std::stop_source give_up_;
  std::jthread signs_;
  std::jthread talk_; // last: joined first
};

class kompilator_run {
public:
  kompilator_run(
      channel& c,
      runner& programs,
      const target& host,
      const kompilator_request& r,
      std::stop_token stop
  )
      : channel_(c), programs_(programs), host_(host), request_(r), stop_(std::move(stop)) {}

  result<kompilator_report> run() {
    if (auto good = check_request(); !good) {
      return good.error();
    }
    report_.run = base::uuid::random().hex();
    wrapper_connection wrapper(channel_, host_, request_, report_.run, !directory_.empty());
    if (auto opened = wrapper.open(); !opened) {
      return opened.error();
    }
    using event = wrapper_connection::event;
    if (const event e = wrapper.wait_for(event::ready, stop_); e != event::ready) {
      return not_begun(wrapper, e);
    }
    tell("run " + report_.run + " on " + host_.name);
    if (auto sent = deliver(wrapper); !sent) {
      return end_with(wrapper, sent.error());
    }
    wrapper.say("go");
    if (const event e = wrapper.wait_for(event::ended, stop_); e != event::ended) {
      return not_ended(wrapper, e);
    }
    report_.status = wrapper.status();
    return collect(wrapper);
  }

private:
  result<void> check_request() {
    if (request_.words.empty()) {
      return error{.code = error_code::invalid, .message = "there is no program to run"};
    }
    auto plans = plan_fetches(request_.fetches);
    if (!plans) {
      return plans.error();
    }
    plans_ = *std::move(plans);
    const bool has_source = !request_.source_directory.empty();
    if (has_source || !request_.revision.empty()) {
      directory_ = has_source ? request_.source_directory : ".";
      if (auto good = check_source(directory_); !good) {
        return good;
      }
    }
    if (!request_.revision.empty()) {
      auto commit = commit_of(programs_, directory_, request_.revision, stop_);
      if (!commit) {
        return commit.error();
      }
      commit_ = *std::move(commit);
    }
    return {};
  }

  result<void> deliver(wrapper_connection& wrapper) {
    if (directory_.empty()) {
      return {};
    }
    tell("sending " + (commit_.empty() ? printable(directory_) : commit_));
    delivery d(channel_, programs_, host_, wrapper.has_rsync(), stop_);
    const std::string to = wrapper.folder() + "/src";
    return commit_.empty() ? d.send_directory(directory_, to)
                           : d.send_commit(directory_, commit_, to);
  }

  // After the program: results, then the wrapper's own end.
  result<kompilator_report> collect(wrapper_connection& wrapper) {
    result<void> fetched;
    if (report_.status == 0 && !plans_.empty()) {
      delivery d(channel_, programs_, host_, wrapper.has_rsync(), stop_);
      const std::string from = wrapper.folder() + (directory_.empty() ? "" : "/src");
      for (const fetch_plan& plan : plans_) {
        tell("fetching " + printable(plan.remote));
        fetched = d.fetch(from, plan);
        if (!fetched) {
          break;
        }
        report_.fetched.push_back(plan.local);
      }
    }
    wrapper.say("done");
    report_.kept = request_.keep;
    if (!wrapper.close_within(stop_.stop_requested() ? end_after_stop : end_of_run)) {
      tell("the host still removes run " + report_.run);
    }
    if (!fetched) {
      return base::with_context(
          fetched.error(), "the program ended with 0, but its results did not arrive"
      );
    }
    return report_;
  }

  result<kompilator_report> end_with(wrapper_connection& wrapper, error e) const {
    wrapper.hang_up();
    (void)wrapper.close_within(end_after_stop);
    return stop_.stop_requested() ? stopped() : std::move(e);
  }

  result<kompilator_report>
  not_begun(wrapper_connection& wrapper, wrapper_connection::event e) const {
    if (e == wrapper_connection::event::stopped) {
      return end_with(wrapper, stopped());
    }
    if (e == wrapper_connection::event::returning) {
      (void)wrapper.close_within(end_after_stop);
      return error{
          .code = error_code::refused,
          .message = host_.name + " is being returned (" + wrapper.returning() +
                     "); build on another host, or wait for what the reaper decides"};
    }
    if (!wrapper.answer()) {
      return wrapper.answer().error();
    }
    const std::string line = wrapper.answer()->last_error_line();
    return error{
        .code = error_code::permanent,
        .message = host_.name + ": the run did not begin (status " +
                   std::to_string(wrapper.answer()->status) + (line.empty() ? "" : ": " + line) +
                   ")"};
  }

  result<kompilator_report>
  not_ended(wrapper_connection& wrapper, wrapper_connection::event e) const {
    if (e == wrapper_connection::event::stopped) {
      return end_with(wrapper, stopped());
    }
    const std::string what = "run " + report_.run + " was lost before its program ended";
    if (!wrapper.answer()) {
      return base::with_context(wrapper.answer().error(), what);
    }
    const std::string line = wrapper.answer()->last_error_line();
    return error{
        .code = error_code::transient,
        .message = host_.name + ": " + what + (line.empty() ? "" : " (" + line + ")")};
  }

  error stopped() const {
    return {
        .code = error_code::cancelled,
        .message = "run " + report_.run + " on " + host_.name + " was stopped"};
  }

  void tell(const std::string& line) const {
    if (request_.progress) {
      request_.progress(line);
    }
  }

  channel& channel_;
  runner& programs_;
  const target& host_;
  const kompilator_request& request_;
  std::stop_token stop_;
  std::vector<fetch_plan> plans_;
  std::string directory_; // "" = nothing is delivered
  std::string commit_;    // "" = the folder as it is
  kompilator_report report_;
};

} // namespace

result<kompilator_report> run_kompilator(
    channel& c,
    runner& programs,
    const target& host,
    const kompilator_request& r,
    std::stop_token stop
) {
  return kompilator_run(c, programs, host, r, std::move(stop)).run();
}

} // namespace siteagent::fleet
