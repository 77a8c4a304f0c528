// SPDX-License-Identifier: MIT
// The only file that includes cpprestsdk. Its known defects, and what is done about each, stand
// beside the lines that deal with them.
#include "core/net/transport.hpp"

#include "core/base/text.hpp"
#include "core/net/resolver.hpp"

#include <cpprest/http_client.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <variant>

namespace siteagent::net {

namespace {

using base::error_code;
using base::steady_time;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds poll_interval{50};
// How long a cancelled exchange may take to let go; it needs about 1 ms.
constexpr milliseconds cancel_grace{2'000};
constexpr milliseconds shortest_connect{1'000};
constexpr std::size_t max_addresses = 4;
// The library's own timer counts single steps and never a whole exchange; ours ends earlier.
constexpr std::chrono::hours step_timeout{24};

bool is_read(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

bool is_idempotent(std::string_view method) {
  return is_read(method) || method == "PUT" || method == "DELETE";
}

// --- What is refused before anything is sent
// ------------------------------------------------------

bool is_token(std::string_view text) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// The framing is ours and the library's. Expect is among them because the library takes the answer
// to it for the final one.
bool is_reserved_header(std::string_view name) {
  constexpr std::array<std::string_view, 6> reserved = {
      "host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"};
  const std::string lower = base::to_lower(name);
  return std::find(reserved.begin(), reserved.end(), lower) != reserved.end();
}

base::error refused(const std::string& what, const std::string& why) {
  return {.code = error_code::permanent, .message = what + ": refused before sending: " + why};
}

std::optional<base::error> check_headers(const request& r, const std::string& what) {
  for (const auto& [name, value] : r.headers) {
    if (!is_token(name)) {
      return refused(what, "a header name has a character that is not allowed");
    }
    if (!is_header_value(value)) {
      return refused(what, "header " + name + " holds a line break or a zero byte");
    }
    if (is_reserved_header(name)) {
      return refused(what, "header " + name + " belongs to the transport");
    }
  }
  if (!is_header_value(r.content_type)) {
    return refused(what, "the content type holds a line break or a zero byte");
  }
  return std::nullopt;
}

std::optional<base::error>
check_origin(const transport_options& options, const origin& to, const std::string& what) {
  const auto& allowed = options.allowed_origins;
  if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), to) == allowed.end()) {
    return refused(what, "the origin is not one of those configured");
  }
  if (to.scheme == "http" && !options.allow_plain_http && !to.is_loopback()) {
    return refused(what, "plain http is for loopback only; use https");
  }
  return std::nullopt;
}

// Characters that no URL may have but that services put into their links all the same; the library
// refuses them, every browser escapes them.
std::string escaped_target(std::string_view target) {
  std::string out;
  for (const char c : target) {
    static constexpr std::string_view illegal = "\"<>[\\]^`{|}";
    out += illegal.find(c) == std::string_view::npos ? std::string(1, c) : encode({&c, 1});
  }
  return out;
}

// --- TLS
// ------------------------------------------------------------------------------------------

using certificate_store = std::shared_ptr<X509_STORE>; // one per transport, used by every handshake

base::error ca_failure(const std::string& file, const std::string& why) {
  return {
      .code = error_code::invalid,
      .message = "CA file " + file + ": " + why + "; give a readable file of PEM certificates"};
}

base::result<certificate_store> load_store(const std::string& file) {
  errno = 0;
  if (!std::ifstream(file)) {
    const int reason = errno;
    return ca_failure(file, std::generic_category().message(reason != 0 ? reason : ENOENT));
  }
  certificate_store store(X509_STORE_new(), X509_STORE_free);
  const bool is_loaded = store && X509_STORE_load_file(store.get(), file.c_str()) == 1;
  ERR_clear_error(); // the queue is per thread and would be read by the next user of OpenSSL
  if (!is_loaded) {
    return ca_failure(file, "no certificate could be read from it");
  }
  return store;
}

// Why the last certificate of this peer was refused; X509_V_OK: none was. Handshakes run on the
// library's threads.
struct verification {
  static constexpr long wrong_name = -1;

