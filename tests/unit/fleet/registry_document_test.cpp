// SPDX-License-Identifier: MIT
#include "core/fleet/registry_document.hpp"

#include "core/fleet/money.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::parsed;
using tests::sample_registry;

base::json sample() {
  return parsed(sample_registry);
}

TEST(registry_document, R1_R4_a_target_is_a_cloud_host_by_its_cloud_object_alone) {
  const base::json document = sample();
  EXPECT_EQ(targets_of(document).size(), 2U);
  EXPECT_FALSE(find_target(document, "build-host")->cloud);
  const auto host = find_target(document, "b1");
  ASSERT_TRUE(host && host->cloud);
  EXPECT_EQ(host->ssh, "stado@203.0.113.7");
  EXPECT_EQ(host->cloud->location, "eastus");
  EXPECT_EQ(host->cloud->disk_gb, 128);
  EXPECT_EQ(format_money(*host->cloud->hourly), "0.384");
  EXPECT_EQ(host->cloud->resources.dump(), R"({"vm":"id-1"})");
  EXPECT_EQ(host->cloud->host_key, "SHA256:abc");
  EXPECT_EQ(find_target(document, "none"), std::nullopt);
}

TEST(registry_document, A4_each_provider_sees_its_own_hosts) {
  const base::json document = sample();
  EXPECT_EQ(cloud_hosts_of(document, "null").size(), 1U);
  EXPECT_TRUE(cloud_hosts_of(document, "other").empty());
}

// Written by hand; a host that no verb takes for its own would never be returned.
TEST(registry_document, R90_names_of_providers_are_compared_trimmed_and_in_lower_case) {
  base::json document = sample();
  document.member_ref("targets").items()[1].member_ref("cloud").set("provider", " NULL ");
  EXPECT_EQ(cloud_hosts_of(document, "null").size(), 1U);
}

TEST(registry_document, R46_a_declaration_is_written_as_it_is_read) {
  const auto host = find_target(sample(), "b1");
  EXPECT_EQ(to_json(*host->cloud).dump(), sample()["targets"][1]["cloud"].dump());
  cloud_declaration c = *host->cloud;
  c.host_key = "";
  c.hourly = parse_money("0.4", rounding::up);
  EXPECT_EQ(to_json(c).find("host_key"), nullptr);
  EXPECT_EQ(to_json(c)["hourly_usd"].number_text(), "0.40");
}

TEST(registry_document, R121_an_hour_that_is_no_number_is_not_readable) {
  base::json document = sample();
  for (const char* hour : {"\"0.384\"", "null", "[]"}) {
    document.find("targets")->items()[1].find("cloud")->set("hourly_usd", parsed(hour));
    EXPECT_FALSE(find_target(document, "b1")->cloud->hourly) << hour;
  }
}

TEST(registry_document, markers_of_hosts_being_created_come_and_go_without_a_trace) {
  base::json document = sample();
  const std::string before = document.pretty();
  set_creating(
      document,
      {.name = "b2",
       .provider = "null",
       .location = "westus2",
       .size = "S",
       .hourly = parse_money("1.5", rounding::up),
       .started_at = "2026-11-29T12:00:00Z",
       .by = "m pid 1"}
  );
  set_creating(
      document,
      {.name = "b3",
       .provider = "other",
       .location = {},
       .size = {},
       .hourly = {},
       .started_at = {},
       .by = {}}
  );
  EXPECT_FALSE(validate_registry(document));
  const auto creating = creating_of(document, "null");
  ASSERT_EQ(creating.size(), 1U);
  EXPECT_EQ(creating[0].name, "b2");
  EXPECT_EQ(format_money(*creating[0].hourly), "1.50");
  EXPECT_EQ(creating[0].by, "m pid 1");
  clear_creating(document, "b2");
  clear_creating(document, "b3");
  clear_creating(document, "b3");
  EXPECT_EQ(document.pretty(), before);
}

