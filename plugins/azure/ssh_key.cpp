// SPDX-License-Identifier: MIT
#include "plugins/azure/ssh_key.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/base64.hpp"
#include "plugins/azure/error_map.hpp"

#include <cstdint>
#include <optional>

namespace siteagent::azure {

namespace {

constexpr std::size_t smallest_rsa = 2048;
constexpr std::size_t longest_line = 16'384;

base::error refused(std::string_view why) {
  const std::string text = "The SSH public key cannot be used: " + std::string(why);
  return make_error(reason::invalid, base::error_code::invalid, text, text);
}

// The length-prefixed fields of the key's blob.
std::optional<std::string_view> next_field(std::string_view& blob) {
  if (blob.size() < 4) {
    return std::nullopt;
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length = (length << 8U) | static_cast<unsigned char>(blob[i]);
  }
  if (blob.size() - 4 < length) {
    return std::nullopt;
  }
  const std::string_view field = blob.substr(4, length);
  blob.remove_prefix(4 + length);
  return field;
}

std::size_t bits_of(std::string_view number) {
  while (!number.empty() && number.front() == '\0') {
    number.remove_prefix(1);
  }
  if (number.empty()) {
    return 0;
  }
  std::size_t bits = number.size() * 8;
  for (unsigned mask = 0x80; (static_cast<unsigned char>(number.front()) & mask) == 0;
       mask >>= 1U) {
    --bits;
  }
  return bits;
}

} // namespace

base::result<std::string> checked_ssh_key(std::string_view text) {
  const std::string_view line = base::trim(text);
  if (line.find_first_of("\r\n") != std::string_view::npos) {
    return refused("it must be one line");
  }
  if (line.size() > longest_line || line.find('\0') != std::string_view::npos) {
    return refused("it is not an OpenSSH public key");
  }
  const auto space = line.find(' ');
  const std::string_view type = line.substr(0, space);
  if (type != "ssh-ed25519" && type != "ssh-rsa") {
    return refused("Azure takes ssh-ed25519 and ssh-rsa keys only");
  }
  const std::string_view rest =
      space == std::string_view::npos ? "" : base::trim(line.substr(space));
  const auto blob = base64_decode(rest.substr(0, rest.find_first_of(" \t")));
  if (!blob) {
    return refused("its base64 part is damaged");
  }
  std::string_view left = *blob;
  const auto inner_type = next_field(left);
  const auto first = next_field(left);
  if (!inner_type || *inner_type != type || !first) {
    return refused("its base64 part is damaged");
  }
  if (type == "ssh-ed25519") {
    if (first->size() != 32 || !left.empty()) {
      return refused("its base64 part is damaged");
    }
    return std::string(line);
  }
  const auto modulus = next_field(left);
  if (!modulus || !left.empty()) {
    return refused("its base64 part is damaged");
  }
  if (bits_of(*modulus) < smallest_rsa) {
    return refused("RSA keys need 2048 bits or more");
  }
  return std::string(line);
}

} // namespace siteagent::azure
