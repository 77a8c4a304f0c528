// SPDX-License-Identifier: MIT
#include "tests/unit/azure/fake_arm.hpp"

#include "core/net/url.hpp"
#include "tests/unit/azure/fake_arm_parts.hpp"

#include <algorithm>

namespace siteagent::azure::test {

using base::json;

namespace {

json text_page(const std::vector<std::string>& rows) {
  std::string text = R"({"value":[)" + base::join(rows, ",") + "]}";
  return *json::parse(text);
}

json sizes_page() {
  const auto sku = [](const char* name, int cores, const char* generations, const char* restrictions
                   ) {
    return std::string(R"({"resourceType":"virtualMachines","name":")") + name +
           R"(","family":"standardFamily","locations":["WestEurope"],"capabilities":[{"name":"vCPUs","value":")" +
           std::to_string(cores) + R"("},{"name":"HyperVGenerations","value":")" + generations +
           R"("},{"name":"CpuArchitectureType","value":"x64"}],"restrictions":)" + restrictions +
           "}";
  };
  return text_page(
      {sku("Standard_B1s", 1, "V1,V2", "[]"),
       sku("Standard_V1only", 1, "V1", "[]"),
       sku("Standard_Big", 64, "V1,V2", "[]"),
       sku("Standard_Zone",
           1,
           "V1,V2",
           R"([{"type":"Zone","restrictionInfo":{"zones":["1"]},"reasonCode":"X"}])"),
       sku("Standard_Closed",
           1,
           "V1,V2",
           R"([{"type":"Location","values":["westeurope"],"reasonCode":"NotAvailableForSubscription"}])"
       )}
  );
}

} // namespace

net::response json_response(int status, const json& body, net::header_list headers) {
  net::response r;
  r.status = status;
  r.headers = std::move(headers);
  r.headers.emplace_back("x-ms-request-id", "request-1");
  r.body = body.is_null() ? "" : body.dump();
  return r;
}

std::string fake_arm::error_text(std::string_view code, std::string_view message) {
  return json::object({{"error", json::object({{"code", code}, {"message", message}})}}).dump();
}

void fake_arm::fail_operation(std::string path_part, std::string code, std::string message) {
  failures_.push_back({std::move(path_part), std::move(code), std::move(message)});
}

void fake_arm::put(std::string_view id, json object) {
  object.set("id", id);
  const auto slash = id.rfind('/');
  object.set("name", id.substr(slash + 1));
  if (id.find("/providers/") != std::string_view::npos) {
    object.set("type", type_of(std::string(id)));
  }
  objects_[lower(id)] = std::move(object);
}

void fake_arm::forget(std::string_view id) {
  objects_.erase(lower(id));
}

bool fake_arm::has(std::string_view id) const {
  return objects_.count(lower(id)) != 0;
}

json fake_arm::get(std::string_view id) const {
  const auto it = objects_.find(lower(id));
  return it == objects_.end() ? json() : it->second;
}

std::vector<std::string> fake_arm::ids() const {
  std::vector<std::string> out;
  for (const auto& [key, object] : objects_) {
    out.push_back(object["id"].string_or(""));
  }
  return out;
}

std::size_t fake_arm::count(std::string_view type_part) const {
  std::size_t n = 0;
  for (const auto& [key, object] : objects_) {
    n += contains(object["type"].string_or("group"), type_part) ? 1U : 0U;
  }
  return n;
}

std::vector<logged> fake_arm::writes() const {
  std::vector<logged> out;
  std::copy_if(log_.begin(), log_.end(), std::back_inserter(out), [](const logged& l) {
    return l.is_write();
  });
  return out;
}

std::size_t fake_arm::count_requests(std::string_view method, std::string_view path_part) const {
  return static_cast<std::size_t>(std::count_if(log_.begin(), log_.end(), [&](const logged& l) {
    return l.method == method && contains(l.path + "?" + l.query, path_part);
  }));
}

