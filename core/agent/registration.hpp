// SPDX-License-Identifier: MIT
// The agent's own records in Waldur (contract section 7): identity, services, processors and their
// statistics. Best effort: nothing waits for it and no failure of it stops anything. It has a
// thread of its own and a pace of its own, so that many offerings are no burst for Waldur.
#pragma once

#include "core/agent/environment.hpp"
#include "core/base/json.hpp"
#include "core/base/uuid.hpp"
#include "core/observe/log.hpp"
#include "core/waldur/client.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace siteagent::agent {

// What registration asks of Waldur for one offering. Writes are sent once. Errors as waldur::client
// documents them. Blocking. [any thread]
class registry {
public:
  registry() = default;
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;
  virtual ~registry() = default;

  // Finds or makes the identity first, and tells it `build` once.
  virtual base::result<base::uuid> register_service(
      const waldur::agent_build& build, std::string_view name, std::string_view mode
  ) = 0;
  virtual base::result<void> register_processor(
      const base::uuid& service,
      std::string_view name,
      std::string_view backend_type,
      std::string_view backend_version
  ) = 0;
  virtual base::result<void>
  set_statistics(const base::uuid& service, const base::json& statistics) = 0;
};

// Both must outlive it.
std::unique_ptr<registry> make_registry(waldur::client& client, base::uuid offering);

// How a worker is registered.
struct service_record {
  std::string name;
  std::string mode;
  std::string processor; // OfferingOrderProcessor, ...
};

struct registration_facts {
  std::vector<service_record> services;
  std::string plugin;     // of the processors
  std::string waldur;     // its address
  std::string started_at; // RFC 3339, UTC
  // The offering's plugins and their versions; may open them. Called when it is time.
  std::function<std::vector<std::pair<std::string, std::string>>()> plugins;
  std::function<base::json()> statistics;
};

// One track's standing. A processor that is not heard of for 10 minutes makes Waldur show its
// service as idle.
class registration {
public:
  // References must outlive it.
  registration(
      registry& waldur, registration_facts facts, const base::clock& clock, observe::logger log
  );

  // Tells Waldur again; a failure is logged once per hour. `pace` is called before each request
  // but the first, and may wait. One thread at a time.
  // False: Waldur gave no usable answer; others that need it can wait.
  bool renew(const std::function<void()>& pace = {});

  const std::string& waldur_address() const { return facts_.waldur; }

private:
  struct service {
    service_record record;
    std::optional<base::uuid> id;
    base::steady_time shown{}; // as active
  };

  base::result<void> renew_one(service& s, const std::function<void()>& pace);

  registry& waldur_;
  const registration_facts facts_;
  const base::clock& clock_;
  const observe::logger log_;
  std::vector<service> services_;
  bool takes_statistics_ = true;
  std::optional<base::steady_time> complained_;
};

// Renews registrations every 5 minutes, one after the other, at most 20 requests a second. A Waldur
// that does not answer is left alone for 5 minutes, so that it does not hold up the others.
class registrar {
public:
  // `env` must outlive it; its stop ends the thread, which starts with the first add().
  explicit registrar(const environment& env);
  ~registrar();
  registrar(const registrar&) = delete;
  registrar& operator=(const registrar&) = delete;

  // From now on, the first time at once; until remove(). [any thread]
  void add(registration& r);
  // Waits for its request under way, if any. [any thread]
  void remove(registration& r);
  // Time has passed: looks whether something is due. [any thread]
  void tick();

private:
  void run(const std::stop_token& stop);
  registration* take_due(); // needs the lock

  const environment& env_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<registration*, base::steady_time> due_;
  std::map<std::string, base::steady_time> silent_until_; // by address
  registration* current_ = nullptr;
  std::uint64_t ticks_ = 0;
  std::jthread thread_;
};

} // namespace siteagent::agent
