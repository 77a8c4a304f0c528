// SPDX-License-Identifier: MIT
// The HTTP server: accept loop, one session object per connection on its own strand. The only file
// that includes Boost.Beast.
#include "core/net/server.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"

#include <utility> // Asio of Boost 1.74 needs std::exchange and does not include it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace siteagent::net {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

// How long a refused request may go on sending before its connection is cut: closing at once would
// reset the connection and the client would never read our answer.
constexpr std::chrono::seconds linger{2};

std::string to_std(beast::string_view text) {
  return {text.data(), text.size()};
}

bool is_header_safe(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// Absolute-form targets ("http://host/path") are cut to their path and query.
std::string_view origin_form(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (base::equals_ignoring_case(target.substr(0, scheme.size()), scheme)) {
      const auto slash = target.find('/', scheme.size());
      return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
    }
  }
  return target;
}

server_request to_request(const http::request<http::string_body>& message) {
  server_request r;
  r.method = to_std(message.method_string());
  r.target = std::string(origin_form(to_std(message.target())));
  const auto question = r.target.find('?');
  r.path = r.target.substr(0, question);
  if (question != std::string::npos) {
    r.query = r.target.substr(question + 1);
  }
  for (std::string_view segment : base::split(r.path, '/')) {
    if (!segment.empty()) {
      r.segments.push_back(decode(segment));
    }
  }
  r.parameters = parse_query(r.query);
  for (const auto& field : message) {
    r.headers.emplace_back(base::to_lower(to_std(field.name_string())), to_std(field.value()));
  }
  return r;
}

bool has_no_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

std::string head_of(const server_response& r, bool keep_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(r.status)));
  std::string text = "HTTP/1.1 " + std::to_string(r.status) + " " + to_std(reason) + "\r\n";
  for (const auto& [name, value] : r.headers) {
    if (!name.empty() && is_header_safe(name) && is_header_safe(value)) {
      text.append(name).append(": ").append(value).append("\r\n");
    }
  }
  text += "Date: " + base::to_http_date(std::chrono::system_clock::now() + r.date_offset) + "\r\n";
  if (!has_no_body(r.status)) {
    text += "Content-Length: " + std::to_string(r.body.size()) + "\r\n";
  }
  text += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

server_response plain_text(int status, std::string_view text) {
  server_response r;
  r.status = status;
  r.headers.emplace_back("Content-Type", "text/plain");
  r.body = std::string(text) + "\n";
  return r;
}

// The answer to a request that could not be read; nullopt: the peer is gone, say nothing.
std::optional<server_response> refusal_of(error_code ec) {
  if (ec == http::error::body_limit) {
    return plain_text(413, "request body too large");
  }
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    return plain_text(431, "request header too large");
  }
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) {
    return std::nullopt;
  }
  if (ec.category() == error_code(http::make_error_code(http::error::bad_method)).category()) {
    return plain_text(400, "malformed request");
  }
  return std::nullopt;
}

class session_base : public std::enable_shared_from_this<session_base> {
public:
  session_base() = default;
  session_base(const session_base&) = delete;
  session_base& operator=(const session_base&) = delete;
  virtual ~session_base() = default;

  virtual void close_when_idle() = 0; // [any thread]
  virtual void close_now() = 0;       // [any thread]
};

// What every session needs of its server.
struct shared_state {
  server_options options;
  server::handler handle;
  std::uint16_t port = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::set<session_base*> sessions; // they remove themselves when destroyed
  bool stopping = false;

  // Owning references to the live sessions.
  std::vector<std::shared_ptr<session_base>> live() {
    std::vector<std::shared_ptr<session_base>> list;
    const std::lock_guard lock(mutex);
    for (session_base* s : sessions) {
      if (auto strong = s->weak_from_this().lock()) {
        list.push_back(std::move(strong));
      }
    }
    return list;
  }
};

tcp::socket& socket_of(beast::tcp_stream& s) {
  return s.socket();
}

tcp::socket& socket_of(beast::ssl_stream<beast::tcp_stream>& s) {
  return s.next_layer().socket();
}

// Everything is written, but no more than a TLS record at once: with some versions of OpenSSL a
// longer write of Asio's stalls for ever.
std::size_t record_by_record(const error_code& ec, std::size_t /*written*/) {
  constexpr std::size_t record = std::size_t{16} << 10U;
  return ec ? 0 : record;
}

template <class Stream>
constexpr bool is_tls = !std::is_same_v<Stream, beast::tcp_stream>;

template <class Stream>
class session final : public session_base {
public:
  template <class... Args>
  session(std::shared_ptr<shared_state> shared, const tcp::endpoint& peer, Args&&... stream_args)
      : shared_(std::move(shared)), stream_(std::forward<Args>(stream_args)...),
        timer_(stream_.get_executor()) {
    auto address = peer.address();
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
      address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    peer_ = address.to_string();
    peer_is_loopback_ = address.is_loopback();
    const std::lock_guard lock(shared_->mutex);
    shared_->sessions.insert(this);
  }

