// SPDX-License-Identifier: MIT
#include "plugins/azure/disk_tags.hpp"

#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/writer.hpp"

namespace siteagent::azure {

base::result<void> tag_disk(
    const services& cloud, const arm::scope& call, const base::json& machine, const base::json& tags
) {
  const auto id = os_disk_of(machine);
  if (!id) {
    return {};
  }
  const kind& k = kind_of(kind_id::disk);
  const std::string what = describe("tag", k, *id);
  const auto disk = arm::read_if_present(cloud.arm(), call, url_of(*id, k), what);
  if (disk && (!*disk || carries(**disk, tags))) {
    return {};
  }
  base::result<void> done;
  if (disk) {
    base::json all = (**disk)["tags"].is_object() ? (**disk)["tags"] : base::json::object();
    for (const auto& [name, value] : tags.members()) {
      if (tag_of(all, name).empty()) {
        all.set(name, value);
      }
    }
    arm::write_request w;
    w.method = "PATCH";
    w.path = url_of(*id, k);
    w.body = base::json::object({{"tags", std::move(all)}});
    w.what = what;
    auto written = checked_write(cloud, call, k, *id, std::move(w));
    done = written ? base::result<void>() : base::result<void>(std::move(written).error());
  } else {
    done = disk.error();
  }
  if (done || arm::is_stop(done.error())) {
    return done;
  }
  cloud.warn("the disk keeps the tags it has: " + done.error().message);
  return {};
}

} // namespace siteagent::azure
