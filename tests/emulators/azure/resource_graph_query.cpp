// SPDX-License-Identifier: MIT
#include "resource_graph_query.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

struct token {
  enum class what : std::uint8_t { word, text, sign, end };
  what kind = what::end;
  std::string value;
};

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '-';
}

// nullopt: a quote is missing.
std::optional<std::vector<token>> tokens_of(std::string_view text) {
  std::vector<token> out;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
    } else if (c == '\'' || c == '"') {
      const auto end = text.find(c, i + 1);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      out.push_back({token::what::text, std::string(text.substr(i + 1, end - i - 1))});
      i = end + 1;
    } else if (is_word_char(c)) {
      const auto from = i;
      while (i < text.size() && is_word_char(text[i])) {
        ++i;
      }
      std::string word(text.substr(from, i - from));
      if (i < text.size() && text[i] == '~' && (word == "in" || word == "has")) {
        word += '~';
        ++i;
      }
      out.push_back({token::what::word, word});
    } else {
      std::string sign(1, c);
      constexpr std::string_view pairs[] = {"=~", "!~", "==", "!=", ">=", "<="};
      for (const auto pair : pairs) {
        sign = text.substr(i, 2) == pair ? std::string(pair) : sign;
      }
      out.push_back({token::what::sign, sign});
      i += sign.size();
    }
  }
  return out;
}

using value_of = std::function<json(const json& row)>;
using test_of = std::function<bool(const json& row)>;

std::string text_of_value(const json& v) {
  if (v.is_bool()) {
    return *v.boolean() ? "true" : "false";
  }
  return v.is_object() || v.is_array() ? v.dump() : std::string(v.number_text().value_or(""));
}

// Member names are found without case, as the service finds them.
json member_of(const json& object, std::string_view name) {
  for (const auto& [key, value] : object.members()) {
    if (equals_ignoring_case(key, name)) {
      return value;
    }
  }
  return {};
}

int compare(const json& a, const json& b) {
  const auto x = base::decimal::parse(a.number_text().value_or(""));
  const auto y = base::decimal::parse(b.number_text().value_or(""));
  if (x && y) {
    return *x < *y ? -1 : *y < *x ? 1 : 0;
  }
  return text_of_value(a).compare(text_of_value(b));
}

class reader {
public:
  explicit reader(std::vector<token> tokens) : tokens_(std::move(tokens)) {}

  result<graph_query> whole() {
    graph_query q;
    q.table = base::to_lower(word());
    while (problem_.empty() && !at_end()) {
      need("|");
      step(q);
    }
    if (!problem_.empty()) {
      return error{error_code::invalid, problem_};
    }
    return q;
  }

private:
  const token& here() const {
    static const token none;
    return at_ < tokens_.size() ? tokens_[at_] : none;
  }

  bool at_end() const { return at_ >= tokens_.size(); }

  void fail(const std::string& why) {
    if (problem_.empty()) {
      problem_ = why + " at '" + here().value + "'";
    }
  }

  bool take(std::string_view value) {
    const auto& t = here();
    if (t.kind == token::what::text || !equals_ignoring_case(t.value, value) || at_end()) {
      return false;
    }
    ++at_;
    return true;
  }

  void need(std::string_view value) {
    if (!take(value)) {
      fail("expected " + std::string(value));
    }
  }

  std::string word() {
    if (here().kind != token::what::word) {
      fail("expected a name");
      return {};
    }
    return tokens_[at_++].value;
  }

  std::size_t number() {
    const auto n = json::number(word()).integer();
    if (!n || *n < 0) {
      fail("expected a number");
    }
    return static_cast<std::size_t>(n.value_or(0));
  }

