// SPDX-License-Identifier: MIT
// Fleet keys with the real ssh-keygen.
#include "core/fleet/keys.hpp"

#include "core/base/text.hpp"
#include "core/fleet/transient_files.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using tests::mode_of;
using tests::scratch;

// Runs the real program and remembers the words; may answer for it instead.
class listening_runner final : public runner {
public:
  base::result<finished> run(const command& c, std::stop_token stop) override {
    const std::lock_guard guard(mutex_);
    calls.push_back(c.argv);
    if (answer) {
      if (auto said = answer(c)) {
        return *std::move(said);
      }
    }
    return system_runner().run(c, stop);
  }

  std::vector<std::vector<std::string>> calls;
  std::function<std::optional<base::result<finished>>(const command&)> answer;

private:
  std::mutex mutex_;
};

credential_store store_of(const scratch& s) {
  return *credential_store::open(s.profile(), s.where());
}

fleet_keys keys_of(const scratch& s, runner& programs = system_runner()) {
  return {store_of(s), programs, s.where(), s.env(), base::real_clock()};
}

std::vector<std::string> transient_files(const scratch& s) {
  std::vector<std::string> files;
  const std::string folder = s.path(".stado/transient");
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_directory()) {
        files.push_back(entry.path().string());
      }
    }
  }
  return files;
}

TEST(keys, R107_generates_an_ed25519_pair_without_passphrase_and_stores_it) {
  const scratch s;
  base::manual_clock clock(*base::parse_rfc3339("2026-11-29T12:00:00Z"));
  const fleet_keys keys(store_of(s), system_runner(), s.where(), s.env(), clock);
  const auto key = keys.generate("b1");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->item, "stado-ssh-b1");
  EXPECT_EQ(key->key_type, "ED25519");
  EXPECT_THAT(key->fingerprint, StartsWith("SHA256:"));
  EXPECT_THAT(key->public_key, StartsWith("ssh-ed25519 AAAA"));
  EXPECT_TRUE(key->public_key.ends_with(" stado-ssh-b1"));
  EXPECT_EQ(key->public_key.find('\n'), std::string::npos);
  const auto stored = store_of(s).find("stado-ssh-b1");
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->kind, "key-pair");
  const auto& fields = (*stored)->fields;
  EXPECT_EQ(fields.size(), 5U);
  EXPECT_THAT(
      std::string(fields.at("private_key").reveal()),
      StartsWith("-----BEGIN OPENSSH PRIVATE KEY-----\n")
  );
  EXPECT_EQ(fields.at("public_key").reveal(), key->public_key);
  EXPECT_EQ(fields.at("key_type").reveal(), "ED25519");
  EXPECT_EQ(fields.at("fingerprint").reveal(), key->fingerprint);
  EXPECT_EQ(fields.at("added_at").reveal(), "2026-11-29T12:00:00Z");
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, R80_R107_no_secret_is_among_the_words_of_a_program) {
  const scratch s;
  listening_runner programs;
  ASSERT_TRUE(keys_of(s, programs).generate("b1"));
  const auto stored = store_of(s).find("stado-ssh-b1");
  const std::string secret((*stored)->fields.at("private_key").reveal());
  ASSERT_FALSE(programs.calls.empty());
  for (const auto& words : programs.calls) {
    for (const std::string& word : words) {
      EXPECT_THAT(word, Not(HasSubstr("PRIVATE")));
      for (const std::string_view line : base::split(secret, '\n')) {
        EXPECT_TRUE(line.empty() || word.find(line) == std::string::npos);
      }
    }
  }
}

TEST(keys, R107_a_second_key_replaces_the_first) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  const auto first = keys.generate("b1");
  const auto second = keys.generate("b1");
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->fingerprint, second->fingerprint);
  const auto list = keys.list();
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().fingerprint, second->fingerprint);
}

// A key that somebody made, in the test's folder.
std::string own_key(const scratch& s, const std::string& passphrase = "") {
  command c;
  const std::string path = s.path("own");
  c.argv = {"ssh-keygen", "-q", "-t", "ecdsa", "-N", passphrase, "-C", "mine", "-f", path};
  EXPECT_EQ(system_runner().run(c)->status, 0);
  return path;
}

