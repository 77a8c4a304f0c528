// SPDX-License-Identifier: MIT
// Short JSON calls to an emulator running inside the test, and a directory that goes with it.
#pragma once

#include "core/base/json.hpp"
#include "tests/emulators/common/emulator.hpp"
#include "tests/unit/net/raw_client.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace siteagent::emulators::test {

using base::json;

struct reply {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string text;
  json body; // null when it is no JSON
};

class api_client {
public:
  explicit api_client(std::uint16_t port) : port_(port) {}

  // Sent as "Authorization"; "" = none.
  void authorize(std::string header) { authorization_ = std::move(header); }

  reply call(const std::string& method, const std::string& target, const std::string& body = "") {
    std::string request = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:1\r\n";
    if (!authorization_.empty()) {
      request += "Authorization: " + authorization_ + "\r\n";
    }
    if (!body.empty()) {
      request += "Content-Type: application/json\r\n";
    }
    request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    net::test::raw_client connection(port_);
    auto answer = connection.send(request).read();
    reply r{answer.status, answer.headers, answer.body, {}};
    if (auto parsed = json::parse(answer.body)) {
      r.body = *std::move(parsed);
    }
    return r;
  }

  reply get(const std::string& target) { return call("GET", target); }

  reply post(const std::string& target, const json& body = json()) {
    return call("POST", target, body.is_null() ? "" : body.dump());
  }

private:
  std::uint16_t port_;
  std::string authorization_;
};

class temporary_directory {
public:
  temporary_directory() {
    std::string pattern = testing::TempDir() + "emulator-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }

  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(file(name)) << content;
    return file(name);
  }

  std::string read(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

private:
  std::string path_;
};

// JSON in single quotes, for readable tests.
inline json quoted(std::string text) {
  for (char& c : text) {
    c = c == '\'' ? '"' : c;
  }
  auto parsed = json::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(json());
}

} // namespace siteagent::emulators::test
