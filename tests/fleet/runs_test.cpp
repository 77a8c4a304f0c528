// SPDX-License-Identifier: MIT
#include "core/fleet/runs.hpp"
#include "tests/fleet/control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <map>
#include <sstream>
#include <thread>

namespace siteagent::fleet {
namespace {

namespace fs = std::filesystem;
using base::error_code;
using integration::read_file;
using integration::write_file;
using test::control;
using test::machine;
using testing::HasSubstr;

constexpr std::chrono::seconds stale{1'800};

// As the wrapper writes it, with another owner.
void write_run(const machine& m, const std::string& name, const std::string& json) {
  fs::create_directories(m.work() / "runs" / name);
  if (!json.empty()) {
    write_file(m.work() / "runs" / name / "run.json", json);
  }
}

std::string boot_id() {
  std::string id = read_file("/proc/sys/kernel/random/boot_id");
  return id.substr(0, id.find('\n'));
}

std::string state_json(int pid, const std::string& ticks, const std::string& boot) {
  return "{\"run\":\"x\",\"pid\":" + std::to_string(pid) + ",\"start_ticks\":" + ticks +
         ",\"boot_id\":\"" + boot + "\",\"command\":[\"x\"]}";
}

std::string line(const std::string& fields) {
  std::string text = "STADO_CLOUD_HOST";
  std::istringstream words(fields);
  for (std::string word; words >> word;) {
    text += "\t" + word;
  }
  return text + "\n";
}

const std::string whole = line("now 100") + line("changed none") + line("process cargo 0") +
                          line("process rustc 0") + line("booting 0") + line("end");

TEST(host_reading, reads_the_lines_of_a_host) {
  const auto r = parse_host_reading(
      "a profile says hello\n" + line("now 100") + line("changed 90") + line("run ab live") +
      line("run cd dead") + line("process cargo 2") + line("process rustc 5") + line("booting 1") +
      line("end")
  );
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->now, 100);
  EXPECT_EQ(r->changed, 90);
  ASSERT_EQ(r->runs.size(), 2U);
  EXPECT_EQ(r->runs[0].name, "ab");
  EXPECT_EQ(r->runs[1].state, "dead");
  EXPECT_EQ(r->cargo, 2);
  EXPECT_EQ(r->rustc, 5);
  EXPECT_TRUE(r->is_booting);
  const auto none = parse_host_reading(whole);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->changed, std::nullopt);
}

TEST(host_reading, R56_any_doubt_is_an_error) {
  for (const std::string& text : {
           std::string(),
           whole.substr(0, whole.size() - line("end").size()),
           whole + line("now 100"),
           line("now 100") + whole,
           line("now -1") + line("changed none") + line("end"),
           line("end"),
           line("now 9223372036854775807") + whole.substr(line("now 100").size()),
           line("surprise 1") + whole,
           line("run ab sleeping") + whole,
           line("process gcc 1") + whole,
           line("now 1e3") + whole,
           line("run ab") + whole,
       }) {
    EXPECT_FALSE(parse_host_reading(text)) << text;
  }
}

TEST(host_reading, R51_busy_is_a_run_that_is_not_proven_dead_or_a_process) {
  const auto busy = [](const char* state, std::int64_t cargo, std::int64_t rustc) {
    host_reading r;
    if (*state != '\0') {
      r.runs.push_back({"x", state});
    }
    r.cargo = cargo;
    r.rustc = rustc;
    return r.is_busy();
  };
  EXPECT_FALSE(busy("", 0, 0));
  EXPECT_FALSE(busy("dead", 0, 0));
  EXPECT_TRUE(busy("live", 0, 0));
  EXPECT_TRUE(busy("unknown", 0, 0));
  EXPECT_TRUE(busy("kept", 0, 0));
  EXPECT_TRUE(busy("", 1, 0));
  EXPECT_TRUE(busy("dead", 0, 1));
}

TEST(read_host, R53_says_when_no_run_ever_came_and_when_the_area_last_changed) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  const auto never = read_host(c.hosts(), host);
  ASSERT_TRUE(never) << never.error().message;
  EXPECT_EQ(never->changed, std::nullopt);
  EXPECT_FALSE(never->is_busy());
  EXPECT_FALSE(never->is_booting);