  ~session() override {
    finish();
    const std::lock_guard lock(shared_->mutex);
    shared_->sessions.erase(this);
    shared_->changed.notify_all();
  }

  session(const session&) = delete;
  session& operator=(const session&) = delete;

  void start() {
    asio::dispatch(stream_.get_executor(), [self = self()] { self->begin(); });
  }

  void close_when_idle() override {
    asio::post(stream_.get_executor(), [self = self()] {
      self->last_request_ = true;
      if (self->state_ == phase::idle || self->state_ == phase::hanging) {
        self->abandon();
      }
    });
  }

  void close_now() override {
    asio::post(stream_.get_executor(), [self = self()] { self->abandon(); });
  }

private:
  enum class phase : std::uint8_t { idle, busy, hanging };

  std::shared_ptr<session> self() {
    return std::static_pointer_cast<session>(this->shared_from_this());
  }

  void expire_after(std::chrono::milliseconds t) {
    beast::get_lowest_layer(stream_).expires_after(t);
  }

  void begin() {
    if constexpr (is_tls<Stream>) {
      expire_after(shared_->options.read_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](error_code ec) {
        if (!ec) {
          self->await_request();
        }
      });
    } else {
      await_request();
    }
  }

  // Between requests only the idle time-out applies; a request that began has the shorter one.
  void await_request() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_->options.max_header));
    parser_->body_limit(shared_->options.max_body);
    if (buffer_.size() > 0) {
      read_header();
      return;
    }
    if (last_request_) {
      close_gently();
      return;
    }
    state_ = phase::idle;
    expire_after(shared_->options.idle_timeout);
    stream_.async_read_some(buffer_.prepare(16'384), [self = self()](error_code ec, std::size_t n) {
      if (ec) {
        self->close_gently();
        return;
      }
      self->buffer_.commit(n);
      self->read_header();
    });
  }

  void read_header() {
    state_ = phase::busy;
    expire_after(shared_->options.read_timeout);
    http::async_read_header(
        stream_,
        buffer_,
        *parser_,
        [self = self()](error_code ec, std::size_t) {
          if (ec) {
            self->refuse(ec);
            return;
          }
          self->read_body();
        }
    );
  }

  void read_body() {
    if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
      out_head_ = "HTTP/1.1 100 Continue\r\n\r\n";
      asio::async_write(
          stream_,
          asio::buffer(out_head_),
          [self = self()](error_code ec, std::size_t) {
            if (!ec) {
              self->read_rest();
            }
          }
      );
      return;
    }
    read_rest();
  }

  void read_rest() {
    http::async_read(stream_, buffer_, *parser_, [self = self()](error_code ec, std::size_t) {
      if (ec) {
        self->refuse(ec);
        return;
      }
      self->run_handler();
    });
  }

  void refuse(error_code ec) {
    auto answer = refusal_of(ec);
    if (!answer) {
      return; // the connection closes with this object
    }
    keep_alive_ = false;
    is_head_ = false;
    drain_before_close_ = true;
    send(*std::move(answer));
  }

  void run_handler() {
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    server_request request = to_request(message);
    request.body = std::move(message.body());
    request.scheme = is_tls<Stream> ? "https" : "http";
    request.peer = peer_;
    request.peer_is_loopback = peer_is_loopback_;
    request.port = shared_->port;
    answer_with([&] { return shared_->handle(request); });
  }

  template <class Function>
  void answer_with(const Function& produce) {
    server_response answer;
    try {
      answer = produce();
    } catch (const std::exception&) {
      answer = plain_text(500, "internal error");
    }
    if (answer.delay.count() <= 0) {
      proceed(std::move(answer));
      return;
    }
    beast::get_lowest_layer(stream_).expires_never();
    timer_.expires_after(answer.delay);
    timer_.async_wait([self = self(), answer = std::move(answer)](error_code ec) mutable {
      if (!ec) {
        self->proceed(std::move(answer));
      }
    });
  }

  void proceed(server_response answer) {
    if (answer.resume) {
      answer_with(answer.resume);
      return;
    }
    finished_ = std::move(answer.on_finished);
    switch (answer.end) {
    case server_response::ending::cut:
      abandon();
      return;
    case server_response::ending::hang:
      hang();
      return;
    case server_response::ending::truncate:
      keep_alive_ = false;
      break;
    case server_response::ending::normal:
      break;
    }
    send(std::move(answer));
  }

  // Reads on, so that a client that leaves is noticed; what it sends is thrown away.
  void hang() {
    if (last_request_) {
      abandon();
      return;
    }
    state_ = phase::hanging;
    beast::get_lowest_layer(stream_).expires_never();
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(4'096), [self = self()](error_code ec, std::size_t) {
      if (!ec) {
        self->hang();
      }
    });
  }

  void send(server_response answer) {
    const bool truncated = answer.end == server_response::ending::truncate;
    if (last_request_) {
      keep_alive_ = false;
    }
    out_head_ = head_of(answer, keep_alive_);
    out_body_ = is_head_ || has_no_body(answer.status) ? std::string() : std::move(answer.body);
    if (truncated) {
      out_body_.resize(out_body_.size() / 2);
    }
    expire_after(shared_->options.read_timeout);
    if (answer.chunk_pause.count() > 0) {
      asio::async_write(
          stream_,
          asio::buffer(out_head_),
          [self = self(), truncated, pause = answer.chunk_pause](error_code ec, std::size_t) {
            self->send_slowly(ec, truncated, pause, 0);
          }
      );
      return;
    }
    const std::array<asio::const_buffer, 2> parts{asio::buffer(out_head_), asio::buffer(out_body_)};
    asio::async_write(
        stream_,
        parts,
        record_by_record,
        [self = self(), truncated](error_code ec, std::size_t) { self->sent(ec, truncated); }
    );
  }

  // The rest of the body from a place on, piece by piece.
  void
  send_slowly(error_code ec, bool truncated, std::chrono::milliseconds pause, std::size_t from) {
    if (ec || from >= out_body_.size()) {
      sent(ec, truncated);
      return;
    }
    beast::get_lowest_layer(stream_).expires_never();
    timer_.expires_after(pause);
    timer_.async_wait([self = self(), truncated, pause, from](error_code stopped) {
      if (stopped) {
        self->sent(stopped, truncated);
        return;
      }
      constexpr std::size_t pieces = 8;
      const auto size = std::min(
          std::max<std::size_t>(1, self->out_body_.size() / pieces), self->out_body_.size() - from
      );
      self->expire_after(self->shared_->options.read_timeout);
      asio::async_write(
          self->stream_,
          asio::buffer(self->out_body_.data() + from, size),
          record_by_record,
          [self, truncated, pause, next = from + size](error_code failed, std::size_t) {
            self->send_slowly(failed, truncated, pause, next);
          }
      );
    });
  }

  void sent(error_code ec, bool truncated) {
    finish();
    if (ec || truncated) {
      abandon();
    } else if (keep_alive_) {
      await_request();
    } else {
      close_gently();
    }
  }

  void finish() {
    if (auto done = std::exchange(finished_, nullptr)) {
      try {
        done();
      } catch (const std::exception&) { // the caller's bug must not end this thread
      }
    }
  }

  // No answer, no TLS farewell.
  void abandon() {
    error_code ignored;
    timer_.cancel(ignored);
    socket_of(stream_).shutdown(tcp::socket::shutdown_both, ignored);
    socket_of(stream_).close(ignored);
    finish();
  }

  void close_gently() {
    expire_after(linger);
    if constexpr (is_tls<Stream>) {
      if (!drain_before_close_) {
        stream_.async_shutdown([self = self()](error_code) { self->abandon(); });
        return;
      }
    }
    error_code ignored;
    socket_of(stream_).shutdown(tcp::socket::shutdown_send, ignored);
    drain_before_close_ ? drain() : abandon();
  }

  void drain() {
    buffer_.clear();
    beast::get_lowest_layer(stream_).async_read_some(
        buffer_.prepare(65'536),
        [self = self()](error_code ec, std::size_t) {
          if (ec) {
            self->abandon();
            return;
          }
          self->drain();
        }
    );
  }

  std::shared_ptr<shared_state> shared_; // shared with the server and every other session
  Stream stream_;
  asio::steady_timer timer_;
  std::string peer_;
  bool peer_is_loopback_ = false;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  phase state_ = phase::idle;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool last_request_ = false;
  bool drain_before_close_ = false;
  std::string out_head_;
  std::string out_body_;
  std::function<void()> finished_;
};

