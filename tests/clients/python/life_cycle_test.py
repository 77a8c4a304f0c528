# SPDX-License-Identifier: MIT
"""A machine's whole life, and what Azure refuses, through the official Python clients."""
import base64
import json
import os
import struct
import unittest

from azure.core import MatchConditions
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure.mgmt.resource.resources import ResourceManagementClient
from azure.mgmt.resource.subscriptions import SubscriptionClient

URL = os.environ["EMULATOR_URL"]
SUBSCRIPTION = "11111111-1111-1111-1111-111111111111"
TENANT = "22222222-2222-2222-2222-222222222222"
APPLICATION = "33333333-3333-3333-3333-333333333333"
LOCATION = "westeurope"
GROUP = "python"


class Recorder(SansIOHTTPPolicy):
    """Leaves every response for the check against the published models."""

    def on_response(self, request, response):
        response.http_response.read()
        line = {
            "method": request.http_request.method,
            "url": request.http_request.url.replace(URL, ""),
            "status": response.http_response.status_code,
            "body": response.http_response.text(),
        }
        with open(os.environ["EMULATOR_EXCHANGES"], "a", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")


def credential(secret="emulator-secret"):
    return ClientSecretCredential(
        TENANT, APPLICATION, secret, authority=URL, disable_instance_discovery=True
    )


def settings():
    return {
        "base_url": URL,
        "credential_scopes": [URL + "/.default"],
        "per_retry_policies": [Recorder()],
    }


def machine(nic, **changes):
    key = base64.b64encode(struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", 32) + b"k" * 32)
    properties = {
        "hardwareProfile": {"vmSize": "Standard_B2s"},
        "storageProfile": {
            "imageReference": {
                "publisher": "Canonical",
                "offer": "ubuntu-24_04-lts",
                "sku": "server",
                "version": "latest",
            },
            "osDisk": {
                "name": "vm-os",
                "createOption": "FromImage",
                "deleteOption": "Delete",
                "managedDisk": {"storageAccountType": "Premium_LRS"},
            },
        },
        "osProfile": {
            "computerName": "vm",
            "adminUsername": "azureuser",
            "linuxConfiguration": {
                "disablePasswordAuthentication": True,
                "ssh": {
                    "publicKeys": [
                        {
                            "path": "/home/azureuser/.ssh/authorized_keys",
                            "keyData": "ssh-ed25519 " + key.decode(),
                        }
                    ]
                },
            },
        },
        "networkProfile": {
            "networkInterfaces": [{"id": nic, "properties": {"primary": True, "deleteOption": "Delete"}}]
        },
    }
    properties.update(changes)
    return {"location": LOCATION, "tags": {"order": "7"}, "properties": properties}


class LifeCycle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.subscriptions = SubscriptionClient(credential(), **settings())
        cls.resources = ResourceManagementClient(credential(), SUBSCRIPTION, **settings())
        cls.network = NetworkManagementClient(credential(), SUBSCRIPTION, **settings())
        cls.compute = ComputeManagementClient(credential(), SUBSCRIPTION, **settings())

    def power(self):
        view = self.compute.virtual_machines.instance_view(GROUP, "vm")
        return [s.code for s in view.statuses if s.code.startswith("PowerState/")]

    def refused(self, kind, status, code, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual((status, code), (caught.exception.status_code, caught.exception.error.code))

    def lay_ground(self):
        network = self.network
        self.resources.resource_groups.create_or_update(GROUP, {"location": LOCATION})
        rule = {
            "name": "ssh",
            "properties": {
                "priority": 1000,
                "direction": "Inbound",
                "access": "Allow",
                "protocol": "Tcp",
                "sourceAddressPrefix": "*",
                "sourcePortRange": "*",
                "destinationAddressPrefix": "*",
                "destinationPortRange": "22",
            },
        }
        guard = network.network_security_groups.begin_create_or_update(
            GROUP, "nsg", {"location": LOCATION, "properties": {"securityRules": [rule]}}
        ).result()
        subnet = {"name": "default", "properties": {"addressPrefix": "10.0.0.0/24"}}
        net = network.virtual_networks.begin_create_or_update(
            GROUP,
            "net",
            {
                "location": LOCATION,
                "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [subnet]},
            },
        ).result()
        address = network.public_ip_addresses.begin_create_or_update(
            GROUP,
            "ip",
            {"location": LOCATION, "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}},
        ).result()
        configuration = {
            "name": "ipconfig1",
            "properties": {
                "subnet": {"id": net.subnets[0].id},
                "publicIPAddress": {"id": address.id, "properties": {"deleteOption": "Delete"}},
            },
        }
        return network.network_interfaces.begin_create_or_update(
            GROUP,
            "nic",
            {
                "location": LOCATION,
                "properties": {"networkSecurityGroup": {"id": guard.id}, "ipConfigurations": [configuration]},
            },
        ).result()

    def test_a_machine_lives_and_is_deleted(self):
        self.assertEqual("Enabled", self.subscriptions.subscriptions.get(SUBSCRIPTION).state)
        names = [place.name for place in self.subscriptions.subscriptions.list_locations(SUBSCRIPTION)]
        self.assertIn(LOCATION, names)
        self.assertFalse(self.resources.resource_groups.check_existence(GROUP))
        nic = self.lay_ground()
        self.assertEqual("10.0.0.4", nic.ip_configurations[0].private_ip_address)

        machines = self.compute.virtual_machines
        made = machines.begin_create_or_update(
            GROUP, "vm", machine(nic.id), etag="*", match_condition=MatchConditions.IfMissing
        ).result()
        self.assertEqual("Succeeded", made.provisioning_state)
        self.assertEqual(["PowerState/running"], self.power())
        self.assertEqual("Attached", self.compute.disks.get(GROUP, "vm-os").disk_state)

        self.refused(
            HttpResponseError,
            412,
            "PreconditionFailed",
            lambda: machines.begin_create_or_update(
                GROUP, "vm", machine(nic.id), etag="*", match_condition=MatchConditions.IfMissing
            ),
        )
        self.refused(
            HttpResponseError,
            400,
            "NicInUse",
            lambda: self.network.network_interfaces.begin_delete(GROUP, "nic"),
        )

        machines.begin_deallocate(GROUP, "vm").result()
        self.assertEqual(["PowerState/deallocated"], self.power())
        bigger = {"properties": {"hardwareProfile": {"vmSize": "Standard_B2ms"}}}
        self.assertEqual(
            "Standard_B2ms", machines.begin_update(GROUP, "vm", bigger).result().hardware_profile.vm_size
        )
        machines.begin_start(GROUP, "vm").result()
        machines.begin_restart(GROUP, "vm").result()
        self.assertEqual(["PowerState/running"], self.power())
        self.assertEqual(["vm"], [m.name for m in machines.list_all(status_only="true")])
        self.assertEqual(["vm"], [m.name for m in machines.list(GROUP)])
        skus = self.compute.resource_skus.list(filter=f"location eq '{LOCATION}'")
        self.assertIn("Standard_B2s", [sku.name for sku in skus])
        self.assertGreater(next(iter(self.compute.usage.list(LOCATION))).limit, 0)

        machines.begin_delete(GROUP, "vm", force_deletion=True).result()
        for gone in (
            lambda: machines.get(GROUP, "vm"),
            lambda: self.compute.disks.get(GROUP, "vm-os"),
            lambda: self.network.network_interfaces.get(GROUP, "nic"),
            lambda: self.network.public_ip_addresses.get(GROUP, "ip"),
        ):
            self.refused(ResourceNotFoundError, 404, "ResourceNotFound", gone)
        self.network.network_security_groups.begin_delete(GROUP, "nsg").result()
        self.network.virtual_networks.begin_delete(GROUP, "net").result()
        self.resources.resource_groups.begin_delete(GROUP).result()
        self.assertEqual([], list(self.resources.resources.list()))

    def test_refusals_have_their_codes(self):
        self.refused(
            ResourceNotFoundError,
            404,
            "ResourceGroupNotFound",
            lambda: self.compute.virtual_machines.get("nowhere", "vm"),
        )
        nic = self.lay_ground()
        body = machine(nic.id)
        body["properties"]["osProfile"]["adminUsername"] = "admin"
        self.refused(
            HttpResponseError,
            400,
            "InvalidParameter",
            lambda: self.compute.virtual_machines.begin_create_or_update(GROUP, "vm", body),
        )
        self.refused(
            ResourceExistsError,
            409,
            "InvalidResourceGroupLocation",
            lambda: self.resources.resource_groups.create_or_update(GROUP, {"location": "northeurope"}),
        )
        self.resources.resource_groups.begin_delete(GROUP).result()

    def test_a_wrong_secret_is_refused(self):
        with self.assertRaises(ClientAuthenticationError) as caught:
            credential("nonsense").get_token(URL + "/.default")
        self.assertIn("7000215", str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