  write_run(m, "0123", "");
  const timespec long_ago[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
  ::utimensat(AT_FDCWD, (m.work() / "runs").c_str(), long_ago, 0);
  write_file(m.work() / "runs" / "0123" / "file", "files inside a run do not count");
  const auto later = read_host(c.hosts(), host);
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->changed, 1'700'000'000);
  EXPECT_LT(std::abs(later->now - std::time(nullptr)), 60);
}

TEST(read_host, A12_tells_live_dead_kept_and_unknown_runs) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  const std::string boot = boot_id();
  const std::string dead = state_json(4'000'000, "1", boot);
  write_run(m, "dead", dead);
  write_run(m, "rebooted", state_json(1, "1", "00000000-0000-0000-0000-000000000000"));
  write_run(m, "reused", state_json(1, "999999999999", boot));
  write_run(m, "nothing", "");
  write_run(m, "broken", "{\"pid\":");
  std::string kept = dead;
  kept.insert(1, "\"state\":\"kept\",");
  write_run(m, "kept", kept);
  // The first process of the machine lives as long as it.
  const auto start =
      c.hosts().run_script(host, "s=$(cat /proc/1/stat); s=${s##*) }; set -- $s; echo ${20}");
  ASSERT_TRUE(start);
  const std::string ticks = start->output.substr(0, start->output.find('\n'));
  write_run(m, "live", state_json(1, ticks, boot));
  const auto r = read_host(c.hosts(), host);
  ASSERT_TRUE(r) << r.error().message;
  std::map<std::string, std::string> states;
  for (const standing_run& run : r->runs) {
    states[run.name] = run.state;
  }
  EXPECT_EQ(
      states,
      (std::map<std::string, std::string>{
          {"dead", "dead"},
          {"rebooted", "dead"},
          {"reused", "dead"},
          {"nothing", "unknown"},
          {"broken", "unknown"},
          {"kept", "kept"},
          {"live", "live"}})
  );
}

TEST(read_host, names_of_runs_are_data) {
  const machine m("b1");
  control c;
  write_run(m, "a b\tc\n$(x)\xff", "");
  write_run(m, std::string(200, 'n'), "");
  const auto r = read_host(c.hosts(), c.target_of(m));
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_EQ(r->runs.size(), 2U);
  EXPECT_EQ(r->runs[0].name, "a\\x20b\\x09c\\x0a\\x24\\x28x\\x29\\xff");
  EXPECT_EQ(r->runs[1].name, std::string(64, 'n'));
}

TEST(read_host, R56_an_area_that_others_could_have_placed_is_not_read) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  fs::create_directories(m.work());
  fs::create_directory_symlink("/tmp", m.work() / "runs");
  const auto link = read_host(c.hosts(), host);
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message, HasSubstr("is a symbolic link"));
  fs::remove(m.work() / "runs");
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give a folder to another account";
  }
  fs::create_directory(m.work() / "runs");
  ASSERT_EQ(::chown((m.work() / "runs").c_str(), 65534, 65534), 0);
  const auto foreign = read_host(c.hosts(), host);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("does not belong to this account"));
}

TEST(read_host, R51_a_process_named_cargo_makes_it_busy) {
  if (!machine::has_own_processes()) {
    GTEST_SKIP() << "without a process table of its own it would see the builds of others";
  }
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  fs::copy("/bin/sleep", m.home() / "cargo");
  fs::copy("/bin/sleep", m.home() / "cargo-not");
  ASSERT_TRUE(c.hosts().run_script(
      host, "for p in cargo cargo-not; do $HOME/$p 600 </dev/null >/dev/null 2>&1 & done"
  ));
  const auto r = read_host(c.hosts(), host);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->cargo, 1);
  EXPECT_EQ(r->rustc, 0);
  EXPECT_TRUE(r->is_busy());
}

TEST(read_host, A36_says_that_the_first_boot_still_runs) {
  const machine m("b1");
  control c;
  m.cloud_init(0, "{}", "running");
  const auto r = read_host(c.hosts(), c.target_of(m));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(r->is_booting);
}

TEST(read_host, R56_a_host_that_does_not_answer_is_an_error) {
  machine m("b1");
  control c;
  const target host = c.target_of(m);
  m.stop();
  EXPECT_FALSE(read_host(c.hosts(), host));
}

