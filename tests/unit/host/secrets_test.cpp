// SPDX-License-Identifier: MIT
#include "core/host/secrets.hpp"

#include "support.hpp"

namespace {

using namespace support;
using siteagent::base::error_code;
using siteagent::base::global_redactor;

class environment_variable {
public:
  environment_variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }

  environment_variable(const environment_variable&) = delete;
  environment_variable& operator=(const environment_variable&) = delete;

  ~environment_variable() { ::unsetenv(name_); }

private:
  const char* name_;
};

std::string read(const std::string& source) {
  const auto value = host::read_secret_source(source);
  return value ? std::string(value->reveal()) : "error: " + value.error().message;
}

TEST(secret_source, may_be_the_value_itself) {
  EXPECT_EQ(read("pa$$word"), "pa$$word");
  EXPECT_EQ(read("${not closed"), "${not closed");
  EXPECT_EQ(read("${1x}"), "${1x}");
  EXPECT_TRUE(host::is_literal_secret("x${Y}"));
  EXPECT_FALSE(host::is_literal_secret("${Y}"));
}

TEST(secret_source, may_be_an_environment_variable) {
  const environment_variable set("SITEAGENT_TEST_SECRET", "from the environment");
  EXPECT_EQ(read("${SITEAGENT_TEST_SECRET}"), "from the environment");
  EXPECT_EQ(
      read("${SITEAGENT_TEST_ABSENT}"),
      "error: the environment variable SITEAGENT_TEST_ABSENT is not set"
  );
}

TEST(secret_source, may_be_a_file_without_its_last_line_feed) {
  const temporary_directory d;
  EXPECT_EQ(read("file:" + d.write("a", "from a file\n")), "from a file");
  EXPECT_EQ(read("file:" + d.write("b", "two\nlines\n\n")), "two\nlines\n");
  EXPECT_EQ(read("file:" + (d / "absent")).rfind("error: the file ", 0), 0u);
  EXPECT_NE(read("file:" + d.path()).find("no regular file"), std::string::npos);
  EXPECT_NE(
      read("file:" + d.write("big", std::string(65537, 'x'))).find("larger than 64 KiB"),
      std::string::npos
  );
}

TEST(secret_source, may_be_a_link_as_mounted_secrets_are) {
  const temporary_directory d;
  d.write("..data", "linked-secret");
  std::filesystem::create_symlink("..data", d / "token");
  EXPECT_EQ(read("file:" + (d / "token")), "linked-secret");
}

TEST(secret_source, may_be_a_systemd_credential) {
  EXPECT_NE(read("credential:azure").find("CREDENTIALS_DIRECTORY is not set"), std::string::npos);
  const temporary_directory d;
  d.write("azure", "from systemd\n");
  const environment_variable set("CREDENTIALS_DIRECTORY", d.path());
  EXPECT_EQ(read("credential:azure"), "from systemd");
  EXPECT_NE(
      read("credential:other").find("the credential 'other' cannot be read"), std::string::npos
  );
}

TEST(secret_source, that_is_empty_or_unreadable_is_an_auth_error) {
  const temporary_directory d;
  for (const std::string& source : {"file:" + d.write("empty", "\n"), std::string("${ABSENT_X}")}) {
    const auto value = host::read_secret_source(source);
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().code, error_code::auth);
  }
}

TEST(secret_source, is_protected_before_it_is_handed_out) {
  const temporary_directory d;
  const std::string file = d.write("s", "first-value-4711\n");
  read("file:" + file);
  EXPECT_EQ(global_redactor().scrub("x first-value-4711 y"), "x *** y");
  d.write("s", "second-value-4712\n");
  EXPECT_EQ(read("file:" + file), "second-value-4712") << "read afresh";
  EXPECT_EQ(global_redactor().scrub("first-value-4711second-value-4712"), "******");
}

TEST(secret_form, is_checked_without_reading) {
  for (const char* good : {"x", "${HOME}", "file:/a b", "credential:a.b-c@d", "file"}) {
    EXPECT_TRUE(host::check_secret_source(good)) << good;
  }
  for (const char* bad :
       {"", "file:", "file:relative", "credential:", "credential:a/b", "credential:.."}) {
    EXPECT_FALSE(host::check_secret_source(bad)) << bad;
  }
}

TEST(secret_store, knows_only_the_references_it_gave_out) {
  const host::secret_store store(host::secret_sources{{"sagent-secret:1", "the-value"}});
  const auto known = store.read("sagent-secret:1");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->reveal(), "the-value");
  const auto unknown = store.read("sagent-secret:2");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, error_code::not_found);
}

} // namespace
