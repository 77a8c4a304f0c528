// SPDX-License-Identifier: MIT
// What the published models and operation tables of the real service say about an exchange.
#pragma once

#include "core/base/json.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// One answered request. `body` is null when the answer had none.
struct exchange {
  std::string method;
  std::string path; // without query
  int status = 0;
  base::json body;
};

// The models of one service: types of flattened properties ("properties.provisioningState").
class service_models {
public:
  explicit service_models(base::json document);

  bool has(std::string_view type) const;
  // "" when the value fits, else where and why it does not. Unknown properties are allowed, as
  // the real service sends some.
  std::string
  misfit(const base::json& value, std::string_view type, const std::string& where) const;

private:
  std::string
  check(const base::json& value, const base::json& spec, const std::string& where) const;
  static std::string
  check_plain(const base::json& value, const base::json& spec, const std::string& where);

  base::json document_;
};

// models-*.json and operations.json of one folder.
class service_contract {
public:
  struct operation {
    std::string method;
    std::string path; // with {parameters}
    std::string name; // "virtualMachines.get"
    std::string package;
    base::json responses; // status or "default" → type or null
  };

  struct verdict {
    std::string operation; // "" = no operation of the table
    std::string problem;   // "" = fits
    bool body_checked = false;
  };

  // nullptr when the folder is not there.
  static const service_contract* shared();
  explicit service_contract(const std::filesystem::path& folder);

  const std::vector<operation>& operations() const { return operations_; }

  const service_models& models_of(std::string_view package) const;
  verdict check(const exchange& e) const;

private:
  const operation* find(const exchange& e) const;
  std::string body_problem(const exchange& e, const operation& o, bool& checked) const;

  std::vector<operation> operations_;
  std::map<std::string, service_models, std::less<>> models_;
};

// The URL of a long-running operation; its documents have rules instead of models.
bool is_monitor(std::string_view path);

} // namespace siteagent::azure_emulator
