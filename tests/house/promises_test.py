#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every promise of docs/robustness.md names its test and what that tries, and the cases it names exist: promises_test.py SOURCE"""
import glob
import os
import re
import sys


def rows(text):
    """Of tables of promises: (line, cells)."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif line.startswith("| promise |"):
            inside = True
        elif inside and not line.startswith("|---"):
            yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]


def cases(cell):
    """Names of cases: `x_test`: Suite.Case, test_some_case_*."""
    for name in re.findall(r"\btest_\w+\*?", cell):
        yield name.rstrip("*").rstrip("_")
    for suite, case in re.findall(r"\b([A-Z]\w+)\.([A-Z]\w+)", cell):
        yield suite
        yield case


def main():
    source = sys.argv[1]
    texts = []
    for path in glob.glob(os.path.join(source, "tests", "**", "*"), recursive=True):
        if path.endswith((".cpp", ".py", ".txt", ".hpp")) or os.path.basename(path) in ("matrix", "signals", "mutants"):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
    everything = "\n".join(texts)
    with open(os.path.join(source, "docs", "robustness.md"), encoding="utf-8") as file:
        promises = list(rows(file.read()))
    wrong = 0
    for number, cells in promises:
        problems = [] if len(cells) == 3 and all(cells) else ["needs a promise, its tests, and what they try"]
        problems += [f"nothing is called {name}" for name in cases(cells[1] if len(cells) > 1 else "") if name not in everything]
        for problem in problems:
            wrong += 1
            print(f"docs/robustness.md:{number}: {problem}")
    print(f"{len(promises)} promises, {wrong} problems")
    return 1 if wrong or len(promises) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