base::result<net::response> fake_arm::perform(const net::request& r) {
  const std::lock_guard guard(mutex_);
  end_due_operations();
  const std::string target = r.url.substr(base_url.size());
  const auto mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const std::string query = mark == std::string::npos ? "" : target.substr(mark + 1);
  log_.push_back({r.method, path, query, r.headers, r.body, 0});
  for (auto s = scripts_.begin(); s != scripts_.end(); ++s) {
    const bool matches = (s->method.empty() || s->method == r.method) &&
                         (s->path_part.empty() || contains(net::decode(target), s->path_part));
    if (!matches || (s->skip > 0 && s->skip-- > 0)) {
      continue;
    }
    const scripted chosen = *s;
    if (s->times > 0 && --s->times == 0) {
      scripts_.erase(s);
    }
    if (chosen.after_effect) {
      answer(r, path, query);
    }
    if (!chosen.status) {
      const bool is_read = r.method == "GET";
      base::error e;
      e.code = is_read ? base::error_code::transient : base::error_code::outcome_unknown;
      e.message = "connection cut";
      e.may_have_been_sent = true;
      return e;
    }
    net::response out;
    out.status = *chosen.status;
    out.body = chosen.body;
    out.headers = chosen.headers;
    log_.back().status = out.status;
    return out;
  }
  net::response out = answer(r, path, query);
  log_.back().status = out.status;
  return out;
}

net::response
fake_arm::answer(const net::request& r, const std::string& path, const std::string& query) {
  if (contains(path, "/oauth2/v2.0/token")) {
    return token(r);
  }
  if (path == "/api/retail/prices") {
    return price_page(query);
  }
  const bool has_token = std::any_of(r.headers.begin(), r.headers.end(), [](const auto& h) {
    return h.first == "Authorization" && h.second.rfind("Bearer token-", 0) == 0;
  });
  if (!has_token) {
    return refused(401, "AuthenticationFailed");
  }
  const std::string plain = net::decode(path);
  if (r.method == "PUT") {
    return write_object(r, plain);
  }
  if (r.method == "PATCH") {
    return change_tags(r, plain);
  }
  if (r.method == "DELETE") {
    return remove_object(plain);
  }
  if (r.method == "POST") {
    return act(plain);
  }
  if (contains(plain, "/operations/")) {
    return poll(plain);
  }
  return fixed(plain).status != 0 ? fixed(plain) : list(plain, net::decode(query));
}

net::response fake_arm::price_page(const std::string& query) const {
  std::size_t from = 0;
  if (const auto at = query.find("$skip="); at != std::string::npos) {
    from = static_cast<std::size_t>(std::stoul(query.substr(at + 6)));
  }
  json page = json::object({{"Items", json::array()}, {"NextPageLink", nullptr}});
  for (std::size_t i = from; i < std::min(prices.size(), from + prices_per_page); ++i) {
    page.member_ref("Items").push_back(prices[i]);
  }
  if (from + prices_per_page < prices.size()) {
    page.set(
        "NextPageLink",
        std::string(base_url) + "/api/retail/prices?" + query.substr(0, query.find("&$skip=")) +
            "&$skip=" + std::to_string(from + prices_per_page)
    );
  }
  return json_response(200, page);
}

net::response fake_arm::token(const net::request& r) {
  if (!contains(r.body, "client_secret=right")) {
    return json_response(
        401,
        *json::parse(
            R"({"error":"invalid_client","error_description":"AADSTS7000215: wrong","error_codes":[7000215]})"
        )
    );
  }
  ++tokens_issued;
  return json_response(
      200,
      json::object(
          {{"access_token", "token-" + std::to_string(tokens_issued)},
           {"expires_in", token_lifetime}}
      )
  );
}

// What never changes: the subscription, its sizes, images and quota. Status 0: not one of these.
net::response fake_arm::fixed(const std::string& path) {
  const std::string here = "/subscriptions/" + std::string(subscription);
  if (path == here) {
    return json_response(200, json::object({{"state", "Enabled"}, {"displayName", "Test"}}));
  }
  if (ends_with(path, "/locations")) {
    return json_response(200, text_page({R"({"name":"westeurope"})", R"({"name":"northeurope"})"}));
  }
  if (ends_with(path, "/skus") && !contains(path, "/publishers/")) {
    return json_response(200, sizes_page());
  }
  if (ends_with(path, "/vmSizes")) {
    return json_response(
        200,
        text_page(
            {R"({"name":"Standard_B1s","numberOfCores":1,"osDiskSizeInMB":1047552,"resourceDiskSizeInMB":4096,"memoryInMB":1024})"}
        )
    );
  }
  if (contains(path, "Microsoft.Compute/locations/") && ends_with(path, "/usages")) {
    return json_response(
        200,
        text_page(
            {R"({"currentValue":)" + std::to_string(cores_used) + R"(,"limit":)" +
             std::to_string(cores_limit) + R"(,"name":{"value":"cores"}})"}
        )
    );
  }
  if (ends_with(path, "/usages")) {
    return json_response(
        200,
        text_page(
            {R"({"currentValue":0.0,"limit":)" + std::to_string(addresses_limit) +
             R"(.0,"name":{"value":"PublicIPAddresses"}})"}
        )
    );
  }
  if (contains(path, "/publishers/Canonical/") && ends_with(path, "/versions")) {
    return json_response(200, *json::parse(R"([{"name":"22.04.9"},{"name":"22.04.10"}])"));
  }
  if (contains(path, "/publishers/Canonical/") && contains(path, "/versions/22.04.10")) {
    return json_response(
        200,
        *json::parse(
            R"({"name":"22.04.10","properties":{"plan":null,"hyperVGeneration":"V2","architecture":"x64"}})"
        )
    );
  }
  if (contains(path, "/publishers/")) {
    return not_found("NotFound");
  }
  if (depth(path) == 4 && contains(path, "/providers/")) {
    return json_response(200, json::object({{"registrationState", "Registered"}}));
  }
  return {};
}

