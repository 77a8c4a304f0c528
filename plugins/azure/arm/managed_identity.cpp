// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/managed_identity.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace siteagent::azure::arm {

namespace {

using std::chrono::seconds;

constexpr std::string_view token_path = "/metadata/identity/oauth2/token";
constexpr seconds look_deadline{1};
constexpr seconds long_life{2 * 3600};

base::error no_service(const std::string& origin, std::string_view why) {
  return make_error(
      reason::credentials,
      base::error_code::auth,
      "get a token of the managed identity: " + std::string(why) + " at " + origin +
          "; run the agent on an Azure machine that has an identity, or choose another credential"
  );
}

class managed_identity final : public credential {
public:
  managed_identity(std::string origin, identity_choice which)
      : origin_(std::move(origin)), which_(std::move(which)) {}

  // Nothing of ours proves anything here: the machine itself does.
  base::result<base::secret> material() const override { return base::secret(); }

  base::result<token_request> compose(
      const principal& who,
      const base::secret& /*material*/,
      const std::string& /*claims: the service takes none*/,
      base::wall_time /*now*/
  ) const override {
    token_request out;
    out.http.url = url(who.audience);
    out.http.headers = {{"Metadata", "true"}, {"Accept", "application/json"}};
    return out;
  }

  base::result<void> look(net::transport& transport, const scope& call) const override {
    if (seen_) {
      return {};
    }
    net::request r;
    r.url = url("https://management.azure.com");
    r.deadline = std::min<milliseconds>(look_deadline, call.remaining());
    r.stop_requested = [&call] { return call.should_stop(); };
    const auto answer = transport.perform(r);
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
    if (!answer) {
      return no_service(origin_, "no metadata service answers");
    }
    const bool hidden = answer->status == 403 &&
                        base::to_lower(answer->body).find("unreachable") != std::string::npos;
    if (hidden) {
      return no_service(origin_, "the metadata service cannot be reached");
    }
    seen_ = true;
    return {};
  }

  base::error refusal(const net::response& answer, const principal& /*who*/) const override {
    const int status = answer.status;
    const auto document = base::json::parse(answer.body);
    const std::string name = document ? (*document)["error"].string_or("") : std::string();
    // 404 and 410: the service is being updated.
    const bool passing =
        status == 404 || status == 410 || status == 408 || status == 429 || status >= 500;
    std::string message =
        "get a token of the managed identity " + which_.text() + ": HTTP " + std::to_string(status);
    message += name.empty() ? "" : " " + std::string(base::truncated(name, 60));
    if (status == 400) {
      message += "; assign that identity to this machine, or correct client_id, "
                 "managed_identity_object_id or managed_identity_resource_id";
    } else if (!passing) {
      message += "; check what stands between this machine and its metadata service";
    }
    base::error e = make_error(
        passing ? reason::ambiguous : reason::credentials,
        passing ? base::error_code::transient : base::error_code::auth,
        std::move(message)
    );
    e.http_status = status;
    e.provider_code = name.empty() ? "HTTP " + std::to_string(status) : name;
    return e;
  }

  base::result<token_answer> read(std::string_view body, base::wall_time now) const override {
    auto answer = parse_token(body, now);
    // The service keeps day-long tokens: half their life leaves room for its bad days.
    if (answer && !answer->refresh_in && answer->lifetime >= long_life) {
      answer->refresh_in = answer->lifetime / 2;
    }
    return answer;
  }

  milliseconds first_pause(int status, milliseconds unit) const override {
    return status == 410 ? unit * 6 : unit * 8 / 5; // halved by the jitter at most
  }

  // Doubling, at least 70 s after a 410.
  unsigned attempts() const override { return 6; }

private:
  std::string url(const std::string& audience) const {
    net::query_list query{{"api-version", "2018-02-01"}, {"resource", audience}};
    if (!which_.client_id.empty()) {
      query.emplace_back("client_id", which_.client_id);
    } else if (!which_.object_id.empty()) {
      query.emplace_back("object_id", which_.object_id);
    } else if (!which_.resource_id.empty()) {
      query.emplace_back("msi_res_id", which_.resource_id);
    }
    return origin_ + std::string(token_path) + "?" + net::build_query(query);
  }

  const std::string origin_;
  const identity_choice which_;
  mutable std::atomic<bool> seen_{false};
};

class split final : public net::transport {
public:
  split(
      std::unique_ptr<net::transport> usual,
      std::unique_ptr<net::transport> metadata,
      std::string origin
  )
      : usual_(std::move(usual)), metadata_(std::move(metadata)), origin_(std::move(origin)) {}

  base::result<net::response> perform(const net::request& r) override {
    const auto to = net::parse_url(r.url);
    return to && to->origin.text() == origin_ ? metadata_->perform(r) : usual_->perform(r);
  }

private:
  std::unique_ptr<net::transport> usual_;
  std::unique_ptr<net::transport> metadata_;
  std::string origin_;
};

} // namespace

std::string identity_choice::text() const {
  if (!client_id.empty()) {
    return "client_id=" + client_id;
  }
  if (!object_id.empty()) {
    return "object_id=" + object_id;
  }
  return resource_id.empty() ? "of this machine" : "resource_id=" + resource_id;
}

credential_ptr make_managed_identity(std::string origin, identity_choice which) {
  return std::make_shared<managed_identity>(std::move(origin), std::move(which));
}

std::string objection_to_metadata_origin(std::string_view origin) {
  const auto url = net::parse_url(origin);
  if (!url) {
    return "is no http(s) origin: " + url.error().message;
  }
  if (url->target != "/") {
    return "must be an origin without a path";
  }
  const bool local = url->origin.is_loopback() || url->origin.text() == metadata_origin;
  return url->origin.scheme == "https" || local
             ? ""
             : "would send tokens in clear text; only 169.254.169.254 and loopback may do that";
}

std::unique_ptr<net::transport> split_transport(
    std::unique_ptr<net::transport> usual,
    std::unique_ptr<net::transport> metadata,
    std::string origin
) {
  return std::make_unique<split>(std::move(usual), std::move(metadata), std::move(origin));
}

} // namespace siteagent::azure::arm
