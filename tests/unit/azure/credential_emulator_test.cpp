// SPDX-License-Identifier: MIT
// Whole calls with every credential against the emulated Azure, which verifies what it is shown.
#include "plugins/azure/arm/managed_identity.hpp"
#include "tests/unit/azure/credential_keys.hpp"
#include "tests/unit/azure/emulated_azure.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

namespace siteagent::azure::test {

namespace {

using base::json;
using testing::HasSubstr;
using testing::Not;

const std::string tenant = "22222222-2222-2222-2222-222222222222";
const std::string client = "33333333-3333-3333-3333-333333333333";

const test_certificate& certificate() {
  static const test_certificate one = make_certificate(base::manual_clock().wall());
  return one;
}

json application(const std::string& members) {
  return *json::parse(
      R"({"applications":[{"client_id":")" + client + R"(","secret":"right",)" + members + "}]}"
  );
}

class azure_logged_in : public azure_test {
protected:
  azure_logged_in() {
    settings.set("tenant_id", tenant);
    settings.set("client_id", client);
    settings.set("default_image", "Canonical:ubuntu-24_04-lts:server:latest");
    settings.set(
        "cloud",
        json::object(
            {{"resource_manager", emulated_azure::url},
             {"authority", emulated_azure::url},
             {"metadata", emulated_azure::url}}
        )
    );
    settings.set("allowed_ssh_ranges", json());
    emulated.seed(application(R"("object_id":"o")"));
  }

  // Opens the backend with other credentials: the given members of the settings.
  void login_with(const std::string& members) {
    settings.erase("client_secret");
    const json given = *json::parse("{" + members + "}");
    for (const auto& [key, value] : given.members()) {
      settings.set(key, value);
    }
  }

  fake_call ping() {
    if (!azure) {
      connect();
    }
    return run(&backend::ping);
  }

  void connect() {
    const std::string text = settings.dump();
    sagent_request request{};
    request.struct_size = sizeof request;
    request.body = sagent::borrow(text);
    azure = std::make_unique<backend>(
        host,
        sagent::request(request),
        dependencies{
            [this](const azure::settings&) {
              return std::make_unique<borrowed_transport>(emulated);
            },
            &clock,
            &shared}
    );
  }

  emulated_azure emulated;
};

TEST_F(azure_logged_in, by_a_secret) {
  EXPECT_EQ(ping().code, SAGENT_OK);
}

TEST_F(azure_logged_in, by_a_certificate_whose_assertion_is_verified_and_used_once) {
  json seed = application("\"certificates\":[" + json(certificate().certificate).dump() + "]");
  seed.set("assertions_only_once", true);
  emulated.seed(seed);
  host_data.secret = certificate().both();
  login_with(R"("client_certificate":"reference")");
  const fake_call first = ping();
  ASSERT_EQ(first.code, SAGENT_OK) << first.message;
  emulated.advance(std::chrono::seconds(3600));
  clock.advance(std::chrono::seconds(3600));
  const fake_call second = ping();
  EXPECT_EQ(second.code, SAGENT_OK) << second.message;
  EXPECT_EQ(emulated.count("POST", "/oauth2/v2.0/token"), 2U);
}

TEST_F(azure_logged_in, a_certificate_that_is_not_registered_is_named_as_the_cause) {
  const test_certificate other = make_certificate(clock.wall());
  emulated.seed(application("\"certificates\":[" + json(other.certificate).dump() + "]"));
  host_data.secret = certificate().both();
  login_with(R"("client_certificate":"reference")");
  const fake_call call = ping();
  EXPECT_EQ(call.code, SAGENT_E_AUTH);
  EXPECT_THAT(call.message, HasSubstr("AADSTS700027"));
  EXPECT_THAT(call.message, HasSubstr("register this certificate"));
}

TEST_F(azure_logged_in, by_the_token_of_another_issuer) {
  const std::string file =
      testing::TempDir() + "azure_logged_in_" + std::to_string(::getpid()) + ".jwt";
  const json federated = json::object(
      {{"issuer", "https://oidc.example/"},
       {"subject", "system:serviceaccount:site:agent"},
       {"key", certificate().public_key}}
  );
  emulated.seed(application("\"federated_credentials\":[" + federated.dump() + "]"));
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
  const auto write = [&](const std::string& subject) {
    const json claims = json::object(
        {{"iss", "https://oidc.example/"},
         {"sub", subject},
         {"aud", json::array({"api://AzureADTokenExchange"})},
         {"exp", now + 600}}
    );
    std::ofstream(file) << sign_jwt(certificate(), R"({"alg":"RS256"})", claims.dump());
  };
  write("system:serviceaccount:other:agent");
  login_with("\"federated_token_file\":\"" + file + "\"");
  const fake_call refused = ping();
  EXPECT_EQ(refused.code, SAGENT_E_AUTH);
  EXPECT_THAT(refused.message, HasSubstr("AADSTS700213"));
  write("system:serviceaccount:site:agent");
  const fake_call accepted = ping();
  EXPECT_EQ(accepted.code, SAGENT_OK) << accepted.message;
  std::remove(file.c_str());
}

TEST_F(azure_logged_in, by_the_identity_of_the_machine) {
  settings.erase("tenant_id");
  settings.erase("client_id");
  login_with(R"("credential":"managed_identity")");
  const fake_call none = ping();
  EXPECT_EQ(none.code, SAGENT_E_AUTH);
  EXPECT_THAT(none.message, HasSubstr("assign that identity"));
  emulated.seed(*json::parse(R"({"identities":[{"client_id":"i-1"}]})"));
  clock.advance(std::chrono::seconds(61));
  const fake_call call = ping();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(emulated.count("POST", "/oauth2"), 0U);
}

TEST_F(azure_logged_in, the_claims_of_a_challenge_are_fetched_and_the_call_goes_on) {
  emulated.seed(*json::parse(R"({"continuous_access":true})"));
  const fake_call call = ping();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(emulated.count("POST", "/oauth2"), 2U);
}

TEST_F(azure_logged_in, a_subscription_of_another_tenant_is_explained_with_the_right_one) {
  emulated.seed(*json::parse(
      R"({"applications":[{"client_id":")" + client +
      R"(","secret":"right","tenant":"44444444-4444-4444-4444-444444444444"}]})"
  ));
  settings.set("tenant_id", "44444444-4444-4444-4444-444444444444");
  const fake_call call = ping();
  EXPECT_EQ(call.code, SAGENT_E_AUTH);
  EXPECT_THAT(call.message, HasSubstr("InvalidAuthenticationTokenTenant"));
  EXPECT_THAT(call.message, HasSubstr("set tenant_id to it"));
  EXPECT_THAT(call.message, HasSubstr("it belongs to tenant " + tenant));
  EXPECT_EQ(ping().code, SAGENT_E_AUTH);
  EXPECT_LE(emulated.count("POST", "/oauth2"), 2U) << "not two tokens per call";
}

