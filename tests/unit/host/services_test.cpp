// SPDX-License-Identifier: MIT
#include "core/host/services.hpp"

#include "support.hpp"

namespace {

using namespace support;

class host_services : public testing::Test {
protected:
  template <class Table>
  const Table* table(const char* id) const {
    return static_cast<const Table*>(host->get_service(host, id));
  }

  siteagent::host::services made{
      siteagent::observe::logger("plugin.x").with("offering", "o"),
      siteagent::host::secret_store(siteagent::host::secret_sources{
          {"sagent-secret:1", "value-of-services-test"}})};
  const sagent_host* host = made.table();
  captured_logs logs;
};

TEST_F(host_services, are_found_by_exact_id) {
  EXPECT_EQ(host->abi_minor, static_cast<std::uint32_t>(SAGENT_ABI_MINOR));
  for (const char* id : {SAGENT_SERVICE_LOG, SAGENT_SERVICE_SECRETS, SAGENT_SERVICE_CLOCK}) {
    EXPECT_NE(host->get_service(host, id), nullptr) << id;
  }
  EXPECT_EQ(host->get_service(host, "sagent.log/1x"), nullptr);
  EXPECT_EQ(host->get_service(host, ""), nullptr);
  EXPECT_EQ(host->get_service(host, nullptr), nullptr);
}

TEST_F(host_services, log_lines_with_offering_and_trace_id) {
  const auto* log = table<sagent_log_service>(SAGENT_SERVICE_LOG);
  const std::string trace = "feedfeedfeedfeedfeedfeedfeedfeed";
  {
    const siteagent::host::trace_scope scope(trace);
    log->log(host, SAGENT_LOG_WARNING, "hello there", 5);
  }
  log->log(host, SAGENT_LOG_INFO, "outside", 7);
  log->log(host, SAGENT_LOG_DEBUG, "invisible", 9);
  log->log(host, 77, "worse than error", 16);
  log->log(host, SAGENT_LOG_INFO, nullptr, 0);
  const std::string text = logs.text();
  EXPECT_NE(text.find(R"("event":"hello","level":"warning")"), std::string::npos) << text;
  EXPECT_NE(text.find(trace), std::string::npos);
  EXPECT_EQ(text.find(trace), text.rfind(trace)) << "only inside the scope";
  EXPECT_NE(text.find(R"("event":"worse than error","level":"error")"), std::string::npos);
  EXPECT_EQ(text.find("invisible"), std::string::npos);
  EXPECT_NE(log->enabled(host, SAGENT_LOG_ERROR), 0);
  EXPECT_EQ(log->enabled(host, SAGENT_LOG_DEBUG), 0);
}

TEST_F(host_services, refuse_and_count_lines_over_16_kib) {
  const auto* log = table<sagent_log_service>(SAGENT_SERVICE_LOG);
  const std::string line(16 * 1024, 'x');
  log->log(host, SAGENT_LOG_INFO, line.data(), line.size());
  EXPECT_EQ(made.refused_lines(), 0u);
  log->log(host, SAGENT_LOG_INFO, (line + "x").data(), line.size() + 1);
  EXPECT_EQ(made.refused_lines(), 1u);
  EXPECT_NE(logs.text().find("longer than 16 KiB"), std::string::npos);
}

TEST_F(host_services, give_secrets_by_reference_only) {
  const auto* secrets = table<sagent_secrets_service>(SAGENT_SERVICE_SECRETS);
  std::string got;
  const auto sink = [](void* ctx, const char* bytes, std::uint64_t len) {
    static_cast<std::string*>(ctx)->assign(bytes, len);
  };
  const std::string reference = "sagent-secret:1";
  EXPECT_EQ(secrets->get(host, reference.data(), reference.size(), sink, &got), SAGENT_OK);
  EXPECT_EQ(got, "value-of-services-test");
  got.clear();
  EXPECT_EQ(secrets->get(host, "sagent-secret:9", 15, sink, &got), SAGENT_E_NOT_FOUND);
  EXPECT_EQ(secrets->get(host, nullptr, 0, sink, &got), SAGENT_E_INVALID);
  EXPECT_EQ(
      secrets->get(host, reference.data(), reference.size(), nullptr, &got), SAGENT_E_INVALID
  );
  EXPECT_EQ(got, "");
}

TEST_F(host_services, let_no_exception_of_a_sink_through) {
  const auto* secrets = table<sagent_secrets_service>(SAGENT_SERVICE_SECRETS);
  const auto sink = [](void*, const char*, std::uint64_t) { throw 1; };
  EXPECT_EQ(secrets->get(host, "sagent-secret:1", 15, sink, nullptr), SAGENT_E_TRANSIENT);
}

TEST_F(host_services, protect_derived_secrets_of_8_bytes_and_more) {
  const auto* secrets = table<sagent_secrets_service>(SAGENT_SERVICE_SECRETS);
  secrets->protect(host, "derived-token-1", 15);
  secrets->protect(host, "short77", 7);
  secrets->protect(host, nullptr, 9);
  auto& redactor = siteagent::base::global_redactor();
  EXPECT_EQ(redactor.scrub("derived-token-1 short77"), "*** short77");
}

TEST_F(host_services, have_a_clock) {
  const auto* clock = table<sagent_clock_service>(SAGENT_SERVICE_CLOCK);
  EXPECT_GT(clock->unix_ms(host), 1'500'000'000'000);
  EXPECT_LE(clock->mono_ms(host), clock->mono_ms(host));
}

} // namespace
