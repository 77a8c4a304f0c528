// SPDX-License-Identifier: MIT
#include "deployments_expression.hpp"

#include "core/base/text.hpp"

#include <array>
#include <cstdio>
#include <optional>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

constexpr int deepest = 40;

std::string text_of_value(const json& v) {
  if (v.is_bool()) {
    return *v.boolean() ? "True" : "False";
  }
  return v.is_object() || v.is_array() ? v.dump() : std::string(v.number_text().value_or(""));
}

bool truth(const json& v) {
  return v.boolean().value_or(base::equals_ignoring_case(text_of_value(v), "true"));
}

const json* member(const json& object, std::string_view name) {
  for (const auto& [key, value] : object.members()) {
    if (base::equals_ignoring_case(key, name)) {
      return &value;
    }
  }
  return nullptr;
}

result<json> evaluated(const json& value, const template_scope& scope, int depth);

// One expression, by recursive descent; the first problem wins.
class evaluator {
public:
  evaluator(std::string_view text, const template_scope& scope, int depth)
      : rest_(base::trim(text)), scope_(scope), depth_(depth) {}

  result<json> whole() {
    auto value = expression();
    if (problem_.empty() && !rest_.empty()) {
      fail("unexpected text '" + std::string(rest_.substr(0, 20)) + "'");
    }
    if (!problem_.empty()) {
      return error{error_code::invalid, problem_};
    }
    return value;
  }

private:
  void fail(const std::string& why) {
    if (problem_.empty()) {
      problem_ = why;
    }
  }

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) {
      return false;
    }
    rest_ = base::trim(rest_.substr(1));
    return true;
  }

  std::string word() {
    const auto end =
        rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"
        );
    std::string w(rest_.substr(0, end));
    rest_ = end == std::string_view::npos ? std::string_view() : base::trim(rest_.substr(end));
    return w;
  }

  std::string quoted() {
    std::string out;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] != '\'') {
        out += rest_[i];
      } else if (i + 1 < rest_.size() && rest_[i + 1] == '\'') {
        out += '\'';
        ++i;
      } else {
        rest_ = base::trim(rest_.substr(i + 1));
        return out;
      }
    }
    fail("a quote is missing");
    rest_ = {};
    return out;
  }

  json expression() {
    json value;
    if (++depth_ > deepest) {
      fail("nested too deeply");
      return value;
    }
    if (!rest_.empty() && rest_.front() == '\'') {
      value = quoted();
    } else {
      const std::string name = word();
      if (const auto number = json::number(name); !number.is_null()) {
        value = number;
      } else if (take('(')) {
        value = function(base::to_lower(name), arguments());
      } else {
        fail("expected a function instead of '" + name + "'");
      }
    }
    while (problem_.empty()) {
      if (take('.')) {
        value = part(value, word());
      } else if (take('[')) {
        const json index = expression();
        take(']');
        const auto number = index.is_number() ? index.integer() : std::nullopt;
        value = number && *number >= 0 ? json(value[static_cast<std::size_t>(*number)])
                                       : part(value, text_of_value(index));
      } else {
        break;
      }
    }
    --depth_;
    return value;
  }

  json part(const json& value, const std::string& name) {
    const auto* found = member(value, name);
    if (found == nullptr) {
      fail("the language expression property '" + name + "' doesn't exist");
      return {};
    }
    return *found;
  }

  std::vector<json> arguments() {
    std::vector<json> list;
    if (take(')')) {
      return list;
    }
    do {
      list.push_back(expression());
    } while (problem_.empty() && take(','));
    if (!take(')')) {
      fail("a parenthesis is missing");
    }
    return list;
  }

  json named(const json* values, const std::string& kind, const std::vector<json>& a) {
    const std::string name = a.empty() ? std::string() : text_of_value(a[0]);
    const auto* value = values == nullptr ? nullptr : member(*values, name);
    if (value == nullptr) {
      fail("the template " + kind + " '" + name + "' is not found");
      return {};
    }
    auto inner = evaluated(*value, scope_, depth_);
    if (!inner) {
      fail(inner.error().message);
      return {};
    }
    return *inner;
  }

  json resource_id(const std::vector<json>& a) {
    std::string subscription = scope_.subscription;
    std::string group = scope_.group;
    std::size_t at = 0;
    // The type is the first argument with a slash; what stands before it is the scope.
    while (at < a.size() && text_of_value(a[at]).find('/') == std::string::npos) {
      ++at;
    }
    if (at == a.size() || at > 2) {
      fail("resourceId needs a resource type");
      return {};
    }
    if (at >= 1) {
      group = text_of_value(a[at - 1]);
    }
    if (at == 2) {
      subscription = text_of_value(a[0]);
    }
    const std::string type = text_of_value(a[at]);
    const auto types = base::split(type, '/');
    std::string id = "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/" +
                     std::string(types[0]);
    if (types.size() - 1 != a.size() - at - 1) {
      fail("resourceId needs one name for each part of the type");
      return {};
    }
    for (std::size_t i = 1; i < types.size(); ++i) {
      id += "/" + std::string(types[i]) + "/" + text_of_value(a[at + i]);
    }
    return id;
  }

  json reference(const std::vector<json>& a) {
    const std::string id = a.empty() ? std::string() : text_of_value(a[0]);
    const bool full = a.size() > 2 && base::equals_ignoring_case(text_of_value(a[2]), "Full");
    json found = scope_.reference ? scope_.reference(id, full) : json();
    if (found.is_null()) {
      fail("the resource '" + id + "' is not defined in the template");
    }
    return found;
  }

  // A fixed-length text that depends on all arguments and nothing else.
  static std::string unique_text(const std::vector<json>& a) {
    std::uint64_t h = 1469598103934665603U;
    for (const auto& v : a) {
      for (const char c : text_of_value(v)) {
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
      }
    }
    std::string out;
    for (int i = 0; i < 13; ++i, h /= 32) {
      out += "abcdefghijklmnopqrstuvwxyz234567"[h % 32];
    }
    return out;
  }

  static json concat(const std::vector<json>& a) {
    if (!a.empty() && a[0].is_array()) {
      json out = json::array();
      for (const auto& list : a) {
        for (const auto& item : list.items()) {
          out.push_back(item);
        }
      }
      return out;
    }
    std::string out;
    for (const auto& v : a) {
      out += text_of_value(v);
    }
    return out;
  }

  static json format(const std::vector<json>& a) {
    std::string out = a.empty() ? std::string() : text_of_value(a[0]);
    for (std::size_t i = 1; i < a.size(); ++i) {
      const std::string mark = "{" + std::to_string(i - 1) + "}";
      for (auto at = out.find(mark); at != std::string::npos; at = out.find(mark, at)) {
        const std::string value = text_of_value(a[i]);
        out.replace(at, mark.size(), value);
        at += value.size();
      }
    }
    return out;
  }

  json place(const std::string& name) {
    if (name == "subscription") {
      return json::object(
          {{"id", "/subscriptions/" + scope_.subscription}, {"subscriptionId", scope_.subscription}}
      );
    }
    if (name == "deployment") {
      return json::object({{"name", scope_.deployment}});
    }
    return json::object(
        {{"id", "/subscriptions/" + scope_.subscription + "/resourceGroups/" + scope_.group},
         {"name", scope_.group},
         {"location", scope_.location}}
    );
  }

  json function(const std::string& name, const std::vector<json>& a) {
    const auto text = [&](std::size_t i) { return i < a.size() ? text_of_value(a[i]) : ""; };
    const auto whole = [&](std::size_t i) {
      return json::number(i < a.size() ? text_of_value(a[i]) : "0").integer().value_or(0);
    };
    if (name == "parameters" || name == "variables") {
      return named(
          name == "parameters" ? scope_.parameters : scope_.variables,
          name.substr(0, name.size() - 1),
          a
      );
    }
    if (name == "resourceid") {
      return resource_id(a);
    }
    if (name == "reference") {
      return reference(a);
    }
    if (name == "subscription" || name == "deployment" || name == "resourcegroup") {
      return place(name);
    }
    if (name == "concat") {
      return concat(a);
    }
    if (name == "format") {
      return format(a);
    }
    if (name == "copyindex") {
      return scope_.copy_index + (a.empty() ? 0 : a.back().integer().value_or(0));
    }
    if (name == "uniquestring") {
      return unique_text(a);
    }
    if (name == "tolower") {
      return base::to_lower(text(0));
    }
    if (name == "string") {
      return text(0);
    }
    if (name == "int") {
      return whole(0);
    }
    if (name == "add" || name == "sub" || name == "mul") {
      return name == "add"   ? whole(0) + whole(1)
             : name == "sub" ? whole(0) - whole(1)
                             : whole(0) * whole(1);
    }
    if (name == "equals") {
      return a.size() == 2 && a[0] == a[1];
    }
    if (name == "not") {
      return !a.empty() && !truth(a[0]);
    }
    if (name == "if") {
      return a.size() == 3 ? (truth(a[0]) ? a[1] : a[2]) : json();
    }
    if (name == "empty") {
      return a.empty() || (text(0).empty() || (!a[0].is_string() && a[0].size() == 0));
    }
    if (name == "length") {
      return a.empty() ? 0
                       : static_cast<std::int64_t>(a[0].is_string() ? text(0).size() : a[0].size());
    }
    if (name == "createarray") {
      return json::array(a);
    }
    if (name == "null") {
      return {};
    }
    if (name == "true" || name == "false") {
      return name == "true";
    }
    fail("the template function '" + name + "' is not valid");
    return {};
  }

  std::string_view rest_;
  const template_scope& scope_;
  int depth_;
  std::string problem_;
};

result<json> evaluated(const json& value, const template_scope& scope, int depth) {
  if (depth > deepest) {
    return error{error_code::invalid, "nested too deeply"};
  }
  if (value.is_string()) {
    const std::string text = value.string_or("");
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
      return value;
    }
    if (text[1] == '[') { // an escaped bracket
      return json(text.substr(1));
    }
    auto out = evaluator(std::string_view(text).substr(1, text.size() - 2), scope, depth).whole();
    return out ? out : base::with_context(out.error(), "expression '" + text + "'");
  }
  json out = value;
  for (auto& item : out.items()) {
    auto inner = evaluated(item, scope, depth + 1);
    if (!inner) {
      return inner;
    }
    item = *std::move(inner);
  }
  for (auto& [key, item] : out.members()) {
    auto inner = evaluated(item, scope, depth + 1);
    if (!inner) {
      return inner;
    }
    item = *std::move(inner);
  }
  return out;
}

} // namespace

result<json> evaluate(const json& value, const template_scope& scope) {
  return evaluated(value, scope, 0);
}

} // namespace siteagent::azure_emulator
