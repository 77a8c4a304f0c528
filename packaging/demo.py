#!/usr/bin/env python3
"""The demo behind packaging/demo: plays a customer, a provider and both clouds' inventories.

Needs the built programs (first argument: the build directory) and Python's standard library.
Every claim it prints was just read from the emulators; the first that is wrong ends it, exit 1.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)

SUBSCRIPTION = "11111111-1111-1111-1111-111111111111"
TENANT = "22222222-2222-2222-2222-222222222222"
CLIENT = "33333333-3333-3333-3333-333333333333"
SECRET = "emulator-secret"
OFFERING = "e2ef0000000000000000000000000201"
PROJECT = "e2ef0000000000000000000000000301"
PLAN = "e2ef0000000000000000000000000401"
KEY = "e2ef0000000000000000000000000501"
AGENT_TOKEN = "e2e0000000000000000000000000token001"
STAFF_TOKEN = "e2e0000000000000000000000000token002"

# The configuration of the provider's documentation, as it stands; <PLACEHOLDERS> are filled in and
# `cloud:` is added, nothing else.
SEED_YAML = """\
offerings:
  - name: Azure VM
    waldur_api_url: https://waldur.example.com/api/
    waldur_api_token: <TOKEN>
    waldur_offering_uuid: <OFFERING_UUID>
    backend_type: azure
    order_processing_backend: azure
    reporting_backend: azure
    backend_settings:
      subscription_id: <SUBSCRIPTION_ID>
      tenant_id: <TENANT_ID>
      client_id: <CLIENT_ID>
      client_secret: <CLIENT_SECRET>
      default_location: westeurope
      default_size: Standard_B1s
      default_image: Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest
      # Without any range a machine accepts no SSH connections.
      allowed_ssh_ranges:
        - 203.0.113.0/24
    backend_components:
      cpu:
        measured_unit: Cores
        unit_factor: 1
        accounting_type: limit
        label: CPU
      ram:
        measured_unit: MiB
        unit_factor: 1
        accounting_type: limit
        label: RAM
      disk:
        measured_unit: MiB
        unit_factor: 1
        accounting_type: limit
        label: Disk
