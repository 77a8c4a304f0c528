// SPDX-License-Identifier: MIT
// Leases of Kubernetes.
#include "core/agent/lease_keeper.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"
#include "core/config/config.hpp"
#include "core/net/url.hpp"
#include "core/observe/log.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace siteagent::agent {

namespace {

constexpr const char* usual_account = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::chrono::seconds tick{1};
constexpr std::chrono::seconds request_time{5};
constexpr std::chrono::seconds release_time{3};
constexpr std::chrono::minutes complaint_interval{10};
// Less than a few ticks cannot be kept; after an hour nobody waits for a dead agent.
constexpr std::chrono::seconds shortest_duration{3};
constexpr std::chrono::seconds longest_duration{3'600};

// Kubernetes' MicroTime takes exactly six digits.
std::string micro_time(base::wall_time t) {
  std::string text = base::to_rfc3339(t, true);
  text.insert(text.size() - 1, "000");
  return text;
}

std::string variable(const char* name) {
  const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? std::string() : std::string(text);
}

base::error missing(const std::string& what) {
  return {
      .code = base::error_code::invalid,
      .message = "leases need Kubernetes: " + what +
                 "; run as a pod with a service account, or leave --lease and "
                 "WALDUR_SITE_AGENT_LEASE_NAMESPACE out"};
}

// "lease site-agent-...: HTTP 403 leases is forbidden"
base::error answered(const std::string& name, const net::response& r) {
  const base::result<base::json> body = base::json::parse(r.body);
  const std::string words = body ? (*body)["message"].string_or("") : "";
  return {
      .code = base::error_code::transient,
      .message = "lease " + name + ": HTTP " + std::to_string(r.status) + " " +
                 std::string(base::truncated(words, 200)) +
                 (r.status == 401 || r.status == 403
                      ? "; let the service account get, create and update leases of "
                        "coordination.k8s.io"
                      : ""),
      .http_status = r.status};
}

} // namespace

// One offering's lease as this process sees it. Used by the keeper's thread; the rest of the agent
// reads `held_until_` and the holder.
class lease_keeper::entry {
public:
  entry(std::string name, std::string offering, const base::clock& clock)
      : name_(std::move(name)),
        log_(observe::logger("lease").with("offering", std::move(offering))), next_(clock.steady()),
        clock_(clock) {}

  bool is_held() const {
    const std::lock_guard lock(mutex_);
    return clock_.steady() < held_until_;
  }

  base::json describe() const {
    const std::lock_guard lock(mutex_);
    return base::json::object(
        {{"name", name_},
         {"held", clock_.steady() < held_until_},
         {"holder", holder_.empty() ? base::json() : base::json(holder_)}}
    );
  }

  void hold_until(base::steady_time t, const std::string& holder) {
    const std::lock_guard lock(mutex_);
    held_until_ = t;
    holder_ = holder;
  }

  const std::string name_;
  const observe::logger log_;
  std::atomic<bool> is_wanted_{true}; // somebody still asks

  // What was read last, and since when it is so.
  base::json object_;
  base::steady_time seen_{};
  base::steady_time next_;
  bool was_held_ = false;
  std::optional<base::steady_time> complained_;

private:
  const base::clock& clock_;
  mutable std::mutex mutex_;
  base::steady_time held_until_{};
  std::string holder_;
};

namespace {

base::result<std::chrono::seconds> duration_from_environment(std::chrono::seconds usual) {
  constexpr const char* name = "WALDUR_SITE_AGENT_LEASE_SECONDS";
  const std::string text = variable(name);
  if (text.empty()) {
    return usual;
  }
  std::int64_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc() || end != text.data() + text.size() ||
      std::chrono::seconds(seconds) < shortest_duration ||
      std::chrono::seconds(seconds) > longest_duration) {
    return base::error{
        .code = base::error_code::invalid,
        .message = std::string(name) + ": '" + text + "' is no whole number from " +
                   std::to_string(shortest_duration.count()) + " to " +
                   std::to_string(longest_duration.count())};
  }
  return std::chrono::seconds(seconds);
}

} // namespace

