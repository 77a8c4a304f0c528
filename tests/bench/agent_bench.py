#!/usr/bin/env python3
"""What one agent process carries: memory, threads and idle work with many offerings, and orders a minute.

usage: agent_bench.py BIN_DIR PLUGIN_DIR [OFFERINGS[,OFFERINGS...]] [ORDERS]

waldur-emulator is Waldur, the null plugin the cloud, so that the figures are the agent's own. Prints a table, asserts
nothing. A row that cannot be measured (a program ended, or PATIENCE seconds were not enough) says why, the others are
measured all the same, and the exit status is 1.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

bin_dir, plugin_dir = map(os.path.abspath, sys.argv[1:3])
counts = [int(n) for n in (sys.argv[3].split(",") if len(sys.argv) > 3 else ["1", "100", "1000"])]
order_count = int(sys.argv[4]) if len(sys.argv) > 4 else 500
AGENT = "e2e0000000000000000000000000token001"
STAFF = "e2e0000000000000000000000000token002"
PERIODS = {"ORDER_PROCESS": "1", "MEMBERSHIP_SYNC": "1", "REPORT": "1"}
PATIENCE = 600  # of one wait, seconds
IDLE = 60  # one more pass of everything


class Unmeasured(Exception):
    pass


def tail(path):
    with open(path, errors="replace") as file:
        return "".join(file.readlines()[-3:]).strip()


class Child:
    """A program with its output in a file; gone, whatever happens, at the end of the with statement."""

    def __init__(self, arguments, output, environment=None):
        self.name, self.output = os.path.basename(arguments[0]), output
        with open(output, "w") as file:
            self.process = subprocess.Popen(arguments, env=environment, stdout=file, stderr=file)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def wait_for(self, what, ready, pause):
        end = time.monotonic() + PATIENCE
        while not ready():
            if self.process.poll() is not None:
                raise Unmeasured("%s ended with %d: %s" % (self.name, self.process.returncode, tail(self.output)))
            if time.monotonic() > end:
                raise Unmeasured("%s: not in %d s: %s" % (self.name, PATIENCE, what))
            time.sleep(pause)

    def stop(self):
        """Seconds it took."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Unmeasured("%s: not ended %d s after SIGTERM" % (self.name, PATIENCE)) from None
        return time.monotonic() - start


def uuid(kind, n):
    return "e2ef%024x%04x" % (kind, n)


class Emulator(Child):
    def __init__(self, directory):
        port_file = os.path.join(directory, "port")
        self.journal = os.path.join(directory, "journal.jsonl")
        super().__init__(
            [os.path.join(bin_dir, "waldur-emulator"), "--listen", "127.0.0.1:0", "--port-file", port_file,
             "--journal", self.journal], os.path.join(directory, "waldur.log"))
        try:
            self.wait_for("its port", lambda: os.path.exists(port_file), 0.05)
        except Unmeasured:
            self.__exit__()
            raise
        with open(port_file) as file:
            self.url = "http://127.0.0.1:" + file.read().strip()

    def call(self, method, path, body=None, token=STAFF):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json",
                                                  "Authorization": "Token " + token})
        with urllib.request.urlopen(request, timeout=600) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def requests(self):
        with open(self.journal) as file:
            return sum(1 for _ in file)


class Agent(Child):
    def __init__(self, directory, config):
        self.status = os.path.join(directory, "status.json")
        environment = dict(os.environ, WALDUR_SITE_AGENT_HEARTBEAT_PATH=os.path.join(directory, "heartbeat"),
                           WALDUR_SITE_AGENT_STATUS_PATH=self.status)
        for mode, minutes in PERIODS.items():
            environment["WALDUR_SITE_AGENT_%s_PERIOD_MINUTES" % mode] = minutes
        super().__init__(
            [os.path.join(bin_dir, "waldur-site-agent"), "-m", "all", "-c", config, "--plugin-dir", plugin_dir],
            os.path.join(directory, "agent.log"), environment)

    def facts(self):
        """MiB, threads, seconds of a processor."""
        try:
            with open("/proc/%d/status" % self.process.pid) as file:
                lines = dict(line.split(":", 1) for line in file if ":" in line)
            with open("/proc/%d/stat" % self.process.pid) as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            fields = ["Z"]
        if fields[0] == "Z":
            raise Unmeasured("the agent ended by itself: " + tail(self.output))
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return int(lines["VmRSS"].split()[0]) / 1024, int(lines["Threads"]), cpu

    def passes(self):
        """The least number of passes of any offering and mode, and how many of them failed."""
        try:
            with open(self.status) as file:
                shown = json.load(file)
        except (FileNotFoundError, ValueError):
            return 0, 0
        modes = [m for o in shown["offerings"] for m in o["modes"]]
        return min((m["passes"] for m in modes), default=0), sum(m["failed_passes"] for m in modes)


