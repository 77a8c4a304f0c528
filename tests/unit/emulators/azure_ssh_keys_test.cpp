// SPDX-License-Identifier: MIT
// SSH public keys as resources, and pairs that the service makes.
#include "azure_bodies.hpp"
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_ssh_keys = cloud;

const std::string keys = "/resourceGroups/rg/providers/Microsoft.Compute/sshPublicKeys";

TEST_F(azure_ssh_keys, a_pair_made_by_the_service_opens_a_machine) {
  make_network();
  EXPECT_EQ(put(keys + "/key", R"({"location":"westeurope"})").status, 201);
  EXPECT_EQ(get(keys + "/key").body["properties"].dump(), "{}");
  const auto pair = arm("POST", keys + "/key/generateKeyPair");
  ASSERT_EQ(pair.status, 200) << pair.body.dump();
  EXPECT_EQ(
      pair.body["privateKey"].string_or("").rfind("-----BEGIN RSA PRIVATE KEY-----\r\n", 0), 0U
  );
  const auto line = pair.body["publicKey"];
  EXPECT_EQ(get(keys + "/key").body.at({"properties", "publicKey"}).dump(), line.dump());
  auto body = machine_body();
  first_key(body).set("keyData", line);
  EXPECT_EQ(put(vm, body.dump()).status, 201);
}

TEST_F(azure_ssh_keys, a_key_is_kept_by_a_write_that_leaves_it_out_and_deleted_at_once) {
  make(rg, R"({"location":"westeurope"})");
  put(keys + "/key", R"({"location":"westeurope","properties":{"publicKey":"ssh-rsa x"}})");
  const auto again = put(keys + "/key", R"({"location":"westeurope","tags":{"a":"b"}})");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body.at({"properties", "publicKey"}).string_or(""), "ssh-rsa x");
  EXPECT_EQ(get(keys).body["value"].size(), 1U);
  EXPECT_EQ(remove(keys + "/key").status, 200);
  EXPECT_EQ(remove(keys + "/key").status, 204);
  EXPECT_EQ(get(keys + "/key").code(), "ResourceNotFound");
  EXPECT_EQ(arm("POST", keys + "/key/generateKeyPair").code(), "ResourceNotFound");
}

} // namespace
} // namespace siteagent::azure_emulator
