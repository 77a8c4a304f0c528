// SPDX-License-Identifier: MIT
#include "core/net/stomp_frame.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::net {

namespace {

using base::error_code;

// CONNECT and CONNECTED stay as STOMP 1.0 had them, so that both sides can still agree on a
// version.
bool has_escapes(std::string_view command) {
  return command != "CONNECT" && command != "CONNECTED";
}

base::error malformed(const std::string& why) {
  return {
      .code = error_code::transient,
      .message = "STOMP: " + why + "; the other side does not speak STOMP 1.2"};
}

base::error too_large(const std::string& what, std::size_t limit) {
  return {
      .code = error_code::permanent,
      .message = "STOMP: " + what + " of a frame is larger than " + std::to_string(limit) +
                 " bytes; remove the message from the queue"};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '\\':
      out += "\\\\";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\n':
      out += "\\n";
      break;
    case ':':
      out += "\\c";
      break;
    default:
      out += c;
    }
  }
  return out;
}

// nullopt: an escape that STOMP does not know, which it wants treated as a fatal error.
std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    ++i;
    switch (i < text.size() ? text[i] : '\0') {
    case '\\':
      out += '\\';
      break;
    case 'r':
      out += '\r';
      break;
    case 'n':
      out += '\n';
      break;
    case 'c':
      out += ':';
      break;
    default:
      return std::nullopt;
    }
  }
  return out;
}

bool is_command(std::string_view line) {
  return !line.empty() &&
         std::all_of(line.begin(), line.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

} // namespace

const std::string* stomp_frame::find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

std::string_view stomp_frame::get(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

base::result<std::string> to_bytes(const stomp_frame& frame) {
  const bool escapes = has_escapes(frame.command);
  std::string out = frame.command + "\n";
  for (const auto& [name, value] : frame.headers) {
    const std::string_view unspeakable =
        escapes ? std::string_view("\0", 1) : std::string_view("\r\n\0", 3);
    if ((name + value).find_first_of(unspeakable) != std::string::npos ||
        (!escapes && name.find(':') != std::string::npos)) {
      return base::error{
          .code = error_code::invalid,
          .message = "STOMP: header " + escaped(name) + " of " + frame.command +
                     " has a character that cannot be sent; check the setting it comes from"};
    }
    out += (escapes ? escaped(name) : name) + ":" + (escapes ? escaped(value) : value) + "\n";
  }
  if (!frame.body.empty()) {
    out += "content-length:" + std::to_string(frame.body.size()) + "\n";
  }
  out += "\n" + frame.body;
  out += '\0';
  return out;
}

void stomp_parser::append(std::string_view bytes) {
  if (failure_) {
    return;
  }
  bytes_.erase(0, taken_);
  scanned_ -= std::min(scanned_, taken_);
  taken_ = 0;
  bytes_ += bytes;
}

base::result<std::optional<stomp_frame>> stomp_parser::next() {
  if (failure_) {
    return *failure_;
  }
  if (part_ != part::body) {
    if (auto e = take_head()) {
      return fail(std::move(*e));
    }
  }
  if (part_ != part::body) {
    return std::optional<stomp_frame>();
  }
  const std::size_t have = bytes_.size() - taken_;
  if (length_ && have > *length_ && bytes_[taken_ + *length_] != '\0') {
    return fail(malformed("no NUL behind a body of " + std::to_string(*length_) + " bytes"));
  }
  if (take_body()) {
    part_ = part::between;
    return std::optional<stomp_frame>(std::exchange(frame_, {}));
  }
  if (have > limits_.body) {
    return fail(too_large("the body", limits_.body));
  }
  return std::optional<stomp_frame>();
}

base::result<std::optional<stomp_frame>> stomp_parser::fail(base::error e) {
  bytes_ = {};
  taken_ = scanned_ = 0;
  failure_ = std::move(e);
  return *failure_;
}

// Without its LF or CR LF. False: no whole line yet.
bool stomp_parser::take_line(std::string_view& line) {
  scanned_ = std::max(scanned_, taken_);
  const auto end = bytes_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = bytes_.size();
    return false;
  }
  line = std::string_view(bytes_).substr(taken_, end - taken_);
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  head_size_ += end + 1 - taken_;
  taken_ = scanned_ = end + 1;
  return true;
}

// Lines up to the empty one that ends the headers, or as far as they are here.
std::optional<base::error> stomp_parser::take_head() {
  std::string_view line;
  while (take_line(line)) {
    if (part_ == part::between) {
      head_size_ = line.size();
      if (line.empty()) {
        continue; // a heart-beat
      }
      if (!is_command(line)) {
        return malformed("a line that is no command where a frame begins");
      }
      frame_.command = line;
      part_ = part::head;
    } else if (line.empty()) {
      return finish_head();
    } else if (auto e = take_header(line)) {
      return e;
    }
    if (head_size_ > limits_.head) {
      return too_large("the head", limits_.head);
    }
  }
  if (bytes_.size() - taken_ > limits_.head) { // one endless line
    return too_large("the head", limits_.head);
  }
  return std::nullopt;
}

std::optional<base::error> stomp_parser::take_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 ||
      line.find_first_of(std::string_view("\r\0", 2)) != std::string_view::npos) {
    return malformed("a header of " + frame_.command + " that is none");
  }
  if (!has_escapes(frame_.command)) {
    frame_.headers.emplace_back(line.substr(0, colon), line.substr(colon + 1));
    return std::nullopt;
  }
  auto name = unescaped(line.substr(0, colon));
  auto value = unescaped(line.substr(colon + 1));
  if (!name || !value) {
    return malformed("an unknown escape in a header of " + frame_.command);
  }
  frame_.headers.emplace_back(std::move(*name), std::move(*value));
  return std::nullopt;
}

std::optional<base::error> stomp_parser::finish_head() {
  part_ = part::body;
  length_.reset();
  const std::string* text = frame_.find("content-length");
  if (text == nullptr) {
    return std::nullopt;
  }
  std::size_t length = 0;
  const char* end = text->data() + text->size();
  const auto [stop, problem] = std::from_chars(text->data(), end, length);
  if (problem == std::errc::result_out_of_range ||
      (problem == std::errc() && length > limits_.body)) {
    return too_large("the body", limits_.body);
  }
  if (problem != std::errc() || stop != end) {
    return malformed("content-length of " + frame_.command + " is no number");
  }
  length_ = length;
  return std::nullopt;
}

bool stomp_parser::take_body() {
  if (!length_) {
    scanned_ = std::max(scanned_, taken_);
    const auto end = bytes_.find('\0', scanned_);
    if (end == std::string::npos) {
      scanned_ = bytes_.size();
      return false;
    }
    length_ = end - taken_;
  }
  if (bytes_.size() - taken_ <= *length_ || *length_ > limits_.body) {
    return false;
  }
  frame_.body = bytes_.substr(taken_, *length_);
  taken_ += *length_ + 1;
  scanned_ = taken_;
  length_.reset();
  return true;
}

} // namespace siteagent::net
