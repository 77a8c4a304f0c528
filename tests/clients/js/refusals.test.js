// SPDX-License-Identifier: MIT
// What Azure refuses, as the official clients report it: status, code, target.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { admin, all, bodies, clients, failure, ground, journal, location, secretCredential } from "./cloud.js";

const c = clients(secretCredential());
const group = "refusals";

// RestError of both generations of clients: `code` is the code of the error envelope.
async function refused(promise, status, code) {
  const error = await failure(promise);
  assert.equal(error.name, "RestError", String(error));
  assert.deepEqual([error.statusCode, error.code], [status, code], error.message);
  return error;
}

beforeEach(() => admin("POST", "reset"));

describe("absent and misplaced things", () => {
  test("a group, a machine and an image that are not there", async () => {
    await refused(c.resources.resourceGroups.get("nowhere"), 404, "ResourceGroupNotFound");
    await refused(c.compute.virtualMachines.get("nowhere", "vm"), 404, "ResourceGroupNotFound");
    await c.resources.resourceGroups.createOrUpdate(group, { location });
    await refused(c.compute.virtualMachines.get(group, "vm"), 404, "ResourceNotFound");
    await refused(c.network.networkInterfaces.get(group, "nic"), 404, "ResourceNotFound");
    await refused(c.network.securityRules.get(group, "nsg", "rule"), 404, "ResourceNotFound");
    const image = c.compute.virtualMachineImages.get(location, "Canonical", "no-such-offer", "server", "1.0.0");
    assert.equal((await failure(image)).statusCode, 404);
  });

  test("a reference that leads nowhere", async () => {
    const { net } = await ground(c, group);
    const lost = bodies.nic(net.subnets[0].id.replace("default", "other"));
    await refused(c.network.networkInterfaces.beginCreateOrUpdateAndWait(group, "lost", lost), 400, "InvalidResourceReference");
  });

  test("a subscription that does not exist", async () => {
    const other = "99999999-0000-0000-0000-000000000000";
    await refused(c.subscriptions.subscriptions.get(other), 404, "SubscriptionNotFound");
  });
});

describe("what is in use", () => {
  test("network, group, address and interface stay while the machine needs them", async () => {
    const { nic } = await ground(c, group);
    await c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id));
    const n = c.network;
    await refused(n.virtualNetworks.beginDeleteAndWait(group, "net"), 400, "InUseSubnetCannotBeDeleted");
    await refused(n.subnets.beginDeleteAndWait(group, "net", "default"), 400, "InUseSubnetCannotBeDeleted");
    await refused(n.networkSecurityGroups.beginDeleteAndWait(group, "nsg"), 400, "InUseNetworkSecurityGroupCannotBeDeleted");
    await refused(n.publicIPAddresses.beginDeleteAndWait(group, "ip"), 400, "PublicIPAddressCannotBeDeleted");
    await refused(n.networkInterfaces.beginDeleteAndWait(group, "nic"), 400, "NicInUse");
    await refused(c.compute.disks.delete(group, "vm-os"), 409, "OperationNotAllowed");
  });

  test("an address serves one interface, an interface one machine", async () => {
    const { nic, net, address } = await ground(c, group);
    const second = bodies.nic(net.subnets[0].id, {}, { publicIPAddress: { id: address.id } });
    await refused(c.network.networkInterfaces.beginCreateOrUpdateAndWait(group, "second", second), 400, "PublicIPAddressInUse");
    await c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id));
    const twin = bodies.machine(nic.id);
    twin.storageProfile.osDisk.name = "twin-os";
    await refused(c.compute.virtualMachines.createOrUpdate(group, "twin", twin), 400, "NicInUse");
  });
});