  std::atomic<long> failure{X509_V_OK};
};

int verify_chain(X509_STORE_CTX* chain, void* argument) {
  const int is_good = X509_verify_cert(chain);
  if (is_good != 1) {
    const long failure = X509_STORE_CTX_get_error(chain);
    // The library's name check says no without setting a reason.
    const bool is_name = failure == X509_V_OK;
    static_cast<verification*>(argument)->failure = is_name ? verification::wrong_name : failure;
  }
  return is_good;
}

std::string certificate_problem(long failure) {
  return failure == verification::wrong_name ? "it is for another host name"
                                             : X509_verify_cert_error_string(failure);
}

// --- One client of the library
// --------------------------------------------------------------------

struct peer {
  // Shared with the library's connections, which may live a little longer.
  std::shared_ptr<verification> verified = std::make_shared<verification>();
  web::uri base;
  std::unique_ptr<web::http::client::http_client> client;
};

std::string address_url(const origin& to, const std::string& address) {
  return origin{to.scheme, address, to.port}.text();
}

std::shared_ptr<peer> make_peer(
    const transport_options& options,
    const certificate_store& store,
    const origin& to,
    const std::string& address
) {
  auto made = std::make_shared<peer>();
  web::http::client::http_client_config config;
  config.set_timeout(step_timeout);
  config.set_max_redirects(0); // the library would carry Authorization to another host
  config.set_request_compressed_response(false); // no limit on what a bomb unpacks to
  config.set_validate_certificates(options.verify_tls);
  config.set_ssl_context_callback([store, verified = made->verified](boost::asio::ssl::context& c) {
    SSL_CTX* context = c.native_handle();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    if (store) {
      SSL_CTX_set1_cert_store(context, store.get());
    }
    SSL_CTX_set_cert_verify_callback(context, verify_chain, verified.get());
  });
  made->base = web::uri(address_url(to, address));
  made->client = std::make_unique<web::http::client::http_client>(made->base, config);
  return made;
}

// --- One exchange
// ---------------------------------------------------------------------------------

using body_bytes = std::vector<unsigned char>;

// Shared by the caller and the library's callbacks, which may come after the caller gave up.
struct exchange {
  std::atomic<bool> is_sent{false}; // the whole header block went to the kernel
  std::promise<web::http::http_response> head;
  std::promise<body_bytes> body;
};

enum class ending : std::uint8_t { no_connection, broken, protocol, too_large, deadline, stopped };

struct failure {
  ending end = ending::broken;
  std::string why;
  bool is_sent = false;
  bool has_head = false; // status and headers were read
};

struct limits {
  steady_time deadline;
  steady_time connect_by;
};

// Fulfils the promise from the library's thread. Reads the task's exception in every case: an
// exception nobody reads ends the process.
template <class T>
void deliver(
    const pplx::task<T>& task,
    const std::shared_ptr<exchange>& shared,
    std::promise<T> exchange::*promise
) {
  task.then([shared, promise](const pplx::task<T>& done) {
    try {
      ((*shared).*promise).set_value(done.get());
    } catch (...) {
      ((*shared).*promise).set_exception(std::current_exception());
    }
  });
}

class exchanger {
public:
  exchanger(const request& r, std::shared_ptr<peer> to, limits l)
      : request_(r), peer_(std::move(to)), limits_(l), shared_(std::make_shared<exchange>()) {}

  // Whatever is still under way is not wanted any more: the library would read it to its end.
  ~exchanger() { source_.cancel(); }

  exchanger(const exchanger&) = delete;
  exchanger& operator=(const exchanger&) = delete;

  std::variant<response, failure> run(const web::http::http_request& prepared);
  void watch(web::http::http_request& prepared) const;

private:
  template <class T>
  std::optional<failure> wait(std::future<T>& answer);
  std::optional<ending> out_of_time() const;
  failure failed(ending end, std::string why) const;
  failure broke(const char* step) const;
  std::optional<failure> check_head(const web::http::http_response& head) const;

