// SPDX-License-Identifier: MIT
// What the tests of core/host share: places of the test plugins, temporary directories, captured
// logs, settings written as YAML-like values.
#pragma once

#include "core/host/instance.hpp"
#include "core/host/plugin.hpp"
#include "core/observe/log.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace support {

namespace host = siteagent::host;
namespace config = siteagent::config;

inline std::string good_plugins() {
  return SITEAGENT_TEST_PLUGINS;
}

inline std::string broken_plugins() {
  return SITEAGENT_TEST_PLUGINS "/broken";
}

inline std::vector<host::plugin_directory> developer(const std::string& path) {
  return host::search_path({path});
}

// A private directory that goes with the test.
class temporary_directory {
public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "host_test.XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }

  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  ~temporary_directory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    const std::string file = path_ + "/" + name;
    std::ofstream(file, std::ios::binary) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }

private:
  std::string path_;
};

inline std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class captured_logs {
public:
  captured_logs() { siteagent::observe::capture_logs_for_test(&lines_); }

  captured_logs(const captured_logs&) = delete;
  captured_logs& operator=(const captured_logs&) = delete;

  ~captured_logs() { siteagent::observe::capture_logs_for_test(nullptr); }

  std::string text() const {
    std::string all;
    for (const std::string& line : lines_) {
      all += line + "\n";
    }
    return all;
  }

private:
  std::vector<std::string> lines_;
};

// Values as the YAML reader makes them; each gets the position given, or an unknown one.
inline config::value plain(const std::string& text, int line = 0, int column = 0) {
  config::value v;
  v.type = config::value::kind::scalar;
  v.text = text;
  v.at = {line, column};
  return v;
}

inline config::value quoted(const std::string& text, int line = 0, int column = 0) {
  config::value v = plain(text, line, column);
  v.quoted = true;
  return v;
}

inline config::value
mapping(std::vector<config::value::entry> members, int line = 0, int column = 0) {
  config::value v;
  v.type = config::value::kind::map;
  v.map = std::move(members);
  v.at = {line, column};
  return v;
}

inline config::value list(std::vector<config::value> items, int line = 0, int column = 0) {
  config::value v;
  v.type = config::value::kind::list;
  v.list = std::move(items);
  v.at = {line, column};
  return v;
}

inline host::instance_options options_with(config::value settings) {
  return {
      .offering_name = "test offering",
      .settings = std::move(settings),
      .config_file = "agent.yaml",
      .key_path = "offerings[0].backend_settings"};
}

inline std::shared_ptr<host::plugin> load(const std::string& id, const std::string& directory) {
  auto loaded = host::load_plugin(id, developer(directory));
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : nullptr;
}

inline std::shared_ptr<host::instance>
open(const std::string& id, const std::string& directory, config::value settings = mapping({})) {
  auto plugin = load(id, directory);
  if (plugin == nullptr) {
    return nullptr;
  }
  auto opened = host::instance::open(plugin, options_with(std::move(settings)));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *opened : nullptr;
}

} // namespace support
