// SPDX-License-Identifier: MIT
#include "core/config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace siteagent::config {

namespace {

constexpr std::size_t most_values = 100'000;
constexpr std::size_t most_levels = 64;

position position_of(const YAML::Mark& mark) {
  return mark.is_null() ? position{} : position{mark.line + 1, mark.column + 1};
}

std::string line_of(position at) {
  return "line " + std::to_string(at.line);
}

// Builds the tree from the parser's events. Events, not YAML::Node: they carry every position, show
// duplicate keys, and let aliases be counted before they are copied.
class tree_builder final : public YAML::EventHandler {
public:
  tree_builder(const std::string& name, std::vector<finding>& findings)
      : name_(name), findings_(findings) {}

  void OnDocumentStart(const YAML::Mark&) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    value v;
    v.at = position_of(mark);
    add_leaf(std::move(v), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(
      const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text
  ) override;

  void OnSequenceStart(
      const YAML::Mark& mark,
      const std::string& tag,
      YAML::anchor_t anchor,
      YAML::EmitterStyle::value
  ) override {
    open(value::kind::list, mark, tag, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(
      const YAML::Mark& mark,
      const std::string& tag,
      YAML::anchor_t anchor,
      YAML::EmitterStyle::value
  ) override {
    open(value::kind::map, mark, tag, anchor);
  }

  void OnMapEnd() override { close(); }

  value root;
  // Set when the text asks for more than the limits; every later event is ignored.
  std::optional<std::pair<position, std::string>> stopped;

private:
  struct frame {
    value node;
    YAML::anchor_t anchor = 0;
    std::optional<value> key; // a key that waits for its value
    std::unordered_map<std::string, position> keys;
    std::vector<value> merges; // the values of "<<"
    std::size_t height = 0;    // levels below
  };

  struct anchored {
    value node;
    std::size_t values = 1;
    std::size_t height = 0;
  };

  void add_leaf(value v, YAML::anchor_t anchor);
  void attach(value v);
  void attach_to_map(frame& top, value v);
  void
  open(value::kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor);
  void close();
  void expand_merges(frame& f);
  static void add_missing(frame& f, const value& source);
  bool count(std::size_t values, position at);
  void stop(position at, std::string why);
  void fail(position at, std::string key, std::string why);
  std::string path(std::string_view last = {}) const;
  void check_tag(const std::string& tag, position at);

  const std::string& name_;
  std::vector<finding>& findings_;
  std::vector<frame> stack_;
  std::map<YAML::anchor_t, anchored> anchors_;
  std::size_t seen_ = 0;
};

std::size_t size_of(const value& v) {
  std::size_t n = 1;
  for (const value& item : v.list) {
    n += size_of(item);
  }
  for (const auto& entry : v.map) {
    n += size_of(entry.second);
  }
  return n;
}

void tree_builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (stopped) {
    return;
  }
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    stop(position_of(mark), "an alias inside the value it stands for");
    return;
  }
  if (stack_.size() + found->second.height >= most_levels) {
    stop(position_of(mark), "nested deeper than " + std::to_string(most_levels) + " levels");
    return;
  }
  if (!count(found->second.values, position_of(mark))) {
    return;
  }
  if (!stack_.empty()) {
    stack_.back().height = std::max(stack_.back().height, found->second.height + 1);
  }
  attach(found->second.node);
}

void tree_builder::OnScalar(
    const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text
) {
  value v;
  v.type = value::kind::scalar;
  v.at = position_of(mark);
  v.text = text;
  v.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
  check_tag(tag, v.at);
  add_leaf(std::move(v), anchor);
}

void tree_builder::check_tag(const std::string& tag, position at) {
  if (stopped || tag.empty() || tag == "?" || tag == "!") {
    return;
  }
  for (const std::string_view known : {"str", "int", "float", "bool", "null", "map", "seq"}) {
    if (tag == "tag:yaml.org,2002:" + std::string(known)) {
      return;
    }
  }
  // The tag itself is not shown: it may be the start of a password that needs quotes.
  fail(at, path(), "a tag (a word that begins with '!') has no meaning here; put text in quotes");
}

void tree_builder::add_leaf(value v, YAML::anchor_t anchor) {
  if (stopped || !count(1, v.at)) {
    return;
  }
  if (!stack_.empty()) {
    stack_.back().height = std::max<std::size_t>(stack_.back().height, 1);
  }
  if (anchor != 0) {
    anchors_[anchor] = {v, 1, 0};
  }
  attach(std::move(v));
}

void tree_builder::open(
    value::kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor
) {
  if (stopped) {
    return;
  }
  if (stack_.size() >= most_levels) {
    stop(position_of(mark), "nested deeper than " + std::to_string(most_levels) + " levels");
    return;
  }
  if (!count(1, position_of(mark))) {
    return;
  }
  check_tag(tag, position_of(mark));
  frame f;
  f.node.type = kind;
  f.node.at = position_of(mark);
  f.anchor = anchor;
  stack_.push_back(std::move(f));
}

void tree_builder::close() {
  if (stopped) {
    return;
  }
  expand_merges(stack_.back());
  frame done = std::move(stack_.back());
  stack_.pop_back();
  if (done.anchor != 0) {
    const std::size_t values = size_of(done.node);
    if (!count(values, done.node.at)) { // the kept copy
      return;
    }
    anchors_[done.anchor] = {done.node, values, done.height};
  }
  if (!stack_.empty()) {
    stack_.back().height = std::max(stack_.back().height, done.height + 1);
  }
  attach(std::move(done.node));
}

void tree_builder::attach(value v) {
  if (stack_.empty()) {
    root = std::move(v);
    return;
  }
  frame& top = stack_.back();
  if (top.node.type == value::kind::list) {
    top.node.list.push_back(std::move(v));
    return;
  }
  if (top.key) {
    attach_to_map(top, std::move(v));
    top.key.reset();
    return;
  }
  if (!v.is_scalar()) {
    fail(v.at, path(), "a key must be a plain word");
  }
  top.key = std::move(v);
}

void tree_builder::attach_to_map(frame& top, value v) {
  const value& key = *top.key;
  if (!key.is_scalar()) {
    return; // reported already
  }
  v.key_at = key.at;
  if (key.text == "<<" && !key.quoted) {
    top.merges.push_back(std::move(v));
    return;
  }
  const auto [first, is_new] = top.keys.emplace(key.text, key.at);
  if (!is_new) {
    fail(key.at, path(key.text), "duplicate key (first at " + line_of(first->second) + ")");
    return;
  }
  top.node.map.emplace_back(key.text, std::move(v));
}

// Explicit keys win over merged ones, and earlier merged maps over later ones.
void tree_builder::expand_merges(frame& f) {
  for (const value& source : f.merges) {
    if (source.is_map()) {
      add_missing(f, source);
      continue;
    }
    const bool all_maps =
        source.is_list() && std::all_of(source.list.begin(), source.list.end(), [](const value& v) {
          return v.is_map();
        });
    if (!all_maps) {
      fail(source.key_at, path("<<"), "expected an alias of a mapping, or a list of such");
      continue;
    }
    for (const value& item : source.list) {
      add_missing(f, item);
    }
  }
}

void tree_builder::add_missing(frame& f, const value& source) {
  for (const auto& entry : source.map) {
    if (f.keys.emplace(entry.first, entry.second.key_at).second) {
      f.node.map.push_back(entry);
    }
  }
}

bool tree_builder::count(std::size_t values, position at) {
  if (values > most_values - seen_) {
    stop(at, "more than " + std::to_string(most_values) + " values (aliases count each time)");
    return false;
  }
  seen_ += values;
  return true;
}

void tree_builder::stop(position at, std::string why) {
  stopped.emplace(at, std::move(why));
}

void tree_builder::fail(position at, std::string key, std::string why) {
  findings_.push_back({true, name_, at, std::move(key), std::move(why)});
}

// "offerings[0].backend_settings": where the innermost open value stands.
std::string tree_builder::path(std::string_view last) const {
  std::string out;
  for (const frame& f : stack_) {
    if (f.node.is_list()) {
      out += "[" + std::to_string(f.node.list.size()) + "]";
    } else if (f.key && f.key->is_scalar() && (&f != &stack_.back() || last.empty())) {
      out += (out.empty() ? "" : ".") + shown_key(f.key->text);
    }
  }
  if (!last.empty()) {
    out += (out.empty() ? "" : ".") + shown_key(last);
  }
  return out;
}

base::error unreadable(const std::string& name, position at, const std::string& why) {
  finding f{true, name, at, {}, why};
  return {base::error_code::invalid, f.text()};
}

// Line and column of a byte offset.
position place_of(const std::string& text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(offset);
  const auto lines = std::count(text.begin(), end, '\n');
  const std::size_t line_start = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  const std::size_t column = line_start == std::string::npos ? offset : offset - line_start - 1;
  return {static_cast<int>(lines) + 1, static_cast<int>(column) + 1};
}

// 0: no valid sequence at `i`.
std::size_t sequence_length(const std::string& s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const auto tails = [&](std::size_t n) {
    for (std::size_t k = 1; k <= n; ++k) {
      if (i + k >= s.size() || (byte(i + k) & 0xC0U) != 0x80U) {
        return false;
      }
    }
    return true;
  };
  const unsigned lead = byte(i);
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return tails(1) ? 2 : 0;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool ok =
        tails(2) && !(lead == 0xE0 && byte(i + 1) < 0xA0) && !(lead == 0xED && byte(i + 1) > 0x9F);
    return ok ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool ok =
        tails(3) && !(lead == 0xF0 && byte(i + 1) < 0x90) && !(lead == 0xF4 && byte(i + 1) > 0x8F);
    return ok ? 4 : 0;
  }
  return 0;
}

// yaml-cpp takes any bytes, and ends a document silently at 0x04.
std::optional<base::error> check_bytes(const std::string& text, const std::string& name) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = sequence_length(text, i);
    if (n == 0) {
      return unreadable(name, place_of(text, i), "not UTF-8; save the file as UTF-8");
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F) {
      return unreadable(name, place_of(text, i), "a control character, which YAML forbids");
    }
    i += n;
  }
  return std::nullopt;
}