TEST(returning_marker, R131_is_held_by_one_until_it_is_stale) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  const fs::path marker = m.work() / "returning";
  const auto set = set_returning_marker(c.hosts(), host, "here pid 1", stale);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(read_file(marker / "owner"), HasSubstr("here pid 1\n2"));
  const auto held = set_returning_marker(c.hosts(), host, "there pid 2", stale);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, error_code::conflict);
  EXPECT_THAT(held.error().message, HasSubstr("another reaper holds it (here pid 1)"));

  const timespec long_ago[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
  ::utimensat(AT_FDCWD, marker.c_str(), long_ago, 0);
  ASSERT_TRUE(set_returning_marker(c.hosts(), host, "there pid 2", stale));
  EXPECT_THAT(read_file(marker / "owner"), HasSubstr("there pid 2"));

  ASSERT_TRUE(clear_returning_marker(c.hosts(), host));
  EXPECT_FALSE(fs::exists(marker));
  EXPECT_TRUE(clear_returning_marker(c.hosts(), host)); // there is none
  EXPECT_FALSE(fs::exists(m.work() / "runs"));          // the idle clock was not touched
}

class kompilator : public testing::Test {
protected:
  kompilator() : host(c.target_of(m)) {
    request.on_output = [this](std::string_view bytes) { output += bytes; };
    request.on_error_output = [this](std::string_view bytes) { errors += bytes; };
  }

  base::result<kompilator_report> run(std::vector<std::string> words) {
    request.words = std::move(words);
    return run_kompilator(c.hosts(), system_runner(), host, request, stop.get_token());
  }

  std::vector<fs::path> standing() const {
    std::vector<fs::path> all;
    if (fs::exists(runs())) {
      for (const auto& entry : fs::directory_iterator(runs())) {
        all.push_back(entry.path());
      }
    }
    return all;
  }

  fs::path runs() const { return m.work() / "runs"; }

  bool is_over() const {
    return machine::wait_for(runs(), [this] { return standing().empty(); });
  }

  std::string here(const std::string& name) const { return scratch.file(name); }

  machine m{"b1"};
  control c;
  integration::temp_dir scratch;
  target host;
  kompilator_request request;
  std::stop_source stop;
  std::string output;
  std::string errors;
};

TEST_F(kompilator, R112_runs_the_program_in_a_directory_of_its_own) {
  const auto r = run(
      {"bash",
       "-c",
       "pwd; echo \"$PATH\"; cat; umask; stat -c %a . ..; cat run.json; echo err >&2; exit 7"}
  );
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->status, 7);
  EXPECT_FALSE(r->kept);
  EXPECT_TRUE(errors.ends_with("err\n")) << errors; // behind ssh's word on the new host key
  std::istringstream lines(output);
  std::string pwd;
  std::string path;
  std::string mask;
  std::string mode;
  std::string area_mode;
  std::string json;
  for (std::string* l : {&pwd, &path, &mask, &mode, &area_mode, &json}) {
    std::getline(lines, *l);
  }
  EXPECT_EQ(pwd, (runs() / r->run).string());
  EXPECT_EQ(path, m.home().string() + "/.cargo/bin:/usr/local/bin:/usr/bin:/bin");
  EXPECT_EQ(mask, "0022");
  EXPECT_EQ(mode, "700");
  EXPECT_EQ(area_mode, "700");
  const auto state = base::json::parse(json);
  ASSERT_TRUE(state) << json;
  EXPECT_EQ((*state)["run"].string(), r->run);
  EXPECT_EQ((*state)["boot_id"].string(), boot_id());
  EXPECT_TRUE((*state)["pid"].integer());
  EXPECT_TRUE((*state)["start_ticks"].integer());
  EXPECT_EQ((*state)["command"].items().size(), 3U);
  EXPECT_EQ(r->run.size(), 32U);
  EXPECT_TRUE(standing().empty());
}

TEST_F(kompilator, passes_any_words_and_any_bytes) {
  const auto r = run({"printf", "%s", "it's \"$HOME\" `x` $(y)\n\\ \xff * {\"pid\":1}"});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(output, "it's \"$HOME\" `x` $(y)\n\\ \xff * {\"pid\":1}");
  output.clear();
  ASSERT_TRUE(run({"bash", "-c", "head -c 1048576 /dev/zero; echo; exit 255"}));
  EXPECT_EQ(output.size(), 1'048'577U);
}

