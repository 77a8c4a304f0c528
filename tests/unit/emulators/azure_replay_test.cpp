// SPDX-License-Identifier: MIT
// Replays recorded traffic of the real service and compares the answers.
#include "azure_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace siteagent::azure_emulator {
namespace {

const std::string recorded_host = "https://management.azure.com";
const std::string recorded_subscription = "00000000-0000-0000-0000-000000000000";
const std::string masked_guid = "00000000-0000-0000-0000-000000000000";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// GUIDs, as the recordings mask them; a deployment's operation has a number instead.
std::string with_guids_masked(std::string text) {
  for (std::size_t i = 0; i + 36 <= text.size(); ++i) {
    const bool dashes =
        text[i + 8] == '-' && text[i + 13] == '-' && text[i + 18] == '-' && text[i + 23] == '-';
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(i) + 36;
    if (dashes && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i), end, [](char c) {
          return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
                 (c >= 'A' && c <= 'F');
        })) {
      text.replace(i, 36, masked_guid);
      i += 35;
    }
  }
  if (const auto slash = text.rfind('/');
      slash != std::string::npos && text.size() - slash > 15 &&
      text.find_first_not_of("0123456789", slash + 1) == std::string::npos) {
    text.replace(slash + 1, std::string::npos, "0");
  }
  return text;
}

bool is_time(std::string_view key) {
  return key == "timeCreated" || key == "startTime" || key == "endTime" || key == "createdAt" ||
         key == "timestamp" || key == "duration";
}

// Removes what differs by nature: times, generated suffixes.
base::json masked(const base::json& value) {
  if (value.is_string()) {
    const std::string text = value.string_or("");
    if (text.rfind("ssh-rsa ", 0) == 0 || text.rfind("-----BEGIN RSA PRIVATE KEY-----", 0) == 0) {
      return text.substr(0, 8); // a key of its own each time
    }
    return with_guids_masked(text);
  }
  if (value.is_array()) {
    base::json out = base::json::array();
    for (const auto& item : value.items()) {
      out.push_back(masked(item));
    }
    return out;
  }
  if (!value.is_object()) {
    return value;
  }
  base::json out = base::json::object();
  for (const auto& [key, item] : value.members()) {
    if (is_time(key) || key == "internalDomainNameSuffix" || key == "templateHash") {
      out.set(key, "masked");
    } else {
      out.set(key, masked(item));
    }
  }
  // A tag that a policy of the recorded subscription added.
  if (auto* tags = out.find("tags"); tags != nullptr && tags->find("createdAt") != nullptr) {
    out.erase("tags");
  }
  return out;
}

std::filesystem::path recordings() {
  return std::filesystem::path(SITEAGENT_SHARED_DIR) / "specs/azure/recordings";
}

using azure_replay_lists = cloud;

struct replay_file {
  const char* name;
};

class azure_replay : public cloud, public ::testing::WithParamInterface<replay_file> {
protected:
  // The recorded URL of a monitor stands for the one this cloud handed out last.
  std::string target_of(const std::string& recorded) {
    const auto known =
        monitors_.find(recorded.rfind("http", 0) == 0 ? recorded : recorded_host + recorded);
    if (known != monitors_.end()) {
      return known->second;
    }
    return recorded.rfind(recorded_host, 0) == 0 ? recorded.substr(recorded_host.size()) : recorded;
  }

  void remember(const base::json& recorded_headers, const answer& ours) {
    for (const auto* name : {"Azure-AsyncOperation", "Location"}) {
      const std::string theirs = recorded_headers[name].string_or("");
      EXPECT_EQ(theirs.empty(), ours.header(name).empty()) << name;
      if (!theirs.empty() && !ours.header(name).empty()) {
        monitors_[theirs] = ours.header(name).substr(base_url.size());
        // Where a monitor stands and what it is called is part of the contract, its query is not.
        EXPECT_EQ(
            with_guids_masked(
                theirs.substr(recorded_host.size(), theirs.find('?') - recorded_host.size())
            ),
            with_guids_masked(ours.header(name).substr(
                base_url.size(), ours.header(name).find('?') - base_url.size()
            ))
        ) << name;
      }
    }
  }

  std::map<std::string, std::string> monitors_;
};

enum class part : std::uint8_t { status, headers, body };

// Where this cloud may answer otherwise, each with its reason.
struct allowed_difference {
  std::string_view recording; // "*" = any
  int first;                  // exchanges, from 0
  int last;
  azure_emulator::part part;
  std::string_view method;
  const char* reason;
};

constexpr allowed_difference allowed[] = {
    {"*",
     0,
     999,
     part::status,
     "DELETE",
     "the service itself answers the deletion of an interface with 200 or 202"},
};

bool is_allowed(std::string_view recording, int index, std::string_view method, part what) {
  return std::any_of(std::begin(allowed), std::end(allowed), [&](const allowed_difference& d) {
    return (d.recording == "*" || d.recording == recording) && index >= d.first &&
           index <= d.last && (d.method == "*" || d.method == method) && d.part == what;
  });
}

// The general one holds for one pair of statuses only.
bool is_same_status(
    std::string_view recording, int index, std::string_view method, int recorded, int ours
) {
  return recorded == ours ||
         (recorded == 200 && ours == 202 && is_allowed(recording, index, method, part::status));
}

