// SPDX-License-Identifier: MIT
#include "rules.hpp"

#include "network.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::azure_emulator {

using base::json;

namespace {

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string region_list(const world& w) {
  std::vector<std::string> names;
  for (const auto& l : w.offer.locations) {
    names.push_back(l.name);
  }
  return base::join(names, ",");
}

std::optional<reply> check_tag_name(const std::string& name) {
  if (name.size() > 512 || name.empty()) {
    return gateway_error(
        400,
        {"InvalidTagName",
         "The tag name '" + name.substr(0, 40) + "' must have 1 to 512 characters."}
    );
  }
  const std::string lower = base::to_lower(name);
  const bool reserved = lower.rfind("microsoft", 0) == 0 || lower.rfind("azure", 0) == 0 ||
                        lower.rfind("windows", 0) == 0;
  if (reserved) {
    return gateway_error(
        400,
        {"ReservedTagName",
         "The tag name '" + name +
             "' is reserved: it may not begin with microsoft, azure, windows."}
    );
  }
  if (name.find_first_of("<>%&\\?/") != std::string::npos) {
    return gateway_error(
        400,
        {"InvalidTagNameCharacters",
         "The tag names '" + name +
             "' have reserved characters '<,>,%,&,\\,?,/' or control characters."}
    );
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> check_tags(const json& body) {
  const auto& tags = body["tags"];
  if (tags.is_null()) {
    return std::nullopt;
  }
  if (!tags.is_object()) {
    return gateway_error(
        400,
        {"InvalidRequestContent",
         "The request content was invalid and could not be deserialized: 'tags' is not an object."}
    );
  }
  if (tags.size() > 50) {
    return gateway_error(
        400, {"TagCountExceeded", "The number of tags exceeds the maximum of 50."}
    );
  }
  for (const auto& [name, value] : tags.members()) {
    if (auto bad = check_tag_name(name)) {
      return bad;
    }
    if (!value.is_string() || value.string_or("").size() > 256) {
      return gateway_error(
          400,
          {"InvalidTagValue",
           "The value of tag '" + name + "' must be a string of at most 256 characters."}
      );
    }
  }
  return std::nullopt;
}

namespace {

// Letters, digits, '.', '-', '_'; a letter or digit first, a letter, digit or '_' last.
bool is_resource_name(std::string_view name, std::size_t shortest, std::size_t longest) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_';
  });
  return characters && name.size() >= shortest && name.size() <= longest &&
         is_alnum(name.front()) && (is_alnum(name.back()) || name.back() == '_');
}

std::string name_text(std::string_view name, std::size_t longest) {
  return "The resource name '" + std::string(name) + "' is invalid. The name can be up to " +
         std::to_string(longest) +
         " characters long. It must begin with a word character, and it must end with a word "
         "character or with '_'. The name may contain word characters or '.', '-', '_'.";
}

} // namespace

std::optional<reply> check_name(const resource_path& path) {
  const std::string& name = path.own_name();
  const bool network = is_network(path.kind);
  const std::size_t longest =
      path.kind == kind::virtual_network || path.kind == kind::virtual_machine ? 64 : 80;
  if (is_resource_name(name, path.kind == kind::virtual_network ? 2 : 1, longest)) {
    return std::nullopt;
  }
  const std::string text = name_text(name, longest);
  return network ? error_reply(400, {"InvalidResourceName", text, "", json::array()})
                 : error_reply(400, {"InvalidParameter", text, "name"});
}

std::optional<reply> check_child_name(std::string_view name) {
  if (is_resource_name(name, 1, 80)) {
    return std::nullopt;
  }
  return error_reply(400, {"InvalidResourceName", name_text(name, 80), "", json::array()});
}

