#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the tests of each guarantee (guarantees.tsv) and checks that every guarantee has a test that holds and, where a verdict can be lost, one that loses it.

usage: guarantees.py [ID] -> "id: statement" and its tests, allowed and forbidden. Exit 1 when a guarantee has no test, or a test names one that is not listed.
"""
import collections
import glob
import json
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
listed = dict(l.rstrip("\n").split("\t") for l in open(f"{here}/guarantees.tsv") if not l.startswith("#"))
tests, faults, total = collections.defaultdict(list), [], 0
for path in sorted(glob.glob(f"{here}/*.jsonl")):
    for line in open(path):
        d = json.loads(line)
        total += 1
        if not d.get("derivation"):
            faults.append(f"{d['name']} has no derivation")
        for g in d["guarantee"]:
            tests[g].append(d)
            if g not in listed:
                faults.append(f"{d['name']} names '{g}', which guarantees.tsv does not list")
for g, statement in listed.items():
    if len(sys.argv) > 1 and g != sys.argv[1]:
        continue
    print(f"{g}: {statement}")
    for d in tests[g]:
        print(f"    {d['verdict']:9s} {d['name']}")
    if not tests[g]:
        faults.append(f"{g} has no test")
    elif len({d["verdict"] for d in tests[g]}) < 2:
        faults.append(f"{g} is shown from one side only: {tests[g][0]['verdict']}")
print(f"{total} tests, {len(listed)} guarantees")
for f in faults:
    print("FAULT", f)
sys.exit(bool(faults))