  const request& request_;
  std::shared_ptr<peer> peer_;
  limits limits_;
  std::shared_ptr<exchange> shared_;
  pplx::cancellation_token_source source_;
  bool has_head_ = false;
};

void exchanger::watch(web::http::http_request& prepared) const {
  prepared.set_progress_handler([shared = shared_, limit = request_.max_body](
                                    web::http::message_direction::direction way, utility::size64_t n
                                ) {
    if (way == web::http::message_direction::upload) {
      shared->is_sent = true; // called first when all headers are written, not before
    } else if (n > limit) {
      throw std::length_error("answer too large");
    }
  });
}

std::optional<ending> exchanger::out_of_time() const {
  const auto now = steady_clock::now();
  if (now >= limits_.deadline) {
    return ending::deadline;
  }
  if (now >= limits_.connect_by && !shared_->is_sent) {
    return ending::no_connection;
  }
  if (request_.stop_requested && request_.stop_requested()) {
    return ending::stopped;
  }
  return std::nullopt;
}

failure exchanger::failed(ending end, std::string why) const {
  return {end, std::move(why), shared_->is_sent, has_head_};
}

// The library's error codes mislead (refused reads "no route to host"): the step decides.
failure exchanger::broke(const char* step) const {
  const long refused_certificate = peer_->verified->failure;
  if (!shared_->is_sent && refused_certificate != X509_V_OK) {
    return failed(
        ending::no_connection,
        "the server's certificate was refused: " + certificate_problem(refused_certificate) +
            "; check the host name, or give the right CA file"
    );
  }
  if (!shared_->is_sent) {
    const bool is_tls = std::string_view(step).find("SSL") != std::string_view::npos;
    return failed(
        ending::no_connection,
        is_tls ? "TLS handshake failed; check that the port speaks TLS 1.2 or later"
               : "no connection; check that the service runs and can be reached"
    );
  }
  return failed(
      ending::broken,
      has_head_ ? "the connection broke within the answer"
                : "the connection broke before the answer"
  );
}

// Waits on the caller's own thread, so that no code of the caller's runs on the library's.
template <class T>
std::optional<failure> exchanger::wait(std::future<T>& answer) {
  while (answer.wait_for(poll_interval) != std::future_status::ready) {
    const auto end = out_of_time();
    if (!end) {
      continue;
    }
    source_.cancel();
    // What was sent is known only once the library has let go.
    if (answer.wait_for(cancel_grace) != std::future_status::ready) {
      shared_->is_sent = true;
    }
    switch (*end) {
    case ending::deadline:
      return failed(*end, "no complete answer before the deadline");
    case ending::stopped:
      return failed(*end, "stopped on request");
    default:
      if (shared_->is_sent) {
        return failed(ending::broken, "the connection took too long");
      }
      return failed(*end, "no connection in time; check that the service can be reached");
    }
  }
  return std::nullopt;
}

std::optional<failure> exchanger::check_head(const web::http::http_response& head) const {
  const int status = head.status_code();
  if (status < 200 || status > 599) {
    // The real answer would come as the answer to the next request.
    return failed(ending::protocol, "status " + std::to_string(status) + " is not a final answer");
  }
  const auto length = head.headers().find("Content-Length");
  if (length != head.headers().end() && request_.method != "HEAD") {
    const std::string& text = length->second;
    std::size_t bytes = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (parsed.ec == std::errc::result_out_of_range || bytes > request_.max_body) {
      return failed(
          ending::too_large,
          "the answer is larger than " + std::to_string(request_.max_body) + " bytes"
      );
    }
  }
  return std::nullopt;
}

std::variant<response, failure> exchanger::run(const web::http::http_request& prepared) {
  web::http::http_response head;
  try {
    auto answer = shared_->head.get_future();
    deliver(peer_->client->request(prepared, source_.get_token()), shared_, &exchange::head);
    if (auto failed = wait(answer)) {
      return *failed;
    }
    head = answer.get();
    has_head_ = true;
    if (auto failed = check_head(head)) {
      return *failed;
    }
    auto rest = shared_->body.get_future();
    deliver(head.extract_vector(), shared_, &exchange::body);
    if (auto failed = wait(rest)) {
      return *failed;
    }
    const body_bytes bytes = rest.get();
    response out;
    out.status = head.status_code();
    for (const auto& [name, value] : head.headers()) {
      out.headers.emplace_back(base::to_lower(name), value);
    }
    out.body.assign(bytes.begin(), bytes.end());
    return out;
  } catch (const std::length_error&) {
    return failed(
        ending::too_large,
        "the answer is larger than " + std::to_string(request_.max_body) + " bytes"
    );
  } catch (const std::exception& e) {
    return broke(e.what());
  }
}

// --- The transport
// --------------------------------------------------------------------------------

base::error to_error(const failure& f, const request& r, const std::string& what) {
  base::error e{.message = what + ": " + f.why, .may_have_been_sent = f.is_sent};
  const bool is_write_sent = f.is_sent && !is_read(r.method);
  if (f.end == ending::too_large) {
    e.code = error_code::permanent;
  } else if (is_write_sent) {
    e.code = error_code::outcome_unknown;
    e.message += "; it may have been carried out: look before repeating it";
  } else if (f.end == ending::deadline) {
    e.code = error_code::deadline;
  } else if (f.end == ending::stopped) {
    e.code = error_code::cancelled;
  } else {
    e.code = error_code::transient;
  }
  return e;
}

class cpprest_transport final : public transport {
public:
  cpprest_transport(transport_options options, certificate_store store)
      : options_(std::move(options)), store_(std::move(store)), resolver_(options_.lookup) {}

