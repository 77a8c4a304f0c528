// SPDX-License-Identifier: MIT
// A machine's whole life through the official clients.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { admin, all, bodies, clients, failure, ground, journal, location, secretCredential, sshKey, subscription, tenant } from "./cloud.js";

const c = clients(secretCredential());
const group = "Life-Cycle";
let base;

before(() => admin("POST", "reset"));

const power = async (name = "vm") => {
  const view = await c.compute.virtualMachines.instanceView(group, name);
  return view.statuses.find((status) => status.code.startsWith("PowerState/"))?.code;
};

test("the subscription, its tenants and its locations are there", async () => {
  const found = await c.subscriptions.subscriptions.get(subscription);
  assert.equal(found.subscriptionId, subscription);
  assert.equal(found.tenantId, tenant);
  assert.equal(found.state, "Enabled");
  assert.ok((await all(c.subscriptions.subscriptions.list())).some((s) => s.subscriptionId === subscription));
  assert.deepEqual((await all(c.subscriptions.tenants.list())).map((t) => t.tenantId), [tenant]);
  const region = (await all(c.subscriptions.subscriptions.listLocations(subscription))).find((l) => l.name === location);
  assert.equal(region.metadata.regionType, "Physical");
});

test("providers are registered and know their types", async () => {
  const provider = await c.resources.providers.get("Microsoft.Compute");
  assert.equal(provider.registrationState, "Registered");
  assert.ok(provider.resourceTypes.some((t) => t.resourceType === "virtualMachines" && t.apiVersions.length > 0));
  assert.ok((await all(c.resources.providers.list())).length > 1);
  assert.match((await c.resources.providers.register("Microsoft.Network")).registrationState, /^Register/);
});

test("sizes, images and quotas can be looked up", async () => {
  const skus = await all(c.compute.resourceSkus.list({ filter: `location eq '${location}'` }));
  const size = skus.find((s) => s.resourceType === "virtualMachines" && s.name === "Standard_B2s");
  assert.equal(size.capabilities.find((k) => k.name === "vCPUs").value, "2");
  const sizes = await all(c.compute.virtualMachineSizes.list(location));
  assert.equal(sizes.find((s) => s.name === "Standard_B2s").memoryInMB, 4096);
  const images = c.compute.virtualMachineImages;
  assert.ok((await images.listPublishers(location)).some((p) => p.name === "Canonical"));
  assert.ok((await images.listOffers(location, "Canonical")).some((o) => o.name === "ubuntu-24_04-lts"));
  assert.ok((await images.listSkus(location, "Canonical", "ubuntu-24_04-lts")).some((s) => s.name === "server"));
  const [newest] = await images.list(location, "Canonical", "ubuntu-24_04-lts", "server", { top: 1, orderby: "name desc" });
  const image = await images.get(location, "Canonical", "ubuntu-24_04-lts", "server", newest.name);
  assert.equal(image.osDiskImage.operatingSystem, "Linux");
  assert.equal(image.hyperVGeneration, "V2");
  const cores = (await all(c.compute.usage.list(location))).find((u) => u.name.value === "cores");
  assert.ok(cores.limit > cores.currentValue);
  assert.ok((await all(c.network.usages.list(location))).some((u) => u.name.value === "PublicIPAddresses"));
});

test("group, network, address, security group and interface are made", async () => {
  assert.equal((await c.resources.resourceGroups.checkExistence(group)).body, false);
  base = await ground(c, group);
  assert.equal((await c.resources.resourceGroups.checkExistence(group)).body, true);
  assert.equal(base.net.subnets[0].provisioningState, "Succeeded");
  assert.match(base.address.ipAddress, /^\d+\.\d+\.\d+\.\d+$/);
  assert.equal(base.nsg.defaultSecurityRules.length, 6);
  assert.equal(base.nic.ipConfigurations[0].privateIPAddress, "10.0.0.4");
  assert.equal(base.nic.networkSecurityGroup.id, base.nsg.id);
});

test("subnets and rules are written one by one", async () => {
  const subnet = await c.network.subnets.beginCreateOrUpdateAndWait(group, "net", "second", { addressPrefix: "10.0.1.0/24" });
  assert.equal(subnet.provisioningState, "Succeeded");
  assert.equal((await all(c.network.subnets.list(group, "net"))).length, 2);
  await c.network.subnets.beginDeleteAndWait(group, "net", "second");
  assert.equal((await all(c.network.subnets.list(group, "net"))).length, 1);
  const web = bodies.sshRule({ priority: 1010, destinationPortRange: "443" });
  const rule = await c.network.securityRules.beginCreateOrUpdateAndWait(group, "nsg", "web", { ...web, name: undefined });
  assert.equal(rule.provisioningState, "Succeeded");
  await c.network.securityRules.beginDeleteAndWait(group, "nsg", "web");
  assert.deepEqual((await all(c.network.securityRules.list(group, "nsg"))).map((r) => r.name), ["ssh"]);
});

test("a machine is created, with If-None-Match", async () => {
  const made = await c.compute.virtualMachines.createOrUpdate(
    group,
    "vm",
    bodies.machine(base.nic.id, { tags: { order: "7" } }),
    { ifNoneMatch: "*" },
  );
  assert.equal(made.provisioningState, "Succeeded");
  assert.equal(made.osProfile.adminPassword, undefined);
  assert.equal(made.osProfile.customData, undefined);
  assert.equal(made.osProfile.linuxConfiguration.ssh.publicKeys[0].keyData, sshKey);
  assert.ok(made.storageProfile.imageReference.exactVersion);
  assert.ok(made.timeCreated instanceof Date);
  assert.equal(await power(), "PowerState/running");
  const nic = await c.network.networkInterfaces.get(group, "nic");
  assert.equal(nic.virtualMachine.id.toLowerCase(), made.id.toLowerCase());
  assert.match(nic.macAddress, /^([0-9A-F]{2}-){5}[0-9A-F]{2}$/);
  const disk = await c.compute.disks.get(group, "vm-os");
  assert.equal(disk.diskState, "Attached");
  assert.equal(disk.managedBy.toLowerCase(), made.id.toLowerCase());
});