TEST(keys, add_stores_a_key_that_is_there_already) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  const std::string file = own_key(s);
  std::filesystem::remove(file + ".pub");
  const auto key = keys.add("build-host", file);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->key_type, "ECDSA");
  EXPECT_THAT(key->public_key, StartsWith("ecdsa-sha2-nistp256 AAAA"));
  EXPECT_TRUE(key->public_key.ends_with(" stado-ssh-build-host"));
  EXPECT_EQ(keys.list()->size(), 1U);
  EXPECT_TRUE(keys.private_key_file("build-host"));
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, add_refuses_what_is_no_key_of_its_owner_alone) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  const auto old = keys.generate("b1");
  const std::string file = own_key(s, "a passphrase");
  const auto locked = keys.add("b1", file);
  ASSERT_FALSE(locked);
  EXPECT_THAT(locked.error().message, HasSubstr("is no private key without a passphrase"));
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  EXPECT_THAT(keys.add("b1", file).error().message, HasSubstr("others than you can reach"));
  std::filesystem::create_symlink(file, s.path("link"));
  EXPECT_FALSE(keys.add("b1", s.path("link")));
  EXPECT_FALSE(keys.add("b1", s.path("absent")));
  EXPECT_FALSE(keys.add("b1", "own"));
  EXPECT_FALSE(keys.add("B 1", file));
  ASSERT_EQ(keys.list()->size(), 1U);
  EXPECT_EQ(keys.list()->front().fingerprint, old->fingerprint);
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, F24_a_key_that_reads_back_as_another_one_is_refused_and_the_old_one_put_back) {
  const scratch s;
  listening_runner programs;
  const fleet_keys keys = keys_of(s, programs);
  const auto old = keys.generate("b1");
  ASSERT_TRUE(old);
  programs.answer = [](const command& c) -> std::optional<base::result<finished>> {
    if (c.argv[1] == "-y") {
      finished other;
      other.output = "ssh-ed25519 AAAAother x\n";
      return other;
    }
    return std::nullopt;
  };
  const auto key = keys.generate("b1");
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, base::error_code::permanent);
  EXPECT_THAT(key.error().message, HasSubstr("stado-ssh-b1"));
  EXPECT_EQ(keys.list()->front().fingerprint, old->fingerprint);
  EXPECT_FALSE(keys.generate("b2"));
  EXPECT_EQ(keys.list()->size(), 1U);
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, F23_a_program_that_fails_is_named_and_leaves_no_file) {
  const scratch s;
  listening_runner programs;
  programs.answer = [](const command&) -> std::optional<base::result<finished>> {
    finished failed;
    failed.status = 7;
    failed.error_output = "no entropy\n";
    return failed;
  };
  const auto key = keys_of(s, programs).generate("b1");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("stado-ssh-b1"));
  EXPECT_THAT(key.error().message, HasSubstr("ended with 7: no entropy"));
  programs.answer = [](const command&) -> std::optional<base::result<finished>> {
    return base::error{base::error_code::not_found, "no ssh-keygen on PATH"};
  };
  EXPECT_THAT(
      keys_of(s, programs).generate("b1").error().message, HasSubstr("no ssh-keygen on PATH")
  );
  EXPECT_THAT(transient_files(s), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(s.path(".stado/credentials.json")));
}

TEST(keys, F23_a_store_that_cannot_be_written_leaves_no_file) {
  const scratch s;
  s.write(".stado/credentials.json", "{}", 0644);
  const auto key = keys_of(s).generate("b1");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().message, HasSubstr("chmod 600"));
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, R98_a_target_is_an_identifier) {
  const scratch s;
  for (const char* bad : {"", "../x", "A", "a b", "$stado_item_types"}) {
    EXPECT_FALSE(keys_of(s).generate(bad)) << bad;
    EXPECT_FALSE(keys_of(s).remove(bad)) << bad;
  }
}

TEST(keys, R107_removing_an_absent_key_succeeds_and_says_so) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  EXPECT_FALSE(*keys.remove("b1"));
  ASSERT_TRUE(keys.generate("b1"));
  EXPECT_TRUE(*keys.remove("b1"));
  EXPECT_FALSE(*keys.remove("b1"));
  EXPECT_TRUE(keys.list()->empty());
}

TEST(keys, A15_what_was_stored_can_be_put_back) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  const auto nothing = keys.stored("b1");
  ASSERT_TRUE(nothing);
  ASSERT_TRUE(keys.generate("b1"));
  const std::string first = s.read(".stado/credentials.json");
  const auto old = keys.stored("b1");
  ASSERT_TRUE(keys.generate("b1"));
  ASSERT_TRUE(keys.restore("b1", *old));
  EXPECT_EQ(store_of(s).find("stado-ssh-b1")->value().fields, (*old)->fields);
  EXPECT_EQ(s.read(".stado/credentials.json").size(), first.size());
  ASSERT_TRUE(keys.restore("b1", *nothing));
  EXPECT_TRUE(keys.list()->empty());
}

