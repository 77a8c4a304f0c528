// SPDX-License-Identifier: MIT
// Leases of the kind coordination.k8s.io/v1, one per offering, over Kubernetes' REST API. The times
// inside a lease are written by other machines' clocks and are never compared with ours: a lease
// has run out when it did not change for its duration while we looked.
#pragma once

#include "core/agent/lease.hpp"
#include "core/base/clock.hpp"
#include "core/net/transport.hpp"

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace siteagent::agent {

struct lease_options {
  std::string api;        // "https://10.0.0.1:443"
  std::string ca_file;    // for the transport; "" = the system's authorities
  std::string token_file; // read for each request: Kubernetes renews it; "" = no token
  std::string name_space;
  std::string mode;   // of the process; agents of different modes do not compete
  std::string holder; // this process, unlike any other
  std::chrono::seconds duration{60};
};

// A pod's service account: KUBERNETES_SERVICE_HOST and _PORT, and the files `token` and `ca.crt` of
// its folder, which WALDUR_SITE_AGENT_LEASE_ACCOUNT names where it is not Kubernetes' usual one.
// WALDUR_SITE_AGENT_LEASE_SECONDS is the duration. The error says what is missing or wrong.
base::result<lease_options> leases_in_cluster(std::string name_space, std::string mode);

base::result<std::unique_ptr<net::transport>> make_lease_transport(const lease_options& options);

// Renews what it holds each third of the duration and asks for the rest each sixth. What cannot be
// renewed is over before anybody else may take it.
class lease_keeper {
public:
  // `clock` must outlive it.
  lease_keeper(
      lease_options options, std::shared_ptr<net::transport> transport, const base::clock& clock
  );
  ~lease_keeper(); // gives back
  lease_keeper(const lease_keeper&) = delete;
  lease_keeper& operator=(const lease_keeper&) = delete;

  // Takes part in the lease of that offering until the value goes, which may outlive the keeper.
  // [any thread]
  std::shared_ptr<offering_lease> add(const config::offering& offering);

  // Begins to take turns by itself, each second.
  void start();
  // Does what is due, one request after the other. Without start(), for tests.
  void turn();
  // Ends the turns and gives back what it holds, for 3 s at most: then another need not wait until
  // it runs out.
  void give_back();

private:
  class entry;

  void run(const std::stop_token& stop);
  void step(entry& e);
  void look(entry& e);
  void create(entry& e);
  void claim(entry& e, bool take_over);
  void release(entry& e);
  void fail(entry& e, const base::error& why);
  base::json spec(const entry& e, bool take_over) const;
  base::result<net::response>
  send(std::string_view method, const entry& e, const base::json* body, bool to_all = false) const;

  const lease_options options_;
  std::shared_ptr<net::transport> transport_; // shared with nobody but tests
  const base::clock& clock_;
  std::mutex mutex_;
  std::list<std::shared_ptr<entry>> entries_;
  std::jthread thread_;
};

} // namespace siteagent::agent
