// SPDX-License-Identifier: MIT
#include "core/config/fields.hpp"

#include "core/base/text.hpp"
#include "core/config/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace siteagent::config {

namespace {

struct parts {
  std::string_view scheme;
  std::string_view user; // before "@", without it
  std::string host;
};

bool is_port(std::string_view text) {
  unsigned n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  return problem == std::errc{} && end == text.data() + text.size() && n > 0 && n <= 65'535;
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// "host", "host:port", "[v6]:port" -> the host; "" when malformed.
std::string host_of(std::string_view authority) {
  std::string_view rest;
  std::string_view host;
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) {
      return {};
    }
    host = authority.substr(1, end - 1);
    rest = authority.substr(end + 1);
    if (host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) {
      return {};
    }
  } else {
    const auto colon = authority.find(':');
    host = authority.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : authority.substr(colon);
    const std::string lower = base::to_lower(host);
    if (!std::all_of(lower.begin(), lower.end(), is_host_character)) {
      return {};
    }
  }
  if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) {
    return {};
  }
  return base::to_lower(host);
}

std::optional<parts> split_url(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const bool clean = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
  });
  parts p;
  p.scheme = text.substr(0, colon);
  std::string_view authority = text.substr(colon + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    p.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  p.host = host_of(authority);
  return clean && !p.host.empty() ? std::optional(p) : std::nullopt;
}

std::string listed(std::initializer_list<std::string_view> schemes) {
  std::string out;
  for (const std::string_view s : schemes) {
    out += (out.empty() ? "" : ", ") + std::string(s) + "://";
  }
  return out;
}

std::string reason(int number) {
  return std::generic_category().message(number);
}

bool is_environment_name(std::string_view name) {
  return !name.empty() && !(name.front() >= '0' && name.front() <= '9') &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

base::error unusable(std::string why) {
  return {base::error_code::invalid, std::move(why)};
}

// The value behind `written`.
base::result<std::string> resolve(const std::string& written) {
  if (written.starts_with("${") && written.ends_with('}')) {
    const std::string name = written.substr(2, written.size() - 3);
    if (!is_environment_name(name)) {
      return unusable("'${...}' must hold the name of one environment variable");
    }
    const char* found = std::getenv(name.c_str());
    if (found == nullptr || *found == '\0') {
      return unusable("the environment variable " + name + " is not set");
    }
    return std::string(found);
  }
  if (written.starts_with("file:")) {
    const std::string path = written.substr(5);
    if (!path.starts_with('/')) {
      return unusable("'file:' must be followed by an absolute path");
    }
    auto text = read_file(path, std::size_t{64} << 10U);
    if (!text) {
      return unusable("cannot read the secret from " + path + ": " + text.error().message);
    }
    const std::string value(base::trim(*text));
    if (value.empty()) {
      return unusable("the secret file " + path + " is empty");
    }
    return value;
  }
  return written;
}

base::result<base::secret> read_source(const std::string& written) {
  const base::result<std::string> value = resolve(written);
  if (!value) {
    return value.error();
  }
  base::global_redactor().protect(*value);
  const bool clean = std::all_of(value->begin(), value->end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
  });
  if (!clean) {
    return unusable("holds a control character or a line break");
  }
  return base::secret(*value);
}

} // namespace

std::optional<web_address> read_web_address(map_reader& o, std::string_view key) {
  const auto written = o.text(key);
  if (!written || written->empty()) {
    return std::nullopt;
  }
  const std::string text(base::trim(*written));
  const auto p = split_url(text);
  const std::string scheme = p ? base::to_lower(p->scheme) : "";
  if (scheme != "http" && scheme != "https") {
    o.fail(key, "expected a URL that starts with https:// or http:// and names a host");
    return std::nullopt;
  }
  if (!p->user.empty() || text.find_first_of("?#") != std::string::npos) {
    o.fail(key, "the URL must hold no user, no password, no query and no fragment");
    return std::nullopt;
  }
  return web_address{scheme + text.substr(scheme.size()), p->host, scheme == "https"};
}

std::string read_endpoint_with_credentials(
    map_reader& o, std::string_view key, std::initializer_list<std::string_view> schemes
) {
  const auto written = o.text(key);
  if (!written || written->empty()) {
    return {};
  }
  const auto p = split_url(*written);
  if (!p || std::find(schemes.begin(), schemes.end(), base::to_lower(p->scheme)) == schemes.end()) {
    o.fail(key, "expected a URL that starts with one of " + listed(schemes) + " and names a host");
    return {};
  }
  base::global_redactor().protect(p->user.substr(p->user.find(':') + 1));
  return *written;
}

base::secret read_secret(map_reader& o, std::string_view key, std::string& source) {
  const auto written = o.text(key);
  source.clear();
  if (!written || written->empty()) {
    return {};
  }
  base::global_redactor().protect(*written);
  const base::result<base::secret> value = read_source(*written);
  if (!value) {
    o.fail(key, value.error().message);
    return {};
  }
  if (written->starts_with("${") || written->starts_with("file:")) {
    source = *written;
  }
  return *value;
}

base::result<base::secret> read_secret_again(const std::string& source) {
  return read_source(source);
}

bool is_plugin_name(std::string_view name) {
  const std::string lower = base::to_lower(name);
  return !lower.empty() && std::all_of(lower.begin(), lower.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

base::result<std::string> read_file(const std::string& path, std::size_t limit) {
  const auto failed = [](std::string why) {
    return base::error{base::error_code::invalid, std::move(why)};
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return failed(reason(errno));
  }

  struct closer {
    int fd;

    ~closer() { ::close(fd); }
  } const close_it{fd};

  struct stat info {};

  if (::fstat(fd, &info) != 0) {
    return failed(reason(errno));
  }
  if (S_ISDIR(info.st_mode)) {
    return failed("it is a directory, not a file");
  }
  std::string text;
  std::array<char, 16'384> buffer{};
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return failed(reason(errno));
    }
    if (n == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > limit) {
      return failed("larger than " + std::to_string(limit >> 10U) + " KiB");
    }
  }
}

} // namespace siteagent::config
