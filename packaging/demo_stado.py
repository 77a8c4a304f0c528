#!/usr/bin/env python3
"""The demo behind packaging/demo --stado: a fleet owner rents a build host, builds on it and gives it back.

Needs the built programs (first argument: the build directory), root, and namespaces; packaging/demo starts it in a
network of its own, so that nothing leaves the machine. Every claim it prints was just read from the emulator, from
stado's own answers or from a host; the first that is wrong ends it, exit 1.
"""
import base64
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import demo
from demo import Wrong, check, heading, line, paint

HERE = os.path.dirname(os.path.abspath(__file__))
LOGIN = "builder"
LOCATION, GROUP = "westeurope", "fleet"
PLACES = (LOCATION, "northeurope")
CLOUD_ADDRESS = "127.0.0.31"
# The fleet's hosts and what the internet sees them as.
FLEET = {"build-host": ("127.0.0.21", "20.61.4.21"), "always-on-mini": ("127.0.0.22", "20.61.4.22")}
# Someone else's machine in the same subnet, with a rule of theirs.
SEED = {
    "public_addresses": [CLOUD_ADDRESS],
    "billing": {"accounts": [{"name": "aaaa:bbbb_2019-05-31", "display_name": "Fleet", "profiles": [
        {"name": "P-1", "currency": "USD", "available": "900", "credit": {"estimated": "880.10", "current": "900"}}]}]},
    "networkSecurityGroups": [{"resourceGroup": "fleet-network", "name": "builders-nsg", "location": LOCATION}],
    "securityRules": [{"resourceGroup": "fleet-network", "networkSecurityGroup": "builders-nsg", "name": "office",
                       "properties": {"priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "Tcp",
                                      "sourceAddressPrefix": "20.70.0.0/16", "sourcePortRange": "*",
                                      "destinationAddressPrefix": "*", "destinationPortRange": "443"}}],
    "virtualNetworks": [{"resourceGroup": GROUP, "name": "fleet-" + place, "location": place,
                         "properties": {"addressSpace": {"addressPrefixes": [f"10.{n}.0.0/16"]}}}
                        for n, place in enumerate(PLACES)],
    "subnets": [{"resourceGroup": GROUP, "virtualNetwork": "fleet-" + place, "name": "builders",
                 "properties": {"addressPrefix": f"10.{n}.0.0/24"} | ({"networkSecurityGroup": {
                     "id": f"/subscriptions/{demo.SUBSCRIPTION}/resourceGroups/fleet-network/providers/"
                           "Microsoft.Network/networkSecurityGroups/builders-nsg"}} if place == LOCATION else {})}
                for n, place in enumerate(PLACES)],
}
HOST_KINDS = ("virtualMachines", "disks", "networkInterfaces", "publicIPAddresses")

PROJECT = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(hello CXX)\nadd_executable(hello hello.cpp)\n",
    "hello.cpp": '#include <iostream>\n#include <unistd.h>\nint main(int argc, char**) {\n  char name[65] = {};\n'
                 '  gethostname(name, 64);\n  std::cout << (argc > 1 ? "built on " BUILT_ON " by a rented host\\n" : name);\n}\n',
    "build.sh": 'set -eu\ncmake -S . -B out -DCMAKE_CXX_FLAGS="-DBUILT_ON=\\\\\\"$(hostname)\\\\\\"" >/dev/null\ncmake --build out\n',
}


class Machine:
    """A machine of its own: files, name, processes, sshd."""

    def __init__(self, directory, name, address, key, user_data=None, curlrc=None):
        self.name, self.directory = name, directory
        os.makedirs(os.path.join(directory, "layer"))
        for file, content in (("authorized_keys", key), ("user-data", user_data), ("curlrc", curlrc)):
            if content:
                with open(os.path.join(directory, file), "w", encoding="utf-8") as f:
                    f.write(content)
        self.log = os.path.join(directory, "log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child",
                 os.path.join(HERE, "demo_machine"), directory, name, address, LOGIN],
                stdout=log, stderr=log)

    def stop(self):
        self.process.kill()  # its namespaces, and so everything in it, end with it
        self.process.wait()


class Platform(threading.Thread):
    """What a cloud's hosts do: a machine that the emulator runs boots, one that it does not is off."""

    def __init__(self, directory, cloud):
        super().__init__(daemon=True)
        self.directory, self.cloud, self.ended = directory, cloud, threading.Event()
        self.machines = {}
        self.boots = 0
        self.fault = None

    def run(self):
        while not self.ended.wait(0.3):
            try:
                self.follow(self.cloud.inventory())
            except (Wrong, OSError) as e:
                self.fault = e

    def follow(self, inventory):
        running = {}
        for vm in inventory["virtualMachines"]:
            if demo.power_of(vm) in ("running", "starting"):
                running[vm["id"]] = vm
        for gone in set(self.machines) - set(running):
            self.machines.pop(gone).stop()
        for new in set(running) - set(self.machines):
            told = demo.http("POST", self.cloud.url + "/_emu/first_boot", {"id": new})
            self.boots += 1
            directory = os.path.join(self.directory, f"boot-{self.boots}")
            self.machines[new] = Machine(
                directory, told["computer_name"], CLOUD_ADDRESS,
                "".join(k["keyData"] + "\n" for k in told["public_keys"]),
                user_data=base64.b64decode(told["custom_data"]).decode())

    def stop(self):
        self.ended.set()
        self.join()
        for machine in self.machines.values():
            machine.stop()


