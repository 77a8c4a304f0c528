// SPDX-License-Identifier: MIT
// What must hold after any trouble.
#include "tests/integration/matrix_rig.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <regex>
#include <set>

namespace siteagent::integration::matrix {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Itself, or the object it is a part of.
bool is_named(std::string_view log, std::string_view id) {
  for (const std::string_view part : {"/securityRules/", "/subnets/"}) {
    id = id.substr(0, id.find(part));
  }
  return contains(log, id.substr(id.rfind('/') + 1));
}

// Objects without tags of their own belong to what they are named after.
bool is_ours(const json& object, const std::string& id) {
  const std::string tag = object.at({"tags", "waldur-resource-uuid"}).string_or("");
  if (!tag.empty()) {
    return tag == resource_uuid;
  }
  const std::string lower = base::to_lower(id);
  return (contains(lower, "/subnets/") || contains(lower, "/disks/") ||
          contains(lower, "/securityrules/")) &&
         contains(lower, "web-1");
}

struct cloud_view {
  std::vector<std::string> ours;
  std::vector<std::string> machines; // ids of ours
  std::vector<std::string> unknown;  // neither foreign nor ours
};

cloud_view view_of(const json& all, const std::map<std::string, std::string>& foreign) {
  cloud_view v;
  for (const auto& [kind, objects] : all.members()) {
    for (const json& o : objects.items()) {
      const std::string id = o["id"].string_or("");
      if (id.empty() || foreign.contains(id)) {
        continue;
      }
      if (!is_ours(o, id)) {
        v.unknown.push_back(id);
        continue;
      }
      v.ours.push_back(id);
      if (kind == "virtualMachines") {
        v.machines.push_back(id);
      }
    }
  }
  return v;
}

// Words no customer may read: ids, addresses, codes, the cloud's own nouns for our objects.
// Operators may let Azure's code through, in brackets; that is all they may.
std::string internals_in(std::string text, bool details_exposed) {
  static const std::regex reference(R"( ?\(reference [0-9a-f]{32}\))");
  static const std::regex code(R"( \[[A-Za-z]+\])");
  text = std::regex_replace(text, reference, "");
  if (details_exposed) {
    text = std::regex_replace(text, code, "");
  }
  static const std::vector<std::pair<std::regex, std::string>> forbidden = [] {
    std::vector<std::pair<std::regex, std::string>> out;
    out.emplace_back(std::regex("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}"), "an id");
    out.emplace_back(std::regex("/subscriptions|https?://|[Mm]icrosoft\\.|127\\.0"), "an address");
    out.emplace_back(std::regex("[A-Z][a-z]+[A-Z][A-Za-z]+"), "a code");
    out.emplace_back(std::regex("HTTP|\\b[45][0-9][0-9]\\b"), "a status");
    out.emplace_back(
        std::regex("pubip|group-[0-9a-f]{4}|nicweb|nsgweb|netweb|tenant|principal"), "a name"
    );
    return out;
  }();
  for (const auto& [pattern, what] : forbidden) {
    std::smatch found;
    if (std::regex_search(text, found, pattern)) {
      return what + " ('" + found.str() + "')";
    }
  }
  return "";
}

bool is_allowed(const cell& c, const std::string& end) {
  const bool erred = end == "erred" || end == "rejected";
  switch (c.what.end) {
  case ending::finishes:
    return end == "done";
  case ending::refused:
    // A trouble that came once may be forgotten with the agent that met it.
    return erred || (end == "done" && c.is_killed && !c.what.lasting);
  case ending::either:
    return erred || end == "done";
  case ending::overdue:
    // Without an order there is nothing to err: the next pass finds the machine as it is.
    return erred || end == "done" || c.where.op == operation::pause ||
           c.where.op == operation::unpause;
  case ending::waits:
    return end == "done";
  }
  return false;
}

} // namespace

std::string body_of(const json& object) {
  json view = object.at({"properties", "instanceView"});
  if (!view.is_object()) {
    return object.dump();
  }
  view.erase("vmAgent");
  json properties = object["properties"];
  properties.set("instanceView", std::move(view));
  json copy = object;
  copy.set("properties", std::move(properties));
  return copy.dump();
}

// Azure takes no condition on the PUT of a group, so a create rests on its one look there: when
// that is answered with a false "not found", the tags of a group of that very name are replaced.
static bool is_unavoidable(const cell& c, const std::string& id) {
  return c.where.op == operation::create && c.where.mode == group_mode::dedicated &&
         c.where.what == call::read && c.where.object == "resource-group" &&
         c.what.name == "404_once" && id.ends_with("/group-ab12-web-1");
}