std::optional<reply> check_group_name(std::string_view name) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '(' || c == ')' ||
           static_cast<unsigned char>(c) >= 0x80U; // letters of other scripts
  });
  if (characters && !name.empty() && name.size() <= 90 && name.back() != '.') {
    return std::nullopt;
  }
  return gateway_error(
      400,
      {"InvalidResourceGroup",
       "The provided resource group name '" + std::string(name) +
           "' has these invalid characters or length: it can have 1 to 90 letters, digits, '-', "
           "'_', '.', '(' and ')', and may not end with '.'."}
  );
}

std::optional<reply>
check_location(const context& c, const resource_path& path, const resource* existing) {
  const std::string given = c.body["location"].string_or("");
  if (given.empty()) {
    return gateway_error(
        400, {"LocationRequired", "The location property is required for this definition."}
    );
  }
  const std::string location = normalized_location(given);
  if (c.world.offer.find_location(location) == nullptr) {
    return gateway_error(
        400,
        {"LocationNotAvailableForResourceType",
         "The provided location '" + given + "' is not available for resource type '" +
             type_name(path.kind) + "'. List of available regions for the resource type is '" +
             region_list(c.world) + "'."}
    );
  }
  if (existing != nullptr && existing->location != location) {
    return gateway_error(
        409,
        {"InvalidResourceLocation",
         "The resource '" + path.name + "' already exists in location '" + existing->location +
             "' in resource group '" + path.group +
             "'. A resource with the same name cannot be created in location '" + location +
             "'. Please select a new resource name."}
    );
  }
  return std::nullopt;
}

namespace {

reply etag_mismatch(std::string given, const resource* existing) {
  if (existing != nullptr && !is_network(existing->path.kind)) {
    if (given.size() < 2 || given.front() != '"') {
      given = "\"" + given + "\"";
    }
    return error_reply(
        412,
        {"PreconditionFailed",
         "Etag provided in if-match header " + given + " does not match etag \"" +
             std::to_string(existing->machine.version) + "\" of resource."}
    );
  }
  if (given.rfind("W/", 0) != 0) {
    given = "W/\"" + given + "\"";
  }
  const std::string text =
      existing == nullptr
          ? "Etag provided in if-match header " + given + " but the resource does not exist."
          : "Etag provided in if-match header " + given + " does not match etag " + existing->etag +
                " of resource " + existing->path.id() + " in NRP data store.";
  return error_reply(
      412,
      {"PreconditionFailed",
       "Precondition failed.",
       "",
       json::array({json::object({{"code", "PreconditionFailedEtagMismatch"}, {"message", text}})})}
  );
}

} // namespace

std::optional<reply> check_preconditions(const context& c, const resource* existing) {
  const std::string match = if_match(c);
  const std::string none = if_none_match(c);
  if (none == "*" && existing != nullptr) {
    return error_reply(
        412,
        {"PreconditionFailed",
         "The resource '" + existing->path.id() +
             "' already exists and the request demands, with if-none-match '*', that it does not."}
    );
  }
  if (match.empty()) {
    return std::nullopt;
  }
  if (existing == nullptr) {
    return etag_mismatch(match, nullptr);
  }
  const std::string current = is_network(existing->path.kind)
                                  ? existing->etag
                                  : "\"" + std::to_string(existing->machine.version) + "\"";
  if (match == "*" || match == current) {
    return std::nullopt;
  }
  return etag_mismatch(match, existing);
}

std::optional<reply> check_reference(
    const context& c,
    const resource_path& referrer,
    std::string_view id,
    kind expected,
    std::string_view location
) {
  const auto path = parse_resource_id(id);
  const auto* target = c.world.find(key_of(id));
  if (!path || path->kind != expected || target == nullptr || target->location != location) {
    return error_reply(
        400,
        {"InvalidResourceReference",
         "Resource " + std::string(id) + " referenced by resource " + referrer.id() +
             " was not found. Please make sure that the referenced resource exists, and that both "
             "resources are in the same region.",
         "",
         json::array()}
    );
  }
  if (target->state == provisioning::succeeded) {
    return std::nullopt;
  }
  const std::string state(text_of(target->state, true));
  reply r = error_reply(
      429,
      {"RetryableError",
       "A retryable error occurred.",
       "",
       json::array({json::object(
           {{"code", "ReferencedResourceNotProvisioned"},
            {"message",
             "Cannot proceed with operation because resource " + target->path.id() +
                 " used by resource " + referrer.id() +
                 " is not in Succeeded state. Resource is in " + state +
                 " state and the last operation that updated/is updating the resource is " +
                 std::string(network_kind_of(target->path.kind).operation) + "."}}
       )})}
  );
  r.headers.emplace_back("Retry-After", "10");
  return r;
}

