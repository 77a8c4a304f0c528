// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/context.hpp"

#include "core/base/text.hpp"
#include "core/fleet/files.hpp"

namespace siteagent::fleet::cloud_host {

std::string provider_id_of(std::string_view text) {
  return base::to_lower(base::trim(text));
}

namespace {

base::result<session>
open_loaded(const workplace& w, const loaded_provider& loaded, bool must_be_enabled) {
  if (must_be_enabled) {
    if (auto enabled = check_enabled(*w.settings, loaded.description.id); !enabled) {
      return enabled.error();
    }
  }
  auto bound = bindings_of(*w.settings, loaded.description);
  if (!bound) {
    return bound.error();
  }
  const auto limits = limits_of(*w.settings);
  if (!limits) {
    return limits.error();
  }
  auto opened = open_provider(loaded, *w.settings, *bound, *w.credentials);
  if (!opened) {
    return opened.error();
  }
  (*opened)->listen_to(w.stop);
  session out{.cloud = std::move(*opened), .at = {}};
  static_cast<workplace&>(out.at) = w;
  out.at.cloud = out.cloud.get();
  out.at.bound = std::move(*bound);
  out.at.limits = *limits;
  return out;
}

} // namespace

base::result<session> open_session(const workplace& w, std::string_view provider) {
  const auto loaded = load_provider(provider_id_of(provider), w.plugins);
  if (!loaded) {
    return loaded.error();
  }
  return open_loaded(w, *loaded, true);
}

base::result<session> open_session_unchecked(const workplace& w, std::string_view provider) {
  const auto loaded = load_provider(provider_id_of(provider), w.plugins);
  if (!loaded) {
    return loaded.error();
  }
  return open_loaded(w, *loaded, false);
}

base::result<file_lock> take_lock(const context& c, std::string_view what, bool wait) {
  if (auto made = make_directories(c.where.state); !made) {
    return made.error();
  }
  file_lock::waiting w;
  w.longest = wait ? c.limits.lock_wait : std::chrono::milliseconds(0);
  w.on_wait = [&](const std::string& holder) {
    c.talk->waiting("another command that holds cloud-hosts.lock: " + holder);
  };
  return file_lock::take(c.where.state + "/cloud-hosts.lock", what, w, c.stop);
}

base::json detail_of(const base::error& e) {
  auto parsed = base::json::parse(e.detail);
  return parsed && parsed->is_object() ? std::move(*parsed) : base::json::object();
}

base::error with_detail(base::error e, std::string_view member, base::json value) {
  base::json detail = detail_of(e);
  detail.set(member, std::move(value));
  e.detail = detail.dump();
  return e;
}

base::json to_json(const std::map<std::string, egress_record>& records) {
  base::json out = base::json::object();
  for (const auto& [host, record] : records) {
    out.set(host, base::json::object({{"address", record.address}, {"read_at", record.read_at}}));
  }
  return out;
}

base::json to_json(const std::vector<released_object>& released) {
  base::json out = base::json::array();
  for (const released_object& o : released) {
    out.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}, {"outcome", o.outcome}}));
  }
  return out;
}

base::json to_json(const std::vector<held_object>& held) {
  base::json out = base::json::array();
  for (const held_object& o : held) {
    out.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}, {"cause", o.cause}}));
  }
  return out;
}

base::json to_json(const std::vector<host_object>& objects) {
  base::json out = base::json::array();
  for (const host_object& o : objects) {
    out.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}}));
  }
  return out;
}

base::json to_json(const std::vector<check_line>& checks) {
  base::json out = base::json::array();
  for (const check_line& l : checks) {
    out.push_back(base::json::object(
        {{"name", l.name}, {"ok", l.ok}, {"needed", l.needed}, {"detail", l.detail}}
    ));
  }
  return out;
}

std::string text_of(const std::vector<held_object>& held) {
  std::vector<std::string> parts;
  parts.reserve(held.size());
  for (const held_object& o : held) {
    parts.push_back(o.kind + " " + o.id + " (" + o.cause + ")");
  }
  return base::join(parts, "; ");
}

std::string text_of_checkpoint(const base::json& what) {
  if (what["phase"].string_or("") == "wait") {
    const std::string of = what["class"].string_or("");
    const auto ms = what["for_ms"].integer();
    return "the cloud, which limits calls" + (of.empty() ? of : " of class " + of) +
           (ms ? " for " + std::to_string((*ms + 999) / 1000) + " s" : std::string());
  }
  const bool is_removal = what["verb"].string_or("") == "delete";
  std::string text = (is_removal ? "the removal of " : "") + what["kind"].string_or("an object");
  if (const auto percent = what["percent"].integer()) {
    text += ", " + std::to_string(*percent) + " %";
  }
  return text;
}

known_host known_host_of(const target& t) {
  return {
      .name = t.name,
      .location = t.cloud->location,
      .vm_id = t.cloud->vm_id,
      .resources = t.cloud->resources};
}

target host_at(std::string_view name, const destination& where) {
  return {
      .name = std::string(name),
      .kind = "local",
      .ssh = where.text(),
      .hostnames = {},
      .release_platform = {},
      .cloud = {}};
}

} // namespace siteagent::fleet::cloud_host
