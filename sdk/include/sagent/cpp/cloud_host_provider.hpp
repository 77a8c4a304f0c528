// SPDX-License-Identifier: MIT
// Cloud host providers in C++.
//
//   class my_hosts final : public sagent::cloud_host_provider {
//   public:
//     my_hosts(sagent::host host, const sagent::request& settings); // throw sagent::failure
//     static const char* settings_schema() { return R"({"type":"object"})"; } // optional
//     static const char* describe() { return R"({"display_name":"My Cloud", ...})"; }
//     void validate_host(sagent::call& call, const sagent::request& request) override;
//     ...
//   };
//   SAGENT_PLUGIN("my-cloud", "1.0.0", "Me", my_hosts)           // this extension alone
//   SAGENT_PLUGIN("my-cloud", "1.0.0", "Me", my_cloud, my_hosts) // or beside a resource backend
//
// sdk/doc/cloud-host-provider.md walks through a whole one.
#pragma once

#include "../cloud_host_provider.h"
#include "core.hpp"

namespace sagent {

// Base of every cloud host provider. The meaning of each method is its slot's comment in
// cloud_host_provider.h; all are mandatory, which is checked when the plugin is compiled, as is
// `static const char* describe()`: static JSON text, the same pointer each time.
class cloud_host_provider : public detail::plugin_object {
public:
#define SAGENT_CPP_METHOD(name)                                                                    \
  virtual void name(call&, const request&) {                                                       \
    throw failure(SAGENT_E_UNSUPPORTED, #name " is not supported by this plugin");                 \
  }
  SAGENT_CPP_METHOD(validate_host)
  SAGENT_CPP_METHOD(price_size)
  SAGENT_CPP_METHOD(credit_balance)
  SAGENT_CPP_METHOD(admit_addresses)
  SAGENT_CPP_METHOD(create_host)
  SAGENT_CPP_METHOD(host_state)
  SAGENT_CPP_METHOD(list_hosts)
  SAGENT_CPP_METHOD(delete_host)
  SAGENT_CPP_METHOD(check)
#undef SAGENT_CPP_METHOD
};

namespace detail {

template <class T, class = void>
struct describes_itself : std::false_type {};

template <class T>
struct describes_itself<T, std::void_t<decltype(T::describe())>>
    : std::is_convertible<decltype(T::describe()), const char*> {};

// The barrier of the one function that has no call to report to.
template <class T>
const char* description_of() {
  try {
    return T::describe();
  } catch (...) {
    return nullptr;
  }
}

template <class T>
const sagent_cloud_host_provider* cloud_host_provider_table() {
  static_assert(
      describes_itself<T>::value, "a cloud host provider must have static const char* describe()"
  );
#define SAGENT_CPP_MANDATORY(name)                                                                 \
  static_assert(                                                                                   \
      overrides<decltype(&T::name), decltype(&cloud_host_provider::name)>,                         \
      "a cloud host provider must override " #name                                                 \
  );
  SAGENT_CPP_MANDATORY(validate_host)
  SAGENT_CPP_MANDATORY(price_size)
  SAGENT_CPP_MANDATORY(credit_balance)
  SAGENT_CPP_MANDATORY(admit_addresses)
  SAGENT_CPP_MANDATORY(create_host)
  SAGENT_CPP_MANDATORY(host_state)
  SAGENT_CPP_MANDATORY(list_hosts)
  SAGENT_CPP_MANDATORY(delete_host)
  SAGENT_CPP_MANDATORY(check)
#undef SAGENT_CPP_MANDATORY
#define SAGENT_CPP_SLOT(name) &slot<cloud_host_provider, &cloud_host_provider::name>
  static const sagent_cloud_host_provider table = {
      sizeof(sagent_cloud_host_provider),
      0,
      &description_of<T>,
      SAGENT_CPP_SLOT(validate_host),
      SAGENT_CPP_SLOT(price_size),
      SAGENT_CPP_SLOT(credit_balance),
      SAGENT_CPP_SLOT(admit_addresses),
      SAGENT_CPP_SLOT(create_host),
      SAGENT_CPP_SLOT(host_state),
      SAGENT_CPP_SLOT(list_hosts),
      SAGENT_CPP_SLOT(delete_host),
      SAGENT_CPP_SLOT(check),
  };
#undef SAGENT_CPP_SLOT
  return &table;
}

template <>
struct extension_of<cloud_host_provider> {
  static constexpr const char* id = SAGENT_EXT_CLOUD_HOST_PROVIDER;

  template <class T>
  static const void* table() {
    return cloud_host_provider_table<T>();
  }
};

} // namespace detail
} // namespace sagent
