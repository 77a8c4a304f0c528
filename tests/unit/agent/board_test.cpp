// SPDX-License-Identifier: MIT
// The status document, its schema, and the file it lies in.
#include "world.hpp"

#include "core/agent/board.hpp"
#include "core/agent/order_book.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace siteagent::agent::test {

namespace {

namespace fs = std::filesystem;
using base::error_code;
using base::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

waldur::order listed(unsigned n, const std::string& type) {
  waldur::order o;
  o.uuid = uuid_of(n);
  o.type = type;
  o.resource = uuid_of(1000 + n);
  return o;
}

TEST(order_views, follow_an_order_from_the_list_to_its_next_attempt) {
  base::manual_clock clock;
  order_book book(clock);
  book.see(listed(1, "Create"));
  ASSERT_EQ(book.views().size(), 1U);
  EXPECT_EQ(book.views()[0].at, order_view::phase::queued);
  book.begin(uuid_of(1));
  clock.advance(std::chrono::seconds(7));
  book.note(uuid_of(1), "create_resource: put virtual-machine");
  const base::steady_time began = clock.steady();
  clock.advance(std::chrono::seconds(5));
  book.note(uuid_of(1), "create_resource: put virtual-machine"); // the same step goes on
  const order_view running = book.views()[0];
  EXPECT_EQ(running.at, order_view::phase::running);
  EXPECT_EQ(running.step, "create_resource: put virtual-machine");
  EXPECT_EQ(running.since, began);
  EXPECT_EQ(running.type, "Create");
  EXPECT_EQ(running.resource, uuid_of(1001));
  book.postpone(uuid_of(1), failure(error_code::throttled, "too many calls"));
  book.end(uuid_of(1));
  const order_view waiting = book.views()[0];
  EXPECT_EQ(waiting.at, order_view::phase::waiting);
  EXPECT_EQ(waiting.reason, "too many calls");
  EXPECT_TRUE(waiting.is_throttled);
  EXPECT_EQ(waiting.failures, 1U);
  EXPECT_TRUE(waiting.next_attempt.has_value());
  book.begin(uuid_of(1));
  EXPECT_FALSE(book.views()[0].next_attempt);
  book.forget(uuid_of(1));
  EXPECT_THAT(book.views(), IsEmpty());
}

TEST(order_views, show_a_running_step_that_rests_for_the_clouds_limits_until_it_goes_on) {
  base::manual_clock clock;
  order_book book(clock);
  book.see(listed(1, "Create"));
  book.begin(uuid_of(1));
  book.note(uuid_of(1), "create_resource: put virtual-machine");
  const base::steady_time began = clock.steady();
  const base::steady_time until = clock.steady() + std::chrono::seconds(30);
  const auto rest = [&] { book.note_throttled(uuid_of(1), "write calls to a provider", until); };
  const auto expect_no_rest = [&](const char* why) {
    EXPECT_FALSE(book.views()[0].is_throttled) << why;
    EXPECT_FALSE(book.views()[0].next_attempt) << why;
    EXPECT_EQ(book.views()[0].reason, "") << why;
  };
  rest();
  const order_view resting = book.views()[0];
  EXPECT_EQ(resting.at, order_view::phase::running);
  EXPECT_EQ(resting.step, "create_resource: put virtual-machine");
  EXPECT_EQ(resting.since, began);
  EXPECT_TRUE(resting.is_throttled);
  EXPECT_EQ(resting.next_attempt, until);
  EXPECT_EQ(resting.reason, "the cloud limits write calls to a provider");
  EXPECT_TRUE(book.is_due(uuid_of(1))) << "nobody else has to wait for it";
  book.note(uuid_of(1), "create_resource: put virtual-machine");
  expect_no_rest("the next checkpoint came");
  rest();
  clock.advance(std::chrono::seconds(30));
  expect_no_rest("the time is over");
  book.note_throttled(uuid_of(1), "", clock.steady() + std::chrono::seconds(9));
  EXPECT_EQ(book.views()[0].reason, "the cloud limits calls");
  book.end(uuid_of(1));
  expect_no_rest("the call is over");
}

class status_test : public ::testing::Test {
protected:
  status_test() {
    std::string pattern = ::testing::TempDir() + "status-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    ::unsetenv("RUNTIME_DIRECTORY");
    ::unsetenv("WALDUR_SITE_AGENT_STATUS_PATH");
  }

  ~status_test() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    ::unsetenv("RUNTIME_DIRECTORY");
    ::unsetenv("WALDUR_SITE_AGENT_STATUS_PATH");
    fs::remove_all(directory);
  }