TEST_F(kompilator, ends_with_the_programs_status_whatever_it_is) {
  for (const int status : {0, 1, 127, 129, 255}) {
    const auto r = run({"bash", "-c", "exit " + std::to_string(status)});
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(r->status, status);
  }
  const auto killed = run({"bash", "-c", "kill -SEGV $$"});
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->status, 128 + SIGSEGV);
  const auto none = run({"no-such-program"});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->status, 127);
  EXPECT_TRUE(standing().empty());
}

TEST_F(kompilator, R52_a_run_stands_and_is_live_until_it_ends) {
  std::optional<base::result<host_reading>> reading;
  request.on_output = [&](std::string_view) {
    if (!reading) {
      reading = read_host(c.hosts(), host);
    }
  };
  ASSERT_TRUE(run({"bash", "-c", "echo on; sleep 3"}));
  ASSERT_TRUE(reading && *reading);
  ASSERT_EQ((*reading)->runs.size(), 1U);
  EXPECT_EQ((*reading)->runs[0].state, "live");
  EXPECT_TRUE((*reading)->is_busy());
}

TEST_F(kompilator, what_the_program_leaves_behind_ends_with_it) {
  const auto r = run({"bash", "-c", "sleep 600 & sleep 601 & echo done"});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(output, "done\n");
  EXPECT_TRUE(m.processes("sleep").empty());
}

TEST_F(kompilator, F53_T8_a_host_that_is_being_returned_refuses_the_run) {
  ASSERT_TRUE(set_returning_marker(c.hosts(), host, "there pid 2", stale));
  const auto refused = run({"touch", m.home() / "ran"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::refused);
  EXPECT_THAT(refused.error().message, HasSubstr("b1 is being returned (there pid 2)"));
  EXPECT_TRUE(standing().empty());
  EXPECT_FALSE(fs::exists(m.home() / "ran"));
}

TEST_F(kompilator, T8_a_reaper_that_marks_after_the_run_began_reads_it_as_busy) {
  std::optional<base::result<host_reading>> after_marking;
  request.on_output = [&](std::string_view) {
    if (!after_marking) {
      ASSERT_TRUE(set_returning_marker(c.hosts(), host, "there pid 2", stale));
      after_marking = read_host(c.hosts(), host);
    }
  };
  const auto r = run({"bash", "-c", "echo on; sleep 3; echo off"});
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_TRUE(after_marking && *after_marking);
  EXPECT_TRUE((*after_marking)->is_busy());
}

TEST_F(kompilator, R113_a_stop_ends_the_run_and_its_program) {
  request.on_output = [&](std::string_view) { stop.request_stop(); };
  const auto stopped =
      run({"bash", "-c", "trap 'echo told > $HOME/told; exit' HUP TERM; echo on; sleep 600 & wait"}
      );
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  EXPECT_EQ(m.file("told"), "told\n");
  EXPECT_TRUE(standing().empty());
  EXPECT_TRUE(m.processes("sleep").empty());
}

TEST_F(kompilator, R113_a_program_that_does_not_listen_is_killed) {
  request.on_output = [&](std::string_view) { stop.request_stop(); };
  const auto stopped = run({"bash", "-c", "trap '' HUP TERM; echo on; while :; do sleep 1; done"});
  ASSERT_FALSE(stopped);
  EXPECT_TRUE(is_over());
  EXPECT_TRUE(m.processes("sleep").empty());
}

TEST_F(kompilator, R113_a_lost_connection_ends_the_run_on_the_host) {
  request.on_output = [&](std::string_view) { m.drop_connections(); };
  const auto lost = run({"bash", "-c", "echo on; sleep 600"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, error_code::transient);
  EXPECT_THAT(lost.error().message, HasSubstr("was lost before its program ended"));
  EXPECT_TRUE(is_over());
}

TEST_F(kompilator, R113_a_signal_at_the_wrapper_is_passed_on_and_ends_the_run) {
  request.on_output = [&](std::string_view) {
    const std::string json = read_file(standing().at(0) / "run.json");
    const auto pid = (*base::json::parse(json))["pid"].integer();
    ASSERT_TRUE(c.hosts().run_words(host, {"kill", "-TERM", std::to_string(*pid)}));
  };
  const auto r =
      run({"bash", "-c", "trap 'echo told > $HOME/told; exit 1' TERM; echo on; sleep 600 & wait"});
  EXPECT_FALSE(r);
  EXPECT_EQ(m.file("told"), "told\n");
  EXPECT_TRUE(is_over());
}

// A client process that vanishes without a word: its ssh, too.
TEST_F(kompilator, R113_a_silent_client_ends_the_run) {
  request.silence = std::chrono::seconds(2);
  const fs::path fifo = m.home() / "never-written";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::vector<int> stopped;
  request.on_output = [&](std::string_view) {
    // The connection stays, but nothing comes through it any more.
    for (const int id : m.processes("sshd")) {
      stopped.push_back(id);
      ::kill(id, SIGSTOP);
    }
    EXPECT_TRUE(is_over());
    for (const int id : stopped) {
      ::kill(id, SIGCONT);
    }
  };
  const auto lost = run({"bash", "-c", "echo on; read x <$HOME/never-written"});
  ASSERT_FALSE(lost);
  EXPECT_FALSE(stopped.empty());
}

TEST_F(kompilator, R112_keep_leaves_the_directory_until_it_is_removed) {
  request.keep = true;
  const auto r = run({"bash", "-c", "echo result > file; exit 3"});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_TRUE(r->kept);
  EXPECT_EQ(r->status, 3);
  EXPECT_EQ(read_file(runs() / r->run / "file"), "result\n");
  const auto reading = read_host(c.hosts(), host);
  ASSERT_TRUE(reading) << reading.error().message;
  ASSERT_EQ(reading->runs.size(), 1U);
  EXPECT_EQ(reading->runs[0].name, r->run);
  EXPECT_EQ(reading->runs[0].state, "kept");
  EXPECT_TRUE(reading->is_busy());

  const auto unknown = remove_run(c.hosts(), host, "0000");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, error_code::not_found);
  EXPECT_THAT(unknown.error().message, HasSubstr("there are: " + r->run));
  ASSERT_TRUE(remove_run(c.hosts(), host, r->run));
  EXPECT_TRUE(standing().empty());
  const auto again = remove_run(c.hosts(), host, r->run);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("there is none"));
  for (const char* name : {"", ".", "..", "a/b", "../work"}) {
    const auto wrong = remove_run(c.hosts(), host, name);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, error_code::invalid) << name;
  }
}

