// SPDX-License-Identifier: MIT
#include "metadata.hpp"

#include "tokens.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

std::string login_endpoint(const world& w, const emulators::call& call) {
  return call.base_url + (w.offer.login.adfs_in_metadata ? "/adfs" : "");
}

json suffixes() {
  return json::object(
      {{"acrLoginServer", "azurecr.io"},
       {"sqlServerHostname", "database.windows.net"},
       {"keyVaultDns", "vault.azure.net"},
       {"storage", "core.windows.net"},
       {"azureDataLakeStoreFileSystem", "azuredatalakestore.net"},
       {"azureDataLakeAnalyticsCatalogAndJob", "azuredatalakeanalytics.net"},
       {"mhsmDns", "managedhsm.azure.net"},
       {"mysqlServerEndpoint", "mysql.database.azure.com"},
       {"postgresqlServerEndpoint", "postgres.database.azure.com"},
       {"mariadbServerEndpoint", "mariadb.database.azure.com"},
       {"synapseAnalytics", "dev.azuresynapse.net"},
       {"storageSyncEndpointSuffix", "afs.azure.net"},
       {"azureFrontDoorEndpointSuffix", "azurefd.net"},
       {"attestationEndpoint", "attest.azure.net"}}
  );
}

json cloud_object(const world& w, const emulators::call& call) {
  const std::string& base = call.base_url;
  return json::object(
      {{"name", "emulator"},
       {"portal", base + "/portal/"},
       {"authentication",
        json::object(
            {{"loginEndpoint", login_endpoint(w, call)},
             {"audiences", json::array({base + "/", base})},
             {"tenant", "common"},
             {"identityProvider", w.offer.login.adfs_in_metadata ? "ADFS" : "AAD"}}
        )},
       {"media", base + "/media/"},
       {"graphAudience", base + "/graph/"},
       {"graph", base + "/graph/"},
       {"microsoftGraphResourceId", base + "/graph/"},
       {"batch", base + "/batch/"},
       {"resourceManager", base + "/"},
       {"vmImageAliasDoc", base + "/aliases.json"},
       {"activeDirectoryDataLake", base + "/datalake/"},
       {"sqlManagement", base + "/sql/"},
       {"gallery", base + "/gallery/"},
       {"appInsightsResourceId", base + "/insights/"},
       {"logAnalyticsResourceId", base + "/loganalytics/"},
       {"suffixes", suffixes()}}
  );
}

// The shape changed with the versions; each client family asks for its own.
reply endpoints(const world& w, const net::server_request& http, const emulators::call& call) {
  const std::string version = http.parameter("api-version");
  const std::string& base = call.base_url;
  if (version.empty()) {
    return gateway_error(
        400,
        {"MissingApiVersionParameter",
         "The api-version query parameter (?api-version=) is required for all requests."}
    );
  }
  if (version < "2018") {
    return json_reply(
        200,
        json::object(
            {{"galleryEndpoint", base + "/gallery/"},
             {"graphEndpoint", base + "/graph/"},
             {"portalEndpoint", base + "/portal/"},
             {"authentication",
              json::object(
                  {{"loginEndpoint", base + "/adfs"}, {"audiences", json::array({base + "/"})}}
              )}}
        )
    );
  }
  if (version < "2019") {
    json locations = json::array();
    for (const auto& l : w.offer.locations) {
      locations.push_back(l.name);
    }
    const std::string host = base.substr(base.find("//") + 2);
    return json_reply(
        200,
        json::object(
            {{"cloudEndpoint",
              json::object(
                  {{"public", json::object({{"endpoint", host}, {"locations", locations}})}}
              )}}
        )
    );
  }
  const json cloud = cloud_object(w, call);
  return json_reply(200, version < "2022-09-01" ? json::array({cloud}) : cloud);
}

reply configuration(const emulators::call& call, const std::string& tenant, bool v2) {
  const std::string root = call.base_url + "/" + tenant;
  const bool adfs = equals_ignoring_case(tenant, "adfs");
  const std::string flow = root + (v2 ? "/oauth2/v2.0" : "/oauth2");
  const bool shared =
      equals_ignoring_case(tenant, "common") || equals_ignoring_case(tenant, "organizations");
  const std::string issuing = shared ? call.base_url + "/{tenantid}" : root;
  json document = json::object(
      {{"token_endpoint", flow + "/token"},
       {"token_endpoint_auth_methods_supported",
        json::array({"client_secret_post", "private_key_jwt", "client_secret_basic"})},
       {"jwks_uri", root + (v2 ? "/discovery/v2.0/keys" : "/discovery/keys")},
       {"response_modes_supported", json::array({"query", "fragment", "form_post"})},
       {"subject_types_supported", json::array({"pairwise"})},
       {"id_token_signing_alg_values_supported", json::array({"RS256"})},
       {"response_types_supported", json::array({"code", "id_token", "token"})},
       {"scopes_supported", json::array({"openid", "profile", "email", "offline_access"})},
       {"issuer", adfs ? root : issuing + (v2 ? "/v2.0" : "/")},
       {"authorization_endpoint", flow + "/authorize"},
       {"device_authorization_endpoint", flow + "/devicecode"},
       {"userinfo_endpoint", call.base_url + "/oidc/userinfo"},
       {"tenant_region_scope", "EU"},
       {"cloud_instance_name", "emulator"},
       {"cloud_graph_host_name", "graph.windows.net"},
       {"msgraph_host", "graph.microsoft.com"}}
  );
  if (adfs) {
    document.set("access_token_issuer", root + "/services/trust");
  }
  return json_reply(200, document);
}

