// SPDX-License-Identifier: MIT
// One offering: routing, credentials, events, settings and components.
#include "tests/unit/config/config_text.hpp"

#include <gmock/gmock.h>

namespace siteagent::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

offering only(const agent_config& c) {
  EXPECT_EQ(c.offerings.size(), 1U) << (c.findings.empty() ? "" : c.findings.front().text());
  return c.offerings.size() == 1 ? c.offerings.front() : offering{};
}

// The fixture's line `number` (from 1) replaced by `line`.
std::string with_line(int number, const std::string& line) {
  std::string text = file_with("");
  std::size_t start = 0;
  for (int i = 1; i < number; ++i) {
    start = text.find('\n', start) + 1;
  }
  return text.replace(start, text.find('\n', start) - start, line);
}

TEST(offering_example, of_the_documentation_loads_without_a_finding) {
  const agent_config c = parsed(R"(offerings:
  - name: Azure VM
    waldur_api_url: https://waldur.example.com/api/
    waldur_api_token: <TOKEN>
    waldur_offering_uuid: e2ef0000000000000000000000000201
    backend_type: azure
    order_processing_backend: azure
    reporting_backend: azure
    backend_settings:
      subscription_id: <SUBSCRIPTION_ID>
      default_image: Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest
      # Without any range a machine accepts no SSH connections.
      allowed_ssh_ranges:
        - 203.0.113.0/24
    backend_components:
      cpu:
        measured_unit: Cores
        unit_factor: 1
        accounting_type: limit
        label: CPU
      ram:
        measured_unit: MiB
        unit_factor: 1
        accounting_type: limit
        label: RAM
)");
  EXPECT_THAT(texts(c), IsEmpty());
  const offering o = only(c);
  EXPECT_EQ(o.name, "Azure VM");
  EXPECT_EQ(o.waldur_api_url, "https://waldur.example.com");
  EXPECT_EQ(o.waldur_api_token.reveal(), "<TOKEN>");
  EXPECT_EQ(o.order_processing_backend, "azure");
  EXPECT_EQ(o.membership_sync_backend, "azure") << "an absent role falls back to backend_type";
  EXPECT_EQ(o.reporting_backend, "azure");
  EXPECT_EQ(o.username_management_backend, "base");
  EXPECT_EQ(to_json(o.backend_settings)["allowed_ssh_ranges"][0].string(), "203.0.113.0/24");
  ASSERT_EQ(o.components.size(), 2U);
  EXPECT_EQ(o.components[0].type, "cpu");
  EXPECT_EQ(o.components[1].type, "ram");
  EXPECT_EQ(o.at.line, 2);
}

TEST(offering_routing, falls_back_key_by_key_and_empty_turns_a_role_off) {
  const offering o =
      only(parsed(file_with("    order_processing_backend: null\n    membership_sync_backend: ''\n "
                            "   reporting_backend: other\n")));
  EXPECT_EQ(o.order_processing_backend, "azure");
  EXPECT_EQ(o.membership_sync_backend, "");
  EXPECT_EQ(o.reporting_backend, "other");
}

TEST(offering_routing, warns_when_every_role_is_off) {
  const agent_config c =
      parsed(file_with("    order_processing_backend: ''\n    membership_sync_backend: ''\n    "
                       "reporting_backend: ''\n"));
  EXPECT_THAT(texts(c), ElementsAre(HasSubstr("all three roles are off")));
}

TEST(offering_routing, lowers_the_backend_type) {
  EXPECT_EQ(
      only(parsed(with_line(6, "    backend_type: Azure"))).order_processing_backend, "azure"
  );
}

TEST(offering_routing, refuses_names_that_could_leave_the_plugin_directory) {
  for (const std::string key :
       {"order_processing_backend", "membership_sync_backend", "reporting_backend"}) {
    const agent_config c = parsed(file_with("    " + key + ": ../evil\n"));
    EXPECT_THAT(c.offerings, IsEmpty());
    EXPECT_THAT(texts(c), ElementsAre(HasSubstr(key + ": expected the name of a plugin")));
  }
  EXPECT_THAT(
      texts(parsed(with_line(6, "    backend_type: a/b"))),
      Contains(HasSubstr("backend_type: expected the name of a plugin"))
  );
}

