// SPDX-License-Identifier: MIT
// The streams of a STOMP session: TCP, proxy, TLS and Boost.Beast's WebSocket.
#include "core/net/stomp.hpp"

#include "core/net/bridge.hpp"
#include "core/net/certificate_trust.hpp"
#include "core/net/proxy_link.hpp"
#include "core/net/resolver.hpp"
#include "core/net/stomp_rules.hpp"
#include "core/net/stomp_session.hpp"
#include "core/net/tunnel.hpp"

#include <utility> // Asio of Boost 1.74 needs std::exchange and does not include it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>

namespace siteagent::net {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using namespace std::chrono_literals;
using asio::ip::tcp;
using base::error_code;
using boost_code = boost::system::error_code;
using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

// An address that swallows packets must leave time for the next one.
constexpr auto longest_attempt = 10s;
constexpr auto longest_goodbye = 2s;

bool is_v6(const std::string& host) {
  return host.find(':') != std::string::npos;
}

// As the Host header has it.
std::string authority_text(const stomp_options& o) {
  const std::string host = is_v6(o.host) ? "[" + o.host + "]" : o.host;
  return o.port == (o.use_tls ? 443 : 80) ? host : host + ":" + std::to_string(o.port);
}

using plain_stream = tcp::socket;
using tls_stream = beast::ssl_stream<tcp::socket>;

template <class Stream>
class session_over final : public session_base {
  static constexpr bool is_tls = std::is_same_v<Stream, tls_stream>;

public:
  session_over(stomp_options o, stomp_message_handler on_message, stomp_end_handler on_end)

      requires(!is_tls)
      : session_base(std::move(o), std::move(on_message), std::move(on_end)), web_(context_) {}

  session_over(
      stomp_options o,
      stomp_message_handler on_message,
      stomp_end_handler on_end,
      const certificate_store& store
  )

      requires(is_tls)
      : session_base(std::move(o), std::move(on_message), std::move(on_end)),
        web_(context_, tls_context(store)) {}

  ~session_over() override { finish(); }

  session_over(const session_over&) = delete;
  session_over& operator=(const session_over&) = delete;

  base::result<void> open() {
    deadline_ = steady::now() + options_.connect_timeout;
    if (auto r = reach(); !r) {
      return r;
    }
    if (auto r = shake_tls(); !r) {
      return r;
    }
    if (auto r = shake_web_socket(); !r) {
      return r;
    }
    const auto beats = log_in();
    if (!beats) {
      return beats.error();
    }
    watch(*beats);
    start(*beats);
    return {};
  }

private:
  tcp::socket& socket() { return beast::get_lowest_layer(web_); }

  void start_read() override {
    web_.async_read_some(asio::buffer(incoming_), [this](boost_code e, std::size_t size) {
      on_read(e, size);
    });
  }

  void start_write(const std::string& bytes) override {
    web_.async_write(asio::buffer(bytes), [this](boost_code e, std::size_t) { on_written(e); });
  }

  base::error why_reading_failed(boost_code e) const override {
    if (e == websocket::error::closed || web_.reason().code != websocket::close_code::none) {
      const std::string why = close_reason();
      const std::string said = "the broker closed the connection" + (why.empty() ? "" : ": " + why);
      if (unconfirmed_ > 0 && web_.reason().code == websocket::close_code::normal) {
        // RabbitMQ's web-stomp loses the ERROR frame of a SUBSCRIBE that failed.
        return {
            .code = error_code::not_found,
            .message = said +
                       " in answer to SUBSCRIBE; the queue is missing or may not be read and "
                       "must be registered again"};
      }
      return transient(said);
    }
    if (e == beast::error::timeout) {
      return transient("no answer from the broker to the WebSocket's ping");
    }
    if (e == websocket::error::bad_frame_payload) {
      return {
          .code = error_code::permanent,
          .message = "a message of the queue is no UTF-8; remove it from the queue"};
    }
    return transient("the connection ended: " + e.message());
  }

  // What the close frame says, "" without one.
  std::string close_reason() const {
    const auto& reason = web_.reason().reason;
    return {reason.data(), reason.size()};
  }

  void cut() override {
    boost_code ignored;
    socket().close(ignored);
  }

  asio::ssl::context& tls_context(const certificate_store& store) {
    tls_.emplace(asio::ssl::context::tls_client);
    if (!store && options_.verify_certificate) {
      tls_->set_default_verify_paths();
    }
    trust_.apply(tls_->native_handle(), store);
    return *tls_;
  }

  // A connection to the broker, or through the proxy to it.
  base::result<void> reach() {
    const proxy* via =
        options_.proxies.for_host(options_.use_tls ? "wss" : "ws", options_.host, options_.port);
    if (via == nullptr) {
      return dial(options_.host, options_.port);
    }
    if (auto r = pass(*via); !r) {
      return base::with_context(r.error(), "through proxy " + via->text());
    }
    return {};
  }

