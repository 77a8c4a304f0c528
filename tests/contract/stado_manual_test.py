#!/usr/bin/env python3
"""Compares stado's --help with its manual pages: every command, option and variable is in both.

usage: stado_manual_test.py STADO SOURCE_DIR
"""
import os
import re
import shutil
import subprocess
import sys

stado, source = sys.argv[1:]
problems = []
pages = {}
for name in sorted(os.listdir(os.path.join(source, "packaging/man"))):
    if re.fullmatch(r"stado.*\.1", name):
        with open(os.path.join(source, "packaging/man", name), encoding="utf-8") as f:
            pages[name] = f.read()
manual = "\n".join(pages.values())


def help_of(words):
    run = subprocess.run([stado, *words, "--help"], capture_output=True, text=True)
    if run.returncode != 0 or run.stderr:
        problems.append(f"stado {' '.join(words)} --help: exit {run.returncode}: {run.stderr}")
    return run.stdout


def section(text, title):
    found = re.search(rf"^{title}:\n((?:  .*\n)+)", text, re.M)
    return found.group(1) if found else ""


def visit(words, seen_options):
    text = help_of(words)
    if len(words) > 0 and not re.search(r"\b" + r"[ |,a-z-]*\b".join(map(re.escape, words)), manual):
        problems.append(f"no manual page names stado {' '.join(words)}")
    for option in re.findall(r"^  (?:-\w,)?--([a-z-]+)", section(text, "Options"), re.M):
        if option not in seen_options and not re.search(rf"Fl -{option}\b", manual):
            problems.append(f"no manual page has the option --{option} of stado {' '.join(words)}")
        seen_options.add(option)
    for command in re.findall(r"^  ([a-z]+)\b", section(text, "Subcommands"), re.M):
        visit([*words, command], seen_options)


options = set()
visit([], options)
if len(options) < 10:
    problems.append(f"only {len(options)} options seen; does --help look otherwise now?")

# Variables that the sources read are in ENVIRONMENT.
for folder in ("core/fleet", "core/app/stado"):
    for root, _, names in os.walk(os.path.join(source, folder)):
        for name in names:
            with open(os.path.join(root, name), encoding="utf-8") as f:
                for variable in re.findall(r'"((?:STADO|WC)_[A-Z_]+)"', f.read()):
                    if variable not in manual:
                        problems.append(f"{name} reads {variable}, which no manual page has")

# The pages are well formed, as far as a formatter can tell.
if not shutil.which("groff"):
    print("the form of the pages was not looked at: there is no groff")
    pages = {}
for name in pages:
    run = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", os.path.join(source, "packaging/man", name)],
                         capture_output=True, text=True)
    if run.returncode != 0 or run.stderr:
        problems.append(f"{name}: {run.stderr}")

print("\n".join(problems))
sys.exit(1 if problems else 0)
