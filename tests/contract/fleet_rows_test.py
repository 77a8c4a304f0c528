#!/usr/bin/env python3
"""Holds the tables of core/fleet/README.md against the tests they name: every row, each with a test that exists.

usage: fleet_rows_test.py README TESTS_DIR
"""
import os
import re
import sys

page, tests = sys.argv[1:]
with open(page, encoding="utf-8") as f:
    rows = dict(re.findall(r"^\| ([RFT]\d+) \| .+ \| (.+) \|$", f.read(), re.M))

names = set()
macro = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
for directory, _, files in os.walk(tests):
    for name in files:
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as f:
            if name.endswith(".cpp"):
                names.update(".".join(found) for found in macro.findall(f.read()))

wanted = [f"{kind}{n}" for kind, last in (("R", 132), ("F", 54), ("T", 15)) for n in range(1, last + 1)]
problems = [f"{row}: no row, or one without a test" for row in wanted if "`" not in rows.get(row, "")]
for row, text in rows.items():
    for test in re.findall(r"`(\w+\.\w+)`", text):
        if test not in names and test != "contract.source_rules":
            problems.append(f"{row}: no test is called {test}")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(rows)} rows, each with its tests")
