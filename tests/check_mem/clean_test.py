#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-mem on all kernels of cubins/: they are correct, so it finds nothing in them but in those that end with a fault
of memory, which it finds there.

    clean_test.py SASSEMU ROOT [--all] [NAME-PART...]     --all: every architecture
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys

FAULTS = {"fault_misaligned": "misaligned-address", "fault_wild": "out-of-bounds"}
ARCHS = ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_107a", "sm_120")


def check(program, plan, arch):
    name = os.path.basename(os.path.dirname(plan))
    end = subprocess.run([program, "check-mem", plan, "--arch", arch], capture_output=True, text=True, timeout=250,
                         check=False)
    said = "%s %s: exit code %d\n%s%s" % (name, arch, end.returncode, end.stdout[:1500], end.stderr[-300:])
    if name in FAULTS:
        found = "check-mem: " + FAULTS[name] in end.stdout
        return [] if found and end.returncode == 6 else [said]
    if end.returncode or "check-mem: " in end.stdout:
        return [said]
    return []


def main():
    program, root = sys.argv[1:3]
    parts = [a for a in sys.argv[3:] if a != "--all"]
    runs = []
    for plan in sorted(glob.glob(os.path.join(root, "cubins", "*", "plan.json"))):
        if parts and not any(part in plan for part in parts):
            continue
        with open(plan, encoding="utf-8") as f:
            runs += [(plan, arch) for arch in json.load(f)["arch"] if "--all" in sys.argv or arch in ARCHS]
    # With several GPUs, streams and the host.
    for plan in sorted(p for folder in ("flight", "peers", "nvshmem")
                       for p in glob.glob(os.path.join(root, "cubins", folder, "*.json"))):
        with open(plan, encoding="utf-8") as f:
            small = "BUG_" not in plan and "64mib" not in plan
            if small and (not parts or any(part in plan for part in parts)) and "launches" in json.load(f):
                runs.append((plan, "sm_90"))
    # Patterns of synchronisation that are correct: their barriers and copies.
    with open(os.path.join(root, "cubins", "sync", "expected.json"), encoding="utf-8") as f:
        expected = json.load(f)
    for plan in sorted(glob.glob(os.path.join(root, "cubins", "sync", "*", "correct.json"))):
        if parts and not any(part in plan for part in parts):
            continue
        with open(plan, encoding="utf-8") as f:
            content = json.load(f)
        pattern = os.path.basename(os.path.dirname(plan))
        runs += [(plan, arch) for arch in content["arch"]
                 if not content["module"].startswith("..") and expected.get("%s/correct.%s" % (pattern, arch)) == []]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda r: check(program, *r), runs))
    problems = [p for r in results for p in r]
    for problem in problems:
        print(problem)
    print("%d runs, %d problems" % (len(runs), len(problems)))
    return 1 if problems or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
