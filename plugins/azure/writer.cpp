// SPDX-License-Identifier: MIT
#include "plugins/azure/writer.hpp"

#include "core/base/text.hpp"
#include "core/net/retry.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr unsigned most_ambiguous = 5;  // lost answers in a row
constexpr unsigned most_references = 4; // "not found" of something just made: replication lag
constexpr unsigned most_remakes = 3;    // superseded or half-made writes
constexpr milliseconds longest_busy = std::chrono::minutes(5);

base::error not_ours(const making& m, std::string_view why) {
  return make_error(
      reason::invalid,
      base::error_code::conflict,
      describe("create", m.k, m.id) + ": an object of that name exists and " + std::string(why) +
          "; nothing was changed (" + m.id.text() + ")"
  );
}

// A success with somebody else's words, a gateway's say, proves neither that it exists nor whose
// it is.
bool is_about(const base::json& body, const resource_id& id) {
  const auto named = resource_id::parse(body["id"].string_or(""));
  return named && same_id(named->text(), id.text());
}

std::string state_text(const base::json& body) {
  return body.at({"properties", "provisioningState"}).string_or("Succeeded");
}

// Counts what may be repeated, and says how long to wait before it is.
class retries {
public:
  explicit retries(const services& cloud) : cloud_(cloud), started_(cloud.clock().steady()) {}

