#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fences and barriers that are stronger than anything needs: cubins/sync/too_strong has some of each kind and one that is
needed; of the other correct patterns, of which every link is needed (the twins show it), none may be listed.

    strong_test.py SASSEMU ROOT [SEEDS]
"""
import json
import os
import subprocess
import sys
import tempfile

from sync_plans import sync_plans


def too_strong(program, plan, seeds):
    with tempfile.TemporaryDirectory() as work:
        reports = {kind: os.path.join(work, kind) for kind in ("json", "sarif")}
        out = subprocess.run([program, "check-sync", plan.plan, "--arch", plan.arch, "--seeds", str(seeds), "--json", reports["json"], "--sarif",
                              reports["sarif"]], capture_output=True, text=True).stdout
        with open(reports["json"]) as f:
            listed = json.load(f)["too_strong"]
        with open(reports["sarif"]) as f:
            notes = [r for r in json.load(f)["runs"][0]["results"] if r["ruleId"] == "too-strong"]
    assert len(notes) == len(listed) and all(r["level"] == "note" for r in notes), "SARIF has others than JSON"
    # Each was tried without, or with what would do in its place, in a good part of the runs.
    assert all(s["label"] == "evidence, not proof" and s["runs"] == seeds and s["tried"] > seeds // 4 for s in listed), listed
    return listed, out


def problems_of(program, folder, plans, seeds):
    sys.path.insert(0, folder)
    problems = []

    with open(os.path.join(folder, "too_strong", "too_strong.cu")) as f:
        marks = {line.rsplit("@", 1)[1].strip(): number for number, line in enumerate(f, 1) if "// @" in line}
    listed, out = too_strong(program, plans["too_strong/correct.sm_90.line"], seeds)
    got = {(s["line"], s["what"], s["would_do"]) for s in listed}
    wanted = {(marks["idle"], "barrier", "none"), (marks["warp"], "barrier", "warp"), (marks["fence"], "fence", "none"),
              (marks["proxy"], "proxy fence", "none")}
    for w in sorted(wanted - got):
        problems.append("too_strong: %s is not listed; %s" % (w, sorted(got)))
    for g in sorted(got):
        if g[0] == marks["needed"]:
            problems.append("too_strong: the barrier that is needed is listed: %s" % (g,))
    if "not proof" not in out:
        problems.append("the text does not say what the list is:\n" + out)

    path = os.path.join(folder, "too_strong_fences", "too_strong_fences.cu")
    with open(path) as f:
        marks = {line.rsplit("@", 1)[1].strip(): number for number, line in enumerate(f, 1) if "// @" in line}
    for name in ("too_strong_fences/correct.sm_90.line", "too_strong_fences/correct.sm_90"):
        got = {(s.get("line"), s["what"], s["would_do"]) for s in too_strong(program, plans[name], seeds)[0] if s["what"] == "fence"}
        wanted = {(marks[m], "fence", "acq_rel.gpu") for m in ("system", "receive")}
        if got != wanted if "line" in name else len(got) != 2:
            problems.append("%s: %s, not %s" % (name, sorted(got), sorted(wanted)))
    # A failure to those who ask for it.
    asked = [program, "check-sync", plans["too_strong/correct.sm_90.line"].plan, "--arch", "sm_90", "--seeds", str(seeds)]
    codes = [subprocess.run(asked + more, capture_output=True).returncode for more in ([], ["--too-strong"])]
    if codes != [0, 6]:
        problems.append("exit codes %s, not 0 and with --too-strong 6" % codes)

    # One run is not enough to list anything.
    few, out = too_strong(program, plans["too_strong/correct.sm_90.line"], 1)
    if few:
        problems.append("listed after one run: %s" % few)

    # In bulk_load two barriers do not matter: the one before the copy orders the initialisation and the writes as well.
    for pattern in ("syncthreads", "tree", "cluster_barrier", "bulk_store", "named_barriers", "grid_barrier", "bulk_load"):
        plan = plans[pattern + "/correct.sm_90.line"]
        fine = {9, 18} if pattern == "bulk_load" else set()
        for s in too_strong(program, plan, seeds)[0]:
            if s["what"] in ("barrier", "cluster barrier", "proxy fence") and s["would_do"] == "none" and s.get("line") not in fine:
                problems.append("%s: line %s, %s, is needed, and listed: %s" % (pattern, s.get("line"), s["is"], s["would_do"]))
    return problems


def main():
    program, root = sys.argv[1:3]
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    with tempfile.TemporaryDirectory() as work:
        problems = problems_of(program, os.path.join(root, "cubins", "sync"), sync_plans(root, work), seeds)
    for problem in problems:
        print(problem)
    print("%d problems" % len(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
