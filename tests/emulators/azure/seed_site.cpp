// SPDX-License-Identifier: MIT
#include "seed_site.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

using base::json;
using base::result;

namespace {

constexpr std::string_view default_tenant = "22222222-2222-2222-2222-222222222222";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool same(std::string_view a, std::string_view b) {
  return base::to_lower(a) == base::to_lower(b);
}

// Of one setting or a list of it: the texts that are there.
void collect(std::vector<std::string>& out, const json& value) {
  if (value.is_string()) {
    out.push_back(value.string_or(""));
  }
  for (const json& item : value.is_array() ? value.items() : std::vector<json>()) {
    collect(out, item);
  }
}

std::vector<std::string> named(const json& settings, std::string_view one, std::string_view many) {
  std::vector<std::string> out;
  collect(out, settings[one]);
  collect(out, settings[many]);
  return out;
}

// GiB of a core, by the letters of the family.
std::int64_t memory_of_core(const std::string& family) {
  const char letter = family.empty() ? 'D' : family.front();
  return letter == 'F' ? 2 : letter == 'E' ? 8 : letter == 'M' ? 28 : 4;
}

// "Standard_E4s_v5": letters, cores, features, version.
size_entry size_named(const std::string& name) {
  const std::vector<std::string_view> parts = base::split(name, '_');
  const std::string word(parts.size() > 1 ? parts[1] : name);
  std::size_t letters = 0;
  while (letters < word.size() && !is_digit(word[letters])) {
    ++letters;
  }
  std::size_t end = letters;
  while (end < word.size() && is_digit(word[end])) {
    ++end;
  }
  const std::string family = word.substr(0, letters);
  size_entry s;
  s.name = name;
  s.cores =
      end > letters && end - letters < 5 ? std::stoll(word.substr(letters, end - letters)) : 1;
  s.cores = std::max<std::int64_t>(s.cores, 1);
  s.memory_mib = s.cores * memory_of_core(family) * 1024;
  s.memory_gib = std::to_string(s.memory_mib / 1024);
  s.family = "standard" + family + word.substr(end) +
             (parts.size() > 2 ? std::string(parts[2]) : std::string()) + "Family";
  return s;
}

void add_subscription(catalog& c, const json& settings) {
  const std::string tenant = settings["tenant_id"].string_or(std::string(default_tenant));
  const std::string id = settings["subscription_id"].string_or("");
  const auto known =
      std::find_if(c.subscriptions.begin(), c.subscriptions.end(), [&](const auto& s) {
        return same(s.id, id);
      });
  if (!id.empty() && known == c.subscriptions.end()) {
    subscription_entry s;
    s.id = base::to_lower(id);
    s.tenant = tenant;
    c.subscriptions.push_back(std::move(s));
  }
  const std::string client = settings["client_id"].string_or("");
  const auto application =
      std::find_if(c.applications.begin(), c.applications.end(), [&](const auto& a) {
        return same(a.client_id, client) && same(a.tenant, tenant);
      });
  if (!client.empty() && application == c.applications.end()) {
    application_entry a;
    a.tenant = tenant;
    a.client_id = client;
    a.secret = "emulator-secret";
    a.object_id = client;
    c.applications.push_back(std::move(a));
  }
}

void add_locations(catalog& c, const json& settings) {
  for (const std::string& name : named(settings, "default_location", "allowed_locations")) {
    const std::string normal = normalized_location(name);
    if (std::none_of(c.locations.begin(), c.locations.end(), [&](const auto& l) {
          return l.name == normal;
        })) {
      location_entry l;
      l.name = normal;
      l.display = name;
      l.geography = "Europe";
      c.locations.push_back(std::move(l));
    }
  }
}

void add_sizes(catalog& c, const json& settings) {
  for (const std::string& name : named(settings, "default_size", "allowed_sizes")) {
    if (std::none_of(c.sizes.begin(), c.sizes.end(), [&](const auto& s) {
          return same(s.name, name);
        })) {
      c.sizes.push_back(size_named(name));
    }
  }
}

image_entry platform_image(const std::vector<std::string_view>& parts) {
  image_entry i;
  i.publisher = parts[0];
  i.offer = parts[1];
  i.sku = parts[2];
  i.version = parts.size() > 3 && !same(parts[3], "latest") ? std::string(parts[3]) : "1.0.0";
  return i;
}

void add_image(catalog& c, const std::string& text) {
  if (text.starts_with("/")) {
    if (std::none_of(c.own_images.begin(), c.own_images.end(), [&](const auto& i) {
          return same(i.id, text);
        })) {
      image_entry own;
      own.id = text;
      own.version = "1.0.0";
      c.own_images.push_back(std::move(own));
    }
    return;
  }
  const std::vector<std::string_view> parts = base::split(text, ':');
  if (parts.size() < 3) {
    return; // the plugin refuses it, which is what a rehearsal is for
  }
  const image_entry wanted = platform_image(parts);
  const bool any_version = parts.size() < 4 || same(parts[3], "latest");
  if (std::none_of(c.images.begin(), c.images.end(), [&](const auto& i) {
        return same(i.publisher, wanted.publisher) && same(i.offer, wanted.offer) &&
               same(i.sku, wanted.sku) && (any_version || same(i.version, wanted.version));
      })) {
    c.images.push_back(wanted);
  }
}

void add_images(catalog& c, const json& settings) {
  for (const std::string& text : named(settings, "default_image", "allowed_images")) {
    add_image(c, text);
  }
  const json& object = settings["default_image"];
  if (object.is_object()) {
    const std::string id = object["id"].string_or("");
    add_image(
        c,
        !id.empty()
            ? id
            : object["publisher"].string_or("") + ":" + object["offer"].string_or("") + ":" +
                  object["sku"].string_or("") + ":" + object["version"].string_or("latest")
    );
  }
}

std::vector<json> sites_in(const json& value) {
  return value.is_array() ? value.items() : std::vector<json>{value};
}

// /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/N/subnets/X
result<void> add_subnet(seeder& s, const std::string& id, const std::string& location) {
  const std::vector<std::string_view> parts = base::split(id, '/');
  if (parts.size() != 11) {
    return {}; // no id of a subnet: the plugin says so
  }
  const std::string network = id.substr(0, id.rfind("/subnets/"));
  if (s.state().resources.contains(base::to_lower(network))) {
    return {};
  }
  if (auto done = ensure_group(s, std::string(parts[2]), std::string(parts[4]), location); !done) {
    return done;
  }
  const json subnet = json::object(
      {{"name", parts[10]}, {"properties", json::object({{"addressPrefix", "10.0.0.0/16"}})}}
  );
  return s.put(
      "site",
      network,
      json::object(
          {{"location", location},
           {"properties",
            json::object(
                {{"addressSpace", json::object({{"addressPrefixes", json::array({"10.0.0.0/8"})}})},
                 {"subnets", json::array({subnet})}}
            )}}
      )
  );
}

} // namespace

result<void> add_site_offers(catalog& c, const json& value) {
  for (const json& settings : sites_in(value)) {
    if (!settings.is_object()) {
      return wrong_seed("site", "must be the backend_settings of an offering, or a list of them");
    }
    add_subscription(c, settings);
    add_locations(c, settings);
    add_sizes(c, settings);
    add_images(c, settings);
  }
  return {};
}

result<void> add_site_objects(seeder& s, const json& value) {
  for (const json& settings : sites_in(value)) {
    const std::string location =
        normalized_location(settings["default_location"].string_or("westeurope"));
    const std::string subscription =
        base::to_lower(settings["subscription_id"].string_or(s.first_subscription()));
    if (const std::string group = settings["default_resource_group"].string_or("");
        !group.empty()) {
      if (auto done = ensure_group(s, subscription, group, location); !done) {
        return done;
      }
    }
    if (const std::string subnet = settings["subnet_id"].string_or(""); !subnet.empty()) {
      if (auto done = add_subnet(s, subnet, location); !done) {
        return done;
      }
    }
  }
  return {};
}

} // namespace siteagent::azure_emulator
