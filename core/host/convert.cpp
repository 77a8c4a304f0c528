// SPDX-License-Identifier: MIT
#include "core/host/instance.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/config/python_agent.hpp"
#include "core/host/schema_rules.hpp"
#include "core/host/secrets.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace siteagent::host {

namespace {

using base::json;
using config::finding;
using config::value;

constexpr unsigned deepest = 64;

// What PyYAML takes for a boolean, beside true and false.
std::optional<bool> python_boolean(std::string_view text) {
  for (const char* yes : {"True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const char* no : {"False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
    if (text == no) {
      return false;
    }
  }
  return std::nullopt;
}

// Plain decimal digits, as JSON writes integers: no sign but '-', no leading zero, no 1_000, 1e3.
bool is_integer(std::string_view text) {
  std::int64_t ignored = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), ignored, 10);
  return failed == std::errc() && end == text.data() + text.size() && !json::number(text).is_null();
}

// A plain scalar no schema speaks about.
json by_its_looks(const value& v) {
  if (v.quoted) {
    return json(v.text);
  }
  if (v.text == "true" || v.text == "false") {
    return json(v.text == "true");
  }
  json number = json::number(v.text);
  return number.is_null() ? json(v.text) : number;
}

class converter {
public:
  converter(const json& root, const instance_options& options, std::vector<finding>& findings)
      : root_(root), options_(options), findings_(&findings) {}

  std::optional<json>
  convert(const value& v, const json& rule, const std::string& key, unsigned depth = 0);

  std::vector<std::pair<std::string, std::string>> secrets;

private:
  void report(const value& at, const std::string& key, std::string why, bool fatal = true) {
    findings_->push_back(
        {.fatal = fatal,
         .file = options_.config_file,
         .at = at.at,
         .key = key,
         .why = std::move(why)}
    );
  }

  std::optional<json> convert_secret(const value& v, const std::string& key);
  std::optional<json> convert_alternatives(
      const value& v, const std::vector<const json*>& rules, const std::string& key, unsigned depth
  );
  std::optional<json>
  convert_scalar(const value& v, const json& rule, const std::string& key, unsigned depth);
  std::optional<json>
  convert_list(const value& v, const json& rule, const std::string& key, unsigned depth);
  std::optional<json>
  convert_map(const value& v, const json& rule, const std::string& key, unsigned depth);
  void convert_member(
      json& made,
      const value::entry& member,
      const json& rule,
      const std::string& key,
      unsigned depth
  );
  void require_members(const json& made, const value& v, const json& rule, const std::string& key);
  json convert_freely(const value& v, unsigned depth);

  const json& root_;
  const instance_options& options_;
  std::vector<finding>* findings_;
};

bool has_fatal(const std::vector<finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const finding& f) { return f.fatal; });
}

std::optional<json>
converter::convert(const value& v, const json& rule, const std::string& key, unsigned depth) {
  const json& schema = resolved(root_, rule);
  if (depth > deepest) {
    report(v, key, "is nested too deeply");
    return std::nullopt;
  }
  if (v.type == value::kind::null) {
    return std::nullopt;
  }
  if (schema["x-secret"].boolean().value_or(false)) {
    return convert_secret(v, key);
  }
  if (const auto rules = alternatives(schema); !rules.empty()) {
    return convert_alternatives(v, rules, key, depth);
  }
  std::optional<json> made;
  switch (v.type) {
  case value::kind::scalar:
    made = convert_scalar(v, schema, key, depth);
    break;
  case value::kind::list:
    made = convert_list(v, schema, key, depth);
    break;
  case value::kind::map:
    made = convert_map(v, schema, key, depth);
    break;
  case value::kind::null:
    break;
  }
  if (made) {
    if (std::string why = check_simple_rules(*made, schema); !why.empty()) {
      report(v, key, std::move(why));
      return std::nullopt;
    }
  }
  return made;
}

std::optional<json> converter::convert_secret(const value& v, const std::string& key) {
  if (v.type != value::kind::scalar) {
    report(v, key, "must be a text: a value, ${ENV}, file:/path or credential:name");
    return std::nullopt;
  }
  for (const auto& held : options_.secrets) {
    if (held.first == v.text) {
      return json(v.text); // a reference already
    }
  }
  if (is_literal_secret(v.text)) {
    base::global_redactor().protect(v.text);
  }
  if (auto ok = check_secret_source(v.text); !ok) {
    report(v, key, ok.error().message);
    return std::nullopt;
  }
  std::string reference = "sagent-secret:" + std::to_string(secrets.size() + 1);
  secrets.emplace_back(reference, v.text);
  return json(std::move(reference));
}

