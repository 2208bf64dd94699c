#!/usr/bin/env python3
"""check-sync on the kernels of cubins/ that have nothing to do with it: they are correct, so it finds nothing in them that
is wrong by what is commonly relied on.

    clean_test.py SASSEMU ROOT [NAME-PART...]
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

# Long under the checker, or ended by a fault on purpose.
LEFT_OUT = {"bench"}


def check(program, plan):
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        end = subprocess.run([program, "check-sync", plan, "--json", report, "--time-limit", "200"], capture_output=True, text=True)
        if not os.path.exists(report):
            return ["%s: no report, exit code %d\n%s" % (plan, end.returncode, end.stdout[-500:] + end.stderr[-500:])]
        with open(report) as f:
            found = [f for f in json.load(f)["findings"] if f["as_commonly_relied_on"]]
    problems = ["%s: %s at %s" % (plan, f["kind"], [a["sass"] for a in f["accesses"]]) for f in found]
    if end.returncode:
        problems.append("%s: exit code %d" % (plan, end.returncode))
    return problems


def main():
    program, root = sys.argv[1:3]
    plans = [p for p in sorted(glob.glob(os.path.join(root, "cubins", "*", "sm_90*.json")))
             if p.split(os.sep)[-2] not in LEFT_OUT and (not sys.argv[3:] or any(part in p for part in sys.argv[3:]))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda p: check(program, p), plans))
    problems = [p for r in results for p in r]
    for problem in problems:
        print(problem)
    print("%d plans, %d problems" % (len(plans), len(problems)))
    return 1 if problems or not plans else 0


if __name__ == "__main__":
    sys.exit(main())
