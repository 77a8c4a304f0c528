// SPDX-License-Identifier: MIT
// What clients read before they log in, in the shapes that each client family asks for.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_documents = cloud;

TEST_F(azure_documents, endpoints_of_2015_send_azure_cli_to_ad_fs) {
  const auto a = raw("GET", "/metadata/endpoints?api-version=2015-01-01");
  ASSERT_EQ(a.status, 200);
  EXPECT_EQ(a.body.at({"authentication", "loginEndpoint"}).string_or(""), base_url + "/adfs");
  EXPECT_EQ(a.body.at({"authentication", "audiences"})[0].string_or(""), base_url + "/");
  for (const char* key : {"galleryEndpoint", "graphEndpoint", "portalEndpoint"}) {
    EXPECT_TRUE(a.body[key].is_string()) << key;
  }
}

TEST_F(azure_documents, endpoints_of_2018_list_the_locations) {
  const auto a = raw("GET", "//metadata/endpoints?api-version=2018-01-01");
  ASSERT_EQ(a.status, 200);
  const auto& described = a.body.at({"cloudEndpoint", "public"});
  EXPECT_EQ(described["endpoint"].string_or(""), "127.0.0.1:8001");
  EXPECT_EQ(described["locations"].size(), 4U);
}

void expect_cloud(const base::json& c, const std::string& base, const std::string& login) {
  for (const char* key :
       {"name",
        "portal",
        "media",
        "graphAudience",
        "graph",
        "microsoftGraphResourceId",
        "batch",
        "resourceManager",
        "vmImageAliasDoc",
        "activeDirectoryDataLake",
        "sqlManagement",
        "gallery"}) {
    EXPECT_FALSE(c[key].string_or("").empty()) << key;
  }
  EXPECT_EQ(c["resourceManager"].string_or(""), base + "/");
  const auto& authentication = c["authentication"];
  EXPECT_EQ(authentication["loginEndpoint"].string_or(""), login);
  EXPECT_EQ(authentication["audiences"].size(), 2U);
  EXPECT_EQ(authentication["tenant"].string_or(""), "common");
  EXPECT_EQ(c["suffixes"].size(), 14U);
}

TEST_F(azure_documents, later_endpoints_are_a_list_and_then_one_cloud) {
  const auto list = raw("GET", "/metadata/endpoints?api-version=2019-05-01");
  ASSERT_TRUE(list.body.is_array());
  expect_cloud(list.body[0], base_url, base_url);
  EXPECT_TRUE(raw("GET", "/metadata/endpoints?api-version=2020-06-01").body.is_array());
  const auto one = raw("GET", "/metadata/endpoints?api-version=2022-09-01");
  ASSERT_TRUE(one.body.is_object());
  expect_cloud(one.body, base_url, base_url);
  seed(R"({"adfs_in_metadata":true})");
  expect_cloud(
      raw("GET", "/metadata/endpoints?api-version=2022-09-01").body, base_url, base_url + "/adfs"
  );
  EXPECT_EQ(raw("GET", "/metadata/endpoints").code(), "MissingApiVersionParameter");
}

TEST_F(azure_documents, openid_configurations_are_complete_for_each_authority) {
  struct row {
    std::string path;
    std::string token_endpoint;
    std::string issuer;
  };

  const std::string tenant = base_url + "/" + tenant_1;
  const row rows[] = {
      {"/" + tenant_1 + "/v2.0", tenant + "/oauth2/v2.0/token", tenant + "/v2.0"},
      {"/" + tenant_1, tenant + "/oauth2/token", tenant + "/"},
      {"/common/v2.0", base_url + "/common/oauth2/v2.0/token", base_url + "/{tenantid}/v2.0"},
      {"/adfs", base_url + "/adfs/oauth2/token", base_url + "/adfs"},
  };
  for (const row& r : rows) {
    const auto a = raw("GET", r.path + "/.well-known/openid-configuration");
    ASSERT_EQ(a.status, 200) << r.path;
    EXPECT_EQ(a.body["token_endpoint"].string_or(""), r.token_endpoint);
    EXPECT_EQ(a.body["issuer"].string_or(""), r.issuer);
    for (const char* key :
         {"authorization_endpoint",
          "jwks_uri",
          "device_authorization_endpoint",
          "userinfo_endpoint",
          "tenant_region_scope",
          "cloud_instance_name",
          "cloud_graph_host_name",
          "msgraph_host"}) {
      EXPECT_TRUE(a.body[key].is_string()) << r.path << " " << key;
    }
    for (const char* key :
         {"response_types_supported",
          "subject_types_supported",
          "id_token_signing_alg_values_supported",
          "token_endpoint_auth_methods_supported"}) {
      EXPECT_TRUE(a.body[key].is_array()) << r.path << " " << key;
    }
    const std::string keys = a.body["jwks_uri"].string_or("").substr(base_url.size());
    EXPECT_TRUE(raw("GET", keys).body["keys"].is_array()) << keys;
  }
}