TEST(offering_url, loses_whole_suffixes_only) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"https://waldur.example.com/api/", "https://waldur.example.com"},
      {"https://waldur.example.com/api", "https://waldur.example.com"},
      {"https://waldur.example.com", "https://waldur.example.com"},
      {"https://waldur.example.com///", "https://waldur.example.com"},
      {"https://portal.api/api/", "https://portal.api"},
      {"https://map.pia/", "https://map.pia"},
      {"https://h.example/waldur/api/", "https://h.example/waldur"},
      {"HTTPS://Waldur.example.com:8443/api/", "https://Waldur.example.com:8443"},
      {"http://127.0.0.1:8080/api/", "http://127.0.0.1:8080"},
      {"http://[::1]:8080/api/", "http://[::1]:8080"},
  };
  for (const auto& [written, expected] : cases) {
    const agent_config c = parsed(with_line(3, "    waldur_api_url: '" + written + "'"));
    EXPECT_EQ(only(c).waldur_api_url, expected);
    EXPECT_THAT(texts(c), IsEmpty()) << written;
  }
}

TEST(offering_url, is_refused_with_the_expectation_and_without_the_value) {
  for (const std::string url :
       {"waldur.example.com",
        "ftp://h3x.example",
        "https://",
        "https:///api/",
        "https://h3x .example",
        "https://user:h3x@example.com/",
        "https://h3x.example:0/",
        "https://h3x.example:70000/",
        "https://h3x.example/?a=b",
        "https://h3x.example/#f",
        "https://[h3x]/",
        "https://[::1/",
        "https://h3x_ä.example/"}) {
    const agent_config c = parsed(with_line(3, "    waldur_api_url: '" + url + "'"));
    EXPECT_THAT(c.offerings, IsEmpty()) << url;
    EXPECT_THAT(
        texts(c), ElementsAre(StartsWith("agent.yaml:3:21: error: offerings[0].waldur_api_url: "))
    ) << url;
    EXPECT_EQ(c.findings[0].text().find("h3x"), std::string::npos);
  }
}

TEST(offering_url, that_is_empty_or_null_says_so_at_its_place) {
  EXPECT_THAT(
      texts(parsed(with_line(3, "    waldur_api_url:"))),
      ElementsAre("agent.yaml:3:5: error: offerings[0].waldur_api_url: required")
  );
  EXPECT_THAT(
      texts(parsed(with_line(3, "    waldur_api_url: null"))),
      ElementsAre("agent.yaml:3:5: error: offerings[0].waldur_api_url: required")
  );
  EXPECT_THAT(
      texts(parsed(with_line(3, "    waldur_api_url: ''"))),
      ElementsAre("agent.yaml:3:21: error: offerings[0].waldur_api_url: must not be empty")
  );
  EXPECT_THAT(
      texts(parsed(with_line(3, "    x-none: 1"))),
      Contains(StartsWith("agent.yaml:2:5: error: offerings[0].waldur_api_url: required"))
  );
}

TEST(offering_url, warns_of_plain_http_to_other_machines) {
  EXPECT_THAT(
      texts(parsed(with_line(3, "    waldur_api_url: http://waldur.example.com"))),
      ElementsAre(HasSubstr("warning: offerings[0].waldur_api_url: plain http"))
  );
}

TEST(offering_required, keys_are_reported_all_at_once) {
  const agent_config c = parsed("offerings:\n  - verify_ssl: true\n");
  std::vector<std::string> keys;
  for (const finding& f : c.findings) {
    EXPECT_TRUE(f.fatal);
    keys.push_back(f.key);
  }
  EXPECT_THAT(
      keys,
      testing::UnorderedElementsAre(
          "offerings[0].name",
          "offerings[0].waldur_api_url",
          "offerings[0].waldur_api_token",
          "offerings[0].waldur_offering_uuid",
          "offerings[0].backend_type"
      )
  );
}