class Egress(http.server.ThreadingHTTPServer):
    """The product's site, as the fleet's hosts see it through the address translation before them."""

    def __init__(self):
        seen = {inner: outer for inner, outer in FLEET.values()}
        own = FLEET["build-host"][1]  # this machine is behind the same translation

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802, the library's name
                body = json.dumps({"address": seen.get(self.client_address[0], own)}).encode()
                self.send_response(200 if self.path == "/api/egress" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class StadoDemo:
    def __init__(self, directory):
        self.directory = directory
        self.home = os.path.join(directory, "home")
        os.mkdir(self.home)
        self.environment = {"HOME": self.home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.stack = []
        with open(os.path.join(directory, "seed.json"), "w", encoding="utf-8") as f:
            json.dump(SEED, f)
        self.cloud = self.later(demo.Emulator("azure-emulator", os.path.join(directory, "azure"),
                                              ["--seed", os.path.join(directory, "seed.json")]))
        self.egress = Egress()
        self.platform = Platform(os.path.join(directory, "platform"), self.cloud)
        self.platform.start()
        self.later(self.platform)

    def later(self, thing):
        self.stack.append(thing)
        return thing

    def stop(self):
        while self.stack:
            self.stack.pop().stop()

    def stado(self, *words, show=True, expect=0):
        """Runs stado as its owner would; its lines appear as they come. Answers standard output."""
        if show:
            line("$", "stado " + " ".join(words if all(len(w) < 90 for w in words) else words[:-1] + ("…",)))
        command = [os.path.join(demo.BUILD, "bin", "stado"), "--plugin-dir", os.path.join(demo.BUILD, "plugins"), *words]
        process = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.directory)
        lines = []
        for text in process.stdout:
            lines.append(text)
            if show and text.strip():
                print("            " + text.rstrip(), flush=True)
        if process.wait() != expect:
            raise Wrong(f"stado {' '.join(words)} ended with {process.returncode}:\n" + "".join(lines[-15:]) + self.logs())
        return "".join(lines)

    def logs(self):
        text = ""
        for folder, _, files in os.walk(os.path.join(self.directory, "platform")):
            if "layer" in folder:
                continue
            for name in files:
                if name in ("log", "cloud-init-output.log"):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                        lines = [t for t in f.read().splitlines() if "DEBUG" not in t]
                    text += f"\n--- {name}\n" + "\n".join(lines[-25:])
        return text

    def run(self, *words):
        command = [os.path.join(demo.BUILD, "bin", "stado"), "--plugin-dir", os.path.join(demo.BUILD, "plugins"), *words]
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, text=True, cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        if done.returncode != 0:
            raise Wrong(f"stado {' '.join(words)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done

    def json_of(self, *words):
        return json.loads(self.run(*words, "--json").stdout)

    def rules(self):
        return {r["name"]: r["properties"] for r in self.cloud.inventory()["securityRules"]
                if "/builders-nsg/" in r["id"]}

    def declare(self):
        heading("1. A fleet owner's machine: profile, ruling, two fleet hosts")
        self.stado("config", "init")
        for key, value in {
            "providers": '["azure"]', "azure.subscription_id": demo.SUBSCRIPTION, "azure.resource_group": GROUP,
            "azure.vnet": "fleet", "azure.subnet": "builders", "azure.vm_username": LOGIN,
            "azure.image_urn": "Debian:debian-12:12-gen2:latest", "azure.locations": json.dumps(PLACES),
            "azure.cloud": json.dumps({"resource_manager": self.cloud.url, "authority": self.cloud.url,
                                       "audience": self.cloud.url, "prices": self.cloud.url}),
            "azure.credit_floor": json.dumps({"id": "ruling-12", "amount": 500, "currency": "USD",
                                              "words": "never below five hundred"}),
            "api.url": self.egress.url,
        }.items():
            self.stado("config", "set", key, value, show=False)
        line("config", "provider azure, its bindings, the credit floor of 500 USD, the site's address")
        principal = {"tenant_id": demo.TENANT, "client_id": demo.CLIENT, "client_secret": demo.SECRET}
        store = os.path.join(self.home, ".stado", "credentials.json")
        with open(os.open(store, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as f:
            json.dump({"stado-azure": principal, "wisent-azure-billing-sp": {
                **principal, "billing_account": "aaaa:bbbb_2019-05-31", "billing_profile": "P-1",
                "billing_profile_system_id": "P-1", "subscription_id": demo.SUBSCRIPTION}}, f)
        for name, (address, _) in FLEET.items():
            key = self.stado("fleet", "key", "generate", name, show=False).strip().splitlines()[-1]
            self.later(Machine(os.path.join(self.directory, name), name, address, key + "\n",
                               curlrc=f"interface = {address}\n"))
            self.enroll(name, address)
        self.stado("registry", "set", "--path", "cloud_hosts", "--value", json.dumps({"admit_from": list(FLEET)}))
        check(set(FLEET) <= {t["name"] for t in self.registry()["targets"]}, "both are in the registry")

    def enroll(self, name, address):
        deadline = time.monotonic() + 60
        while True:  # the machine boots
            try:
                self.stado("fleet", "enroll", name, "--ssh", f"{LOGIN}@{address}", show=False)
                line("fleet", f"{name} enrolled, {LOGIN}@{address}")
                return
            except Wrong:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)

    def registry(self):
        return json.loads(self.run("registry", "show").stdout)

    def hosts_objects(self):
        inventory = self.cloud.inventory()
        return {k: [o["name"] for o in inventory[k]] for k in HOST_KINDS} | {
            "networkSecurityGroups": [o["name"] for o in inventory["networkSecurityGroups"] if o["name"] != "builders-nsg"]}

    def create(self):
        heading("2. Can a host be rented, and what would it cost?")
        self.stado("cloud", "check", "--provider", "azure")
        create = ["cloud", "host", "create", "b1", "--provider", "azure", "--location", LOCATION, "--size",
                  "Standard_D2s_v5", "--disk-gb", "64", "--idle-minutes", "1"]
        self.stado(*create, "--dry-run")
        check(not any(self.hosts_objects().values()), "the dry run made nothing")

        heading("3. Renting it")
        self.stado(*create)
        found = self.hosts_objects()
        check(all(len(v) == 1 for v in found.values()),
              "one machine, one disk, one interface, one address, one security group")
        rule = self.rules()["stado-cloud-hosts"]
        check(sorted(rule["sourceAddressPrefixes"]) == sorted(f"{outer}/32" for _, outer in FLEET.values())
              and rule["destinationPortRange"] == "22", "the subnet admits exactly the two fleet hosts, on SSH")
        check(rule["priority"] == 101 and self.rules()["office"]["priority"] == 100, "the office's rule is as it was")
        machine = list(self.platform.machines.values())[0]
        with open(os.path.join(machine.directory, "cloud-init-output.log"), encoding="utf-8") as f:
            check("finished" in f.read(), "cloud-init ran on the machine and finished")
        self.stado("cloud", "host", "list", "--provider", "azure")

    def build(self):
        heading("4. Building on it")
        source = os.path.join(self.directory, "hello")
        os.mkdir(source)
        for name, content in PROJECT.items():
            with open(os.path.join(source, name), "w", encoding="utf-8") as f:
                f.write(content)
        binary = os.path.join(self.directory, "fetched")
        self.stado("host", "kompilator", "b1", "--source", source, "--fetch", f"out/hello:{binary}", "--",
                   "sh", "build.sh")
        said = subprocess.run([binary, "tell"], stdout=subprocess.PIPE, text=True, check=True, timeout=10).stdout
        check(said == "built on b1 by a rented host\n", f"the fetched binary runs here: {said.strip()}")

    def give_back(self):
        heading("5. It stands idle and is given back")
        report = self.json_of("cloud", "host", "reap", "--provider", "azure")
        check(report["hosts"][0]["state"] == "idle", "a reaper's look: idle, not yet past its minute")
        line("", "waiting for the minute to pass")
        deadline = time.monotonic() + 180
        while self.json_of("cloud", "host", "reap", "--provider", "azure")["hosts"][0]["state"] != "reapable":
            if time.monotonic() > deadline:
                raise Wrong("the host is not reapable three minutes later")
            time.sleep(5)
        self.stado("cloud", "host", "reap", "--provider", "azure", "--apply")
        check(not any(self.hosts_objects().values()), "the subscription holds nothing of it any more: "
              + ", ".join(f"{len(v)} {k}" for k, v in self.hosts_objects().items()))
        check("b1" not in [t["name"] for t in self.registry()["targets"]], "the registry does not name it")
        check("stado-ssh-b1" not in self.stado("fleet", "key", "ls", show=False), "its key is gone")
        check(self.rules()["office"]["priority"] == 100, "the office's rule is still there")
        self.stado("cloud", "host", "list", "--provider", "azure")
        if self.platform.fault:
            raise Wrong(f"the platform: {self.platform.fault}")

    def play(self):
        self.declare()
        self.create()
        self.build()
        self.give_back()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = tempfile.mkdtemp(prefix="site-agent-demo-")
    started = time.monotonic()
    play = None
    try:
        play = StadoDemo(directory)
        play.play()
        print(f"\n{paint('32', 'The demo is through')}, in {time.monotonic() - started:.0f} s; nothing is left.")
        return 0
    except (Wrong, OSError, ValueError, subprocess.SubprocessError) as e:
        print(f"\n{paint('31', 'wrong')}   {e}", file=sys.stderr)
        return 1
    finally:
        if play:
            play.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