base::error bind_error(const server_options& o, error_code ec) {
  const bool taken = ec == asio::error::address_in_use;
  return {
      .code = taken ? base::error_code::conflict : base::error_code::invalid,
      .message = "listen on " + o.address + ":" + std::to_string(o.port) + ": " + ec.message()};
}

base::result<std::optional<asio::ssl::context>> make_tls(const server_options& o) {
  if (o.tls_certificate_file.empty() && o.tls_key_file.empty()) {
    return std::optional<asio::ssl::context>();
  }
  if (o.tls_certificate_file.empty() || o.tls_key_file.empty()) {
    return base::error{
        .code = base::error_code::invalid, .message = "TLS needs both a certificate and a key"};
  }
  asio::ssl::context context(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  error_code ec;
  context.use_certificate_chain_file(o.tls_certificate_file, ec);
  if (ec) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "TLS certificate " + o.tls_certificate_file + ": " + ec.message()};
  }
  context.use_private_key_file(o.tls_key_file, asio::ssl::context::pem, ec);
  if (ec) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "TLS key " + o.tls_key_file + ": " + ec.message()};
  }
  return std::optional<asio::ssl::context>(std::move(context));
}

} // namespace

std::string server_request::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) {
      return value;
    }
  }
  return {};
}

std::string server_request::parameter(std::string_view key) const {
  for (const auto& [name, value] : parameters) {
    if (base::equals_ignoring_case(name, key)) {
      return value;
    }
  }
  return {};
}

