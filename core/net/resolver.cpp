// SPDX-License-Identifier: MIT
#include "core/net/resolver.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace siteagent::net {

namespace {

using addresses = std::vector<std::string>;
using base::error_code;

constexpr auto poll_interval = std::chrono::milliseconds(50);
// Each hung lookup holds a thread; beyond this many the name server is certainly the problem.
constexpr std::size_t max_lookups = 16;

base::error lookup_failure(error_code code, const std::string& host, const std::string& why) {
  return {
      .code = code,
      .message =
          "look up host " + host + ": " + why + "; check the name and this machine's name servers"};
}

std::optional<std::string> address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  } else {
    return std::nullopt;
  }
  const auto size = static_cast<socklen_t>(text.size());
  if (inet_ntop(address->sa_family, bytes, text.data(), size) == nullptr) {
    return std::nullopt;
  }
  return std::string(text.data());
}

} // namespace

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

base::result<addresses> system_lookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failure != 0) {
    return lookup_failure(error_code::transient, host, gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  addresses out;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const auto text = address_text(entry->ai_addr);
    if (text && std::find(out.begin(), out.end(), *text) == out.end()) {
      out.push_back(*text);
    }
  }
  return out;
}

struct resolver::state {
  struct pending {
    std::optional<base::result<addresses>> answer;
  };

  struct remembered {
    addresses list;
    base::steady_time until;
  };

  lookup_function lookup;
  std::chrono::milliseconds keep;
  std::mutex mutex;
  std::condition_variable answered;
  std::map<std::string, remembered> cache;
  std::map<std::string, std::shared_ptr<pending>> running; // shared by the thread and its waiters

  void finish(const std::string& host, pending& p, base::result<addresses> answer) {
    if (answer && answer->empty()) {
      answer = lookup_failure(error_code::transient, host, "the name has no address");
    }
    const std::lock_guard lock(mutex);
    if (answer) {
      cache[host] = {*answer, std::chrono::steady_clock::now() + keep};
    }
    p.answer.emplace(std::move(answer));
    running.erase(host);
    answered.notify_all();
  }
};

namespace {

// The last catch of a lookup thread: a lookup that throws is a failed lookup.
base::result<addresses> guarded(const lookup_function& lookup, const std::string& host) {
  try {
    return lookup(host);
  } catch (const std::exception& e) {
    return lookup_failure(error_code::transient, host, e.what());
  } catch (...) {
    return lookup_failure(error_code::transient, host, "unknown exception");
  }
}

} // namespace

resolver::resolver(lookup_function lookup, std::chrono::milliseconds keep)
    : state_(std::make_shared<state>()) {
  state_->lookup = lookup ? std::move(lookup) : system_lookup;
  state_->keep = keep;
}

resolver::~resolver() = default;

base::result<addresses> resolver::resolve(
    const std::string& host, base::steady_time deadline, const std::function<bool()>& stop_requested
) {
  std::unique_lock lock(state_->mutex);
  const auto known = state_->cache.find(host);
  if (known != state_->cache.end()) {
    if (std::chrono::steady_clock::now() < known->second.until) {
      return known->second.list;
    }
    state_->cache.erase(known);
  }
  auto& slot = state_->running[host];
  if (!slot) {
    if (state_->running.size() > max_lookups) {
      state_->running.erase(host);
      return lookup_failure(error_code::transient, host, "too many name lookups hang");
    }
    slot = std::make_shared<state::pending>();
    try {
      // Detached: getaddrinfo cannot be interrupted, and nobody may have to wait for it.
      std::thread([shared = state_, mine = slot, host] {
        shared->finish(host, *mine, guarded(shared->lookup, host));
      }).detach();
    } catch (const std::system_error& e) {
      state_->running.erase(host);
      return lookup_failure(error_code::transient, host, e.what());
    }
  }
  const auto mine = slot;
  while (!mine->answer) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      return lookup_failure(error_code::deadline, host, "no answer in time");
    }
    if (stop_requested) {
      lock.unlock(); // the caller's code runs without our lock
      const bool stop = stop_requested();
      lock.lock();
      if (stop) {
        return base::error{
            .code = error_code::cancelled,
            .message = "look up host " + host + ": stopped on request"};
      }
    }
    if (!mine->answer) {
      state_->answered.wait_until(lock, std::min(deadline, now + poll_interval));
    }
  }
  return *mine->answer;
}

void resolver::forget(const std::string& host) {
  const std::lock_guard lock(state_->mutex);
  state_->cache.erase(host);
}

} // namespace siteagent::net