TEST(offering_uuid, is_read_in_both_forms_and_refused_otherwise) {
  EXPECT_EQ(
      only(parsed(with_line(5, "    waldur_offering_uuid: E2EF0000-0000-0000-0000-000000000201")))
          .uuid.hex(),
      "e2ef0000000000000000000000000201"
  );
  for (const std::string bad : {"<OFFERING_UUID>", "12345", "e2ef000000000000000000000000020g"}) {
    EXPECT_THAT(
        texts(parsed(with_line(5, "    waldur_offering_uuid: " + bad))),
        ElementsAre("agent.yaml:5:27: error: offerings[0].waldur_offering_uuid: expected a UUID of "
                    "32 hex digits, with or without dashes")
    );
  }
}

TEST(offering_text, is_taken_as_it_is_written) {
  const offering o = only(parsed(with_line(4, "    waldur_api_token: 0123")));
  EXPECT_EQ(o.waldur_api_token.reveal(), "0123");
  EXPECT_EQ(
      only(parsed(with_line(4, "    waldur_api_token: 1e3"))).waldur_api_token.reveal(), "1e3"
  );
  EXPECT_EQ(only(parsed(with_line(2, "  - name: no"))).name, "no");
}

TEST(offering_settings, stay_a_tree_with_the_operators_text) {
  const offering o = only(parsed(file_with(
      "    backend_settings:\n      region: no\n      tenant_id: 0123\n      version: 1.10\n"
  )));
  EXPECT_EQ(o.backend_settings.find("region")->text, "no");
  EXPECT_EQ(o.backend_settings.find("tenant_id")->text, "0123");
  EXPECT_EQ(o.backend_settings.find("version")->text, "1.10");
  EXPECT_EQ(o.backend_settings.find("version")->at.line, 10);
}

TEST(offering_settings, must_be_a_mapping) {
  EXPECT_THAT(
      texts(parsed(file_with("    backend_settings: [a]\n"))),
      ElementsAre(
          "agent.yaml:7:23: error: offerings[0].backend_settings: expected a mapping, not a list"
      )
  );
}

const std::string oidc_url = "    oidc_token_url: https://id.example.com/token\n";
const std::string oidc_id = "    oidc_client_id: agent\n";
const std::string oidc_secret = "    oidc_client_secret: the-oidc-secret\n";

TEST(offering_credentials, may_be_oidc_alone) {
  std::string text = file_with(oidc_url + oidc_id + oidc_secret);
  text.erase(
      text.find("    waldur_api_token"),
      std::string("    waldur_api_token: token-of-the-agent\n").size()
  );
  const agent_config c = parsed(text);
  EXPECT_THAT(texts(c), IsEmpty());
  EXPECT_EQ(only(c).oidc_token_url, "https://id.example.com/token");
  EXPECT_EQ(only(c).oidc_client_secret.reveal(), "the-oidc-secret");
}

TEST(offering_credentials, refuses_a_partial_oidc_triple) {
  for (const std::string& part :
       {oidc_url, oidc_id, oidc_secret, oidc_url + oidc_id, oidc_id + oidc_secret}) {
    const agent_config c = parsed(file_with(part));
    EXPECT_THAT(c.offerings, IsEmpty());
    EXPECT_THAT(texts(c), ElementsAre(HasSubstr("belong together; set all three or none"))) << part;
  }
}

TEST(offering_credentials, refuses_none_at_all) {
  EXPECT_THAT(
      texts(parsed(with_line(4, "    waldur_api_token: ''"))),
      ElementsAre(
          StartsWith("agent.yaml:4:23: error: offerings[0].waldur_api_token: required (or all of")
      )
  );
}

