// SPDX-License-Identifier: MIT
// Returning a host: machine with its disk, interface, then group and address, each confirmed gone.
#include "plugins/null/cloud_host/provider.hpp"

#include "plugins/null/cloud_host/waiting.hpp"

namespace siteagent::null {

namespace {

using base::json;

class removal {
public:
  explicit removal(scene& s)
      : s_(s), name_(s.body()["name"].string_or("")), names_(name_),
        known_(s.body()["vm_id"].string_or("")), tag_(s.body()["tag"].string_or("")) {}

  json run();

private:
  bool is_another_generation();
  // True: it is gone. Reports it either way.
  bool release(std::string_view kind, const std::string& name);
  bool try_release(std::string_view kind, const std::string& name);
  bool report(std::string_view kind, const std::string& name, const char* outcome);
  void
  hold(std::string_view kind, const std::string& name, const std::string& cause, bool retryable);
  void hold_if_there(std::string_view kind, const std::string& name, const std::string& cause);

  json answer() const { return json::object({{"released", released_}, {"held", held_}}); }

  scene& s_;
  const std::string name_;
  const host_names names_;
  const std::string known_;
  const std::string tag_;
  json released_ = json::array();
  json held_ = json::array();
};

void removal::hold(
    std::string_view of_kind, const std::string& name, const std::string& cause, bool retryable
) {
  held_.push_back(json::object(
      {{"kind", of_kind}, {"id", id_of(of_kind, name)}, {"cause", cause}, {"retryable", retryable}}
  ));
}

void removal::hold_if_there(
    std::string_view of_kind, const std::string& name, const std::string& cause
) {
  if (s_.state()["objects"].find(id_of(of_kind, name)) != nullptr) {
    hold(of_kind, name, cause, true); // as soon as the other is gone
  }
}

bool removal::report(std::string_view of_kind, const std::string& name, const char* outcome) {
  released_.push_back(
      json::object({{"kind", of_kind}, {"id", id_of(of_kind, name)}, {"outcome", outcome}})
  );
  return true;
}

bool removal::is_another_generation() {
  const auto machine = s_.read(kind::machine, names_.machine);
  const std::string there = machine ? (*machine)["vm_id"].string_or("") : known_;
  if (known_.empty() || there == known_) {
    return false;
  }
  hold(
      kind::machine,
      names_.machine,
      "the machine of that name is " + there + " now, not the recorded " + known_,
      false
  );
  return true;
}

// What cannot be read is not gone: held, and the rest goes on.
bool removal::release(std::string_view of_kind, const std::string& name) {
  try {
    return try_release(of_kind, name);
  } catch (const told_to_stop&) {
    throw;
  } catch (const sagent::failure& f) {
    const auto read = base::class_of(f.code);
    hold(
        of_kind,
        name,
        f.message,
        read == base::error_class::transient || read == base::error_class::outcome_unknown
    );
    return false;
  }
}

bool removal::try_release(std::string_view of_kind, const std::string& name) {
  const auto object = s_.read(of_kind, name);
  if (!object) {
    // Whoever asks by name alone wants to know what there was, not what there could have been.
    return known_.empty() || report(of_kind, name, "already_gone");
  }
  if ((*object)["tags"][tag_].string_or("") != name_) {
    hold(
        of_kind,
        name,
        "it does not carry the tag " + tag_ + "=" + name_ + "; it was not touched",
        false
    );
    return false;
  }
  if (s_.is_dry_run()) {
    return report(of_kind, name, "deleted");
  }
  const removed r = s_.remove(of_kind, name);
  if (!r.gone) {
    hold(of_kind, name, r.cause, r.is_out_of_time);
    return false;
  }
  if (of_kind == kind::machine) {
    shut_down((*object)["folder"].string_or(""));
  }
  return report(of_kind, name, "deleted");
}

json removal::run() {
  if (is_another_generation()) {
    return answer();
  }
  const bool had_disk = s_.state()["objects"].find(id_of(kind::disk, names_.disk)) != nullptr;
  if (!release(kind::machine, names_.machine)) {
    for (const auto& [of_kind, name] :
         {std::pair(kind::disk, names_.disk),
          std::pair(kind::interface, names_.interface),
          std::pair(kind::group, names_.group),
          std::pair(kind::address, names_.address)}) {
      hold_if_there(of_kind, name, "not tried: the machine is not gone");
    }
    return answer();
  }
  if (had_disk && !s_.is_dry_run() && !s_.read(kind::disk, names_.disk)) {
    report(kind::disk, names_.disk, "deleted"); // with the machine
  } else {
    release(kind::disk, names_.disk);
  }
  if (!release(kind::interface, names_.interface)) {
    for (const auto& [of_kind, name] :
         {std::pair(kind::group, names_.group), std::pair(kind::address, names_.address)}) {
      hold_if_there(of_kind, name, "not tried: the interface is not gone");
    }
    return answer();
  }
  release(kind::group, names_.group);
  release(kind::address, names_.address);
  return answer();
}

} // namespace

void null_hosts::delete_host(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "delete_host", call, request);
  log_in(s);
  s.finish(removal(s).run());
}

} // namespace siteagent::null
