// SPDX-License-Identifier: MIT
#include "core/host/instance.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/host/call_context.hpp"
#include "core/host/deadlines.hpp"
#include "core/host/negotiate.hpp"
#include "core/host/plugin_impl.hpp"
#include "core/host/process_state.hpp"
#include "core/host/services.hpp"

#include <array>
#include <atomic>

namespace siteagent::host {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds create_deadline{60'000};
constexpr unsigned quarantine_after = 5;

sagent_method slot_of(const sagent_resource_backend& table, operation op) {
  switch (op) {
  case operation::ping:
    return table.ping;
  case operation::evaluate_order:
    return table.evaluate_order;
  case operation::create_resource:
    return table.create_resource;
  case operation::delete_resource:
    return table.delete_resource;
  case operation::pause:
    return table.pause;
  case operation::downscale:
    return table.downscale;
  case operation::restore:
    return table.restore;
  case operation::pull_resources:
    return table.pull_resources;
  case operation::report_usage:
    return table.report_usage;
  case operation::list_resources:
    return table.list_resources;
  case operation::set_resource_limits:
    return table.set_resource_limits;
  case operation::diagnostics:
    return table.diagnostics;
  case operation::add_members:
    return table.add_members;
  case operation::remove_members:
    return table.remove_members;
  case operation::describe:
    return table.describe;
  default:
    return nullptr;
  }
}

sagent_method slot_of(const sagent_cloud_host_provider& table, operation op) {
  switch (op) {
  case operation::validate_host:
    return table.validate_host;
  case operation::price_size:
    return table.price_size;
  case operation::credit_balance:
    return table.credit_balance;
  case operation::admit_addresses:
    return table.admit_addresses;
  case operation::create_host:
    return table.create_host;
  case operation::host_state:
    return table.host_state;
  case operation::list_hosts:
    return table.list_hosts;
  case operation::delete_host:
    return table.delete_host;
  case operation::check:
    return table.check;
  default:
    return nullptr;
  }
}

sagent_str borrow(const std::string& s) {
  return {s.data(), s.size()};
}

// The strings a sagent_request points into, and the request.
struct request_data {
  request_data(const call_request& r, std::string trace)
      : target(r.target), body(r.body.dump()), key(r.idempotency_key), trace_id(std::move(trace)) {
    raw.struct_size = sizeof raw;
    raw.flags = r.dry_run ? SAGENT_REQ_DRY_RUN : 0;
    raw.target = borrow(target);
    raw.body = borrow(body);
    raw.idempotency_key = borrow(key);
    raw.trace_id = borrow(trace_id);
  }

  request_data(const request_data&) = delete;
  request_data& operator=(const request_data&) = delete;

  std::string target;
  std::string body;
  std::string key;
  std::string trace_id;
  sagent_request raw{};
};

std::string all_texts(const std::vector<config::finding>& findings) {
  std::vector<std::string> lines;
  for (const config::finding& f : findings) {
    if (f.fatal) {
      lines.push_back(f.text());
    }
  }
  return base::join(lines, "\n");
}

bool has_fatal(const std::vector<config::finding>& findings) {
  for (const config::finding& f : findings) {
    if (f.fatal) {
      return true;
    }
  }
  return false;
}

observe::logger logger_for(const std::string& plugin, const std::string& offering) {
  const observe::logger plain = observe::logger("plugin." + plugin).with("plugin", plugin);
  return offering.empty() ? plain : plain.with("offering", offering);
}

secret_store secrets_of(const instance_options& o, const converted_settings& c) {
  secret_store store(c.secrets);
  for (const auto& [reference, reader] : o.secrets) {
    store.add(reference, reader);
  }
  return store;
}

} // namespace

struct instance::impl {
  impl(std::shared_ptr<host::plugin> p, const instance_options& o, const converted_settings& c)
      : loaded(std::move(p)), extension(o.extension),
        host(logger_for(loaded->info.id, o.offering_name), secrets_of(o, c)),
        deadline(deadlines(c.limits)) {}

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  ~impl() {
    if (handle == nullptr) {
      return;
    }
    gate::pass turn;
    if (loaded->descriptor.thread_model != SAGENT_THREADS_PARALLEL) {
      turn = is_serial() ? loaded->serial.enter() : own.enter();
    }
    try {
      loaded->descriptor.destroy(handle);
    } catch (...) {
      host.log().error("the plugin threw an exception out of destroy");
    }
  }

  bool is_serial() const {
    return name_of_thread_model(loaded->descriptor.thread_model) == "serial";
  }

  // Takes the lock the thread model asks for, builds the call, runs `method` in it and judges.
  template <class Method>
  base::result<std::vector<base::json>>
  run(const std::string& name, const call_request& request, call_options o, Method&& method);

  base::result<void> create(const converted_settings& settings);
  void count(const call_verdict& verdict);
  std::optional<base::error> quarantine() const;

  // The method of this instance's extension; nullptr: not there.
  sagent_method find_slot(operation op) const {
    return extension == SAGENT_EXT_CLOUD_HOST_PROVIDER ? slot_of(loaded->cloud_host, op)
                                                       : slot_of(loaded->backend, op);
  }

