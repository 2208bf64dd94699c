#!/usr/bin/env python3
"""Writes the coverage page: which instructions of which architecture the emulator executes.

  coverage.py VECTORS [--program isa-coverage] [--census CENSUS.tsv] > docs/coverage.md

VECTORS: a directory of ARCH.tsv.gz files (a word of 32 hex digits first on each line), for instance words sampled from
shipping libraries. CENSUS: how often each mnemonic with its modifiers occurs per architecture; then the page says what share of
the instructions in the sampled libraries executes. Here: counting and the page. Not here: asking (coverage_main.cpp).
"""
import argparse
import collections
import glob
import gzip
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STATUS = {
    "sm_90": "measured: compared with an H200 (tests/hardware)",
    "sm_90a": "measured as sm_90; what only sm_90a has is not executed yet",
}


def ask(program, files):
    """(arch, name) -> set of answers."""
    lines = []
    for path in files:
        arch = os.path.basename(path).split(".")[0]
        with gzip.open(path, "rt") as f:
            lines += ["%s\t%s\n" % (arch, line[:32]) for line in f if line[0] != "#"]
    done = subprocess.run([program], input="".join(lines), stdout=subprocess.PIPE, text=True, check=True)
    answers = collections.defaultdict(set)
    for line in done.stdout.splitlines():
        arch, name, answer = line.split("\t")
        answers[arch, name].add(answer)
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "bin", "isa-coverage"))
    parser.add_argument("--census")
    options = parser.parse_args()
    files = glob.glob(os.path.join(options.vectors, "sm_*.tsv.gz"))
    if not files:
        print("no ARCH.tsv.gz in " + options.vectors, file=sys.stderr)
        return 2
    answers = ask(options.program, files)
    arches = sorted({a for a, _ in answers}, key=lambda a: (int(a.rstrip("af")[3:]), a))
    good = {key for key, value in answers.items() if value == {"yes"}}
    print("# Coverage\n\nWritten by `tests/isa/coverage.py`; do not edit. A form is a mnemonic with its modifiers that occurs in code of\n"
          "shipping libraries. Executed means: every sampled word of the form has a behaviour. How it is known to be right:\n")
    for arch in arches:
        print("- %s: %s" % (arch, STATUS.get(arch, "assumed to compute as sm_90 where the instruction is the same; differences that are known stand in emu/isa/MATRIX.md and SPECIAL.md")))
    census = collections.defaultdict(dict)
    if options.census:
        with open(options.census) as f:
            head = f.readline().rstrip("\n").split("\t")[1:]
            for line in f:
                name, *counts = line.rstrip("\n").split("\t")
                for arch, count in zip(head, counts):
                    census[arch][name] = int(count)
    print("\n| architecture | forms | executed |" + (" share of all instructions sampled |" if census else ""))
    print("|---|---|---|" + ("---|" if census else ""))
    for arch in arches:
        names = {n for a, n in answers if a == arch}
        yes = {n for n in names if (arch, n) in good}
        row = "| %s | %d | %d |" % (arch, len(names), len(yes))
        if census:
            total = sum(census[arch].get(n, 0) for n in names)
            row += " %.3f %% |" % (100 * sum(census[arch].get(n, 0) for n in yes) / total) if total else " |"
        print(row)
    print("\n## By mnemonic\n\nExecuted forms of all forms; empty where the architecture lacks the mnemonic in the sample.\n")
    print("| mnemonic | " + " | ".join(arches) + " |")
    print("|---|" + "---|" * len(arches))
    for base in sorted({n.split(".")[0] for _, n in answers}):
        cells = []
        for arch in arches:
            forms = [n for a, n in answers if a == arch and n.split(".")[0] == base]
            cells.append("%d/%d" % (sum((arch, n) in good for n in forms), len(forms)) if forms else "")
        print("| %s | %s |" % (base, " | ".join(cells)))
    print("\n## Not executed\n")
    missing = collections.defaultdict(set)
    for (arch, name), value in answers.items():
        for reason in value - {"yes"}:
            missing[name, reason].add(arch)
    for (name, reason), where in sorted(missing.items()):
        print("- `%s` (%s): %s" % (name, ", ".join(a for a in arches if a in where), reason))
    return 0


if __name__ == "__main__":
    sys.exit(main())