TEST(keys, R106_a_private_key_is_a_file_of_its_owner_for_the_time_of_its_use) {
  const scratch s;
  const fleet_keys keys = keys_of(s);
  ASSERT_TRUE(keys.generate("b1"));
  std::string path;
  {
    const auto file = keys.private_key_file("b1");
    ASSERT_TRUE(file) << file.error().message;
    path = (*file)->path();
    EXPECT_THAT(path, StartsWith(s.path(".stado/transient/")));
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(mode_of(directory_of(path)), 0700U);
    EXPECT_EQ(
        *read_file(path),
        store_of(s).find("stado-ssh-b1")->value().fields.at("private_key").reveal()
    );
    const auto second = keys.private_key_file("b1");
    EXPECT_NE((*second)->path(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, R106_the_way_out_of_the_process_removes_what_is_in_use) {
  const scratch s;
  ASSERT_TRUE(keys_of(s).generate("b1"));
  int status = -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto file = keys_of(s).private_key_file("b1");
    const bool there = file && std::filesystem::exists((*file)->path());
    remove_transient_files();
    _exit(there && !std::filesystem::exists((*file)->path()) ? 0 : 1);
  }
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(keys, R106_what_a_killed_process_left_is_removed_by_the_next_one) {
  const scratch s;
  const pid_t child = fork();
  if (child == 0) {
    (void)write_transient_file(s.where().state, "key", "secret").has_value();
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(transient_files(s).size(), 1U);
  const auto mine = write_transient_file(s.where().state, "key", "mine");
  ASSERT_TRUE(mine);
  EXPECT_EQ(transient_files(s), std::vector<std::string>{*mine});
  // A living process's files stay: another one does not take them for a dead one's.
  const pid_t other = fork();
  if (other == 0) {
    execl("/bin/true", "true", nullptr);
  }
  waitpid(other, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(*mine));
  remove_transient_files();
  EXPECT_THAT(transient_files(s), IsEmpty());
}

TEST(keys, a_missing_key_names_the_command_that_makes_one) {
  const scratch s;
  const auto none = keys_of(s).private_key_file("b1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::error_code::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("stado fleet key generate b1"));
  EXPECT_THAT(none.error().message, HasSubstr("stado-ssh-b1"));
}

TEST(keys, R106_a_file_named_by_the_operator_stands_for_every_key) {
  scratch s;
  const std::string file = s.write("recovery", "key");
  s.set("STADO_HOST_SSH_KEY_FILE", file);
  {
    const auto key = keys_of(s).private_key_file("any");
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ((*key)->path(), file);
  }
  EXPECT_TRUE(std::filesystem::exists(file)); // it is the operator's
  // Making a key for a host does not go through it.
  EXPECT_TRUE(keys_of(s).generate("b1"));
}

TEST(keys, R106_a_file_named_by_the_operator_is_the_operators_alone) {
  scratch s;
  const auto said = [&](const std::string& path) {
    s.set("STADO_HOST_SSH_KEY_FILE", path);
    const auto key = keys_of(s).private_key_file("any");
    return key ? "" : key.error().message;
  };
  EXPECT_THAT(said("relative"), HasSubstr("no absolute path"));
  EXPECT_THAT(said(s.path("none")), HasSubstr("cannot be opened"));
  EXPECT_THAT(said(s.home()), HasSubstr("no regular file"));
  EXPECT_THAT(said(s.write("open", "x", 0640)), HasSubstr("chmod 600"));
  std::filesystem::create_symlink(s.write("real", "x"), s.path("link"));
  EXPECT_THAT(said(s.path("link")), HasSubstr("cannot be opened"));
  EXPECT_EQ(said(s.path("real")), "");
}

TEST(keys, two_mints_at_once_lose_no_key) {
  const scratch s;
  std::vector<pid_t> children;
  for (int n = 0; n < 8; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const bool made = keys_of(s).generate("t" + std::to_string(n)).has_value();
      remove_transient_files();
      _exit(made ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(keys_of(s).list()->size(), 8U);
  EXPECT_THAT(transient_files(s), IsEmpty());
}

} // namespace
} // namespace siteagent::fleet
