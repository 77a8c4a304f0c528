// SPDX-License-Identifier: MIT
// The C++17 layer over the C ABI: write one class, end with one macro.
//
//   class my_cloud final : public sagent::resource_backend {
//   public:
//     my_cloud(sagent::host host, sagent::request settings);          // throw sagent::failure to
//     refuse static const char* settings_schema() { return R"({"type":"object"})"; }     //
//     optional static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;           //
//     optional void ping(sagent::call& call, const sagent::request& request) override;
//     ...
//   };
//   SAGENT_PLUGIN("my-cloud", "1.0.0", "Me", my_cloud)
//
// A slot of the table is set exactly when the class overrides its method. Every slot is an
// exception barrier: sagent::failure becomes its code and texts, bad_alloc is transient, any other
// exception is a plugin bug. JSON stays text here; take the parser you like.
#pragma once

#include "../resource_backend.h"
#include "../services.h"

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

// Base of every resource backend. The meaning of each method is its slot's comment in
// resource_backend.h; the mandatory ones are checked when the plugin is compiled.
class resource_backend {
public:
  resource_backend() = default;
  resource_backend(const resource_backend&) = delete;
  resource_backend& operator=(const resource_backend&) = delete;
  virtual ~resource_backend() = default;

#define SAGENT_CPP_METHOD(name)                                                                    \
  virtual void name(call&, const request&) {                                                       \
    throw failure(SAGENT_E_UNSUPPORTED, #name " is not supported by this plugin");                 \
  }
  SAGENT_CPP_METHOD(ping)
  SAGENT_CPP_METHOD(evaluate_order)
  SAGENT_CPP_METHOD(create_resource)
  SAGENT_CPP_METHOD(delete_resource)
  SAGENT_CPP_METHOD(pause)
  SAGENT_CPP_METHOD(downscale)
  SAGENT_CPP_METHOD(restore)
  SAGENT_CPP_METHOD(pull_resources)
  SAGENT_CPP_METHOD(report_usage)
  SAGENT_CPP_METHOD(list_resources)
  SAGENT_CPP_METHOD(set_resource_limits)
  SAGENT_CPP_METHOD(diagnostics)
  SAGENT_CPP_METHOD(add_members)
  SAGENT_CPP_METHOD(remove_members)
  SAGENT_CPP_METHOD(describe)
#undef SAGENT_CPP_METHOD
};

namespace detail {

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

template <class T, void (resource_backend::*Method)(call&, const request&)>
sagent_code slot(sagent_instance* self, const sagent_call* c, const sagent_request* r) {
  return guarded(c, [&] {
    call the_call(c);
    (static_cast<resource_backend*>(reinterpret_cast<T*>(self))->*Method)(the_call, request(*r));
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

template <class T>
const sagent_resource_backend* resource_backend_table() {
#define SAGENT_CPP_MANDATORY(name)                                                                 \
  static_assert(                                                                                   \
      overrides<decltype(&T::name), decltype(&resource_backend::name)>,                            \
      "a resource backend must override " #name                                                    \
  );
  SAGENT_CPP_MANDATORY(ping)
  SAGENT_CPP_MANDATORY(evaluate_order)
  SAGENT_CPP_MANDATORY(create_resource)
  SAGENT_CPP_MANDATORY(delete_resource)
  SAGENT_CPP_MANDATORY(pause)
  SAGENT_CPP_MANDATORY(downscale)
  SAGENT_CPP_MANDATORY(restore)
  SAGENT_CPP_MANDATORY(pull_resources)
  SAGENT_CPP_MANDATORY(report_usage)
  SAGENT_CPP_MANDATORY(list_resources)
  SAGENT_CPP_MANDATORY(set_resource_limits)
  SAGENT_CPP_MANDATORY(diagnostics)
#undef SAGENT_CPP_MANDATORY
#define SAGENT_CPP_SLOT(name)                                                                      \
  (overrides<decltype(&T::name), decltype(&resource_backend::name)>                                \
       ? &slot<T, &resource_backend::name>                                                         \
       : nullptr)
  static const sagent_resource_backend table = {
      sizeof(sagent_resource_backend),
      0,
      SAGENT_CPP_SLOT(ping),
      SAGENT_CPP_SLOT(evaluate_order),
      SAGENT_CPP_SLOT(create_resource),
      SAGENT_CPP_SLOT(delete_resource),
      SAGENT_CPP_SLOT(pause),
      SAGENT_CPP_SLOT(downscale),
      SAGENT_CPP_SLOT(restore),
      SAGENT_CPP_SLOT(pull_resources),
      SAGENT_CPP_SLOT(report_usage),
      SAGENT_CPP_SLOT(list_resources),
      SAGENT_CPP_SLOT(set_resource_limits),
      SAGENT_CPP_SLOT(diagnostics),
      SAGENT_CPP_SLOT(add_members),
      SAGENT_CPP_SLOT(remove_members),
      SAGENT_CPP_SLOT(describe),
  };
#undef SAGENT_CPP_SLOT
  return &table;
}

template <class T>
sagent_code create(
    const sagent_host* h,
    const sagent_call* c,
    const sagent_request* settings,
    sagent_instance** out
) {
  return guarded(c, [&] {
    *out = reinterpret_cast<sagent_instance*>(new T(host(h), request(*settings)));
  });
}

template <class T>
void destroy(sagent_instance* self) {
  guarded(nullptr, [&] { delete reinterpret_cast<T*>(self); });
}

template <class T>
const void* get_extension(const char* id) {
  if constexpr (std::is_base_of_v<resource_backend, T>) {
    if (id != nullptr && std::strcmp(id, SAGENT_EXT_RESOURCE_BACKEND) == 0) {
      return resource_backend_table<T>();
    }
  }
  return nullptr;
}

template <class T>
const char* get_settings_schema(const char* id) {
  return get_extension<T>(id) != nullptr ? schema_of<T>::get() : nullptr;
}

} // namespace detail
} // namespace sagent

// The only line outside the class. Strings must be literals.
#define SAGENT_PLUGIN(plugin_id, plugin_version, plugin_vendor, plugin_class)                      \
  extern "C" SAGENT_EXPORT const sagent_plugin* sagent_plugin_v0(void) {                           \
    static const sagent_plugin descriptor = {                                                      \
        sizeof(sagent_plugin),                                                                     \
        SAGENT_ABI_MINOR,                                                                          \
        1,                                                                                         \
        ::sagent::detail::threads_of<plugin_class>::value,                                         \
        plugin_id,                                                                                 \
        plugin_version,                                                                            \
        plugin_vendor,                                                                             \
        &::sagent::detail::create<plugin_class>,                                                   \
        &::sagent::detail::destroy<plugin_class>,                                                  \
        &::sagent::detail::get_extension<plugin_class>,                                            \
        &::sagent::detail::get_settings_schema<plugin_class>,                                      \
        nullptr,                                                                                   \
    };                                                                                             \
    return &descriptor;                                                                            \
  }
