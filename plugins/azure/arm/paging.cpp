// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/paging.hpp"

#include "plugins/azure/error_map.hpp"
#include "plugins/azure/resource_id.hpp"

#include <set>

namespace siteagent::azure::arm {

namespace {

constexpr std::size_t most_pages = 10'000;
constexpr unsigned most_restarts = 2;

base::error incomplete(std::string_view what, std::string_view why) {
  return make_error(
      reason::ambiguous,
      base::error_code::transient,
      std::string(what) + ": the list is incomplete, " + std::string(why)
  );
}

// A link may expire while a long list is read.
bool has_expired(const base::error& e) {
  return e.http_status == 400 || e.http_status == 410;
}

} // namespace

base::result<void> read_each(
    const pipeline& arm,
    const scope& call,
    const std::string& path,
    std::string_view what,
    const taker& take
) {
  std::set<std::string> seen_ids;
  std::set<std::string> seen_links;
  unsigned restarts = 0;
  std::string next = path;
  while (!next.empty()) {
    if (!seen_links.insert(next).second) {
      return incomplete(what, "Azure's next link points back");
    }
    if (seen_links.size() > most_pages) {
      return incomplete(what, "it has too many pages");
    }
    auto page = arm.read(call, next, what);
    if (!page && seen_links.size() > 1 && has_expired(page.error()) && restarts < most_restarts) {
      ++restarts;
      seen_links.clear();
      next = path;
      continue;
    }
    if (!page) {
      return page.error();
    }
    if (!page->body["value"].is_array()) {
      return incomplete(what, "a page holds no value array");
    }
    for (base::json& item : page->body.member_ref("value").items()) {
      const auto id = item["id"].string();
      if (!id || seen_ids.insert(id_key(*id)).second) {
        take(std::move(item));
      }
    }
    next = page->body["nextLink"].string_or("");
  }
  return {};
}

base::result<std::vector<base::json>>
read_all(const pipeline& arm, const scope& call, const std::string& path, std::string_view what) {
  std::vector<base::json> out;
  auto done =
      read_each(arm, call, path, what, [&](base::json&& item) { out.push_back(std::move(item)); });
  if (!done) {
    return done.error();
  }
  return out;
}

} // namespace siteagent::azure::arm