TEST_P(azure_replay, answers_as_recorded) {
  const auto path = recordings() / (std::string(GetParam().name) + ".json");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no recordings at " << recordings() << " (set SITEAGENT_SHARED_DIR)";
  }
  seed(R"({"subscriptions":[{"id":"00000000-0000-0000-0000-000000000000"}],
    "locations":[{"name":"eastus"},{"name":"eastus2"},{"name":"westus"}],
    "images":[{"publisher":"MicrosoftWindowsServer","offer":"WindowsServer","sku":"2019-Datacenter",
               "version":"17763.8276.260109","os":"Windows","size_gib":127,"generation":"V1"}],
    "basic_addresses_allowed":true,"virtual_network_update_status":201})");
  const auto recording = parsed(read_file(path));
  int index = 0;
  for (const auto& exchange : recording["exchanges"].items()) {
    const auto& request = exchange["request"];
    const auto& response = exchange["response"];
    const std::string method = request["method"].string_or("");
    const std::string url = request["url"].string_or("");
    SCOPED_TRACE(
        std::string(GetParam().name) + " #" + std::to_string(index) + " " + method + " " +
        url.substr(0, 200)
    );
    net::header_list headers = {{"authorization", "Bearer " + token_}};
    if (const auto& guard = request.at({"headers", "If-Match"}); guard.is_string()) {
      headers.emplace_back("if-match", guard.string_or(""));
    }
    auto body = request["body"];
    if (auto* properties = body.find("properties")) {
      if (auto* profile = properties->find("osProfile")) {
        profile->set("adminPassword", "Recorded-away-1");
      }
    }
    const auto ours = raw(method, target_of(url), body.is_null() ? "" : body.dump(), headers);
    const auto status = response["status"].integer().value_or(0);
    EXPECT_TRUE(
        is_same_status(GetParam().name, index, method, static_cast<int>(status), ours.status)
    ) << "recorded "
      << status << ", ours " << ours.status << " " << ours.body.dump();
    if (!is_allowed(GetParam().name, index, method, part::headers)) {
      for (const auto& [name, value] : response["headers"].members()) {
        EXPECT_FALSE(ours.header(name).empty()) << "recorded with the header " << name;
      }
    }
    remember(response["headers"], ours);
    EXPECT_EQ(ours.header("ETag").empty(), response.at({"headers", "ETag"}).is_null());
    const auto expected = masked(response["body"]);
    const auto actual = masked(ours.body);
    if (!is_allowed(GetParam().name, index, method, part::body)) {
      EXPECT_TRUE(expected == actual)
          << "recorded " << expected.dump() << "\nours     " << actual.dump();
    }
    ++index;
  }
  EXPECT_GT(index, 0);
}

// The list is cut to a few namespaces, types, versions and places; what both know must agree.
TEST_F(azure_replay_lists, providers_are_described_as_recorded) {
  const auto path = recordings() / "providers-trimmed.json";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no recordings at " << recordings() << " (set SITEAGENT_SHARED_DIR)";
  }
  const auto by_name = [](const base::json& list, const char* key) {
    std::map<std::string, const base::json*> found;
    for (const auto& item : list.items()) {
      found[item[key].string_or("")] = &item;
    }
    return found;
  };
  const auto recorded = parsed(read_file(path));
  const auto answered = get("/providers").body;
  const auto ours = by_name(answered["value"], "namespace");
  int types = 0;
  for (const auto& [name, theirs] : by_name(recorded["value"], "namespace")) {
    SCOPED_TRACE(name);
    ASSERT_EQ(ours.count(name), 1U);
    const auto& mine = *ours.at(name);
    for (const auto* key : {"registrationState", "registrationPolicy"}) {
      EXPECT_EQ(mine[key].dump(), (*theirs)[key].dump()) << key;
    }
    const auto known = by_name((*theirs)["resourceTypes"], "resourceType");
    for (const auto& type : mine["resourceTypes"].items()) {
      const auto at = known.find(type["resourceType"].string_or(""));
      if (at == known.end()) {
        continue;
      }
      SCOPED_TRACE(at->first);
      ++types;
      EXPECT_EQ(type["capabilities"].dump(), at->second->operator[]("capabilities").dump());
      for (const auto& [key, value] : type.members()) {
        // A usage list has a default version in one namespace and none in the other.
        EXPECT_TRUE(key == "defaultApiVersion" || at->second->find(key) != nullptr) << key;
      }
    }
  }
  EXPECT_GE(types, 15);
}

INSTANTIATE_TEST_SUITE_P(
    recordings,
    azure_replay,
    ::testing::Values(
        replay_file{"resource-group"},
        replay_file{"virtual-network"},
        replay_file{"subnet"},
        replay_file{"network-security-group"},
        replay_file{"public-ip"},
        replay_file{"network-interface"},
        replay_file{"virtual-machine"},
        replay_file{"disk"},
        replay_file{"ssh-public-key"},
        replay_file{"deployment"}
    ),
    [](const auto& parameter) {
      std::string name = parameter.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    }
);

} // namespace
} // namespace siteagent::azure_emulator
