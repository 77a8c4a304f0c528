// SPDX-License-Identifier: MIT
#include "plugins/azure/offered.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

constexpr std::size_t longest_refusal = 600;

bool is_listed(const std::vector<std::string>& allowed, const auto& matches) {
  return allowed.empty() || std::any_of(allowed.begin(), allowed.end(), matches);
}

base::result<image_reference> image_of_text(std::string_view text) {
  const auto parts = base::split(text, ':');
  image_reference image;
  const std::array<std::string*, 4> fields{
      &image.publisher, &image.offer, &image.sku, &image.version};
  bool complete = parts.size() == fields.size();
  for (std::size_t i = 0; complete && i < fields.size(); ++i) {
    *fields.at(i) = base::trim(parts[i]);
    complete = !fields.at(i)->empty();
  }
  if (!complete) {
    return order_refusal(
        "Azure image '" + std::string(text) + "' is not in publisher:offer:sku:version form"
    );
  }
  return image;
}

base::result<image_reference> image_of_object(const base::json& object) {
  image_reference image;
  std::vector<std::string> missing;
  const std::array<std::pair<std::string_view, std::string*>, 4> fields{
      {{"offer", &image.offer},
       {"publisher", &image.publisher},
       {"sku", &image.sku},
       {"version", &image.version}}};
  for (const auto& [key, target] : fields) {
    *target = base::trim(object[key].number_text().value_or(""));
    if (target->empty()) {
      missing.emplace_back(key);
    }
  }
  if (!missing.empty()) {
    return order_refusal("Azure image reference is missing " + base::join(missing, ", "));
  }
  return image;
}

} // namespace

base::error order_refusal(std::string text) {
  text = base::truncated(text, longest_refusal);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' '
  );
  return make_error(reason::invalid, base::error_code::invalid, text, text);
}

base::result<image_reference> parse_image(const base::json& value) {
  return value.is_object()
             ? image_of_object(value)
             : image_of_text(value.string().value_or(value.number_text().value_or("")));
}

bool is_offered_size(const settings& s, std::string_view size) {
  return is_listed(s.allowed_sizes, [&](const std::string& a) {
    return base::equals_ignoring_case(a, size);
  });
}

bool is_offered_location(const settings& s, std::string_view location) {
  return is_listed(s.allowed_locations, [&](const std::string& a) {
    return normal_location(a) == normal_location(location);
  });
}

bool is_offered_image(const settings& s, const image_reference& image) {
  const std::array<std::string_view, 4> wanted{
      image.publisher, image.offer, image.sku, image.version};
  return is_listed(s.allowed_images, [&](const std::string& a) {
    const auto parts = base::split(a, ':');
    return std::equal(
        parts.begin(),
        parts.end(),
        wanted.begin(),
        wanted.begin() + static_cast<std::ptrdiff_t>(std::min(parts.size(), wanted.size())),
        [](std::string_view x, std::string_view y) {
          return base::equals_ignoring_case(base::trim(x), y);
        }
    );
  });
}

} // namespace siteagent::azure
