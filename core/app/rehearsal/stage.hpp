// SPDX-License-Identifier: MIT
// Where a rehearsal is played: an emulated Waldur, the emulators that the plugins name, a folder
// with the changed file. Everything listens on loopback and ends with the object.
#pragma once

#include "core/app/rehearsal/child.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/transport.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::app {

// One answered request, as an emulator's journal has it.
struct exchange {
  base::wall_time at;
  std::string side; // "waldur" or "cloud"
  std::string method;
  std::string path;
  int status = 0;
  std::string fault;

  bool is_write() const { return method != "GET" && method != "HEAD"; }
};

// An emulator: a program with the common command line.
class double_of_a_service {
public:
  // `program`: a name, looked for beside this executable and then in PATH.
  static base::result<std::unique_ptr<double_of_a_service>> start(
      const std::string& program,
      const std::vector<std::string>& arguments,
      const std::string& directory,
      std::string side
  );

  const std::string& url() const { return url_; }

  // A request with that token ("" = none); the answer's body. An error for a status from 400 on.
  base::result<base::json> call(
      std::string_view method,
      std::string_view path,
      const base::json& body = {},
      std::string_view token = {}
  ) const;

  // What was answered since the last time this was asked, without logins' bodies and admin calls.
  std::vector<exchange> take_journal();

private:
  double_of_a_service(child process, std::string url, std::string journal, std::string side);

  child process_;
  std::string url_;
  std::string journal_;
  std::string side_;
  std::uintmax_t read_ = 0;
  std::unique_ptr<net::transport> http_;
};

// A private folder, removed with the object.
class scratch_folder {
public:
  static base::result<std::unique_ptr<scratch_folder>> make();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

private:
  explicit scratch_folder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// Mode 0600.
base::result<void> write_private(const std::string& path, const std::string& text);
std::string read_all(const std::string& path);

} // namespace siteagent::app
