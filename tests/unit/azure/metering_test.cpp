// SPDX-License-Identifier: MIT
#include "plugins/azure/metering.hpp"

#include <gtest/gtest.h>

namespace siteagent::azure {

namespace {

const size_figures figures{2, 3584, 1'047'552, 4096};

std::string totals(const char* components) {
  return totals_of(allocation_of_size(figures), *base::json::parse(components)).dump();
}

TEST(azure_metering, maps_components_by_their_names) {
  EXPECT_EQ(
      totals(R"({"cpu":{},"RAM":{},"storage":{}})"),
      R"({"cpu":"2","RAM":"3584","storage":"1051648"})"
  );
  EXPECT_EQ(
      totals(R"({"vcores":{},"mem":{},"Disk":{}})"),
      R"({"vcores":"2","mem":"3584","Disk":"1051648"})"
  );
}

TEST(azure_metering, backend_name_wins_and_unknown_ones_are_left_out) {
  EXPECT_EQ(
      totals(R"({"gold":{"backend_name":"cores"},"cpu":{"backend_name":"gpus"},"gpu":{}})"),
      R"({"gold":"2"})"
  );
}

TEST(azure_metering, divides_exactly_and_treats_no_factor_as_one) {
  EXPECT_EQ(totals(R"({"ram":{"unit_factor":"1024"}})"), R"({"ram":"3.5"})");
  EXPECT_EQ(totals(R"({"ram":{"unit_factor":0}})"), R"({"ram":"3584"})");
  EXPECT_EQ(totals(R"({"cpu":{"unit_factor":3}})"), R"({"cpu":"0.666666667"})");
}

TEST(azure_metering, leaves_out_hours_it_cannot_count) {
  EXPECT_EQ(
      totals(R"({"cpu":{"metering":"hours"},"ram":{"metering":"snapshot"}})"), R"({"ram":"3584"})"
  );
}

TEST(azure_metering, actual_disks_count_os_data_and_temporary_disk) {
  const base::json model = *base::json::parse(
      R"({"properties":{"storageProfile":{"osDisk":{"diskSizeGB":30},"dataDisks":[{"managedDisk":{"id":"/D1"}}]}}})"
  );
  EXPECT_EQ(allocation_of_machine(figures, model, {{"/d1", 64}}).disk_mib, (30 + 64) * 1024 + 4096);
  EXPECT_EQ(allocation_of_machine(figures, model, {}).disk_mib, std::nullopt);
}

} // namespace

} // namespace siteagent::azure
