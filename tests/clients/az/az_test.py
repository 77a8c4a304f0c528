# SPDX-License-Identifier: MIT
"""A machine's whole life through Debian's azure-cli, unmodified."""
import base64
import json
import os
import struct
import subprocess
import tempfile
import unittest

URL = os.environ["EMULATOR_URL"]
TENANT = "22222222-2222-2222-2222-222222222222"
APPLICATION = "33333333-3333-3333-3333-333333333333"
GROUP = "cli"
# This profile's network and machine commands are the ones whose modules the package holds.
PROFILE = "2020-09-01-hybrid"


def ssh_key():
    blob = struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", 32) + b"k" * 32
    return "ssh-ed25519 " + base64.b64encode(blob).decode() + " somebody@somewhere"


class AzureCli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="azure-cli-")
        cls.environment = dict(
            os.environ,
            AZURE_CONFIG_DIR=cls.folder.name,
            AZURE_CORE_COLLECT_TELEMETRY="no",
            AZURE_CORE_NO_COLOR="yes",
            AZURE_CORE_ONLY_SHOW_ERRORS="yes",
            AZURE_CORE_DISPLAY_REGION_IDENTIFIED="no",
        )
        cls.az("cloud", "register", "-n", "emulator", "--endpoint-resource-manager", URL, "--profile", PROFILE)
        cls.az("cloud", "set", "-n", "emulator")
        cls.az("login", "--service-principal", "-u", APPLICATION, "-p", "emulator-secret", "--tenant", TENANT)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_az(cls, *arguments):
        return subprocess.run(
            ["az", *arguments, "-o", "json"],
            env=cls.environment, capture_output=True, text=True, timeout=300, check=False,
        )

    @classmethod
    def az(cls, *arguments):
        done = cls.run_az(*arguments)
        if done.returncode != 0:
            raise AssertionError(f"az {' '.join(arguments)}: exit {done.returncode}\n{done.stderr[-3000:]}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def power(self):
        view = self.az("vm", "get-instance-view", "-g", GROUP, "-n", "vm")
        return [s["code"] for s in view["instanceView"]["statuses"] if s["code"].startswith("PowerState/")]

    def test_a_machine_lives_and_is_deleted(self):
        az = self.az
        self.assertIs(False, az("group", "exists", "-n", GROUP))
        az("group", "create", "-n", GROUP, "-l", "westeurope", "--tags", "order=7")
        self.assertIs(True, az("group", "exists", "-n", GROUP))
        self.assertIn("westeurope", [place["name"] for place in az("account", "list-locations")])
        self.assertIn("Standard_B2s", [size["name"] for size in az("vm", "list-sizes", "-l", "westeurope")])

        made = az(
            "vm", "create", "-g", GROUP, "-n", "vm",
            "--image", "Canonical:ubuntu-24_04-lts:server:latest",
            "--size", "Standard_B2s", "--admin-username", "azureuser",
            "--ssh-key-values", ssh_key(), "--public-ip-sku", "Standard",
        )
        self.assertEqual("VM running", made["powerState"])
        self.assertRegex(made["publicIpAddress"], r"^\d+\.\d+\.\d+\.\d+$")
        self.assertEqual("10.0.0.4", made["privateIpAddress"])

        self.assertEqual(["vm"], [m["name"] for m in az("vm", "list", "-g", GROUP)])
        detailed = az("vm", "list", "-d")
        self.assertEqual([made["publicIpAddress"]], [m["publicIps"] for m in detailed])
        shown = az("vm", "show", "-g", GROUP, "-n", "vm")
        self.assertEqual("Succeeded", shown["provisioningState"])
        self.assertEqual("Standard_B2s", shown["hardwareProfile"]["vmSize"])
        addresses = az("vm", "list-ip-addresses", "-g", GROUP, "-n", "vm")
        self.assertEqual(
            made["publicIpAddress"],
            addresses[0]["virtualMachine"]["network"]["publicIpAddresses"][0]["ipAddress"],
        )
        az(
            "network", "nsg", "rule", "create", "-g", GROUP, "--nsg-name", "vmNSG", "-n", "web",
            "--priority", "1010", "--destination-port-ranges", "443", "--protocol", "Tcp",
        )
        self.assertEqual(["vmVMNic"], [n["name"] for n in az("network", "nic", "list", "-g", GROUP)])
        self.assertEqual(["vmPublicIP"], [a["name"] for a in az("network", "public-ip", "list", "-g", GROUP)])
        self.assertEqual("vmVNET", az("network", "vnet", "show", "-g", GROUP, "-n", "vmVNET")["name"])

        az("vm", "deallocate", "-g", GROUP, "-n", "vm")
        self.assertEqual(["PowerState/deallocated"], self.power())
        az("vm", "start", "-g", GROUP, "-n", "vm")
        self.assertEqual(["PowerState/running"], self.power())
        az("vm", "stop", "-g", GROUP, "-n", "vm")
        self.assertEqual(["PowerState/stopped"], self.power())
        az("vm", "restart", "-g", GROUP, "-n", "vm")
        az("vm", "delete", "-g", GROUP, "-n", "vm", "--yes")
        gone = self.run_az("vm", "show", "-g", GROUP, "-n", "vm")
        self.assertEqual(3, gone.returncode, gone.stderr)
        self.assertIn("ResourceNotFound", gone.stderr)

        disks = [disk["id"] for disk in az("disk", "list", "-g", GROUP)]
        names = {"networkInterfaces": "vmVMNic", "publicIPAddresses": "vmPublicIP"}
        for kind, name in [*names.items(), ("networkSecurityGroups", "vmNSG"), ("virtualNetworks", "vmVNET")]:
            az("resource", "delete", "-g", GROUP, "-n", name, "--resource-type", f"Microsoft.Network/{kind}")
        if disks:
            az("resource", "delete", "--ids", *disks)
        self.assertEqual([], az("resource", "list"))
        az("group", "delete", "-n", GROUP, "--yes")
        self.assertIs(False, az("group", "exists", "-n", GROUP))

    def test_refusals_are_told_as_azure_tells_them(self):
        az = self.az
        az("group", "create", "-n", "refused", "-l", "westeurope")
        done = self.run_az(
            "vm", "create", "-g", "refused", "-n", "vm", "--image", "Canonical:ubuntu-24_04-lts:server:latest",
            "--size", "Standard_X1", "--admin-username", "azureuser", "--ssh-key-values", ssh_key(),
            "--public-ip-sku", "Standard",
        )
        self.assertNotEqual(0, done.returncode)
        self.assertIn("Standard_X1", done.stderr)
        lost = self.run_az("group", "create", "-n", "refused", "-l", "northeurope")
        self.assertNotEqual(0, lost.returncode)
        self.assertIn("InvalidResourceGroupLocation", lost.stderr)
        az("group", "delete", "-n", "refused", "--yes")


if __name__ == "__main__":
    unittest.main(verbosity=2)
