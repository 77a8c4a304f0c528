#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command beside an azure-emulator of its own, over TLS.

  with_emulator.py EMULATOR [OPTION...] -- COMMAND...

The command finds these in its environment:
  EMULATOR_URL       https://localhost:PORT, resource manager and authority in one
  EMULATOR_CA        the certificate authority, PEM; also set as what node, requests and openssl read
  EMULATOR_JOURNAL   the emulator's journal
  EMULATOR_EXCHANGES file for what a client received, one JSON object a line, not there yet; a name
                     given from outside is used
The exit code is the command's, or 1 if the emulator did not end well.
"""
import os
import subprocess
import sys
import tempfile
import time


def wait_for_port(process, port_file):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"the emulator ended with {process.returncode} before it was ready")
        if os.path.exists(port_file):
            with open(port_file, encoding="utf-8") as f:
                return int(f.read())
        time.sleep(0.02)
    sys.exit("the emulator was not ready within 30 s")


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    split = sys.argv.index("--")
    emulator, command = sys.argv[1:split], sys.argv[split + 1:]
    with tempfile.TemporaryDirectory(prefix="azure-clients-") as folder:
        port_file = os.path.join(folder, "port")
        journal = os.path.join(folder, "journal.jsonl")
        process = subprocess.Popen(
            [*emulator, "--port-file", port_file, "--tls-auto", folder, "--journal", journal],
            stdout=subprocess.DEVNULL,
        )
        try:
            authority = os.path.join(folder, "ca.pem")
            environment = dict(
                os.environ,
                EMULATOR_URL=f"https://localhost:{wait_for_port(process, port_file)}",
                EMULATOR_CA=authority,
                EMULATOR_JOURNAL=journal,
                NODE_EXTRA_CA_CERTS=authority,
                REQUESTS_CA_BUNDLE=authority,
                SSL_CERT_FILE=authority,
                CURL_CA_BUNDLE=authority,
                NO_PROXY="localhost,127.0.0.1",
                no_proxy="localhost,127.0.0.1",
            )
            exchanges = environment.setdefault("EMULATOR_EXCHANGES", os.path.join(folder, "exchanges.jsonl"))
            os.makedirs(os.path.dirname(exchanges), exist_ok=True)
            if os.path.exists(exchanges):
                os.remove(exchanges)
            code = subprocess.run(command, env=environment, check=False).returncode
        finally:
            process.terminate()
            ended = process.wait(timeout=30)
        if ended != 0:
            print(f"the emulator ended with {ended}", file=sys.stderr)
        return code or (1 if ended != 0 else 0)


if __name__ == "__main__":
    sys.exit(main())
