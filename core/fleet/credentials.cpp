// SPDX-License-Identifier: MIT
#include "core/fleet/credentials.hpp"

#include "core/base/text.hpp"
#include "core/fleet/descriptor.hpp"
#include "core/fleet/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

namespace siteagent::fleet {

namespace {

constexpr std::string_view types_key = "$stado_item_types";
constexpr std::string_view file_scheme = "file://";
constexpr std::chrono::minutes lock_wait(1); // others only write a small file

// Text read from the store, wiped when it goes.
struct wiped_text {
  std::string text;
  wiped_text() = default;
  wiped_text(const wiped_text&) = delete;
  wiped_text& operator=(const wiped_text&) = delete;

  ~wiped_text() { explicit_bzero(text.data(), text.size()); }
};

// A document of the store; its texts are wiped when it goes.
struct wiped_document {
  base::json root;

  explicit wiped_document(base::json j) : root(std::move(j)) {}

  wiped_document(const wiped_document&) = delete;
  wiped_document& operator=(const wiped_document&) = delete;
  wiped_document(wiped_document&&) = default;
  wiped_document& operator=(wiped_document&&) = delete;

  ~wiped_document() { wipe(root); }

  static void wipe(base::json& node) {
    if (const auto text = node.string()) {
      // The text lies in `node`, which is ours and not const.
      explicit_bzero(const_cast<char*>(text->data()), text->size()); // NOLINT
    }
    for (base::json& item : node.items()) {
      wipe(item);
    }
    for (auto& [key, value] : node.members()) {
      wipe(value);
    }
  }
};

base::error refused(const std::string& file, const std::string& rule) {
  return {base::error_code::refused, "the credential store " + file + " " + rule};
}

// Owner and mode are asked of the open file, so that nothing can be exchanged in between.
base::result<void> check_file(const std::string& file, int fd) {
  struct stat s {};

  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
    return refused(file, "is no regular file");
  }
  if (s.st_uid != geteuid()) {
    return refused(
        file, "belongs to user " + std::to_string(s.st_uid) + ", not to you; chown it to yourself"
    );
  }
  if ((s.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return refused(file, "can be reached by group or others; chmod 600 " + file);
  }
  return {};
}

base::result<void> read_all(const std::string& file, int fd, std::string& into) {
  constexpr std::size_t most = 16U << 20U;
  constexpr std::size_t step = 64U << 10U;

  // All the room at once: a text that grows leaves copies behind.
  struct stat s {};

  (void)fstat(fd, &s);
  into.reserve(static_cast<std::size_t>(s.st_size) + step);
  for (;;) {
    const std::size_t filled = into.size();
    into.resize(filled + step);
    const ssize_t n = read(fd, into.data() + filled, step);
    into.resize(filled + static_cast<std::size_t>(n > 0 ? n : 0));
    if (n < 0 && errno != EINTR) {
      return refused(file, "cannot be read: " + std::generic_category().message(errno));
    }
    if (n == 0) {
      return {};
    }
    if (into.size() > most) {
      return refused(file, "is larger than 16 MiB");
    }
  }
}

std::string dotted(std::string path, std::string_view key) {
  return path.append(".").append(key);
}

base::result<void> check_shape(const std::string& file, const base::json& root) {
  const auto broken = [&](const std::string& why) {
    return base::error{base::error_code::invalid, "the credential store " + file + ": " + why};
  };
  if (!root.is_object()) {
    return broken("the root is no JSON object");
  }
  for (const auto& [id, item] : root.members()) {
    if (!item.is_object()) {
      return broken(id + " is no object");
    }
    for (const auto& [field, value] : item.members()) {
      if (!value.string()) {
        return broken(dotted(id, field) + " is no text");
      }
    }
  }
  return {};
}

// nullopt: there is no file yet.
base::result<std::optional<wiped_document>> read_store(const std::string& file) {
  const descriptor fd(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    switch (errno) {
    case ENOENT:
      return std::optional<wiped_document>();
    case ELOOP:
      return refused(file, "is a symbolic link; name the file itself in credentials.store");
    default:
      return refused(file, "cannot be opened: " + std::generic_category().message(errno));
    }
  }
  if (auto safe = check_file(file, fd.get()); !safe) {
    return std::move(safe).error();
  }
  wiped_text content;
  if (auto read = read_all(file, fd.get(), content.text); !read) {
    return std::move(read).error();
  }
  auto parsed = parse_document(file, content.text);
  if (!parsed) {
    return std::move(parsed).error();
  }
  if (auto shaped = check_shape(file, *parsed); !shaped) {
    return std::move(shaped).error();
  }
  return std::optional<wiped_document>(*std::move(parsed));
}

// Names, ids and times may be shown; what is left might be a secret.
bool may_be_secret(std::string_view field) {
  return !field.ends_with("_id") && !field.ends_with("_at") && !field.ends_with("_account") &&
         !field.ends_with("_profile") && !field.starts_with("public_") && field != "key_type" &&
         field != "fingerprint";
}

// Also line by line: a key's text is rarely quoted whole.
void protect(std::string_view value) {
  constexpr std::size_t least = 20;
  base::global_redactor().protect(value);
  for (const std::string_view line : base::split(value, '\n')) {
    if (line.size() >= least && line.size() < value.size() && !line.starts_with("-----")) {
      base::global_redactor().protect(line);
    }
  }
}

credential_item item_of(const base::json& root, std::string_view id, const base::json& value) {
  credential_item item;
  item.kind = root[types_key][id].string_or("");
  for (const auto& [field, text] : value.members()) {
    if (may_be_secret(field)) {
      protect(*text.string());
    }
    item.fields.emplace(field, base::secret(*text.string()));
  }
  return item;
}

base::json to_json(const credential_item& item) {
  base::json value = base::json::object();
  for (const auto& [field, text] : item.fields) {
    value.set(field, text.reveal());
  }
  return value;
}

// A locator as a path: "/x", "~/x", "file:///x".
base::result<std::string> path_from(const std::string& locator, const folders& f) {
  std::string path = f.expand(locator);
  if (path.starts_with(file_scheme)) {
    path.erase(0, file_scheme.size());
  }
  if (!path.starts_with('/')) {
    return base::error{
        base::error_code::refused,
        "credentials.store is '" + locator +
            "', which this program does not serve; it keeps credentials in a file: "
            "file:///absolute/path"};
  }
  return path;
}

} // namespace

base::result<credential_store> credential_store::open(const profile& p, const folders& f) {
  const auto of_file = p.text("credentials.store");
  const auto of_environment = p.variables()("STADO_CREDENTIALS_STORE");
  const std::string fallback = f.state + "/credentials.json";
  auto path = path_from(of_environment.value_or(of_file.value_or(fallback)), f);
  if (!path) {
    return std::move(path).error();
  }
  if (of_file && of_environment) {
    const auto other = path_from(*of_file, f);
    if (!other || *other != *path) {
      return base::error{
          base::error_code::refused,
          "credentials.store of the profile is '" + *of_file +
              "' and the variable STADO_CREDENTIALS_STORE is '" + *of_environment +
              "'; no credential is read until they agree"};
    }
  }
  return credential_store(*std::move(path));
}

base::result<std::optional<credential_item>> credential_store::find(std::string_view id) const {
  const auto document = read_store(file_);
  if (!document) {
    return document.error();
  }
  if (!*document || id == types_key) {
    return std::optional<credential_item>();
  }
  const base::json* value = (*document)->root.find(id);
  return value == nullptr ? std::optional<credential_item>()
                          : std::optional(item_of((*document)->root, id, *value));
}

base::result<std::map<std::string, credential_item>> credential_store::all() const {
  const auto document = read_store(file_);
  if (!document) {
    return document.error();
  }
  std::map<std::string, credential_item> items;
  if (*document) {
    for (const auto& [id, value] : (*document)->root.members()) {
      if (id != types_key) {
        items.emplace(id, item_of((*document)->root, id, value));
      }
    }
  }
  return items;
}

base::result<bool> credential_store::edit(const std::function<bool(base::json& root)>& change
) const {
  if (auto made = make_directories(directory_of(file_)); !made) {
    return std::move(made).error();
  }
  const auto lock =
      file_lock::take(file_ + ".lock", "credential store", {.longest = lock_wait, .on_wait = {}});
  if (!lock) {
    return lock.error();
  }
  auto read = read_store(file_);
  if (!read) {
    return std::move(read).error();
  }
  wiped_document document(*read ? (*read)->root : base::json::object());
  if (!change(document.root)) {
    return false;
  }
  wiped_text text;
  text.text = document.root.pretty() + "\n";
  if (auto replaced = replace_file(file_, text.text, S_IRUSR | S_IWUSR); !replaced) {
    return std::move(replaced).error();
  }
  return true;
}

base::result<void> credential_store::put(std::string_view id, const credential_item& item) const {
  if (id.empty() || id.starts_with('$')) {
    return base::error{
        base::error_code::invalid, "'" + std::string(id) + "' is no id of a credential item"};
  }
  const auto done = edit([&](base::json& root) {
    root.set(id, to_json(item));
    if (!item.kind.empty()) {
      root.member_ref(types_key).set(id, item.kind);
    } else if (base::json* types = root.find(types_key)) {
      types->erase(id);
    }
    return true;
  });
  return done ? base::result<void>() : done.error();
}

base::result<bool> credential_store::remove(std::string_view id) const {
  return edit([&](base::json& root) {
    if (id.starts_with('$') || root.find(id) == nullptr) {
      return false;
    }
    wiped_document::wipe(*root.find(id));
    root.erase(id);
    if (base::json* types = root.find(types_key)) {
      types->erase(id);
    }
    return true;
  });
}

} // namespace siteagent::fleet