// The first rule that takes the value. None does: the complaint of the one meant by its shape.
std::optional<json> converter::convert_alternatives(
    const value& v, const std::vector<const json*>& rules, const std::string& key, unsigned depth
) {
  std::vector<finding>* const outer = findings_;
  std::vector<finding> best;
  const std::string_view shape = v.type == value::kind::map    ? "object"
                                 : v.type == value::kind::list ? "array"
                                                               : "";
  for (const json* rule : rules) {
    std::vector<finding> tried;
    const std::size_t secrets_before = secrets.size();
    findings_ = &tried;
    auto made = convert(v, *rule, key, depth + 1);
    findings_ = outer;
    if (made && !has_fatal(tried)) {
      outer->insert(outer->end(), tried.begin(), tried.end());
      return made;
    }
    secrets.resize(secrets_before);
    if (!shape.empty() && allowed_types(resolved(root_, *rule)).contains(shape)) {
      best = std::move(tried);
    }
  }
  if (best.empty()) {
    std::vector<std::string> due;
    for (const json* rule : rules) {
      due.push_back(allowed_types(resolved(root_, *rule)).words());
    }
    report(v, key, "must be " + base::join(due, " or "));
  } else {
    outer->insert(outer->end(), best.begin(), best.end());
  }
  return std::nullopt;
}

std::optional<json> converter::convert_scalar(
    const value& v, const json& rule, const std::string& key, unsigned depth
) {
  const type_set types = allowed_types(rule);
  if (types.empty()) {
    return by_its_looks(v);
  }
  if (!v.quoted) {
    if ((types.contains("integer") && is_integer(v.text)) ||
        (types.contains("number") && !json::number(v.text).is_null())) {
      return json::number(v.text);
    }
    if (types.contains("boolean") && (v.text == "true" || v.text == "false")) {
      return json(v.text == "true");
    }
    if (const auto word = python_boolean(v.text);
        word && types.contains("boolean") && !types.contains("string")) {
      report(v, key, std::string("write ") + (*word ? "true" : "false"), false);
      return json(*word);
    }
  }
  if (types.contains("string")) {
    return json(v.text);
  }
  if (types.contains("array") && allowed_types(resolved(root_, rule["items"])).contains("string")) {
    if (auto item = convert(v, rule["items"], key, depth + 1)) {
      return json::array({std::move(*item)});
    }
    return std::nullopt;
  }
  std::string why = "must be " + types.words();
  if (v.quoted &&
      (types.contains("integer") || types.contains("number") || types.contains("boolean"))) {
    why += ", not text; drop the quotes";
  } else if (types.contains("integer") && !types.contains("number")) {
    why += " in plain decimal digits";
  }
  report(v, key, std::move(why));
  return std::nullopt;
}

std::optional<json>
converter::convert_list(const value& v, const json& rule, const std::string& key, unsigned depth) {
  const type_set types = allowed_types(rule);
  if (!types.empty() && !types.contains("array")) {
    report(v, key, "must be " + types.words() + ", not a list");
    return std::nullopt;
  }
  json made = json::array();
  for (std::size_t i = 0; i < v.list.size(); ++i) {
    const std::string item_key = key + "[" + std::to_string(i) + "]";
    if (v.list[i].type == value::kind::null) {
      report(v.list[i], item_key, "is empty");
    } else if (auto item = convert(v.list[i], rule["items"], item_key, depth + 1)) {
      made.push_back(std::move(*item));
    }
  }
  return made;
}

std::optional<json>
converter::convert_map(const value& v, const json& rule, const std::string& key, unsigned depth) {
  const type_set types = allowed_types(rule);
  if (!types.empty() && !types.contains("object")) {
    report(v, key, "must be " + types.words() + ", not a mapping");
    return std::nullopt;
  }
  json made = json::object();
  for (const value::entry& member : v.map) {
    convert_member(made, member, rule, key, depth);
  }
  require_members(made, v, rule, key);
  return made;
}