"""

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def paint(code, text):
    return f"\033[{code}m{text}\033[0m" if COLOUR else text


def heading(text):
    print("\n" + paint("1", text), flush=True)


def line(who, text):
    print(f"  {paint('36', who.ljust(7))} {text}", flush=True)


def proved(text):
    print(f"  {paint('32', 'ok'.ljust(7))} {text}", flush=True)


class Wrong(Exception):
    """A check of the demo failed."""


def check(truth, text):
    if not truth:
        raise Wrong(text)
    proved(text)


def http(method, url, body=None, token=None):
    request = urllib.request.Request(url, method=method)
    if token:
        request.add_header("Authorization", "Token " + token)
    data = None
    if body is not None:
        data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, data, timeout=60) as answer:
            text = answer.read()
    except urllib.error.HTTPError as e:
        raise Wrong(f"{method} {url}: HTTP {e.code} {e.read().decode(errors='replace')[:300]}") from e
    return json.loads(text) if text else None


class Emulator:
    def __init__(self, program, directory, more=()):
        os.mkdir(directory)
        self.directory = directory
        self.journal_file = os.path.join(directory, "journal.jsonl")
        port_file = os.path.join(directory, "port")
        self.log = open(os.path.join(directory, "output"), "w", encoding="utf-8")
        arguments = [os.path.join(BUILD, "bin", program), "--listen", "127.0.0.1:0", "--port-file", port_file,
                     "--journal", self.journal_file]
        if program == "azure-emulator":
            arguments += ["--timing", "fast"]
        arguments += more
        self.process = subprocess.Popen(arguments, stdout=self.log, stderr=subprocess.STDOUT)
        while not os.path.exists(port_file):
            if self.process.poll() is not None:
                raise Wrong(f"{program} did not start: " + open(self.log.name, encoding="utf-8").read())
            time.sleep(0.02)
        with open(port_file, encoding="utf-8") as f:
            self.url = "http://127.0.0.1:" + f.read().strip()

    def inventory(self):
        return http("GET", self.url + "/_emu/inventory")

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()


class Follower(threading.Thread):
    """Prints lines of a journal as they appear, translated for people."""

    def __init__(self, path, translate):
        super().__init__(daemon=True)
        self.path, self.translate, self.ended = path, translate, threading.Event()

    def run(self):
        position = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        last = False
        while True:
            last = self.ended.is_set()
            if os.path.exists(self.path):
                with open(self.path, encoding="utf-8") as f:
                    f.seek(position)
                    for text in f:
                        if not text.endswith("\n"):
                            break
                        position += len(text.encode())
                        self.translate(json.loads(text))
            if last:
                return
            self.ended.wait(0.05)


KINDS = [
    ("resourcegroups", "resource group"),
    ("subnets", "subnet"),
    ("virtualnetworks", "virtual network"),
    ("publicipaddresses", "public IP address"),
    ("networksecuritygroups", "network security group"),
    ("networkinterfaces", "network interface"),
    ("virtualmachines", "virtual machine"),
    ("disks", "disk"),
]


def describe_cloud(entry):
    if entry["method"] not in ("PUT", "POST", "DELETE") or "/oauth2/" in entry["path"]:
        return
    parts = entry["path"].strip("/").split("/")
    action = ""
    if entry["method"] == "POST":
        action = parts.pop()
    if len(parts) < 2:
        return
    kind = next((words for segment, words in KINDS if parts[-2].lower() == segment), parts[-2])
    verb = {"PUT": "create", "DELETE": "delete"}.get(entry["method"], action)
    line("azure", f"{verb:10} {kind:24} {parts[-1]}  ({entry['status']})")


PORTAL = {
    "approve_by_provider": "order approved by the provider",
    "set_backend_id": "the resource knows its Azure id",
    "set_limits": "limits recorded",
    "set_backend_metadata": "metadata recorded",
    "set_endpoints": "endpoint recorded",
    "set_state_done": "order done",
    "set_state_erred": "order erred",
    "set_usage": "usage booked",
    "refresh_last_sync": "resource synchronised",
}


def describe_portal(entry):
    if entry["method"] == "POST":
        action = entry["path"].strip("/").split("/")[-1]
        if action in PORTAL:
            line("waldur", f"{PORTAL[action]}  ({entry['status']})")


def power_of(machine):
    for status in machine.get("properties", {}).get("instanceView", {}).get("statuses", []):
        if status["code"].startswith("PowerState/"):
            return status["code"].split("/")[1]
    return "unknown"


class Demo:
    def __init__(self, directory):
        self.directory = directory
        self.azure = Emulator("azure-emulator", os.path.join(directory, "azure"))
        try:
            self.waldur = Emulator("waldur-emulator", os.path.join(directory, "waldur"))
        except BaseException:
            self.azure.stop()
            raise
        self.config = os.path.join(directory, "waldur-site-agent-config.yaml")

    def stop(self):
        self.waldur.stop()
        self.azure.stop()

    def write_config(self):
        text = SEED_YAML
        for placeholder, value in {
            "https://waldur.example.com": self.waldur.url,
            "<TOKEN>": AGENT_TOKEN,
            "<OFFERING_UUID>": OFFERING,
            "<SUBSCRIPTION_ID>": SUBSCRIPTION,
            "<TENANT_ID>": TENANT,
            "<CLIENT_ID>": CLIENT,
            "<CLIENT_SECRET>": SECRET,
        }.items():
            text = text.replace(placeholder, value)
        cloud = (f"      cloud:\n        resource_manager: {self.azure.url}\n"
                 f"        authority: {self.azure.url}\n        audience: {self.azure.url}\n")
        text = text.replace("    backend_components:\n", cloud + "    backend_components:\n")
        with open(self.config, "w", encoding="utf-8") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(text)

    def agent(self, *arguments):
        return [os.path.join(BUILD, "bin", "waldur-site-agent"), *arguments]

    def run_agent(self, mode):
        command = self.agent("-m", mode, "-c", self.config, "--once", "--plugin-dir", os.path.join(BUILD, "plugins"))
        log_file = os.path.join(self.directory, "agent.log")
        environment = dict(os.environ, WALDUR_SITE_AGENT_HEARTBEAT_PATH=os.path.join(self.directory, "heartbeat"))
        followers = [Follower(self.azure.journal_file, describe_cloud),
                     Follower(self.waldur.journal_file, describe_portal)]
        for follower in followers:
            follower.start()
        line("agent", f"waldur-site-agent -m {mode} --once")
        with open(log_file, "a", encoding="utf-8") as log:
            code = subprocess.run(command, stdout=log, stderr=log, env=environment, timeout=240, check=False).returncode
        for follower in followers:
            follower.ended.set()
            follower.join()
        if code != 0:
            with open(log_file, encoding="utf-8") as log:
                tail = log.read().splitlines()[-15:]
            raise Wrong(f"waldur-site-agent -m {mode} ended with {code}:\n" + "\n".join(tail))

    # What a portal does over Waldur's REST API.
    def portal(self, method, path, body=None):
        return http(method, self.waldur.url + path, body, STAFF_TOKEN)

    def order(self, name):
        return self.portal("POST", "/api/marketplace-orders/", {
            "offering": f"{self.waldur.url}/api/marketplace-public-offerings/{OFFERING}/",
            "project": f"{self.waldur.url}/api/projects/{PROJECT}/",
            "plan": f"{self.waldur.url}/api/marketplace-public-plans/{PLAN}/",
            "attributes": {"name": name, "size": "Standard_B2s", "ssh_key": KEY},
            "limits": {"cpu": 2, "ram": 4096, "disk": 30720},
            "accepting_terms_of_service": True,
        })["uuid"]

    def order_of(self, uuid):
        return self.portal("GET", f"/api/marketplace-orders/{uuid}/")

    def resource_of(self, uuid):
        return self.portal("GET", f"/api/marketplace-provider-resources/{uuid}/")

    def machine(self):
        machines = self.azure.inventory()["virtualMachines"]
        check(len(machines) == 1, "the subscription holds exactly one virtual machine")
        return machines[0]

    def play(self):
        heading("1. A provider's site: the configuration of the manual, two local clouds")
        self.write_config()
        line("azure", f"emulator at {self.azure.url}, subscription {SUBSCRIPTION}")
        line("waldur", f"emulator at {self.waldur.url}, offering {OFFERING}")
        validation = subprocess.run(
            self.agent("validate", "-c", self.config, "--plugin-dir", os.path.join(BUILD, "plugins")),
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(validation.returncode == 0, "waldur-site-agent validate accepts the configuration"
              if validation.returncode == 0 else validation.stdout)
        check(not any(self.azure.inventory()[k] for k in ("resourceGroups", "virtualMachines")),
              "the subscription is empty")

        heading("2. A customer orders a machine")
        order = self.order("web 1")
        resource = self.order_of(order)["marketplace_resource_uuid"]
        line("portal", f"order {order}: 'web 1', Standard_B2s")
        self.run_agent("order_process")
        self.after_create(order, resource)

        heading("3. Metering")
        self.run_agent("report")
        self.after_report(resource)

        heading("4. Staff pauses the resource")
        self.portal("POST", f"/api/marketplace-resources/{resource}/set_paused/", {"paused": True})
        self.run_agent("membership_sync")
        check(power_of(self.machine()) == "deallocated", "the machine is deallocated: compute is not billed")

        heading("5. Staff restores it")
        self.portal("POST", f"/api/marketplace-resources/{resource}/set_paused/", {"paused": False})
        self.run_agent("membership_sync")
        check(power_of(self.machine()) == "running", "the machine is running again")

        heading("6. The customer terminates the resource")
        termination = self.portal("POST", f"/api/marketplace-resources/{resource}/terminate/", {})["order_uuid"]
        self.run_agent("order_process")
        check(self.order_of(termination)["state"] == "done", "the termination order is done")
        check(self.resource_of(resource)["state"] == "Terminated", "Waldur shows the resource as Terminated")
        left = [o["id"] for objects in self.azure.inventory().values() if isinstance(objects, list)
                for o in objects if isinstance(o, dict) and "id" in o]
        check(not left, "the subscription is empty: nothing bills" if not left else f"left over: {left}")

    def after_create(self, order, resource):
        done = self.order_of(order)
        check(done["state"] == "done", f"the order is done (it is {done['state']})")
        shown = self.resource_of(resource)
        machine = self.machine()
        check(shown["backend_id"] == machine["id"], f"backend id: {shown['backend_id']}")
        check(machine["properties"]["hardwareProfile"]["vmSize"] == "Standard_B2s", "the machine has the ordered size")
        check(power_of(machine) == "running", "the machine is running")
        inventory = self.azure.inventory()
        for key, words in (("resourceGroups", "resource group"), ("virtualNetworks", "virtual network"),
                           ("publicIPAddresses", "public IP address"),
                           ("networkSecurityGroups", "network security group"),
                           ("networkInterfaces", "network interface")):
            mine = [o for o in inventory[key] if o.get("tags", {}).get("waldur-resource-uuid") == resource]
            check(len(mine) == 1 and len(inventory[key]) == 1, f"one {words}, tagged with the resource's uuid")
        rules = inventory["networkSecurityGroups"][0]["properties"]["securityRules"]
        check([r["properties"].get("sourceAddressPrefixes") or [r["properties"].get("sourceAddressPrefix")]
               for r in rules] == [["203.0.113.0/24"]], "SSH is open to 203.0.113.0/24 only")
        metadata = shown["backend_metadata"]
        check(metadata["virtual_machine"]["id"] == machine["id"], "metadata names the machine, its size and addresses")
        address = inventory["publicIPAddresses"][0]["properties"]["ipAddress"]
        check([e["url"] for e in shown["endpoints"]] == [f"ssh://waldur@{address}"],
              f"the customer sees the endpoint ssh://waldur@{address}")

    def after_report(self, resource):
        rows = self.portal("GET", f"/api/marketplace-component-usages/?resource_uuid={resource}&page_size=100")
        booked = {row["type"]: float(row["usage"]) for row in rows}
        check(booked.get("cpu") == 2 and booked.get("ram") == 4096, f"usage in Waldur: {booked}")
        check("disk" in booked, "the disk of the size is metered too")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    directory = tempfile.mkdtemp(prefix="site-agent-demo-")
    demo = None
    try:
        demo = Demo(directory)
        demo.play()
    except Wrong as e:
        print(f"\n{paint('31', 'WRONG')}   {e}\n          files: {directory}", file=sys.stderr, flush=True)
        return 1
    finally:
        if demo:
            demo.stop()
    shutil.rmtree(directory)
    heading(f"Everything as claimed, in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