base::result<lease_options> leases_in_cluster(std::string name_space, std::string mode) {
  const std::string host = variable("KUBERNETES_SERVICE_HOST");
  std::string port = variable("KUBERNETES_SERVICE_PORT_HTTPS");
  port = port.empty() ? variable("KUBERNETES_SERVICE_PORT") : port;
  if (host.empty()) {
    return missing("KUBERNETES_SERVICE_HOST is not set");
  }
  lease_options out;
  if (const auto duration = duration_from_environment(out.duration)) {
    out.duration = *duration;
  } else {
    return duration.error();
  }
  std::string account = variable("WALDUR_SITE_AGENT_LEASE_ACCOUNT");
  account = account.empty() ? usual_account : account;
  const bool is_v6 = host.find(':') != std::string::npos;
  out.api = "https://" + (is_v6 ? "[" + host + "]" : host) + (port.empty() ? "" : ":" + port);
  out.token_file = account + "/token";
  out.ca_file = account + "/ca.crt";
  for (const std::string& file : {out.token_file, out.ca_file}) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      return missing(file + " is not there");
    }
  }
  out.name_space = std::move(name_space);
  out.mode = std::move(mode);
  const std::string pod = variable("HOSTNAME");
  out.holder = (pod.empty() ? std::string("site-agent") : pod) + "_" + base::uuid::random().hex();
  return out;
}

base::result<std::unique_ptr<net::transport>> make_lease_transport(const lease_options& options) {
  const base::result<net::url> api = net::parse_url(options.api);
  if (!api) {
    return base::with_context(api.error(), "address of Kubernetes");
  }
  net::transport_options made;
  made.allowed_origins = {api->origin};
  made.ca_file = options.ca_file;
  made.connect_timeout = request_time;
  return net::make_transport(std::move(made));
}

lease_keeper::lease_keeper(
    lease_options options, std::shared_ptr<net::transport> transport, const base::clock& clock
)
    : options_(std::move(options)), transport_(std::move(transport)), clock_(clock) {}

lease_keeper::~lease_keeper() {
  give_back();
}

void lease_keeper::give_back() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const auto until = std::chrono::steady_clock::now() + release_time;
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<entry>& e : entries_) {
    if (std::chrono::steady_clock::now() < until) {
      release(*e);
    }
  }
}

std::shared_ptr<offering_lease> lease_keeper::add(const config::offering& offering) {
  class handle final : public offering_lease {
  public:
    explicit handle(std::shared_ptr<entry> e) : entry_(std::move(e)) {}

    ~handle() override { entry_->is_wanted_ = false; }

    bool is_held() const override { return entry_->is_held(); }

    base::json describe() const override { return entry_->describe(); }

  private:
    std::shared_ptr<entry> entry_; // shared with the keeper
  };

  std::string mode = options_.mode;
  std::replace(mode.begin(), mode.end(), '_', '-');
  auto made = std::make_shared<entry>(
      "waldur-site-agent-" + mode + "-" + offering.uuid.hex(), offering.name, clock_
  );
  const std::lock_guard lock(mutex_);
  entries_.push_back(made);
  return std::make_shared<handle>(std::move(made));
}

void lease_keeper::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void lease_keeper::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    turn();
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, tick, [] { return false; });
  }
}

void lease_keeper::turn() {
  std::vector<std::shared_ptr<entry>> all;
  {
    const std::lock_guard lock(mutex_);
    all.assign(entries_.begin(), entries_.end());
  }
  for (const std::shared_ptr<entry>& e : all) {
    if (thread_.get_stop_token().stop_requested()) {
      return;
    }
    if (!e->is_wanted_) {
      release(*e);
      const std::lock_guard lock(mutex_);
      entries_.remove(e);
    } else if (clock_.steady() >= e->next_) {
      step(*e);
    }
  }
}

void lease_keeper::step(entry& e) {
  const bool ours = e.object_["spec"]["holderIdentity"].string_or("") == options_.holder;
  if (ours) {
    claim(e, false);
  } else {
    look(e);
  }
  const bool held = e.is_held();
  if (held != e.was_held_) {
    e.log_.info(
        held ? "lease acquired; this agent polls the offering"
             : "lease lost; what runs is finished, nothing new is begun",
        {{"lease", e.name_}}
    );
    e.was_held_ = held;
  }
  e.next_ = clock_.steady() + options_.duration / (held && !e.object_.is_null() ? 3 : 6);
}

// Reads it; takes it when it is free.
void lease_keeper::look(entry& e) {
  const base::result<net::response> answer = send("GET", e, nullptr);
  if (!answer) {
    fail(e, answer.error());
    return;
  }
  if (answer->status == 404) {
    create(e);
    return;
  }
  base::result<base::json> body = base::json::parse(answer->body);
  if (answer->status != 200 || !body) {
    fail(e, answered(e.name_, *answer));
    return;
  }
  const base::json& version = (*body)["metadata"]["resourceVersion"];
  if (!(version == e.object_["metadata"]["resourceVersion"])) {
    e.seen_ = clock_.steady();
  }
  e.object_ = *std::move(body);
  const base::json& lease = e.object_["spec"];
  const std::string holder = lease["holderIdentity"].string_or("");
  e.hold_until({}, holder);
  const std::chrono::seconds lasts(lease["leaseDurationSeconds"].integer().value_or(0));
  if (holder.empty() || holder == options_.holder || clock_.steady() - e.seen_ >= lasts) {
    claim(e, holder != options_.holder);
  }
}