using case_cred_01 = azure_logged_in;

TEST_F(
    case_cred_01, a_token_that_expires_in_the_middle_of_a_create_is_renewed_and_nothing_restarts
) {
  connect();
  int expiries = 0;
  prepare = [&](fake_call& call) {
    call.on_checkpoint = [&](const json& note) {
      if (note["phase"].string_or("") == "after") {
        // The cloud's clock runs on: it refuses the token, which looks good to the plugin.
        emulated.advance(std::chrono::seconds(3600));
        ++expiries;
      }
      return sagent_code{SAGENT_OK};
    };
  };
  const fake_call call = run(&backend::create_resource);
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_GE(expiries, 5);
  const auto carried_out = [](const logged& l) {
    return l.method == "PUT" && l.status < 400 &&
           base::to_lower(l.path).find("/virtualmachines/") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(emulated.log().begin(), emulated.log().end(), carried_out), 1);
  EXPECT_LE(emulated.count("POST", "/oauth2"), static_cast<std::size_t>(expiries) + 1U);
  std::size_t refusals = 0;
  for (const logged& l : emulated.log()) {
    refusals += l.status == 401 ? 1 : 0;
  }
  EXPECT_GE(refusals, 1U);
}

using case_cred_04 = azure_logged_in;

TEST_F(case_cred_04, a_missing_right_ends_the_create_naming_action_and_scope_and_leaves_nothing) {
  emulated.seed(application(R"("permissions":[{"actions":["*"],
      "notActions":["Microsoft.Network/networkInterfaces/write"]}])"));
  connect();
  const fake_call call = run(&backend::create_resource);
  EXPECT_EQ(call.code, SAGENT_E_FORBIDDEN);
  EXPECT_THAT(call.message, HasSubstr("Microsoft.Network/networkInterfaces/write"));
  EXPECT_THAT(call.message, HasSubstr("/resourceGroups/group-0123-web"));
  EXPECT_THAT(call.public_message, Not(HasSubstr("Microsoft.")));
  EXPECT_EQ(emulated.count("PUT", "/networkInterfaces/"), 1U) << "not repeated";
  const fake_call clean_up = run(&backend::delete_resource);
  EXPECT_EQ(clean_up.code, SAGENT_OK) << clean_up.message;
  emulated.seed(application(R"("object_id":"o")"));
  const fake_call again = run(&backend::create_resource);
  EXPECT_EQ(again.code, SAGENT_OK) << again.message;
}

TEST_F(case_cred_04, a_right_that_comes_late_lets_the_next_check_pass_without_a_restart) {
  emulated.seed(application(R"("permissions":[{"actions":["*"],"effective_after_s":60}])"));
  EXPECT_EQ(ping().code, SAGENT_E_FORBIDDEN);
  emulated.advance(std::chrono::seconds(61));
  const fake_call later = ping();
  EXPECT_EQ(later.code, SAGENT_OK) << later.message;
}

// A host that keeps every log line, at every level.
struct listening_host {
  host_state* state = nullptr;
  std::vector<std::string> lines;
  sagent_host raw{};
};

