// SPDX-License-Identifier: MIT
// The C++17 layer over the C ABI: write one class per extension, end with one macro.
//
//   class my_cloud final : public sagent::resource_backend {
//   public:
//     my_cloud(sagent::host host, const sagent::request& settings); // throw sagent::failure
//     static const char* settings_schema() { return R"({"type":"object"})"; } // optional
//     static constexpr unsigned thread_model = SAGENT_THREADS_PARALLEL;       // optional
//     void ping(sagent::call& call, const sagent::request& request) override;
//     ...
//   };
//   SAGENT_PLUGIN("my-cloud", "1.0.0", "Me", my_cloud)
//
// A plugin may serve several extensions, each by a class of its own with settings of its own:
//   SAGENT_PLUGIN("my-cloud", "1.0.0", "Me", my_cloud, my_hosts)
// Its thread model is then the strictest of the classes'.
//
// A slot of a table is set exactly when the class overrides its method. Every slot is an exception
// barrier: sagent::failure becomes its code and texts, bad_alloc is transient, any other exception
// is a plugin bug. JSON stays text here; take the parser you like.
#pragma once

#include "cloud_host_provider.hpp"
#include "core.hpp"
#include "resource_backend.hpp"

namespace sagent {
namespace detail {

template <class T>
struct base_of {
  static constexpr bool is_backend = std::is_base_of_v<resource_backend, T>;
  static_assert(
      is_backend != std::is_base_of_v<cloud_host_provider, T>,
      "a plugin class derives from resource_backend or from cloud_host_provider"
  );
  using type = std::conditional_t<is_backend, resource_backend, cloud_host_provider>;
};

template <class T>
using extension = extension_of<typename base_of<T>::type>;

template <class T>
bool serves(std::string_view id) {
  return id == extension<T>::id;
}

template <class T>
const void* table_if(const char* id) {
  return id != nullptr && serves<T>(id) ? extension<T>::template table<T>() : nullptr;
}

template <class T>
const char* schema_if(const char* id) {
  return id != nullptr && serves<T>(id) ? schema_of<T>::get() : nullptr;
}

template <class T>
plugin_object* make_if(bool wanted, const sagent_host* h, const sagent_request& settings) {
  return wanted ? new T(host(h), request(settings)) : nullptr;
}

// The functions of the descriptor of a plugin made of these classes.
template <class... Ts>
struct plugin_of {
  static constexpr bool is_only = sizeof...(Ts) == 1;
  static constexpr bool has_twins = (0 + ... + std::is_base_of_v<resource_backend, Ts>) > 1 ||
                                    (0 + ... + std::is_base_of_v<cloud_host_provider, Ts>) > 1;
  static_assert(!has_twins, "two classes of this plugin serve the same extension");

  static constexpr std::uint32_t threads() {
    std::uint32_t strictest = SAGENT_THREADS_PARALLEL;
    for (const std::uint32_t each : {threads_of<Ts>::value...}) {
      strictest = each < strictest ? each : strictest;
    }
    return strictest;
  }

  // A plugin of one class ignores the extension's name.
  static sagent_code create(
      const sagent_host* h,
      const sagent_call* c,
      const sagent_request* settings,
      sagent_instance** out
  ) {
    return guarded(c, [&] {
      const std::string_view id = view(settings->target);
      plugin_object* made = nullptr;
      (void)(... || ((made = make_if<Ts>(is_only || serves<Ts>(id), h, *settings)) != nullptr));
      if (made == nullptr) {
        throw failure(SAGENT_E_UNSUPPORTED, "this plugin does not offer '" + std::string(id) + "'");
      }
      *out = to_handle(made);
    });
  }

  static void destroy(sagent_instance* self) {
    guarded(nullptr, [&] { delete from_handle(self); });
  }

  static const void* get_extension(const char* id) {
    const void* found = nullptr;
    (void)(... || ((found = table_if<Ts>(id)) != nullptr));
    return found;
  }

  static const char* get_settings_schema(const char* id) {
    const char* found = nullptr;
    (void)(... || ((found = schema_if<Ts>(id)) != nullptr));
    return found;
  }
};

} // namespace detail
} // namespace sagent

// The only line outside the classes. Strings must be literals; after them one class per extension.
#define SAGENT_PLUGIN(plugin_id, plugin_version, plugin_vendor, ...)                               \
  extern "C" SAGENT_EXPORT const sagent_plugin* sagent_plugin_v0(void) {                           \
    using functions = ::sagent::detail::plugin_of<__VA_ARGS__>;                                    \
    static const sagent_plugin descriptor = {                                                      \
        sizeof(sagent_plugin),                                                                     \
        SAGENT_ABI_MINOR,                                                                          \
        1,                                                                                         \
        functions::threads(),                                                                      \
        plugin_id,                                                                                 \
        plugin_version,                                                                            \
        plugin_vendor,                                                                             \
        &functions::create,                                                                        \
        &functions::destroy,                                                                       \
        &functions::get_extension,                                                                 \
        &functions::get_settings_schema,                                                           \
        nullptr,                                                                                   \
    };                                                                                             \
    return &descriptor;                                                                            \
  }
