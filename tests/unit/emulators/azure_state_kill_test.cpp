// SPDX-License-Identifier: MIT
// A state on disk and the program that keeps it, killed at any moment.
#include "azure_fixture.hpp"
#include "tests/unit/emulators/api_client.hpp"
#include "tests/unit/net/raw_client.hpp"

#include <fcntl.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): kill()
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>
#include <vector>

extern char** environ;

namespace siteagent::azure_emulator {
namespace {

using directory = emulators::test::temporary_directory;

const std::string address_body =
    R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})";

// The program itself, to be killed at any moment.
class program {
public:
  program(const directory& files, const std::string& seed) {
    const std::string port_file = files.file("port");
    std::filesystem::remove(port_file);
    std::vector<std::string> words = {
        AZURE_EMULATOR,
        "--port-file",
        port_file,
        "--state",
        files.file("state"),
        "--timing",
        "fast"};
    if (!seed.empty()) {
      std::ofstream(files.file("seed.json")) << seed;
      words.insert(words.end(), {"--seed", files.file("seed.json")});
    }
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
    EXPECT_EQ(posix_spawn(&pid_, AZURE_EMULATOR, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    while (!std::filesystem::exists(port_file) && waitpid(pid_, nullptr, WNOHANG) == 0) {
      std::this_thread::yield();
    }
    std::ifstream(port_file) >> port_;
    EXPECT_NE(port_, 0);
  }

  ~program() { kill(); }

  program(const program&) = delete;
  program& operator=(const program&) = delete;

  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
  }

  std::uint16_t port() const { return port_; }

  answer
  ask(const std::string& method,
      const std::string& target,
      const std::string& body = "",
      const std::string& token = "") const {
    net::test::raw_client connection(port_);
    const auto raw = connection.send(text_of(method, target, body, token)).read();
    answer a;
    a.status = raw.status;
    a.headers.assign(raw.headers.begin(), raw.headers.end());
    if (auto parsed = base::json::parse(raw.body)) {
      a.body = *std::move(parsed);
    }
    return a;
  }

  static std::string text_of(
      const std::string& method,
      const std::string& target,
      const std::string& body,
      const std::string& token
  ) {
    const bool form = target.find("/oauth2/") != std::string::npos;
    return method + " " + target +
           (form                                    ? ""
            : target.find('?') == std::string::npos ? "?api-version=2024-07-01"
                                                    : "") +
           " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " +
           (form ? "application/x-www-form-urlencoded" : "application/json") +
           (token.empty() ? "" : "\r\nAuthorization: Bearer " + token) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  std::string login() const {
    return ask("POST",
               "/" + tenant_1 + "/oauth2/v2.0/token",
               "grant_type=client_credentials&client_id=33333333-3333-3333-3333-333333333333&"
               "client_secret=emulator-secret&scope=https%3A%2F%2Fmanagement.azure.com%2F.default")
        .body["access_token"]
        .string_or("");
  }

  // Moves the clock, so that what runs is over.
  void wait(int seconds) const {
    EXPECT_EQ(
        ask("POST", "/_emu/clock", R"({"advance_s":)" + std::to_string(seconds) + "}").status, 200
    );
  }

private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

const std::string killed_group = subscription_1 + "/resourceGroups/rg";

std::string address_path(int i) {
  return killed_group + "/providers/Microsoft.Network/publicIPAddresses/ip" + std::to_string(i);
}

TEST(azure_state_of_the_program, has_its_seed_or_nothing_after_a_kill) {
  const directory files;
  { const program first(files, R"({"machines":80})"); }
  const program second(files, R"({"machines":0})"); // not applied to what is kept
  const std::string token = second.login();
  EXPECT_EQ(
      second.ask("GET", subscription_1 + "/providers/Microsoft.Compute/virtualMachines", "", token)
          .body["value"]
          .size(),
      80U
  );
}

// Kills right behind an answered write, and with a write on its way.
TEST(azure_state_of_the_program, survives_a_kill_between_and_in_the_middle_of_requests) {
  const directory files;
  std::string token;
  std::map<std::string, std::string> known; // what was answered: path -> resourceGuid
  std::string monitor;
  for (int round = 0; round < 6; ++round) {
    program p(files, "");
    if (round == 0) {
      token = p.login();
      ASSERT_EQ(p.ask("PUT", killed_group, R"({"location":"westeurope"})", token).status, 201);
    }
    for (const auto& [path, guid] : known) {
      const auto found = p.ask("GET", path, "", token);
      EXPECT_EQ(found.status, 200) << path << " was answered and is gone";
      EXPECT_EQ(found.body.at({"properties", "resourceGuid"}).string_or(""), guid) << path;
    }
    if (!monitor.empty()) { // of the last write that was answered
      const auto status = p.ask("GET", monitor, "", token);
      EXPECT_EQ(status.status, 200) << "the operation is known under its URL";
      p.wait(60);
      EXPECT_EQ(p.ask("GET", monitor, "", token).body["status"].string_or(""), "Succeeded");
    }
    for (int i = 0; i < 4; ++i) {
      const std::string path = address_path(round * 10 + i);
      const auto made = p.ask("PUT", path, address_body, token);
      ASSERT_EQ(made.status, 201) << made.body.dump();
      known[path] = made.body.at({"properties", "resourceGuid"}).string_or("");
      const std::string url = made.header("Azure-AsyncOperation");
      monitor = url.substr(url.find("/subscriptions"));
    }
    if (round % 2 == 1) {
      // Never answered as far as this client can tell: there as a whole or not at all.
      net::test::raw_client in_flight(p.port());
      in_flight.send(program::text_of("PUT", address_path(round * 10 + 9), address_body, token));
      for (int spin = 0; spin < round * 50; ++spin) {
        std::this_thread::yield();
      }
      p.kill();
      program next(files, "");
      const auto found = next.ask("GET", address_path(round * 10 + 9), "", token);
      EXPECT_TRUE(found.status == 404 || found.status == 200);
      EXPECT_EQ(
          found.status == 200, !found.body.at({"properties", "resourceGuid"}).string_or("").empty()
      );
      const auto again = next.ask("PUT", address_path(round * 10 + 9), address_body, token);
      EXPECT_TRUE(again.status == 201 || again.status == 200 || again.status == 409)
          << again.body.dump();
    }
  }
  const program last(files, "");
  last.wait(60);
  for (const auto& [path, guid] : known) {
    EXPECT_EQ(last.ask("GET", path, "", token).state(), "Succeeded") << path;
  }
  const auto& one = known.begin()->first;
  const auto etag = last.ask("GET", one, "", token).body["etag"].string_or("");
  EXPECT_FALSE(etag.empty());
}

TEST(azure_state_of_the_program, shows_the_same_after_a_kill_as_before) {
  const directory files;
  std::string token;
  base::json before;
  {
    const program p(files, "");
    token = p.login();
    p.ask("PUT", killed_group, R"({"location":"westeurope"})", token);
    p.ask("PUT", address_path(1), address_body, token);
    p.wait(60);
    p.ask("DELETE", address_path(2), "", token);
    before = p.ask("GET", "/_emu/inventory").body;
  }
  const program p(files, "");
  EXPECT_EQ(p.ask("GET", "/_emu/inventory").body, before) << "ids, etags, states, addresses";
  EXPECT_EQ(p.ask("GET", killed_group, "", token).status, 200) << "the token is good";
}

} // namespace
} // namespace siteagent::azure_emulator
