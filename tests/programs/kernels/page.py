#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What census.py and real.py found, as the tables of docs/kernels.md.

    page.py docs/kernels.md census OUT/census.jsonl
    page.py docs/kernels.md real OUT                   with chip.json beside this file, what chip.py gave on a GPU
"""
import collections
import json
import os
import sys


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


HEAD = ["package", "architecture", "files tried", "compile", "of these: decode as nvdisasm", "execute whole", "launches derived", "end", "end where a guess explains it",
        "not explained"]


def counts(group):
    """The numbers of a row: all but the shares, which follow."""
    compiled = [row for row in group if row["compiles"]]
    kernels = [kernel for row in compiled for kernel in row["kernels"]]
    ends = collections.Counter(kernel["end"] for kernel in kernels)
    return [len(group), len(compiled), sum(bool(row["decodes"]) for row in compiled), sum(not row["unsupported"] for row in compiled), len(kernels), ends["ended"],
            ends["guessed"], ends["unexplained"] + ends["limit"]]


def table(rows, before):
    """The lines; those of packages and architectures that the record has nothing of stay as they are `before`."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["file"].split()[0], row["arch"]].append(row)
    numbers = {key: counts(group) for key, group in groups.items()}
    for line in before:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(HEAD) and "sm_" in cells[1] and (cells[0], cells[1]) not in numbers:
            numbers[cells[0], cells[1]] = [int(cell.split()[0]) for cell in cells[2:]]
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    every = [sum(column) for column in zip(*numbers.values())]
    for key, n in [*sorted(numbers.items()), (("**all**", ""), every)]:
        cells = [*key, n[0], n[1], share(n[2], n[1]), share(n[3], n[1]), *n[4:]]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    reasons = collections.Counter((row["file"].split()[0], row["arch"], row["error"].split(": ", 1)[-1][:90] if "error" in row["error"] else row["error"])
                                  for row in rows if not row["compiles"])
    lines += ["", "Files that do not compile:", ""]
    lines += [f"- {package} {arch}, {count}: {reason}" for (package, arch, reason), count in reasons.most_common()]
    new = [" ".join(key) for key in groups]
    return lines + [line for line in before if line.startswith("- ") and not any(key.startswith(line[2:].split(",")[0]) for key in new)]


def read_rows(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


ARCHITECTURES = ("sm_90a", "sm_100a", "sm_120a")


def real(out, before):
    """The lines; those of launches that OUT has nothing of stay as they are `before`."""
    record = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chip.json")
    chip = {}
    if os.path.exists(record):
        with open(record) as f:
            chip = json.load(f)
    by_launch = collections.defaultdict(dict)
    for architecture in ARCHITECTURES:
        path = os.path.join(out, architecture, "real.jsonl")
        for row in read_rows(path) if os.path.exists(path) else ():
            by_launch[row["name"]][architecture] = row
    table, told = {}, {}
    for line in before:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 + len(ARCHITECTURES) and cells[0] != "launch" and not cells[0].startswith("-"):
            table[cells[0]] = cells
        if line.startswith("- "):
            name, _, text = line[2:].partition(": ")
            told[name] = text
    for name, rows in by_launch.items():
        first = next(iter(rows.values()))
        cells = table.setdefault(name, [name, first["package"]] + [""] * (3 + len(ARCHITECTURES)))
        cells[2] = f"{first.get('instructions', 0):,}"
        if "sm_90a" in rows:
            cells[3] = rows["sm_90a"].get("chip", "")
        checked = [row for row in rows.values() if "check_sync" in row]
        if checked:
            kinds = sorted({kind for row in checked for kind in (["failed"] if row["check_sync"] is None else row["check_sync"])})
            cells[4] = ", ".join(kinds) or "silent"
            told.pop(name, None)
            if checked[0]["reported"]:
                told[name] = checked[0]["reported"]
        for at, architecture in enumerate(ARCHITECTURES, 5):
            row = rows.get(architecture)
            if row:
                parts = row.get("distance")
                cells[at] = f"{max(parts.values()):.3f}" if parts else "failed" if "error" in row else ""
    gpus = sorted({row["gpu"] for row in chip.values() if "gpu" in row})
    lines = [f"| launch | package | warp instructions | {', '.join(gpus) or 'on a GPU'} | check-sync | reference: sm_90a | sm_100a | sm_120a |", "|---" * (5 + len(ARCHITECTURES)) + "|"]
    lines += ["| " + " | ".join(cells) + " |" for cells in table.values()]
    equal = sum(cells[3] == "equal" for cells in table.values())
    close = {a: sum(cells[5 + i] not in ("", "failed") and float(cells[5 + i]) <= 1 for cells in table.values()) for i, a in enumerate(ARCHITECTURES)}
    agree = ", ".join(f"{count} of {architecture}" for architecture, count in close.items())
    silent, checked = (sum(test(cells[4]) for cells in table.values()) for test in ("silent".__eq__, bool))
    lines += ["", f"{equal} launches have the chip's bits; {agree} agree with their reference; check-sync is silent on {silent} of {checked}."]
    return lines + (["", "What check-sync reports:", "", *(f"- {name}: {text}" for name, text in told.items())] if told else [])


def main():
    page, what, record = sys.argv[1:4]
    begin, end = f"<!-- {what}: begin (tests/programs/kernels/page.py writes it) -->", f"<!-- {what}: end -->"
    with open(page) as f:
        text = f.read()
    before, rest = text.split(begin)
    held, after = rest.split(end)
    lines = table(read_rows(record), held.splitlines()) if what == "census" else real(record, held.splitlines())
    with open(page, "w") as f:
        f.write(before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


main()
