// SPDX-License-Identifier: MIT
// Checks what clients received against the published models: check-exchanges FILE...
#include "tests/unit/emulators/azure_contract.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>

namespace azure = siteagent::azure_emulator;
namespace base = siteagent::base;

namespace {

struct counts {
  int exchanges = 0;
  int bodies = 0;
  int problems = 0;
  std::map<std::string, int> operations;
  std::set<std::string> uncovered;
};

std::string without_names(const std::string& method, const std::string& path) {
  // Only the words that tell the operation: what follows the last provider, every second segment.
  const auto at = path.rfind("/providers/");
  return method + " " + (at == std::string::npos ? path : path.substr(at));
}

void check_line(const azure::service_contract& contract, const std::string& line, counts& seen) {
  const auto entry = base::json::parse(line);
  if (!entry) {
    std::cerr << "not JSON: " << line << '\n';
    ++seen.problems;
    return;
  }
  azure::exchange e;
  e.method = (*entry)["method"].string_or("");
  const std::string url = (*entry)["url"].string_or("");
  e.path = url.substr(0, url.find('?'));
  e.status = static_cast<int>((*entry)["status"].integer().value_or(0));
  const std::string text = (*entry)["body"].string_or("");
  auto body = base::json::parse(text);
  if (body) {
    e.body = *body;
  } else if (!text.empty() && e.status < 500) {
    std::cerr << e.method << ' ' << url << ": " << e.status << " with a body that is not JSON\n";
    ++seen.problems;
    return;
  } else if (e.status >= 500) {
    return; // a gateway's page, from a fault script
  }
  ++seen.exchanges;
  const auto verdict = contract.check(e);
  seen.bodies += verdict.body_checked ? 1 : 0;
  if (verdict.operation.empty()) {
    seen.uncovered.insert(without_names(e.method, e.path));
  } else {
    ++seen.operations[verdict.operation];
  }
  if (!verdict.problem.empty()) {
    std::cerr << e.method << ' ' << url << ": " << e.status << ' ' << verdict.operation << ": "
              << verdict.problem << '\n';
    ++seen.problems;
  }
}

} // namespace

int main(int argc, char** argv) {
  const auto* contract = azure::service_contract::shared();
  if (contract == nullptr) {
    std::cout << "Skipped\nno models of the real service (set SITEAGENT_SHARED_DIR)\n";
    return 77;
  }
  counts seen;
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i]);
    if (!in) {
      std::cout << "Skipped\nno exchanges in " << argv[i] << ": the client did not run\n";
      return 77;
    }
    for (std::string line; std::getline(in, line);) {
      check_line(*contract, line, seen);
    }
  }
  std::cout << seen.exchanges << " exchanges of " << seen.operations.size() << " operations, "
            << seen.bodies << " bodies checked, " << seen.problems << " problems\n";
  for (const auto& what : seen.uncovered) {
    std::cout << "not covered by operations.json: " << what << '\n';
  }
  return seen.exchanges == 0 || seen.problems != 0 ? 1 : 0;
}
