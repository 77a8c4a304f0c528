// SPDX-License-Identifier: MIT
// load-historical-usage: past months of usage, booked by somebody of staff.
#include "core/agent/usage/history.hpp"
#include "core/app/commands.hpp"
#include "core/app/on_demand.hpp"
#include "core/base/secret.hpp"

#include <iostream>
#include <string>

namespace siteagent::app {

namespace {

using kind = agent::booking_outcome::kind;

std::string clean(const std::string& text) {
  return base::global_redactor().scrub(text);
}

int complain(const std::string& why, int code = exit_failed) {
  std::cerr << "waldur-site-agent: load-historical-usage: " << clean(why) << '\n';
  return code;
}

// The value itself, "${NAME}" or "file:/path": a token on the command line is seen by everybody.
base::result<base::secret> read_token(const std::string& given) {
  if (given.starts_with("${") || given.starts_with("file:")) {
    return config::read_secret_again(given);
  }
  return base::secret(given);
}

const char* word_of(const agent::history_line& line, bool dry_run) {
  if (!line.is_measured) {
    return "no data";
  }
  switch (line.outcome.what) {
  case kind::booked:
    return dry_run ? "would be booked" : "booked";
  case kind::unchanged:
    return "unchanged";
  case kind::refused:
    return "refused: only staff may book that month";
  case kind::failed:
    return "FAILED";
  }
  return "";
}

void print(const agent::history_line& line, bool dry_run) {
  std::cout << agent::period_text(line.period).substr(0, 7) << "  " << clean(line.resource.name)
            << " (" << line.resource.uuid.hex() << "): " << word_of(line, dry_run);
  if (line.outcome.why) {
    std::cout << ": " << clean(line.outcome.why->message);
  }
  std::cout << '\n';
  for (const agent::usage_change& c : line.outcome.changes) {
    std::cout << "    " << c.component << (c.user.empty() ? "" : " of " + clean(c.user)) << ": "
              << (c.before.empty() ? "-" : c.before) << " -> " << c.after << '\n';
  }
}

void print(const agent::history_summary& s, bool dry_run) {
  std::cout << s.months << " month(s), " << s.resources << " resource(s): " << s.booked
            << (dry_run ? " would be booked, " : " booked, ") << s.unchanged << " unchanged, "
            << s.no_data << " without data, " << s.refused << " refused, " << s.failed << " failed";
  if (s.failed_months > 0) {
    std::cout << "; " << s.failed_months << " month(s) could not be measured";
  }
  std::cout << (dry_run ? "; nothing was written\n" : "\n");
}

struct work {
  agent::history_request request;
  bool check_staff = true;
};

bool load(
    const work& w, agent::offering_context& offering, agent::portal& waldur, agent::environment& env
) {
  if (agent::usage_books* books = waldur.find_usage_books(); w.check_staff && books != nullptr) {
    const base::result<bool> staff = books->is_staff();
    if (!staff) {
      complain("the user of the token is unreadable: " + staff.error().message);
      return false;
    }
    if (!*staff) {
      complain("the token's user is not of staff, who alone may book past months; "
               "--no-staff-check tries nevertheless");
      return false;
    }
  }
  const bool dry_run = w.request.rules.dry_run;
  const auto done = agent::load_history(
      offering,
      waldur,
      env,
      w.request,
      [dry_run](const agent::history_line& l) { print(l, dry_run); }
  );
  if (!done) {
    complain(done.error().message);
    return false;
  }
  print(*done, dry_run);
  return done->failed == 0 && done->failed_months == 0;
}

} // namespace

int run_load_historical_usage(const command_line& line) {
  const auto first = agent::month_of_day(line.history.start_date);
  const auto last = agent::month_of_day(line.history.end_date);
  if (!first || !last) {
    return complain(
        "--start-date and --end-date are days as 2026-01-31, not '" +
            (first ? line.history.end_date : line.history.start_date) + "'",
        exit_usage
    );
  }
  if (line.history.end_date < line.history.start_date) {
    return complain("--end-date lies before --start-date");
  }
  const base::result<base::secret> token = read_token(line.history.user_token);
  if (!token) {
    return complain("--user-token: " + token.error().message);
  }
  base::global_redactor().protect(token->reveal());
  bool fine = true;
  std::optional<config::agent_config> config = load_for_command(line, fine);
  if (!config) {
    return exit_failed;
  }
  for (config::offering& o : config->offerings) {
    o.waldur_api_token = base::secret(token->reveal());
    o.waldur_api_token_source.clear();
    o.oidc_token_url.clear();
  }
  work w;
  w.request = {*first, *last, line.history.backend_ids, {}};
  w.request.rules.with_users = !line.history.skip_user_usage;
  w.request.rules.zero_stale = line.history.reconcile_stale;
  w.request.rules.dry_run = line.dry_run;
  w.check_staff = !line.history.no_staff_check;
  const auto one = [&](agent::offering_context& offering,
                       agent::portal& waldur,
                       agent::environment& env) { return load(w, offering, waldur, env); };
  return for_each_offering(*config, line, {}, one) ? exit_fine : exit_failed;
}

} // namespace siteagent::app
