// SPDX-License-Identifier: MIT
// A cloud host's life against the emulated Azure over TLS: real sockets, real clock, the emulator's
// own fault scripts.
#include "plugins/azure/arm/managed_identity.hpp"
#include "plugins/azure/cloud_host/provider.hpp"
#include "tests/emulators/azure/service.hpp"
#include "tests/unit/azure/fixture.hpp"

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>

namespace siteagent::azure::test {

namespace {

using base::json;
using cloud_host::provider;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

json parsed(const std::string& text) {
  const auto document = json::parse(text);
  EXPECT_TRUE(document) << text;
  return document ? *document : json();
}

// What the host of one call is, with the machine's clock.
struct real_call {
  real_call() {
    table.struct_size = sizeof table;
    table.host_data = this;
    table.remaining_ms = [](const sagent_call* c) -> std::int64_t {
      const auto left = of(c).deadline - std::chrono::steady_clock::now();
      return std::chrono::duration_cast<milliseconds>(left).count();
    };
    table.wait_ms = [](const sagent_call* c, std::int64_t ms) {
      std::unique_lock lock(of(c).mutex);
      of(c).never.wait_for(lock, milliseconds(ms), [] { return false; });
      return sagent_code{SAGENT_OK};
    };
    table.emit = [](const sagent_call* c, const char* text, std::uint64_t len) {
      of(c).emitted.push_back(parsed(std::string(text, len)));
      return sagent_code{SAGENT_OK};
    };
    table.fail = [](const sagent_call* c, const sagent_error_info* info) {
      of(c).message = sagent::view(info->message);
      const auto told = json::parse(sagent::view(info->detail));
      of(c).detail = told ? *told : json();
    };
    table.checkpoint = [](const sagent_call*, const char*, std::uint64_t) {
      return sagent_code{SAGENT_OK};
    };
  }

  real_call(const real_call&) = delete;

  static real_call& of(const sagent_call* c) { return *static_cast<real_call*>(c->host_data); }

  sagent_call table{};
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::mutex mutex;
  std::condition_variable never;
  std::vector<json> emitted;
  std::string message;
  json detail;
  sagent_code code = SAGENT_OK;
};

std::string make_directory() {
  std::string path = (std::filesystem::temp_directory_path() / "hosts-XXXXXX").string();
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

class azure_hosts_over_tls : public testing::Test {
protected:
  azure_hosts_over_tls() : host(make_host(raw_host, host_data)) {
    net::initialise_process();
    emulator.set_timing(azure_emulator::timing::instant());
    emulators::frame_options options;
    options.tls_auto_directory = directory;
    auto started = emulators::frame::start(emulator, std::move(options));
    EXPECT_TRUE(started) << started.error().message;
    frame = std::move(*started);
    client = transport_to({frame->url()}, false);
    admin("POST", "/_emu/seed", site());
    open();
  }

  ~azure_hosts_over_tls() override {
    provider_.reset();
    frame->stop();
    std::filesystem::remove_all(directory);
  }

  static json site() {
    return parsed(
        R"({"applications":[{"client_id":"33333333-3333-3333-3333-333333333333","secret":"right","object_id":"o"}],
            "interface_hold_s":1,
            "resourceGroups":[{"name":"hosts","location":"westeurope"}],
            "networkSecurityGroups":[{"resourceGroup":"hosts","name":"subnet-nsg","location":"westeurope"}],
            "virtualNetworks":[{"resourceGroup":"hosts","name":"vnet-westeurope","location":"westeurope","properties":{
              "addressSpace":{"addressPrefixes":["10.1.0.0/16"]},"subnets":[{"name":"builders","properties":{"addressPrefix":"10.1.1.0/24",
              "networkSecurityGroup":{"id":"/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/hosts/providers/Microsoft.Network/networkSecurityGroups/subnet-nsg"}}}]}}]})"
    );
  }

