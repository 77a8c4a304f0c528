// SPDX-License-Identifier: MIT
#include "core/fleet/keys.hpp"

#include "core/base/text.hpp"
#include "core/fleet/descriptor.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/registry_document.hpp"
#include "core/fleet/transient_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace siteagent::fleet {

namespace {

constexpr std::string_view item_prefix = "stado-ssh-";
constexpr std::string_view override_variable = "STADO_HOST_SSH_KEY_FILE";
constexpr std::chrono::seconds keygen_cap(30); // it takes milliseconds

base::error failed(const std::string& item, const std::string& why) {
  return {base::error_code::permanent, "the fleet key " + item + " was not made: " + why};
}

// "ssh-ed25519 AAAA... comment" -> "ssh-ed25519 AAAA..."
std::string without_comment(std::string_view line) {
  const std::vector<std::string_view> words = base::split(base::trim(line), ' ');
  return words.size() < 2 ? std::string(base::trim(line))
                          : std::string(words[0]) + " " + std::string(words[1]);
}

std::string field_of(const credential_item& item, std::string_view name) {
  const auto found = item.fields.find(name);
  return found == item.fields.end() ? "" : std::string(found->second.reveal());
}

fleet_key key_of(const std::string& id, const credential_item& item) {
  return {
      .item = id,
      .key_type = field_of(item, "key_type"),
      .fingerprint = field_of(item, "fingerprint"),
      .public_key = field_of(item, "public_key")};
}

base::result<void> check_target(std::string_view target) {
  if (is_target_identifier(target)) {
    return {};
  }
  return base::error{
      base::error_code::refused,
      "'" + std::string(base::truncated(target, 100)) +
          "' is no target identifier (a-z, 0-9, '.', '_', '-'; a letter or digit at both ends)"};
}

// Removed on every way out.
struct transient_pair {
  std::string path;

  explicit transient_pair(std::string p) : path(std::move(p)) {}

  transient_pair(const transient_pair&) = delete;
  transient_pair& operator=(const transient_pair&) = delete;

  ~transient_pair() {
    remove_transient_file(path);
    remove_transient_file(path + ".pub");
  }
};

// A program of the ssh suite that must end with 0. Its words hold no secret.
base::result<std::string>
run_keygen(runner& programs, const std::string& item, std::vector<std::string> words) {
  command c;
  c.argv = std::move(words);
  c.argv.insert(c.argv.begin(), "ssh-keygen");
  c.cap = keygen_cap;
  auto done = programs.run(c);
  if (!done) {
    return with_context(std::move(done).error(), "the fleet key " + item + " was not made");
  }
  if (done->status != 0) {
    const std::string_view said = base::truncated(base::trim(done->error_output), 200);
    return failed(
        item, "ssh-keygen ended with " + std::to_string(done->status) + ": " + std::string(said)
    );
  }
  return std::move(done->output);
}

// A private key of the operator's own: `what` begins the complaint.
base::result<std::string> check_own_file(const std::string& path, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    return base::error{base::error_code::refused, what + " '" + path + "', which " + why};
  };
  if (!path.starts_with('/')) {
    return refuse("is no absolute path");
  }
  const descriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));

  struct stat s {};

  if (!fd || fstat(fd.get(), &s) != 0) {
    return refuse("cannot be opened: " + std::generic_category().message(errno));
  }
  if (!S_ISREG(s.st_mode)) {
    return refuse("is no regular file");
  }
  if (s.st_uid != geteuid() || (s.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return refuse("others than you can reach; chown it to yourself and chmod 600 it");
  }
  return path;
}

} // namespace

std::string key_item_of(std::string_view target) {
  return std::string(item_prefix) + std::string(target);
}

key_file::~key_file() {
  if (owned_) {
    remove_transient_file(path_);
  }
}

fleet_keys::fleet_keys(
    credential_store store,
    runner& programs,
    folders where,
    environment env,
    const base::clock& clock
)
    : store_(std::move(store)), programs_(&programs), where_(std::move(where)),
      env_(std::move(env)), clock_(&clock) {}

base::result<credential_item> fleet_keys::make_pair(const std::string& item) const {
  auto path = transient_path(where_.state, "pair");
  if (!path) {
    return std::move(path).error();
  }
  const transient_pair pair(*path);
  if (auto made = run_keygen(
          *programs_, item, {"-q", "-t", "ed25519", "-N", "", "-C", item, "-f", pair.path}
      );
      !made) {
    return std::move(made).error();
  }
  auto private_half = read_file(pair.path);
  const auto public_half = read_file(pair.path + ".pub");
  if (!private_half || !public_half) {
    return failed(item, (private_half ? public_half : private_half).error().message);
  }
  auto item_made = item_of(item, pair.path, *private_half, *public_half);
  explicit_bzero(private_half->data(), private_half->size());
  return item_made;
}

base::result<credential_item> fleet_keys::item_of(
    const std::string& item,
    const std::string& path,
    std::string_view private_half,
    std::string_view public_half
) const {
  // "256 SHA256:... comment (ED25519)"
  const auto told = run_keygen(*programs_, item, {"-l", "-E", "sha256", "-f", path + ".pub"});
  if (!told) {
    return told.error();
  }
  const std::vector<std::string_view> words = base::split(base::trim(*told), ' ');
  if (words.size() < 3 || !words[1].starts_with("SHA256:") || !words.back().starts_with('(') ||
      !words.back().ends_with(')')) {
    return failed(item, "ssh-keygen -l printed '" + std::string(base::trim(*told)) + "'");
  }
  credential_item made;
  made.kind = "key-pair";
  made.fields.emplace("private_key", base::secret(private_half));
  made.fields.emplace("public_key", base::secret(base::trim(public_half)));
  made.fields.emplace("key_type", base::secret(words.back().substr(1, words.back().size() - 2)));
  made.fields.emplace("fingerprint", base::secret(words[1]));
  made.fields.emplace("added_at", base::secret(base::to_rfc3339(clock_->wall())));
  return made;
}

