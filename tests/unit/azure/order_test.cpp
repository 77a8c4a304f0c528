// SPDX-License-Identifier: MIT
#include "core/base/text.hpp"
#include "plugins/azure/cidr.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/ssh_key.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace siteagent::azure {

namespace {

constexpr const char* ed25519 =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK50yWPtgxagEyrxKY1akPHAkg5dVT4t4pomlvWxhKPK somebody";
constexpr const char* key_uuid_hex = "00000000000000000000000000000501";
constexpr const char* key_uuid_dashed = "00000000-0000-0000-0000-000000000501";

settings defaults() {
  settings s;
  s.subscription_id = "11111111-1111-1111-1111-111111111111";
  s.default_location = "westeurope";
  s.default_size = "Standard_B1s";
  s.default_image = "Canonical:jammy:22_04-lts:latest";
  return s;
}

base::json order_with(const std::function<void(base::json&)>& change = {}) {
  base::json body =
      *base::json::parse(R"({"order":{"type":"Create","attributes":{}},"resource":{"name":"web"}})"
      );
  base::json& attributes = body.member_ref("order").member_ref("attributes");
  attributes.set("ssh_public_key", ed25519);
  if (change) {
    change(attributes);
  }
  return body;
}

std::string refusal(const base::json& body, const settings& s = defaults()) {
  const auto order = read_order(body, s);
  return order ? "" : order.error().message;
}

TEST(azure_order, takes_defaults_where_the_order_is_silent_null_or_empty) {
  const auto order = read_order(
      order_with([](base::json& a) {
        a.set("location", "");
        a.set("size", nullptr);
      }),
      defaults()
  );
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(order->location, "westeurope");
  EXPECT_EQ(order->size, "Standard_B1s");
  EXPECT_EQ(order->image.sku, "22_04-lts");
  EXPECT_EQ(order->user_name, "waldur");
  EXPECT_EQ(order->ssh_key, ed25519);
}

TEST(azure_order, reads_the_attributes_of_the_resource_too) {
  base::json body = order_with();
  body.member_ref("resource").set("attributes", base::json::object({{"location", "North Europe"}}));
  EXPECT_EQ(read_order(body, defaults())->location, "northeurope");
}

TEST(azure_order, names_what_is_set_nowhere_in_the_order_of_the_checks) {
  settings s = defaults();
  s.default_location = s.default_size = "";
  s.default_image = {};
  base::json body = order_with([](base::json& a) { a.erase("ssh_public_key"); });
  EXPECT_EQ(refusal(body, s), "Azure location is set neither on the order nor in backend_settings");
  s.default_location = "westeurope";
  EXPECT_EQ(refusal(body, s), "Azure size is set neither on the order nor in backend_settings");
  s.default_size = "Standard_B1s";
  EXPECT_EQ(refusal(body, s), "Azure image is set neither on the order nor in backend_settings");
  s.default_image = "a:b:c:d";
  EXPECT_EQ(
      refusal(body, s).rfind(
          "Order for web carries no SSH key, and a machine has no other credential: ", 0
      ),
      0U
  );
}

TEST(azure_order, refuses_images_in_other_forms) {
  for (const char* image : {"a:b:c", "a:b:c:d:e", "ubuntu", "a::c:d"}) {
    EXPECT_EQ(
        refusal(order_with([&](base::json& a) { a.set("image", image); })),
        "Azure image '" + std::string(image) + "' is not in publisher:offer:sku:version form"
    );
  }
  EXPECT_EQ(
      refusal(order_with([&](base::json& a) {
        a.set("image", base::json::object({{"publisher", "p"}, {"sku", "s"}}));
      })),
      "Azure image reference is missing offer, version"
  );
}

TEST(azure_order, finds_a_registered_key_in_either_spelling) {
  for (const auto& [asked, kept] :
       {std::pair{key_uuid_hex, key_uuid_dashed}, {key_uuid_dashed, key_uuid_hex}}) {
    base::json body = order_with([&, wanted = asked](base::json& a) {
      a.erase("ssh_public_key");
      a.set("ssh_key", wanted);
    });
    body.set("ssh_keys", base::json::object({{kept, ed25519}}));
    const auto order = read_order(body, defaults());
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(order->ssh_key, ed25519);
  }
}

TEST(azure_order, refuses_a_key_nobody_registered) {
  for (const char* reference : {key_uuid_hex, "no uuid at all"}) {
    base::json body = order_with([&](base::json& a) {
      a.erase("ssh_public_key");
      a.set("ssh_key_uuid", reference);
    });
    EXPECT_EQ(evaluate(body, defaults()).verdict, decision::wait); // no keys told is not no keys
    body.set("ssh_keys", base::json::object());
    EXPECT_EQ(evaluate(body, defaults()).verdict, decision::reject);
    EXPECT_NE(refusal(body).find("not registered"), std::string::npos);
  }
}

TEST(azure_order, refuses_user_names_azure_would_refuse_late) {
  for (const std::string& name :
       {std::string("root"),
        std::string("admin"),
        std::string("Admin"),
        std::string("-x"),
        std::string("user1"),
        std::string("a b"),
        std::string(65, 'a'),
        std::string("1")}) {
    EXPECT_NE(refusal(order_with([&](base::json& a) { a.set("username", name); })), "") << name;
  }
  for (const char* name : {"waldur", "_x", "build-1", "ann"}) {
    EXPECT_EQ(refusal(order_with([&](base::json& a) { a.set("username", name); })), "") << name;
  }
}

TEST(azure_order, measures_user_data_in_bytes_before_encoding) {
  const auto sized = [](std::size_t n) {
    return order_with([&](base::json& a) { a.set("user_data", std::string(n, 'x')); });
  };
  EXPECT_EQ(refusal(sized(65'535)), "");
  EXPECT_EQ(refusal(sized(65'536)), "User data has 65536 bytes; Azure takes at most 65535");
  EXPECT_EQ(
      read_order(
          order_with([](base::json& a) { a.set("cloud_init", "#cloud-config"); }), defaults()
      )
          ->user_data,
      "#cloud-config"
  );
}

TEST(azure_order, guard_rails_name_the_choice) {
  settings s = defaults();
  s.allowed_sizes = {"Standard_B2s", "Standard_B2ms"};
  EXPECT_EQ(
      refusal(order_with(), s),
      "Azure size 'Standard_B1s' is not offered here; choose one of: Standard_B2s, Standard_B2ms"
  );
  s.allowed_sizes = {"standard_b1S"};
  EXPECT_EQ(refusal(order_with(), s), "");
  s.allowed_locations = {"North Europe"};
  EXPECT_NE(refusal(order_with(), s), "");
}

TEST(azure_order, offered_locations_and_images_compare_by_what_they_mean) {
  settings s = defaults();
  s.allowed_locations = {"West Europe"};
  for (const char* location : {"westeurope", "West Europe", "WESTEUROPE", " west europe "}) {
    EXPECT_EQ(refusal(order_with([&](base::json& a) { a.set("location", location); }), s), "");
  }
  EXPECT_NE(refusal(order_with([](base::json& a) { a.set("location", "westus"); }), s), "");
  const auto with_image = [&](const char* image) {
    return refusal(order_with([&](base::json& a) { a.set("image", image); }), s);
  };
  s.allowed_images = {"canonical:Jammy:22_04-lts", "Debian : debian-12 : 12 : 0.1"};
  EXPECT_EQ(with_image("Canonical:jammy:22_04-lts:latest"), "");
  EXPECT_EQ(with_image("Canonical:jammy:22_04-LTS:22.04.9"), "");
  EXPECT_EQ(with_image("debian:debian-12:12:0.1"), "");
  EXPECT_NE(with_image("debian:debian-12:12:0.2"), "");
  EXPECT_NE(with_image("debian:debian-12:12:latest"), "");
  EXPECT_NE(with_image("Canonical:jammy:22_04-lts-gen2:latest"), "");
  EXPECT_EQ(
      refusal(
          order_with([](base::json& a) {
            a.set(
                "image",
                base::json::object(
                    {{"publisher", "canonical"},
                     {"offer", "jammy"},
                     {"sku", "22_04-lts"},
                     {"version", "1"}}
                )
            );
          }),
          s
      ),
      ""
  );
}

TEST(azure_order, what_customers_write_stays_one_short_line) {
  const std::string text = refusal(order_with([](base::json& a) {
    a.set("image", std::string(10'000, 'x') + "\n\x1b[31m");
  }));
  EXPECT_LE(text.size(), 600U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(azure_order, updates_are_refused_only_when_something_would_change) {
  const auto update = [](const char* text) {
    base::json body = base::json::object();
    body.set("order", *base::json::parse(text));
    return evaluate(body, defaults()).reason;
  };
  EXPECT_EQ(update(R"({"type":"Update","limits":{"cpu":2},"old_limits":{"cpu":"2.0"}})"), "");
  EXPECT_NE(update(R"({"type":"Update","limits":{"cpu":4},"old_limits":{"cpu":2}})"), "");
  EXPECT_NE(update(R"({"type":"Update","plan_quotas":{"cpu":4},"old_plan_quotas":{}})"), "");
}

TEST(azure_order, terminations_are_refused_for_foreign_ids_only) {
  const auto terminate = [](const std::string& id) {
    base::json body = *base::json::parse(R"({"order":{"type":"Terminate"},"resource":{}})");
    body.member_ref("resource").set("backend_id", id);
    return evaluate(body, defaults()).reason;
  };
  const std::string tail = "/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v";
  EXPECT_EQ(terminate("/subscriptions/11111111-1111-1111-1111-111111111111" + tail), "");
  EXPECT_EQ(terminate("   "), "");
  EXPECT_EQ(terminate("TICKET-1"), "Not an Azure virtual machine id: 'TICKET-1'");
  EXPECT_NE(terminate("/subscriptions/99999999-1111-1111-1111-111111111111" + tail), "");
}

TEST(azure_ssh_key, takes_good_keys_and_says_what_is_wrong_with_others) {
  EXPECT_EQ(*checked_ssh_key(std::string("  ") + ed25519 + "\n"), ed25519);
  const std::string ecdsa = "ecdsa-sha2-nistp256 AAAA x";
  for (const std::string& bad :
       {std::string(""),
        std::string("ssh-rsa"),
        std::string("ssh-rsa AAAA"),
        ecdsa,
        std::string(ed25519) + "\n" + ed25519,
        std::string("from=\"1.2.3.4\" ") + ed25519,
        std::string("ssh-rsa") + std::string(ed25519).substr(11),
        std::string(ed25519).substr(0, 40),
        std::string("ssh-ed25519 ****")}) {
    EXPECT_FALSE(checked_ssh_key(bad)) << bad;
  }
}

TEST(azure_ssh_key, counts_the_bits_of_rsa_keys) {
  const auto key_of = [](std::size_t bytes) {
    const auto field = [](std::string text) {
      std::string out;
      for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        out.push_back(static_cast<char>((text.size() >> shift) & 0xFFU));
      }
      return out + text;
    };
    const std::string blob = field("ssh-rsa") + field("\x01\x01") +
                             field(std::string(1, '\0') + std::string(bytes, '\x81'));
    return "ssh-rsa " + base::base64(blob) + " x";
  };
  EXPECT_TRUE(checked_ssh_key(key_of(256)));
  EXPECT_FALSE(checked_ssh_key(key_of(128)));
}

TEST(azure_cidr, is_strict_about_what_people_paste) {
  EXPECT_EQ(cidr::parse("203.0.113.7")->text(), "203.0.113.7");
  EXPECT_EQ(cidr::parse("203.0.113.7/24")->text(), "203.0.113.0/24");
  EXPECT_EQ(cidr::parse("2001:db8::1/32")->text(), "2001:db8::/32");
  for (const char* bad :
       {"",
        "x",
        "1.2.3",
        "010.0.0.1",
        "1.2.3.4/33",
        "1.2.3.4/",
        "1.2.3.4/08",
        "1.2.3.4:22",
        "1.2.3.4/-1"}) {
    EXPECT_FALSE(cidr::parse(bad)) << bad;
  }
  EXPECT_TRUE(cidr::parse("10.0.0.0/16")->contains(*cidr::parse("10.0.1.0/24")));
  EXPECT_FALSE(cidr::parse("10.0.0.0/24")->contains(*cidr::parse("10.0.0.0/16")));
}

} // namespace

} // namespace siteagent::azure
