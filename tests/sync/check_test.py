#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-sync on every pattern in cubins/sync: nothing on the correct ones, each bug of the twins by kind and place, under
every order of the agents, and the same verdict under all of them.

    check_test.py SASSEMU ROOT [--own] [--all] [NAME-PART...]     --own: not the patterns over CUDA's headers; --all: those on all chips,
                                                                  and under every order (the other seeds have them too; without it only HELD)

A place is a source line. The cubins without line information have the same words as those with it, which say the line.
"""
import concurrent.futures
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

from sync_plans import sync_plans


@functools.lru_cache(maxsize=None)
def lines_of(program, cubin):
    """(function, pc) -> line of the pattern's source, which is named after the cubin's folder."""
    source = os.path.basename(os.path.dirname(os.path.realpath(cubin))) + ".cu"
    listing = subprocess.run([program, "disasm", "--source", cubin], capture_output=True, text=True).stdout
    places, function, line = {}, "", 0
    for text in listing.splitlines():
        m = re.match(r"\.text\.(\w+):", text)
        if m:
            function = m.group(1)
        found = re.findall(r'"([^"]*)", line (\d+)', text) if "//## File" in text else []
        for file, number in found:
            if os.path.basename(file) == source:
                line = int(number)
        m = re.match(r"\s*/\*([0-9a-f]{4,})\*/", text)
        if m:
            places[function, int(m.group(1), 16)] = line
    return places


ORDERS = [["--agents", "eager"], ["--agents", "lazy"], ["--agents", "random", "--seed", "3"]]
# Of the patterns over CUDA's headers these are never left to --all, with every order: barriers of atomics, which race in
# few schedules; waits that poll by the clock for copies that are late; an arrival too many where copies are late.
HELD = {"cuda_barrier/empty.sm_75", "cuda_barrier/full.sm_75.line", "cuda_pipeline/empty.sm_75", "cuda_pipeline/full.sm_75.line",
        "cuda_pipeline/correct.sm_80", "cuda_pipeline/empty.sm_80.line", "cuda_pipeline_roles/correct.sm_80",
        "cuda_pipeline/wait.sm_90", "cuda_pipeline/wait.sm_120.line"}


def findings_of(program, sync, order, seeds):
    """(findings, how it ended); no findings: there is no report."""
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        end = subprocess.run([program, "check-sync", sync.plan, "--arch", sync.arch, "--surfaces", "--json", report, *order, "--seeds", str(seeds)],
                             capture_output=True, text=True)
        if not os.path.exists(report):
            return None, end
        with open(report) as f:
            return json.load(f)["findings"], end


def check(program, sync, name, expected, order):
    # Correct ones are correct whatever the schedule; which half of a race comes first is the schedule's, and of CTAs that meet by
    # atomics whether it is one.
    found, end = findings_of(program, sync, order, 10 if not expected or sync.library else 1)
    if found == [] and expected and sync.library:
        found, end = findings_of(program, sync, order, 60)
    if found is None:
        return ["%s: no report, exit code %d\n%s%s" % (name, end.returncode, end.stdout, end.stderr)], 0, None
    places = lines_of(program, sync.lines)
    name = " ".join([name] + order[1:2])
    got, problems = [], []
    for f in found:
        lines = sorted({places.get((a["function"], a["pc"]), 0) for a in f["accesses"]})
        got.append({"kind": f["kind"], "lines": lines, "common": f["as_commonly_relied_on"]})
        lacks = [key for key in ("count", "kernel", "missing", "clause", "replay") if not f[key]]
        for a in f["accesses"]:
            lacks += [key for key in ("does", "thread", "sass") if not a[key]]
            if len(f["accesses"]) == 2 and f["kind"] not in ("mbarrier-protocol", "missing-tensormap-fence"):
                lacks += [key for key in ("space", "bytes", "proxy") if not a.get(key)]
                lacks += [key for key in ("after",) if not a.get(key)]
        if lacks:
            problems.append("%s: %s has no %s" % (name, f["kind"], lacks))
    for want in expected:
        want = {"kind": want["kind"], "lines": sorted(set(want["lines"])), "common": want["common"]}
        if want not in got:
            problems.append("%s: missing %s; found %s" % (name, want, got))
    if not expected and got:
        problems.append("%s: false report %s" % (name, got))
    code = 6 if any(g["common"] for g in got) else 0  # what is wrong by the letter only is shown, and no failure
    with open(sync.plan) as f:
        status = json.load(f)["expect"]["status"]
    # A copy that comes too late may come to a CTA that has ended, which is a fault.
    late = expected and order[1] != "eager" and end.returncode == 3
    if status == "ok" and end.returncode != code and not late:
        problems.append("%s: exit code %d, not %d\n%s" % (name, end.returncode, code, end.stdout[-300:]))
    return problems, len(expected), {(g["kind"], g["common"]) for g in got}


def main():
    program, root = sys.argv[1:3]
    every = "--all" in sys.argv
    parts = [a for a in sys.argv[3:] if a not in ("--own", "--all")]
    folder = os.path.join(root, "cubins", "sync")
    with open(os.path.join(folder, "expected.json")) as f:
        expected = json.load(f)
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        plans = sync_plans(root, work)
        names = [n for n in sorted(expected) if (not parts or any(part in n for part in parts)) and (every or not plans[n].alike or n in HELD) and
                 not ("--own" in sys.argv and plans[n].library)]
        runs = [(name, order) for name in names for order in (ORDERS if every or name in HELD or not plans[name].library else ORDERS[:1])]
        results = list(pool.map(lambda r: check(program, plans[r[0]], r[0], expected[r[0]], r[1]), runs))
    problems = ["%s: held, and there is none" % n for n in sorted(HELD - set(expected))] + [p for r in results for p in r[0]]
    for name in names:
        verdicts = [r[2] for run, r in zip(runs, results) if run[0] == name]
        if any(v != verdicts[0] for v in verdicts):
            problems.append("%s: the verdict changes with --agents: %s" % (name, [sorted(v or []) for v in verdicts]))
    for problem in problems:
        print(problem)
    print("%d plans, %d bugs to find, %d runs, %d problems" % (len(names), sum(len(expected[n]) for n in names), len(runs), len(problems)))
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