base::result<credential_item>
fleet_keys::item_of_file(const std::string& item, const std::string& file) const {
  auto checked = check_own_file(file, "the private key is");
  if (!checked) {
    return std::move(checked).error();
  }
  auto private_half = read_file(file);
  if (!private_half) {
    return std::move(private_half).error();
  }
  // Copied, so that the public half can stand beside it whatever lies in that folder.
  auto path = write_transient_file(where_.state, "pair", *private_half);
  if (!path) {
    return std::move(path).error();
  }
  const transient_pair pair(*path);
  const auto public_half = run_keygen(*programs_, item, {"-y", "-P", "", "-f", pair.path});
  if (!public_half) {
    return with_context(
        public_half.error(), "'" + file + "' is no private key without a passphrase"
    );
  }
  const std::string line = without_comment(*public_half) + " " + item + "\n";
  if (auto written = replace_file(pair.path + ".pub", line, mode_t{0600}); !written) {
    return std::move(written).error();
  }
  auto made = item_of(item, pair.path, *private_half, line);
  explicit_bzero(private_half->data(), private_half->size());
  return made;
}

// What the channel would use must be the half that a host is about to trust.
base::result<void>
fleet_keys::read_back(const std::string& item, const std::string& public_key) const {
  const auto file = write_out(item);
  if (!file) {
    return file.error();
  }
  const auto derived = run_keygen(*programs_, item, {"-y", "-P", "", "-f", (*file)->path()});
  if (!derived) {
    return derived.error();
  }
  if (without_comment(*derived) != without_comment(public_key)) {
    return failed(item, "what was stored in " + store_.file() + " reads back as another key");
  }
  return {};
}

base::result<std::shared_ptr<const key_file>> fleet_keys::write_out(const std::string& item) const {
  const auto found = store_.find(item);
  if (!found) {
    return found.error();
  }
  const std::string target = item.substr(item_prefix.size());
  const auto lacks = [&](const std::string& what) {
    return base::error{
        base::error_code::not_found,
        "the credential store " + store_.file() + " has no " + what + " for target '" + target +
            "' (item " + item + "); stado fleet key add " + target +
            " FILE stores the one the host knows, stado fleet key generate " + target +
            " makes a new one"};
  };
  if (!*found) {
    return lacks("key");
  }
  const auto key = (*found)->fields.find("private_key");
  if (key == (*found)->fields.end() || key->second.empty()) {
    return lacks("private key");
  }
  auto path = write_transient_file(where_.state, "key", key->second.reveal());
  if (!path) {
    return std::move(path).error();
  }
  return std::shared_ptr<const key_file>(new key_file(*std::move(path), true));
}

base::result<fleet_key> fleet_keys::generate(std::string_view target) const {
  if (auto named = check_target(target); !named) {
    return std::move(named).error();
  }
  return keep(target, make_pair(key_item_of(target)));
}

base::result<fleet_key> fleet_keys::add(std::string_view target, const std::string& file) const {
  if (auto named = check_target(target); !named) {
    return std::move(named).error();
  }
  return keep(target, item_of_file(key_item_of(target), file));
}

base::result<fleet_key>
fleet_keys::keep(std::string_view target, const base::result<credential_item>& made) const {
  if (!made) {
    return made.error();
  }
  const std::string item = key_item_of(target);
  const auto before = store_.find(item);
  if (!before) {
    return before.error();
  }
  if (auto put = store_.put(item, *made); !put) {
    return std::move(put).error();
  }
  const fleet_key key = key_of(item, *made);
  if (auto same = read_back(item, key.public_key); !same) {
    const auto restored = restore(target, *before);
    if (!restored) {
      same.error().message +=
          "; and putting back what was there failed: " + restored.error().message;
    }
    return std::move(same).error();
  }
  return key;
}

base::result<std::optional<credential_item>> fleet_keys::stored(std::string_view target) const {
  return store_.find(key_item_of(target));
}

base::result<void>
fleet_keys::restore(std::string_view target, const std::optional<credential_item>& item) const {
  if (item) {
    return store_.put(key_item_of(target), *item);
  }
  const auto removed = store_.remove(key_item_of(target));
  return removed ? base::result<void>() : removed.error();
}

base::result<bool> fleet_keys::remove(std::string_view target) const {
  if (auto named = check_target(target); !named) {
    return std::move(named).error();
  }
  return store_.remove(key_item_of(target));
}

base::result<std::vector<fleet_key>> fleet_keys::list() const {
  const auto items = store_.all();
  if (!items) {
    return items.error();
  }
  std::vector<fleet_key> keys;
  for (const auto& [id, item] : *items) {
    if (id.starts_with(item_prefix)) {
      keys.push_back(key_of(id, item));
    }
  }
  return keys;
}

base::result<std::shared_ptr<const key_file>> fleet_keys::private_key_file(std::string_view target
) const {
  if (const auto chosen = env_(override_variable)) {
    // Stands for every key of the store: for recovery.
    auto path = check_own_file(*chosen, std::string(override_variable) + " is");
    if (!path) {
      return std::move(path).error();
    }
    return std::shared_ptr<const key_file>(new key_file(*std::move(path), false));
  }
  return write_out(key_item_of(target));
}

} // namespace siteagent::fleet
