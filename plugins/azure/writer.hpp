// SPDX-License-Identifier: MIT
// One write to the cloud between two checkpoints, and the making of one object by the table.
#pragma once

#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/services.hpp"

#include <functional>
#include <optional>
#include <string>

namespace siteagent::azure {

// Checkpoint, write, checkpoint. A host that says stop wins over whatever the write answered. For
// cloud hosts, whose tool keeps a journal, "after" means that the object may be there from now on,
// or is gone (see note_removed); an answer that says neither is told as a poll.
base::result<arm::response> checked_write(
    const services& cloud,
    const arm::scope& call,
    const kind& k,
    const resource_id& id,
    arm::write_request w
);

// For the journal of a cloud host: that object is proven gone.
base::result<void> note_removed(const arm::scope& call, const kind& k, const resource_id& id);

arm::followed following(
    const services& cloud,
    const kind& k,
    const resource_id& id,
    std::string_view verb,
    std::string what
);

struct made {
  base::json body;      // as it reads in the end
  bool adopted = false; // it was there, and it is ours
  bool created = false; // Azure answered 201 to our write: nobody made it before us
};

struct making {
  const kind& k;
  resource_id id;
  std::function<base::json()> body; // built only when a write is needed
  bool shared = false;              // a shared group: taken as it is, whoever owns it
  bool absent = false;              // just seen to be absent: written without another look
  base::json tags = {};             // an object: only what carries all of these is ours
};

// An object that is there: ours (or the shared group), and settled; else `conflict` or transient.
base::result<base::json> take_existing(
    const services& cloud,
    const arm::scope& call,
    const owner& who,
    const making& m,
    base::json seen
);

// Looks first, unless the caller just did; writes only what is positively absent; after any doubt
// looks again. A machine in state Failed is returned as it reads: the caller knows what to do.
base::result<made>
make(const services& cloud, const arm::scope& call, const owner& who, const making& m);

} // namespace siteagent::azure
