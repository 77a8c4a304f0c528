// SPDX-License-Identifier: MIT
// Steps times faults, and the choice of pairs.
#include "tests/integration/matrix.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace siteagent::integration::matrix {

namespace {

// Numbers for the levels of each factor, and for each pair of them.
class pair_numbers {
public:
  std::vector<std::size_t> of(const std::vector<std::string>& levels) {
    std::vector<std::size_t> out;
    for (std::size_t a = 0; a < levels.size(); ++a) {
      for (std::size_t b = a + 1; b < levels.size(); ++b) {
        const auto key = std::to_string(a) + levels[a] + "|" + std::to_string(b) + levels[b];
        out.push_back(numbers_.emplace(key, numbers_.size()).first->second);
      }
    }
    return out;
  }

  std::size_t of(const std::string& form) {
    return numbers_.emplace("form " + form, numbers_.size()).first->second;
  }

  std::size_t count() const { return numbers_.size(); }

private:
  std::map<std::string, std::size_t> numbers_;
};

} // namespace

std::string_view name_of(operation o) {
  switch (o) {
  case operation::create:
    return "create";
  case operation::remove:
    return "delete";
  case operation::pause:
    return "pause";
  case operation::unpause:
    return "unpause";
  case operation::restore:
    return "restore";
  }
  return "?";
}

std::string_view name_of(group_mode m) {
  return m == group_mode::shared ? "shared" : "dedicated";
}

std::string_view name_of(call c) {
  switch (c) {
  case call::write:
    return "write";
  case call::monitor:
    return "poll";
  case call::read:
    return "read";
  case call::list:
    return "list";
  case call::login:
    return "login";
  case call::record:
    return "record";
  }
  return "?";
}

std::string step::name() const {
  std::string out(name_of(op));
  out += "." + std::string(name_of(mode)) + "." + std::string(name_of(what)) + "." + object;
  if (what == call::write) {
    out += "." + method;
  }
  return number == 1 ? out : out + "." + std::to_string(number);
}

std::string cell::name() const {
  return where.name() + "/" + what.name + (is_killed ? "/killed" : "");
}

std::vector<std::string> cell::levels() const {
  // What is only read at the start is of one kind, and so is everything told to Waldur.
  const bool background =
      where.object == "image" || where.object == "catalogue" || where.object == "subscription";
  return {
      std::string(name_of(where.op)),
      std::string(name_of(where.what)),
      where.what == call::record ? "waldur"
      : background               ? "background"
                                 : where.object,
      what.family,
      is_killed ? "killed" : "lives",
      std::string(name_of(where.mode))};
}

std::vector<cell> all_cells(const std::vector<step>& steps) {
  std::vector<cell> out;
  for (const step& s : steps) {
    for (const fault& f : faults_at(s)) {
      for (const bool killed : {false, true}) {
        out.push_back({s, f, killed});
      }
    }
  }
  return out;
}

std::vector<cell> pairwise(const std::vector<cell>& all) {
  pair_numbers numbers;
  std::vector<std::vector<std::size_t>> pairs;
  pairs.reserve(all.size());
  for (const cell& c : all) {
    pairs.push_back(numbers.of(c.levels()));
    // Codes stand for their kind; of everything else each form is met somewhere.
    if (c.what.code.empty()) {
      pairs.back().push_back(numbers.of(c.what.name));
    }
  }
  std::vector<bool> covered(numbers.count(), false);
  const auto gain = [&](const std::vector<std::size_t>& p) {
    return std::count_if(p.begin(), p.end(), [&](std::size_t n) { return !covered[n]; });
  };
  // Gains only shrink: a stale one is an upper bound, so most cells need no second look.
  std::set<std::pair<std::ptrdiff_t, std::size_t>> best; // by gain, smallest first: negated
  for (std::size_t i = 0; i < all.size(); ++i) {
    best.emplace(-gain(pairs[i]), i);
  }
  std::vector<std::size_t> chosen;
  while (!best.empty()) {
    const auto [bound, i] = *best.begin();
    best.erase(best.begin());
    const auto now = gain(pairs[i]);
    if (now == 0) {
      continue;
    }
    if (now != -bound) {
      best.emplace(-now, i);
      continue;
    }
    for (const std::size_t n : pairs[i]) {
      covered[n] = true;
    }
    chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<cell> out;
  out.reserve(chosen.size());
  for (const std::size_t i : chosen) {
    out.push_back(all[i]);
  }
  return out;
}

} // namespace siteagent::integration::matrix
