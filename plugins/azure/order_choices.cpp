// SPDX-License-Identifier: MIT
#include "plugins/azure/order_choices.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/azure_checks.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/guard_rails.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/offered.hpp"
#include "plugins/azure/own_network.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

namespace siteagent::azure {

namespace {

using base::json;
using texts = std::vector<std::string>;

constexpr arm::milliseconds a_day = std::chrono::hours(24);
constexpr arm::milliseconds an_hour = std::chrono::hours(1);
constexpr arm::milliseconds some_minutes = std::chrono::minutes(5);

// Free images without a purchase plan, for sites that name none; those a location lacks drop out.
constexpr auto usual_images = std::to_array<std::string_view>({
    "Canonical:ubuntu-24_04-lts:server:latest",
    "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:latest",
    "Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest",
    "Debian:debian-12:12-gen2:latest",
    "Debian:debian-12:12:latest",
    "almalinux:almalinux-x86_64:9-gen2:latest",
});

void add_once(texts& to, const std::string& text) {
  const bool known = std::any_of(to.begin(), to.end(), [&](const std::string& t) {
    return base::equals_ignoring_case(t, text);
  });
  if (!text.empty() && !known) {
    to.push_back(text);
  }
}

// Keeps what `objection` has nothing against.
void sift(offer& o, const std::function<std::string(const std::string&)>& objection) {
  texts kept;
  for (std::string& choice : o.kept) {
    std::string reason = objection(choice);
    if (reason.empty()) {
      kept.push_back(std::move(choice));
    } else {
      o.drop(choice, std::move(reason));
    }
  }
  o.kept = std::move(kept);
}

class selection {
public:
  selection(
      const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
  )
      : cloud_(cloud), s_(s), call_(call), asked_(asked) {}

  base::result<void> run();

  offer locations;
  offer sizes;
  offer images;

private:
  base::result<void> start_locations();
  void start_images();
  base::result<void> start_sizes(const std::string& location);

  base::result<const sizes_by_name*> sizes_in(const std::string& location);
  std::string objection_to_size(const std::string& location, const std::string& size);
  std::string objection_to_quota(const std::string& location, const size_info& size);
  std::string objection_to_image(const std::string& location, const std::string& image);
  std::string
  objection_to_pair(const std::string& location, const std::string& size, const std::string& image);
  std::string objection_to_location(const std::string& location);
  base::result<std::shared_ptr<const image_info>>
  image_in(const std::string& location, const std::string& image);