struct server::impl {
  std::shared_ptr<shared_state> shared = std::make_shared<shared_state>();
  std::optional<asio::ssl::context> tls;
  asio::io_context io;
  tcp::acceptor acceptor{asio::make_strand(io)};
  asio::steady_timer accept_pause{acceptor.get_executor()};
  std::vector<std::thread> threads;

  base::result<void> listen() {
    const auto& o = shared->options;
    error_code ec;
    const auto address =
        asio::ip::make_address(o.address == "localhost" ? "127.0.0.1" : o.address, ec);
    if (ec) {
      return bind_error(o, ec);
    }
    const tcp::endpoint endpoint(address, o.port);
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) {
      acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    }
    if (!ec) {
      acceptor.bind(endpoint, ec);
    }
    if (!ec) {
      acceptor.listen(asio::socket_base::max_listen_connections, ec);
    }
    if (ec) {
      return bind_error(o, ec);
    }
    shared->port = acceptor.local_endpoint(ec).port();
    return {};
  }

  void accept() {
    acceptor.async_accept(asio::make_strand(io), [this](error_code ec, tcp::socket socket) {
      if (ec == asio::error::operation_aborted || !acceptor.is_open()) {
        return;
      }
      if (ec) {
        // Most likely out of descriptors: going on at once would spin.
        accept_pause.expires_after(std::chrono::milliseconds(50));
        accept_pause.async_wait([this](error_code waited) {
          if (!waited && acceptor.is_open()) {
            accept();
          }
        });
        return;
      }
      begin_session(std::move(socket));
      accept();
    });
  }

  void begin_session(tcp::socket socket) {
    error_code ec;
    const auto peer = socket.remote_endpoint(ec);
    if (ec) {
      return;
    }
    socket.set_option(tcp::no_delay(true), ec);
    if (tls) {
      std::make_shared<session<beast::ssl_stream<beast::tcp_stream>>>(
          shared, peer, beast::tcp_stream(std::move(socket)), *tls
      )
          ->start();
    } else {
      std::make_shared<session<beast::tcp_stream>>(shared, peer, std::move(socket))->start();
    }
  }

  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception&) { // one connection's trouble; the others go on
      }
    }
  }

  void stop(std::chrono::milliseconds grace) {
    {
      const std::lock_guard lock(shared->mutex);
      if (std::exchange(shared->stopping, true)) {
        return;
      }
    }
    asio::post(acceptor.get_executor(), [this] {
      error_code ignored;
      acceptor.close(ignored);
      accept_pause.cancel(ignored);
      for (const auto& s : shared->live()) {
        s->close_when_idle();
      }
    });
    if (!wait_until_empty(grace)) {
      for (const auto& s : shared->live()) {
        s->close_now();
      }
      wait_until_empty(std::chrono::milliseconds(1'000));
    }
    io.stop();
    for (auto& t : threads) {
      t.join();
    }
  }

  bool wait_until_empty(std::chrono::milliseconds limit) {
    std::unique_lock lock(shared->mutex);
    return shared->changed.wait_for(lock, limit, [this] { return shared->sessions.empty(); });
  }
};

base::result<std::unique_ptr<server>> server::start(server_options options, handler h) {
  auto i = std::make_unique<impl>();
  auto tls = make_tls(options);
  if (!tls) {
    return tls.error();
  }
  i->tls = *std::move(tls);
  i->shared->options = std::move(options);
  i->shared->handle = std::move(h);
  if (auto listening = i->listen(); !listening) {
    return listening.error();
  }
  i->accept();
  for (unsigned n = std::max(1U, i->shared->options.threads); n > 0; --n) {
    i->threads.emplace_back([raw = i.get()] { raw->run(); });
  }
  return std::unique_ptr<server>(new server(std::move(i)));
}

server::server(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

server::~server() {
  stop();
}

std::uint16_t server::port() const {
  return impl_->shared->port;
}

void server::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

} // namespace siteagent::net