TEST(offering_credentials, are_redacted_from_then_on_and_never_shown) {
  const agent_config c =
      parsed(file_with("    waldur_offering_uid: 1\n    log_lvl: token-of-the-agent\n    "
                       "stomp_ws_port: token-of-the-agent\n"));
  EXPECT_EQ(base::global_redactor().scrub("got token-of-the-agent"), "got ***");
  for (const std::string& text : texts(c)) {
    EXPECT_EQ(text.find("token-of-the-agent"), std::string::npos) << text;
  }
}

TEST(offering_credentials, in_the_proxys_url_are_redacted) {
  parsed(file_with("", "global_proxy: http://me:proxy-password@proxy.example.com:3128\n"));
  EXPECT_EQ(base::global_redactor().scrub("proxy-password"), "***");
}

TEST(offering_events, have_defaults_from_the_url_and_the_tls_switch) {
  const offering plain =
      only(parsed(file_with("    stomp_enabled: true\n    websocket_use_tls: false\n")));
  EXPECT_EQ(plain.stomp_ws_host, "waldur.example.com");
  EXPECT_EQ(plain.stomp_ws_port, 80);
  EXPECT_EQ(plain.stomp_ws_path, "/rmqws-stomp");
  EXPECT_TRUE(plain.stomp_membership_sync_enabled) << "inherited";
  const offering no_verify = only(parsed(file_with("    verify_ssl: false\n")));
  EXPECT_EQ(no_verify.stomp_ws_port, 443) << "the port has nothing to do with verification";
  EXPECT_FALSE(no_verify.stomp_membership_sync_enabled);
}

TEST(offering_events, explicit_host_port_and_path_win_over_every_combination) {
  for (const std::string verify : {"true", "false"}) {
    for (const std::string tls : {"true", "false"}) {
      const offering o = only(parsed(file_with(
          "    verify_ssl: " + verify + "\n    websocket_use_tls: " + tls +
          "\n    stomp_ws_host: broker\n    stomp_ws_port: 15674\n    stomp_ws_path: /ws\n"
      )));
      EXPECT_EQ(o.stomp_ws_host, "broker");
      EXPECT_EQ(o.stomp_ws_port, 15674);
      EXPECT_EQ(o.stomp_ws_path, "/ws");
    }
  }
}

TEST(offering_events, refuses_combinations_that_cannot_work) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"    stomp_membership_sync_enabled: true\n",
       "stomp_membership_sync_enabled: true needs stomp_enabled"},
      {"    stomp_ws_port: 0\n", "stomp_ws_port: expected a whole number from 1 to 65535"},
      {"    stomp_ws_port: 65536\n", "stomp_ws_port: expected"},
      {"    stomp_ws_port: 0o17\n", "stomp_ws_port: expected"},
      {"    stomp_ws_path: ws\n", "stomp_ws_path: must start with '/'"},
      {"    stomp_ws_host: https://broker\n", "stomp_ws_host: expected a host name"},
  };
  for (const auto& [lines, why] : cases) {
    const agent_config c = parsed(file_with(lines));
    EXPECT_THAT(c.offerings, IsEmpty()) << lines;
    EXPECT_THAT(texts(c), ElementsAre(HasSubstr(why)));
  }
}

TEST(offering_events, need_a_token_even_with_oidc) {
  std::string text = file_with(oidc_url + oidc_id + oidc_secret + "    stomp_enabled: true\n");
  text.erase(
      text.find("    waldur_api_token"),
      std::string("    waldur_api_token: token-of-the-agent\n").size()
  );
  EXPECT_THAT(texts(parsed(text)), ElementsAre(HasSubstr("stomp_enabled: needs waldur_api_token")));
}

TEST(offering_usernames, come_from_base_or_nobody) {
  EXPECT_EQ(only(parsed(file_with(""))).username_management_backend, "base");
  EXPECT_EQ(
      only(parsed(file_with("    username_management_backend:\n"))).username_management_backend,
      "base"
  );
  const agent_config off = parsed(file_with("    username_management_backend: ''\n"));
  EXPECT_THAT(texts(off), IsEmpty());
  EXPECT_EQ(only(off).username_management_backend, "");
}

