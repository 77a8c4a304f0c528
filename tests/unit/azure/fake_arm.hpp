// SPDX-License-Identifier: MIT
// A small Azure in memory behind the transport interface: objects with references, asynchronous
// operations, and a script of faults. Time is a manual clock.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/net/transport.hpp"

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::test {

inline constexpr std::string_view subscription = "11111111-1111-1111-1111-111111111111";
inline constexpr std::string_view base_url = "http://127.0.0.1:1";

struct logged {
  std::string method;
  std::string path;  // as sent, without the query
  std::string query; // as sent
  net::header_list headers;
  std::string body;
  int status = 0; // 0: cut

  bool is_write() const { return method != "GET" && path.find("/oauth2/") == std::string::npos; }
};

// An answer the script gives instead of the fake's own; nullopt status = the connection is cut.
struct scripted {
  std::string method;        // "" = any
  std::string path_part;     // "" = any; compared without case against path?query
  int times = 1;             // -1: for ever
  int skip = 0;              // matching requests let through first
  bool after_effect = false; // carry the request out, then answer this
  std::optional<int> status;
  std::string body;
  net::header_list headers;
};

class fake_arm final : public net::transport {
public:
  explicit fake_arm(base::manual_clock& clock) : clock_(clock) {}

  base::result<net::response> perform(const net::request& r) override;

  // Script.
  void script(scripted s) { scripts_.push_back(std::move(s)); }

  static std::string error_text(std::string_view code, std::string_view message = "text");
  // The next operation of that kind of path ends failed with this code.
  void fail_operation(std::string path_part, std::string code, std::string message = "text");

  // State.
  void put(std::string_view id, base::json object);
  void forget(std::string_view id);
  bool has(std::string_view id) const;
  base::json get(std::string_view id) const;
  std::vector<std::string> ids() const; // as stored, groups included
  std::size_t count(std::string_view type_part) const;

  // Log.
  const std::vector<logged>& log() const { return log_; }

  std::vector<logged> writes() const;
  std::size_t count_requests(std::string_view method, std::string_view path_part) const;

  void clear_scripts() { scripts_.clear(); }

  void clear_log() { log_.clear(); }

  int polls = 1; // "InProgress" answers before an operation ends
  int token_lifetime = 3599;
  bool lists_know_tags = true; // false: lists by tag lag and show nothing
  bool cascades = true;        // deleting a machine honours deleteOption
  std::size_t page_size = 1000;
  bool upper_case_lists = false;
  int cores_used = 0;
  int cores_limit = 50;
  int tokens_issued = 0;
  int addresses_limit = 10;
  std::vector<base::json> prices; // rows of the price list, all given to every question
  std::size_t prices_per_page = 1000;

private:
  struct operation {
    std::string key;
    int polls_left = 0;
    std::string failure_code;
    std::string failure_message;
    std::function<void()> finish;
    base::steady_time due{}; // ends then, polled or not
  };

  struct planned_failure {
    std::string path_part;
    std::string code;
    std::string message;
  };

  net::response answer(const net::request& r, const std::string& path, const std::string& query);
  net::response token(const net::request& r);
  net::response price_page(const std::string& query) const;
  net::response fixed(const std::string& path);
  net::response list(const std::string& path, const std::string& query);
  net::response write_object(const net::request& r, const std::string& path);
  net::response change_tags(const net::request& r, const std::string& path);
  net::response remove_object(const std::string& path);
  net::response act(const std::string& path);
  net::response poll(const std::string& path);
  void end_due_operations();
  static void end(operation& o);
  net::response accepted(int status, base::json body, operation o);
  std::optional<net::response> refusal_to_delete(const std::string& key) const;
  void erase_machine(const std::string& key);
  std::string reference_to(const std::string& key) const;

  base::manual_clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, base::json> objects_; // by lower-case id
  std::map<std::string, operation> operations_;
  std::deque<scripted> scripts_;
  std::deque<planned_failure> failures_;
  std::vector<logged> log_;
  int next_operation_ = 1;
};

net::response json_response(int status, const base::json& body, net::header_list headers = {});

} // namespace siteagent::azure::test