TEST(registry_document, R125_egress_is_replaced_and_admit_from_stays) {
  base::json document = sample();
  EXPECT_EQ(egress_of(document).at("build-host").address, "198.51.100.4");
  set_egress(document, {{"x", {"198.51.100.5", "2026-11-30T00:00:00Z"}}});
  EXPECT_EQ(
      document["cloud_hosts"].dump(),
      R"({"admit_from":["build-host"],"egress":{"x":{"address":"198.51.100.5","read_at":"2026-11-30T00:00:00Z"}}})"
  );
}

TEST(registry_document, removing_a_target_leaves_the_others) {
  base::json document = sample();
  EXPECT_TRUE(remove_target(document, "b1"));
  EXPECT_FALSE(remove_target(document, "b1"));
  EXPECT_EQ(targets_of(document).size(), 1U);
}

TEST(registry_document, R18_R19_admit_from_names_hosts_that_the_channel_reaches) {
  base::json document = sample();
  EXPECT_EQ(*admit_from_of(document), std::vector<std::string>{"build-host"});
  const auto said = [&](const char* list) {
    document.find("cloud_hosts")->set("admit_from", parsed(list));
    const auto names = admit_from_of(document);
    return names ? "" : names.error().message;
  };
  EXPECT_THAT(said("[]"), HasSubstr("no array with at least one"));
  EXPECT_THAT(said("\"build-host\""), HasSubstr("no array"));
  EXPECT_THAT(said(R"(["nobody"])"), HasSubstr("\"nobody\""));
  EXPECT_THAT(said("[1]"), HasSubstr("names 1"));
  document.find("targets")->items()[0].set("kind", "remote");
  EXPECT_THAT(said(R"(["build-host"])"), HasSubstr("'build-host', whose kind is not 'local'"));
  document.find("cloud_hosts")->erase("admit_from");
  const auto absent = admit_from_of(document);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, base::error_code::refused);
  EXPECT_THAT(
      absent.error().message,
      StartsWith("the registry names no host whose address a cloud host admits "
                 "(cloud_hosts.admit_from is absent); ")
  );
  document.erase("cloud_hosts");
  EXPECT_EQ(admit_from_of(document).error().message, absent.error().message);
}

TEST(registry_document, R98_target_identifiers) {
  for (const char* good : {"a", "0", "b1", "build-host", "a.b_c-d", "9x9"}) {
    EXPECT_TRUE(is_target_identifier(good)) << good;
  }
  for (const char* bad :
       {"",
        "-a",
        "a-",
        ".a",
        "a.",
        "_a",
        "A",
        "aB",
        "a b",
        "a/b",
        "a@b",
        "ä",
        "a\n",
        "a\tb",
        "-"}) {
    EXPECT_FALSE(is_target_identifier(bad)) << bad;
  }
  EXPECT_FALSE(is_target_identifier(std::string_view("a\0b", 3)));
}

TEST(registry_document, hostnames_are_normalized) {
  EXPECT_EQ(normalized_hostname(" Host.Example.ORG. "), "host.example.org");
  for (const char* bad : {"", " ", "a b", "a@b", "a/b"}) {
    EXPECT_EQ(normalized_hostname(bad), "") << bad;
  }
}

TEST(destination, is_read_and_written_in_its_shortest_form) {
  struct row {
    const char* text;
    const char* user;
    const char* host;
    int port;
    const char* again;
  };

  for (const row& r : {
           row{"host", "", "host", 22, "host"},
           row{"ci@host.example.org", "ci", "host.example.org", 22, "ci@host.example.org"},
           row{"ssh://ci@127.0.0.9:2222", "ci", "127.0.0.9", 2222, "ssh://ci@127.0.0.9:2222"},
           row{"ssh://ci@host:22", "ci", "host", 22, "ci@host"},
           row{"ssh://host", "", "host", 22, "host"},
           row{"ci@2001:db8::1", "ci", "2001:db8::1", 22, "ci@2001:db8::1"},
           row{"ssh://ci@[2001:db8::1]:2222",
               "ci",
               "2001:db8::1",
               2222,
               "ssh://ci@[2001:db8::1]:2222"},
           row{"ssh://[::1]", "", "::1", 22, "::1"},
       }) {
    const auto d = parse_destination(r.text);
    ASSERT_TRUE(d) << r.text << ": " << d.error().message;
    EXPECT_EQ(d->user, r.user);
    EXPECT_EQ(d->host, r.host);
    EXPECT_EQ(d->port, r.port);
    EXPECT_EQ(d->text(), r.again);
  }
}