describe("conditions and conflicts", () => {
  test("If-None-Match and If-Match guard machines and security groups", async () => {
    const { nic, nsg } = await ground(c, group);
    await c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id), { ifNoneMatch: "*" });
    await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id), { ifNoneMatch: "*" }), 412, "PreconditionFailed");
    await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id), { ifMatch: '"77"' }), 412, "PreconditionFailed");
    const put = (etag) =>
      c.network.networkSecurityGroups.beginCreateOrUpdateAndWait(group, "nsg", { location }, { requestOptions: { customHeaders: { "If-Match": etag } } });
    await refused(put('W/"00000000-0000-0000-0000-000000000000"'), 412, "PreconditionFailed");
    assert.equal((await put(nsg.etag)).securityRules.length, 0);
  });

  test("what never changes", async () => {
    const { nic } = await ground(c, group);
    await c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id));
    const renamed = bodies.machine(nic.id);
    renamed.osProfile.adminUsername = "somebody";
    const error = await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", renamed), 409, "PropertyChangeNotAllowed");
    assert.match(error.message, /osProfile\.adminUsername/);
    await refused(c.resources.resourceGroups.createOrUpdate(group, { location: "northeurope" }), 409, "InvalidResourceGroupLocation");
  });

  test("two rules of one priority", async () => {
    await ground(c, group);
    const twin = { ...bodies.sshRule(), name: undefined };
    await refused(c.network.securityRules.beginCreateOrUpdateAndWait(group, "nsg", "twin", twin), 400, "SecurityRuleConflict");
  });

  test("a second write while the first one runs", async () => {
    await c.resources.resourceGroups.createOrUpdate(group, { location });
    await admin("PUT", "faults", { rules: [{ match: { method: "PUT", path: "/virtualNetworks/" }, do: { operation: "stuck" } }] });
    await c.network.virtualNetworks.beginCreateOrUpdate(group, "net", bodies.network());
    await refused(c.network.virtualNetworks.beginCreateOrUpdateAndWait(group, "net", bodies.network()), 409, "AnotherOperationInProgress");
  });

  test("a locked group keeps its contents", async () => {
    const { net } = await ground(c, group);
    await c.locks.managementLocks.createOrUpdateAtResourceGroupLevel(group, "keep", { level: "CanNotDelete", notes: "not yet" });
    assert.deepEqual((await all(c.locks.managementLocks.listAtResourceGroupLevel(group))).map((l) => l.level), ["CanNotDelete"]);
    await refused(c.network.virtualNetworks.beginDeleteAndWait(group, "net"), 409, "ScopeLocked");
    await refused(c.resources.resourceGroups.beginDeleteAndWait(group), 409, "ScopeLocked");
    assert.equal((await c.network.virtualNetworks.get(group, "net")).id, net.id);
    await c.locks.managementLocks.deleteAtResourceGroupLevel(group, "keep");
    await c.resources.resourceGroups.beginDeleteAndWait(group);
  });
});

describe("what a machine must be like", () => {
  const cases = [
    ["raw custom data", 400, "InvalidParameter", (m) => (m.osProfile.customData = "#cloud-config\n")],
    ["a key in another path", 400, "InvalidParameter", (m) => (m.osProfile.linuxConfiguration.ssh.publicKeys[0].path = "/root/.ssh/authorized_keys")],
    ["a key that is none", 400, "InvalidParameter", (m) => (m.osProfile.linuxConfiguration.ssh.publicKeys[0].keyData = "not a key")],
    ["a reserved user name", 400, "InvalidParameter", (m) => (m.osProfile.adminUsername = "admin")],
    [
      "a weak password",
      400,
      "InvalidParameter",
      (m) => {
        m.osProfile.linuxConfiguration = { disablePasswordAuthentication: false };
        m.osProfile.adminPassword = "weak";
      },
    ],
    ["a host name with blanks", 400, "InvalidParameter", (m) => (m.osProfile.computerName = "no host name")],
    ["a size nobody offers", 400, "InvalidParameter", (m) => (m.hardwareProfile.vmSize = "Standard_X1")],
    ["an image nobody offers", 404, "PlatformImageNotFound", (m) => (m.storageProfile.imageReference.offer = "nothing")],
    ["a disk smaller than the image", 409, "OperationNotAllowed", (m) => (m.storageProfile.osDisk.diskSizeGB = 10)],
  ];
  for (const [name, status, code, change] of cases) {
    test(name, async () => {
      const { nic } = await ground(c, group);
      const machine = bodies.machine(nic.id);
      change(machine);
      const error = await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", machine), status, code);
      assert.ok(error.message.length > 20);
      await refused(c.compute.virtualMachines.get(group, "vm"), 404, "ResourceNotFound");
    });
  }
});

describe("limits", () => {
  test("cores of the region, with the figures in the text", async () => {
    const { nic } = await ground(c, group);
    await admin("POST", "seed", { quotas: { cores: 1 } });
    const error = await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id)), 409, "OperationNotAllowed");
    assert.match(error.message, /approved Total Regional Cores quota.*Current Limit: 1, Current Usage: 0, Additional Required: 2/);
  });

  test("public addresses", async () => {
    await ground(c, group);
    await admin("POST", "seed", { quotas: { public_addresses: 1 } });
    await refused(c.network.publicIPAddresses.beginCreateOrUpdateAndWait(group, "ip2", bodies.address()), 400, "PublicIPCountLimitReached");
  });

  test("a size without capacity", async () => {
    const { nic } = await ground(c, group);
    await admin("POST", "seed", { restrictions: [{ size: "Standard_B2s", location, reason: "NotAvailableForSubscription" }] });
    await refused(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id)), 409, "SkuNotAvailable");
    const skus = await all(c.compute.resourceSkus.list({ filter: `location eq '${location}'` }));
    assert.equal(skus.find((s) => s.name === "Standard_B2s").restrictions[0].reasonCode, "NotAvailableForSubscription");
  });
});