base::json lease_keeper::spec(const entry& e, bool take_over) const {
  base::json made = e.object_["spec"].is_object() ? e.object_["spec"] : base::json::object();
  const std::string now = micro_time(clock_.wall());
  made.set("holderIdentity", options_.holder);
  made.set("leaseDurationSeconds", static_cast<std::int64_t>(options_.duration.count()));
  made.set("renewTime", now);
  if (take_over) {
    made.set("acquireTime", now);
    made.set("leaseTransitions", made["leaseTransitions"].integer().value_or(-1) + 1);
  }
  return made;
}

void lease_keeper::create(entry& e) {
  e.object_ = base::json::object(
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", base::json::object({{"name", e.name_}, {"namespace", options_.name_space}})}}
  );
  claim(e, true);
}

// Writes our name into what was read last; another's write in between makes it a conflict.
void lease_keeper::claim(entry& e, bool take_over) {
  const bool is_new = e.object_["metadata"]["resourceVersion"].is_null();
  base::json wanted = e.object_;
  wanted.set("spec", spec(e, take_over));
  const base::steady_time asked = clock_.steady();
  const base::result<net::response> answer = send(is_new ? "POST" : "PUT", e, &wanted, is_new);
  const bool taken = answer && (answer->status == 200 || answer->status == 201);
  base::result<base::json> body = taken ? base::json::parse(answer->body) : base::json();
  if (taken && body) {
    e.object_ = *std::move(body);
    e.seen_ = asked;
    // Ended early by a sixth: the others count from later, but their seconds may be shorter.
    e.hold_until(asked + options_.duration * 5 / 6, options_.holder);
    return;
  }
  e.object_ = {}; // the next step looks afresh
  if (answer && (answer->status == 409 || answer->status == 404)) {
    e.hold_until({}, "");
    return; // another was faster, or somebody deleted it
  }
  fail(e, answer ? answered(e.name_, *answer) : answer.error());
}

void lease_keeper::release(entry& e) {
  if (!e.is_held() || e.object_.is_null()) {
    return;
  }
  e.hold_until({}, "");
  base::json given_back = e.object_;
  base::json lease = spec(e, false);
  lease.set("holderIdentity", "");
  lease.set("leaseDurationSeconds", 1);
  given_back.set("spec", std::move(lease));
  (void)send("PUT", e, &given_back); // else it runs out by itself
}

void lease_keeper::fail(entry& e, const base::error& why) {
  const base::steady_time now = clock_.steady();
  if (!e.complained_ || now - *e.complained_ >= complaint_interval) {
    e.log_.failure(observe::level::warning, "the lease cannot be asked for", why);
    e.complained_ = now;
  }
}

base::result<net::response> lease_keeper::send(
    std::string_view method, const entry& e, const base::json* body, bool to_all
) const {
  net::request q;
  q.method = std::string(method);
  q.url = options_.api + "/apis/coordination.k8s.io/v1/namespaces/" +
          net::encode(options_.name_space) + "/leases" + (to_all ? "" : "/" + e.name_);
  q.headers = {{"Accept", "application/json"}};
  // When the turns end, the one request that counts is the one that gives back.
  const bool gives_back =
      body != nullptr && (*body)["spec"]["holderIdentity"].string_or("").empty();
  q.deadline = gives_back ? release_time : request_time;
  if (!gives_back) {
    q.stop_requested = [stop = thread_.get_stop_token()] { return stop.stop_requested(); };
  }
  q.max_body = std::size_t{1} << 20U;
  if (body != nullptr) {
    q.body = body->dump();
  }
  if (!options_.token_file.empty()) {
    const base::result<base::secret> token =
        config::read_secret_again("file:" + options_.token_file);
    if (!token) {
      return base::with_context(token.error(), "lease " + e.name_);
    }
    q.headers.emplace_back("Authorization", "Bearer " + std::string(token->reveal()));
  }
  base::result<net::response> answer = transport_->perform(q);
  if (!answer) {
    return base::with_context(std::move(answer).error(), "lease " + e.name_);
  }
  return answer;
}

} // namespace siteagent::agent
