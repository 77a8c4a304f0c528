// SPDX-License-Identifier: MIT
// The first-boot text before real judges: cloud-init's own schema, sshd, a shell and shellcheck.
#include "core/base/json.hpp"
#include "core/fleet/runner.hpp"
#include "core/fleet/user_data.hpp"
#include "tests/fleet/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <map>

namespace siteagent::fleet {
namespace {

namespace fs = std::filesystem;
using base::json;
using integration::read_file;
using integration::temp_dir;
using integration::write_file;
using testing::HasSubstr;

constexpr const char* key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMtest stado-ssh-b1";

bool is_installed(const char* program) {
  return system_runner().run({.argv = {program, "--version"}}).has_value();
}

// As YAML readers see it.
json parsed(const std::string& text) {
  const auto f = system_runner().run(
      {.argv =
           {"/usr/bin/python3",
            "-c",
            "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"},
       .input = text}
  );
  return f && f->status == 0 ? *json::parse(f->output) : json();
}

bool can_parse_yaml() {
  const auto f = system_runner().run({.argv = {"/usr/bin/python3", "-c", "import yaml"}});
  return f && f->status == 0;
}

std::string file_in(const json& document, const std::string& path) {
  for (const json& file : document["write_files"].items()) {
    if (file["path"].string() == path) {
      return file["content"].string_or("");
    }
  }
  return "";
}

constexpr const char* drop_in_path = "/etc/ssh/sshd_config.d/10-stado-cloud-host.conf";
constexpr const char* script_path = "/usr/local/sbin/stado-toolchain";

TEST(user_data, T11_R41_has_exactly_its_keys) {
  if (!can_parse_yaml()) {
    GTEST_SKIP() << "python3-yaml is not installed";
  }
  const std::string text = render_user_data("builder", key);
  EXPECT_TRUE(text.starts_with("#cloud-config\n"));
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
  const json document = parsed(text);
  std::vector<std::string> keys;
  for (const auto& [name, value] : document.members()) {
    keys.push_back(name);
  }
  // The validator takes a mistyped key for a valid one.
  EXPECT_EQ(
      keys,
      (std::vector<std::string>{
          "package_update",
          "package_upgrade",
          "package_reboot_if_required",
          "ssh_pwauth",
          "disable_root",
          "ssh_authorized_keys",
          "write_files",
          "runcmd"})
  );
  for (const char* off :
       {"package_update", "package_upgrade", "package_reboot_if_required", "ssh_pwauth"}) {
    EXPECT_EQ(document[off].boolean(), false) << off;
  }
  EXPECT_EQ(document["disable_root"].boolean(), true);
  EXPECT_EQ(document["ssh_authorized_keys"].dump(), json::array({json(key)}).dump());
  EXPECT_EQ(document["runcmd"].dump(), "[[\"/usr/local/sbin/stado-toolchain\"]]");
  ASSERT_EQ(document["write_files"].size(), 2U);
  EXPECT_EQ(document["write_files"][0]["permissions"].string(), "0644");
  EXPECT_EQ(document["write_files"][1]["permissions"].string(), "0755");
  for (const json& file : document["write_files"].items()) {
    EXPECT_EQ(file["owner"].string(), "root:root");
  }
  EXPECT_EQ(
      file_in(document, drop_in_path),
      "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin no\n"
      "AuthenticationMethods publickey\n"
  );
}

TEST(user_data, T11_cloud_inits_own_validator_accepts_it) {
  if (!is_installed("cloud-init")) {
    GTEST_SKIP() << "cloud-init is not installed";
  }
  const temp_dir folder;
  write_file(folder.file("good"), render_user_data("builder", key));
  const auto good =
      system_runner().run({.argv = {"cloud-init", "schema", "--config-file", folder.file("good")}});
  ASSERT_TRUE(good);
  EXPECT_EQ(good->status, 0) << good->output << good->error_output;
  write_file(folder.file("bad"), "#cloud-config\nruncmd: text\n");
  const auto bad =
      system_runner().run({.argv = {"cloud-init", "schema", "--config-file", folder.file("bad")}});
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->status, 0);
}

TEST(user_data, case_ssh_01_is_far_below_the_smallest_limit_of_a_cloud) {
  EXPECT_LT(render_user_data(std::string(32, 'a'), std::string(2'000, 'k')).size(), 16'384U);
}

TEST(user_data, takes_no_word_of_the_key_for_yaml) {
  if (!can_parse_yaml()) {
    GTEST_SKIP() << "python3-yaml is not installed";
  }
  const std::string odd = "ssh-ed25519 AAAA it's \"x\": # {y} \\";
  EXPECT_EQ(parsed(render_user_data("builder", odd))["ssh_authorized_keys"][0].string(), odd);
}

TEST(user_data, R92_login_names) {
  for (const char* good : {"a", "_a", "builder", "a-b_9", "abcdefghijklmnopqrstuvwxyz012345"}) {
    EXPECT_TRUE(is_login_name(good)) << good;
  }
  for (const char* bad :
       {"", "A", "9a", "-a", "a b", "a'", "a.b", "\xc3\xa4", "abcdefghijklmnopqrstuvwxyz0123456"}) {
    EXPECT_FALSE(is_login_name(bad)) << bad;
  }
}

// sshd's view of the drop-in in a folder with another one.
std::string effective(const std::string& ours, const std::string& name, const std::string& theirs) {
  const temp_dir folder;
  fs::create_directories(folder.path() / "d");
  test::make_key_pair(folder.file("host_key"));
  write_file(folder.file("d/" + name), ours);
  write_file(folder.file("d/50-cloud-init.conf"), theirs);
  write_file(
      folder.file("sshd_config"),
      "Include " + folder.file("d") + "/*.conf\nHostKey " + folder.file("host_key") +
          "\nPasswordAuthentication yes\n"
  );
  if (::geteuid() == 0) {
    fs::create_directories("/run/sshd");
  }
  const auto f =
      system_runner().run({.argv = {"/usr/sbin/sshd", "-T", "-f", folder.file("sshd_config")}});
  return f ? f->output + f->error_output : f.error().message;
}

TEST(user_data, R129_T11_sshd_refuses_passwords_whatever_a_later_file_says) {
  if (!can_parse_yaml()) {
    GTEST_SKIP() << "python3-yaml is not installed";
  }
  const std::string ours = file_in(parsed(render_user_data("builder", key)), drop_in_path);
  const std::string theirs = "PasswordAuthentication yes\nKbdInteractiveAuthentication yes\n"
                             "PermitRootLogin yes\n";
  const std::string settings = effective(ours, fs::path(drop_in_path).filename().string(), theirs);
  EXPECT_THAT(settings, HasSubstr("passwordauthentication no\n"));
  EXPECT_THAT(settings, HasSubstr("kbdinteractiveauthentication no\n"));
  EXPECT_THAT(settings, HasSubstr("permitrootlogin no\n"));
  EXPECT_THAT(settings, HasSubstr("authenticationmethods publickey\n"));
  // Why its name matters.
  EXPECT_THAT(effective(ours, "90-late.conf", theirs), HasSubstr("passwordauthentication yes\n"));
}

// The script in a world of its own: every program it calls is a small script that notes it.
class toolchain : public testing::Test {
protected:
  void SetUp() override {
    if (!can_parse_yaml()) {
      GTEST_SKIP() << "python3-yaml is not installed";
    }
    write_file(
        folder.file("script"), file_in(parsed(render_user_data("builder", key)), script_path)
    );
    fs::create_directories(home());
    shim("getent", "echo builder:x:1000:1000::" + home() + ":/bin/bash");
    shim("id", "echo builders");
    shim("install", ":");
    shim("sshd", ":");
    shim("systemctl", "[ \"$*\" != 'is-active --quiet ssh.service' ]"); // sshd.service is active
    shim("sleep", ":");
    shim("apt-get", ":");
    shim("curl", "while [ \"$1\" != -o ]; do shift; done; echo installer > \"$2\"");
    shim("runuser", "[ \"$1 $2 $3\" = '-u builder --' ] || exit 9; shift 3; exec \"$@\"");
    shim("sh", "[ \"$(cat \"$1\")\" = installer ]");
    shim("node", "echo v18");
    shim("npm", "echo 9");
    fs::create_directories(home() + "/.stado");
    fs::create_directories(home() + "/.cargo/bin");
    write_script(home() + "/.cargo/bin/rustc", "echo rustc 1.91");
  }

  std::string home() const { return folder.file("home"); }

  static void write_script(const std::string& path, const std::string& body) {
    write_file(path, "#!/bin/bash\n" + body + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }

  void shim(const std::string& program, const std::string& body) const {
    fs::create_directories(folder.path() / "bin");
    write_script(
        folder.file("bin/" + program),
        "echo " + program + " \"$@\" >> " + folder.file("calls") + "\n" + body
    );
  }

  finished run() const {
    const auto f = system_runner().run(
        {.argv = {"/bin/sh", folder.file("script")},
         .set = {{"PATH", folder.file("bin") + ":/usr/bin:/bin"}}}
    );
    return f ? *f : finished{.status = -1, .output = "", .error_output = f.error().message};
  }

  std::string calls() const { return read_file(folder.file("calls")); }

  temp_dir folder;
};

TEST_F(toolchain, T11_is_a_good_shell_script) {
  const auto syntax = system_runner().run({.argv = {"/bin/sh", "-n", folder.file("script")}});
  ASSERT_TRUE(syntax);
  EXPECT_EQ(syntax->status, 0) << syntax->error_output;
  if (!is_installed("shellcheck")) {
    GTEST_SKIP() << "shellcheck is not installed";
  }
  const auto checked = system_runner().run({.argv = {"shellcheck", folder.file("script")}});
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->status, 0) << checked->output;
}

TEST_F(toolchain, R41_installs_the_packages_and_rustup_for_the_account) {
  const finished f = run();
  EXPECT_EQ(f.status, 0) << f.error_output;
  const std::string all = calls();
  EXPECT_THAT(
      all,
      HasSubstr("build-essential pkg-config libssl-dev clang cmake protobuf-compiler git rsync "
                "nodejs npm curl ca-certificates\n")
  );
  EXPECT_LT(all.find(" update\n"), all.find(" install build-essential"));
  EXPECT_THAT(all, HasSubstr("--tlsv1.2"));
  EXPECT_THAT(
      all,
      HasSubstr(
          "sh " + home() +
          "/.stado/rustup-init.sh -y --no-modify-path --profile minimal "
          "--default-toolchain stable\n"
      )
  );
  EXPECT_THAT(all, HasSubstr("runuser -u builder -- env HOME=" + home()));
  EXPECT_THAT(
      all,
      HasSubstr(
          "install -d -m 0700 -o builder -g builders " + home() + "/.stado " + home() +
          "/.stado/work\n"
      )
  );
  EXPECT_EQ(all.find("/runs"), std::string::npos); // "no run ever came"
  EXPECT_LT(all.find("sshd -t\n"), all.find("systemctl reload-or-restart sshd.service\n"));
  EXPECT_EQ(all.find("reload-or-restart ssh.service"), std::string::npos);
  EXPECT_FALSE(fs::exists(home() + "/.stado/rustup-init.sh"));
}

TEST_F(toolchain, an_sshd_that_a_socket_starts_is_left_alone) {
  shim("systemctl", "exit 3");
  EXPECT_EQ(run().status, 0);
  EXPECT_EQ(calls().find("reload-or-restart"), std::string::npos);
}

TEST_F(toolchain, every_failure_ends_it_with_a_status) {
  struct row {
    const char* program;
    const char* body;
  };

  for (const row& r : {
           row{"getent", "exit 2"},
           row{"sshd", "exit 255"},
           row{"apt-get", "exit 100"},
           row{"curl", "exit 22"},
           row{"sh", "exit 1"},
           row{"node", "exit 127"},
           row{"npm", "exit 127"},
       }) {
    SetUp();
    shim(r.program, r.body);
    EXPECT_NE(run().status, 0) << r.program;
  }
  SetUp();
  write_script(home() + "/.cargo/bin/rustc", "exit 1");
  EXPECT_NE(run().status, 0);
}

TEST_F(toolchain, case_ssh_05_waits_for_the_package_manager_and_for_the_mirror) {
  // The index fails five times, as it does while another holds the lock or a mirror is away.
  shim(
      "apt-get",
      "case $* in *update*) echo x >> " + folder.file("asked") + "; [ $(wc -l < " +
          folder.file("asked") + ") -gt 5 ] ;; esac"
  );
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(calls(), HasSubstr("sleep 15\n"));
  EXPECT_THAT(calls(), HasSubstr("-o DPkg::Lock::Timeout=600"));
}

TEST_F(toolchain, case_ssh_05_a_lock_held_for_ever_ends_within_a_bound) {
  shim("apt-get", "exit 100");
  const finished f = run();
  EXPECT_NE(f.status, 0);
  EXPECT_THAT(f.error_output, HasSubstr("stado: given up: apt-get"));
  const std::string all = calls();
  int pauses = 0;
  for (std::size_t at = all.find("sleep 15"); at != std::string::npos;
       at = all.find("sleep 15", at + 1)) {
    ++pauses;
  }
  EXPECT_EQ(pauses, 39); // ten minutes
}

} // namespace
} // namespace siteagent::fleet
