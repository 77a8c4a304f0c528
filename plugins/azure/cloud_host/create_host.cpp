// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/create_host.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/cloud_host/admit.hpp"
#include "plugins/azure/cloud_host/host_reading.hpp"
#include "plugins/azure/cloud_host/site_network.hpp"
#include "plugins/azure/create.hpp"
#include "plugins/azure/disk_tags.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/ssh_key.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

constexpr std::size_t largest_user_data = 65'535;
constexpr std::array<kind_id, 4> order_of_creation{
    kind_id::public_ip_address,
    kind_id::network_security_group,
    kind_id::network_interface,
    kind_id::virtual_machine};

base::error invalid(const std::string& why) {
  return make_error(reason::invalid, base::error_code::invalid, "create a cloud host: " + why);
}

base::result<void> check_request(const host_plan& p, bool dry_run) {
  if (p.name.empty() || p.location.empty() || p.size.empty() || p.disk_gb < 1 || p.login.empty()) {
    return invalid("the request lacks name, location, size, disk_gb or login");
  }
  if (p.user_data.size() > largest_user_data) {
    return invalid(
        "the user data is " + std::to_string(p.user_data.size()) + " bytes long, Azure takes " +
        std::to_string(largest_user_data)
    );
  }
  const auto group = resource_id::parse(p.objects.application_group);
  const bool fits =
      group &&
      base::equals_ignoring_case(group->type(), kind_of(kind_id::application_security_group).type);
  if (!dry_run && !fits) {
    return invalid("group_id '" + p.objects.application_group + "' is no application group");
  }
  return {};
}

class creator {
public:
  explicit creator(const host_creation& c) : c_(c), p_(c.plan) {}

  base::result<json> run() {
    auto existing = find_existing(c_.cloud, c_.call, p_);
    if (!existing) {
      return existing.error();
    }
    if (!existing->empty()) {
      return already_there(existing->front());
    }
    const auto image = check_with_azure(c_.cloud, c_.call, c_.s.azure, order_of(p_));
    if (!image) {
      return image.error();
    }
    p_.resolved = *image;
    if (image->disk_gib > p_.disk_gb) {
      return invalid(
          "the image needs a disk of " + std::to_string(image->disk_gib) + " GiB, not " +
          std::to_string(p_.disk_gb)
      );
    }
    for (const kind_id which : order_of_creation) {
      if (auto made = make_one(which); !made) {
        return undo(std::move(made).error());
      }
    }
    auto answer = finish();
    return answer ? std::move(answer) : undo(std::move(answer).error());
  }

private:
  base::error already_there(const removal_target& t) const {
    const kind& k = kind_of(t.which);
    base::error e = make_error(
        reason::invalid,
        base::error_code::conflict,
        "cloud host " + p_.name + " cannot be made: the " + words_of(k) + " " + t.id.name() +
            " exists already; nothing was changed (" + t.id.text() + ")"
    );
    add_detail(e, "resource", object_json(k, t.id));
    return e;
  }

  base::result<void> make_one(kind_id which) {
    const kind& k = kind_of(which);
    const resource_id& id = p_.objects.of(which);
    making m{k, id, [&] { return body_of(which, p_); }};
    m.absent = true;
    m.tags = p_.tags;
    touched_.push_back({which, id});
    auto done = make(c_.cloud, c_.call, owner{c_.host_tag, p_.name}, m);
    if (!done) {
      return not_made(k, id, std::move(done).error());
    }
    made_.push_back({which, id});
    if (which == kind_id::public_ip_address) {
      address_ = public_address(done->body);
    } else if (which == kind_id::virtual_machine) {
      model_ = std::move(done->body);
      return check_machine();
    }
    c_.cloud.info(describe("created", k, id));
    return {};
  }

  base::result<void> check_machine() {
    const kind& k = kind_of(kind_id::virtual_machine);
    const bool failed =
        arm::state_of(model_.at({"properties", "provisioningState"})) == arm::run_state::failed;
    if (failed) {
      return not_made(
          k, p_.objects.machine, failure_of_machine(c_.cloud, c_.call, p_.objects.machine)
      );
    }
    if (const auto disk = os_disk_of(model_)) {
      p_.objects.disk = *disk;
    }
    return {};
  }

  base::result<json> finish() {
    if (auto tagged = tag_disk(c_.cloud, c_.call, model_, p_.tags); !tagged) {
      return tagged.error();
    }
    const std::string vm_id = model_.at({"properties", "vmId"}).string_or("");
    if (vm_id.empty() || address_.empty()) {
      return make_error(
          reason::half_made,
          base::error_code::transient,
          "cloud host " + p_.name + " was made, but Azure does not tell " +
              (vm_id.empty() ? "the machine's id" : "its public address")
      );
    }
    json out = json::object({{"address", address_}, {"ssh_port", 22}, {"vm_id", vm_id}});
    if (const std::string created = creation_time(model_); !created.empty()) {
      out.set("created_at", created);
    }
    out.set("resources", to_json(p_.objects));
    return out;
  }