TEST(destination, SSH_takes_nothing_that_ssh_or_a_shell_could_misread) {
  for (const char* text :
       {"",
        "@host",
        "ci@",
        "-oProxyCommand=x",
        "ci@-oProxyCommand=x",
        "-l@host",
        "ci@host;id",
        "ci@$(id)",
        "ci@ho st",
        "ci@host\n",
        "a/b",
        "ci@host:2222",
        "ssh://ci@host:",
        "ssh://ci@host:0",
        "ssh://ci@host:65536",
        "ssh://ci@host:22x",
        "ssh://ci@[::1",
        "ssh://ci@[::1]x",
        "ssh://",
        "ci:pw@host",
        "ci@%h",
        "c i@host",
        "ci@'host'"}) {
    EXPECT_FALSE(parse_destination(text)) << text;
  }
}

TEST(registry_document, R99_the_holder_of_an_identity) {
  const base::json document = sample();
  EXPECT_EQ(holder_of_identity(document, "B1"), "b1");
  EXPECT_EQ(holder_of_identity(document, "Builder."), "build-host");
  EXPECT_EQ(holder_of_identity(document, "203.0.113.7"), "b1");
  EXPECT_EQ(holder_of_identity(document, "b2"), std::nullopt);
  EXPECT_EQ(holder_of_identity(document, ""), std::nullopt);
}

// A change of the sample, and the fault it makes.
struct broken {
  const char* path; // of the value replaced; dotted, arrays by index
  const char* value;
  const char* where; // "" = no fault
  const char* rule;
};

std::string apply_and_check(const broken& b) {
  base::json document = sample();
  base::json* here = &document;
  std::string path = b.path;
  std::size_t start = 0;
  for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', start)) {
    const std::string key = path.substr(start, dot - start);
    here = here->is_array() ? &here->items()[static_cast<std::size_t>(std::stoi(key))]
                            : here->find(key);
    start = dot + 1;
  }
  if (std::string_view(b.value).empty()) {
    here->erase(path.substr(start));
  } else {
    here->set(path.substr(start), parsed(b.value));
  }
  const auto fault = validate_registry(document);
  return fault ? fault->where + " " + fault->rule : "";
}

TEST(registry_rules, the_sample_and_the_smallest_one_keep_them) {
  EXPECT_FALSE(validate_registry(sample()));
  EXPECT_FALSE(validate_registry(parsed(R"({"schema_version":2,"targets":[]})")));
}

