// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/paging.hpp"

#include "plugins/azure/error_map.hpp"
#include "plugins/azure/resource_id.hpp"

#include <set>

namespace siteagent::azure::arm {

namespace {

constexpr std::size_t most_pages = 10'000;

base::error incomplete(std::string_view what, std::string_view why) {
  return make_error(
      reason::ambiguous,
      base::error_code::transient,
      std::string(what) + ": the list is incomplete, " + std::string(why)
  );
}

} // namespace

base::result<std::vector<base::json>>
read_all(const pipeline& arm, const scope& call, const std::string& path, std::string_view what) {
  std::vector<base::json> out;
  std::set<std::string> seen_ids;
  std::set<std::string> seen_links;
  std::string next = path;
  while (!next.empty()) {
    if (!seen_links.insert(next).second) {
      return incomplete(what, "Azure's next link points back");
    }
    if (seen_links.size() > most_pages) {
      return incomplete(what, "it has too many pages");
    }
    auto page = arm.read(call, next, what);
    if (!page) {
      return page.error();
    }
    if (!page->body["value"].is_array()) {
      return incomplete(what, "a page holds no value array");
    }
    for (base::json& item : page->body.member_ref("value").items()) {
      const auto id = item["id"].string();
      if (!id || seen_ids.insert(id_key(*id)).second) {
        out.push_back(std::move(item));
      }
    }
    next = page->body["nextLink"].string_or("");
  }
  return out;
}

} // namespace siteagent::azure::arm