void rig::judge_foreign(const cell& c, const scene& now, outcome& out) const {
  std::map<std::string, std::string> left = now.foreign;
  const json all = site_.azure().inventory();
  for (const auto& [kind, objects] : all.members()) {
    for (const json& o : objects.items()) {
      const auto it = left.find(o["id"].string_or(kind));
      if (it == left.end()) {
        continue;
      }
      if (it->second != body_of(o) && !is_unavoidable(c, it->first)) {
        out.violations.push_back("a foreign object was changed: " + it->first);
      }
      left.erase(it);
    }
  }
  for (const auto& [id, body] : left) {
    out.violations.push_back("a foreign object is gone: " + id);
  }
}

void rig::judge_objects(const cell& c, const scene& now, outcome& out) const {
  const cloud_view v = view_of(site_.azure().inventory(), now.foreign);
  for (const std::string& id : v.unknown) {
    out.violations.push_back("an object that belongs to nobody: " + id);
  }
  const bool create = c.where.op == operation::create;
  const bool remove = c.where.op == operation::remove;
  const bool done = out.end == "done";
  const bool machine_wanted = (create && done) || (!create && !remove);
  const bool nothing_wanted = (create && !done) || (remove && done);
  const std::string known = site_.resource(std::string(resource_uuid))["backend_id"].string_or("");
  if (machine_wanted) {
    if (v.machines.size() != 1 || v.machines.front() != known) {
      out.violations.push_back(
          "machines: " + base::join(v.machines, ", ") + "; Waldur knows '" + known + "'"
      );
    }
    return;
  }
  if (!nothing_wanted) {
    return;
  }
  for (const std::string& id : v.ours) {
    if (c.what.end != ending::overdue) {
      out.violations.push_back("left behind: " + id);
    } else if (!is_named(now.log, id)) {
      out.violations.push_back("left behind and not named to the operator: " + id);
    }
  }
}

void rig::judge_texts(const cell& c, const scene& now, outcome& out) const {
  const json resource = site_.resource(std::string(resource_uuid));
  std::vector<std::string> told = {resource["error_message"].string_or("")};
  if (!now.order.empty()) {
    const json order = site_.order(now.order);
    told.push_back(order["error_message"].string_or(""));
    told.push_back(order["provider_rejection_comment"].string_or(""));
    told.push_back(order["error_traceback"].string_or(""));
    if (out.end == "erred" && told[1].empty()) {
      out.violations.emplace_back("the order is erred without a word");
    }
  }
  for (const std::string& text : told) {
    if (const std::string what = internals_in(text, exposes_details(c.where.mode)); !what.empty()) {
      out.violations.push_back("the customer reads " + what + ": " + text);
    }
  }
  for (const std::string_view secret :
       {std::string_view("emulator-secret"),
        agent_token,
        std::string_view("Bearer ey"),
        std::string_view("adminPassword")}) {
    if (contains(now.log, secret)) {
      out.violations.push_back("a secret is in the log: " + std::string(secret));
    }
  }
  // The first reason, not what the clean-up met later.
  if (out.end == "erred" && !c.what.code.empty() && !c.is_killed) {
    bool preserved = false;
    for (const auto& line : base::split(now.log, '\n')) {
      preserved = preserved || (contains(line, "\"order failed\"") && contains(line, c.what.code));
    }
    if (!preserved) {
      out.violations.push_back("the reason is lost: no 'order failed' line says " + c.what.code);
    }
  }
}

void rig::judge(const cell& c, const scene& now, bool waited, outcome& out) const {
  out.end = end_of(c.where.op, now);
  const auto lines =
      side_of(c.where).journal(c.where.in_cloud() ? now.cloud_mark : now.waldur_mark);
  const bool fired = std::any_of(lines.begin(), lines.end(), [](const journal_line& l) {
    return l.is_faulted && l.fault != "before hang";
  });
  if (!fired) {
    out.violations.emplace_back("the trouble never happened");
  }
  if (!is_allowed(c, out.end)) {
    out.violations.push_back("ends as '" + out.end + "'");
  }
  if (c.what.end == ending::waits && !waited) {
    out.violations.emplace_back("did not wait for the trouble to pass");
  }
  judge_objects(c, now, out);
  judge_foreign(c, now, out);
  judge_texts(c, now, out);
}

} // namespace siteagent::integration::matrix
