// SPDX-License-Identifier: MIT
// What a test broker holds; for the broker's own files only.
#pragma once

#include "core/base/json.hpp"
#include "core/net/transport.hpp"
#include "tests/integration/process.hpp"
#include "tests/rabbitmq/broker.hpp"
#include "tests/unit/net/test_certificates.hpp"

namespace siteagent::rabbitmq {

struct broker::state {
  integration::temp_dir folder;
  net::test::temporary_directory certificates;
  net::test::issued certificate;
  bool has_started = false; // ports are settled
  std::unique_ptr<net::transport> management;
  std::unique_ptr<integration::process> name_server;
  std::unique_ptr<integration::process> server; // ends before the name server

  std::string log_file() const { return folder.file("broker.log"); }

  void connect_management(std::uint16_t port);
};

} // namespace siteagent::rabbitmq
