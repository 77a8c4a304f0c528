// SPDX-License-Identifier: MIT
// Quotas and capacity.
#include "tests/unit/azure/error_rows.hpp"

namespace siteagent::azure {
namespace {

using base::error_code;

INSTANTIATE_TEST_SUITE_P(
    capacity,
    azure_error_row,
    testing::Values(
        error_case{
            "OperationNotAllowed_quota",
            409,
            "OperationNotAllowed",
            "in exceeding approved Total Regional Cores quota.",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "QuotaExceeded",
            409,
            "QuotaExceeded",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "SkuNotAvailable",
            409,
            "SkuNotAvailable",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "AllocationFailed",
            200,
            "AllocationFailed",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "AllocationFailed_409",
            409,
            "AllocationFailed",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "ZonalAllocationFailed",
            200,
            "ZonalAllocationFailed",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "OverconstrainedAllocationRequest",
            200,
            "OverconstrainedAllocationRequest",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "OverconstrainedZonalAllocationRequest",
            200,
            "OverconstrainedZonalAllocationRequest",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "SpotOverconstrained",
            200,
            "SpotOverconstrainedAllocationRequest",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "LowPriorityEviction",
            200,
            "LowPriorityEvicted",
            "",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "PublicIPCountLimitReached",
            400,
            "PublicIPCountLimitReached",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "IPv4BasicSkuPublicIpCountLimitReached",
            400,
            "IPv4BasicSkuPublicIpCountLimitReached",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "NetworkInterfaceCountLimitReached",
            400,
            "NetworkInterfaceCountLimitReached",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "NetworkSecurityGroupCountLimitReached",
            400,
            "NetworkSecurityGroupCountLimitReached",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "ResourceQuotaExceeded",
            409,
            "ResourceQuotaExceeded",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "ResourceGroupQuotaExceeded",
            409,
            "ResourceGroupQuotaExceeded",
            "",
            reason::quota,
            error_code::quota,
            "cloud quota",
            "quota increase"},
        error_case{
            "InvalidParameter_size",
            400,
            "InvalidParameter",
            "The requested VM size X is not available in the current region.",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"},
        error_case{
            "OperationNotAllowed_resize",
            409,
            "OperationNotAllowed",
            "Unable to resize the VM 'vm1' because the requested size X is not available in the "
            "current hardware cluster.",
            reason::capacity,
            error_code::no_capacity,
            "no capacity",
            "other sizes"}
    ),
    name_of_row
);

} // namespace
} // namespace siteagent::azure
