// SPDX-License-Identifier: MIT
// Making a host: address, group, interface, machine; all or nothing.
#include "plugins/null/cloud_host/provider.hpp"

#include "core/base/clock.hpp"
#include "core/base/uuid.hpp"
#include "plugins/null/cloud_host/waiting.hpp"

#include <algorithm>

namespace siteagent::null {

namespace {

using base::json;

constexpr std::int64_t own_group_priority = 100;

struct made_object {
  std::string_view kind;
  std::string name;
};

json to_json(const made_object& o) {
  return json::object({{"kind", o.kind}, {"id", id_of(o.kind, o.name)}});
}

class creation {
public:
  explicit creation(scene& s)
      : s_(s), name_(s.body()["name"].string_or("")), names_(name_),
        location_(s.body()["location"].string_or("")) {}

  json check();
  json make();

private:
  void look_for_others();
  void require_group() const;
  void put(std::string_view kind, const std::string& name, const scene::maker& properties);
  void put_address();
  void put_group();
  void put_interface();
  json put_machine();
  std::string why_not_removed(const made_object& o);
  [[noreturn]] void undo(sagent::failure cause);
  json common() const;

  scene& s_;
  const std::string name_;
  const host_names names_;
  const std::string location_;
  std::vector<made_object> made_;
};

// The cloud's PUT overwrites: what is there must be known before the first one.
void creation::look_for_others() {
  for (const auto& [of_kind, name] :
       {std::pair(kind::address, names_.address),
        std::pair(kind::group, names_.group),
        std::pair(kind::interface, names_.interface),
        std::pair(kind::machine, names_.machine),
        std::pair(kind::disk, names_.disk)}) {
    if (!s_.read(of_kind, name)) {
      continue;
    }
    const std::string id = id_of(of_kind, name);
    sagent::failure f(
        SAGENT_E_CONFLICT,
        "the " + words_of(of_kind) + " " + id +
            " exists already; nothing was overwritten, choose another name or remove it"
    );
    f.detail = json::object({{"http_status", 409},
                             {"resource", json::object({{"kind", of_kind}, {"id", id}})}}
    ).dump();
    throw f;
  }
}

void creation::require_group() const {
  const std::string group = s_.body()["group_id"].string_or("");
  if (s_.state()["objects"].find(group) == nullptr) {
    throw sagent::failure(
        SAGENT_E_NOT_FOUND, "the application security group '" + group + "' is not there"
    );
  }
}

json creation::common() const {
  return json::object({{"location", location_}, {"tags", s_.body()["tags"]}});
}

void creation::put(
    std::string_view of_kind, const std::string& name, const scene::maker& properties
) {
  // Noted before the answer: whatever went wrong, what is there is removed again.
  made_.push_back({of_kind, name});
  s_.put(of_kind, name, [&](const json& state) {
    json all = common();
    const json own = properties(state);
    for (const auto& [key, value] : own.members()) {
      all.set(key, value);
    }
    return all;
  });
}

void creation::put_address() {
  put(kind::address, names_.address, [this](const json& state) {
    const waiting_host host = next_waiting_host(s_.settings(), state);
    return json::object(
        {{"address", host.address},
         {"port", host.port},
         {"folder", host.folder},
         {"sku", "standard"},
         {"allocation", "static"}}
    );
  });
}

void creation::put_group() {
  const json rule = admitting_rule(
      s_.body()["group"].string_or(""),
      s_.body()["addresses"],
      s_.body()["port"].integer().value_or(22),
      "*",
      own_group_priority
  );
  put(kind::group, names_.group, [&](const json&) {
    return json::object({{"rules", json::array({rule})}});
  });
}

void creation::put_interface() {
  put(kind::interface, names_.interface, [this](const json&) {
    return json::object(
        {{"subnet", "net-" + location_ + "/hosts"},
         {"address_id", id_of(kind::address, names_.address)},
         {"group_id", id_of(kind::group, names_.group)},
         {"application_groups", json::array({s_.body()["group_id"]})}}
    );
  });
}

json creation::put_machine() {
  // The record of a machine that fails keeps its disk, too: both are there from the start.
  s_.change([&](json& content) {
    json disk = common();
    disk.set("kind", kind::disk).set("name", names_.disk).set("status", "ready");
    disk.set("size_gb", s_.body()["disk_gb"]);
    content.member_ref("objects").set(id_of(kind::disk, names_.disk), std::move(disk));
  });
  made_.push_back({kind::disk, names_.disk});
  const json address = s_.read(kind::address, names_.address).value_or(json());
  put(kind::machine, names_.machine, [&](const json& state) {
    return json::object(
        {{"vm_id", base::uuid::random().dashed()},
         {"power", "running"},
         {"size", canonical_size(state, s_.body()["size"].string_or("")).value_or("")},
         {"login", s_.body()["login"]},
         {"public_key", s_.body()["public_key"]},
         {"created_at", base::to_rfc3339(base::real_clock().wall())},
         {"interface_id", id_of(kind::interface, names_.interface)},
         {"disk_id", id_of(kind::disk, names_.disk)},
         {"folder", address["folder"]}}
    );
  });
  boot(
      address["folder"].string_or(""),
      s_.body()["public_key"].string_or(""),
      s_.body()["user_data"].string_or("")
  );
  const json machine = s_.read(kind::machine, names_.machine).value_or(json());
  return json::object(
      {{"address", address["address"]},
       {"ssh_port", address["port"]},
       {"vm_id", machine["vm_id"]},
       {"created_at", machine["created_at"]},
       {"resources",
        json::object(
            {{kind::machine.data(), id_of(kind::machine, names_.machine)},
             {kind::disk.data(), id_of(kind::disk, names_.disk)},
             {kind::interface.data(), id_of(kind::interface, names_.interface)},
             {kind::group.data(), id_of(kind::group, names_.group)},
             {kind::address.data(), id_of(kind::address, names_.address)}}
        )}}
  );
}

// "" = it is gone.
std::string creation::why_not_removed(const made_object& o) {
  try {
    const removed r = s_.remove(o.kind, o.name);
    return r.gone ? "" : r.cause;
  } catch (const sagent::failure& f) {
    return f.message;
  }
}

// In reverse order, every one, each confirmed; the first cause stays the message.
void creation::undo(sagent::failure cause) {
  json created = json::array();
  for (const made_object& o : made_) {
    if (s_.state()["objects"].find(id_of(o.kind, o.name)) != nullptr) {
      created.push_back(to_json(o));
    }
  }
  json left = json::array();
  bool is_in_use = false; // whatever is older serves one that is not gone
  for (auto o = made_.rbegin(); o != made_.rend(); ++o) {
    const std::string why =
        is_in_use ? "not tried: it is used by what is not gone" : why_not_removed(*o);
    if (!why.empty()) {
      is_in_use = is_in_use || o->kind == kind::machine || o->kind == kind::interface;
      left.push_back(to_json(*o).set("cause", why));
    }
  }
  auto detail = json::parse(cause.detail);
  json all = detail && detail->is_object() ? *std::move(detail) : json::object();
  cause.detail = all.set("created", created).set("not_removed", left).dump();
  throw std::move(cause);
}

json creation::make() {
  (void)get_location(s_.state(), location_);
  look_for_others();
  require_group();
  try {
    put_address();
    put_group();
    put_interface();
    return put_machine();
  } catch (const told_to_stop&) {
    throw;
  } catch (const sagent::failure& cause) {
    undo(cause);
  }
}

json creation::check() {
  json checks = json::array();
  const auto run = [&](const char* what, const std::string& good, const auto& look) {
    std::string bad;
    try {
      look();
    } catch (const told_to_stop&) {
      throw;
    } catch (const sagent::failure& f) {
      bad = f.message;
    }
    checks.push_back(
        json::object({{"name", what}, {"ok", bad.empty()}, {"detail", bad.empty() ? good : bad}})
    );
  };
  run("subnet", "net-" + location_ + "/hosts", [&] {
    (void)get_location(s_.state(), location_);
    s_.read_nothing(kind::subnet, location_);
  });
  run("image", "null image", [&] { s_.read_nothing("image", "null"); });
  run("size", s_.body()["size"].string_or(""), [&] {
    if (!canonical_size(s_.state(), s_.body()["size"].string_or(""))) {
      throw sagent::failure(SAGENT_E_INVALID, "the null provider has no such size");
    }
  });
  run("quota", "there is room", [&] {
    const json state = s_.state();
    for (const auto& [of_kind, most] : state["quota"].members()) {
      std::int64_t count = 0;
      for (const auto& [id, object] : state["objects"].members()) {
        count += object["kind"] == json(of_kind) ? 1 : 0;
      }
      if (count >= most.integer().value_or(0)) {
        throw sagent::failure(SAGENT_E_QUOTA, "no " + words_of(of_kind) + " is left");
      }
    }
  });
  run("names", "they are free", [&] { look_for_others(); });
  run("rights", "all of them", [&] { s_.read_nothing("rights", "null"); });
  return json::object({{"checks", checks}});
}

} // namespace

void null_hosts::create_host(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "create_host", call, request);
  log_in(s);
  creation c(s);
  s.finish(s.is_dry_run() ? c.check() : c.make());
}

} // namespace siteagent::null
