// SPDX-License-Identifier: MIT
// The changing half of the fake: objects, references, operations.
#include "tests/unit/azure/fake_arm.hpp"

#include "tests/unit/azure/fake_arm_parts.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::azure::test {

using base::json;

net::response fake_arm::accepted(int status, json body, operation o) {
  for (auto f = failures_.begin(); f != failures_.end(); ++f) {
    if (contains(o.key, f->path_part)) {
      o.failure_code = f->code;
      o.failure_message = f->message;
      failures_.erase(f);
      break;
    }
  }
  const std::string name = std::to_string(next_operation_++);
  const std::string url = std::string(base_url) + "/subscriptions/" + std::string(subscription) +
                          "/providers/Microsoft.Test/locations/westeurope/operations/" + name +
                          "?t=1&c=A%2Fb";
  o.polls_left = polls;
  o.due = clock_.steady() + std::chrono::seconds(10);
  operations_[name] = std::move(o);
  return json_response(status, body, {{"azure-asyncoperation", url}, {"retry-after", "3"}});
}

void fake_arm::end(operation& o) {
  if (const auto finish = std::exchange(o.finish, nullptr)) {
    finish();
  }
}

void fake_arm::end_due_operations() {
  for (auto& [name, o] : operations_) {
    if (o.due <= clock_.steady()) {
      end(o);
    }
  }
}

net::response fake_arm::poll(const std::string& path) {
  operation& o = operations_.at(path.substr(path.rfind('/') + 1));
  if (o.polls_left-- > 0) {
    return json_response(
        200,
        json::object({{"status", "InProgress"}, {"percentComplete", 40}}),
        {{"retry-after", "3"}}
    );
  }
  end(o);
  if (o.failure_code.empty()) {
    return json_response(200, json::object({{"status", "Succeeded"}}));
  }
  return json_response(
      200,
      json::object(
          {{"status", "Failed"},
           {"error", json::object({{"code", o.failure_code}, {"message", o.failure_message}})}}
      )
  );
}

net::response fake_arm::write_object(const net::request& r, const std::string& path) {
  const std::string key = lower(path);
  const bool exists = objects_.count(key) != 0;
  const bool create_only = std::any_of(r.headers.begin(), r.headers.end(), [](const auto& h) {
    return h.first == "If-None-Match" && h.second == "*";
  });
  if (create_only && exists) {
    return refused(412, "PreconditionFailed");
  }
  if (!is_group(key) && objects_.count(group_of(key)) == 0) {
    return not_found("ResourceGroupNotFound");
  }
  json body = *json::parse(r.body);
  json& properties = body.member_ref("properties");
  properties.set("provisioningState", is_group(key) ? "Succeeded" : "Updating");
  if (contains(key, "/publicipaddresses/")) {
    properties.set("ipAddress", "203.0.113.10");
  }
  if (contains(key, "/networkinterfaces/")) {
    properties.member_ref("ipConfigurations")
        .items()[0]
        .member_ref("properties")
        .set("privateIPAddress", "10.0.0.4");
  }
  if (contains(key, "/virtualmachines/")) {
    properties.set("provisioningState", "Creating");
    properties.member_ref("osProfile").erase("adminPassword");
    const std::string disk = path.substr(0, path.find("/providers/")) +
                             "/providers/Microsoft.Compute/disks/" +
                             properties.at({"storageProfile", "osDisk", "name"}).string_or("os");
    put(disk,
        json::object(
            {{"managedBy", path},
             {"properties", json::object({{"provisioningState", "Succeeded"}, {"diskSizeGB", 30}})}}
        ));
    properties.member_ref("storageProfile")
        .member_ref("osDisk")
        .set("managedDisk", json::object({{"id", disk}}));
    // Last: a new member of the body ends the reference to its properties.
    body.set("test-view", *json::parse(R"({"statuses":[{"code":"PowerState/starting"}]})"));
  }
  put(path, std::move(body));
  if (is_group(key)) {
    return json_response(exists ? 200 : 201, objects_[key]);
  }
  const auto finish = [this, key] {
    const auto it = objects_.find(key);
    if (it == objects_.end()) {
      return;
    }
    it->second.member_ref("properties").set("provisioningState", "Succeeded");
    if (contains(key, "/virtualmachines/")) {
      it->second.set(
          "test-view",
          *json::parse(
              R"({"statuses":[{"code":"ProvisioningState/succeeded"},{"code":"PowerState/running"}]})"
          )
      );
    }
  };
  operation o{key, 0, "", "", finish};
  for (const planned_failure& f : failures_) {
    if (contains(key, f.path_part)) {
      o.finish = [this, key, code = f.code, message = f.message] {
        objects_[key].member_ref("properties").set("provisioningState", "Failed");
        objects_[key].set(
            "test-view",
            json::object(
                {{"statuses",
                  json::array({json::object(
                      {{"code", "ProvisioningState/failed/" + code}, {"message", message}}
                  )})}}
            )
        );
      };
      break;
    }
  }
  return accepted(exists ? 200 : 201, objects_[key], std::move(o));
}

