#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""results.tsv and check-sync.jsonl of compare.py, and the reasons of reports.py -> docs/captured.md.

    page.py OUT "NVIDIA H100 80GB HBM3 (driver 580.159.04)" [docs/captured.md] > new.md
    page.py OUT --unexplained                 what no row of reports.py tells the reason of, with the mangled names

With a page, the programs that OUT has nothing of stay as they are there. Which kernels they launched, kernels.tsv.xz beside this has: program, kernel,
hashes of its code, launches, warp instructions, verdicts.
"""

import collections
import json
import lzma
import os
import re
import subprocess
import sys

import reports

HEADS = {"differ": "| program | launch | kernel | verdict | why |", "found": "| program | kernels | finding | launches | places | why |",
         "all": "| program | launches | kernels | warp instructions | verdicts |"}
KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.tsv.xz")


def demangled(names):
    """By name; of a graph's kernels (a+b+c) the first."""
    out = subprocess.run(["c++filt"], input="\n".join(name.split("+")[0] for name in names), capture_output=True, text=True).stdout.split("\n")
    return dict(zip(names, out))


def plain(name):
    """A demangled name without its result and parameters."""
    name = name.replace("(anonymous namespace)::", "")
    depth = begin = 0
    for at, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == " " and not depth:
            begin = at + 1
        if c == "(" and not depth:
            return name[begin:at]
    return name[begin:]


def short(name, mangled):
    name, more = plain(name), mangled.count("+")
    return "`%s`" % (name if len(name) < 80 else name[:77] + "...") + (" and %d more" % more if more else "")


def family(name):
    """What the names of kernels of one source have in common: no arguments of templates, no tile sizes."""
    name = plain(name)
    while (inner := re.sub(r"<[^<>]*>", "", name)) != name:
        name = inner
    return re.sub(r"_?(tilesize|knob_\d+_)?\d+x\d+.*", "_*", re.sub(r"CUB_\w+", "CUB", name))


def of_results(rows, findings):
    """The rows of the tables; and what has no reason."""
    names = demangled(sorted({r[2] for r in rows} | {f["kernel"] for f in findings}))
    differ, groups, unexplained = [], collections.defaultdict(list), set()

    def because(kind, kernel, program, sass=()):
        why = reports.why(kind, {kernel, names[kernel]}, program, sass)
        if not why:
            unexplained.add((kind, program, kernel))
        return why

    for r in rows:
        groups[r[0], r[2]].append(r)
        if r[5] not in ("equal", "equal but for what varies", "varies"):
            why = because(r[5], r[2], r[0])
            if not why and not r[6].startswith('{"plan'):
                why = re.sub(r"^kernel '[^']*' at \S+: ", "", re.sub(r"/tmp/\S*/", "", r[6])).replace("|", "/")[:160]
            differ.append([r[0], r[1], short(names[r[2]], r[2]), r[5], why])
    found = collections.defaultdict(lambda: [set(), set(), set(), []])
    for f in findings:
        kinds = [(x["kind"] + ("" if x["as_commonly_relied_on"] else " (letter)"), tuple(a["pc"] for a in x["accesses"]), [a["sass"] for a in x["accesses"]])
                 for x in f["findings"]]
        if f["end"] not in ("silent", "found"):
            kinds.append((f["end"], (), []))
        for kind, at, sass in kinds:
            kernels, launches, places, whys = found[f["program"], family(names[f["kernel"]]), kind]
            kernels.add(f["kernel"])
            launches.add(f["launch"])
            places.add((f["code"], f["kernel"], at))
            why = because(kind, f["kernel"], f["program"], sass)
            if why and why not in whys:
                whys.append(why)
    listed = [[program, f"`{name}`" + (f" ({len(kernels)})" if len(kernels) > 1 else ""), kind, str(len(launches)), str(len(places)), "; ".join(whys)]
              for (program, name, kind), (kernels, launches, places, whys) in sorted(found.items())]
    kernels = [[program, kernel, ",".join(sorted({r[3] for r in of})), str(len(of)), str(max(int(r[4]) for r in of)), said_of(of)]
               for (program, kernel), of in groups.items()]
    every = []
    for program in dict.fromkeys(r[0] for r in rows):
        of = [r for r in rows if r[0] == program]
        every.append([program, str(len(of)), str(len({(r[2], r[3]) for r in of})), str(max(int(r[4]) for r in of)), said_of(of)])
    return {"differ": differ, "found": listed, "all": every}, unexplained, kernels