  std::shared_ptr<host::plugin> loaded; // shared with the registry and other instances
  const std::string extension;
  services host;
  std::array<milliseconds, operation_count> deadline;
  sagent_instance* handle = nullptr;
  gate own;
  retired_calls retired;
  std::atomic<unsigned> breaches_in_a_row{0};
};

template <class Method>
base::result<std::vector<base::json>> instance::impl::run(
    const std::string& name, const call_request& request, call_options o, Method&& method
) {
  const std::string what = loaded->info.id + ": " + name;
  const auto until = base::real_clock().steady() + o.deadline;
  if (o.stop.stop_requested()) {
    return base::error{
        .code = base::error_code::cancelled, .message = what + ": stopped before it began"};
  }
  gate::pass turn;
  if (loaded->descriptor.thread_model != SAGENT_THREADS_PARALLEL) {
    auto entered = (is_serial() ? loaded->serial : own).enter(until, o.stop);
    if (!entered) {
      return base::with_context(entered.error(), what);
    }
    turn = std::move(*entered);
  }
  const request_data data(
      request, o.trace_id.empty() ? base::uuid::random().hex() : std::move(o.trace_id)
  );
  auto context = std::make_unique<call_context>(call_context::setup{
      .what = what,
      .deadline = until,
      .stop = std::move(o.stop),
      .checkpoint = std::move(o.checkpoint)});
  sagent_code code = SAGENT_E_PLUGIN_BUG;
  bool escaped = false;
  {
    const trace_scope trace(data.trace_id);
    try {
      code = method(context->table(), &data.raw);
    } catch (...) {
      // Only the lucky case lands here; a plugin with its own C++ runtime has ended the process.
      escaped = true;
    }
  }
  call_verdict verdict = context->finish(code, escaped);
  retired.keep(std::move(context));
  count(verdict);
  return std::move(verdict.value);
}

void instance::impl::count(const call_verdict& verdict) {
  if (!verdict.breached_contract) {
    breaches_in_a_row = 0;
    return;
  }
  const unsigned row = ++breaches_in_a_row;
  host.log().failure(
      observe::level::error,
      "the plugin broke its contract",
      verdict.value.error(),
      {{"breaches_in_a_row", std::to_string(row)}}
  );
  if (row == quarantine_after) {
    host.log().error("the plugin is quarantined for this offering until the agent is restarted");
  }
}

std::optional<base::error> instance::impl::quarantine() const {
  if (breaches_in_a_row < quarantine_after) {
    return std::nullopt;
  }
  return base::error{
      .code = base::error_code::not_ready,
      .message = loaded->info.id + ": quarantined: the plugin broke its contract " +
                 std::to_string(quarantine_after) +
                 " times in a row; install a corrected one and restart the agent"};
}

base::result<void> instance::impl::create(const converted_settings& settings) {
  const process_guard guard("plugin " + loaded->info.id);
  const sagent_plugin& d = loaded->descriptor;
  const call_request request{
      .target = extension, .body = settings.settings, .idempotency_key = {}, .dry_run = false};
  const call_options options{
      .deadline = create_deadline, .stop = {}, .checkpoint = {}, .trace_id = {}};
  if (d.validate_settings != nullptr) {
    const auto valid =
        run("settings", request, options, [&](const sagent_call* call, const sagent_request* r) {
          return d.validate_settings(host.table(), call, r);
        });
    if (!valid) {
      return valid.error();
    }
  }
  sagent_instance* made = nullptr;
  const auto created =
      run("settings", request, options, [&](const sagent_call* call, const sagent_request* r) {
        return d.create(host.table(), call, r, &made);
      });
  if (!created) {
    return created.error();
  }
  if (made == nullptr) {
    return base::error{
        .code = base::error_code::plugin_bug,
        .message = loaded->info.id + ": create succeeded without an instance; report this to the "
                                     "plugin's author"};
  }
  handle = made;
  return {};
}

instance::instance(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

instance::~instance() = default;

base::result<std::shared_ptr<instance>> instance::open(
    std::shared_ptr<host::plugin> p,
    instance_options options,
    std::vector<config::finding>* findings
) {
  if (!p->info.offers(options.extension)) {
    return base::error{
        .code = base::error_code::invalid,
        .message =
            "plugin " + p->info.id + " does not offer " + options.extension +
            "; choose another plugin" +
            (options.offering_name.empty() ? "" : " for offering '" + options.offering_name + "'")};
  }
  std::vector<config::finding> found;
  const converted_settings settings =
      convert_settings(p->info.settings_schema(options.extension), options, found);
  if (findings != nullptr) {
    findings->insert(findings->end(), found.begin(), found.end());
  }
  if (has_fatal(found)) {
    return base::error{.code = base::error_code::invalid, .message = all_texts(found)};
  }
  auto made = std::make_unique<impl>(std::move(p), options, settings);
  if (auto created = made->create(settings); !created) {
    return created.error();
  }
  return std::shared_ptr<instance>(new instance(std::move(made)));
}

base::result<std::vector<base::json>>
instance::call(operation op, const call_request& request, const call_options& options) {
  const std::string name(name_of(op));
  if (auto refused = impl_->quarantine()) {
    return *refused;
  }
  const sagent_method slot = impl_->find_slot(op);
  if (slot == nullptr) {
    return base::error{
        .code = base::error_code::unsupported,
        .message = plugin_id() + ": " + name + " is not supported by this plugin"};
  }
  call_options o = options;
  if (o.deadline.count() <= 0) {
    o.deadline = impl_->deadline.at(static_cast<std::size_t>(op));
  }
  return impl_->run(
      name,
      request,
      std::move(o),
      [&](const sagent_call* call, const sagent_request* r) { return slot(impl_->handle, call, r); }
  );
}

const host::plugin& instance::plugin() const {
  return *impl_->loaded;
}

const std::string& instance::plugin_id() const {
  return impl_->loaded->info.id;
}

} // namespace siteagent::host
