#!/usr/bin/env python3
"""Runs the README's marked blocks as they stand, each in an empty directory, and looks at their last line.

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
MARK = r"<!-- executed by tests/contract/readme_test.py; ends with: (.*?) -->\n```sh\n(.*?)```"


def run(block, expected):
    directory = tempfile.mkdtemp(prefix="site-agent-readme-")
    environment = dict(os.environ, PATH=bin_dir + ":" + os.environ["PATH"], PLUGINS=plugin_dir,
                       CHECKOUT=os.path.dirname(readme),
                       WALDUR_SITE_AGENT_HEARTBEAT_PATH=os.path.join(directory, "heartbeat"))
    # A session of its own, so that the emulators the block leaves running end with it.
    shell = subprocess.Popen(["sh", "-eu", "-c", block], cwd=directory, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        shell.wait(100)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass  # nothing of the block is left
    output = shell.stdout.read()
    print(output)
    shutil.rmtree(directory)
    return shell.returncode == 0 and output.strip().split("\n")[-1] == expected


with open(readme, encoding="utf-8") as f:
    blocks = re.findall(MARK, f.read(), re.S)
if len(blocks) != 2:
    sys.exit(f"the README has {len(blocks)} executed blocks instead of 2")
wrong = [expected for expected, block in blocks if not run(block, expected)]
sys.exit(f"a block of the README does not end with: {', '.join(wrong)}" if wrong else 0)