  void step(graph_query& q) {
    if (take("where")) {
      q.steps.push_back([test = any()](std::vector<json>& rows) {
        std::erase_if(rows, [&](const json& row) { return !test(row); });
      });
    } else if (take("project")) {
      q.steps.push_back(columns(false));
    } else if (take("extend")) {
      q.steps.push_back(columns(true));
    } else if (take("summarize")) {
      q.steps.push_back(summary());
    } else if (take("count")) {
      q.steps.push_back([](std::vector<json>& rows) {
        const auto n = rows.size();
        rows = {json::object({{"Count", n}})};
      });
    } else if (take("limit") || take("take")) {
      q.steps.push_back([n = number()](std::vector<json>& rows) {
        rows.resize(std::min(rows.size(), n));
      });
    } else if (take("order") || take("sort")) {
      need("by");
      q.steps.push_back(order());
    } else {
      fail("this operator is not known here");
    }
  }

  graph_query::step columns(bool keeps_others) {
    std::vector<std::pair<std::string, value_of>> list;
    do {
      const auto from = at_;
      std::string name = word();
      if (!take("=")) { // a path: named by its parts
        at_ = from;
        name.clear();
        const auto value = operand();
        for (auto i = from; i < at_; ++i) {
          const auto& part = tokens_[i];
          name += part.kind != token::what::sign ? (name.empty() ? "" : "_") + part.value : "";
        }
        list.emplace_back(name, value);
      } else {
        list.emplace_back(name, operand());
      }
    } while (problem_.empty() && take(","));
    return [list, keeps_others](std::vector<json>& rows) {
      for (auto& row : rows) {
        json out = keeps_others ? row : json::object();
        for (const auto& [name, value] : list) {
          out.set(name, value(row));
        }
        row = std::move(out);
      }
    };
  }

  graph_query::step summary() {
    std::string name = "count_";
    if (!take("count")) {
      name = word();
      need("=");
      need("count");
    }
    need("(");
    need(")");
    std::vector<std::pair<std::string, value_of>> groups;
    if (take("by")) {
      do {
        const auto from = at_;
        std::string group = word();
        if (!take("=")) {
          at_ = from;
        }
        groups.emplace_back(group, operand());
      } while (problem_.empty() && take(","));
    }
    return [name, groups](std::vector<json>& rows) {
      std::map<std::string, std::pair<json, std::int64_t>> counts;
      for (const auto& row : rows) {
        json key = json::object();
        for (const auto& [group, value] : groups) {
          key.set(group, value(row));
        }
        auto& entry = counts[key.dump()];
        entry.first = key;
        ++entry.second;
      }
      rows.clear();
      for (auto& [text, entry] : counts) {
        entry.first.set(name, entry.second);
        rows.push_back(entry.first);
      }
      if (rows.empty() && groups.empty()) {
        rows.push_back(json::object({{name, 0}}));
      }
    };
  }

  graph_query::step order() {
    const auto value = operand();
    const bool ascending = take("asc");
    const bool descending = !ascending; // the language's default
    if (descending) {
      take("desc");
    }
    return [value, descending](std::vector<json>& rows) {
      std::stable_sort(rows.begin(), rows.end(), [&](const json& a, const json& b) {
        const int order = compare(value(a), value(b));
        return descending ? order > 0 : order < 0;
      });
    };
  }

  // A path, a literal, or a function of one of them.
  value_of operand() {
    const auto t = here();
    if (t.kind == token::what::text) {
      ++at_;
      return [t](const json&) { return json(t.value); };
    }
    const std::string name = word();
    if (const auto number = json::number(name); !number.is_null()) {
      return [number](const json&) { return number; };
    }
    if (take("(")) {
      const auto inner = operand();
      need(")");
      return function(base::to_lower(name), inner);
    }
    std::vector<std::string> path = {name};
    while (problem_.empty()) {
      if (take(".")) {
        path.push_back(word());
      } else if (take("[")) {
        path.push_back(here().value);
        ++at_;
        need("]");
      } else {
        break;
      }
    }
    return [path](const json& row) {
      json value = row;
      for (const auto& part : path) {
        const auto index = json::number(part).integer();
        value = value.is_array() && index && *index >= 0 ? value[static_cast<std::size_t>(*index)]
                                                         : member_of(value, part);
      }
      return value;
    };
  }

