// SPDX-License-Identifier: MIT
// The only file that includes cpprestsdk. Its known defects, and what is done about each, stand
// beside the lines that deal with them.
#include "core/net/transport.hpp"

#include "core/base/text.hpp"
#include "core/net/bridge.hpp"
#include "core/net/certificate_trust.hpp"
#include "core/net/failure.hpp"
#include "core/net/idle_pool.hpp"
#include "core/net/request_rules.hpp"
#include "core/net/resolver.hpp"
#include "core/net/route.hpp"
#include "core/net/socket_watch.hpp"
#include "core/net/tunnel.hpp"

#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <variant>

namespace siteagent::net {

namespace {

using base::error_code;
using base::steady_time;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds poll_interval{50};
// How long an exchange may take to let go once its connection is cut, and then once more when it is
// cancelled; it needs about 1 ms.
constexpr milliseconds cut_grace{1'000};
constexpr milliseconds cancel_grace{2'000};
constexpr milliseconds shortest_connect{1'000};
constexpr milliseconds longest_idle{60'000};
constexpr const char* default_user_agent = "site-agent/" SITEAGENT_VERSION;
// Far below the totals that a chunk of negative size leads to.
constexpr std::size_t largest_body = std::size_t{1} << 40U;
constexpr std::size_t max_header_bytes = std::size_t{256} << 10U;
// The library's own timer counts single steps, never a whole exchange; the caller's deadline rules.
constexpr std::chrono::hours step_timeout{24};

// One client of the library, used by one exchange at a time: so it holds one connection at most,
// and what is noted here is about that exchange.
struct peer {
  web::uri base;
  // Shared with the library's connections, which may live a little longer.
  std::shared_ptr<verification> trust = std::make_shared<verification>();
  std::shared_ptr<bridge> by; // of a route through a proxy; shared with the hook below
  std::unique_ptr<web::http::client::http_client> client;

  struct guarded_watch {
    std::mutex mutex;
    socket_watch socket;
    bool is_cut = false; // nothing is to be sent any more
  };

  // Shared with the library, which repeats a request on a new socket by itself.
  std::shared_ptr<guarded_watch> watch = std::make_shared<guarded_watch>();

  std::uint64_t received() const {
    const std::lock_guard lock(watch->mutex);
    return watch->socket.received();
  }

  // Ends what is under way. The library's own cancelling closes the socket under a thread of its
  // own that may be about to wait for it, which has been seen to end the process.
  void cut() const {
    const std::lock_guard lock(watch->mutex);
    watch->is_cut = true;
    watch->socket.shut_down();
  }

  void unwatch() const {
    const std::lock_guard lock(watch->mutex);
    watch->socket = socket_watch();
  }
};

using socket = boost::asio::ip::tcp::socket;

// The bridge lets in this socket only. Throws when the bridge is gone.
void bind_to_bridge(socket& s, const std::weak_ptr<bridge>& by) {
  s.bind({boost::asio::ip::address_v4::loopback(), 0});
  std::shared_ptr<bridge>(by)->admit(s.local_endpoint().port());
}

// Called for each request before it is sent, a kept connection or not. Opens a new socket itself:
// the library would do it later, out of reach and without close-on-exec.
void watch_socket(
    socket& s, bool is_ipv6, const std::weak_ptr<bridge>* by, peer::guarded_watch& watch
) {
  const std::lock_guard lock(watch.mutex);
  if (watch.is_cut) {
    throw std::runtime_error("not wanted any more");
  }
  if (!s.is_open()) {
    s.open(is_ipv6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4());
    if (by != nullptr) {
      bind_to_bridge(s, *by);
    }
  } else if (has_unexpected_input(s.native_handle())) {
    throw std::runtime_error("the kept connection is of no use");
  }
  watch.socket = socket_watch(s.native_handle());
}

// What the library is to connect to. By its parts: it keeps the brackets of a parsed IPv6 host and
// cannot resolve it then. An address, never a name that it would resolve: one hung lookup would
// block every connection of the process.
web::uri base_of(const origin& to, const route& way, const bridge* by) {
  web::uri_builder base;
  base.set_scheme(to.scheme);
  if (way.is_absolute()) {
    const bool is_ipv6 = to.host.find(':') != std::string::npos;
    base.set_host(is_ipv6 ? "[" + to.host + "]" : to.host).set_port(to.port);
  } else if (by != nullptr) {
    base.set_host("127.0.0.1").set_port(by->port());
  } else {
    base.set_host(way.address).set_port(to.port);
  }
  return base.to_uri();
}

std::unique_ptr<peer> make_peer(
    const transport_options& options,
    const certificate_store& store,
    const origin& to,
    const route& way,
    std::shared_ptr<bridge> by
) {
  auto made = std::make_unique<peer>();
  const bool is_tls = to.scheme == "https";
  const bool is_ipv6 = by == nullptr && way.address.find(':') != std::string::npos;
  web::http::client::http_client_config config;
  config.set_timeout(step_timeout);
  config.set_max_redirects(0); // the library would carry Authorization to another host
  config.set_request_compressed_response(false); // no limit on what a bomb unpacks to
  config.set_validate_certificates(options.verify_tls);
  config.set_ssl_context_callback([store, trust = made->trust](boost::asio::ssl::context& c) {
    trust->apply(c.native_handle(), store);
  });
  config.set_nativehandle_options([is_tls,
                                   is_ipv6,
                                   is_bridged = by != nullptr,
                                   weak = std::weak_ptr(by),
                                   watch = made->watch](web::http::client::native_handle handle) {
    socket& s = is_tls ? static_cast<boost::asio::ssl::stream<socket&>*>(handle)->next_layer()
                       : *static_cast<socket*>(handle);
    watch_socket(s, is_ipv6, is_bridged ? &weak : nullptr, *watch);
  });
  if (way.is_absolute()) {
    web::uri_builder near;
    near.set_scheme("http").set_host("127.0.0.1").set_port(by->port());
    config.set_proxy(web::web_proxy(near.to_uri()));
  }
  made->base = base_of(to, way, by.get());
  made->by = std::move(by);
  made->client = std::make_unique<web::http::client::http_client>(made->base, config);
  return made;
}

using outcome = std::variant<response, failure>;

using body_bytes = std::vector<unsigned char>;

// Shared by the caller and the library's callbacks, which may come after the caller gave up.
struct progress {
  // Set when the library has handed the whole header block to the kernel; before that the other
  // side cannot have taken it for a request.
  std::atomic<bool> is_sent{false};
  std::atomic<std::uint64_t> downloaded{0};
  std::promise<web::http::http_response> head;
  std::promise<body_bytes> body;
};

// Fulfils the promise from the library's thread, and reads the task's exception in every case: one
// that nobody reads ends the process.
template <class T>
void deliver(
    const pplx::task<T>& task,
    const std::shared_ptr<progress>& shared,
    std::promise<T> progress::*promise
) {
  task.then([shared, promise](const pplx::task<T>& done) {
    try {
      ((*shared).*promise).set_value(done.get());
    } catch (...) {
      ((*shared).*promise).set_exception(std::current_exception());
    }
  });
}

class exchange {
public:
  exchange(const request& r, peer& to, time_limits l)
      : request_(r), peer_(to), limits_(l), limit_(std::min(r.max_body, largest_body)) {}

  ~exchange() {
    // What is still under way is not wanted any more; the library would read it to its end. Not
    // after a success: the connection is on its way back to the client then.
    if (!is_complete_) {
      peer_.cut();
    }
    peer_.unwatch();
  }

  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  outcome run(web::http::http_request prepared);

private:
  struct given_up {
    ending end;
    std::string why;
  };

  template <class T>
  std::optional<failure> wait(std::future<T>& answer);
  template <class T>
  bool lets_go(std::future<T>& answer);
  std::optional<given_up> check_limits() const;
  std::optional<failure> check_head(const web::http::http_response& head) const;
  failure failed(ending end, std::string why) const;
  failure too_large() const;
  failure broke(std::string_view step) const;

  const request& request_;
  peer& peer_;
  time_limits limits_;
  std::size_t limit_; // of the body
  std::shared_ptr<progress> shared_ = std::make_shared<progress>();
  pplx::cancellation_token_source source_;
  bool has_head_ = false;
  bool is_complete_ = false;
};

failure exchange::failed(ending end, std::string why) const {
  return {end, std::move(why), shared_->is_sent, has_head_};
}

failure exchange::too_large() const {
  return failed(
      ending::too_large, "the answer is larger than " + std::to_string(limit_) + " bytes"
  );
}

// The library's error codes mislead (refused reads as "no route to host"): the step decides.
failure exchange::broke(std::string_view step) const {
  if (shared_->is_sent) {
    return failed(
        ending::broken,
        has_head_ ? "the connection broke within the answer"
                  : "the connection broke before the answer"
    );
  }
  if (const auto problem = peer_.trust->problem()) {
    return failed(
        ending::no_connection,
        "the server's certificate was refused: " + *problem +
            "; check the host name, or give the CA file of its authority"
    );
  }
  return failed(
      ending::no_connection,
      step.find("SSL") != std::string_view::npos
          ? "TLS handshake failed; check that the port speaks TLS 1.2 or later"
          : "no connection; check that the service runs and can be reached"
  );
}

std::optional<exchange::given_up> exchange::check_limits() const {
  const auto now = steady_clock::now();
  if (now >= limits_.deadline) {
    return given_up{ending::deadline, "no complete answer before the deadline"};
  }
  if (now >= limits_.connect_by && !shared_->is_sent) {
    return given_up{
        ending::no_connection, "no connection in time; check that the service can be reached"};
  }
  // The library's own handler speaks up only between chunks, and not at all within headers. A
  // quarter more than the body, for TLS records and chunk lines.
  const std::uint64_t limit = limit_ + limit_ / 4 + 2 * max_header_bytes;
  if (peer_.received() > limit) {
    return given_up{ending::too_large, too_large().why};
  }
  if (request_.stop_requested && request_.stop_requested()) {
    return given_up{ending::stopped, "stopped on request"};
  }
  return std::nullopt;
}

template <class T>
bool exchange::lets_go(std::future<T>& answer) {
  peer_.cut();
  if (answer.wait_for(cut_grace) == std::future_status::ready) {
    return true;
  }
  source_.cancel();
  return answer.wait_for(cancel_grace) == std::future_status::ready;
}

// Waits on the caller's own thread, so that no code of the caller's runs on the library's.
template <class T>
std::optional<failure> exchange::wait(std::future<T>& answer) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(limits_.deadline - steady_clock::now());
    const auto pause = std::clamp(left, milliseconds{1}, poll_interval);
    if (answer.wait_for(pause) == std::future_status::ready) {
      return std::nullopt;
    }
    auto up = check_limits();
    if (!up) {
      continue;
    }
    // What was sent is known only once the library has let go.
    if (!lets_go(answer)) {
      shared_->is_sent = true;
    }
    const bool is_late_connect = up->end == ending::no_connection && shared_->is_sent;
    return failed(is_late_connect ? ending::broken : up->end, std::move(up->why));
  }
}

std::optional<failure> exchange::check_head(const web::http::http_response& head) const {
  const int status = head.status_code();
  if (status < 200 || status > 599) {
    // An interim answer: the real one would be taken for the answer to the next request.
    return failed(ending::protocol, "status " + std::to_string(status) + " is not a final answer");
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : head.headers()) {
    bytes += name.size() + value.size();
  }
  if (bytes > max_header_bytes) {
    return failed(
        ending::too_large,
        "the answer's headers are larger than " + std::to_string(max_header_bytes) + " bytes"
    );
  }
  const auto length = head.headers().find("Content-Length");
  if (length != head.headers().end() && request_.method != "HEAD") {
    const std::string& text = length->second;
    std::uint64_t announced = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), announced);
    if (parsed.ec == std::errc::result_out_of_range || announced > limit_) {
      return too_large();
    }
  }
  return std::nullopt;
}

outcome exchange::run(web::http::http_request prepared) {
  using way = web::http::message_direction::direction;
  prepared.set_progress_handler([shared = shared_,
                                 limit = limit_](way direction, utility::size64_t total) {
    if (direction == way::upload) {
      shared->is_sent = true;
      return;
    }
    // Falling: a chunk of negative size, which the library would write to memory in a moment.
    const std::uint64_t before = shared->downloaded.exchange(total);
    if (total > limit || total < before) {
      throw std::length_error("answer too large");
    }
  });
  try {
    auto answer = shared_->head.get_future();
    deliver(peer_.client->request(prepared, source_.get_token()), shared_, &progress::head);
    if (auto failed = wait(answer)) {
      return *failed;
    }
    const web::http::http_response head = answer.get();
    has_head_ = true;
    if (auto failed = check_head(head)) {
      return *failed;
    }
    auto rest = shared_->body.get_future();
    deliver(head.extract_vector(), shared_, &progress::body);
    if (auto failed = wait(rest)) {
      return *failed;
    }
    const body_bytes bytes = rest.get();
    is_complete_ = true;
    response out;
    out.status = head.status_code();
    for (const auto& [name, value] : head.headers()) {
      out.headers.emplace_back(base::to_lower(name), value);
    }
    out.body.assign(bytes.begin(), bytes.end());
    return out;
  } catch (const std::length_error&) {
    return too_large();
  } catch (const std::exception& e) {
    return broke(e.what());
  }
}

class cpprest_transport final : public transport {
public:
  cpprest_transport(transport_options options, certificate_store store)
      : options_(std::move(options)), store_(std::move(store)), resolver_(options_.lookup) {}