def write_config(directory, url, n):
    path = os.path.join(directory, "site.yaml")
    with open(path, "w") as file:
        file.write("offerings:\n")
        for i in range(n):
            file.write(
                "  - name: Offering %d\n    waldur_api_url: %s/api/\n    waldur_api_token: %s\n"
                "    waldur_offering_uuid: %s\n    backend_type: \"null\"\n    backend_settings:\n"
                "      state_file: %s/machines-%d.json\n    backend_components:\n"
                "      cpu: {measured_unit: Cores, accounting_type: limit, label: CPU}\n"
                % (i, url, AGENT, uuid(0x201, i), directory, i))
    return path


def seed(waldur, n):
    waldur.call("POST", "/_emu/seed", {
        "offerings": [{"uuid": uuid(0x201, i), "name": "Offering %d" % i,
                       "plans": [{"uuid": uuid(0x401, i)}]} for i in range(n)]})


def place(waldur, n, offerings):
    project = waldur.url + "/api/projects/e2ef0000000000000000000000000301/"
    for i in range(n):
        at = i % offerings
        waldur.call("POST", "/api/marketplace-orders/", {
            "offering": "%s/api/marketplace-public-offerings/%s/" % (waldur.url, uuid(0x201, at)),
            "project": project,
            "plan": "%s/api/marketplace-public-plans/%s/" % (waldur.url, uuid(0x401, at)),
            "attributes": {"name": "vm %d" % i}, "limits": {"cpu": 1}, "accepting_terms_of_service": True})


def closed_orders(waldur):
    """Orders that the agent ended, by what the emulator answered. Asking it would cost it more than its answers."""
    with open(waldur.journal) as file:
        return sum(1 for line in file if '"method":"POST"' in line and '"status":200' in line
                   and re.search(r'"path":"/api/marketplace-orders/\w+/set_state_(done|erred)/"', line))


@contextlib.contextmanager
def site(offerings, orders=0):
    with tempfile.TemporaryDirectory(prefix="site-agent-bench-") as directory, Emulator(directory) as waldur:
        seed(waldur, offerings)
        place(waldur, orders, offerings)
        begun = time.monotonic()
        with Agent(directory, write_config(directory, waldur.url, offerings)) as agent:
            yield waldur, agent, begun


def measure(n):
    with site(n) as (waldur, agent, begun):
        agent.wait_for("every mode once", lambda: agent.passes()[0] >= 1, 0.5)
        first = time.monotonic() - begun
        agent.wait_for("every mode twice", lambda: agent.passes()[0] >= 2, 0.5)  # most registrations are over, too
        before, requests = agent.facts(), waldur.requests()
        time.sleep(IDLE)
        after = agent.facts()
        failed = agent.passes()[1]
        requests = (waldur.requests() - requests) / IDLE
        print("%9d %8d %12.1f %9.1f %8d %9.1f %11.1f %7d %7.1f" % (
            n, 3 * n, first, after[0], after[1], (after[2] - before[2]) / IDLE * 100, requests, failed, agent.stop()
        ), flush=True)


def measure_orders(offerings, n):
    with site(offerings, n) as (waldur, agent, begun):
        agent.wait_for("every order ended", lambda: closed_orders(waldur) >= n, 0.2)
        took = time.monotonic() - begun
        rss, threads, cpu = agent.facts()
        print("%9d %8d %12.1f %9.1f %8d %9.1f %11.0f" % (offerings, n, took, rss, threads, cpu, n / took * 60),
              flush=True)


def attempt(row, *arguments):
    try:
        row(*arguments)
        return True
    except (Unmeasured, OSError) as why:  # of urllib, too
        print("%9d not measured: %s" % (arguments[0], why), flush=True)
        return False


fine = True
print("idle: all polled modes, each every minute (five and thirty are usual); cpu in percent of one processor")
print("%9s %8s %12s %9s %8s %9s %11s %7s %7s" % ("offerings", "modes", "all once s", "RSS MiB", "threads", "cpu %",
                                                "requests/s", "failed", "stop s"))
for count in counts:
    fine &= attempt(measure, count)
print("\norders: creates that cost the cloud nothing; cpu in seconds")
print("%9s %8s %12s %9s %8s %9s %11s" % ("offerings", "orders", "took s", "RSS MiB", "threads", "cpu s", "orders/min"))
for count in (1, 10):
    fine &= attempt(measure_orders, count, order_count)
sys.exit(0 if fine else 1)
