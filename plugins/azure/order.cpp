// SPDX-License-Identifier: MIT
#include "plugins/azure/order.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/offered.hpp"
#include "plugins/azure/resource_id.hpp"
#include "plugins/azure/ssh_key.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace siteagent::azure {

namespace {

constexpr std::size_t most_user_data = 65'535;
constexpr std::size_t longest_user_name = 64;

constexpr auto reserved_users = std::to_array<std::string_view>(
    {"administrator",
     "admin",
     "user",
     "user1",
     "test",
     "user2",
     "test1",
     "user3",
     "admin1",
     "1",
     "123",
     "a",
     "actuser",
     "adm",
     "admin2",
     "aspnet",
     "backup",
     "console",
     "david",
     "guest",
     "john",
     "owner",
     "root",
     "server",
     "sql",
     "support",
     "support_388945a0",
     "sys",
     "test2",
     "test3",
     "user4",
     "user5"}
);

// The order's own attribute, else the resource's; null and "" count as absent.
const base::json& attribute(const base::json& body, std::string_view key) {
  const base::json& own = body.at({"order", "attributes"})[key];
  const bool empty = own.is_null() || own.string() == std::string_view();
  return empty ? body.at({"resource", "attributes"})[key] : own;
}

std::string text_attribute(const base::json& body, std::string_view key) {
  return std::string(base::trim(attribute(body, key).number_text().value_or("")));
}

base::error not_offered(
    std::string_view what, std::string_view value, const std::vector<std::string>& allowed
) {
  return order_refusal(
      "Azure " + std::string(what) + " '" + std::string(value) +
      "' is not offered here; choose one of: " + base::join(allowed, ", ")
  );
}

base::error not_set(std::string_view what) {
  return order_refusal(
      "Azure " + std::string(what) + " is set neither on the order nor in backend_settings"
  );
}

base::result<std::string> read_location(const base::json& body, const settings& s) {
  std::string location = normal_location(text_attribute(body, "location"));
  if (location.empty()) {
    location = s.default_location;
  }
  if (location.empty()) {
    return not_set("location");
  }
  const bool plain = std::all_of(location.begin(), location.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  if (!plain) {
    return order_refusal(
        "Azure location '" + location + "' is not a location name such as westeurope"
    );
  }
  if (!is_offered_location(s, location)) {
    return not_offered("location", location, s.allowed_locations);
  }
  return location;
}

base::result<std::string> read_size(const base::json& body, const settings& s) {
  std::string size = text_attribute(body, "size");
  if (size.empty()) {
    size = s.default_size;
  }
  if (size.empty()) {
    return not_set("size");
  }
  if (!is_offered_size(s, size)) {
    return not_offered("size", size, s.allowed_sizes);
  }
  return size;
}

base::result<image_reference> read_image(const base::json& body, const settings& s) {
  const base::json& own = attribute(body, "image");
  const bool absent = own.is_null() || own.string() == std::string_view();
  const base::json& value = absent ? s.default_image : own;
  if (value.is_null() || value.string() == std::string_view()) {
    return not_set("image");
  }
  auto image = parse_image(value);
  if (image && !is_offered_image(s, *image)) {
    return not_offered("image", image->text(), s.allowed_images);
  }
  return image;
}

base::error no_key(const std::string& name, std::string_view why) {
  return order_refusal(
      "Order for " + name +
      " carries no SSH key, and a machine has no other credential: " + std::string(why)
  );
}

std::optional<std::string> registered_key(const base::json& keys, const base::uuid& wanted) {
  for (const auto& [id, text] : keys.members()) {
    if (base::uuid::parse(id) == wanted) {
      return text.string_or("");
    }
  }
  return std::nullopt;
}

base::result<std::string> read_ssh_key(const base::json& body, const std::string& name) {
  if (const std::string literal = text_attribute(body, "ssh_public_key"); !literal.empty()) {
    return checked_ssh_key(literal);
  }
  std::string reference = text_attribute(body, "ssh_key");
  if (reference.empty()) {
    reference = text_attribute(body, "ssh_key_uuid");
  }
  if (reference.empty()) {
    return no_key(
        name, "set ssh_public_key, or ssh_key to the UUID of a key of the service provider"
    );
  }
  if (body.find("ssh_keys") == nullptr) {
    return make_error(
        reason::ambiguous,
        base::error_code::not_ready,
        "the keys of the service provider are not known at the moment; the order for " + name +
            " waits"
    );
  }
  const auto wanted = base::uuid::parse(reference);
  const auto key = wanted ? registered_key(body["ssh_keys"], *wanted) : std::nullopt;
  if (!key || key->empty()) {
    return no_key(name, "ssh_key names a key the service provider has not registered");
  }
  return checked_ssh_key(*key);
}

base::result<std::string> read_user_name(const base::json& body) {
  std::string name = text_attribute(body, "username");
  if (name.empty()) {
    return std::string(default_user_name);
  }
  const auto first = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const bool plain = first(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
                       return first(c) || (c >= '0' && c <= '9') || c == '-';
                     });
  if (!plain || name.size() > longest_user_name) {
    return order_refusal(
        "User name '" + name.substr(0, 80) +
        "' cannot be used: 1 to 64 lower-case letters, digits, '_' and '-', beginning with a "
        "letter or '_'"
    );
  }
  if (std::find(reserved_users.begin(), reserved_users.end(), name) != reserved_users.end()) {
    return order_refusal("User name '" + name + "' is reserved by Azure; choose another one");
  }
  return name;
}

base::result<std::string> read_user_data(const base::json& body) {
  for (const std::string_view key : {"user_data", "cloud_init"}) {
    const std::string data(attribute(body, key).string().value_or(""));
    if (data.size() > most_user_data) {
      return order_refusal(
          "User data has " + std::to_string(data.size()) + " bytes; Azure takes at most " +
          std::to_string(most_user_data)
      );
    }
    if (!data.empty()) {
      return data;
    }
  }
  return std::string();
}

bool same_quantities(const base::json& a, const base::json& b) {
  const auto value_of = [](const base::json& v) {
    return base::decimal::parse(v.number_text().value_or("0")).value_or(base::decimal());
  };
  const auto covers = [&](const base::json& x, const base::json& y) {
    return std::all_of(x.members().begin(), x.members().end(), [&](const base::json::member& m) {
      return value_of(m.second) == value_of(y[m.first]);
    });
  };
  return covers(a, b) && covers(b, a);
}

std::string objection_to_update(const base::json& order) {
  // Without the old figures nothing can be compared, and nothing will be carried out either.
  // An order for another plan carries no limits at all.
  if (order["limits"].size() > 0 && !order["old_limits"].is_null() &&
      !same_quantities(order["limits"], order["old_limits"])) {
    return "Changing limits does not change an Azure machine; order a new one of another size.";
  }
  if (!order["plan_quotas"].is_null() && !order["old_plan_quotas"].is_null() &&
      !same_quantities(order["plan_quotas"], order["old_plan_quotas"])) {
    return "Changing the plan does not change an Azure machine; order a new one of another size.";
  }
  return "";
}

std::string objection_to_terminate(const base::json& body, const settings& s) {
  const std::string backend_id(base::trim(body["resource"]["backend_id"].string_or("")));
  if (backend_id.empty()) {
    return "";
  }
  const auto id = resource_id::parse(backend_id);
  if (!id || !id->is_virtual_machine()) {
    return "Not an Azure virtual machine id: '" + backend_id + "'";
  }
  if (!base::equals_ignoring_case(id->subscription, s.subscription_id)) {
    return "The machine lies in another Azure subscription than the one this offering uses; ask "
           "the provider.";
  }
  return "";
}

} // namespace