net::response fake_arm::change_tags(const net::request& r, const std::string& path) {
  const auto it = objects_.find(lower(path));
  if (it == objects_.end()) {
    return not_found("ResourceNotFound");
  }
  it->second.set("tags", (*json::parse(r.body))["tags"]);
  return json_response(200, it->second);
}

// Who refers to this id? The machine to its interface, the interface to the rest.
std::string fake_arm::reference_to(const std::string& key) const {
  for (const auto& [other, object] : objects_) {
    if (other == key || other.rfind(key + "/", 0) == 0 || contains(other, "/disks/")) {
      continue;
    }
    const std::string text = lower(object["properties"].dump());
    std::string needle = lower(json(key).dump());
    needle.pop_back();
    const bool network = contains(key, "/virtualnetworks/");
    if (text.find(needle + (network ? "" : "\"")) != std::string::npos) {
      return other;
    }
  }
  return "";
}

std::optional<net::response> fake_arm::refusal_to_delete(const std::string& key) const {
  if (is_group(key) || contains(key, "/virtualmachines/") || contains(key, "/disks/")) {
    return std::nullopt;
  }
  const std::string user = reference_to(key);
  if (user.empty()) {
    return std::nullopt;
  }
  return refused(
      400,
      contains(key, "/networkinterfaces/") ? "NicInUse" : "InUseCannotBeDeleted",
      "used by " + user
  );
}

void fake_arm::erase_machine(const std::string& key) {
  const json machine = objects_.at(key);
  objects_.erase(key);
  if (!cascades) {
    return;
  }
  const json& p = machine["properties"];
  if (p.at({"storageProfile", "osDisk", "deleteOption"}).string_or("") == "Delete") {
    objects_.erase(lower(p.at({"storageProfile", "osDisk", "managedDisk", "id"}).string_or("")));
  }
  for (const json& nic : p.at({"networkProfile", "networkInterfaces"}).items()) {
    if (nic.at({"properties", "deleteOption"}).string_or("") == "Delete") {
      objects_.erase(lower(nic["id"].string_or("")));
    }
  }
}

net::response fake_arm::remove_object(const std::string& path) {
  const std::string key = lower(path);
  if (objects_.count(key) == 0) {
    return is_group(key) ? not_found("ResourceGroupNotFound") : json_response(204, json());
  }
  if (const auto no = refusal_to_delete(key)) {
    return *no;
  }
  objects_[key].member_ref("properties").set("provisioningState", "Deleting");
  const auto finish = [this, key] {
    if (is_group(key)) {
      std::erase_if(objects_, [&](const auto& o) {
        return o.first == key || o.first.rfind(key + "/", 0) == 0;
      });
    } else if (contains(key, "/virtualmachines/")) {
      erase_machine(key);
    } else {
      std::erase_if(objects_, [&](const auto& o) {
        return o.first == key || o.first.rfind(key + "/", 0) == 0;
      });
    }
  };
  return accepted(202, json(), {key, 0, "", "", finish});
}

net::response fake_arm::act(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string key = lower(path.substr(0, slash));
  const std::string verb = path.substr(slash + 1);
  if (objects_.count(key) == 0) {
    return not_found("ResourceNotFound");
  }
  const std::string end = verb == "start" ? "running" : "deallocated";
  const bool fails = std::any_of(failures_.begin(), failures_.end(), [&](const planned_failure& f) {
    return contains(key, f.path_part);
  });
  const auto finish = [this, key, end, fails] {
    if (!fails) {
      objects_[key].set(
          "test-view",
          json::object({{"statuses", json::array({json::object({{"code", "PowerState/" + end}})})}})
      );
    }
  };
  return accepted(202, json(), {key, 0, "", "", finish});
}

} // namespace siteagent::azure::test
