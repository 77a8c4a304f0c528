// SPDX-License-Identifier: MIT
#include "core/fleet/plugin_provider.hpp"

#include "core/fleet/provider_answers.hpp"

namespace siteagent::fleet {

namespace {

using base::json;
using host::operation;

json to_json(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& t : texts) {
    list.push_back(t);
  }
  return list;
}

json text_or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json place(const host_place& p) {
  return json::object(
      {{"name", p.name}, {"location", p.location}, {"size", p.size}, {"disk_gb", p.disk_gb}}
  );
}

json identity(const known_host& h) {
  return json::object(
      {{"name", h.name}, {"vm_id", text_or_null(h.vm_id)}, {"resources", h.resources}}
  );
}

json body_of(const admission_request& r) {
  json hosts = json::array();
  for (const known_host& h : r.hosts) {
    hosts.push_back(identity(h).set("location", h.location));
  }
  return json::object(
      {{"addresses", to_json(r.addresses)},
       {"group", admission_group},
       {"port", ssh_port},
       {"ensure_location", r.ensure_location ? json(*r.ensure_location) : json()},
       {"locations", to_json(r.locations)},
       {"hosts", hosts},
       {"tags", r.tags}}
  );
}

json body_of(const create_host_request& r) {
  return place(r.place)
      .set("login", r.login)
      .set("public_key", r.public_key)
      .set("user_data", r.user_data)
      .set("addresses", to_json(r.addresses))
      .set("group", admission_group)
      .set("port", ssh_port)
      .set("group_id", text_or_null(r.group_id))
      .set("tags", r.tags);
}

struct how {
  progress_function progress = {};
  std::stop_token stop = {};
  bool dry_run = false;
};

class plugin_provider final : public provider {
public:
  plugin_provider(std::shared_ptr<host::instance> opened, provider_description description)
      : opened_(std::move(opened)), description_(std::move(description)) {}

  const provider_description& description() const override { return description_; }

  void listen_to(std::stop_token stop) override { stop_ = std::move(stop); }

  base::result<std::string> validate_host(const host_place& p) override {
    const auto answer = ask(operation::validate_host, place(p));
    return answer ? read_size(named(operation::validate_host), *answer) : answer.error();
  }

  base::result<price_answer>
  price_size(std::string_view size, const std::vector<std::string>& locations) override {
    const auto answer =
        ask(operation::price_size,
            json::object({{"size", size}, {"locations", to_json(locations)}}));
    if (!answer) {
      return answer.error();
    }
    return read_prices(named(operation::price_size), *answer);
  }

  base::result<credit_answer> credit_balance() override {
    const auto answer = ask(operation::credit_balance, json::object());
    if (!answer) {
      return answer.error();
    }
    return read_credit(named(operation::credit_balance), *answer);
  }

  base::result<admission> admit_addresses(
      const admission_request& r,
      bool dry_run,
      const progress_function& progress,
      std::stop_token stop
  ) override {
    const auto answer =
        ask(operation::admit_addresses,
            body_of(r),
            {.progress = progress, .stop = std::move(stop), .dry_run = dry_run});
    if (!answer) {
      return answer.error();
    }
    return read_admission(named(operation::admit_addresses), *answer, r, dry_run);
  }

  base::result<created_host> create_host(
      const create_host_request& r, const progress_function& progress, std::stop_token stop
  ) override {
    const auto answer =
        ask(operation::create_host,
            body_of(r),
            {.progress = progress, .stop = std::move(stop), .dry_run = false});
    if (!answer) {
      return answer.error();
    }
    return read_created(named(operation::create_host), *answer);
  }

  base::result<std::vector<check_line>> try_create_host(const create_host_request& r) override {
    const auto answer =
        ask(operation::create_host, body_of(r), {.progress = {}, .stop = {}, .dry_run = true});
    if (!answer) {
      return answer.error();
    }
    return read_dry_run(named(operation::create_host), *answer);
  }

  base::result<std::string> host_state(const known_host& h) override {
    const auto answer = ask(operation::host_state, identity(h));
    return answer ? read_state(named(operation::host_state), *answer) : answer.error();
  }

  base::result<std::vector<listed_host>> list_hosts() override {
    const auto answer = ask(operation::list_hosts, json::object({{"tag", host_tag}}));
    if (!answer) {
      return answer.error();
    }
    return read_hosts(named(operation::list_hosts), *answer);
  }

  base::result<removal> delete_host(
      const known_host& h, const progress_function& progress, std::stop_token stop
  ) override {
    const auto answer =
        ask(operation::delete_host,
            identity(h).set("location", text_or_null(h.location)).set("tag", host_tag),
            {.progress = progress, .stop = std::move(stop), .dry_run = false});
    if (!answer) {
      return answer.error();
    }
    return read_removal(named(operation::delete_host), *answer);
  }

  base::result<std::vector<check_line>> check(const std::vector<std::string>& locations) override {
    const auto answer = ask(operation::check, json::object({{"locations", to_json(locations)}}));
    if (!answer) {
      return answer.error();
    }
    return read_checks(named(operation::check), *answer);
  }

private:
  std::string named(operation op) const {
    return description_.id + ": " + std::string(host::name_of(op));
  }

  base::result<std::vector<json>> ask(operation op, json body, how h = {}) {
    if (!h.stop.stop_possible()) {
      h.stop = stop_;
    }
    auto answer = opened_->call(
        op,
        {.target = {}, .body = std::move(body), .idempotency_key = {}, .dry_run = h.dry_run},
        {.stop = std::move(h.stop), .checkpoint = std::move(h.progress), .trace_id = {}}
    );
    if (!answer) {
      return without_prefix(std::move(answer).error(), named(op) + ": ");
    }
    return answer;
  }

  std::shared_ptr<host::instance> opened_; // the instance's owner is this object alone
  const provider_description description_;
  std::stop_token stop_;
};

} // namespace

base::error without_prefix(base::error e, std::string_view prefix) {
  // Words of the host about the plugin need its name, the plugin's own sentences do not.
  const bool is_own = base::class_of(e.code) != base::error_class::broken;
  if (is_own && std::string_view(e.message).substr(0, prefix.size()) == prefix) {
    e.message.erase(0, prefix.size());
  }
  if (const auto detail = json::parse(e.detail)) {
    const auto status = (*detail)["http_status"].integer();
    if (status && *status >= 100 && *status <= 599) {
      e.http_status = static_cast<int>(*status);
    }
    if (e.provider_code.empty()) {
      e.provider_code = (*detail)["provider_code"].string_or("");
    }
  }
  return e;
}

std::unique_ptr<provider>
make_plugin_provider(std::shared_ptr<host::instance> opened, provider_description description) {
  return std::make_unique<plugin_provider>(std::move(opened), std::move(description));
}

} // namespace siteagent::fleet