  std::string file(const std::string& name) const { return directory + "/" + name; }

  std::string config() const { return file("site.yaml"); }

  // As an agent would write it.
  static json document(const process_mark& mark) {
    return json::object(
        {{"pid", mark.pid}, {"process_start", static_cast<std::int64_t>(mark.start)}}
    );
  }

  std::string directory;
};

TEST_F(status_test, the_name_follows_the_configuration_the_mode_and_the_process) {
  const std::string path = status_path(config(), "all");
  EXPECT_EQ(fs::path(path).parent_path(), directory);
  EXPECT_THAT(path, HasSubstr("-all-" + std::to_string(::getpid()) + ".json"));
  EXPECT_EQ(status_path(directory + "/./site.yaml", "all"), path) << "the same file";
  EXPECT_NE(status_path(file("other.yaml"), "all"), path);
  EXPECT_NE(status_path(config(), "report"), path);
}

TEST_F(status_test, a_service_has_its_runtime_directory_and_the_operator_the_last_word) {
  const std::string service = file("service");
  fs::create_directory(service);
  ::setenv("RUNTIME_DIRECTORY", (service + ":/elsewhere").c_str(), 1);
  EXPECT_EQ(fs::path(status_path(config(), "all")).parent_path(), service);
  ::setenv("WALDUR_SITE_AGENT_STATUS_PATH", file("own").c_str(), 1);
  EXPECT_EQ(status_path(config(), "all"), file("own"));
  EXPECT_THAT(find_status_files(config()), ElementsAre(file("own")));
}

TEST_F(status_test, is_replaced_as_a_whole_and_its_owners_alone) {
  const std::string path = file("state.json");
  ASSERT_TRUE(write_status(path, "one"));
  ASSERT_TRUE(write_status(path, "two"));
  EXPECT_EQ(text_of(path), "two");

  struct stat info {};

  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), fs::directory_iterator()), 1);
}

TEST_F(status_test, a_link_in_its_place_is_replaced_and_not_followed) {
  std::ofstream(file("precious")) << "keep";
  fs::create_symlink(file("precious"), file("state.json"));
  EXPECT_FALSE(read_status(file("state.json")));
  ASSERT_TRUE(write_status(file("state.json"), "{}"));
  EXPECT_EQ(text_of(file("precious")), "keep");
}

TEST_F(status_test, a_place_that_cannot_be_written_is_an_error_that_names_it) {
  const auto written = write_status(file("absent/state.json"), "{}");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("absent/state.json"));
}

TEST_F(status_test, a_process_is_known_by_its_number_and_its_start) {
  const process_mark own = own_mark();
  EXPECT_TRUE(is_alive(own));
  EXPECT_FALSE(is_alive({own.pid, own.start + 1})) << "the number was used again";
  EXPECT_FALSE(is_alive({0, 0}));
  ASSERT_TRUE(write_status(file("a.json"), document(own).dump()));
  ASSERT_TRUE(write_status(file("b.json"), document({own.pid, own.start + 1}).dump()));
  EXPECT_TRUE(read_status(file("a.json"))->is_alive);
  EXPECT_FALSE(read_status(file("b.json"))->is_alive);
}

TEST_F(status_test, what_is_no_status_is_said) {
  ASSERT_TRUE(write_status(file("a.json"), "[]"));
  EXPECT_THAT(read_status(file("a.json")).error().message, HasSubstr("holds no status"));
  EXPECT_THAT(read_status(file("none.json")).error().message, HasSubstr("none.json"));
  EXPECT_THAT(read_status(directory).error().message, HasSubstr("no regular file"));
}

TEST_F(status_test, the_writer_removes_what_dead_agents_left_and_its_own_at_the_end) {
  const std::string own = status_path(config(), "all");
  const std::string dead = fs::path(own).parent_path() / (fs::path(own).stem().string() + "9.json");
  ASSERT_TRUE(write_status(dead, document({own_mark().pid, 1}).dump()));
  {
    const status_writer writer([] { return json::object(); }, config(), "all", base::real_clock());
    EXPECT_FALSE(fs::exists(dead));
    while (!fs::exists(own)) {
      std::this_thread::yield();
    }
    EXPECT_THAT(find_status_files(config()), ElementsAre(own));
    EXPECT_TRUE(read_status(own)->is_alive);
  }
  EXPECT_THAT(find_status_files(config()), IsEmpty());
}

} // namespace

} // namespace siteagent::agent::test
