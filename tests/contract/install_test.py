#!/usr/bin/env python3
"""Installs the component `agent` into an empty prefix and starts every command by its Python name; the same for `stado`.

usage: install_test.py CMAKE BUILD_DIR
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

cmake, build = sys.argv[1:]
prefix = tempfile.mkdtemp(prefix="site-agent-install-")
problems = []
try:
    subprocess.run([cmake, "--install", build, "--component", "agent", "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    bin_dir = os.path.join(prefix, "bin")
    programs = sorted(os.listdir(bin_dir))
    print(*programs)
    if len(programs) != 10:
        problems.append(f"{len(programs)} programs instead of 10")
    pages = os.listdir(os.path.join(prefix, "share/man/man8"))
    for name in programs:
        path = os.path.join(bin_dir, name)
        if name != "waldur-site-agent" and os.readlink(path) != "waldur-site-agent":
            problems.append(f"{name} is no link beside the program")
        if name + ".8" not in pages:
            problems.append(f"{name} has no manual page")
        expected = 1 if name == "waldur_site_test_order" else 0
        run = subprocess.run([path, "--help"], capture_output=True, text=True)
        if run.returncode != expected:
            problems.append(f"{name} --help: exit {run.returncode} {run.stdout}{run.stderr}")
    folders = [top for top, _, names in os.walk(prefix) if "null.so" in names]
    listed = subprocess.run([os.path.join(bin_dir, "waldur-site-agent"), "plugin", "list", "--plugin-dir", *folders],
                            capture_output=True, text=True)
    if len(folders) != 1 or not folders[0].endswith("/site-agent/plugins") or listed.returncode != 0 or "null" not in listed.stdout:
        problems.append(f"plugins in {folders}: {listed.stdout}{listed.stderr}")
    units = os.path.join(prefix, "lib/systemd/system")
    for unit in sorted(os.listdir(units)):
        with open(os.path.join(units, unit), encoding="utf-8") as f:
            words = re.search(r"^ExecStart=(.*)$", f.read(), re.M).group(1).split()
        if words[-1] != "/etc/waldur/waldur-site-agent-config.yaml":
            problems.append(f"{unit} reads {words[-1]}")
        words = [os.path.join(bin_dir, words[0])] + words[1:-1] + [os.path.join(prefix, "absent.yaml")]
        run = subprocess.run(words, capture_output=True, text=True)
        if run.returncode != 1 or "absent.yaml" not in run.stderr:
            problems.append(f"{unit}: exit {run.returncode}: {run.stdout}{run.stderr}")
    fleet = os.path.join(prefix, "fleet")
    subprocess.run([cmake, "--install", build, "--component", "stado", "--prefix", fleet], check=True, stdout=subprocess.DEVNULL)
    run = subprocess.run([os.path.join(fleet, "bin/stado"), "--help"], capture_output=True, text=True)
    if run.returncode != 0 or "cloud" not in run.stdout:
        problems.append(f"stado --help: exit {run.returncode} {run.stdout}{run.stderr}")
    pages = os.listdir(os.path.join(fleet, "share/man/man1"))
    if not {"stado.1", "stado-cloud-host.1"} <= set(pages):
        problems.append(f"manual pages of stado: {pages}")
    if sum("azure.so" in names for _, _, names in os.walk(fleet)) != 1:
        problems.append("stado is installed without its plugins")
    unit = os.path.join(fleet, "lib/systemd/system/stado-coordinator@.service")
    with open(unit, encoding="utf-8") as f:
        words = re.search(r"^ExecStart=(.*)$", f.read(), re.M).group(1).split()
    run = subprocess.run([os.path.join(fleet, "bin", words[0]), *words[1:], "--help"], capture_output=True, text=True)
    if run.returncode != 0:
        problems.append(f"{unit}: exit {run.returncode}: {run.stdout}{run.stderr}")
finally:
    shutil.rmtree(prefix)
print("\n".join(problems))
sys.exit(1 if problems else 0)
