// SPDX-License-Identifier: MIT
#include "core/base/secret.hpp"
#include "core/config/python_agent.hpp"

#include "support.hpp"

namespace {

using namespace support;
using config::finding;
using siteagent::base::json;

constexpr const char* schema = R"({
  "type": "object",
  "required": ["tenant_id", "client_secret"],
  "additionalProperties": false,
  "definitions": {"port": {"type": "integer", "minimum": 1, "maximum": 65535}},
  "properties": {
    "tenant_id": {"type": "string", "minLength": 1},
    "client_secret": {"type": "string", "x-secret": true},
    "size": {"type": "string"},
    "count": {"type": "integer"},
    "price": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
    "spot": {"type": "boolean"},
    "mode": {"type": "string", "enum": ["fast", "safe"]},
    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
    "port": {"$ref": "#/definitions/port"},
    "allowed_ssh_ranges": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    "numbers": {"type": "array", "items": {"type": "integer"}, "minItems": 2},
    "image": {"anyOf": [
      {"type": "string"},
      {"type": "object", "required": ["sku"], "additionalProperties": false,
       "properties": {"sku": {"type": "string"}, "version": {"type": "integer"}}}]},
    "tags": {"type": "object", "additionalProperties": {"type": "string"}},
    "cloud": {"type": "object", "properties": {"url": {"type": "string"},
              "key": {"type": "string", "x-secret": true}}},
    "mixed": {"type": ["integer", "string"]},
    "ports": {"type": "object", "additionalProperties": {"$ref": "#/definitions/port"}},
    "free": {}
  }
})";

struct converted {
  host::converted_settings made;
  std::vector<finding> findings;

  std::string texts() const {
    std::string all;
    for (const finding& f : findings) {
      all += f.text() + "\n";
    }
    return all;
  }
};

converted convert(std::vector<config::value::entry> members, bool with_required = true) {
  if (with_required) {
    members.insert(members.begin(), {"tenant_id", plain("t")});
    members.insert(members.begin(), {"client_secret", plain("${SITEAGENT_TEST_SECRET}")});
  }
  converted c;
  c.made =
      host::convert_settings(schema, options_with(mapping(std::move(members), 3, 5)), c.findings);
  return c;
}

// The one member given, converted without any finding.
json clean(const std::string& key, config::value v) {
  const converted c = convert({{key, std::move(v)}});
  EXPECT_EQ(c.texts(), "") << key;
  return c.made.settings[key];
}

// The one fatal finding about the member given.
finding fatal(const std::string& key, config::value v) {
  const converted c = convert({{key, std::move(v)}});
  EXPECT_EQ(c.findings.size(), 1u) << c.texts();
  if (c.findings.empty()) {
    return {};
  }
  EXPECT_TRUE(c.findings[0].fatal) << c.texts();
  return c.findings[0];
}

TEST(settings_text, stays_text_whatever_it_looks_like) {
  for (const char* text : {"010", "yes", "1e3", "null_", "12", "true", "~x", "1.50", ""}) {
    EXPECT_EQ(clean("size", plain(text)), json(text)) << text;
    EXPECT_EQ(clean("size", quoted(text)), json(text)) << text;
  }
}

TEST(settings_integer, is_plain_decimal_digits_only) {
  EXPECT_EQ(clean("count", plain("-12")).integer(), -12);
  EXPECT_EQ(clean("count", plain("0")).integer(), 0);
  for (const char* text :
       {"010", "0x1F", "1_000", "1e3", "3.0", "+1", "", "ten", "99999999999999999999", "-"}) {
    const finding f = fatal("count", plain(text, 7, 9));
    EXPECT_EQ(f.why, "must be a whole number in plain decimal digits") << text;
    EXPECT_EQ(f.at.line, 7);
    EXPECT_EQ(f.at.column, 9);
    EXPECT_EQ(f.key, "offerings[0].backend_settings.count");
    EXPECT_EQ(f.file, "agent.yaml");
  }
}

TEST(settings_integer, in_quotes_is_refused_with_a_hint) {
  EXPECT_EQ(fatal("count", quoted("12")).why, "must be a whole number, not text; drop the quotes");
}

TEST(settings_number, keeps_its_text) {
  EXPECT_EQ(clean("price", plain("0.10")).number_text(), "0.10");
  EXPECT_EQ(fatal("price", plain(".5")).why, "must be a number");
  EXPECT_EQ(fatal("price", plain("0")).why, "must be more than 0");
  EXPECT_EQ(fatal("price", plain("nan")).why, "must be a number");
}