  base::result<response> perform(const request& r) override;

private:
  base::result<std::vector<std::string>>
  find_addresses(const origin& to, const request& r, steady_time deadline);
  std::variant<response, failure>
  try_address(const url& to, const std::string& address, const request& r, const limits& l);
  std::variant<response, failure>
  try_once(const url& to, const request& r, const std::shared_ptr<peer>& p, const limits& l) const;
  std::shared_ptr<peer>
  pooled(const std::string& key, const origin& to, const std::string& address, bool& is_new);
  void drop(const std::string& key, const std::shared_ptr<peer>& p);
  web::http::http_request prepare(const url& to, const request& r, const peer& p) const;

  const transport_options options_;
  const certificate_store store_;
  resolver resolver_;
  std::mutex mutex_;
  // One per origin and address; shared with the calls under way, which outlive a drop().
  std::map<std::string, std::shared_ptr<peer>> pool_;
};

web::http::http_request
cpprest_transport::prepare(const url& to, const request& r, const peer& p) const {
  web::http::http_request out(r.method);
  // Absolute, because a target that begins with // would be read as a host.
  out.set_request_uri(web::uri(
      p.base.to_string().substr(0, p.base.to_string().find('/', 8)) + escaped_target(to.target)
  ));
  for (const auto& [name, value] : r.headers) {
    out.headers().add(name, value);
  }
  if (!r.body.empty()) {
    const bool has_type = out.headers().has("Content-Type");
    const std::string type = has_type ? out.headers()["Content-Type"] : r.content_type;
    out.set_body(r.body, type);
  }
  if (!options_.user_agent.empty() && !out.headers().has("User-Agent")) {
    out.headers().add("User-Agent", options_.user_agent);
  }
  if (!is_address(to.origin.host)) {
    // SNI and the certificate check follow Host; with a port in it the check would fail.
    const bool is_plain = to.origin.scheme == "http" && to.origin.port != 80;
    const std::string port = is_plain ? ":" + std::to_string(to.origin.port) : "";
    out.headers().add("Host", to.origin.host + port);
  }
  return out;
}

std::shared_ptr<peer> cpprest_transport::pooled(
    const std::string& key, const origin& to, const std::string& address, bool& is_new
) {
  const std::lock_guard lock(mutex_);
  auto& slot = pool_[key];
  is_new = slot == nullptr;
  if (is_new) {
    slot = make_peer(options_, store_, to, address);
  }
  return slot;
}

// After any transport error: a client may keep a dead or a half-read socket.
void cpprest_transport::drop(const std::string& key, const std::shared_ptr<peer>& p) {
  const std::lock_guard lock(mutex_);
  const auto found = pool_.find(key);
  if (found != pool_.end() && found->second == p) {
    pool_.erase(found);
  }
}

std::variant<response, failure> cpprest_transport::try_once(
    const url& to, const request& r, const std::shared_ptr<peer>& p, const limits& l
) const {
  exchanger e(r, p, l);
  auto prepared = prepare(to, r, *p);
  e.watch(prepared);
  return e.run(prepared);
}

std::variant<response, failure> cpprest_transport::try_address(
    const url& to, const std::string& address, const request& r, const limits& l
) {
  // The library repeats a request by itself when a pooled socket turns out dead, a POST too.
  if (!is_idempotent(r.method) || r.fresh_connection) {
    return try_once(to, r, make_peer(options_, store_, to.origin, address), l);
  }
  const std::string key = to.origin.text() + " " + address;
  bool is_new = false;
  const auto p = pooled(key, to.origin, address, is_new);
  auto outcome = try_once(to, r, p, l);
  const auto* f = std::get_if<failure>(&outcome);
  if (f == nullptr) {
    return outcome;
  }
  drop(key, p);
  // A socket that died while idle is no news about the service: once more, on a new one.
  if (!is_new && !f->has_head && (f->end == ending::broken || f->end == ending::no_connection)) {
    return try_once(to, r, make_peer(options_, store_, to.origin, address), l);
  }
  return outcome;
}

base::result<std::vector<std::string>>
cpprest_transport::find_addresses(const origin& to, const request& r, steady_time deadline) {
  if (is_address(to.host)) {
    return std::vector<std::string>{to.host};
  }
  const auto by = std::min(deadline, steady_clock::now() + options_.connect_timeout);
  auto found = resolver_.resolve(to.host, by, r.stop_requested);
  if (found && found->size() > max_addresses) {
    found->resize(max_addresses);
  }
  if (!found && found.error().code == error_code::deadline && by < deadline) {
    found.error().code = error_code::transient; // the caller's own deadline is still to come
  }
  return found;
}

base::result<response> cpprest_transport::perform(const request& r) {
  const auto deadline = steady_clock::now() + r.deadline;
  const auto to = parse_url(r.url);
  if (!to) {
    return refused(is_token(r.method) ? r.method : "request", to.error().message);
  }
  const std::string what = r.method + " " + to->origin.text();
  if (!is_token(r.method)) {
    return refused("request to " + to->origin.text(), "the method is not a word");
  }
  if (auto e = check_origin(options_, to->origin, what)) {
    return *e;
  }
  if (auto e = check_headers(r, what)) {
    return *e;
  }
  const auto addresses = find_addresses(to->origin, r, deadline);
  if (!addresses) {
    return base::with_context(addresses.error(), what);
  }
  failure last;
  const auto share = options_.connect_timeout / static_cast<int>(addresses->size());
  for (const std::string& address : *addresses) {
    const limits l{deadline, steady_clock::now() + std::max(share, shortest_connect)};
    auto outcome = try_address(*to, address, r, l);
    if (auto* answer = std::get_if<response>(&outcome)) {
      return std::move(*answer);
    }
    last = std::get<failure>(outcome);
    if (last.end != ending::no_connection) {
      return to_error(last, r, what);
    }
  }
  resolver_.forget(to->origin.host);
  return to_error(last, r, what);
}

} // namespace

base::result<std::unique_ptr<transport>> make_transport(transport_options options) {
  certificate_store store;
  if (!options.ca_file.empty()) {
    auto loaded = load_store(options.ca_file);
    if (!loaded) {
      return std::move(loaded).error();
    }
    store = std::move(*loaded);
  }
  if (!is_header_value(options.user_agent)) {
    return base::error{
        .code = error_code::invalid, .message = "user agent: holds a line break or a zero byte"};
  }
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
  try {
    crossplat::threadpool::initialize_with_threads(4);
  } catch (const std::exception&) {
    // The pool runs already; it works with another number of threads too.
  }
}

} // namespace siteagent::net
