#!/usr/bin/env python3
"""Holds docs/switching.md against the code and, where they are at hand, against the contract's tables.

usage: switching_test.py SOURCE_DIR AGENT [CONTRACT]

* Every key that the reader of the configuration asks for, every variable of the environment, and every Python command name
  has a row; so has every row of the contract's tables 1.1 to 1.8.
* A row "same" or "better" names something that the code has; no row of a key is "not offered" without a word in the code, or without why.
* Every command of ours is mentioned.
"""
import os
import re
import subprocess
import sys

source, agent = map(os.path.abspath, sys.argv[1:3])
contract = sys.argv[3] if len(sys.argv) > 3 and os.path.exists(sys.argv[3]) else None
problems = []


def read(path):
    with open(os.path.join(source, path), encoding="utf-8") as f:
        return f.read()


def code(*folders):
    texts = []
    for folder in folders:
        for top, _, names in os.walk(os.path.join(source, folder)):
            texts += [read(os.path.join(top, n)) for n in names if n.endswith((".cpp", ".hpp"))]
    return "\n".join(texts)


def rows_of(text):
    """(names of the first column, verdict, whole line) of each table row."""
    for line in text.split("\n"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 3:
            names = re.findall(r"`([^`]+)`", cells[0])
            if names:
                yield names, cells[1], line


page = read("docs/switching.md")
verdicts, lines = {}, {}
for names, verdict, line in rows_of(page):
    if verdict not in ("same", "better", "not offered"):
        problems.append(f"docs/switching.md: no verdict in: {line}")
    if verdict == "not offered" and len(line.strip("| ").split("|")[2].split()) < 5:
        problems.append(f"docs/switching.md: not offered without why, or what to use instead: {line}")
    for name in names:
        verdicts[name], lines[name] = verdict, line


def want(name, what):
    if name not in verdicts and f"`{name}`" not in "".join(l for n, l in lines.items() if n == "log_shipping"):
        problems.append(f"{what}: `{name}` has no row in docs/switching.md")


# The code's names.
config = code("core/config")
for key in sorted(set(re.findall(
        r"(?:\.|->)(?:text|required_text|boolean|integer|decimal|word|map|list|require)\(\s*\"([a-z_]+)\"", config)
        + re.findall(r"\bread_\w+\(\s*o,\s*\"([a-z_]+)\"", config))):
    want(key, "the reader of the configuration")
for block in re.findall(r"for \(const std::string_view key :\s*\{([^}]*)\}", read("core/config/components.cpp")):
    for key in re.findall(r'"([a-z_]+)"', block):
        want(key, "the reader of components")
core = code("core")
for variable in sorted(set(re.findall(r'"((?:WALDUR|SENTRY)_[A-Z_]*[A-Z])"', core))):
    if variable in verdicts or f"`{variable}`" in page:
        continue
    problems.append(f"core: `{variable}` is not in docs/switching.md")
python_names = read("core/app/python_names.cpp")
names = re.findall(r'"(waldur_sync?[a-z_]+|waldur_site_[a-z_]+)"', python_names)
for name in names:
    want(name, "core/app/python_names.cpp")
links = re.findall(r"^  (waldur_[a-z_]+)\)?$", read("core/app/CMakeLists.txt"), re.M)
if sorted(links) != sorted(names):
    problems.append(f"links {sorted(links)} and names {sorted(names)} differ")
for flag in re.findall(r'"(--[a-z-]+)"', python_names):
    if flag != "--help" and f"`{flag}`" not in page:
        problems.append(f"core/app/python_names.cpp: {flag} is not in docs/switching.md")
usage = subprocess.run([agent, "--help"], capture_output=True, text=True, check=True).stdout
for command in re.findall(r"^  ([a-z-]+) {2,}\S", usage.split("Subcommands:")[1], re.M):
    if not re.search(rf"`{command}( \w+)?`", page):
        problems.append(f"{command} of 'waldur-site-agent --help' is not in docs/switching.md")

# What the page claims.
everything = core + code("plugins")
for name, verdict in verdicts.items():
    if verdict != "not offered" and re.fullmatch(r"[a-z_]+|[A-Z_]+", name) and f'"{name}"' not in everything:
        problems.append(f'docs/switching.md: `{name}` is "{verdict}", but the code does not name it')

# The contract's rows.
if contract:
    with open(contract, encoding="utf-8") as f:
        text = f.read()
    for number in range(1, 9):
        section = re.search(rf"^### 1\.{number} .*?(?=^#)", text, re.S | re.M).group(0)
        for line in section.split("\n"):
            cells = line.split("|")
            if line.startswith("|") and len(cells) > 3:
                for name in re.findall(r"`([^`]+)`", cells[1]):
                    want(name, f"contract 1.{number}")
                if number == 8 and re.search("`", cells[1]):
                    for flag in re.findall(r"(?<![\w-])(--[a-z-]+|-[a-z]\b)", cells[2]):
                        if flag not in ("-m",) and f"`{flag}`" not in lines.get(re.findall(r"`([^`]+)`", cells[1])[0], "") :
                            problems.append(f"contract 1.8: {flag} of {cells[1].strip()} is not in its row")
        if number == 1:
            for name in re.findall(r"`([a-z_]+)` (?:bool|int|string)", section.split("`log_shipping`:")[1]):
                want(name, "contract 1.1, log_shipping")
        if number == 4:
            for name in re.findall(r"`([^`]+)`", section.split("Known entry-point names")[1]):
                want(name, "contract 1.4")
else:
    print("the contract is not at hand: its rows were not compared")
print("\n".join(problems))
sys.exit(f"{len(problems)} problem(s)" if problems else 0)