TEST_F(azure_documents, instance_discovery_names_the_directory_that_was_asked_about) {
  const auto a =
      raw("GET",
          "/common/discovery/instance?api-version=1.1&authorization_endpoint=" +
              net::encode(base_url + "/" + tenant_1 + "/oauth2/v2.0/authorize"));
  ASSERT_EQ(a.status, 200);
  EXPECT_EQ(
      a.body["tenant_discovery_endpoint"].string_or(""),
      base_url + "/" + tenant_1 + "/v2.0/.well-known/openid-configuration"
  );
  EXPECT_EQ(a.body["metadata"][0]["preferred_network"].string_or(""), "127.0.0.1:8001");
  EXPECT_EQ(a.body["metadata"][0]["aliases"][0].string_or(""), "127.0.0.1:8001");
}

TEST_F(azure_documents, the_directory_finds_a_principal_by_its_application) {
  const std::string path = "/graph/v1.0/servicePrincipals?$filter=appId%20eq%20'";
  EXPECT_EQ(raw("GET", path + "x'").status, 401);
  const net::header_list bearer{{"authorization", "Bearer " + token_}};
  const auto found = raw("GET", path + "33333333-3333-3333-3333-333333333333'", "", bearer);
  ASSERT_EQ(found.status, 200);
  ASSERT_EQ(found.body["value"].size(), 1U);
  EXPECT_FALSE(found.body["value"][0]["id"].string_or("").empty());
  EXPECT_EQ(raw("GET", path + "x'", "", bearer).body["value"].size(), 0U);
}

TEST_F(azure_documents, image_aliases_name_images_that_are_there) {
  const auto a = raw("GET", "/aliases.json");
  const auto& linux_images = a.body.at({"outputs", "aliases", "value", "Linux"});
  ASSERT_GE(linux_images.size(), 3U);
  EXPECT_EQ(linux_images["Ubuntu2204"]["publisher"].string_or(""), "Canonical");
  EXPECT_EQ(linux_images["Ubuntu2204"]["version"].string_or(""), "latest");
  seed(R"({"images":[{"publisher":"p","offer":"o","sku":"s","version":"1.0.0"}]})");
  EXPECT_EQ(
      raw("GET", "/aliases.json").body.at({"outputs", "aliases", "value", "Linux"}).size(), 0U
  );
}

TEST_F(azure_documents, arm_takes_tokens_for_itself_only) {
  const auto token_for = [&](const std::string& audience) {
    return raw("POST",
               "/" + tenant_1 + "/oauth2/v2.0/token",
               net::build_query(
                   {{"grant_type", "client_credentials"},
                    {"client_id", "33333333-3333-3333-3333-333333333333"},
                    {"client_secret", "emulator-secret"},
                    {"scope", audience + "/.default"}}
               ))
        .body["access_token"]
        .string_or("");
  };
  for (const std::string& good :
       {base_url,
        base_url + "/",
        std::string("https://management.azure.com"),
        std::string("https://management.core.windows.net/"),
        std::string("https://localhost:8001")}) {
    token_ = token_for(good);
    EXPECT_EQ(get("").status, 200) << good;
  }
  for (const std::string& bad : {base_url + "/graph", std::string("https://graph.microsoft.com")}) {
    token_ = token_for(bad);
    EXPECT_EQ(get("").status, 401) << bad;
    EXPECT_EQ(get("").code(), "InvalidAuthenticationTokenAudience") << bad;
  }
}

} // namespace
} // namespace siteagent::azure_emulator
