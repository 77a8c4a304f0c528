// SPDX-License-Identifier: MIT
// Included before everything else: a misuse of RapidJSON throws, in every build, instead of reading
// garbage in release builds. <utility> first: Boost 1.74's Asio needs it in C++20.
#pragma once

#include <stdexcept>
#include <utility>

#define RAPIDJSON_ASSERT(x)                                                                        \
  ((x) ? static_cast<void>(0) : throw std::logic_error("RapidJSON: " #x))
#define RAPIDJSON_HAS_STDSTRING 1
