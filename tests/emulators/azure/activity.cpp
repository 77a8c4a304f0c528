// SPDX-License-Identifier: MIT
#include "activity.hpp"

#include "permissions.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::size_t page_size = 200;
constexpr std::chrono::hours reach{90 * 24};

json word(std::string_view value) {
  return json::object({{"value", value}, {"localizedValue", value}});
}

struct term {
  std::string field; // lower case
  std::string op;    // eq, ge, le
  std::string value;
};

// "eventTimestamp ge '...' and resourceGroupName eq 'rg'"; nullopt: not understood.
std::optional<std::vector<term>> terms_of(std::string_view text) {
  std::vector<term> out;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
    } else if (text[i] == '\'') {
      const auto end = text.find('\'', i + 1);
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
      words.emplace_back(text.substr(i + 1, end - i - 1));
      i = end + 1;
    } else {
      const auto end = std::min(text.find(' ', i), text.size());
      words.emplace_back(text.substr(i, end - i));
      i = end;
    }
  }
  for (std::size_t i = 0; i + 2 < words.size(); i += 4) {
    out.push_back({base::to_lower(words[i]), base::to_lower(words[i + 1]), words[i + 2]});
    if (i + 3 < words.size() && !equals_ignoring_case(words[i + 3], "and")) {
      return std::nullopt;
    }
  }
  return words.size() % 4 == 3 ? std::optional(out) : std::nullopt;
}

bool matches(const json& event, const term& t) {
  if (t.field == "eventtimestamp") {
    const auto at = base::parse_rfc3339(event["eventTimestamp"].string_or(""));
    const auto limit = base::parse_rfc3339(t.value);
    return at && limit && (t.op == "ge" ? *at >= *limit : *at <= *limit);
  }
  std::string value;
  if (t.field == "resourcegroupname") {
    value = event["resourceGroupName"].string_or("");
  } else if (t.field == "resourceuri" || t.field == "resourceid") {
    value = event["resourceId"].string_or("");
  } else if (t.field == "resourceprovider") {
    value = event["resourceProviderName"]["value"].string_or("");
  } else if (t.field == "correlationid") {
    value = event["correlationId"].string_or("");
  } else if (t.field == "status") {
    value = event["status"]["value"].string_or("");
  } else if (t.field == "caller") {
    value = event["caller"].string_or("");
  } else if (t.field == "eventchannels" || t.field == "levels") {
    return true;
  }
  return equals_ignoring_case(value, t.value);
}

} // namespace

namespace {

// An event as it is told now: ids and times of its own.
json told(json event, base::wall_time now, std::string_view status) {
  const std::string id = base::uuid::random().dashed();
  event.set("eventDataId", id);
  event.set("id", event["resourceId"].string_or("") + "/events/" + id);
  event.set("eventTimestamp", base::to_rfc3339(now, true));
  event.set("submissionTimestamp", base::to_rfc3339(now, true));
  event.set("level", status == "Failed" ? "Error" : "Informational");
  event.set("status", word(status));
  return event;
}

json event_of(const context& c, const request_target& target) {
  const std::string given = c.http.header("x-ms-correlation-request-id");
  return json::object(
      {{"operationName", word(target.action)},
       {"category", word("Administrative")},
       {"resourceProviderName", word(target.provider)},
       {"resourceGroupName", target.group},
       {"resourceId", target.scope},
       {"subscriptionId", c.subscription_id()},
       {"tenantId", c.subscription->tenant},
       {"caller", c.principal},
       {"correlationId", given.empty() ? c.call.request_id : given},
       {"operationId", c.call.request_id},
       {"channels", "Operation"},
       {"subStatus", word("")},
       {"httpRequest",
        json::object(
            {{"clientRequestId", c.http.header("x-ms-client-request-id")},
             {"method", c.http.method},
             {"uri", c.call.base_url + c.http.path}}
        )}}
  );
}

bool names_monitor(const reply& answer) {
  return std::any_of(answer.headers.begin(), answer.headers.end(), [](const auto& h) {
    return equals_ignoring_case(h.first, "Azure-AsyncOperation") ||
           equals_ignoring_case(h.first, "Location");
  });
}

operation* operation_begun(const context& c, const request_target& target, const reply& answer) {
  const auto* r = names_monitor(answer) ? c.world.find(key_of(target.scope)) : nullptr;
  const auto it =
      r == nullptr ? c.world.operations.end() : c.world.operations.find(key_of(r->operation));
  return it == c.world.operations.end() ? nullptr : &it->second;
}

} // namespace