// The wrapper's own helpers are ended at once then, and must not clean up in its place.
TEST_F(kompilator, R112_keep_holds_for_programs_that_end_at_once) {
  std::vector<int> kept(24);
  {
    std::vector<std::jthread> clients;
    for (std::size_t n = 0; n < 6; ++n) {
      clients.emplace_back([&, n] {
        kompilator_request r;
        r.words = {"true"};
        r.keep = true;
        for (std::size_t i = n; i < kept.size(); i += 6) {
          const auto done = run_kompilator(c.hosts(), system_runner(), c.this_machine(), r, {});
          kept[i] = done && fs::exists(c.home() / ".stado/work/runs" / done->run) ? 1 : 0;
        }
      });
    }
  }
  EXPECT_THAT(kept, testing::Each(1));
}

TEST_F(kompilator, a_live_run_is_not_removed_from_under_its_program) {
  std::optional<base::result<void>> removed;
  request.on_output = [&](std::string_view) {
    if (!removed) {
      removed = remove_run(c.hosts(), host, standing().at(0).filename().string());
    }
  };
  ASSERT_TRUE(run({"bash", "-c", "echo on; sleep 3"}));
  ASSERT_TRUE(removed);
  ASSERT_FALSE(*removed);
  EXPECT_EQ(removed->error().code, error_code::refused);
}

TEST_F(kompilator, a_run_with_folders_that_may_not_be_written_goes_as_well) {
  const auto r = run({"bash", "-c", "mkdir -p a/b; touch a/b/c; chmod -R a-w a"});
  ASSERT_TRUE(r);
  EXPECT_TRUE(standing().empty());
}