base::result<machine_order> read_defaults(const base::json& body, const settings& s) {
  machine_order out;
  auto location = read_location(body, s);
  if (!location) {
    return location.error();
  }
  auto size = read_size(body, s);
  if (!size) {
    return size.error();
  }
  auto image = read_image(body, s);
  if (!image) {
    return image.error();
  }
  out.location = std::move(*location);
  out.size = std::move(*size);
  out.image = std::move(*image);
  return out;
}

base::result<machine_order> read_order(const base::json& body, const settings& s) {
  auto out = read_defaults(body, s);
  if (!out) {
    return out;
  }
  out->name = body["resource"]["name"].string_or("");
  if (base::trim(out->name).empty()) {
    out->name = body["resource"]["slug"].string_or("");
  }
  auto key = read_ssh_key(body, out->name);
  if (!key) {
    return key.error();
  }
  auto user = read_user_name(body);
  if (!user) {
    return user.error();
  }
  auto data = read_user_data(body);
  if (!data) {
    return data.error();
  }
  out->ssh_key = std::move(*key);
  out->user_name = std::move(*user);
  out->user_data = std::move(*data);
  return out;
}

evaluation evaluate(const base::json& body, const settings& s) {
  const auto judged = [](std::string objection) {
    const decision verdict = objection.empty() ? decision::accept : decision::reject;
    return evaluation{verdict, std::move(objection)};
  };
  const std::string type = body["order"]["type"].string_or("Create");
  if (type == "Update") {
    return judged(objection_to_update(body["order"]));
  }
  if (type == "Terminate") {
    return judged(objection_to_terminate(body, s));
  }
  if (type == "Restore") {
    return {};
  }
  const auto order = read_order(body, s);
  if (!order && order.error().code == base::error_code::not_ready) {
    return {decision::wait, order.error().message};
  }
  return judged(order ? "" : order.error().message);
}

} // namespace siteagent::azure