void note_activity(const context& c, const reply& answer) {
  if (c.http.method == "GET" || c.http.method == "HEAD") {
    return;
  }
  const auto target = target_of(c.http);
  const json event = event_of(c, target);
  const bool refused = answer.status >= 400;
  json properties = json::object({{"statusCode", std::to_string(answer.status)}});
  if (refused) {
    properties.set("statusMessage", answer.body);
  } else if (equals_ignoring_case(target.action, "Microsoft.Compute/virtualMachines/write")) {
    properties.set("responseBody", answer.body); // how a log reader learns the size it got
  }
  const bool begun = !refused && (answer.status == 202 || names_monitor(answer));
  json first = told(event, c.now(), refused ? "Failed" : begun ? "Accepted" : "Succeeded");
  first.set("properties", std::move(properties));
  c.world.add_event(std::move(first));
  if (auto* op = begun ? operation_begun(c, target, answer) : nullptr) {
    op->event = event;
    if (op->status != operation_status::in_progress) {
      note_end(c.world, *op);
    }
  }
}

void note_end(world& w, const operation& op) {
  if (op.event.is_null()) {
    return;
  }
  const bool failed = op.status == operation_status::failed;
  json last = told(
      op.event,
      op.ended,
      failed                                    ? "Failed"
      : op.status == operation_status::canceled ? "Canceled"
                                                : "Succeeded"
  );
  json properties = json::object({{"statusCode", failed ? "Conflict" : ""}});
  if (!op.error_code.empty()) {
    properties.set("statusMessage", error_body({op.error_code, op.error_message}).dump());
  }
  last.set("properties", std::move(properties));
  w.add_event(std::move(last));
}

reply list_activity(context& c) {
  const std::string filter = c.http.parameter("$filter");
  const auto terms = terms_of(filter);
  const bool has_start = terms && std::any_of(terms->begin(), terms->end(), [](const term& t) {
                           return t.field == "eventtimestamp" && t.op == "ge";
                         });
  if (!has_start) {
    return error_reply(
        400,
        {"BadRequest",
         "The $filter must contain eventTimestamp ge '<time>' and may add eventTimestamp le, "
         "resourceGroupName, resourceUri, correlationId, status, caller."}
    );
  }
  std::size_t skip = 0;
  for (const char ch : c.http.parameter("$skipToken")) {
    skip = ch >= '0' && ch <= '9' && skip < 1'000'000
               ? skip * 10 + static_cast<std::size_t>(ch - '0')
               : skip;
  }
  const auto oldest = c.now() - reach;
  json value = json::array();
  std::size_t seen = 0;
  bool more = false;
  for (auto it = c.world.activity.rbegin(); it != c.world.activity.rend(); ++it) {
    const auto at = base::parse_rfc3339((*it)["eventTimestamp"].string_or(""));
    const bool fits =
        at && *at >= oldest &&
        equals_ignoring_case((*it)["subscriptionId"].string_or(""), c.subscription_id()) &&
        std::all_of(terms->begin(), terms->end(), [&](const term& t) { return matches(*it, t); });
    if (!fits || seen++ < skip) {
      continue;
    }
    if (value.size() == page_size) {
      more = true;
      break;
    }
    value.push_back(*it);
  }
  const auto count = value.size();
  json body = json::object({{"value", value}});
  if (more) {
    net::query_list query;
    for (const auto& [key, text] : c.http.parameters) {
      if (!equals_ignoring_case(key, "$skipToken")) {
        query.emplace_back(key, text);
      }
    }
    query.emplace_back("$skipToken", std::to_string(skip + count));
    body.set("nextLink", c.call.base_url + c.http.path + "?" + net::build_query(query));
  }
  return json_reply(200, body);
}

} // namespace siteagent::azure_emulator
