// SPDX-License-Identifier: MIT
#include "core/host/negotiate.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace {

namespace host = siteagent::host;

sagent_code nothing(sagent_instance*, const sagent_call*, const sagent_request*) {
  return SAGENT_OK;
}

sagent_plugin good_descriptor() {
  sagent_plugin d{};
  d.struct_size = sizeof d;
  d.abi_minor = SAGENT_ABI_MINOR;
  d.abi_minor_required = SAGENT_ABI_MINOR;
  d.thread_model = SAGENT_THREADS_PARALLEL;
  d.id = "good";
  d.create = [](const sagent_host*, const sagent_call*, const sagent_request*, sagent_instance**) {
    return sagent_code{SAGENT_OK};
  };
  d.destroy = [](sagent_instance*) {};
  d.get_extension = [](const char*) -> const void* { return nullptr; };
  return d;
}

sagent_resource_backend good_backend() {
  sagent_resource_backend t{};
  t.struct_size = sizeof t;
  for (sagent_method* slot = &t.ping; slot <= &t.describe; ++slot) {
    *slot = &nothing;
  }
  return t;
}

TEST(plugin_id, is_a_lower_case_word_of_at_most_32) {
  for (const char* id : {"a", "azure", "my-cloud-2", "a-------------------------------"}) {
    EXPECT_TRUE(host::is_plugin_id(id)) << id;
  }
  for (const char* id :
       {"",
        "Azure",
        "2cloud",
        "-x",
        "a_b",
        "../azure",
        "a/b",
        "a.b",
        "a b",
        "\xc3\xa4",
        "a--------------------------------"}) {
    EXPECT_FALSE(host::is_plugin_id(id)) << id;
  }
}

TEST(plugin_descriptor, is_copied_when_it_is_right) {
  const sagent_plugin d = good_descriptor();
  const auto read = host::read_descriptor(&d, "good");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->create, d.create);
  EXPECT_EQ(read->thread_model, SAGENT_THREADS_PARALLEL);
}

TEST(plugin_descriptor, of_a_newer_plugin_loses_its_unknown_tail) {
  struct {
    sagent_plugin known = good_descriptor();
    void* later = nullptr;
  } longer;

  longer.known.struct_size = sizeof longer;
  longer.known.abi_minor = SAGENT_ABI_MINOR + 3;
  const auto read = host::read_descriptor(&longer.known, "good");
  ASSERT_TRUE(read) << read.error().message;
}

struct refused_descriptor {
  const char* name;
  std::function<void(sagent_plugin&)> spoil;
  std::vector<std::string> words;
};

class descriptor_refusal : public testing::TestWithParam<refused_descriptor> {};

TEST_P(descriptor_refusal, names_what_differs) {
  sagent_plugin d = good_descriptor();
  GetParam().spoil(d);
  const auto read = host::read_descriptor(&d, "good");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, siteagent::base::error_code::invalid);
  for (const std::string& word : GetParam().words) {
    EXPECT_NE(read.error().message.find(word), std::string::npos) << read.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    negotiation,
    descriptor_refusal,
    testing::Values(
        refused_descriptor{
            "too_short",
            [](sagent_plugin& d) { d.struct_size = offsetof(sagent_plugin, destroy); },
            {"bytes long", "rebuild"}},
        refused_descriptor{
            "garbage_size", [](sagent_plugin& d) { d.struct_size = 0xdeadbeef; }, {"claims"}},
        refused_descriptor{
            "newer_minor",
            [](sagent_plugin& d) { d.abi_minor_required = SAGENT_ABI_MINOR + 5; },
            {"needs ABI 0.6", "offers 0.1", "upgrade the agent"}},
        refused_descriptor{
            "no_create_and_destroy",
            [](sagent_plugin& d) {
              d.create = nullptr;
              d.destroy = nullptr;
            },
            {"no create, destroy"}},
        refused_descriptor{"no_id", [](sagent_plugin& d) { d.id = nullptr; }, {"no id"}},
        refused_descriptor{"bad_id", [](sagent_plugin& d) { d.id = "Good"; }, {"[a-z]"}},
        refused_descriptor{
            "other_id", [](sagent_plugin& d) { d.id = "other"; }, {"good.so", "other.so"}}
    ),
    [](const auto& given) { return std::string(given.param.name); }
);

TEST(plugin_descriptor, of_null_is_a_refusal) {
  const auto read = host::read_descriptor(nullptr, "good");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("returned NULL"), std::string::npos);
}

TEST(backend_table, needs_every_mandatory_operation_and_names_the_missing) {
  EXPECT_TRUE(
      host::read_backend(nullptr).error().message.find("does not offer") != std::string::npos
  );
  sagent_resource_backend t = good_backend();
  EXPECT_TRUE(host::read_backend(&t));
  t.add_members = nullptr;
  t.remove_members = nullptr;
  EXPECT_TRUE(host::read_backend(&t)) << "members are optional";
  t.restore = nullptr;
  t.ping = nullptr;
  const auto read = host::read_backend(&t);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("ping, restore"), std::string::npos) << read.error().message;
}

TEST(backend_table, each_mandatory_slot_counts) {
  const sagent_resource_backend complete = good_backend();
  for (const sagent_method* slot = &complete.ping; slot < &complete.add_members; ++slot) {
    sagent_resource_backend t = complete;
    (&t.ping)[slot - &complete.ping] = nullptr;
    EXPECT_FALSE(host::read_backend(&t)) << "slot " << (slot - &complete.ping);
  }
}

TEST(backend_table, shorter_than_the_first_one_is_refused) {
  sagent_resource_backend t = good_backend();
  t.struct_size = offsetof(sagent_resource_backend, diagnostics);
  EXPECT_FALSE(host::read_backend(&t));
}

TEST(thread_model, unknown_to_us_is_the_strictest) {
  EXPECT_EQ(host::name_of_thread_model(SAGENT_THREADS_SERIAL), "serial");
  EXPECT_EQ(host::name_of_thread_model(SAGENT_THREADS_PER_INSTANCE), "per_instance");
  EXPECT_EQ(host::name_of_thread_model(SAGENT_THREADS_PARALLEL), "parallel");
  EXPECT_EQ(host::name_of_thread_model(99), "serial");
}

} // namespace
