// SPDX-License-Identifier: MIT
// What every extension's C++ layer stands on: host, call, request, failure, and the barrier that no
// exception passes. Plugins include plugin.hpp.
#pragma once

#include "../plugin.h"
#include "../services.h"

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sagent {

inline std::string_view view(const sagent_str& s) noexcept {
  return s.data == nullptr ? std::string_view() : std::string_view(s.data, s.len);
}

inline sagent_str borrow(std::string_view s) noexcept {
  return {s.data(), s.size()};
}

// Throw this out of any method. Fields as in sagent_error_info.
struct failure : std::exception {
  failure(sagent_code c, std::string text) : code(c), message(std::move(text)) {}

  const char* what() const noexcept override { return message.c_str(); }

  sagent_code code;
  std::string message;
  std::string public_message;
  std::string provider_code;
  std::string provider_request_id;
  std::string detail;
  std::int64_t retry_after_ms = -1;
};

// Bytes that are wiped when they go.
class secret {
public:
  secret() = default;

  explicit secret(std::string_view bytes) : bytes_(bytes) {}

  secret(const secret&) = delete;
  secret& operator=(const secret&) = delete;

  secret(secret&& other) noexcept : bytes_(other.bytes_) { other.wipe(); }

  secret& operator=(secret&& other) noexcept {
    if (this != &other) {
      wipe();
      bytes_ = other.bytes_;
      other.wipe();
    }
    return *this;
  }

  ~secret() { wipe(); }

  std::string_view reveal() const noexcept { return bytes_; }

private:
  void wipe() noexcept {
    volatile char* p = bytes_.empty() ? nullptr : &bytes_[0];
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      p[i] = 0;
    }
    bytes_.clear();
  }

  std::string bytes_;
};

// What the host offers. Cheap to copy; valid until the instance is destroyed. [any-thread]
class host {
public:
  explicit host(const sagent_host* raw) noexcept
      : raw_(raw), log_(service<sagent_log_service>(SAGENT_SERVICE_LOG)),
        secrets_(service<sagent_secrets_service>(SAGENT_SERVICE_SECRETS)),
        clock_(service<sagent_clock_service>(SAGENT_SERVICE_CLOCK)) {}

  void log(std::int32_t level, std::string_view text) const {
    if (SAGENT_HAS(sagent_log_service, log_, log)) {
      log_->log(raw_, level, text.data(), text.size());
    }
  }

  // Would a line of that level be kept?
  bool is_log_enabled(std::int32_t level) const {
    return SAGENT_HAS(sagent_log_service, log_, enabled) && log_->enabled(raw_, level) != 0;
  }

  // Reads the secret behind a settings reference afresh. Throws failure.
  secret read_secret(std::string_view reference) const {
    if (!SAGENT_HAS(sagent_secrets_service, secrets_, get)) {
      throw failure(SAGENT_E_UNSUPPORTED, "this host has no secrets service");
    }
    secret out;
    const sagent_code code = secrets_->get(
        raw_,
        reference.data(),
        reference.size(),
        [](void* ctx, const char* bytes, std::uint64_t len) {
          *static_cast<secret*>(ctx) = secret(std::string_view(bytes, len));
        },
        &out
    );
    if (code != SAGENT_OK) {
      throw failure(code, "secret '" + std::string(reference) + "' cannot be read");
    }
    return out;
  }

  // Redacts derived secrets (tokens, generated passwords) from everything the host writes.
  void protect(std::string_view bytes) const {
    if (SAGENT_HAS(sagent_secrets_service, secrets_, protect)) {
      secrets_->protect(raw_, bytes.data(), bytes.size());
    }
  }

  // -1 when the host has no clock service.
  std::int64_t unix_ms() const {
    return SAGENT_HAS(sagent_clock_service, clock_, unix_ms) ? clock_->unix_ms(raw_) : -1;
  }

private:
  template <class Table>
  const Table* service(const char* id) const {
    return raw_ != nullptr && raw_->get_service != nullptr
               ? static_cast<const Table*>(raw_->get_service(raw_, id))
               : nullptr;
  }

  const sagent_host* raw_;
  const sagent_log_service* log_;
  const sagent_secrets_service* secrets_;
  const sagent_clock_service* clock_;
};

// The running call. Valid until the method returns; usable from the plugin's other threads until
// then.
class call {
public:
  explicit call(const sagent_call* raw) noexcept : raw_(raw) {}

  std::int64_t remaining_ms() const { return raw_->remaining_ms(raw_); }