TEST(registry_rules, R98_R99_R100_R101_name_the_place_and_the_rule) {
  for (const broken& b : {
           broken{"schema_version", "3", "registry.schema_version", "integer 2"},
           broken{"schema_version", "2.0", "registry.schema_version", "integer 2"},
           broken{"schema_version", "\"2\"", "registry.schema_version", "integer 2"},
           broken{"schema_version", "", "registry.schema_version", "integer 2"},
           broken{"targets", "{}", "registry.targets", "no array"},
           broken{"coordinators", "{}", "registry.coordinators", "no array"},
           broken{"coordinators", "[1]", "", ""},
           broken{"targets.0.name", "\"Build\"", "registry.targets[0].name", "identifier"},
           broken{
               "targets.0.name",
               "\"b1\"",
               "registry.targets[1].name",
               "'b1', a host identity of target 'b1'"},
           broken{"targets.0.kind", "", "registry.targets[0].kind", "no text"},
           broken{"targets.0.ssh", "null", "", ""},
           broken{"targets.0.ssh", "", "", ""},
           broken{"targets.0.ssh", "\"\"", "registry.targets[0].ssh", "no destination"},
           broken{"targets.0.ssh", "1", "registry.targets[0].ssh", "no destination"},
           broken{"targets.0.ssh", "\"-oX\"", "registry.targets[0].ssh", "no destination"},
           broken{"targets.0.ssh", "\"ci@build-host\"", "", ""},
           broken{
               "targets.0.ssh",
               "\"ci@203.0.113.7\"",
               "registry.targets[1].ssh",
               "of target 'build-host'"},
           broken{
               "targets.0.ssh",
               "\"ci@builder\"",
               "registry.targets[0].hostnames[0]",
               "of target 'build-host'"},
           broken{"targets.0.hostnames", "\"x\"", "registry.targets[0].hostnames", "no array"},
           broken{
               "targets.0.hostnames",
               "[\"ok\",\"Upper\"]",
               "registry.targets[0].hostnames[1]",
               "lower case"},
           broken{
               "targets.0.hostnames", "[\"a.\"]", "registry.targets[0].hostnames[0]", "host name"},
           broken{"targets.0.hostnames", "[\"\"]", "registry.targets[0].hostnames[0]", "host name"},
           broken{
               "targets.0.hostnames",
               "[\"build-host\"]",
               "registry.targets[0].hostnames[0]",
               "of target 'build-host'"},
           broken{
               "targets.0.hostnames",
               "[\"x\",\"x\"]",
               "registry.targets[0].hostnames[1]",
               "of target 'build-host'"},
           broken{
               "targets.0.hostnames",
               "[\"b1\"]",
               "registry.targets[1].name",
               "of target 'build-host'"},
           broken{
               "targets.1.hostnames",
               "[\"builder\"]",
               "registry.targets[1].hostnames[0]",
               "of target 'build-host'"},
           broken{"targets.0.hostnames", "", "", ""},
           broken{
               "targets.0.release_platform",
               "\"linux-arm64\"",
               "registry.targets[0].release_platform",
               "darwin-arm64"},
           broken{
               "targets.0.release_platform", "", "registry.targets[0].release_platform", "neither"},
           broken{"targets.0.notes", "1", "registry.targets[0].notes", "no text"},
           broken{"targets.0.os", "[]", "registry.targets[0].os", "no text"},
           broken{"targets.0.more", "{\"x\":1}", "", ""},
           broken{"targets.0.cloud", "1", "registry.targets[0].cloud", "no object"},
           broken{
               "targets.1.kind", "\"remote\"", "registry.targets[1].cloud", "kind is not 'local'"},
           broken{
               "targets.1.cloud.provider", "\"\"", "registry.targets[1].cloud.provider", "no text"},
           broken{"targets.1.cloud.location", "", "registry.targets[1].cloud.location", "no text"},
           broken{"targets.1.cloud.size", "8", "registry.targets[1].cloud.size", "no text"},
           broken{
               "targets.1.cloud.priced_where",
               "null",
               "registry.targets[1].cloud.priced_where",
               "no text"},
           broken{"targets.1.cloud.vm_id", "\" \"", "registry.targets[1].cloud.vm_id", "no text"},
           broken{"targets.1.cloud.disk_gb", "0", "registry.targets[1].cloud.disk_gb", "from 1"},
           broken{"targets.1.cloud.disk_gb", "1.5", "registry.targets[1].cloud.disk_gb", "whole"},
           broken{
               "targets.1.cloud.disk_gb", "\"128\"", "registry.targets[1].cloud.disk_gb", "whole"},
           broken{
               "targets.1.cloud.idle_minutes",
               "-1",
               "registry.targets[1].cloud.idle_minutes",
               "whole"},
           broken{"targets.1.cloud.hourly_usd", "0", "", ""},
           broken{"targets.1.cloud.hourly_usd", "1e-3", "", ""},
           broken{
               "targets.1.cloud.hourly_usd",
               "-0.1",
               "registry.targets[1].cloud.hourly_usd",
               "from 0"},
           broken{
               "targets.1.cloud.hourly_usd",
               "\"0.4\"",
               "registry.targets[1].cloud.hourly_usd",
               "number"},
           broken{
               "targets.1.cloud.hourly_usd",
               "1e99",
               "registry.targets[1].cloud.hourly_usd",
               "number"},
           broken{
               "targets.1.cloud.address",
               "\"host\"",
               "registry.targets[1].cloud.address",
               "IP address"},
           broken{
               "targets.1.cloud.address",
               "\"203.0.113.07\"",
               "registry.targets[1].cloud.address",
               "IP address"},
           broken{"targets.1.cloud.address", "\"2001:db8::1\"", "", ""},
           broken{
               "targets.1.cloud.created_at",
               "\"yesterday\"",
               "registry.targets[1].cloud.created_at",
               "time"},
           broken{"targets.1.cloud.more", "[1]", "", ""},
           broken{"targets.1.cloud.host_key", "", "", ""},
           broken{"cloud_hosts", "[]", "registry.cloud_hosts", "no object"},
           broken{"cloud_hosts", "", "", ""},
           broken{"cloud_hosts.admit_from", "", "", ""},
           broken{
               "cloud_hosts.admit_from", "[]", "registry.cloud_hosts.admit_from", "at least one"},
           broken{"cloud_hosts.admit_from", "{}", "registry.cloud_hosts.admit_from", "no array"},
           broken{
               "cloud_hosts.admit_from",
               "[\"x\"]",
               "registry.cloud_hosts.admit_from[0]",
               "no target"},
           broken{
               "cloud_hosts.admit_from",
               "[\"b1\",\"b1\"]",
               "registry.cloud_hosts.admit_from[1]",
               "twice"},
           broken{
               "targets.0.kind", "\"remote\"", "registry.cloud_hosts.admit_from[0]", "not 'local'"},
           broken{"cloud_hosts.egress", "[]", "registry.cloud_hosts.egress", "no object"},
           broken{
               "cloud_hosts.egress",
               "{\"h\":{\"address\":\"x\"}}",
               "registry.cloud_hosts.egress.h.address",
               "IP"},
           broken{
               "cloud_hosts.egress",
               "{\"h\":{\"address\":\"1.2.3.4\"}}",
               "registry.cloud_hosts.egress.h.read_at",
               "time"},
           broken{"cloud_hosts.egress", "", "", ""},
           broken{
               "cloud_hosts_creating",
               "{\"b2\":1}",
               "registry.cloud_hosts_creating.b2",
               "no object"},
           broken{"cloud_hosts_creating", "[]", "registry.cloud_hosts_creating", "no object"},
           broken{"cloud_hosts_reaped", "{\"null\":{\"at\":\"x\"}}", "", ""},
           broken{
               "enrollment",
               "{\"allow_enroll\":\"no\"}",
               "registry.enrollment.allow_enroll",
               "true nor false"},
           broken{"enrollment", "{\"allow_enroll\":false,\"x\":1}", "", ""},
           broken{"anything", "{\"x\":[1]}", "", ""},
       }) {
    const std::string said = apply_and_check(b);
    const std::string change = std::string(b.path) + " = " + b.value;
    if (std::string_view(b.where).empty()) {
      EXPECT_EQ(said, "") << change;
    } else {
      EXPECT_THAT(said, StartsWith(std::string(b.where) + " ")) << change;
      EXPECT_THAT(said, HasSubstr(b.rule)) << change;
    }
  }
}

TEST(registry_rules, R98_the_name_of_a_cloud_host_has_at_most_64_characters) {
  base::json document = sample();
  const auto with_name = [&](std::size_t length) {
    document.find("targets")->items()[1].set("name", std::string(length, 'a'));
    return validate_registry(document);
  };
  EXPECT_FALSE(with_name(64));
  EXPECT_EQ(with_name(65)->where, "registry.targets[1].name");
}

TEST(registry_rules, R101_a_target_named_in_admit_from_cannot_go) {
  base::json document = sample();
  ASSERT_TRUE(remove_target(document, "build-host"));
  EXPECT_EQ(validate_registry(document)->where, "registry.cloud_hosts.admit_from[0]");
}

} // namespace
} // namespace siteagent::fleet