extern "C" {

static void keep_line(const sagent_host* h, std::int32_t, const char* text, std::uint64_t len) {
  static_cast<listening_host*>(h->host_data)->lines.emplace_back(text, len);
}

static std::int32_t always(const sagent_host*, std::int32_t) {
  return 1;
}

static sagent_code
hand_out(const sagent_host* h, const char*, std::uint64_t, sagent_secret_sink sink, void* ctx) {
  const auto& secret = static_cast<listening_host*>(h->host_data)->state->secret;
  sink(ctx, secret.data(), secret.size());
  return SAGENT_OK;
}

static void note_protected(const sagent_host* h, const char* bytes, std::uint64_t len) {
  static_cast<listening_host*>(h->host_data)->state->protected_values.emplace_back(bytes, len);
}

static const void* listening_service(const sagent_host*, const char* id) {
  static const sagent_log_service log{sizeof(sagent_log_service), 0, keep_line, always};
  static const sagent_secrets_service secrets{
      sizeof(sagent_secrets_service), 0, hand_out, note_protected};
  return std::strcmp(id, SAGENT_SERVICE_LOG) == 0       ? static_cast<const void*>(&log)
         : std::strcmp(id, SAGENT_SERVICE_SECRETS) == 0 ? static_cast<const void*>(&secrets)
                                                        : nullptr;
}

} // extern "C"

class case_sec_02 : public azure_logged_in {
protected:
  case_sec_02() {
    listening_.state = &host_data;
    listening_.raw.struct_size = sizeof listening_.raw;
    listening_.raw.abi_minor = SAGENT_ABI_MINOR;
    listening_.raw.host_data = &listening_;
    listening_.raw.get_service = listening_service;
    host = sagent::host(&listening_.raw);
  }

  // Everything the plugin said: log lines, messages, results.
  std::string said(const std::vector<const fake_call*>& calls) const {
    std::string all = base::join(listening_.lines, "\n");
    for (const fake_call* c : calls) {
      all += c->message + c->public_message + c->detail.dump();
      for (const json& e : c->emitted) {
        all += e.dump();
      }
      for (const json& e : c->checkpoints) {
        all += e.dump();
      }
    }
    return all;
  }

  // What stood in form fields and headers on the wire and must not stand anywhere else.
  std::vector<std::string> secrets_on_the_wire() const {
    std::vector<std::string> out;
    for (const logged& l : emulated.log()) {
      for (const auto& [key, value] : net::parse_query(l.body)) {
        if (key == "client_secret" || key == "client_assertion") {
          out.push_back(value);
        }
      }
      for (const auto& [name, value] : l.headers) {
        if (name == "Authorization") {
          out.push_back(value.substr(value.find(' ') + 1));
        }
      }
      const auto sent = json::parse(l.body);
      const std::string password =
          sent ? sent->at({"properties", "osProfile", "adminPassword"}).string_or("") : "";
      if (!password.empty()) {
        out.push_back(password);
      }
    }
    return out;
  }

  void expect_silence(const std::vector<const fake_call*>& calls) {
    const std::string all = said(calls);
    EXPECT_FALSE(all.empty());
    const auto secrets = secrets_on_the_wire();
    EXPECT_FALSE(secrets.empty());
    for (const std::string& secret : secrets) {
      EXPECT_EQ(all.find(secret), std::string::npos);
    }
  }

  listening_host listening_;
};

TEST_F(case_sec_02, a_create_tells_neither_secret_nor_token_nor_password_at_any_level) {
  emulated.seed(*json::parse(
      R"({"applications":[{"client_id":")" + client + R"(","secret":"MARKER-secret-1"}]})"
  ));
  host_data.secret = "MARKER-secret-1";
  body.member_ref("order").member_ref("attributes").set("user_data", "MARKER-user-data");
  connect();
  const fake_call made = run(&backend::create_resource);
  ASSERT_EQ(made.code, SAGENT_OK) << made.message;
  expect_silence({&made});
  EXPECT_THAT(said({&made}), Not(HasSubstr("MARKER")));
  EXPECT_THAT(said({&made}), Not(HasSubstr(base::base64("MARKER-user-data"))));
  // Derived secrets reach the host's redactor, should anything else ever print them.
  for (const std::string& secret : secrets_on_the_wire()) {
    const auto& known = host_data.protected_values;
    EXPECT_TRUE(
        secret == host_data.secret || std::find(known.begin(), known.end(), secret) != known.end()
    );
  }
}

TEST_F(case_sec_02, a_refused_login_tells_neither_secret_nor_certificate_nor_assertion) {
  host_data.secret = "MARKER-wrong-secret";
  const fake_call wrong = ping();
  EXPECT_EQ(wrong.code, SAGENT_E_AUTH);
  expect_silence({&wrong});
  azure.reset();
  host_data.secret = certificate().both();
  login_with(R"("client_certificate":"reference")");
  clock.advance(std::chrono::seconds(61));
  const fake_call unknown = ping();
  EXPECT_EQ(unknown.code, SAGENT_E_AUTH);
  expect_silence({&wrong, &unknown});
  EXPECT_THAT(said({&wrong, &unknown}), Not(HasSubstr("MARKER")));
  EXPECT_THAT(said({&wrong, &unknown}), Not(HasSubstr("PRIVATE KEY")));
}

} // namespace

} // namespace siteagent::azure::test