TEST(offering_usernames, of_a_backend_we_do_not_have_are_left_alone_with_a_warning) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ldap", "'ldap' is a plugin of the Python agent that this one does not have"},
      {"waldur-identity-bridge", "'waldur-identity-bridge' is a plugin of the Python agent"},
      {"bsae", "'bsae' is unknown; usernames are left alone. Expected base, or an empty text"},
  };
  for (const auto& [name, why] : cases) {
    const agent_config c = parsed(file_with("    username_management_backend: " + name + "\n"));
    EXPECT_THAT(texts(c), ElementsAre(HasSubstr("username_management_backend: " + why)));
    EXPECT_FALSE(c.has_errors());
    EXPECT_EQ(only(c).username_management_backend, "") << "off";
  }
}

TEST(offering_mqtt, keys_get_one_warning_that_they_do_nothing) {
  const agent_config c =
      parsed(file_with("    mqtt_enabled: true\n    mqtt_url: x\n    mqtt_port: 1883\n"));
  EXPECT_THAT(
      texts(c),
      ElementsAre("agent.yaml:7:19: warning: offerings[0].mqtt_enabled: obsolete, no effect: MQTT "
                  "is gone, events come over STOMP (stomp_enabled); remove mqtt_enabled, mqtt_url, "
                  "mqtt_port")
  );
  EXPECT_EQ(c.offerings.size(), 1U);
}

std::string component_file(const std::string& lines) {
  return file_with(
      "    backend_components:\n      cpu:\n        measured_unit: Cores\n        accounting_type: "
      "limit\n        label: CPU\n" +
      lines
  );
}

TEST(offering_components, have_defaults_and_exact_factors) {
  const component c = only(parsed(component_file(""))).components.at(0);
  EXPECT_EQ(c.measured_unit, "Cores");
  EXPECT_EQ(c.accounting_type, "limit");
  EXPECT_EQ(c.label, "CPU");
  EXPECT_EQ(c.unit_factor.to_string(), "1");
  EXPECT_FALSE(c.unit_factor_reporting.has_value());
  const component d =
      only(parsed(component_file("        unit_factor: 1024\n        unit_factor_reporting: 0.001\n"
           )))
          .components.at(0);
  EXPECT_EQ(d.unit_factor.to_string(), "1024");
  EXPECT_EQ(d.unit_factor_reporting->to_string(), "0.001");
}

TEST(offering_components, keep_the_plugins_keys_and_only_what_was_set) {
  const agent_config c = parsed(component_file(
      "        backend_name: vcpu\n        target_components:\n          cores: {factor: 2}\n      "
      "  is_prepaid: yes\n        limit:\n        article_code: 007\n"
  ));
  ASSERT_EQ(c.findings.size(), 1U) << "the word yes";
  EXPECT_EQ(
      to_json(only(c).components.at(0).raw).dump(),
      R"({"measured_unit":"Cores","accounting_type":"limit","label":"CPU","backend_name":"vcpu","target_components":{"cores":{"factor":2}},"is_prepaid":true,"article_code":"007"})"
  );
}

