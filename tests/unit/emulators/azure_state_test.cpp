// SPDX-License-Identifier: MIT
// A state on disk: kept through restarts and kills, resumed by deadline.
#include "azure_fixture.hpp"

#include <fcntl.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): kill()
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdlib.h> // NOLINT(modernize-deprecated-headers): mkdtemp()
#include <thread>

extern char** environ;

namespace siteagent::azure_emulator {
namespace {

class directory {
public:
  directory() {
    std::string name = std::filesystem::temp_directory_path() / "azure-state-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }

  ~directory() { std::filesystem::remove_all(path_); }

  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

// Emulators that live one after the other on one directory and one clock.
class azure_state : public ::testing::Test {
public:
  azure_state() { EXPECT_TRUE(begin().has_value()); }

  base::result<void> begin() {
    one_.reset();
    one_ = std::make_unique<service>();
    for (const auto& o : one_->options()) {
      if (o.name == "--state") {
        EXPECT_TRUE(o.apply(files_.file("state")).has_value());
      }
    }
    one_->attach_clock(clock_);
    one_->set_timing(timing::fast());
    return one_->reset(true);
  }

  answer
  ask(const std::string& method,
      const std::string& path,
      const std::string& body = "",
      const net::header_list& more = {}) {
    net::server_request r;
    r.method = method;
    const auto mark = path.find('?');
    r.path = path.substr(0, mark);
    r.query = mark == std::string::npos ? "api-version=2024-07-01" : path.substr(mark + 1);
    r.target = r.path + "?" + r.query;
    for (const auto part : base::split(r.path, '/')) {
      if (!part.empty()) {
        r.segments.emplace_back(part);
      }
    }
    r.parameters = net::parse_query(r.query);
    r.headers = more;
    r.headers.emplace_back("content-length", "1");
    if (!token_.empty()) {
      r.headers.emplace_back("authorization", "Bearer " + token_);
    }
    r.body = body;
    emulators::call call;
    call.base_url = "http://h:1";
    call.request_id = "r";
    call.now = clock_.wall();
    auto response = one_->handle(r, call);
    one_->finish(r, call, response);
    answer a;
    a.status = response.status;
    a.headers = response.headers;
    if (auto parsed = base::json::parse(response.body)) {
      a.body = *parsed;
    }
    return a;
  }

  void login() {
    token_ =
        ask("POST",
            "/" + tenant_1 + "/oauth2/v2.0/token",
            "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333&"
            "client_secret=emulator-secret&scope=https%3A%2F%2Fmanagement.azure.com%2F.default")
            .body["access_token"]
            .string_or("");
  }

  base::json inventory() {
    emulators::call call;
    call.now = clock_.wall();
    return one_->inventory(call);
  }

  static inline const std::string group = subscription_1 + "/resourceGroups/rg";
  static inline const std::string address =
      group + "/providers/Microsoft.Network/publicIPAddresses/ip";
  static inline const std::string address_body =
      R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})";

protected:
  directory files_;
  base::manual_clock clock_;
  std::unique_ptr<service> one_;
  std::string token_;
};

TEST_F(azure_state, comes_back_as_it_was) {
  ASSERT_TRUE(
      one_
          ->seed(*base::json::parse(
              R"({"machines":3,"page_size":2,"providers":{"Microsoft.Compute":"Registered","Microsoft.Network":"Registered"}})"
          ))
          .has_value()
  );
  login();
  EXPECT_EQ(ask("PUT", group, R"({"location":"westeurope","tags":{"a":"b"}})").status, 201);
  EXPECT_EQ(
      ask("PUT",
          group + "/providers/Microsoft.Authorization/locks/l",
          R"({"properties":{"level":"ReadOnly"}})")
          .status,
      201
  );
  const auto before = inventory();
  ASSERT_TRUE(begin().has_value());
  EXPECT_TRUE(one_->has_loaded_state());
  EXPECT_EQ(inventory(), before);
  EXPECT_EQ(ask("GET", group).status, 200) << "tokens are good after a restart, too";
  EXPECT_EQ(ask("DELETE", group).code(), "ScopeLocked");
  const auto page = ask("GET", subscription_1 + "/providers/Microsoft.Compute/virtualMachines");
  EXPECT_EQ(page.body["value"].size(), 2U) << "settings, too";
}

TEST_F(azure_state, operations_go_on_by_their_deadline) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  const auto started = ask("PUT", address, address_body);
  ASSERT_EQ(started.status, 201);
  const std::string monitor =
      started.header("Azure-AsyncOperation").substr(std::string("http://h:1").size());
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", monitor).body["status"].string_or(""), "InProgress");
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", monitor).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(ask("GET", address).state(), "Succeeded");
  EXPECT_EQ(ask("DELETE", address).status, 202);
  clock_.advance(std::chrono::seconds(30));
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", address).status, 404);
}

TEST_F(azure_state, a_half_written_line_is_as_if_it_had_not_been) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  const auto before = inventory();
  one_.reset();
  {
    std::ofstream out(files_.file("state/state.jsonl"), std::ios::app);
    out << R"({"put":{"group:/subscriptions/x":{"name)";
  }
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(inventory(), before);
}

TEST_F(azure_state, damage_in_the_middle_is_an_error) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  one_.reset();
  {
    std::ofstream out(files_.file("state/state.jsonl"), std::ios::app);
    out << "nonsense\n{\"put\":{}}\n";
  }
  const auto done = begin();
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("damaged"), std::string::npos);
}

TEST_F(azure_state, belongs_to_one_emulator) {
  service other;
  for (const auto& o : other.options()) {
    if (o.name == "--state") {
      EXPECT_TRUE(o.apply(files_.file("state")).has_value());
    }
  }
  other.attach_clock(clock_);
  const auto done = other.reset(true);
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().message.find("in use"), std::string::npos);
}

TEST_F(azure_state, is_dropped_by_a_reset) {
  login();
  ask("PUT", group, R"({"location":"westeurope"})");
  ASSERT_TRUE(one_->reset(false).has_value());
  ASSERT_TRUE(begin().has_value());
  EXPECT_EQ(ask("GET", group).status, 404);
}

// The program, killed in the middle of its work.
TEST(azure_state_of_the_program, survives_a_kill_after_every_answer) {
  const directory files;
  std::string seed = files.file("seed.json");
  std::ofstream(seed) << R"({"machines":2})";
  for (int round = 0; round < 2; ++round) {
    std::filesystem::remove(files.file("port"));
    std::vector<std::string> words = {
        AZURE_EMULATOR,
        "--port-file",
        files.file("port"),
        "--state",
        files.file("state"),
        "--seed",
        seed};
    std::vector<char*> argv;
    for (auto& w : words) {
      argv.push_back(w.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(
        &actions, 1, files.file("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600
    );
    pid_t pid = -1;
    ASSERT_EQ(posix_spawn(&pid, AZURE_EMULATOR, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    while (!std::filesystem::exists(files.file("port")) && waitpid(pid, nullptr, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(std::filesystem::exists(files.file("port")));
    ::kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    std::ifstream in(files.file("state/state.jsonl"));
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_NE(text.find("vm-000002"), std::string::npos) << "round " << round;
    std::ofstream(seed) << R"({"machines":0})"; // not applied to what is kept
  }
}

} // namespace
} // namespace siteagent::azure_emulator