  // Ours is what carries every tag of this attempt. A disk is made by the machine and was not there
  // before: see find_existing.
  std::string objection_to(const removal_target& t, const json& seen) const {
    if (carries(seen, p_.tags)) {
      return "";
    }
    const std::string user = seen["managedBy"].string_or("");
    const bool our_disk = t.which == kind_id::disk && machine_was_tried() &&
                          (user.empty() || same_id(user, p_.objects.machine.text()));
    return our_disk ? "" : "it was made by somebody else";
  }

  bool machine_was_tried() const {
    return std::any_of(touched_.begin(), touched_.end(), [](const removal_target& t) {
      return t.which == kind_id::virtual_machine;
    });
  }

  // What failed may be there because somebody else made it at the same time.
  bool is_foreign(const removal_target& t) const {
    const bool made = std::any_of(made_.begin(), made_.end(), [&](const removal_target& m) {
      return m.which == t.which;
    });
    if (made) {
      return false;
    }
    const kind& k = kind_of(t.which);
    const auto seen = arm::read_if_present(
        c_.cloud.arm(), c_.call, url_of(t.id, k), describe("look for", k, t.id)
    );
    return seen && *seen && !carries(**seen, p_.tags);
  }

  base::error undo(base::error why) {
    json created = json::array();
    for (const removal_target& t : made_) {
      created.push_back(object_json(kind_of(t.which), t.id));
    }
    add_detail(why, "created", std::move(created));
    if (arm::is_stop(why)) {
      return why; // the tool undoes
    }
    std::vector<removal_target> targets = touched_;
    std::erase_if(targets, [this](const removal_target& t) { return is_foreign(t); });
    if (machine_was_tried()) {
      targets.push_back({kind_id::disk, p_.objects.disk});
    }
    const removal_job job{
        c_.cloud,
        c_.call,
        std::move(targets),
        [this](const removal_target& t, const json& seen) { return objection_to(t, seen); },
        false,
        true};
    note_leftovers(why, remove_in_order(job));
    return why;
  }

  static void note_leftovers(base::error& why, const removal_outcome& outcome) {
    json list = json::array();
    std::vector<std::string> words;
    for (const held_object& h : outcome.held) {
      json row = object_json(kind_of(h.which), h.id);
      row.set("cause", h.cause);
      list.push_back(std::move(row));
      words.push_back(
          std::string(kind_of(h.which).name) + " " + h.id.text() + " (" + h.cause + ")"
      );
    }
    if (!words.empty()) {
      why.message += "; could not be removed, and may be billed: " + base::join(words, "; ");
    }
    add_detail(why, "not_removed", std::move(list));
  }

  const host_creation& c_;
  host_plan p_;
  std::vector<removal_target> touched_; // a write was sent, perhaps in vain
  std::vector<removal_target> made_;
  std::string address_;
  json model_;
};

} // namespace

base::result<host_plan> read_plan(const json& body, const host_settings& s, bool dry_run) {
  host_plan p;
  p.name = body["name"].string_or("");
  p.location = normal_location(body["location"].string_or(""));
  p.size = body["size"].string_or("");
  p.disk_gb = body["disk_gb"].integer().value_or(0);
  p.login = body["login"].string_or("");
  p.user_data = body["user_data"].string_or("");
  p.image = s.image;
  p.tags = body["tags"].is_object() ? body["tags"] : json::object();
  p.subnet = subnet_id(s, p.location);
  p.objects = objects_named(s, p.name);
  p.objects.application_group = body["group_id"].string_or("");
  p.rule.name = body["group"].string_or("");
  p.rule.port = body["port"].integer().value_or(22);
  if (auto r = check_request(p, dry_run); !r) {
    return r.error();
  }
  auto addresses = read_addresses(body["addresses"]);
  if (!addresses) {
    return addresses.error();
  }
  p.rule.addresses = std::move(*addresses);
  const std::string key = body["public_key"].string_or("");
  if (!key.empty() || !dry_run) {
    auto checked = checked_ssh_key(key);
    if (!checked) {
      return invalid("public_key: " + checked.error().message);
    }
    p.public_key = std::move(*checked);
  }
  return p;
}

machine_order order_of(const host_plan& p) {
  machine_order out;
  out.name = p.name;
  out.location = p.location;
  out.size = p.size;
  out.image = p.image;
  out.user_name = p.login;
  return out;
}

base::result<std::vector<removal_target>>
find_existing(const services& cloud, const arm::scope& call, const host_plan& p) {
  std::vector<removal_target> out;
  for (const kind_id which : host_kinds) {
    const kind& k = kind_of(which);
    const resource_id& id = p.objects.of(which);
    auto seen = arm::read_if_present(cloud.arm(), call, url_of(id, k), describe("look for", k, id));
    if (!seen) {
      return std::move(seen).error();
    }
    if (*seen) {
      out.push_back({which, id});
    }
  }
  return out;
}

base::result<json> create_host(const host_creation& c) {
  return creator(c).run();
}

} // namespace siteagent::azure::cloud_host