TEST(settings_boolean, takes_pythons_words_with_a_warning) {
  EXPECT_EQ(clean("spot", plain("true")), json(true));
  EXPECT_EQ(clean("spot", plain("false")), json(false));
  for (const auto& [text, value] :
       {std::pair("yes", true), {"On", true}, {"TRUE", true}, {"no", false}, {"OFF", false}}) {
    const converted c = convert({{"spot", plain(text, 4, 2)}});
    EXPECT_EQ(c.made.settings["spot"], json(value)) << text;
    ASSERT_EQ(c.findings.size(), 1u) << text;
    EXPECT_FALSE(c.findings[0].fatal);
    EXPECT_EQ(c.findings[0].why, value ? "write true" : "write false");
  }
  EXPECT_EQ(fatal("spot", plain("1")).why, "must be true or false");
  EXPECT_EQ(fatal("spot", plain("tRuE")).why, "must be true or false");
  EXPECT_EQ(fatal("spot", quoted("true")).why, "must be true or false, not text; drop the quotes");
}

TEST(settings_null, is_absent) {
  const converted c = convert({{"size", config::value{}}, {"count", config::value{}}});
  EXPECT_EQ(c.texts(), "");
  EXPECT_EQ(c.made.settings.find("size"), nullptr);
}

TEST(settings_list, takes_a_lone_text_for_a_list_of_texts) {
  EXPECT_EQ(clean("allowed_ssh_ranges", plain("1.2.3.0/24")), json::array({"1.2.3.0/24"}));
  EXPECT_EQ(
      clean("allowed_ssh_ranges", list({plain("10"), quoted("b")})), json::array({"10", "b"})
  );
  EXPECT_EQ(fatal("numbers", plain("1")).why, "must be a list");
}

TEST(settings_list, names_the_element_that_is_wrong) {
  const finding f = fatal("numbers", list({plain("1"), plain("2"), plain("x", 8, 3)}));
  EXPECT_EQ(f.key, "offerings[0].backend_settings.numbers[2]");
  EXPECT_EQ(f.at.line, 8);
  EXPECT_EQ(fatal("numbers", list({plain("1")})).why, "must have at least 2 elements");
  EXPECT_EQ(fatal("numbers", list({plain("1"), plain("2"), config::value{}})).why, "is empty");
  EXPECT_EQ(fatal("size", list({})).why, "must be a text, not a list");
}

TEST(settings_union, takes_the_alternative_that_fits) {
  EXPECT_EQ(clean("image", plain("a:b:c:d")), json("a:b:c:d"));
  EXPECT_EQ(
      clean("image", mapping({{"sku", plain("10")}, {"version", plain("2")}})),
      json::object({{"sku", "10"}, {"version", 2}})
  );
  EXPECT_EQ(clean("mixed", plain("12")), json(12));
  EXPECT_EQ(clean("mixed", quoted("12")), json("12"));
  EXPECT_EQ(clean("mixed", plain("x")), json("x"));
}

TEST(settings_union, complains_about_the_alternative_meant) {
  const finding f = fatal("image", mapping({{"version", plain("1")}}, 6, 4));
  EXPECT_EQ(f.key, "offerings[0].backend_settings.image.sku");
  EXPECT_EQ(f.why, "is required");
  EXPECT_EQ(f.at.line, 6);
  EXPECT_EQ(fatal("image", list({})).why, "must be a text or a mapping");
}

TEST(settings_map, converts_free_keys_by_the_rule_for_them) {
  EXPECT_EQ(clean("tags", mapping({{"team", plain("7")}})), json::object({{"team", "7"}}));
  EXPECT_EQ(clean("ports", mapping({{"a", plain("7")}})), json::object({{"a", 7}}));
  EXPECT_EQ(fatal("ports", mapping({{"a", plain("0")}})).why, "must be at least 1");
  EXPECT_EQ(fatal("tags", plain("x")).why, "must be a mapping");
  EXPECT_EQ(
      clean("free", mapping({{"a", plain("1")}, {"b", quoted("1")}, {"c", list({plain("true")})}})),
      json::object({{"a", 1}, {"b", "1"}, {"c", json::array({true})}})
  );
}

TEST(settings_keys, unknown_ones_are_fatal_where_the_schema_is_closed) {
  const finding f = fatal("conut", plain("1", 9, 1));
  EXPECT_EQ(f.why, "unknown key; did you mean 'count'?");
  EXPECT_EQ(f.text().rfind("agent.yaml:9:1: error: ", 0), 0u) << f.text();
}