  std::unique_ptr<net::transport>
  transport_to(const std::vector<std::string>& origins, bool plain) const {
    net::transport_options o;
    for (const std::string& text : origins) {
      o.allowed_origins.push_back(net::parse_url(text)->origin);
    }
    o.allow_plain_http = plain;
    o.ca_file = directory + "/ca.pem";
    auto made = net::make_transport(std::move(o));
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  void open(int operation_s = 30) {
    json settings = parsed(
        R"({"bindings":{"subscription_id":"11111111-1111-1111-1111-111111111111","resource_group":"hosts","vnet":"vnet",
            "subnet":"builders","image_urn":"Canonical:ubuntu-24_04-lts:server:latest","vm_username":"builder"},
            "credentials":{"control":{"tenant_id":"22222222-2222-2222-2222-222222222222",
            "client_id":"33333333-3333-3333-3333-333333333333","client_secret":"reference"}},
            "limits":{"rollback_retry_s":20,"poll_ms":1}})"
    );
    settings.member_ref("limits").set("operation_s", operation_s);
    json cloud = json::object();
    for (const char* key : {"resource_manager", "authority", "prices", "metadata"}) {
      cloud.set(key, frame->url());
    }
    settings.set("options", json::object({{"cloud", std::move(cloud)}}));
    const std::string text = settings.dump();
    sagent_request request{};
    request.struct_size = sizeof request;
    request.body = sagent::borrow(text);
    provider_ = std::make_unique<provider>(
        host,
        sagent::request(request),
        dependencies{
            [this](const azure::settings& s) {
              return transport_to({s.resource_manager, s.authority, s.prices, s.billing}, false);
            },
            &base::real_clock(),
            &shared}
    );
  }

  json admin(const std::string& verb, const std::string& path, const json& body) {
    net::request r;
    r.method = verb;
    r.url = frame->url() + path;
    if (!body.is_null()) {
      r.body = body.dump();
    }
    const auto answer = client->perform(r);
    EXPECT_TRUE(answer && answer->status < 300)
        << path << ": " << (answer ? answer->body : answer.error().message);
    const auto document = json::parse(answer ? answer->body : "");
    return document ? *document : json();
  }

  void faults(const std::string& rules) {
    admin("PUT", "/_emu/faults", parsed(R"({"rules":[)" + rules + "]}"));
  }

  using method = void (provider::*)(sagent::call&, const sagent::request&);

  std::unique_ptr<real_call> run(method m, const json& body) {
    const std::string text = body.dump();
    sagent_request request{};
    request.struct_size = sizeof request;
    request.body = sagent::borrow(text);
    auto call = std::make_unique<real_call>();
    call->code = sagent::detail::guarded(&call->table, [&] {
      sagent::call the_call(&call->table);
      ((*provider_).*m)(the_call, sagent::request(request));
    });
    return call;
  }

  std::unique_ptr<real_call> admit() {
    return run(
        &provider::admit_addresses,
        parsed(
            R"({"addresses":["198.51.100.4"],"group":"stado-cloud-hosts","port":22,"ensure_location":"westeurope",
                "locations":["westeurope"],"hosts":[],"tags":{}})"
        )
    );
  }

  std::unique_ptr<real_call> create() {
    json body = parsed(
        R"({"name":"b1","location":"westeurope","size":"Standard_D2s_v5","disk_gb":64,"login":"builder","user_data":"#cloud-config\n",
            "addresses":["198.51.100.4"],"group":"stado-cloud-hosts","port":22,
            "group_id":"/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/hosts/providers/Microsoft.Network/applicationSecurityGroups/stado-cloud-hosts-westeurope",
            "tags":{"stado_cloud_host":"b1","stado_created":"2026-11-30T02:00:00Z"}})"
    );
    body.set("public_key", ed25519_key);
    body.set(
        "user_data", "#cloud-config\n# " + std::string(60'000, 'x') + "\n"
    ); // many TLS records
    return run(&provider::create_host, body);
  }

  std::unique_ptr<real_call> remove(const json& created) {
    return run(
        &provider::delete_host,
        json::object(
            {{"name", "b1"},
             {"vm_id", created["vm_id"]},
             {"resources", created["resources"]},
             {"tag", "stado_cloud_host"}}
        )
    );
  }

  // The names of the objects of hosts that are there.
  std::vector<std::string> left() {
    std::vector<std::string> out;
    const json all = admin("GET", "/_emu/inventory", json());
    for (const char* kind :
         {"virtualMachines",
          "disks",
          "networkInterfaces",
          "networkSecurityGroups",
          "publicIPAddresses"}) {
      for (const json& o : all[kind].items()) {
        const std::string name = o["name"].string_or("");
        if (name != "subnet-nsg") {
          out.push_back(name);
        }
      }
    }
    return out;
  }

  const std::string directory = make_directory();
  azure_emulator::service emulator;
  std::unique_ptr<emulators::frame> frame;
  std::unique_ptr<net::transport> client;
  registry shared;
  host_state host_data;
  sagent_host raw_host{};
  sagent::host host;
  std::unique_ptr<provider> provider_;
};

