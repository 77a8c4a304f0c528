// SPDX-License-Identifier: MIT
// The requests of a clean run as steps of the matrix.
#include "tests/integration/matrix_rig.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <map>

namespace siteagent::integration::matrix {

namespace {

bool ends_with_any(const std::string& text, std::initializer_list<std::string_view> tails) {
  return std::any_of(tails.begin(), tails.end(), [&](std::string_view t) {
    return text.size() >= t.size() && text.substr(text.size() - t.size()) == t;
  });
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_monitor(const std::string& lower) {
  return contains(lower, "/operations/") || contains(lower, "/operationresults/") ||
         contains(lower, "/diskoperations/");
}

// The object a path is about; `lower` in lower case.
std::string object_in(const std::string& lower) {
  struct row {
    std::string_view part;
    const char* object;
  };

  for (const row& r :
       {row{"/subnets", "subnet"},
        row{"/virtualnetworks", "virtual-network"},
        row{"/publicipaddresses", "public-ip-address"},
        row{"/networksecuritygroups", "network-security-group"},
        row{"/networkinterfaces", "network-interface"},
        row{"/disks", "disk"},
        row{"/virtualmachines", "virtual-machine"},
        row{"/publishers", "image"}}) {
    if (contains(lower, r.part)) {
      return r.object;
    }
  }
  if (contains(lower, "/providers/")) {
    return "catalogue";
  }
  if (ends_with_any(lower, {"/resources"})) {
    return "tagged";
  }
  return contains(lower, "/resourcegroups") ? "resource-group" : "subscription";
}

bool is_list(const std::string& lower) {
  return ends_with_any(
      lower,
      {"/resources",
       "/resourcegroups",
       "/virtualmachines",
       "/virtualnetworks",
       "/publicipaddresses",
       "/networkinterfaces",
       "/networksecuritygroups",
       "/disks"}
  );
}

// The path as a regular expression in which the ids of operations and orders may be any.
std::string pattern_of(const std::string& path) {
  const std::string lower = base::to_lower(path);
  std::string text = path;
  if (is_monitor(lower)) {
    text.resize(text.rfind('/') + 1);
  }
  std::string out = "^";
  for (std::size_t i = 0; i < text.size();) {
    const bool order = text.compare(i, 20, "/marketplace-orders/") == 0 && text.size() >= i + 52;
    if (order) {
      out += "/marketplace-orders/[0-9a-f]{32}";
      i += 52;
      continue;
    }
    if (std::string_view(".()[]{}+*?^$|\\").find(text[i]) != std::string_view::npos) {
      out += '\\';
    }
    out += text[i++];
  }
  return out + (is_monitor(lower) ? "[^/]+$" : "$");
}

// What the clean-up of other resources asks is no part of the operation.
bool is_sweep(const journal_line& l, operation op) {
  return contains(l.query, "waldur-offering-uuid") ||
         (op != operation::pause && op != operation::unpause && op != operation::restore &&
          ends_with_any(
              l.path, {std::string(subscription) + "/providers/Microsoft.Compute/virtualMachines"}
          ));
}

class recorder {
public:
  recorder(operation op, group_mode mode) : op_(op), mode_(mode) {}

  void cloud(const std::vector<journal_line>& lines) {
    std::string followed; // what the last write was about
    unsigned ordinal = 0;
    for (const journal_line& l : lines) {
      ++ordinal;
      step s = base_step(l, ordinal);
      const std::string lower = base::to_lower(l.path);
      if (contains(lower, "/oauth2/")) {
        s.what = call::login;
        s.object = "token";
      } else if (l.is_write()) {
        s.what = call::write;
        s.object = followed = object_in(lower);
        s.starts_operation = s.object == "network-interface";
      } else if (is_monitor(lower)) {
        s.what = call::monitor;
        s.object = followed;
        if (!steps_.empty() && steps_.back().what == call::write) {
          steps_.back().starts_operation = true;
        }
      } else {
        s.what = is_list(lower) ? call::list : call::read;
        s.object = object_in(lower);
        if (is_sweep(l, op_)) {
          ++seen_[l.method + s.path];
          continue;
        }
      }
      add(std::move(s));
    }
  }

  void waldur(const std::vector<journal_line>& lines) {
    unsigned ordinal = 0;
    for (const journal_line& l : lines) {
      ++ordinal;
      const bool counts = l.is_write() && (contains(l.path, "/marketplace-orders/") ||
                                           contains(l.path, "/marketplace-provider-resources/"));
      if (!counts) {
        continue;
      }
      step s = base_step(l, ordinal);
      s.what = call::record;
      const auto parts = base::split(l.path, '/');
      s.object = parts.size() > 1 ? parts[parts.size() - 2] : l.path;
      add(std::move(s));
    }
  }

  std::vector<step> take() { return std::move(steps_); }

private:
  step base_step(const journal_line& l, unsigned ordinal) const {
    step s;
    s.op = op_;
    s.mode = mode_;
    s.method = l.method;
    s.path = pattern_of(l.path);
    s.ordinal = ordinal;
    return s;
  }

  void add(step s) {
    s.nth = ++seen_[s.method + s.path];
    s.number = ++named_[s.name()];
    steps_.push_back(std::move(s));
  }

  operation op_;
  group_mode mode_;
  std::map<std::string, unsigned> seen_;
  std::map<std::string, unsigned> named_;
  std::vector<step> steps_;
};

} // namespace

std::vector<step> steps_of(
    operation op,
    group_mode mode,
    const std::vector<journal_line>& cloud,
    const std::vector<journal_line>& waldur
) {
  recorder r(op, mode);
  r.cloud(cloud);
  r.waldur(waldur);
  return r.take();
}

} // namespace siteagent::integration::matrix