TEST(offering_components, accept_every_documented_key) {
  EXPECT_THAT(
      texts(parsed(component_file(R"(        limit: 10.5
        description: text
        min_value: 0
        max_value: 100
        max_available_limit: 1000
        default_limit: 1
        limit_period: annual
        article_code: A1
        is_boolean: false
        is_prepaid: true
        min_prepaid_duration: 1
        max_prepaid_duration: 12
        prepaid_duration_step: 1
        min_renewal_duration: 1
        max_renewal_duration: 12
        renewal_duration_step: 1
)"))),
      IsEmpty()
  );
}

TEST(offering_components, refuse_wrong_values_at_their_place) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"unit_factor: 0",
       "22: error: offerings[0].backend_components.cpu.unit_factor: must be greater than 0"},
      {"unit_factor: -1",
       "22: error: offerings[0].backend_components.cpu.unit_factor: must be greater than 0"},
      {"unit_factor: .5",
       "22: error: offerings[0].backend_components.cpu.unit_factor: expected a number such as 1024 "
       "or 0.5, not '.5'"},
      {"unit_factor: 1e3",
       "22: error: offerings[0].backend_components.cpu.unit_factor: expected a number"},
      {"unit_factor: '1024'",
       "22: error: offerings[0].backend_components.cpu.unit_factor: expected a number such as 1024 "
       "or 0.5, not the text '1024'; drop the quotes"},
      {"unit_factor: [1]",
       "22: error: offerings[0].backend_components.cpu.unit_factor: expected a number"},
      {"limit_period: weekly",
       "23: error: offerings[0].backend_components.cpu.limit_period: expected annual, month, "
       "quarterly or total, not 'weekly'"},
      {"min_value: 1.5",
       "20: error: offerings[0].backend_components.cpu.min_value: expected a whole number"},
      {"is_boolean: maybe",
       "21: error: offerings[0].backend_components.cpu.is_boolean: expected true or false"},
      {"min_prepaid_duration: -1",
       "31: error: offerings[0].backend_components.cpu.min_prepaid_duration: expected a whole "
       "number from 0"},
  };
  for (const auto& [line, expected] : cases) {
    const agent_config c = parsed(component_file("        " + line + "\n"));
    EXPECT_THAT(c.offerings, IsEmpty()) << line;
    EXPECT_THAT(texts(c), ElementsAre(StartsWith("agent.yaml:12:" + expected))) << line;
  }
}

TEST(offering_components, warn_of_near_misses_only) {
  const agent_config c =
      parsed(component_file("        unit_facter: 1024\n        anything_else: 1\n"));
  EXPECT_THAT(
      texts(c),
      ElementsAre("agent.yaml:12:9: warning: offerings[0].backend_components.cpu.unit_facter: "
                  "unknown key; did you mean 'unit_factor'?")
  );
}

TEST(offering_components, need_unit_type_and_label) {
  const agent_config c =
      parsed(file_with("    backend_components:\n      cpu: {}\n      ram:\n      disk: 5\n"));
  EXPECT_THAT(
      texts(c),
      ElementsAre(
          "agent.yaml:8:12: error: offerings[0].backend_components.cpu.measured_unit: required",
          "agent.yaml:8:12: error: offerings[0].backend_components.cpu.accounting_type: required",
          "agent.yaml:8:12: error: offerings[0].backend_components.cpu.label: required",
          StartsWith(
              "agent.yaml:9:7: error: offerings[0].backend_components.ram: expected a mapping"
          ),
          StartsWith(
              "agent.yaml:10:13: error: offerings[0].backend_components.disk: expected a mapping"
          )
      )
  );
  EXPECT_THAT(
      texts(parsed(file_with("    backend_components:\n      cpu: {measured_unit: '', "
                             "accounting_type: fixed, label: x}\n"))),
      ElementsAre(
          HasSubstr("measured_unit: must not be empty"),
          HasSubstr("accounting_type: expected usage, limit or one, not 'fixed'")
      )
  );
}

TEST(offering_components, metered_in_hours_are_billed_by_usage) {
  const auto findings_of = [](const std::string& rest) {
    return texts(parsed(file_with(
        "    backend_components:\n      cpu: {measured_unit: h, label: x, " + rest + "}\n"
    )));
  };
  EXPECT_THAT(findings_of("accounting_type: usage, metering: hours"), IsEmpty());
  EXPECT_THAT(findings_of("accounting_type: limit, metering: snapshot"), IsEmpty());
  EXPECT_THAT(
      findings_of("accounting_type: limit, metering: hours"),
      ElementsAre(HasSubstr("warning: offerings[0].backend_components.cpu.metering: hours are"))
  );
  EXPECT_THAT(
      findings_of("accounting_type: usage, metering: hour"),
      ElementsAre(HasSubstr("metering: expected snapshot or hours, not 'hour'"))
  );
}

} // namespace
} // namespace siteagent::config