net::response fake_arm::list(const std::string& path, const std::string& query) {
  const auto object = objects_.find(lower(path));
  if (object != objects_.end()) {
    return json_response(200, object->second);
  }
  if (ends_with(path, "/instanceView")) {
    const auto machine = objects_.find(lower(path.substr(0, path.size() - 13)));
    if (machine == objects_.end()) {
      return not_found("ResourceNotFound");
    }
    return json_response(200, machine->second["test-view"]);
  }
  const bool of_everything = ends_with(path, "/resources");
  const bool of_groups = ends_with(path, "/resourcegroups");
  const auto parts = base::split(path, '/');
  const bool of_a_type = depth(path) == 5 && contains(path, "/providers/");
  if (!of_everything && !of_groups && !of_a_type) {
    const bool group_missing =
        contains(path, "/resourcegroups/") && objects_.count(group_of(lower(path))) == 0;
    return not_found(group_missing ? "ResourceGroupNotFound" : "ResourceNotFound");
  }
  const bool in_group = of_everything && contains(path, "/resourcegroups/");
  if (in_group && objects_.count(lower(path.substr(0, path.rfind('/')))) == 0) {
    return not_found("ResourceGroupNotFound");
  }
  std::string tag;
  std::string value;
  if (const auto at = query.find("tagName eq '"); at != std::string::npos) {
    tag = query.substr(at + 12, query.find('\'', at + 12) - at - 12);
    const auto from = query.find("tagValue eq '") + 13;
    value = query.substr(from, query.find('\'', from) - from);
  }
  if (!tag.empty() && !lists_know_tags) {
    return json_response(200, text_page({}));
  }
  std::vector<json> rows;
  for (const auto& [key, item] : objects_) {
    const bool wanted = of_groups       ? is_group(key)
                        : of_everything ? !is_group(key) && !contains(key, "/subnets/")
                                        : contains(
                                              item["type"].string_or(""),
                                              std::string(parts[4]) + "/" + std::string(parts[5])
                                          ) && !contains(key, "/subnets/");
    const bool here = !in_group || group_of(key) == lower(path.substr(0, path.size() - 10));
    if (wanted && here && (tag.empty() || item["tags"][tag].string_or("") == value)) {
      json row = item;
      if (contains(query, "statusOnly=true")) {
        row = json::object(
            {{"id", item["id"]},
             {"properties", json::object({{"instanceView", item["test-view"]}})}}
        );
      }
      if (upper_case_lists) {
        std::string id = row["id"].string_or("");
        std::transform(id.begin(), id.end(), id.begin(), [](char c) {
          return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
        });
        row.set("id", id);
      }
      rows.push_back(std::move(row));
    }
  }
  std::size_t from = 0;
  if (const auto at = query.find("$skiptoken="); at != std::string::npos) {
    from = static_cast<std::size_t>(std::stoul(query.substr(at + 11)));
  }
  json page = json::object({{"value", json::array()}});
  for (std::size_t i = from; i < std::min(rows.size(), from + page_size); ++i) {
    page.member_ref("value").push_back(rows[i]);
  }
  if (from + page_size < rows.size()) {
    std::string rest = query.substr(0, query.find("&$skiptoken="));
    std::replace(rest.begin(), rest.end(), ' ', '+');
    page.set(
        "nextLink",
        std::string(base_url) + path + "?" + net::build_query(net::parse_query(rest)) +
            "&$skiptoken=" + std::to_string(from + page_size)
    );
  }
  return json_response(200, page);
}

} // namespace siteagent::azure::test