void converter::convert_member(
    json& made, const value::entry& member, const json& rule, const std::string& key, unsigned depth
) {
  const auto& [name, v] = member;
  const std::string member_key = key + "." + name;
  const auto take = [&](const json& member_rule) {
    if (auto converted = convert(v, member_rule, member_key, depth + 1)) {
      made.set(name, std::move(*converted));
    }
  };
  if (const json* known = rule["properties"].find(name)) {
    return take(*known);
  }
  const json& additional = rule["additionalProperties"];
  if (additional.is_object()) {
    return take(additional);
  }
  const bool is_refused = additional.is_bool() && !*additional.boolean();
  const auto& known = rule["properties"].members();
  const std::string_view why_not =
      key == options_.key_path ? config::why_unused(name) : std::string_view{};
  if (!why_not.empty() && (is_refused || !known.empty())) {
    report(v, member_key, std::string(why_not), false); // the other agent's core read it
    return;
  }
  if (is_refused || !known.empty()) {
    std::vector<std::string_view> names;
    for (const auto& [known_name, unused] : known) {
      names.push_back(known_name);
    }
    const std::string_view near = base::nearest(name, names);
    report(
        v,
        member_key,
        "unknown key" + (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?"),
        is_refused
    );
  }
  if (!is_refused && v.type != value::kind::null) {
    made.set(name, convert_freely(v, depth + 1));
  }
}

void converter::require_members(
    const json& made, const value& v, const json& rule, const std::string& key
) {
  for (const json& required : rule["required"].items()) {
    const std::string name = required.string_or("");
    const auto written = std::find_if(v.map.begin(), v.map.end(), [&](const value::entry& e) {
      return e.first == name;
    });
    if (made.find(name) != nullptr) {
      continue;
    }
    if (written == v.map.end()) {
      report(v, key + "." + name, "is required");
    } else if (written->second.type == value::kind::null) {
      report(written->second, key + "." + name, "is required, but has no value");
    } // else its own complaint is there already
  }
}

json converter::convert_freely(const value& v, unsigned depth) {
  if (depth > deepest || v.type == value::kind::null) {
    return {};
  }
  if (v.type == value::kind::scalar) {
    return by_its_looks(v);
  }
  json made = v.type == value::kind::list ? json::array() : json::object();
  for (const value& item : v.list) {
    made.push_back(convert_freely(item, depth + 1));
  }
  for (const auto& [name, member] : v.map) {
    if (member.type != value::kind::null) {
      made.set(name, convert_freely(member, depth + 1));
    }
  }
  return made;
}

// Where a JSON pointer into the converted settings stands in the file, as deep as it can be
// followed.
std::pair<const value*, std::string>
locate(const value& root, const std::string& pointer, std::string key) {
  const value* at = &root;
  for (const std::string_view step : base::split(pointer, '/')) {
    if (step.empty()) {
      continue;
    }
    const value* next = nullptr;
    for (const auto& [name, member] : at->map) {
      if (name == step) {
        next = &member;
        key += "." + name;
      }
    }
    std::size_t index = 0;
    const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
    if (at->type == value::kind::list && parsed.ec == std::errc() && index < at->list.size()) {
      next = &at->list[index];
      key.append("[").append(std::to_string(index)).append("]");
    }
    if (next == nullptr) {
      break;
    }
    at = next;
  }
  return {at, key};
}

// limits belong to the host, whether or not the plugin's schema mentions them.
void convert_limits(
    converted_settings& made,
    const json& schema,
    const value& settings,
    const instance_options& options,
    std::vector<finding>& findings
) {
  static const json own_rule = limits_schema();
  if (schema["properties"].find("limits") != nullptr) {
    made.limits = made.settings["limits"];
    return;
  }
  for (const auto& [name, v] : settings.map) {
    if (name == "limits") {
      converter limits(own_rule, options, findings);
      made.limits = limits.convert(v, own_rule, options.key_path + ".limits").value_or(json());
    }
  }
  const auto is_open = schema["additionalProperties"].boolean();
  if (!made.limits.is_null() && is_open.value_or(true)) {
    made.settings.set("limits", made.limits);
  }
}

} // namespace

converted_settings convert_settings(
    const std::string& schema_text,
    const instance_options& options,
    std::vector<config::finding>& findings
) {
  converted_settings made;
  const auto report = [&](const value& at, const std::string& key, const std::string& why) {
    findings.push_back(
        {.fatal = true, .file = options.config_file, .at = at.at, .key = key, .why = why}
    );
  };
  const std::string text = schema_text.empty() ? "{}" : schema_text;
  const auto schema = json::parse(text);
  const auto compiled = base::json_schema::compile(text);
  if (!schema || !compiled) {
    report(
        options.settings,
        options.key_path,
        "the plugin's own settings schema is broken: " +
            (schema ? compiled.error().message : schema.error().message) +
            "; report this to its author"
    );
    return made;
  }
  value settings = options.settings;
  if (settings.type == value::kind::null) {
    settings.type = value::kind::map;
  }
  if (settings.type != value::kind::map) {
    report(settings, options.key_path, "must be a mapping");
    return made;
  }
  std::vector<finding> found;
  value for_plugin = settings;
  const bool has_limits = options.extension == SAGENT_EXT_RESOURCE_BACKEND;
  if (has_limits && (*schema)["properties"].find("limits") == nullptr) {
    std::erase_if(for_plugin.map, [](const value::entry& e) { return e.first == "limits"; });
  }
  converter c(*schema, options, found);
  made.settings = c.convert(for_plugin, *schema, options.key_path).value_or(json::object());
  made.secrets = std::move(c.secrets);
  if (has_limits) {
    convert_limits(made, *schema, settings, options, found);
  }
  if (!has_fatal(found)) {
    if (const auto broken = compiled->check(made.settings)) {
      const auto [at, key] = locate(settings, broken->pointer, options.key_path);
      report(*at, key, explain_violation(*schema, *broken));
    }
  }
  findings.insert(findings.end(), found.begin(), found.end());
  return made;
}

} // namespace siteagent::host