void make_source(const std::string& at) {
  fs::create_directories(at + "/dir with space");
  fs::create_directories(at + "/target/debug");
  write_file(at + "/Cargo.toml", "[package]\n");
  write_file(at + "/dir with space/it's\nhere", "text");
  write_file(at + "/run", "#!/bin/sh\necho ran\n");
  fs::permissions(at + "/run", fs::perms::owner_all);
  fs::create_symlink("Cargo.toml", at + "/link");
  write_file(at + "/target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
  write_file(at + "/target/debug/old", "made here");
  const timespec long_ago[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
  ::utimensat(AT_FDCWD, (at + "/Cargo.toml").c_str(), long_ago, 0);
}

constexpr const char* look_at_source = "./run; cat 'dir with space'/*; readlink link; ls target "
                                       "2>/dev/null; find . -newermt 2024-01-01 "
                                       "-name Cargo.toml; pwd";

TEST_F(kompilator, R112_delivers_a_folder_by_rsync) {
  make_source(here("project"));
  request.source_directory = here("project");
  const auto r = run({"bash", "-c", look_at_source});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(
      output, "ran\ntextCargo.toml\n./Cargo.toml\n" + (runs() / r->run / "src").string() + "\n"
  );
}

TEST_F(kompilator, R112_delivers_a_folder_by_tar_where_there_is_no_rsync) {
  make_source(here("project"));
  // A machine whose PATH has everything but rsync.
  for (const char* folder : {"/usr/bin", "/bin"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const fs::path link = m.home() / "tools" / entry.path().filename();
      fs::create_directories(link.parent_path());
      if (entry.path().filename() != "rsync" && !fs::exists(fs::symlink_status(link))) {
        fs::create_symlink(entry.path(), link);
      }
    }
  }
  m.set_path((m.home() / "tools").string());
  request.source_directory = here("project");
  request.fetches = {{"dir with space", here("back")}};
  const auto r = run({"bash", "-c", look_at_source});
  ASSERT_TRUE(r) << r.error().message << errors;
  EXPECT_EQ(
      output, "ran\ntextCargo.toml\n./Cargo.toml\n" + (runs() / r->run / "src").string() + "\n"
  );
  EXPECT_EQ(read_file(here("back") + "/it's\nhere"), "text");
}

TEST_F(kompilator, works_the_same_on_this_machine) {
  make_source(here("project"));
  host = c.this_machine();
  request.source_directory = here("project");
  request.fetches = {{"run", here("back")}};
  const auto r = run({"bash", "-c", "./run; exit 0"});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(output, "ran\n");
  EXPECT_EQ(read_file(here("back")), "#!/bin/sh\necho ran\n");
  EXPECT_TRUE(fs::is_empty(c.home() / ".stado" / "work" / "runs"));
}

TEST_F(kompilator, R42_a_revision_is_delivered_as_it_was_with_its_toolchain_file) {
  const std::string repository = here("repository");
  fs::create_directories(repository);
  const auto git = [&](std::vector<std::string> words) {
    std::vector<std::string> all{
        "git", "-C", repository, "-c", "user.name=t", "-c", "user.email=t@example.org"};
    all.insert(all.end(), words.begin(), words.end());
    const auto f = system_runner().run({.argv = all});
    ASSERT_TRUE(f && f->status == 0) << (f ? f->error_output : f.error().message);
  };
  git({"init", "-q"});
  write_file(repository + "/rust-toolchain.toml", "[toolchain]\nchannel = \"1.70\"\n");
  git({"add", "."});
  git({"commit", "-qm", "one"});
  git({"tag", "v1"});
  write_file(repository + "/rust-toolchain.toml", "[toolchain]\nchannel = \"1.91\"\n");
  git({"commit", "-qam", "two"});
  // rustup's proxy: the toolchain is that of the folder it is run in.
  m.cargo_shim("cargo", "sed -n 's/channel/toolchain/p' rust-toolchain.toml");
  request.source_directory = repository;
  request.revision = "v1";
  ASSERT_TRUE(run({"cargo", "build"})) << errors;
  EXPECT_EQ(output, "toolchain = \"1.70\"\n");
  output.clear();
  request.revision = "HEAD";
  ASSERT_TRUE(run({"cargo", "build"}));
  EXPECT_EQ(output, "toolchain = \"1.91\"\n");
  for (const char* revision : {"v2", "--all", "-x", "v1:rust-toolchain.toml"}) {
    request.revision = revision;
    const auto unknown = run({"cargo"});
    ASSERT_FALSE(unknown) << revision;
    EXPECT_EQ(unknown.error().code, error_code::refused);
    EXPECT_THAT(unknown.error().message, HasSubstr("git knows no such commit"));
  }
}

TEST_F(kompilator, fetches_files_and_folders_before_the_directory_goes) {
  make_source(here("project"));
  write_file(here("old"), "replaced");
  fs::create_directories(here("into"));
  request.source_directory = here("project");
  request.fetches = {
      {"out/app", here("old")}, {"./out/dist/", here("into")}, {"out/app", here("into")}};
  const auto r = run(
      {"bash",
       "-c",
       "mkdir -p out/dist; echo binary > out/app; chmod 755 out/app; echo x > out/dist/f"}
  );
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(read_file(here("old")), "binary\n");
  EXPECT_EQ(::access(here("old").c_str(), X_OK), 0);
  EXPECT_EQ(read_file(here("into/dist/f")), "x\n");
  EXPECT_EQ(read_file(here("into/app")), "binary\n");
  EXPECT_EQ(r->fetched.size(), 3U);
  EXPECT_TRUE(standing().empty());
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".stado"));
  }
}