  bool should_stop() const { return remaining_ms() <= 0; }

  // SAGENT_OK after the full time, else why to stop.
  sagent_code wait_ms(std::int64_t ms) const { return raw_->wait_ms(raw_, ms); }

  // One JSON object of the result. Throws failure when the host refuses it.
  void emit(std::string_view json) const {
    const sagent_code code = raw_->emit(raw_, json.data(), json.size());
    if (code != SAGENT_OK) {
      throw failure(code, "the host refused a result of " + std::to_string(json.size()) + " bytes");
    }
  }

  // Non-zero: stop now and return that code.
  sagent_code checkpoint(std::string_view json) const {
    return raw_->checkpoint(raw_, json.data(), json.size());
  }

  const sagent_call* raw() const noexcept { return raw_; }

private:
  const sagent_call* raw_;
};

struct request {
  explicit request(const sagent_request& r) noexcept
      : target(view(r.target)), body(view(r.body)), idempotency_key(view(r.idempotency_key)),
        trace_id(view(r.trace_id)), dry_run((r.flags & SAGENT_REQ_DRY_RUN) != 0) {}

  std::string_view target;
  std::string_view body;
  std::string_view idempotency_key;
  std::string_view trace_id;
  bool dry_run;
};

namespace detail {

// What a sagent_instance is here: an object of one of the plugin's classes.
class plugin_object {
public:
  plugin_object() = default;
  plugin_object(const plugin_object&) = delete;
  plugin_object& operator=(const plugin_object&) = delete;
  virtual ~plugin_object() = default;
};

inline sagent_instance* to_handle(plugin_object* o) noexcept {
  return reinterpret_cast<sagent_instance*>(o);
}

inline plugin_object* from_handle(sagent_instance* handle) noexcept {
  return reinterpret_cast<plugin_object*>(handle);
}

inline void report(const sagent_call* c, const failure& f) noexcept {
  if (c == nullptr || !SAGENT_HAS(sagent_call, c, fail)) {
    return;
  }
  sagent_error_info info;
  std::memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  info.code = f.code;
  info.message = borrow(f.message);
  info.provider_code = borrow(f.provider_code);
  info.provider_request_id = borrow(f.provider_request_id);
  info.retry_after_ms = f.retry_after_ms;
  info.public_message = borrow(f.public_message);
  info.detail = borrow(f.detail);
  c->fail(c, &info);
}

// The exception barrier: nothing gets past it.
template <class Body>
sagent_code guarded(const sagent_call* c, Body&& body) noexcept {
  try {
    body();
    return SAGENT_OK;
  } catch (const failure& f) {
    const sagent_code code = f.code == SAGENT_OK ? sagent_code{SAGENT_E_PLUGIN_BUG} : f.code;
    report(c, f);
    return code;
  } catch (const std::bad_alloc&) {
    return SAGENT_E_TRANSIENT;
  } catch (const std::exception& e) {
    try {
      report(c, failure(SAGENT_E_PLUGIN_BUG, std::string("unexpected exception: ") + e.what()));
    } catch (...) {
      return SAGENT_E_PLUGIN_BUG;
    }
    return SAGENT_E_PLUGIN_BUG;
  } catch (...) {
    return SAGENT_E_PLUGIN_BUG;
  }
}

// A method of the table of extension class Base. The host calls it only on instances it opened for
// that extension.
template <class Base, void (Base::*Method)(call&, const request&)>
sagent_code slot(sagent_instance* self, const sagent_call* c, const sagent_request* r) {
  return guarded(c, [&] {
    call the_call(c);
    (static_cast<Base&>(*from_handle(self)).*Method)(the_call, request(*r));
  });
}

// Overridden methods have the type of the deriving class.
template <class Mine, class Base>
constexpr bool overrides = !std::is_same_v<Mine, Base>;

template <class T, class = void>
struct schema_of {
  static const char* get() { return nullptr; }
};

template <class T>
struct schema_of<T, std::void_t<decltype(T::settings_schema())>> {
  static const char* get() { return T::settings_schema(); }
};

template <class T, class = void>
struct threads_of {
  static constexpr std::uint32_t value = SAGENT_THREADS_PER_INSTANCE;
};

template <class T>
struct threads_of<T, std::void_t<decltype(T::thread_model)>> {
  static constexpr std::uint32_t value = T::thread_model;
};

// Specialized by each extension's header: static constexpr const char* id; template <class T>
// static const void* table().
template <class Base>
struct extension_of;

} // namespace detail
} // namespace sagent