def said_of(rows):
    verdicts = collections.Counter(r[5] for r in rows)
    return ", ".join("%s %d" % v if len(verdicts) > 1 else v[0] for v in verdicts.most_common())


def keep_kernels(kernels):
    again, before = {row[0] for row in kernels}, []
    if os.path.exists(KERNELS):
        with lzma.open(KERNELS, "rt") as f:
            before = [line.rstrip("\n").split("\t") for line in f]
    with lzma.open(KERNELS, "wt", preset=9) as f:
        for row in sorted(kernels + [row for row in before if row[0] not in again]):
            f.write("\t".join(row) + "\n")


def of_page(path):
    with open(path) as f:
        lines = f.read().splitlines()
    tables = {}
    for table, head in HEADS.items():
        tables[table] = []
        if head not in lines:
            continue
        at = lines.index(head) + 2
        while at < len(lines) and lines[at].startswith("| "):
            tables[table].append([cell.strip() for cell in lines[at][1:-1].split(" | ")])
            at += 1
    return tables


def counts(every):
    """How many launches have which verdict."""
    total = collections.Counter()
    for _, launches, *_, said in every:
        parts = [re.fullmatch(r"(.*?)(?: (\d+))?", part).groups() for part in said.split(", ")]
        for verdict, count in parts:
            total[verdict] += int(count or launches)
    return total


def main():
    with open(os.path.join(sys.argv[1], "results.tsv")) as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    findings = []
    if os.path.exists(os.path.join(sys.argv[1], "check-sync.jsonl")):
        with open(os.path.join(sys.argv[1], "check-sync.jsonl")) as f:
            findings = [json.loads(line) for line in f]
    tables, unexplained, kernels = of_results(rows, findings)
    if sys.argv[2] == "--unexplained":
        for row in sorted(unexplained):
            print("\t".join(row))
        return
    if len(sys.argv) > 3:
        again = {row[0] for row in tables["all"]}
        before = of_page(sys.argv[3])
        keep_kernels(kernels)
        for table in tables:
            tables[table] = sorted(tables[table] + [row for row in before[table] if row[0] not in again], key=lambda row: row[0])
    print("<!-- Generated by tests/capture/gpu/page.py: do not edit. -->\n")
    print("# Captured launches\n")
    print("Launches of the programs of `tests/capture/gpu/programs.py`, captured on an %s (`tests/capture/gpu/compare.py`), each run three times there, and replayed:" % sys.argv[2])
    print("equal is bit-equal in all memory that the launch can reach; what held something else after some of the three runs is not compared. The capsules hold")
    print("code of others and are not kept. Reasons are those of `tests/capture/gpu/reports.py`.\n")
    total = counts(tables["all"])
    print("| verdict | launches |\n|---|---|")
    for verdict, n in total.most_common():
        print("| %s | %d |" % (verdict, n))
    equal = sum(n for verdict, n in total.items() if verdict.startswith("equal"))
    left_out = sum(not row[3].startswith("equal") and bool(row[4]) for row in tables["differ"])
    whole = total.total() - total["varies"] - left_out
    print("\n%d of %d launches whose result their inputs determine and whose capsule is whole are equal: %.3f %%. Left out, each with its reason below: %d (%.2f %% of all), and %d that vary as a whole.\n"
          % (equal, whole, 100 * equal / max(1, whole), left_out, 100 * left_out / max(1, total.total()), total["varies"]))
    print("## What is not equal\n\n" + HEADS["differ"] + "\n|---|---|---|---|---|")
    for row in tables["differ"]:
        print("| " + " | ".join(row) + " |")
    if tables["found"]:
        ends = collections.Counter(f["end"] for f in findings)
        print("\n## What check-sync says\n\nOf %d launches under `check-sync` on the machine that captured them, %d are silent, %d have findings%s. Names are without arguments of"
              % (len(findings), ends["silent"], ends["found"], "".join(", ended with %s: %d" % (end, n) for end, n in sorted(ends.items()) if end not in ("silent", "found"))))
        print("templates and tile sizes (behind them how many kernels); *(letter)*: by the letter of the memory model only; *places*: pairs of instructions, of at most 40 findings a launch.\n")
        print(HEADS["found"] + "\n|---|---|---|---|---|---|")
        for row in tables["found"]:
            print("| " + " | ".join(row) + " |")
    print("\n## All programs\n\nKernels are told apart by name and code; `tests/capture/gpu/kernels.tsv.xz` lists them.\n\n" + HEADS["all"] + "\n|---|---|---|---|---|")
    for row in tables["all"]:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