  // nullopt: give up.
  std::optional<milliseconds> next(const base::error& e, const kind& k) {
    const milliseconds floor = cloud_.arm().options().floor;
    switch (reason_of(e)) {
    case reason::ambiguous:
      return limited(ambiguous_, most_ambiguous, floor);
    case reason::group_missing:
    case reason::reference:
    case reason::absent:
      return limited(references_, most_references, floor);
    case reason::precondition:
      return limited(references_, most_references, floor);
    case reason::busy:
    case reason::nic_reserved:
      if (cloud_.clock().steady() - started_ >
          (cloud_.hosts() ? cloud_.hosts()->operation : longest_busy)) {
        return std::nullopt;
      }
      return e.retry_after ? std::max(*e.retry_after, floor) : floor * 5;
    case reason::superseded:
      // Somebody else's write may go on: look again.
      return limited(remakes_, most_remakes, floor * 2);
    case reason::half_made:
      // A machine is never made twice: whoever looks finds the failed one.
      return k.id == kind_id::virtual_machine ? std::nullopt
                                              : limited(remakes_, most_remakes, floor * 2);
    default:
      return std::nullopt;
    }
  }

private:
  static std::optional<milliseconds> limited(unsigned& count, unsigned most, milliseconds first) {
    if (count >= most) {
      return std::nullopt;
    }
    return net::backoff{first, milliseconds(60'000)}.delay(count++, net::random_jitter());
  }

  const services& cloud_;
  base::steady_time started_{};
  unsigned ambiguous_ = 0;
  unsigned references_ = 0;
  unsigned remakes_ = 0;
};

// "Not found" as the answer to a write is about what the write needs, and it was asked for often
// enough: the order fails, it is not the machine that is gone.
base::error refused_write(base::error e) {
  if (e.code == base::error_code::not_found) {
    e.code = base::error_code::permanent;
  }
  return e;
}

enum class found : std::uint8_t { absent, ready, remake };

// What the object that is there means for us. Fills `out` when it can be used.
base::result<found> judge_existing(
    const services& cloud,
    const arm::scope& call,
    const owner& who,
    const making& m,
    base::json seen,
    made& out
) {
  if (m.k.taggable && !m.shared) {
    switch (holder_of(seen, who)) {
    case holder::other:
      return not_ours(m, "belongs to another resource");
    case holder::nobody:
      return not_ours(m, "does not carry this resource's tag");
    case holder::mine:
      break;
    }
    if (m.tags.is_object() && !carries(seen, m.tags)) {
      return not_ours(m, "was made by somebody else at the same time");
    }
  }
  if (state_text(seen) == "Deleting") {
    return make_error(
        reason::busy,
        base::error_code::transient,
        describe("create", m.k, m.id) + ": it is being deleted; try again later"
    );
  }
  if (arm::state_of(seen.at({"properties", "provisioningState"})) == arm::run_state::running) {
    auto settled = arm::settle(
        cloud.arm(), call, following(cloud, m.k, m.id, "put", describe("wait for", m.k, m.id))
    );
    if (!settled) {
      return settled.error();
    }
    seen = std::move(*settled);
  }
  const bool failed =
      arm::state_of(seen.at({"properties", "provisioningState"})) == arm::run_state::failed;
  if (failed && m.k.id != kind_id::virtual_machine && !m.shared) {
    return found::remake;
  }
  out = {std::move(seen), true};
  return found::ready;
}

base::result<made>
write_and_follow(const services& cloud, const arm::scope& call, const making& m, bool create_only) {
  arm::write_request w;
  w.method = "PUT";
  w.path = url_of(m.id, m.k);
  w.body = m.body();
  w.create_only = create_only && m.k.create_only;
  w.fresh = true;
  w.what = describe("create", m.k, m.id);
  const std::string what = w.what;
  auto written = checked_write(cloud, call, m.k, m.id, std::move(w));
  if (!written) {
    return written.error();
  }
  auto settled = arm::follow(cloud.arm(), call, *written, following(cloud, m.k, m.id, "put", what));
  if (!settled) {
    return settled.error();
  }
  return made{std::move(*settled), false, written->status == 201};
}

// How long one operation may take, by experience with Azure; beyond it something is wrong there.
milliseconds longest_operation(const kind& k, std::string_view verb) {
  if (k.id == kind_id::resource_group) {
    return std::chrono::minutes(120);
  }
  if (k.id != kind_id::virtual_machine) {
    // Kinds the table does not know are only deleted, and may be anything.
    return k.prefix.empty() ? std::chrono::minutes(60) : std::chrono::minutes(5);
  }
  return std::chrono::minutes(verb == "put" ? 45 : verb == "delete" ? 60 : 20);
}

} // namespace

arm::followed following(
    const services& cloud,
    const kind& k,
    const resource_id& id,
    std::string_view verb,
    std::string what
) {
  arm::followed f;
  f.path = url_of(id, k);
  if (k.id == kind_id::virtual_machine && verb == "put") {
    f.path += "&$expand=instanceView"; // model and power state in one read
  }
  f.what = std::move(what);
  f.verb = verb;
  f.kind = k.name;
  f.id = id.text();
  f.usual = k.usual_poll;
  f.limit = longest_operation(k, verb);
  if (cloud.hosts()) {
    f.usual = cloud.hosts()->poll;
    f.limit = cloud.hosts()->operation;
  }
  f.read_back =
      !(k.id == kind_id::virtual_network || k.id == kind_id::subnet ||
        k.id == kind_id::network_security_group);
  return f;
}

namespace {

std::string_view phase_behind(
    const services& cloud, std::string_view verb, const base::result<arm::response>& answer
) {
  const bool may_be_there = answer || reason_of(answer.error()) == reason::ambiguous;
  const bool told = verb != "delete" && (verb != "put" || may_be_there);
  return told || !cloud.hosts() ? "after" : "poll";
}

} // namespace

base::result<void> note_removed(const arm::scope& call, const kind& k, const resource_id& id) {
  return call.checkpoint(base::json::object(
      {{"phase", "after"}, {"verb", "delete"}, {"kind", k.name}, {"id", id.text()}}
  ));
}

base::result<arm::response> checked_write(
    const services& cloud,
    const arm::scope& call,
    const kind& k,
    const resource_id& id,
    arm::write_request w
) {
  const std::string verb = base::to_lower(w.method);
  base::json note =
      base::json::object({{"phase", "before"}, {"verb", verb}, {"kind", k.name}, {"id", id.text()}}
      );
  if (auto go_on = call.checkpoint(note); !go_on) {
    return base::with_context(go_on.error(), w.what);
  }
  auto answer = cloud.arm().write(call, w);
  note.set("phase", phase_behind(cloud, verb, answer));
  note.set("status", answer ? answer->status : answer.error().http_status);
  const std::string request_id = answer ? answer->request_id : answer.error().provider_request_id;
  if (!request_id.empty()) {
    note.set("request_id", request_id);
  }
  if (auto go_on = call.checkpoint(note); !go_on) {
    return base::with_context(go_on.error(), w.what);
  }
  return answer;
}

base::result<base::json> take_existing(
    const services& cloud,
    const arm::scope& call,
    const owner& who,
    const making& m,
    base::json seen
) {
  made out;
  auto judged = judge_existing(cloud, call, who, m, std::move(seen), out);
  if (!judged) {
    return judged.error();
  }
  return std::move(out.body);
}

base::result<made>
make(const services& cloud, const arm::scope& call, const owner& who, const making& m) {
  retries again(cloud);
  bool in_doubt = false;
  for (bool look = !m.absent;; look = true) {
    std::optional<base::json> seen;
    if (look) {
      auto read = arm::read_if_present(
          cloud.arm(), call, url_of(m.id, m.k), describe("look for", m.k, m.id)
      );
      if (!read) {
        return read.error();
      }
      seen = std::move(*read);
    }
    bool remaking = false;
    if (seen) {
      made out;
      auto judged = judge_existing(cloud, call, who, m, std::move(*seen), out);
      if (!judged) {
        return judged.error();
      }
      if (*judged == found::ready) {
        out.adopted = !in_doubt;
        return out;
      }
      remaking = true;
    }
    auto written = write_and_follow(cloud, call, m, !remaking);
    if (written && !is_about(written->body, m.id)) {
      written = make_error(
          reason::ambiguous,
          base::error_code::transient,
          describe("create", m.k, m.id) + ": the answer is not about that object"
      );
    }
    if (written) {
      // Whoever answered 200 had an object already: only ours may go on.
      made checked;
      auto judged = judge_existing(cloud, call, who, m, written->body, checked);
      if (!judged) {
        return judged.error();
      }
      if (*judged == found::ready) {
        return written;
      }
      written = make_error(
          reason::half_made,
          base::error_code::transient,
          describe("create", m.k, m.id) + ": Azure reports it as failed"
      );
    }
    if (arm::is_stop(written.error())) {
      return written.error();
    }
    in_doubt = true;
    const auto pause = again.next(written.error(), m.k);
    if (!pause || *pause > call.remaining()) {
      return refused_write(std::move(written).error());
    }
    if (auto slept = call.wait(*pause); !slept) {
      return slept.error();
    }
  }
}

} // namespace siteagent::azure
