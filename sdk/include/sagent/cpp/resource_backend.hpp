// SPDX-License-Identifier: MIT
// Resource backends in C++: derive from sagent::resource_backend, end with SAGENT_PLUGIN
// (plugin.hpp).
#pragma once

#include "../resource_backend.h"
#include "core.hpp"

namespace sagent {

// Base of every resource backend. The meaning of each method is its slot's comment in
// resource_backend.h; the mandatory ones are checked when the plugin is compiled.
class resource_backend : public detail::plugin_object {
public:
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
       ? &slot<resource_backend, &resource_backend::name>                                          \
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

template <>
struct extension_of<resource_backend> {
  static constexpr const char* id = SAGENT_EXT_RESOURCE_BACKEND;

  template <class T>
  static const void* table() {
    return resource_backend_table<T>();
  }
};

} // namespace detail
} // namespace sagent
