#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the JavaScript tests with the packages they name, in a folder of the build tree.

  run.py FOLDER        lays the tests and the packages there
  run.py FOLDER FILE   runs one of them

The packages are fetched when package.json changed since the last time, else what is there is used.
Exits 77 with a reason when there is no node to run them, which CTest counts as skipped.
"""
import os
import re
import shutil
import subprocess
import sys

NEEDED = 18  # the major version; the packages ask for 20 and run on 18 with the option below


def skip(reason):
    print(f"Skipped\n{reason}")
    sys.exit(77)


def check_node():
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            skip(f"the official JavaScript clients were not tried: no {program} on this machine")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(re.match(r"v(\d+)", version).group(1)) < NEEDED:
        skip(f"the official JavaScript clients were not tried: they need node {NEEDED}, this is {version}")
    # What later versions have by default.
    return ["--experimental-global-webcrypto"] if version.startswith("v18.") else []


def install(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(here, "package.json"), encoding="utf-8") as f:
        wanted = f.read()
    done = os.path.join(folder, "installed.json")
    present = ""
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            present = f.read()
    for name in os.listdir(here):
        if name.endswith(".js") or name == "package.json":
            shutil.copyfile(os.path.join(here, name), os.path.join(folder, name))
    if present == wanted:
        return
    if present:
        os.remove(done)
    shutil.rmtree(os.path.join(folder, "node_modules"), ignore_errors=True)
    subprocess.run(
        ["npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder, check=True,
    )
    with open(done, "w", encoding="utf-8") as f:
        f.write(wanted)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    options = check_node()
    if len(sys.argv) == 2:
        install(sys.argv[1])
        return 0
    return subprocess.run(
        ["node", *options, "--test", "--test-reporter=spec", sys.argv[2]], cwd=sys.argv[1], check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
