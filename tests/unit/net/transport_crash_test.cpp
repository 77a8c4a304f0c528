// SPDX-License-Identifier: MIT
// Chunks of a negative size make the HTTP library end the process on a thread of its own, where
// nobody can catch it. Our limit on the body stops them first; tried in a child all the same.
#include "tests/unit/net/transport_fixture.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <string>

namespace siteagent::net::test {

namespace {

constexpr int exit_error = 3;

// Exit code of the victim, 128 + signal when one ended it.
int run_victim(const std::string& url) {
  std::string program = CHUNK_VICTIM;
  std::string argument = url;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
    return -1;
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class negative_chunk : public testing::TestWithParam<const char*> {};

TEST_P(negative_chunk, is_an_error_and_not_the_end_of_the_process) {
  const hostile_server server([](connection& c, int number) {
    const std::string r = c.read_request();
    const std::string chunks = std::string(GetParam()) + "\r\nxxxxxxxx\r\n0\r\n\r\n";
    c.write(
        number == 0 ? "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
                    : answer(200, target_of(r))
    );
  });
  EXPECT_EQ(run_victim(server.url("/victim")), exit_error);
  EXPECT_EQ(run_victim(server.url("/victim")), 0) << "its restart";
}

INSTANTIATE_TEST_SUITE_P(
    transport,
    negative_chunk,
    testing::Values(
        "-1",
        "-2",
        "-3",
        "-8",
        "-7fffffff",
        "-80000000",
        "ffffffff",
        "5\r\nhello\r\n-1",
        "5\r\nhello\r\n-2",
        "5\r\nhello\r\n-4",
        "5\r\nhello\r\n-5",
        "5\r\nhello\r\n-6"
    )
);

} // namespace

} // namespace siteagent::net::test