TEST(settings_keys, unknown_ones_warn_where_the_schema_is_open) {
  const converted c = convert({{"cloud", mapping({{"urll", plain("x")}})}});
  ASSERT_EQ(c.findings.size(), 1u);
  EXPECT_FALSE(c.findings[0].fatal);
  EXPECT_EQ(c.findings[0].why, "unknown key; did you mean 'url'?");
  EXPECT_EQ(c.made.settings.at({"cloud", "urll"}), json("x")) << "passed on all the same";
}

TEST(settings_keys, of_the_python_agents_core_are_named_with_the_reason_and_left_out) {
  for (const config::unused_setting& known : config::unused_settings()) {
    const converted c = convert({{std::string(known.key), plain("x", 9, 1)}});
    ASSERT_EQ(c.findings.size(), 1u) << known.key;
    EXPECT_FALSE(c.findings[0].fatal) << "the schema is closed, but the key is not its business";
    EXPECT_EQ(c.findings[0].why, known.why);
    EXPECT_EQ(c.made.settings.find(known.key), nullptr);
  }
  const converted inside = convert({{"cloud", mapping({{"soft_delete", plain("x")}})}});
  ASSERT_EQ(inside.findings.size(), 1u);
  EXPECT_EQ(inside.findings[0].why, "unknown key") << "only at the top";
}

TEST(settings_keys, of_the_python_agents_core_reach_a_plugin_whose_schema_names_them) {
  host::instance_options options;
  options.key_path = "backend_settings";
  options.settings = mapping({{"project_prefix", plain("hpc_")}});
  std::vector<finding> findings;
  const host::converted_settings made = host::convert_settings(
      R"({"properties": {"project_prefix": {"type": "string"}}})", options, findings
  );
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(made.settings["project_prefix"], json("hpc_"));
}

TEST(settings_keys, missing_ones_are_reported_where_their_parent_stands) {
  const converted c = convert({{"tenant_id", config::value{}}}, false);
  ASSERT_EQ(c.findings.size(), 2u) << c.texts();
  EXPECT_EQ(c.findings[0].why, "is required, but has no value");
  EXPECT_EQ(c.findings[1].key, "offerings[0].backend_settings.client_secret");
  EXPECT_EQ(c.findings[1].why, "is required");
  EXPECT_EQ(c.findings[1].at.line, 3);
}

TEST(settings_secrets, that_are_references_already_stay_so) {
  host::instance_options options;
  options.settings =
      mapping({{"held", plain("sagent-secret:control.password")}, {"new", plain("literal-value")}});
  options.secrets.emplace_back("sagent-secret:control.password", [] {
    return siteagent::base::result<siteagent::base::secret>(siteagent::base::secret("the password")
    );
  });
  std::vector<finding> findings;
  const host::converted_settings made = host::convert_settings(
      R"({"properties": {"held": {"type": "string", "x-secret": true},
                         "new": {"type": "string", "x-secret": true}}})",
      options,
      findings
  );
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(made.settings["held"], json("sagent-secret:control.password"));
  ASSERT_EQ(made.secrets.size(), 1U);
  EXPECT_EQ(made.secrets[0].second, "literal-value");
}

TEST(settings_rules, are_told_in_words) {
  EXPECT_EQ(fatal("mode", plain("slow")).why, "must be one of fast, safe");
  EXPECT_EQ(fatal("port", plain("0")).why, "must be at least 1");
  EXPECT_EQ(fatal("port", plain("70000")).why, "must be at most 65535");
  EXPECT_EQ(fatal("name", plain("abcdef")).why, "must have at most 5 characters");
  const finding f = fatal("name", plain("A", 12, 7));
  EXPECT_EQ(f.why, "must match the pattern ^[a-z]+$");
  EXPECT_EQ(f.key, "offerings[0].backend_settings.name");
  EXPECT_EQ(f.at.line, 12);
}

TEST(settings_findings, are_collected_all_at_once) {
  const converted c = convert({{"count", plain("x")}, {"spot", plain("x")}, {"nmae", plain("x")}});
  EXPECT_EQ(c.findings.size(), 3u) << c.texts();
}

TEST(settings_secret, becomes_a_reference_and_keeps_its_source) {
  const converted c = convert({{"cloud", mapping({{"key", plain("file:/run/key")}})}});
  EXPECT_EQ(c.texts(), "");
  EXPECT_EQ(c.made.settings["client_secret"], json("sagent-secret:1"));
  EXPECT_EQ(c.made.settings.at({"cloud", "key"}), json("sagent-secret:2"));
  ASSERT_EQ(c.made.secrets.size(), 2u);
  EXPECT_EQ(c.made.secrets[0].second, "${SITEAGENT_TEST_SECRET}");
  EXPECT_EQ(c.made.secrets[1].first, "sagent-secret:2");
  EXPECT_EQ(c.made.secrets[1].second, "file:/run/key");
}

