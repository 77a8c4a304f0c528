#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the Python tests with the packages of requirements.txt, in a virtual environment of the build tree.

  run.py FOLDER        makes the environment
  run.py FOLDER FILE   runs one test with it

The packages are fetched when requirements.txt changed since the last time.
"""
import os
import shutil
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))


def install(folder):
    with open(os.path.join(HERE, "requirements.txt"), encoding="utf-8") as f:
        wanted = f.read()
    done = os.path.join(folder, "installed.txt")
    if os.path.exists(done):
        with open(done, encoding="utf-8") as f:
            if f.read() == wanted:
                return
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    subprocess.run(
        [python_of(folder), "-m", "pip", "install", "--quiet", "-r", os.path.join(HERE, "requirements.txt")],
        check=True,
    )
    with open(done, "w", encoding="utf-8") as f:
        f.write(wanted)


def python_of(folder):
    return os.path.join(folder, "bin", "python")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if len(sys.argv) == 2:
        install(sys.argv[1])
        return 0
    return subprocess.run([python_of(sys.argv[1]), os.path.join(HERE, sys.argv[2])], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
