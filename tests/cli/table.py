#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/kernels.md: what works on which architecture, made from running the committed plans.

Usage: table.py PROGRAM SOURCE_DIR NOTES_DIR [--write]
Notes are the exit codes that the plan tests left (plan_check.sh); a plan without a note is run now.
Without --write: exits 1 if the table is not the one that the plans give.
"""
import glob
import json
import os
import re
import subprocess
import sys

BEGIN, END = "<!-- table: begin (tests/cli/table.py writes it) -->", "<!-- table: end -->"


def exit_code(program, plan, arch, notes):
    kernel = os.path.basename(os.path.dirname(plan))
    note = os.path.join(notes, kernel + "." + arch)
    # A note older than the program or the plan says nothing about them.
    newest = max(os.path.getmtime(program), os.path.getmtime(plan))
    if os.path.exists(note) and os.path.getmtime(note) > newest:
        with open(note) as f:
            text = f.read().split("\n", 1)
        return int(text[0]), text[1]
    result = subprocess.run([program, "run", plan, "--arch", arch], capture_output=True, text=True, errors="replace")
    return result.returncode, result.stdout


def cell(code):
    if code == 0:
        return "yes"
    return "exit 5" if code == 5 else "**no**"


def table(program, root, notes):
    plans = {}  # (kernel, arch) -> plan
    for plan in glob.glob(os.path.join(root, "cubins", "*", "plan.json")):
        with open(plan) as f:
            plans.update({(os.path.basename(os.path.dirname(plan)), arch): plan for arch in json.load(f)["arch"]})
    archs = sorted({arch for _, arch in plans}, key=lambda a: (int(re.sub(r"\D", "", a)), a))
    kernels = sorted({kernel for kernel, _ in plans})
    rows, good, total = [], {a: 0 for a in archs}, {a: 0 for a in archs}
    for kernel in kernels:
        cells = []
        for arch in archs:
            if (kernel, arch) not in plans:
                cells.append("")
                continue
            code, _ = exit_code(program, plans[kernel, arch], arch, notes)
            cells.append(cell(code))
            total[arch] += 1
            good[arch] += code == 0
        rows.append("| %s | %s |" % (kernel, " | ".join(cells)))
    head = ["| kernel | %s |" % " | ".join(archs), "|---|%s" % ("---|" * len(archs)),
            "| **all** | %s |" % " | ".join("**%d of %d**" % (good[a], total[a]) for a in archs)]
    return "\n".join(head + rows)


def main():
    program, root, notes = sys.argv[1:4]
    path = os.path.join(root, "docs", "kernels.md")
    with open(path) as f:
        page = f.read()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        print("docs/kernels.md has lost the table's marks")
        return 1
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    new = "\n" + table(program, root, notes) + "\n"
    if old == new:
        return 0
    if "--write" in sys.argv:
        with open(path, "w") as f:
            f.write(before + BEGIN + new + END + after)
        return 0
    for a, b in zip(old.split("\n"), new.split("\n")):
        if a != b:
            print("page:  %s\nplans: %s" % (a, b))
    print("docs/kernels.md is not current: cmake --build --preset release --target table")
    return 1


if __name__ == "__main__":
    sys.exit(main())
