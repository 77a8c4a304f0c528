// SPDX-License-Identifier: MIT
#include "azure_contract.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace siteagent::azure_emulator {
namespace {

using base::json;

// package of operations.json → file of models
constexpr std::pair<std::string_view, std::string_view> model_files[] = {
    {"@azure/arm-compute", "compute-2024-07-01"},
    {"@azure/arm-network", "network-2025-05-01"},
    {"@azure/arm-resources", "resources-2025-04-01"},
    {"@azure/arm-resources-subscriptions", "subscriptions-2022-12-01"},
    {"@azure/arm-consumption", "consumption-2021-10-01"},
};

constexpr std::string_view managed_roots[] = {"/subscriptions", "/providers", "/tenants"};

json read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto parsed = json::parse(text);
  if (!parsed) {
    throw std::runtime_error(path.string() + ": " + parsed.error().message);
  }
  return *parsed;
}

// How many segments are equal word for word; nullopt: another path.
std::optional<int> likeness(std::string_view pattern, std::string_view path) {
  const auto wanted = base::split(pattern, '/');
  auto given = base::split(path, '/');
  if (wanted.size() != given.size()) {
    return std::nullopt;
  }
  int equal = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].empty() && wanted[i].front() == '{') {
      continue;
    }
    if (!base::equals_ignoring_case(wanted[i], given[i])) {
      return std::nullopt;
    }
    ++equal;
  }
  return equal;
}

std::string error_problem(const json& body) {
  // Compute also answers without the envelope.
  const json& error = body["error"].is_object() ? body["error"] : body;
  if (!error["code"].is_string() || !error["message"].is_string()) {
    return "no error with code and message";
  }
  return "";
}

std::string monitor_problem(const exchange& e) {
  if (e.status >= 400) {
    return error_problem(e.body);
  }
  if (e.status != 200 && e.status != 202 && e.status != 204) {
    return "status of a monitor";
  }
  // A result may be anything; a status document must name a state that clients know.
  const auto& status = e.body["status"];
  if (!status.is_string()) {
    return "";
  }
  for (const auto* word :
       {"InProgress", "Accepted", "Running", "Succeeded", "Failed", "Canceled"}) {
    if (status.string_or("") == word) {
      return "";
    }
  }
  return "unknown state of an operation: " + status.dump();
}

} // namespace