  const services& cloud_;
  const settings& s_;
  const arm::scope& call_;
  const candidates& asked_;
  std::map<std::string, std::shared_ptr<const sizes_by_name>> sizes_;
  std::optional<base::error> trouble_; // a read that failed: nothing can be said then
};

base::result<void> selection::start_locations() {
  const auto known = cloud_.facts().locations.get(call_, cloud_.clock(), "", a_day, [&] {
    return cloud_.resources().locations(call_);
  });
  if (!known) {
    return known.error();
  }
  locations.is_named = asked_.locations || !asked_.only_these;
  const texts& named = asked_.locations ? *asked_.locations : s_.allowed_locations;
  texts from = asked_.locations || !named.empty() ? named : **known;
  if (asked_.only_these && !asked_.locations) {
    from = s_.default_location.empty() ? texts(from.begin(), from.begin() + !from.empty())
                                       : texts{s_.default_location};
  }
  for (const std::string& l : from) {
    add_once(locations.kept, l);
  }
  sift(locations, [&](const std::string& l) -> std::string {
    const std::string name = normal_location(l);
    if (!is_offered_location(s_, l)) {
      return "not among allowed_locations";
    }
    const bool exists = std::find((*known)->begin(), (*known)->end(), name) != (*known)->end();
    return exists ? "" : "no location of the subscription";
  });
  // The default leads: the sizes are judged by what it has.
  std::stable_partition(locations.kept.begin(), locations.kept.end(), [&](const std::string& l) {
    return normal_location(l) == s_.default_location;
  });
  return {};
}

void selection::start_images() {
  images.is_named = asked_.images || (!asked_.only_these && !s_.allowed_images.empty());
  if (asked_.images) {
    images.kept = *asked_.images;
    return;
  }
  add_once(images.kept, default_image_text(s_));
  if (asked_.only_these) {
    return;
  }
  for (const std::string& allowed : s_.allowed_images) {
    // Listed without a version: offered in every one, so the newest.
    const auto colons = std::count(allowed.begin(), allowed.end(), ':');
    add_once(images.kept, colons == 2 ? allowed + ":latest" : allowed);
  }
  if (s_.allowed_images.empty()) {
    for (const std::string_view usual : usual_images) {
      add_once(images.kept, std::string(usual));
    }
  }
}

base::result<void> selection::start_sizes(const std::string& location) {
  const auto all = sizes_in(location);
  if (!all) {
    return all.error();
  }
  sizes.is_named = asked_.sizes || (!asked_.only_these && !s_.allowed_sizes.empty());
  if (asked_.sizes) {
    sizes.kept = *asked_.sizes;
    return {};
  }
  if (asked_.only_these) {
    add_once(sizes.kept, s_.default_size);
    return {};
  }
  if (!s_.allowed_sizes.empty()) {
    sizes.kept = s_.allowed_sizes;
    return {};
  }
  std::vector<const size_info*> sorted;
  for (const auto& [key, size] : **all) {
    sorted.push_back(&size);
  }
  std::sort(sorted.begin(), sorted.end(), [](const size_info* a, const size_info* b) {
    return std::tie(a->family, a->cores, a->name) < std::tie(b->family, b->cores, b->name);
  });
  for (const size_info* size : sorted) {
    sizes.kept.push_back(size->name);
  }
  return {};
}

base::result<const sizes_by_name*> selection::sizes_in(const std::string& location) {
  const std::string name = normal_location(location);
  const auto kept = sizes_.find(name);
  if (kept != sizes_.end()) {
    return kept->second.get();
  }
  auto read = cloud_.facts().sizes.get(call_, cloud_.clock(), name, a_day, [&] {
    return cloud_.compute().sizes(call_, name);
  });
  if (!read) {
    return read.error();
  }
  return sizes_.emplace(name, *read).first->second.get();
}

std::string selection::objection_to_quota(const std::string& location, const size_info& size) {
  const auto quota =
      cloud_.facts().compute_quota.get(call_, cloud_.clock(), location, some_minutes, [&] {
        return cloud_.compute().quota(call_, location);
      });
  if (!quota) {
    trouble_ = quota.error();
    return quota.error().message;
  }
  for (const std::string& name : {std::string("cores"), size.family}) {
    const auto it = (*quota)->find(base::to_lower(name));
    if (it != (*quota)->end() && it->second.limit >= 0 &&
        it->second.limit - it->second.used < size.cores) {
      return "no quota left in " + location + ": " + name + " " + std::to_string(it->second.used) +
             " of " + std::to_string(it->second.limit) + " used";
    }
  }
  return "";
}

std::string selection::objection_to_size(const std::string& location, const std::string& size) {
  if (!is_offered_size(s_, size)) {
    return "not among allowed_sizes";
  }
  const std::string name = normal_location(location);
  const auto all = sizes_in(name);
  if (!all) {
    trouble_ = all.error();
    return all.error().message;
  }
  const auto it = (*all)->find(base::to_lower(size));
  if (it == (*all)->end()) {
    return "Azure has no such size in " + name;
  }
  if (!it->second.restriction.empty()) {
    return "cannot be used in " + name + " (" + it->second.restriction + ")";
  }
  machine_order order;
  order.location = name;
  order.size = it->second.name;
  const auto price = check_price({cloud_, s_, call_, order, {}, {}});
  if (!price) {
    if (price.error().public_message.empty()) {
      trouble_ = price.error();
    }
    return price.error().message;
  }
  return objection_to_quota(name, it->second);
}

base::result<std::shared_ptr<const image_info>>
selection::image_in(const std::string& location, const std::string& image) {
  const std::string name = normal_location(location);
  const auto parsed = parse_image(json(image));
  if (!parsed) {
    return parsed.error();
  }
  return cloud_.facts()
      .images.get(call_, cloud_.clock(), name + " " + parsed->text(), an_hour, [&] {
        return cloud_.compute().image(call_, name, *parsed);
      });
}

std::string selection::objection_to_image(const std::string& location, const std::string& image) {
  const auto parsed = parse_image(json(image));
  if (!parsed) {
    return "not in publisher:offer:sku:version form";
  }
  if (!is_offered_image(s_, *parsed)) {
    return "not among allowed_images";
  }
  const auto found = image_in(location, image);
  if (!found) {
    const bool missing = reason_of(found.error()) == reason::image;
    if (!missing) {
      trouble_ = found.error();
    }
    return found.error().message;
  }
  return "";
}

std::string selection::objection_to_pair(
    const std::string& location, const std::string& size, const std::string& image
) {
  const auto all = sizes_in(location);
  const auto info = image_in(location, image);
  const auto parsed = parse_image(json(image));
  if (!all || !info || !parsed) {
    return "";
  }
  const auto it = (*all)->find(base::to_lower(size));
  if (it == (*all)->end()) {
    return "";
  }
  machine_order order;
  order.image = *parsed;
  const auto fits = check_fit(it->second, **info, order);
  return fits ? "" : fits.error().message;
}

// Everything on offer must be there too.
std::string selection::objection_to_location(const std::string& location) {
  machine_order order;
  order.location = normal_location(location);
  if (const auto place = check_own_subnet(cloud_, call_, s_, order); !place) {
    return place.error().message;
  }
  for (const std::string& size : sizes.kept) {
    if (std::string why = objection_to_size(location, size); !why.empty()) {
      return size + ": " + why;
    }
  }
  for (const std::string& image : images.kept) {
    if (std::string why = objection_to_image(location, image); !why.empty()) {
      return image + ": " + why;
    }
  }
  return "";
}

base::result<void> selection::run() {
  if (auto r = start_locations(); !r) {
    return r;
  }
  start_images();
  if (locations.kept.empty()) {
    return {};
  }
  const std::string anchor = locations.kept.front();
  if (auto r = start_sizes(anchor); !r) {
    return r;
  }
  sift(sizes, [&](const std::string& size) { return objection_to_size(anchor, size); });
  sift(images, [&](const std::string& image) { return objection_to_image(anchor, image); });
  if (!images.kept.empty()) {
    const std::string usual = default_image_text(s_);
    const auto it = std::find(images.kept.begin(), images.kept.end(), usual);
    const std::string leading = it != images.kept.end() ? *it : images.kept.front();
    sift(sizes, [&](const std::string& size) { return objection_to_pair(anchor, size, leading); });
  }
  sift(images, [&](const std::string& image) -> std::string {
    for (const std::string& size : sizes.kept) {
      if (std::string why = objection_to_pair(anchor, size, image); !why.empty()) {
        return why;
      }
    }
    return "";
  });
  sift(locations, [&](const std::string& l) { return objection_to_location(l); });
  return trouble_ ? base::result<void>(*trouble_) : base::result<void>();
}

} // namespace

std::string default_image_text(const settings& s) {
  const auto image = parse_image(s.default_image);
  return image ? image->text() : "";
}

base::result<offers> choose_offers(
    const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
) {
  selection chosen(cloud, s, call, asked);
  if (auto done = chosen.run(); !done) {
    return done.error();
  }
  return offers{std::move(chosen.locations), std::move(chosen.sizes), std::move(chosen.images)};
}

} // namespace siteagent::azure
