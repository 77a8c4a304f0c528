// SPDX-License-Identifier: MIT
// The emulator as the official clients see it: clients, bodies of requests, admin calls.
import { ComputeManagementClient } from "@azure/arm-compute";
import { ManagementLockClient } from "@azure/arm-locks";
import { NetworkManagementClient } from "@azure/arm-network";
import { ResourceManagementClient } from "@azure/arm-resources";
import { SubscriptionClient } from "@azure/arm-resources-subscriptions";
import { ClientSecretCredential } from "@azure/identity";
import { appendFileSync, readFileSync } from "node:fs";

export const url = process.env.EMULATOR_URL;
export const subscription = "11111111-1111-1111-1111-111111111111";
export const tenant = "22222222-2222-2222-2222-222222222222";
export const application = "33333333-3333-3333-3333-333333333333";
export const secret = "emulator-secret";
export const location = "westeurope";
export const sshKey = `ssh-ed25519 ${Buffer.concat([
  Buffer.from("\0\0\0\x0bssh-ed25519\0\0\0\x20", "latin1"),
  Buffer.alloc(32, "k"),
]).toString("base64")} somebody@somewhere`;

export const authority = { authorityHost: url, disableInstanceDiscovery: true };

// Leaves every response for the check against the published models.
const recorder = {
  position: "perRetry",
  policy: {
    name: "recorder",
    async sendRequest(request, next) {
      const response = await next(request);
      appendFileSync(
        process.env.EMULATOR_EXCHANGES,
        JSON.stringify({
          method: request.method,
          url: request.url.replace(url, ""),
          status: response.status,
          body: response.bodyAsText ?? "",
        }) + "\n",
      );
      return response;
    },
  },
};

export const settings = { endpoint: url, additionalPolicies: [recorder] };

export function clients(credential) {
  return {
    subscriptions: new SubscriptionClient(credential, settings),
    resources: new ResourceManagementClient(credential, subscription, settings),
    network: new NetworkManagementClient(credential, subscription, settings),
    compute: new ComputeManagementClient(credential, subscription, settings),
    locks: new ManagementLockClient(credential, subscription, settings),
  };
}

export function secretCredential(overrides = {}) {
  const it = { tenant, application, secret, ...overrides };
  return new ClientSecretCredential(it.tenant, it.application, it.secret, authority);
}

export const bodies = {
  network: (extra = {}) => ({
    location,
    addressSpace: { addressPrefixes: ["10.0.0.0/16"] },
    subnets: [{ name: "default", addressPrefix: "10.0.0.0/24", ...extra }],
  }),
  address: () => ({
    location,
    sku: { name: "Standard", tier: "Regional" },
    publicIPAllocationMethod: "Static",
    publicIPAddressVersion: "IPv4",
  }),
  sshRule: (extra = {}) => ({
    name: "ssh",
    priority: 1000,
    direction: "Inbound",
    access: "Allow",
    protocol: "Tcp",
    sourceAddressPrefix: "203.0.113.0/24",
    sourcePortRange: "*",
    destinationAddressPrefix: "*",
    destinationPortRange: "22",
    ...extra,
  }),
  nic: (subnet, extra = {}, configuration = {}) => ({
    location,
    ipConfigurations: [{ name: "ipconfig1", primary: true, subnet: { id: subnet }, ...configuration }],
    ...extra,
  }),
  machine: (nic, extra = {}) => ({
    location,
    hardwareProfile: { vmSize: "Standard_B2s" },
    storageProfile: {
      imageReference: { publisher: "Canonical", offer: "ubuntu-24_04-lts", sku: "server", version: "latest" },
      osDisk: {
        name: "vm-os",
        createOption: "FromImage",
        deleteOption: "Delete",
        managedDisk: { storageAccountType: "Premium_LRS" },
      },
    },
    osProfile: {
      computerName: "vm",
      adminUsername: "azureuser",
      customData: Buffer.from("#cloud-config\n").toString("base64"),
      linuxConfiguration: {
        disablePasswordAuthentication: true,
        ssh: { publicKeys: [{ path: "/home/azureuser/.ssh/authorized_keys", keyData: sshKey }] },
      },
    },
    networkProfile: { networkInterfaces: [{ id: nic, primary: true, deleteOption: "Delete" }] },
    ...extra,
  }),
};

// Group, network, address, security group and interface: what a machine stands on.
export async function ground(c, group) {
  await c.resources.resourceGroups.createOrUpdate(group, { location });
  const nsg = await c.network.networkSecurityGroups.beginCreateOrUpdateAndWait(group, "nsg", {
    location,
    securityRules: [bodies.sshRule()],
  });
  const net = await c.network.virtualNetworks.beginCreateOrUpdateAndWait(group, "net", bodies.network());
  const address = await c.network.publicIPAddresses.beginCreateOrUpdateAndWait(group, "ip", bodies.address());
  const nic = await c.network.networkInterfaces.beginCreateOrUpdateAndWait(
    group,
    "nic",
    bodies.nic(
      net.subnets[0].id,
      { networkSecurityGroup: { id: nsg.id } },
      { publicIPAddress: { id: address.id, deleteOption: "Delete" } },
    ),
  );
  return { nsg, net, address, nic };
}

export async function all(pages) {
  const found = [];
  for await (const item of pages) {
    found.push(item);
  }
  return found;
}

// What a rejected promise was rejected with; its absence is the failure.
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("the call succeeded, it should have been refused");
}

export async function admin(method, path, body) {
  const response = await fetch(`${url}/_emu/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`${method} /_emu/${path}: ${response.status} ${await response.text()}`);
  }
  const text = await response.text();
  return text ? JSON.parse(text) : undefined;
}

export function journal() {
  return readFileSync(process.env.EMULATOR_JOURNAL, "utf-8").trim().split("\n").map((line) => JSON.parse(line));
}
