#!/usr/bin/env python3
"""Runs the README's quick start as it stands, in an empty directory.

usage: readme_test.py README BIN_DIR PLUGIN_DIR
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

readme, bin_dir, plugin_dir = map(os.path.abspath, sys.argv[1:])
with open(readme, encoding="utf-8") as f:
    block = re.search(r"<!-- executed by tests/contract/readme_test.py -->\n```sh\n(.*?)```", f.read(), re.S)
if not block:
    sys.exit("the README has no executed block")

directory = tempfile.mkdtemp(prefix="site-agent-readme-")
environment = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"], PLUGINS=plugin_dir,
                   WALDUR_SITE_AGENT_HEARTBEAT_PATH=os.path.join(directory, "heartbeat"))
# A session of its own, so that the emulator the block leaves running ends with it.
shell = subprocess.Popen(["sh", "-eu", "-c", block.group(1)], cwd=directory, env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
try:
    shell.wait(60)
finally:
    os.killpg(shell.pid, signal.SIGTERM)
output = shell.stdout.read()
print(output)
shutil.rmtree(directory)
sys.exit(0 if shell.returncode == 0 and output.strip().endswith("1") else "the quick start does not do what it says")