describe("operations that end badly", () => {
  test("an allocation that failed, and the interface it holds for 180 seconds", async () => {
    const { nic } = await ground(c, group);
    const failing = (code) =>
      admin("PUT", "faults", { rules: [{ match: { method: "PUT", path: "/virtualMachines/" }, do: { operation: "Failed", code } }] });
    await failing("AllocationFailed");
    const error = await failure(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(nic.id)));
    assert.match(`${error.code} ${error.message}`, /AllocationFailed|Allocation failed/);
    assert.equal((await c.compute.virtualMachines.get(group, "vm")).provisioningState, "Failed");
    await c.compute.virtualMachines.delete(group, "vm");
    await c.network.publicIPAddresses.get(group, "ip").catch(() => c.network.publicIPAddresses.beginCreateOrUpdateAndWait(group, "ip", bodies.address()));

    const again = await ground(c, group);
    await failing("OSProvisioningClientError");
    await failure(c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(again.nic.id, { networkProfile: { networkInterfaces: [{ id: again.nic.id }] } })));
    await c.compute.virtualMachines.delete(group, "vm");
    await refused(c.network.networkInterfaces.beginDeleteAndWait(group, "nic"), 400, "NicReservedForAnotherVm");
    await admin("POST", "clock", { advance_s: 181 });
    await c.network.networkInterfaces.beginDeleteAndWait(group, "nic");
  });

  test("a canceled write to the network", async () => {
    await c.resources.resourceGroups.createOrUpdate(group, { location });
    await admin("PUT", "faults", { rules: [{ match: { method: "PUT", path: "/publicIPAddresses/" }, do: { operation: "Canceled" } }] });
    await failure(c.network.publicIPAddresses.beginCreateOrUpdateAndWait(group, "ip", bodies.address()));
  });
});

describe("trouble on the way, which clients repeat by themselves", () => {
  const trouble = [
    ["429 with Retry-After", { status: 429, headers: { "Retry-After": "1" }, body: { error: { code: "SubscriptionRequestsThrottled", message: "slower" } } }],
    ["503", { status: 503, headers: { "Retry-After": "1" }, body: "<html>busy</html>" }],
    ["a cut connection", "cut"],
  ];
  for (const [name, what] of trouble) {
    test(name, async () => {
      await admin("PUT", "faults", { rules: [{ match: { method: "GET", path: "/resourcegroups$" }, do: what }] });
      const seen = journal().length;
      assert.deepEqual(await all(c.resources.resourceGroups.list()), []);
      assert.equal(journal().slice(seen).filter((e) => e.method === "GET").length, 2);
    });
  }

  test("an expired token is fetched anew", async () => {
    await c.resources.resourceGroups.createOrUpdate(group, { location });
    await admin("POST", "clock", { advance_s: 4000 });
    await refused(c.resources.resourceGroups.get(group), 401, "ExpiredAuthenticationToken");
    const fresh = clients(secretCredential());
    assert.equal((await fresh.resources.resourceGroups.get(group)).name, group);
  });
});

describe("application security groups", () => {
  test("they gather interfaces, stand in rules and stay while somebody needs them", async () => {
    const { net, nsg } = await ground(c, group);
    const web = await c.network.applicationSecurityGroups.beginCreateOrUpdateAndWait(group, "web", { location, tags: { tier: "web" } });
    assert.equal(web.provisioningState, "Succeeded");
    const member = bodies.nic(net.subnets[0].id, {}, { applicationSecurityGroups: [{ id: web.id }] });
    const nic = await c.network.networkInterfaces.beginCreateOrUpdateAndWait(group, "member", member);
    assert.equal(nic.ipConfigurations[0].applicationSecurityGroups[0].id, web.id);
    const rule = { ...bodies.sshRule({ priority: 1010, destinationPortRange: "443" }), name: undefined, destinationAddressPrefix: undefined, destinationApplicationSecurityGroups: [{ id: web.id }] };
    await c.network.securityRules.beginCreateOrUpdateAndWait(group, nsg.name, "web", rule);
    assert.equal((await failure(c.network.applicationSecurityGroups.beginDeleteAndWait(group, "web"))).statusCode, 400);
    await c.network.securityRules.beginDeleteAndWait(group, nsg.name, "web");
    await c.network.networkInterfaces.beginDeleteAndWait(group, "member");
    assert.deepEqual((await all(c.network.applicationSecurityGroups.list(group))).map((g) => g.name), ["web"]);
    assert.equal((await c.network.applicationSecurityGroups.updateTags(group, "web", { tags: { tier: "db" } })).tags.tier, "db");
    await c.network.applicationSecurityGroups.beginDeleteAndWait(group, "web");
    assert.deepEqual(await all(c.network.applicationSecurityGroups.listAll()), []);
  });
});
