// SPDX-License-Identifier: MIT
// Many creates at once against Azure's own buckets: how many are refused, how long it takes. Ten
// seconds of Azure pass in one of ours: the emulator's clock is pushed, the plugin's second is
// short.
#include "tests/bench/rig.hpp"

#include "core/base/uuid.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace siteagent::bench {

namespace {

constexpr int creates = 200;
constexpr int speed = 10;
constexpr int floor_ms = 1'000 / speed;

// Advances the emulator's clock while it lives.
class fast_time {
public:
  explicit fast_time(const integration::emulator& azure)
      : azure_(azure), thread_([this](const std::stop_token& stop) { run(stop); }) {}

private:
  void run(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    // A second of Azure that has not passed by itself, each ninth of one of ours.
    while (!never.wait_for(lock, stop, std::chrono::milliseconds(1'000 / (speed - 1)), [&] {
      return stop.stop_requested();
    })) {
      azure_.advance_clock(1);
    }
  }

  const integration::emulator& azure_;
  std::jthread thread_;
};

json order(int number, const std::string& uuid) {
  return json::object(
      {{"order",
        json::object(
            {{"type", "Create"},
             {"attributes", json::object({{"ssh_public_key", std::string(integration::ssh_key)}})}}
        )},
       {"resource", json::object({{"name", "vm-" + std::to_string(number)}})},
       {"uuid_tag", "bench-uuid"},
       {"tags", json::object({{"bench-uuid", uuid}})},
       {"components", json::object()}}
  );
}

} // namespace

void bench_creates() {
  const integration::temp_dir dir;
  const integration::emulator azure(
      SITEAGENT_BIN_DIR "/azure-emulator",
      dir,
      "azure",
      {"--timing", "instant", "--enforce-throttling"}
  );
  const auto instance = open_azure(azure.url(), floor_ms);
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  std::mutex mutex;
  std::string first_failure;
  const auto start = std::chrono::steady_clock::now();
  {
    const fast_time pushing(azure);
    std::vector<std::jthread> workers;
    for (int i = 0; i < creates; ++i) {
      workers.emplace_back([&, i] {
        host::call_request request;
        request.idempotency_key = base::uuid::random().hex();
        request.body = order(i, request.idempotency_key);
        const auto done = instance->call(host::operation::create_resource, request);
        ++(done ? made : failed);
        const std::lock_guard guard(mutex);
        if (!done && first_failure.empty()) {
          first_failure = done.error().message;
        }
      });
    }
  }
  const double azure_seconds = seconds_since(start) * speed;
  const auto by_status = statuses(azure.journal());
  std::size_t calls = 0;
  for (const auto& [status, count] : by_status) {
    calls += count;
  }
  const auto refused = by_status.count(429) != 0 ? by_status.at(429) : 0;
  const auto writes = static_cast<double>(azure.writes().size());
  // 160 writes at once and 8 a second: no client that keeps to it can be faster.
  const double least = (writes - 160) / 8;
  std::printf(
      "\n%-28s %8s %8s %8s %8s %8s %10s\n",
      "creates in parallel",
      "made",
      "failed",
      "calls",
      "writes",
      "429s",
      "Azure s"
  );
  std::printf(
      "%-28s %8d %8d %8zu %8.0f %8zu %10.0f\n",
      "with Azure's own buckets",
      made.load(),
      failed.load(),
      calls,
      writes,
      refused,
      azure_seconds
  );
  std::printf(
      "429s per call: %.4f; time over what the bucket of writes takes (%.0f s): %.2f\n",
      static_cast<double>(refused) / static_cast<double>(std::max<std::size_t>(calls, 1)),
      least,
      azure_seconds / std::max(least, 1.0)
  );
  if (!first_failure.empty()) {
    std::printf("first failure: %s\n", first_failure.c_str());
  }
}

} // namespace siteagent::bench
