// SPDX-License-Identifier: MIT
// What stands around the machines, through the official clients: credit, permissions, keys, commands.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { AuthorizationManagementClient } from "@azure/arm-authorization";
import { ConsumptionManagementClient } from "@azure/arm-consumption";
import { admin, all, bodies, clients, failure, ground, location, secretCredential, settings, subscription } from "./cloud.js";

const c = clients(secretCredential());
const group = "control";
const account = "aaaa:bbbb_2019-05-31";

before(() => admin("POST", "reset"));

test("the credit of a customer agreement, its lots, and an account without credit", async () => {
  await admin("POST", "seed", {
    billing: {
      accounts: [
        {
          name: account,
          profiles: [
            {
              name: "P-1",
              currency: "EUR",
              credit: { estimated: "600.25", current: "700", pending_charges: "99.75" },
              lots: [{ original: "1000", closed: "600.25" }],
              events: [{ date: "2026-01-05", charges: "-10" }],
            },
            { name: "P-2" },
          ],
        },
      ],
    },
  });
  const consumption = new ConsumptionManagementClient(secretCredential(), subscription, settings);
  const credit = await consumption.credits.get(account, "P-1");
  assert.equal(credit.balanceSummary.estimatedBalance.value, 600.25);
  assert.equal(credit.balanceSummary.estimatedBalance.currency, "EUR");
  const lots = await all(consumption.lotsOperations.listByBillingProfile(account, "P-1"));
  assert.deepEqual(lots.map((lot) => lot.closedBalance.value), [600.25]);
  const none = await consumption.credits.get(account, "P-2");
  assert.equal(none.balanceSummary, undefined);
});

test("the permissions that the application has on a group", async () => {
  await c.resources.resourceGroups.createOrUpdate(group, { location });
  const authorization = new AuthorizationManagementClient(secretCredential(), subscription, settings);
  const permissions = await all(authorization.permissions.listForResourceGroup(group));
  assert.ok(permissions.some((p) => p.actions.includes("*")));
});

test("a key pair made by the service opens a machine, and a command runs in it", async () => {
  const { nic } = await ground(c, group);
  await c.compute.sshPublicKeys.create(group, "key", { location });
  const pair = await c.compute.sshPublicKeys.generateKeyPair(group, "key");
  assert.match(pair.privateKey, /^-----BEGIN RSA PRIVATE KEY-----/);
  const machine = bodies.machine(nic.id);
  machine.osProfile.linuxConfiguration.ssh.publicKeys[0].keyData = pair.publicKey;
  await c.compute.virtualMachines.createOrUpdate(group, "vm", machine);
  const said = await c.compute.virtualMachines.runCommand(group, "vm", { commandId: "RunShellScript", script: ["true"] });
  assert.match(said.value[0].code, /succeeded/);
  assert.deepEqual((await all(c.compute.sshPublicKeys.listByResourceGroup(group))).map((k) => k.name), ["key"]);
  await c.compute.sshPublicKeys.delete(group, "key");
  assert.equal((await failure(c.compute.sshPublicKeys.get(group, "key"))).statusCode, 404);
});