reply discovery(const net::server_request& http, const emulators::call& call) {
  const std::string host = call.base_url.substr(call.base_url.find("//") + 2);
  // The directory asked about is the first segment of its authorize endpoint.
  std::string tenant = "common";
  if (const auto url = net::parse_url(http.parameter("authorization_endpoint"))) {
    const auto parts = base::split(url->target, '/');
    if (parts.size() > 1 && !parts[1].empty()) {
      tenant = parts[1];
    }
  }
  return json_reply(
      200,
      json::object(
          {{"tenant_discovery_endpoint",
            call.base_url + "/" + tenant + "/v2.0/.well-known/openid-configuration"},
           {"api-version", "1.1"},
           {"metadata",
            json::array({json::object(
                {{"preferred_network", host},
                 {"preferred_cache", host},
                 {"aliases", json::array({host})}}
            )})}}
      )
  );
}

// GET {graph}/v1.0/servicePrincipals?$filter=appId eq '...'
reply service_principals(
    const world& w, const net::server_request& http, const emulators::call& call
) {
  if (!has_valid_token(http, call)) {
    return json_reply(
        401, error_body({"InvalidAuthenticationToken", "Access token is empty or invalid."})
    );
  }
  const std::string filter = http.parameter("$filter");
  constexpr std::string_view form = "appid eq '";
  const bool known_form = base::to_lower(filter).rfind(form, 0) == 0 && filter.back() == '\'';
  if (!filter.empty() && !known_form) {
    return json_reply(
        400, error_body({"Request_UnsupportedQuery", "The filter '" + filter + "' is not served."})
    );
  }
  json found = json::array();
  for (const auto& a : w.offer.applications) {
    const bool wanted = filter.empty() ||
                        equals_ignoring_case(
                            filter.substr(form.size(), filter.size() - form.size() - 1), a.client_id
                        );
    if (wanted) {
      found.push_back(json::object(
          {{"id", a.object_id},
           {"appId", a.client_id},
           {"displayName", "Emulated principal"},
           {"appOwnerOrganizationId", a.tenant},
           {"servicePrincipalType", "Application"}}
      ));
    }
  }
  return json_reply(
      200,
      json::object(
          {{"@odata.context", call.base_url + "/graph/v1.0/$metadata#servicePrincipals"},
           {"value", found}}
      )
  );
}

struct alias_row {
  std::string_view alias;
  std::string_view publisher;
  std::string_view offer;
  std::string_view sku;
};

// The names of "az vm create --image", as far as the catalog has what they stand for.
reply aliases(const world& w) {
  constexpr std::array<alias_row, 4> known{
      {{"Ubuntu2204", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts-gen2"},
       {"UbuntuLTS", "Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts"},
       {"Ubuntu2404", "Canonical", "ubuntu-24_04-lts", "server"},
       {"Debian12", "Debian", "debian-12", "12-gen2"}}};
  json linux_images = json::object();
  for (const auto& row : known) {
    const bool there =
        std::any_of(w.offer.images.begin(), w.offer.images.end(), [&](const image_entry& i) {
          return i.publisher == row.publisher && i.offer == row.offer && i.sku == row.sku;
        });
    if (there) {
      linux_images.set(
          row.alias,
          json::object(
              {{"publisher", row.publisher},
               {"offer", row.offer},
               {"sku", row.sku},
               {"version", "latest"}}
          )
      );
    }
  }
  return json_reply(
      200,
      json::object(
          {{"outputs",
            json::object(
                {{"aliases",
                  json::object(
                      {{"type", "object"}, {"value", json::object({{"Linux", linux_images}})}}
                  )}}
            )}}
      )
  );
}

} // namespace

std::optional<login_error> check_tenant(const world& w, std::string_view tenant) {
  if (w.offer.is_tenant(tenant)) {
    return std::nullopt;
  }
  const bool well_formed =
      base::uuid::parse(tenant).has_value() || tenant.find('.') != std::string_view::npos;
  return refused(well_formed ? 90002 : 900023, tenant);
}

std::optional<reply>
answer_metadata(const world& w, const net::server_request& http, const emulators::call& call) {
  const auto& s = http.segments;
  const std::size_t n = s.size();
  const auto is = [&](std::size_t i, std::string_view word) {
    return i < n && equals_ignoring_case(s[i], word);
  };
  if (n == 2 && is(0, "metadata") && is(1, "endpoints")) {
    return endpoints(w, http, call);
  }
  const bool v2 = n == 4 && is(1, "v2.0") && is(2, ".well-known");
  const bool v1 = n == 3 && is(1, ".well-known");
  if ((v2 || v1) && is(n - 1, "openid-configuration")) {
    if (!is(0, "adfs") && !is(0, "common") && !is(0, "organizations")) {
      if (const auto bad = check_tenant(w, s[0])) {
        return login_refusal(call, *bad);
      }
    }
    return configuration(call, s[0], v2);
  }
  if (n == 3 && is(1, "discovery") && is(2, "instance")) {
    return discovery(http, call);
  }
  // Its tokens are for the emulator alone, which keeps their key to itself.
  if (n >= 3 && is(1, "discovery") && is(n - 1, "keys")) {
    return json_reply(200, json::object({{"keys", json::array()}}));
  }
  if (n == 3 && is(0, "graph") && is(2, "servicePrincipals")) {
    return service_principals(w, http, call);
  }
  if (n == 1 && is(0, "aliases.json")) {
    return aliases(w);
  }
  return std::nullopt;
}

} // namespace siteagent::azure_emulator