bool is_monitor(std::string_view path) {
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  for (const auto* part :
       {"/operationresults/", "/operationstatuses/", "/operations/", "/diskoperations/"}) {
    if (lower.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

service_models::service_models(json document) : document_(std::move(document)) {}

bool service_models::has(std::string_view type) const {
  return document_.at({"types", type}).is_object();
}

std::string
service_models::misfit(const json& value, std::string_view type, const std::string& where) const {
  if (!value.is_object()) {
    return where + " is no object (" + std::string(type) + ")";
  }
  for (const auto& [path, spec] : document_.at({"types", type, "properties"}).members()) {
    const json* at = &value;
    for (const auto step : base::split(path, '.')) {
      at = &(*at)[step];
    }
    if (at->is_null()) {
      continue;
    }
    auto problem = check(*at, spec, where + "." + path);
    if (!problem.empty()) {
      return problem;
    }
  }
  return "";
}

std::string
service_models::check(const json& value, const json& spec, const std::string& where) const {
  if (const auto& ref = spec["ref"]; ref.is_string()) {
    return misfit(value, *ref.string(), where);
  }
  if (const auto& element = spec["array"]; element.is_object()) {
    if (!value.is_array()) {
      return where + " is no array";
    }
    for (const auto& item : value.items()) {
      auto problem = check(item, element, where + "[]");
      if (!problem.empty()) {
        return problem;
      }
    }
    return "";
  }
  if (const auto& element = spec["map"]; element.is_object()) {
    for (const auto& [key, item] : value.members()) {
      auto problem = check(item, element, where + "." + key);
      if (!problem.empty()) {
        return problem;
      }
    }
    return value.is_object() ? "" : where + " is no map";
  }
  return check_plain(value, spec, where);
}

std::string
service_models::check_plain(const json& value, const json& spec, const std::string& where) {
  const std::string type = spec["type"].string_or("any");
  const bool fits = type == "any" || (type == "string" && value.is_string()) ||
                    (type == "number" && value.is_number()) ||
                    (type == "boolean" && value.is_bool()) ||
                    (type == "object" && value.is_object());
  if (!fits) {
    return where + " is not of type " + type + ": " + value.dump();
  }
  // Only a closed set: "knownValues" alone is open.
  const auto& closed = spec["enum"];
  if (!closed.is_array() ||
      std::find(closed.items().begin(), closed.items().end(), value) != closed.items().end()) {
    return "";
  }
  return where + " is not in its enumeration: " + value.dump();
}

const service_contract* service_contract::shared() {
  static const auto folder = std::filesystem::path(SITEAGENT_SHARED_DIR) / "specs/azure";
  if (!std::filesystem::exists(folder / "operations.json")) {
    return nullptr;
  }
  static const service_contract contract(folder);
  return &contract;
}

service_contract::service_contract(const std::filesystem::path& folder) {
  for (const auto& [package, file] : model_files) {
    models_.emplace(
        package, service_models(read(folder / ("models-" + std::string(file) + ".json")))
    );
  }
  const auto table = read(folder / "operations.json");
  for (const auto& row : table["operations"].items()) {
    operation o;
    o.method = row["method"].string_or("");
    o.path = row["path"].string_or("");
    o.name = row["group"].string_or("") + "." + row["operation"].string_or("");
    const std::string package = row["package"].string_or("");
    o.package = package.substr(0, package.find(' '));
    o.responses = row["responses"];
    operations_.push_back(std::move(o));
  }
}

const service_models& service_contract::models_of(std::string_view package) const {
  return models_.find(package)->second;
}

const service_contract::operation* service_contract::find(const exchange& e) const {
  const operation* best = nullptr;
  int most = -1;
  for (const auto& o : operations_) {
    // The generic forms fit every path and say nothing about it.
    if (o.method != e.method || o.path.find("{parentResourcePath}") != std::string::npos ||
        o.path == "/{resourceId}") {
      continue;
    }
    const auto equal = likeness(o.path, e.path);
    if (equal && *equal > most) {
      most = *equal;
      best = &o;
    }
  }
  return best;
}

std::string
service_contract::body_problem(const exchange& e, const operation& o, bool& checked) const {
  // A write of a disk answers 202 with the disk (recorded), which the table leaves out.
  const bool early =
      e.status == 202 && !e.body.is_null() && o.responses[std::to_string(e.status)].is_null();
  const auto& named = o.responses[early ? "200" : std::to_string(e.status)];
  if (!named.is_string()) {
    return e.body.is_null() ? "" : "a body where there is none";
  }
  std::string type(*named.string());
  const auto& models = models_of(o.package);
  // Lists of images are bare arrays.
  if (constexpr std::string_view suffix = "Array";
      type.size() > suffix.size() && type.ends_with(suffix)) {
    type.resize(type.size() - suffix.size());
    if (!e.body.is_array()) {
      return "no array of " + type;
    }
    for (const auto& item : e.body.items()) {
      if (auto problem = models.has(type) ? models.misfit(item, type, type) : "";
          !problem.empty()) {
        return problem;
      }
    }
    checked = models.has(type);
    return "";
  }
  if (!models.has(type)) {
    return "";
  }
  // 202 and 204 come with and without.
  if (e.body.is_null() && (e.status == 202 || e.status == 204)) {
    return "";
  }
  checked = true;
  return models.misfit(e.body, type, type);
}

service_contract::verdict service_contract::check(const exchange& e) const {
  verdict v;
  const auto trimmed =
      e.path.size() > 1 && e.path.back() == '/'
          ? exchange{e.method, e.path.substr(0, e.path.size() - 1), e.status, e.body}
          : e;
  // Logins and prices have contracts of their own.
  const bool managed =
      std::any_of(std::begin(managed_roots), std::end(managed_roots), [&](std::string_view root) {
        return trimmed.path.rfind(root, 0) == 0;
      });
  if (!managed) {
    return v;
  }
  if (is_monitor(trimmed.path)) {
    v.operation = "monitor";
    v.problem = monitor_problem(trimmed);
    return v;
  }
  const auto* o = find(trimmed);
  if (o == nullptr) {
    v.problem = e.status >= 400 && e.method != "HEAD" ? error_problem(e.body) : "";
    return v;
  }
  v.operation = o->name;
  const bool known = o->responses.find(std::to_string(e.status)) != nullptr;
  if (e.status >= 400) {
    v.problem = e.method == "HEAD" || known ? "" : error_problem(e.body);
    return v;
  }
  v.problem = known ? body_problem(e, *o, v.body_checked)
                    : "status " + std::to_string(e.status) + " makes the official client throw";
  return v;
}

} // namespace siteagent::azure_emulator
