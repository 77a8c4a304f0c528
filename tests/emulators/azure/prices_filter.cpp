// SPDX-License-Identifier: MIT
#include "prices_filter.hpp"

#include "core/base/text.hpp"

#include <cstdint>
#include <vector>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;

struct price_filter::node {
  enum class what : std::uint8_t { all_of, any_of, none_of, eq, ne, contains, starts, ends };
  what kind = what::eq;
  std::vector<std::shared_ptr<const node>> parts;
  std::string field;
  std::string value;
};

namespace {

using node = price_filter::node;
using node_ptr = std::shared_ptr<const node>;

// Recursive descent; `problem` is set once and everything after it is ignored.
class reader {
public:
  reader(std::string_view text, const std::function<bool(std::string_view)>& known)
      : rest_(base::trim(text)), known_(known) {}

  node_ptr whole() {
    auto root = any();
    if (problem_.empty() && !rest_.empty()) {
      fail("unexpected text");
    }
    return root;
  }

  const std::string& problem() const { return problem_; }

private:
  static constexpr int deepest = 32;

  void fail(const std::string& why) {
    if (problem_.empty()) {
      problem_ = why + " at '" + std::string(rest_.substr(0, 40)) + "'";
    }
  }

  bool take(std::string_view word) {
    const bool is_word = rest_.size() >= word.size() &&
                         base::equals_ignoring_case(rest_.substr(0, word.size()), word);
    const bool ends = rest_.size() == word.size() || word.back() == '(' || word.back() == ')' ||
                      word.back() == ',' ||
                      (is_word && (rest_[word.size()] == ' ' || rest_[word.size()] == '('));
    if (!is_word || !ends) {
      return false;
    }
    rest_ = base::trim(rest_.substr(word.size()));
    return true;
  }

  node_ptr chain(std::string_view word, node::what kind, node_ptr (reader::*part)()) {
    auto first = (this->*part)();
    if (!problem_.empty() || !take(word)) {
      return first;
    }
    auto n = std::make_shared<node>();
    n->kind = kind;
    n->parts.push_back(first);
    do {
      n->parts.push_back((this->*part)());
    } while (problem_.empty() && take(word));
    return n;
  }

  node_ptr any() { return chain("or", node::what::any_of, &reader::all); }

  node_ptr all() { return chain("and", node::what::all_of, &reader::one); }

  node_ptr one() {
    if (++depth_ > deepest) {
      fail("too many parentheses");
      return {};
    }
    node_ptr n;
    if (take("not")) {
      auto inverted = std::make_shared<node>();
      inverted->kind = node::what::none_of;
      inverted->parts.push_back(one());
      n = inverted;
    } else if (take("(")) {
      n = any();
      if (!take(")")) {
        fail("missing )");
      }
    } else {
      n = term();
    }
    --depth_;
    return n;
  }

  node_ptr term() {
    auto n = std::make_shared<node>();
    if (take("contains(")) {
      n->kind = node::what::contains;
    } else if (take("startswith(")) {
      n->kind = node::what::starts;
    } else if (take("endswith(")) {
      n->kind = node::what::ends;
    } else {
      return comparison(n);
    }
    field(*n, ",");
    if (!take(",")) {
      fail("missing ,");
    }
    value(*n);
    if (!take(")")) {
      fail("missing )");
    }
    return n;
  }

  node_ptr comparison(const std::shared_ptr<node>& n) {
    field(*n, " ");
    if (take("ne")) {
      n->kind = node::what::ne;
    } else if (!take("eq")) {
      fail("only eq and ne compare");
    }
    value(*n);
    return n;
  }

  void field(node& n, std::string_view until) {
    const auto end = rest_.find_first_of(until);
    n.field = std::string(base::trim(rest_.substr(0, end)));
    rest_ = end == std::string_view::npos ? std::string_view() : base::trim(rest_.substr(end));
    if (!known_(n.field)) {
      fail("unknown field '" + n.field + "'");
    }
  }

  void value(node& n) {
    if (rest_.empty() || rest_.front() != '\'') { // true, false, numbers
      const auto end = rest_.find_first_of(" ),");
      n.value = std::string(rest_.substr(0, end));
      rest_ = end == std::string_view::npos ? std::string_view() : base::trim(rest_.substr(end));
      if (n.value.empty()) {
        fail("missing value");
      }
      return;
    }
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] != '\'') {
        n.value += rest_[i];
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '\'') {
        n.value += '\'';
        ++i;
      } else {
        rest_ = base::trim(rest_.substr(i + 1));
        return;
      }
    }
    fail("missing quote");
  }

  std::string_view rest_;
  const std::function<bool(std::string_view)>& known_;
  std::string problem_;
  int depth_ = 0;
};

bool holds(const node& n, const price_filter::lookup& row, bool case_matters) {
  using what = node::what;
  if (n.kind == what::all_of || n.kind == what::any_of || n.kind == what::none_of) {
    for (const auto& part : n.parts) {
      if (holds(*part, row, case_matters) != (n.kind == what::all_of)) {
        return n.kind == what::any_of;
      }
    }
    return n.kind != what::any_of;
  }
  auto value = row(n.field).value_or("");
  auto wanted = n.value;
  if (!case_matters) {
    value = base::to_lower(value);
    wanted = base::to_lower(wanted);
  }
  switch (n.kind) {
  case what::ne:
    return value != wanted;
  case what::contains:
    return value.find(wanted) != std::string::npos;
  case what::starts:
    return value.starts_with(wanted);
  case what::ends:
    return value.ends_with(wanted);
  default:
    return value == wanted;
  }
}

} // namespace

base::result<price_filter> price_filter::parse(
    std::string_view text, bool case_matters, const std::function<bool(std::string_view)>& known
) {
  price_filter f;
  f.case_matters_ = case_matters;
  if (base::trim(text).empty()) {
    return f;
  }
  reader r(text, known);
  f.root_ = r.whole();
  if (!r.problem().empty()) {
    return error{error_code::invalid, "$filter: " + r.problem()};
  }
  return f;
}

bool price_filter::matches(const lookup& row) const {
  return root_ == nullptr || holds(*root_, row, case_matters_);
}

} // namespace siteagent::azure_emulator
