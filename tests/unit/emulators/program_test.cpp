// SPDX-License-Identifier: MIT
// An emulator as a program: options, port file, signals, exit codes.
#include "tests/unit/emulators/api_client.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

extern char** environ;

namespace siteagent::emulators {

namespace {

using test::api_client;
using test::temporary_directory;

class program {
public:
  program(const temporary_directory& files, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), WALDUR_EMULATOR);
    std::vector<char*> argv;
    for (auto& a : arguments) {
      argv.push_back(a.data());
    }
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, 1, files.file("out").c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, files.file("err").c_str(), flags, 0600);
    posix_spawn(&pid_, WALDUR_EMULATOR, &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
  }

  ~program() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  program(const program&) = delete;
  program& operator=(const program&) = delete;

  void signal(int number) const { kill(pid_, number); }

  bool is_running() const { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }

  // The exit code; -1 when a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

private:
  pid_t pid_ = -1;
};

// The port file appears by rename, so seeing it is enough.
std::uint16_t port_of(const program& p, const temporary_directory& files) {
  while (!std::filesystem::exists(files.file("port")) && p.is_running()) {
    std::this_thread::yield();
  }
  const std::string text = files.read("port");
  return text.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(std::stoi(text));
}

class emulator_program_ends : public testing::TestWithParam<int> {};

TEST_P(emulator_program_ends, with_0_on_a_signal) {
  const temporary_directory files;
  program p(files, {"--listen", "127.0.0.1:0", "--port-file=" + files.file("port")});
  const auto port = port_of(p, files);
  ASSERT_NE(port, 0);
  EXPECT_EQ(api_client(port).get("/api/version/").status, 401);
  p.signal(GetParam());
  EXPECT_EQ(p.wait(), 0);
  EXPECT_NE(files.read("out").find(":" + std::to_string(port)), std::string::npos);
  EXPECT_NE(files.read("out").find("e2ef0000000000000000000000000201"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(signals, emulator_program_ends, testing::Values(SIGTERM, SIGINT));

// The library that talks to the broker has threads of its own, which must not take the signal.
TEST(emulator_program, ends_with_0_with_a_broker_that_is_not_there) {
  const temporary_directory files;
  program p(
      files,
      {"--port-file", files.file("port"), "--rabbitmq-management", "http://a:secret@127.0.0.1:1"}
  );
  const auto port = port_of(p, files);
  ASSERT_NE(port, 0);
  api_client client(port);
  client.authorize("Token e2e0000000000000000000000000token001");
  const std::string identities = "/api/marketplace-site-agent-identities/";
  const auto identity = client.post(
      identities,
      base::json::object({{"offering", "e2ef0000000000000000000000000201"}, {"name", "agent"}})
  );
  const auto refused = client.post(
      identities + identity.body["uuid"].string_or("") + "/register_queue/", base::json::object()
  );
  EXPECT_EQ(refused.status, 400) << refused.text;
  EXPECT_EQ(refused.body[0].string(), "Failed to create RabbitMQ virtual host");
  p.signal(SIGTERM);
  EXPECT_EQ(p.wait(), 0);
  EXPECT_NE(files.read("out").find("RabbitMQ at http://127.0.0.1:1"), std::string::npos);
  EXPECT_EQ((files.read("out") + files.read("err")).find("secret"), std::string::npos);
}

TEST(emulator_program, ends_with_0_while_a_request_hangs) {
  const temporary_directory files;
  const std::string faults = files.write("faults", R"({"rules":[{"do":"hang"}]})");
  program p(files, {"--port-file", files.file("port"), "--faults", faults});
  const auto port = port_of(p, files);
  ASSERT_NE(port, 0);
  net::test::raw_client c(port);
  c.send("GET /api/ HTTP/1.1\r\nHost: h\r\n\r\n");
  p.signal(SIGTERM);
  EXPECT_EQ(p.wait(), 0);
}

struct bad_usage {
  std::vector<std::string> arguments;
  std::string says;
  int code = 2;
};

class emulator_program_refuses : public testing::TestWithParam<bad_usage> {};

TEST_P(emulator_program_refuses, with_a_reason_and_a_code) {
  const temporary_directory files;
  program p(files, GetParam().arguments);
  EXPECT_EQ(p.wait(), GetParam().code);
  EXPECT_NE(files.read("err").find(GetParam().says), std::string::npos) << files.read("err");
}

INSTANTIATE_TEST_SUITE_P(
    options,
    emulator_program_refuses,
    testing::Values(
        bad_usage{{"--rabbitmq-management", "http://127.0.0.1:15672"}, "USER:PASSWORD"},
        bad_usage{{"--journl", "x"}, "did you mean --journal"},
        bad_usage{{"extra"}, "unknown option extra"},
        bad_usage{{"--journal"}, "needs a value"},
        bad_usage{{"--journal="}, "must not be empty"},
        bad_usage{{"--listen", "127.0.0.1"}, "ADDRESS:PORT"},
        bad_usage{{"--listen", "127.0.0.1:66000"}, "ADDRESS:PORT"},
        bad_usage{{"--listen", "127.0.0.1:x"}, "ADDRESS:PORT"},
        bad_usage{{"--tls-cert", "a"}, "go together"},
        bad_usage{{"--tls-cert", "a", "--tls-key", "b", "--tls-auto", "c"}, "exclude each other"},
        bad_usage{{"--seed", "/absent.json"}, "--seed /absent.json", 1},
        bad_usage{{"--listen", "[not-an-address]:0"}, "not-an-address", 1}
    )
);

TEST(emulator_program, explains_its_options) {
  const temporary_directory files;
  program help(files, {"--help"});
  EXPECT_EQ(help.wait(), 0);
  for (const std::string option : {"--listen", "--tls-auto", "--rabbitmq-management"}) {
    EXPECT_NE(files.read("out").find(option), std::string::npos);
  }
  program version(files, {"--version"});
  EXPECT_EQ(version.wait(), 0);
  EXPECT_EQ(files.read("out"), "waldur-emulator " SITEAGENT_VERSION "\n");
}

} // namespace

} // namespace siteagent::emulators
