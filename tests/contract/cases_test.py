#!/usr/bin/env python3
"""Holds tests/cases.md and tests/failures.md against the tests they name and the list of cases, where that is at hand.

usage: cases_test.py CASES_PAGE TESTS_DIR LIST_OF_CASES
"""
import os
import re
import sys

page, tests, listed = sys.argv[1:]
areas = "LEAK HANG THR NAME IMG NET CRED SEC CRASH DEL CONC USE TIME ORD EVT CONF SSH PRICE".split()

rows = {}
with open(page, encoding="utf-8") as f:
    for case, text in re.findall(r"^\| ([A-Z]+-\d+) \| (.+) \|$", f.read(), re.M):
        if case in rows:
            sys.exit(f"{case} is in the table twice")
        rows[case] = text

with open(os.path.join(os.path.dirname(page), "failures.md"), encoding="utf-8") as f:
    failures = dict(re.findall(r"^\| ([FC]\d+) \| .+ \| (.+) \|$", f.read(), re.M))

suites = {}
macro = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
for directory, _, files in os.walk(tests):
    for name in files:
        if name.endswith(".cpp"):
            with open(os.path.join(directory, name), encoding="utf-8") as f:
                for suite, test in macro.findall(f.read()):
                    suites.setdefault(suite, []).append(test)


def exists(wanted):
    suite, _, test = wanted.partition(".")
    if test:
        return any(t.startswith(test) for t in suites.get(suite, []))
    return any(s.startswith(suite) or any(t.startswith(suite) for t in ts) for s, ts in suites.items())


problems = [f"{case}: no test is called {name}"
            for case, text in rows.items() for name in re.findall(r"`([a-z_0-9.]+)`", text) if not exists(name)]
problems += [f"{row}: no test is called {name}"
             for row, text in failures.items() for name in re.findall(r"`([A-Za-z_0-9.]+)`", text)
             if name != "integration.matrix" and not exists(name)]
problems += [f"{row}: no row, or one without a test" for row in [f"F{n}" for n in range(1, 57)] + [f"C{n}" for n in range(1, 13)]
             if "`" not in failures.get(row, "")]
problems += [f"{case}: the case has a test of its name, which the table does not name" for case in rows
             if exists("case_" + case.lower().replace("-", "_"))
             and "case_" + case.lower().replace("-", "_") not in rows[case]]
if not os.path.exists(listed):
    if problems:
        sys.exit("\n".join(problems))
    print(f"Skipped\nthe list of cases is not at {listed} (set SITEAGENT_SHARED_DIR); {len(rows)} rows have their tests")
    sys.exit(77)
with open(listed, encoding="utf-8") as f:
    for case in re.findall(r"^### ([A-Z]+-\d+) ", f.read(), re.M):
        if case.split("-")[0] in areas and case not in rows:
            problems.append(f"{case}: not in the table")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(rows)} cases, each with its tests or the reason why there are none")