test("the same PUT again changes nothing, and tags are patched", async () => {
  const again = await c.compute.virtualMachines.createOrUpdate(group, "vm", bodies.machine(base.nic.id, { tags: { order: "7" } }));
  assert.equal(again.tags.order, "7");
  const patched = await c.compute.virtualMachines.update(group, "vm", { tags: { order: "8" } });
  assert.deepEqual(patched.tags, { order: "8" });
  const tagged = await c.network.networkInterfaces.updateTags(group, "nic", { tags: { order: "8" } });
  assert.deepEqual(tagged.tags, { order: "8" });
  const found = await all(c.resources.resources.list({ filter: "tagName eq 'order' and tagValue eq '8'" }));
  assert.deepEqual(found.map((r) => r.name).sort(), ["nic", "vm"]);
});

test("deallocate, start, power off and restart", async () => {
  await c.compute.virtualMachines.deallocate(group, "vm");
  assert.equal(await power(), "PowerState/deallocated");
  assert.equal((await c.network.publicIPAddresses.get(group, "ip")).ipAddress, base.address.ipAddress);
  await c.compute.virtualMachines.start(group, "vm");
  assert.equal(await power(), "PowerState/running");
  await c.compute.virtualMachines.powerOff(group, "vm");
  assert.equal(await power(), "PowerState/stopped");
  await c.compute.virtualMachines.beginStartAndWait(group, "vm");
  await c.compute.virtualMachines.restart(group, "vm");
  assert.equal(await power(), "PowerState/running");
});

test("a machine changes its size when it is deallocated", async () => {
  await c.compute.virtualMachines.deallocate(group, "vm");
  const sizes = await all(c.compute.virtualMachines.listAvailableSizes(group, "vm"));
  assert.ok(sizes.some((s) => s.name === "Standard_B2ms"));
  const resized = await c.compute.virtualMachines.update(group, "vm", { hardwareProfile: { vmSize: "Standard_B2ms" } });
  assert.equal(resized.hardwareProfile.vmSize, "Standard_B2ms");
  await c.compute.virtualMachines.start(group, "vm");
  const whole = await c.compute.virtualMachines.get(group, "vm", { expand: "instanceView" });
  assert.ok(whole.instanceView.statuses.some((s) => s.code === "PowerState/running"));
});

test("disks are made, grown and deleted", async () => {
  const empty = { location, sku: { name: "StandardSSD_LRS" }, creationData: { createOption: "Empty" }, diskSizeGB: 32 };
  const disk = await c.compute.disks.createOrUpdate(group, "spare", empty);
  assert.equal(disk.diskState, "Unattached");
  assert.equal((await c.compute.disks.update(group, "spare", { diskSizeGB: 64 })).diskSizeGB, 64);
  assert.deepEqual((await all(c.compute.disks.listByResourceGroup(group))).map((d) => d.name).sort(), ["spare", "vm-os"]);
  await c.compute.disks.delete(group, "spare");
  assert.deepEqual((await all(c.compute.disks.list())).map((d) => d.name), ["vm-os"]);
});

test("everything is deleted, what belongs to the machine together with it", async () => {
  await c.compute.virtualMachines.delete(group, "vm", { forceDeletion: true });
  assert.equal((await failure(c.compute.virtualMachines.get(group, "vm"))).statusCode, 404);
  assert.equal((await failure(c.compute.disks.get(group, "vm-os"))).statusCode, 404);
  assert.equal((await failure(c.network.networkInterfaces.get(group, "nic"))).statusCode, 404);
  assert.equal((await failure(c.network.publicIPAddresses.get(group, "ip"))).statusCode, 404);
  await c.compute.virtualMachines.delete(group, "vm");
  await c.network.networkSecurityGroups.beginDeleteAndWait(group, "nsg");
  await c.network.virtualNetworks.beginDeleteAndWait(group, "net");
  await c.resources.resourceGroups.beginDeleteAndWait(group);
  assert.equal((await c.resources.resourceGroups.checkExistence(group)).body, false);
  assert.deepEqual(await all(c.resources.resources.list()), []);
});

test("machines are listed in every way, page by page", async () => {
  await admin("POST", "seed", { page_size: 2, machines: [1, 2, 3, 4, 5].map((n) => ({ resourceGroup: group, name: `more-${n}`, size: "Standard_B1s" })) });
  const byStatus = await all(c.compute.virtualMachines.listAll({ statusOnly: "true" }));
  assert.equal(byStatus.length, 5);
  for (const machine of byStatus) {
    assert.ok(machine.instanceView.statuses.some((s) => s.code === "PowerState/running"), machine.name);
    assert.equal(machine.osProfile, undefined);
  }
  assert.equal((await all(c.compute.virtualMachines.list(group))).length, 5);
  assert.equal((await all(c.compute.virtualMachines.listByLocation(location))).length, 5);
  const pages = [];
  for await (const page of c.compute.virtualMachines.listAll().byPage()) {
    pages.push(page.length);
  }
  assert.deepEqual(pages, [2, 2, 1]);
  await admin("POST", "seed", { page_size: 200 });
});

test("nothing was answered that a client had to repeat", () => {
  const troubles = journal().filter((entry) => entry.status === 0 || entry.status === 429 || entry.status >= 500);
  assert.deepEqual(troubles, []);
});