std::uint32_t cidr::last() const {
  return bits >= 32 ? first : first | (0xFFFFFFFFU >> bits);
}

bool cidr::contains(const cidr& other) const {
  return other.first >= first && other.last() <= last();
}

bool cidr::overlaps(const cidr& other) const {
  return first <= other.last() && other.first <= last();
}

std::string cidr::text() const {
  return ipv4_text(first) + "/" + std::to_string(bits);
}

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  const auto parts = base::split(text, '.');
  if (parts.size() != 4) {
    return std::nullopt;
  }
  std::uint32_t address = 0;
  for (const auto part : parts) {
    unsigned value = 256;
    const auto* end = part.data() + part.size();
    const auto [stop, problem] = std::from_chars(part.data(), end, value);
    if (part.empty() || part.size() > 3 || problem != std::errc() || stop != end || value > 255) {
      return std::nullopt;
    }
    address = (address << 8U) | value;
  }
  return address;
}

std::string ipv4_text(std::uint32_t address) {
  return std::to_string(address >> 24U) + "." + std::to_string((address >> 16U) & 255U) + "." +
         std::to_string((address >> 8U) & 255U) + "." + std::to_string(address & 255U);
}

std::optional<cidr> parse_cidr(std::string_view text, bool host_bits_allowed) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto address = parse_ipv4(text.substr(0, slash));
  const auto tail = text.substr(slash + 1);
  unsigned bits = 99;
  const auto* end = tail.data() + tail.size();
  const auto [stop, problem] = std::from_chars(tail.data(), end, bits);
  if (!address || tail.empty() || problem != std::errc() || stop != end || bits > 32) {
    return std::nullopt;
  }
  const std::uint32_t mask = bits == 0 ? 0 : 0xFFFFFFFFU << (32U - bits);
  if ((*address & ~mask) != 0 && !host_bits_allowed) {
    return std::nullopt;
  }
  return cidr{*address & mask, bits};
}

bool looks_like_ipv6(std::string_view text) {
  return text.find(':') != std::string_view::npos &&
         text.find_first_not_of("0123456789abcdefABCDEF:./") == std::string_view::npos;
}

std::optional<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string clean;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      clean += c;
    }
  }
  if (clean.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string out;
  for (std::size_t i = 0; i < clean.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = clean[i + k];
      const auto at = alphabet.find(c);
      if (c == '=' && i + 4 == clean.size() && k >= 2) {
        ++padding;
        group <<= 6U;
      } else if (at == std::string_view::npos || padding > 0) {
        return std::nullopt;
      } else {
        group = (group << 6U) | static_cast<std::uint32_t>(at);
      }
    }
    out += static_cast<char>((group >> 16U) & 255U);
    if (padding < 2) {
      out += static_cast<char>((group >> 8U) & 255U);
    }
    if (padding < 1) {
      out += static_cast<char>(group & 255U);
    }
  }
  return out;
}

json tracked_body(const resource_path& path, const json& request, std::string_view location) {
  json body = json::object(
      {{"name", path.own_name()},
       {"id", path.id()},
       {"etag", ""},
       {"type", type_name(path.kind)},
       {"location", location}}
  );
  if (const auto& tags = request["tags"]; tags.is_object()) {
    body.set("tags", tags);
  }
  return body;
}

} // namespace siteagent::azure_emulator
