// SPDX-License-Identifier: MIT
// What Azure may say as rows: class, words for the customer, words for the operator. The rows are
// in the files error_rows_<part>_test.cpp.
#pragma once

#include "plugins/azure/error_map.hpp"

#include <gtest/gtest.h>

#include <string>

namespace siteagent::azure {

struct error_case {
  const char* test; // the code, and what tells it from its namesakes
  int status;       // 200: the status of an operation
  const char* code;
  const char* text;
  reason why;
  base::error_code result;
  const char* customer;      // part of it; "": the stock text
  const char* operator_text; // part of the advice
};

class azure_error_row : public testing::TestWithParam<error_case> {};

inline std::string name_of_row(const testing::TestParamInfo<error_case>& info) {
  return info.param.test;
}

inline constexpr const char* stock = "";

} // namespace siteagent::azure