  base::result<response> perform(const request& r) override;

private:
  using connected = std::variant<std::unique_ptr<peer>, failure>;

  connected connect(const url& to, const route& way, const request& r, const time_limits& l) const;
  outcome try_route(const url& to, const route& way, const request& r, const time_limits& l);
  web::http::http_request prepare(const url& to, const route& way, const request& r) const;

  const transport_options options_;
  const certificate_store store_;
  resolver resolver_;
  idle_pool<peer> idle_{longest_idle}; // by origin and route
};

web::http::http_request
cpprest_transport::prepare(const url& to, const route& way, const request& r) const {
  web::http::http_request out(r.method);
  // Only path and query count. With a host before it, because a path that begins with // would be
  // read as one.
  out.set_request_uri(web::uri("http://host" + escaped_target(to.target)));
  for (const auto& [name, value] : r.headers) {
    out.headers().add(name, value);
  }
  out.headers().add("Host", host_header(to.origin));
  if (!out.headers().has("User-Agent")) {
    // Always one: the library would name itself and its version.
    const bool is_named = !options_.user_agent.empty();
    out.headers().add("User-Agent", is_named ? options_.user_agent : default_user_agent);
  }
  if (way.is_absolute() && !way.hop->via.user.empty()) {
    out.headers().add("Proxy-Authorization", proxy_authorization(way.hop->via));
  }
  if (!r.body.empty()) {
    const bool has_type = out.headers().has("Content-Type");
    out.set_body(r.body, has_type ? out.headers()["Content-Type"] : r.content_type);
  }
  return out;
}

cpprest_transport::connected cpprest_transport::connect(
    const url& to, const route& way, const request& r, const time_limits& l
) const {
  if (!way.hop) {
    return make_peer(options_, store_, to.origin, way, nullptr);
  }
  auto by = bridge::open(*way.hop, l, r.stop_requested);
  if (auto* problem = std::get_if<failure>(&by)) {
    return std::move(*problem);
  }
  return make_peer(
      options_, store_, to.origin, way, std::get<std::unique_ptr<bridge>>(std::move(by))
  );
}

// The proxy's own refusal, where it answers in place of the service.
outcome with_proxy_refusal(outcome result, const route& way) {
  constexpr int login_wanted = 407;
  const auto* answer = std::get_if<response>(&result);
  if (!way.is_absolute() || answer == nullptr || answer->status != login_wanted) {
    return result;
  }
  const auto offered = answer->header("proxy-authenticate").value_or("");
  return failure{ending::proxy_login, proxy_login_error(way.hop->via, offered).message};
}

// What became of the second attempt does not undo the first.
failure after(bool was_sent, failure second) {
  if (was_sent) {
    second.is_sent = true;
    second.end = second.end == ending::no_connection ? ending::broken : second.end;
  }
  return second;
}

outcome cpprest_transport::try_route(
    const url& to, const route& way, const request& r, const time_limits& l
) {
  const std::string key = to.origin.text() + " " + way.key();
  // The library repeats a request by itself when a kept connection turns out dead, a POST too.
  const bool may_reuse = is_idempotent(r.method) && !r.fresh_connection;
  auto p = may_reuse ? idle_.take(key, steady_clock::now()) : nullptr;
  outcome result;
  bool was_sent = false;
  if (p) {
    result = exchange(r, *p, l).run(prepare(to, way, r));
    const auto* f = std::get_if<failure>(&result);
    // A connection that died while idle is no news about the service: once more, on a new one.
    const bool is_dead = f != nullptr && !f->has_head &&
                         (f->end == ending::broken || f->end == ending::no_connection);
    if (is_dead && steady_clock::now() < l.connect_by) {
      was_sent = f->is_sent;
      p = nullptr;
    }
  }
  if (!p) {
    auto fresh = connect(to, way, r, l);
    if (auto* problem = std::get_if<failure>(&fresh)) {
      return after(was_sent, std::move(*problem));
    }
    p = std::get<std::unique_ptr<peer>>(std::move(fresh));
    result = exchange(r, *p, l).run(prepare(to, way, r));
  }
  result = with_proxy_refusal(std::move(result), way);
  // After any failure the client goes: it may keep a dead or a half-read socket.
  if (auto* f = std::get_if<failure>(&result)) {
    return after(was_sent, std::move(*f));
  }
  if (may_reuse) {
    idle_.give_back(key, std::move(p), steady_clock::now());
  }
  return result;
}

base::result<response> cpprest_transport::perform(const request& r) {
  const auto deadline = steady_clock::now() + r.deadline;
  const auto to = check_request(r, options_);
  if (!to) {
    return to.error();
  }
  const auto& [scheme, host, port] = to->origin;
  const proxy* via = options_.proxies.for_host(scheme, host, port);
  const std::string what =
      r.method + " " + to->origin.text() + (via == nullptr ? "" : " through " + via->text());
  const auto routes = find_routes(to->origin, via, options_, resolver_, r, deadline);
  if (!routes) {
    return base::with_context(routes.error(), what);
  }
  failure last;
  const auto share = options_.connect_timeout / static_cast<int>(routes->size());
  for (const route& way : *routes) {
    const auto patience = std::max(share, std::min(options_.connect_timeout, shortest_connect));
    const time_limits l{deadline, std::min(deadline, steady_clock::now() + patience)};
    auto result = try_route(*to, way, r, l);
    if (auto* answer = std::get_if<response>(&result)) {
      return std::move(*answer);
    }
    last = std::get<failure>(std::move(result));
    if (last.end != ending::no_connection) {
      return to_error(last, r, what);
    }
  }
  forget_names(to->origin, via, resolver_);
  return to_error(last, r, what);
}

} // namespace

base::result<std::unique_ptr<transport>> make_transport(transport_options options) {
  if (!is_header_value(options.user_agent)) {
    return base::error{
        .code = error_code::invalid, .message = "user agent: holds a line break or a zero byte"};
  }
  certificate_store store;
  if (!options.ca_file.empty()) {
    auto loaded = load_certificates(options.ca_file);
    if (!loaded) {
      return std::move(loaded).error();
    }
    store = std::move(*loaded);
  }
  // The pool first: statics end in reverse order, and a static transport must not outlive it.
  (void)crossplat::threadpool::shared_instance();
  return std::unique_ptr<transport>(
      std::make_unique<cpprest_transport>(std::move(options), std::move(store))
  );
}

void initialise_process() {
  // The bundle of all authorities would be parsed for every connection; the hashed directory gives
  // just the one that is needed. An operator's own choice of either stands.
  if (std::getenv("SSL_CERT_FILE") == nullptr && std::getenv("SSL_CERT_DIR") == nullptr) {
    setenv("SSL_CERT_FILE", "/dev/null", 0);
    setenv("SSL_CERT_DIR", "/etc/ssl/certs", 0);
  }
  std::signal(SIGPIPE, SIG_IGN);
  // The pool's threads block signals themselves, but only once they run: until then one of them
  // might take a signal that the program waits for elsewhere.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    crossplat::threadpool::initialize_with_threads(4);
  } catch (const std::exception&) {
    // The pool runs already; it serves with another number of threads too.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace siteagent::net