  value_of function(const std::string& name, const value_of& inner) {
    if (name == "tolower") {
      return [inner](const json& row) { return json(base::to_lower(text_of_value(inner(row)))); };
    }
    if (name == "tostring") {
      return [inner](const json& row) { return json(text_of_value(inner(row))); };
    }
    if (name == "toint" || name == "todouble" || name == "tolong") {
      return [inner](const json& row) { return json::number(text_of_value(inner(row))); };
    }
    fail("unknown function " + name);
    return inner;
  }

  test_of any() {
    auto left = all();
    while (problem_.empty() && take("or")) {
      left = [left, right = all()](const json& row) { return left(row) || right(row); };
    }
    return left;
  }

  test_of all() {
    auto left = one();
    while (problem_.empty() && take("and")) {
      left = [left, right = one()](const json& row) { return left(row) && right(row); };
    }
    return left;
  }

  test_of one() {
    const test_of never = [](const json&) { return false; };
    if (++depth_ > deepest) {
      fail("too deep");
      return never;
    }
    test_of test = never;
    const bool empty = equals_ignoring_case(here().value, "isempty");
    if (empty || equals_ignoring_case(here().value, "isnotempty")) {
      ++at_;
      need("(");
      const auto value = operand();
      need(")");
      test = [value, empty](const json& row) { return text_of_value(value(row)).empty() == empty; };
    } else if (take("not")) {
      need("(");
      const auto inner = any();
      need(")");
      test = [inner](const json& row) { return !inner(row); };
    } else if (take("(")) {
      test = any();
      need(")");
    } else {
      test = comparison();
    }
    --depth_;
    return test;
  }

  test_of comparison() {
    const auto left = operand();
    const std::string sign = base::to_lower(here().value);
    ++at_;
    if (sign == "in" || sign == "in~") {
      return member(left, sign == "in~");
    }
    const auto right = operand();
    const auto lower = [](const json& v) { return base::to_lower(text_of_value(v)); };
    if (sign == "==" || sign == "!=") {
      return [left, right, want = sign == "=="](const json& row) {
        return (text_of_value(left(row)) == text_of_value(right(row))) == want;
      };
    }
    if (sign == "=~" || sign == "!~") {
      return [left, right, lower, want = sign == "=~"](const json& row) {
        return (lower(left(row)) == lower(right(row))) == want;
      };
    }
    if (sign == "contains" || sign == "has") {
      return [left, right, lower](const json& row) {
        return lower(left(row)).find(lower(right(row))) != std::string::npos;
      };
    }
    if (sign == "startswith") {
      return [left, right, lower](const json& row) {
        return lower(left(row)).starts_with(lower(right(row)));
      };
    }
    if (sign == "<" || sign == ">" || sign == "<=" || sign == ">=") {
      return [left, right, sign](const json& row) {
        const int order = compare(left(row), right(row));
        return (order < 0 && sign[0] == '<') || (order > 0 && sign[0] == '>') ||
               (order == 0 && sign.size() == 2);
      };
    }
    --at_;
    fail("this comparison is not known here");
    return [](const json&) { return false; };
  }

  test_of member(const value_of& left, bool any_case) {
    std::vector<std::string> list;
    need("(");
    do {
      const auto value = operand();
      const std::string text = problem_.empty() ? text_of_value(value(json())) : std::string();
      list.push_back(any_case ? base::to_lower(text) : text);
    } while (problem_.empty() && take(","));
    need(")");
    return [left, list, any_case](const json& row) {
      const std::string text = text_of_value(left(row));
      return std::find(list.begin(), list.end(), any_case ? base::to_lower(text) : text) !=
             list.end();
    };
  }

  static constexpr int deepest = 32;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;
};

} // namespace

result<graph_query> graph_query::parse(std::string_view text) {
  auto tokens = tokens_of(text);
  if (!tokens) {
    return error{error_code::invalid, "a quote is missing"};
  }
  return reader(*std::move(tokens)).whole();
}

} // namespace siteagent::azure_emulator