// The parser's words without the piece of the text that some of them end in, and with a hint where
// the usual cause is a missing pair of quotes.
std::string reworded(const std::string& why) {
  if (why == YAML::ErrorMsg::BAD_FILE) {
    return "nested too deeply";
  }
  if (why == YAML::ErrorMsg::DOC_IN_SCALAR || why == YAML::ErrorMsg::EOF_IN_SCALAR) {
    return "not YAML: a quoted text is never closed";
  }
  if (why == YAML::ErrorMsg::UNKNOWN_TOKEN || why == YAML::ErrorMsg::UNKNOWN_ANCHOR) {
    return "not YAML: " + why + "; text that begins with a sign such as * & ! % @ needs quotes";
  }
  return "not YAML: " + why.substr(0, why.find(": "));
}

// At the end of the file yaml-cpp closes an open quote by itself; an end-of-document mark makes it
// throw. Only for the check, because the mark adds a line's end to a last block of text.
void check_end(const std::string& text, const std::string& name) {
  std::istringstream in(text + (text.ends_with('\n') ? "...\n" : "\n...\n"));
  YAML::Parser parser(in);
  std::vector<finding> ignored;
  tree_builder builder(name, ignored);
  parser.HandleNextDocument(builder);
}

} // namespace

base::result<value>
read_yaml(const std::string& text, const std::string& name, std::vector<finding>& findings) {
  if (auto bad = check_bytes(text, name)) {
    return *std::move(bad);
  }
  tree_builder builder(name, findings);
  std::istringstream in(text);
  try {
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) {
      return unreadable(name, {1, 1}, "empty; expected a mapping with the key 'offerings'");
    }
    if (builder.stopped) {
      return unreadable(name, builder.stopped->first, builder.stopped->second);
    }
    value root = std::move(builder.root);
    std::vector<finding> ignored;
    tree_builder second(name, ignored);
    if (parser.HandleNextDocument(second)) {
      return unreadable(
          name, second.root.at, "a second YAML document; the file must hold exactly one"
      );
    }
    check_end(text, name);
    return root;
  } catch (const YAML::Exception& e) {
    return unreadable(name, position_of(e.mark), reworded(e.msg));
  }
}

} // namespace siteagent::config
