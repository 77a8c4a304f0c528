// SPDX-License-Identifier: MIT
// Rules of a machine's body that need no look at the rest of the cloud.
#include "machine.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply invalid(const std::string& message, std::string_view target) {
  return error_reply(400, {"InvalidParameter", message, std::string(target)});
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::any_of(list.begin(), list.end(), [&](auto item) {
    return equals_ignoring_case(item, text);
  });
}

bool is_disallowed_user(std::string_view name) {
  return is_any(
      name,
      {"administrator",
       "admin",
       "user",
       "user1",
       "test",
       "user2",
       "test1",
       "user3",
       "admin1",
       "1",
       "123",
       "a",
       "actuser",
       "adm",
       "admin2",
       "aspnet",
       "backup",
       "console",
       "david",
       "guest",
       "john",
       "owner",
       "root",
       "server",
       "sql",
       "support",
       "support_388945a0",
       "sys",
       "test2",
       "test3",
       "user4",
       "user5"}
  );
}

bool is_disallowed_password(std::string_view text) {
  constexpr std::array<std::string_view, 10> list = {
      "abc@123",
      "P@$$w0rd",
      "P@ssw0rd",
      "P@ssword123",
      "Pa$$word",
      "pass@word1",
      "Password!",
      "Password1",
      "Password22",
      "iloveyou!"};
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::optional<reply> check_computer_name(const std::string& name, bool is_linux) {
  constexpr std::string_view linux_forbidden = " \t\\/\"[]:|<>+=;,?*@&~!#$%^()_{}'";
  constexpr std::string_view windows_forbidden = " \t\\/\"[]:|<>+=;,?*@&~!#$%^()_{}'.";
  const bool digits = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  const bool ends_badly = !name.empty() && (name.back() == '.' || name.back() == '-');
  if (is_linux) {
    if (name.size() <= 64 && name.find_first_of(linux_forbidden) == std::string::npos && !digits &&
        !ends_badly) {
      return std::nullopt;
    }
    return invalid(
        "Linux host name cannot exceed 64 characters in length or contain the following "
        "characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : ' \" , < > / ?.",
        "computerName"
    );
  }
  if (name.size() <= 15 && name.find_first_of(windows_forbidden) == std::string::npos && !digits &&
      !ends_badly) {
    return std::nullopt;
  }
  return invalid(
      "Windows computer name cannot be more than 15 characters long, be entirely numeric, or "
      "contain the following characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < "
      "> / ?.",
      "computerName"
  );
}

std::optional<reply> check_user_name(const std::string& name, bool is_linux) {
  const bool shape = name.size() <= (is_linux ? 64U : 20U) && name.back() != '.' &&
                     name.find_first_of(" \\/\"[]:|<>+=;,?*@&") == std::string::npos;
  if (shape && !is_disallowed_user(name)) {
    return std::nullopt;
  }
  return invalid("The Admin Username specified is not allowed.", "adminUsername");
}

std::optional<reply> check_password(const std::string& text, bool is_linux) {
  int classes = 0;
  bool control = false;
  bool lower = false;
  bool upper = false;
  bool digit = false;
  bool other = false;
  for (const char ch : text) {
    const auto byte = static_cast<unsigned char>(ch);
    control = control || byte < 0x20U || byte == 0x7FU;
    lower = lower || (ch >= 'a' && ch <= 'z');
    upper = upper || (ch >= 'A' && ch <= 'Z');
    digit = digit || (ch >= '0' && ch <= '9');
    other = other ||
            !((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9'));
  }
  for (const bool present : {lower, upper, digit, other}) {
    classes += present ? 1 : 0;
  }
  const std::size_t shortest = is_linux ? 6 : 8;
  const std::size_t longest = is_linux ? 72 : 123;
  const std::string range = std::to_string(shortest) + "-" + std::to_string(longest);
  if (text.size() < shortest || text.size() > longest || classes < 3 || control) {
    return invalid(
        "The supplied password must be between " + range +
            " characters long and must satisfy at least 3 of password complexity requirements from "
            "the following: 1) Contains an uppercase character 2) Contains a lowercase character "
            "3) Contains a numeric digit 4) Contains a special character 5) Control characters are "
            "not allowed",
        "adminPassword"
    );
  }
  if (is_disallowed_password(text)) {
    return invalid("The Admin Password specified is not allowed.", "adminPassword");
  }
  return std::nullopt;
}

std::optional<reply> check_custom_data(const std::string& text) {
  const auto bytes = decode_base64(text);
  if (text.size() <= 87'380 && bytes && bytes->size() <= 65'535) {
    return std::nullopt;
  }
  return invalid(
      "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 "
      "characters.",
      "customData"
  );
}

// One field of the SSH wire format: four bytes of length, then the bytes.
std::optional<std::string_view> take_field(std::string_view& data) {
  if (data.size() < 4) {
    return std::nullopt;
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length = (length << 8U) | static_cast<unsigned char>(data[i]);
  }
  if (data.size() - 4 < length) {
    return std::nullopt;
  }
  const auto field = data.substr(4, length);
  data.remove_prefix(4 + length);
  return field;
}

std::size_t bits_of(std::string_view number) {
  while (!number.empty() && number.front() == '\0') {
    number.remove_prefix(1);
  }
  if (number.empty()) {
    return 0;
  }
  std::size_t bits = (number.size() - 1) * 8;
  for (auto top = static_cast<unsigned char>(number.front()); top != 0; top >>= 1U) {
    ++bits;
  }
  return bits;
}

bool is_accepted_key(std::string_view text) {
  text = base::trim(text);
  if (text.find_first_of("\r\n") != std::string_view::npos) {
    return false;
  }
  const auto space = text.find(' ');
  if (space == std::string_view::npos) {
    return false;
  }
  const auto algorithm = text.substr(0, space);
  auto rest = base::trim(text.substr(space));
  const auto decoded = decode_base64(rest.substr(0, rest.find(' ')));
  if (!decoded || (algorithm != "ssh-rsa" && algorithm != "ssh-ed25519")) {
    return false;
  }
  std::string_view blob = *decoded;
  if (take_field(blob) != algorithm) {
    return false;
  }
  const auto first = take_field(blob);
  if (!first) {
    return false;
  }
  if (algorithm == "ssh-ed25519") {
    return first->size() == 32 && blob.empty();
  }
  const auto modulus = take_field(blob);
  return modulus && bits_of(*modulus) >= 2048 && blob.empty();
}

std::optional<reply> check_keys(const json& keys, const std::string& user) {
  const std::string expected = "/home/" + user + "/.ssh/authorized_keys";
  for (const auto& key : keys.items()) {
    if (key["path"].string_or("") != expected) {
      return invalid(
          "Destination path for SSH public keys is currently limited to its default value " +
              expected + " due to a known issue in Linux provisioning agent.",
          "linuxConfiguration.ssh.publicKeys.path"
      );
    }
    if (!is_accepted_key(key["keyData"].string_or(""))) {
      return invalid(
          "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.",
          "linuxConfiguration.ssh.publicKeys.keyData"
      );
    }
  }
  return std::nullopt;
}

std::optional<reply> check_linux(const json& profile, const std::string& user) {
  if (!profile["windowsConfiguration"].is_null()) {
    return invalid("Parameter 'windowsConfiguration' is not allowed.", "windowsConfiguration");
  }
  const auto& linux_part = profile["linuxConfiguration"];
  const auto& keys = linux_part.at({"ssh", "publicKeys"});
  const bool no_password = linux_part["disablePasswordAuthentication"].boolean().value_or(false);
  const bool has_password = !profile["adminPassword"].string_or("").empty();
  if ((no_password && keys.size() == 0) || (!no_password && !has_password)) {
    return invalid(
        "Authentication using either SSH or by user name and password must be enabled in Linux "
        "profile.",
        "linuxConfiguration"
    );
  }
  return check_keys(keys, user);
}

} // namespace

std::optional<reply> check_os_profile(const json& profile, bool is_linux) {
  for (const auto* name : {"computerName", "adminUsername"}) {
    if (profile[name].string_or("").empty()) {
      return invalid(
          "Required parameter 'osProfile." + std::string(name) + "' is missing (null).",
          "osProfile." + std::string(name)
      );
    }
  }
  const std::string user = profile["adminUsername"].string_or("");
  const std::string password = profile["adminPassword"].string_or("");
  auto bad = check_computer_name(profile["computerName"].string_or(""), is_linux);
  if (!bad) {
    bad = check_user_name(user, is_linux);
  }
  if (!bad && !password.empty()) {
    bad = check_password(password, is_linux);
  }
  if (!bad && profile["customData"].is_string()) {
    bad = check_custom_data(profile["customData"].string_or(""));
  }
  if (!bad && is_linux) {
    bad = check_linux(profile, user);
  }
  if (!bad && !is_linux && !profile["linuxConfiguration"].is_null()) {
    bad = invalid("Parameter 'linuxConfiguration' is not allowed.", "linuxConfiguration");
  }
  if (!bad && !is_linux && password.empty()) {
    bad = invalid(
        "Required parameter 'osProfile.adminPassword' is missing (null).", "osProfile.adminPassword"
    );
  }
  return bad;
}

std::optional<reply> check_user_data(const json& properties) {
  const auto& data = properties["userData"];
  if (!data.is_string() || data.string_or("").empty()) {
    return std::nullopt;
  }
  const auto bytes = decode_base64(data.string_or(""));
  if (bytes && bytes->size() <= 65'535) {
    return std::nullopt;
  }
  return invalid(
      "User data must be in Base64 encoding and with a maximum length of 87380 characters.",
      "userData"
  );
}

} // namespace siteagent::azure_emulator