TEST_F(azure_hosts_over_tls, a_host_lives_and_is_returned) {
  const auto admitted = admit();
  ASSERT_EQ(admitted->code, SAGENT_OK) << admitted->message;
  const auto priced =
      run(&provider::price_size,
          parsed(R"({"size":"standard_d2s_v5","locations":["westeurope","northeurope"]})"));
  ASSERT_EQ(priced->code, SAGENT_OK) << priced->message;
  EXPECT_EQ(priced->emitted[0]["quotes"].size(), 2U);
  const auto created = create();
  ASSERT_EQ(created->code, SAGENT_OK) << created->message;
  EXPECT_EQ(left().size(), 5U);
  const auto listed = run(&provider::list_hosts, parsed(R"({"tag":"stado_cloud_host"})"));
  ASSERT_EQ(listed->emitted.size(), 1U) << listed->message;
  EXPECT_EQ(listed->emitted[0]["vm_id"], created->emitted[0]["vm_id"]);
  const auto gone = remove(created->emitted[0]);
  ASSERT_EQ(gone->code, SAGENT_OK) << gone->message;
  EXPECT_THAT(gone->emitted[0]["held"].items(), IsEmpty());
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(azure_hosts_over_tls, R21_F20_a_policy_at_the_first_object_leaves_nothing) {
  admin(
      "POST",
      "/_emu/seed",
      parsed(
          R"({"policies":[{"name":"Only what we know","effect":"deny","type":"Microsoft.Network/applicationSecurityGroups"}]})"
      )
  );
  const auto call = admit();
  EXPECT_EQ(call->code, SAGENT_E_FORBIDDEN);
  EXPECT_THAT(call->message, AllOf(HasSubstr("was not made"), HasSubstr("Only what we know")));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(
    azure_hosts_over_tls, case_leak_02_a_machine_that_fails_at_its_end_holds_the_interface_a_while
) {
  ASSERT_EQ(admit()->code, SAGENT_OK);
  faults(
      R"({"match":{"method":"PUT","path":"virtualMachines/b1"},"do":{"operation":"Failed","code":"OSProvisioningClientError"}})"
  );
  const auto call = create();
  EXPECT_NE(call->code, SAGENT_OK);
  EXPECT_THAT(call->message, HasSubstr("OSProvisioningClientError"));
  EXPECT_THAT(call->detail["not_removed"].items(), IsEmpty()) << call->message;
  EXPECT_EQ(call->detail["created"].size(), 3U) << call->detail.dump();
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(azure_hosts_over_tls, F29_an_operation_that_never_ends_is_undone) {
  open(4);
  ASSERT_EQ(admit()->code, SAGENT_OK);
  faults(R"({"match":{"method":"PUT","path":"virtualMachines/b1"},"do":{"operation":"stuck"}})");
  const auto call = create();
  EXPECT_EQ(call->code, SAGENT_E_TRANSIENT) << call->message;
  EXPECT_THAT(call->message, HasSubstr("has not ended it within 4 s"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(azure_hosts_over_tls, case_leak_06_answers_that_are_lost_and_throttling_end_in_one_host) {
  ASSERT_EQ(admit()->code, SAGENT_OK);
  faults(
      R"({"match":{"method":"PUT","path":"networkInterfaces/b1-nic","times":1},"when":"after","do":"cut"},
         {"match":{"method":"PUT","path":"virtualMachines/b1","times":1},"when":"after","do":"cut"},
         {"match":{"method":"PUT","path":"publicIPAddresses/b1-ip","times":2},"do":{"status":429,"headers":{"Retry-After":"0"},
          "body":"{\"error\":{\"code\":\"SubscriptionRequestsThrottled\",\"message\":\"slow\"}}"}},
         {"match":{"method":"GET","path":"/operations/","nth":2,"times":2},"do":"cut"})"
  );
  const auto created = create();
  ASSERT_EQ(created->code, SAGENT_OK) << created->message;
  EXPECT_EQ(left().size(), 5U);
  faults(
      R"({"match":{"method":"DELETE","path":"virtualMachines/b1","times":1},"when":"after","do":"cut"},
         {"match":{"method":"DELETE","path":"publicIPAddresses/b1-ip","times":1},"do":{"status":503}})"
  );
  admin("POST", "/_emu/seed", parsed(R"({"disks_survive":true})"));
  const auto gone = remove(created->emitted[0]);
  ASSERT_EQ(gone->code, SAGENT_OK) << gone->message;
  EXPECT_THAT(gone->emitted[0]["held"].items(), IsEmpty()) << gone->emitted[0].dump();
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(azure_hosts_over_tls, case_sec_01_a_certificate_of_nobody_gets_no_secret) {
  const auto elsewhere = make_directory();
  azure_emulator::service other;
  emulators::frame_options options;
  options.tls_auto_directory = elsewhere;
  auto started = emulators::frame::start(other, std::move(options));
  ASSERT_TRUE(started) << started.error().message;
  // The name is trusted, the authority behind it is not.
  frame->stop();
  frame = std::move(*started);
  open();
  const auto call = run(&provider::list_hosts, parsed(R"({"tag":"stado_cloud_host"})"));
  EXPECT_NE(call->code, SAGENT_OK);
  EXPECT_THAT(call->message, testing::Not(HasSubstr("right")));
  frame->stop();
  std::filesystem::remove_all(elsewhere);
}

} // namespace

} // namespace siteagent::azure::test
