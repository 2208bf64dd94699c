#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the coverage page: which instructions of which architecture the emulator executes.

  coverage.py VECTORS --census CENSUS.tsv > docs/coverage.md
  coverage.py > own.md                       the same of the words in tests/decoder/data

Verified on hardware is what tests/hardware/verified.tsv lists without a difference, and the families of MATRIX and MUFU, which
have records of their own.

VECTORS: a directory of ARCH.tsv.gz files (a word of 32 hex digits first on each line): words sampled from shipping libraries,
which are not ours to commit. CENSUS: how often each mnemonic with its modifiers occurs per architecture (a head line of
architectures, then a line per form, between tabs); then the page says what share of the instructions in the sampled
libraries executes. The program that answers: `cmake --build --preset release --target isa-coverage`. Here: counting and the page. Not here: asking (coverage_main.cpp).
"""
import argparse
import collections
import glob
import gzip
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERIFIED = os.path.join(ROOT, "tests", "hardware", "verified.tsv")
MEASURED = ("sm_90", "sm_90a")  # the architectures of the chip
# matrix.bin.zst, special.bin, warpgroup/record.bin
OWN_RECORD = {"HMMA", "IMMA", "BMMA", "DMMA", "MOVM", "LDSM", "STSM", "MUFU", "HGMMA", "QGMMA", "IGMMA", "BGMMA"}
TUPLES = 1000000


def sampled(files):
    """Lines of architecture and word."""
    for path in files:
        arch = os.path.basename(path).split(".")[0]
        with gzip.open(path, "rt") as f:
            yield from ("%s\t%s\n" % (arch, line[:32]) for line in f if line[0] != "#")


def own():
    data = os.path.join(ROOT, "tests", "decoder", "data")
    for path, opener in ((os.path.join(data, "own.tsv"), open), (os.path.join(data, "compiled.tsv.gz"), gzip.open)):
        with opener(path, "rt") as f:
            yield from ("\t".join(line.split("\t")[:2]) + "\n" for line in f)


def ask(program, lines):
    """(arch, name) -> set of answers."""
    done = subprocess.run([program], input="".join(lines), stdout=subprocess.PIPE, text=True, check=True)
    answers = collections.defaultdict(set)
    for line in done.stdout.splitlines():
        arch, name, answer = line.split("\t")
        answers[arch, name].add(answer)
    return answers


def verified_names():
    names = set()
    with open(VERIFIED) as f:
        for line in f:
            name, _, tuples, differ = line.split("\t")[:4]
            if name[0] != "#" and int(tuples) >= TUPLES and differ == "0":
                names.add(name)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", nargs="?")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "bin", "isa-coverage"))
    parser.add_argument("--census")
    options = parser.parse_args()
    files = glob.glob(os.path.join(options.vectors, "sm_*.tsv.gz")) if options.vectors else []
    if options.vectors and not files:
        print("no ARCH.tsv.gz in " + options.vectors, file=sys.stderr)
        return 2
    answers = ask(options.program, sampled(files) if files else own())
    arches = sorted({a for a, _ in answers}, key=lambda a: (int(a.rstrip("af")[3:]), a))
    good = {key for key, value in answers.items() if value == {"yes"}}
    print("# Coverage\n\nWritten by `tests/isa/coverage.py`; do not edit. A form is a mnemonic with its modifiers that occurs in %s.\n"
          "To make the page anew takes a sample of words of shipping libraries and a census of their forms, which are not ours to commit (the\n"
          "script's head says in which form); without them the script makes the same page of the words in `tests/decoder/data`.\n"
          "Decoded: nvdisasm's text. Executed: every sampled word of the form has a behaviour. Verified: equal to an H200 (of warpgroups: H100)\n"
          "on a million operand tuples or more (`tests/hardware`); matrix instructions and MUFU by records of their own. Memory, control flow\n"
          "and synchronisation have no words of that kind; the plans in `cubins` run them. What is assumed for the other architectures:\n"
          "`emu/isa/ARCHITECTURES.md`." % ("code of shipping libraries" if files else "own code"))
    measured = verified_names()
    checked = {(a, n) for a, n in good if a in MEASURED and (n in measured or n.split(".")[0] in OWN_RECORD)}
    census = collections.defaultdict(dict)
    if options.census:
        with open(options.census) as f:
            head = f.readline().rstrip("\n").split("\t")[1:]
            for line in f:
                name, *counts = line.rstrip("\n").split("\t")
                for arch, count in zip(head, counts):
                    census[arch][name] = int(count)
    statuses = [("decoded", lambda k: answers[k] != {"undecodable"}), ("executed", lambda k: k in good), ("verified", lambda k: k in checked)]
    print("\n| architecture | forms |" + "".join(" %s | share of the census |" % name for name, _ in statuses))
    print("|---|---|" + "---|---|" * len(statuses))
    for arch in arches:
        names = {n for a, n in answers if a == arch}
        row = "| %s | %d |" % (arch, len(names))
        total = sum(census[arch].get(n, 0) for n in names)
        for status, holds in statuses:
            those = {n for n in names if holds((arch, n))}
            if status == "verified" and arch not in MEASURED:
                row += " | |"
            else:
                row += " %d | %s |" % (len(those), "%.3f %%" % (100 * sum(census[arch].get(n, 0) for n in those) / total) if total else "")
        print(row)
    print("\n## By mnemonic\n\nExecuted forms of all forms, all of which decode; for sm_90 and sm_90a, behind a semicolon, the forms that are verified on hardware.\n"
          "Empty where the architecture lacks the mnemonic in the sample.\n")
    print("| mnemonic | " + " | ".join(arches) + " |")
    print("|---|" + "---|" * len(arches))
    for base in sorted({n.split(".")[0] for _, n in answers}):
        cells = []
        for arch in arches:
            forms = [n for a, n in answers if a == arch and n.split(".")[0] == base]
            cell = "%d/%d" % (sum((arch, n) in good for n in forms), len(forms)) if forms else ""
            seen = sum((arch, n) in checked for n in forms)
            cells.append(cell + ("; %d" % seen if seen else ""))
        print("| %s | %s |" % (base, " | ".join(cells)))
    print("\n## Not executed\n\nWhat of sm_75 to sm_90 stands here is LDGMC (multimem.ld_reduce of PTX), a load from all copies of a multicast object, which several\n"
          "devices have; it is neither scalar nor warp-matrix arithmetic, and all of that executes on these architectures. Of sm_90a stand here\n"
          "tensor copies of images (IM2COL).\n")
    missing = collections.defaultdict(set)
    for (arch, name), value in answers.items():
        for reason in value - {"yes"}:
            missing[name, reason].add(arch)
    for (name, reason), where in sorted(missing.items()):
        print("- `%s` (%s): %s" % (name, ", ".join(a for a in arches if a in where), reason))
    return 0


if __name__ == "__main__":
    sys.exit(main())