TEST_F(kompilator, a_result_that_is_not_there_is_an_error_and_a_failed_program_fetches_nothing) {
  request.fetches = {{"missing", here("back")}};
  const auto missing = run({"true"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("the program ended with 0"));
  EXPECT_TRUE(is_over());
  const auto failed = run({"bash", "-c", "touch missing; exit 2"});
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->status, 2);
  EXPECT_FALSE(fs::exists(here("back")));
}

TEST_F(kompilator, a_client_lost_while_it_fetches_leaves_no_run) {
  request.silence = std::chrono::seconds(2);
  request.fetches = {{"result", here("back")}};
  request.progress = [&](const std::string& text) {
    if (text.starts_with("fetching")) {
      stop.request_stop();
      m.drop_connections();
    }
  };
  EXPECT_FALSE(run({"touch", "result"}));
  EXPECT_TRUE(is_over());
}

TEST_F(kompilator, wrong_paths_are_refused_before_anything_runs) {
  fs::create_directories(here("dist"));

  struct row {
    std::pair<std::string, std::string> fetch;
    std::string source;
  };

  for (const row& r : {
           row{{"../x", ""}, ""},
           row{{"/etc/passwd", ""}, ""},
           row{{"", ""}, ""},
           row{{".", ""}, ""},
           row{{"dist", here("")}, ""},
           row{{"x", here("no/such/folder")}, ""},
           row{{"x", ""}, here("no-source")},
       }) {
    request.fetches = {r.fetch};
    request.source_directory = r.source;
    const auto wrong = run({"true"});
    ASSERT_FALSE(wrong) << r.fetch.first;
    EXPECT_EQ(wrong.error().code, error_code::invalid) << wrong.error().message;
  }
  EXPECT_FALSE(fs::exists(runs()));
}

TEST_F(kompilator, what_cargo_compiled_is_lent_from_run_to_run) {
  make_source(here("project"));
  fs::remove_all(here("project/target"));
  request.source_directory = here("project");
  const std::string build = "ls target 2>/dev/null; mkdir -p target; echo Signature > "
                            "target/CACHEDIR.TAG; touch target/compiled";
  ASSERT_TRUE(run({"bash", "-c", build}));
  EXPECT_EQ(output, "");
  ASSERT_TRUE(run({"bash", "-c", build}));
  EXPECT_EQ(output, "CACHEDIR.TAG\ncompiled\n");
  output.clear();
  // Another folder's is another's.
  make_source(here("other"));
  request.source_directory = here("other");
  ASSERT_TRUE(run({"bash", "-c", build}));
  EXPECT_EQ(output, "");
  EXPECT_TRUE(standing().empty());
}

TEST_F(kompilator, two_runs_at_once_do_not_share_a_build_folder) {
  make_source(here("project"));
  request.source_directory = here("project");
  std::optional<base::result<kompilator_report>> inner;
  kompilator_request second = request;
  second.words = {
      "bash", "-c", "ls target 2>/dev/null; mkdir target; echo 2 > target/CACHEDIR.TAG"};
  second.on_output = {};
  request.on_output = [&](std::string_view) {
    if (!inner) {
      inner = run_kompilator(c.hosts(), system_runner(), host, second, {});
    }
  };
  ASSERT_TRUE(run(
      {"bash",
       "-c",
       "mkdir target; echo 1 > target/CACHEDIR.TAG; echo on; sleep 1; rm target/CACHEDIR.TAG"}
  ));
  ASSERT_TRUE(inner && *inner);
  EXPECT_EQ((*inner)->status, 0);
}

} // namespace
} // namespace siteagent::fleet