  base::result<std::vector<std::string>> addresses_of(const std::string& host) {
    if (is_address(host)) {
      return std::vector<std::string>{host};
    }
    auto found = resolver().resolve(host, deadline_, options_.stop_requested);
    if (!found && found.error().code == error_code::deadline) {
      found.error().code = error_code::transient;
    }
    return found;
  }

  base::result<void> dial(const std::string& host, std::uint16_t port) {
    const auto addresses = addresses_of(host);
    if (!addresses) {
      return addresses.error();
    }
    const std::string doing = "connect to " + host + ":" + std::to_string(port);
    base::error last = transient(doing + ": the name has no address");
    for (const std::string& address : *addresses) {
      boost_code e;
      const tcp::endpoint there(asio::ip::make_address(address, e), port);
      cut(); // the attempt before
      const auto until = std::min(deadline_, steady::now() + longest_attempt);
      const auto done = step(
          doing, [&](auto handler) { socket().async_connect(there, std::move(handler)); }, until
      );
      if (done && !*done) {
        socket().set_option(tcp::no_delay(true), e);
        return {};
      }
      last = done ? transient(doing + ": " + done->message() + "; check host, port and network")
                  : done.error();
      if (last.code == error_code::cancelled || steady::now() >= deadline_) {
        break;
      }
    }
    return last;
  }

  // The first of the proxy's addresses that lets us through.
  base::result<void> pass(const proxy& via) {
    proxy_hop hop{.via = via, .address = "", .host = options_.host, .port = options_.port};
    if (tunnel_handshake::wants_address(via)) {
      const auto addresses = addresses_of(options_.host);
      if (!addresses) {
        return addresses.error();
      }
      hop.host = addresses->front();
    }
    const auto addresses = addresses_of(via.host);
    if (!addresses) {
      return addresses.error();
    }
    base::result<void> last = transient("the name has no address");
    for (const std::string& address : *addresses) {
      hop.address = address;
      const time_limits by{deadline_, std::min(deadline_, steady::now() + longest_attempt)};
      last = via.kind == proxy::kind::https ? cross_bridge(hop, by) : take_over(hop, by);
      if (last || last.error().code == error_code::cancelled || steady::now() >= deadline_) {
        break;
      }
    }
    return last;
  }

  static base::error to_error(const net::failure& f) {
    return {
        .code = f.end == ending::stopped ? error_code::cancelled : error_code::transient,
        .message = f.why};
  }

  // The socket of the tunnel becomes ours.
  base::result<void> take_over(const proxy_hop& hop, const time_limits& by) {
    const auto way = open_proxy_link(hop, by, options_.stop_requested);
    if (const auto* problem = std::get_if<net::failure>(&way)) {
      return to_error(*problem);
    }
    const auto& link = std::get<proxy_link>(way);
    if (!link.early_bytes.empty()) {
      return transient("something spoke before it was asked; check what listens there");
    }
    const int own = ::fcntl(link.stream->socket(), F_DUPFD_CLOEXEC, 0);
    boost_code e;
    socket().assign(is_v6(hop.address) ? tcp::v6() : tcp::v4(), own, e);
    if (e) {
      return transient("the proxy's connection: " + e.message());
    }
    socket().set_option(tcp::no_delay(true), e);
    return {};
  }

  // TLS with the proxy itself is not ours to speak: a port on loopback does.
  base::result<void> cross_bridge(const proxy_hop& hop, const time_limits& by) {
    auto way = bridge::open(hop, by, options_.stop_requested);
    if (const auto* problem = std::get_if<net::failure>(&way)) {
      return to_error(*problem);
    }
    bridge_ = std::get<std::unique_ptr<bridge>>(std::move(way));
    const auto loopback = asio::ip::address_v4::loopback();
    cut(); // the attempt before
    socket().open(tcp::v4());
    socket().bind({loopback, 0});
    bridge_->admit(socket().local_endpoint().port());
    return must("connect to the proxy's port on loopback", [&](auto handler) {
      socket().async_connect({loopback, bridge_->port()}, std::move(handler));
    });
  }

  base::result<void> shake_tls() {
    if constexpr (is_tls) {
      SSL* ssl = web_.next_layer().native_handle();
      if (is_address(options_.host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), options_.host.c_str());
      } else {
        SSL_set1_host(ssl, options_.host.c_str());
        // As SSL_set_tlsext_host_name, which is a macro with an old cast in it.
        SSL_ctrl(
            ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, options_.host.data()
        );
      }
      web_.next_layer().set_verify_mode(
          options_.verify_certificate ? asio::ssl::verify_peer : asio::ssl::verify_none
      );
      auto r = must("TLS handshake", [&](auto handler) {
        web_.next_layer().async_handshake(asio::ssl::stream_base::client, std::move(handler));
      });
      if (const auto problem = trust_.problem(); !r && problem && options_.verify_certificate) {
        return base::error{
            .code = error_code::permanent,
            .message =
                "the certificate is not trusted: " + *problem + "; check host name and CA file"};
      }
      return r;
    }
    return {};
  }