TEST(settings_secret, written_as_a_value_is_redacted_from_then_on) {
  const converted c = convert({{"cloud", mapping({{"key", quoted("literal-marker-8821")}})}});
  EXPECT_EQ(c.texts(), "");
  EXPECT_EQ(c.made.settings.dump().find("literal-marker"), std::string::npos);
  EXPECT_EQ(siteagent::base::global_redactor().scrub("<literal-marker-8821>"), "<***>");
}

TEST(settings_secret, is_never_part_of_a_finding) {
  std::vector<finding> findings;
  for (const config::value& v :
       {list({plain("canary-canary")}),
        mapping({{"canary-canary", plain("canary-canary")}}),
        plain("file:canary-canary"),
        plain("credential:../canary-canary"),
        plain("")}) {
    host::convert_settings(
        schema, options_with(mapping({{"tenant_id", plain("t")}, {"client_secret", v}})), findings
    );
  }
  ASSERT_EQ(findings.size(), 5u);
  for (const finding& f : findings) {
    EXPECT_TRUE(f.fatal);
    EXPECT_EQ(f.text().find("canary"), std::string::npos) << f.text();
  }
}

TEST(settings_values, are_never_repeated_in_findings) {
  // A secret under the wrong key must not reach the log.
  for (const char* key : {"count", "spot", "mode", "port", "name", "price", "tags", "numbers"}) {
    EXPECT_EQ(fatal(key, plain("canary-canary")).text().find("canary"), std::string::npos) << key;
  }
}

TEST(settings_limits, belong_to_the_host_when_the_plugin_has_none) {
  const converted c = convert({{"limits", mapping({{"create_s", plain("90")}})}});
  EXPECT_EQ(c.texts(), "");
  EXPECT_EQ(c.made.limits["create_s"], json(90));
  EXPECT_EQ(c.made.settings.find("limits"), nullptr) << "the plugin's schema is closed";
  EXPECT_EQ(
      fatal("limits", mapping({{"craete_s", plain("90")}})).why,
      "unknown key; did you mean 'create_s'?"
  );
  EXPECT_EQ(fatal("limits", mapping({{"ping_s", plain("0")}})).why, "must be at least 1");
  EXPECT_EQ(fatal("limits", plain("5")).why, "must be a mapping");
}

TEST(settings_limits, stay_visible_to_a_plugin_that_declares_or_allows_them) {
  for (const char* text :
       {R"({"type":"object"})",
        R"({"type":"object","additionalProperties":false,
            "properties":{"limits":{"type":"object"}}})"}) {
    std::vector<finding> findings;
    const auto made = host::convert_settings(
        text, options_with(mapping({{"limits", mapping({{"ping_s", plain("3")}})}})), findings
    );
    EXPECT_TRUE(findings.empty());
    EXPECT_EQ(made.limits["ping_s"], json(3));
    EXPECT_EQ(made.settings.at({"limits", "ping_s"}), json(3));
  }
}

TEST(settings_schema, absent_lets_everything_through) {
  std::vector<finding> findings;
  const auto made = host::convert_settings(
      "", options_with(mapping({{"a", plain("1")}, {"b", plain("x")}})), findings
  );
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(made.settings, json::object({{"a", 1}, {"b", "x"}}));
}

TEST(settings_schema, broken_is_the_plugins_fault) {
  std::vector<finding> findings;
  host::convert_settings("{\"type\":", options_with(mapping({})), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].why.find("the plugin's own settings schema is broken"), std::string::npos);
}

TEST(settings_root, may_be_absent_but_must_be_a_mapping) {
  std::vector<finding> findings;
  const auto made = host::convert_settings("", options_with(config::value{}), findings);
  EXPECT_TRUE(findings.empty());
  EXPECT_TRUE(made.settings.is_object());
  host::convert_settings("", options_with(plain("x")), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].why, "must be a mapping");
}

TEST(settings_nesting, has_an_end) {
  config::value deep = plain("x");
  for (int i = 0; i < 200; ++i) {
    deep = list({deep});
  }
  std::vector<finding> findings;
  host::convert_settings(
      R"({"definitions":{"l":{"type":"array","items":{"$ref":"#/definitions/l"}}},
          "properties":{"deep":{"$ref":"#/definitions/l"}}})",
      options_with(mapping({{"deep", deep}})),
      findings
  );
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].why, "is nested too deeply");
}

} // namespace