  base::result<void> shake_web_socket() {
    // Both by us: connect() has a deadline of its own, the parser the limit (and a message is read
    // in small pieces).
    web_.set_option(websocket::stream_base::timeout{
        websocket::stream_base::none(), websocket::stream_base::none(), false});
    web_.read_message_max(0);
    web_.set_option(websocket::stream_base::decorator([this](websocket::request_type& r) {
      r.set(beast::http::field::sec_websocket_protocol, "v12.stomp");
      if (!options_.user_agent.empty()) {
        r.set(beast::http::field::user_agent, options_.user_agent);
      }
    }));
    websocket::response_type answer;
    const std::string doing = "WebSocket handshake";
    const auto done = step(
        doing,
        [&](auto handler) {
          web_.async_handshake(answer, authority_text(options_), options_.path, std::move(handler));
        },
        deadline_
    );
    if (!done) {
      return done.error();
    }
    if (*done == websocket::error::upgrade_declined) {
      return upgrade_refused(static_cast<int>(answer.result_int()));
    }
    if (*done == websocket::condition::handshake_failed) {
      return base::error{
          .code = error_code::permanent,
          .message = doing + ": " + done->message() + "; check host, port and path"};
    }
    if (*done) {
      return transient(doing + ": " + done->message() + "; check host, port and path");
    }
    web_.text(true);
    return {};
  }

  // CONNECT, and what the broker says to it.
  base::result<stomp_beats> log_in() {
    auto greeting = to_bytes(connect_frame(options_));
    if (!greeting) {
      return greeting.error();
    }
    const std::string doing = "STOMP CONNECT";
    auto sent = must(doing, [&](auto handler) {
      web_.async_write(asio::buffer(*greeting), std::move(handler));
    });
    OPENSSL_cleanse(greeting->data(), greeting->size());
    if (!sent) {
      return sent.error();
    }
    for (;;) {
      auto frame = parser_.next();
      if (!frame) {
        return frame.error();
      }
      if (*frame) {
        return read_answer(**frame, options_.heartbeat);
      }
      std::size_t size = 0;
      auto r = must(doing, [&](auto handler) {
        web_.async_read_some(
            asio::buffer(incoming_),
            [&size, handler](boost_code e, std::size_t n) mutable {
              size = n;
              handler(e);
            }
        );
      });
      if (!r) {
        const std::string why = close_reason();
        return why.empty() ? r.error() : transient(doing + ": the broker hung up: " + why);
      }
      parser_.append({incoming_.data(), size});
    }
  }

  // Without heart-beats from the broker the WebSocket's own pings tell whether it is there.
  void watch(stomp_beats beats) {
    const milliseconds idle = 2 * (options_.heartbeat.count() > 0 ? options_.heartbeat : 10s);
    const bool is_watched = beats.expect.count() > 0;
    web_.set_option(websocket::stream_base::timeout{
        // Of the closing handshake, with which Beast answers a protocol error.
        longest_goodbye,
        is_watched ? websocket::stream_base::none() : idle,
        !is_watched});
  }

  std::optional<asio::ssl::context> tls_;
  verification trust_;
  std::unique_ptr<bridge> bridge_; // goes behind the socket that uses it
  websocket::stream<Stream> web_;
};

template <class Session>
base::result<std::unique_ptr<stomp_session>>
opened(std::unique_ptr<Session> s, const std::string& where) {
  if (auto r = s->open(); !r) {
    return base::with_context(r.error(), "event stream " + where);
  }
  return std::unique_ptr<stomp_session>(std::move(s));
}

} // namespace

base::result<std::unique_ptr<stomp_session>> stomp_session::connect(
    stomp_options options, stomp_message_handler on_message, stomp_end_handler on_end
) {
  if (auto r = check_options(options); !r) {
    return r.error();
  }
  const std::string where = endpoint_text(options);
  try {
    if (!options.use_tls) {
      return opened(
          std::make_unique<session_over<plain_stream>>(
              std::move(options), std::move(on_message), std::move(on_end)
          ),
          where
      );
    }
    certificate_store store;
    if (!options.ca_file.empty()) {
      auto loaded = load_certificates(options.ca_file);
      if (!loaded) {
        return loaded.error();
      }
      store = *loaded;
    }
    return opened(
        std::make_unique<session_over<tls_stream>>(
            std::move(options), std::move(on_message), std::move(on_end), store
        ),
        where
    );
  } catch (const std::exception& e) { // no thread, no memory, no TLS
    return transient("event stream " + where + ": " + e.what());
  }
}

} // namespace siteagent::net
