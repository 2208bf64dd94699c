#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-sync on NVSHMEM (cubins/nvshmem_order): silent on what is right under every seed; an unfenced put and flag, a target
that does not wait, and a fence where quiet is needed are found, by kind and in NVSHMEM's words.

usage: nvshmem_test.py SASSEMU ROOT [--seeds N]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

# Kernel, kind (None: silent), what the repair names, threads.
CASES = [
    ("fenced", None, "", 1),
    ("signalled", None, "", 1),
    ("fenced_block", None, "", 32),
    ("quiet_elsewhere", None, "", 1),
    ("handed_on", None, "", 1),
    ("BUG_unfenced", "missing-release", "nvshmem_fence", 1),
    ("BUG_no_wait", "data-race", "nvshmem_wait_until", 1),
    ("BUG_spins", "missing-acquire", "nvshmem_wait_until", 1),
    ("BUG_fence_elsewhere", "fence-where-quiet-is-needed", "nvshmem_quiet", 1),
    ("BUG_round_about", "fence-where-quiet-is-needed", "nvshmem_quiet", 1),
]
EXAMPLES = ["fence", "quiet", "ring_broadcast"]


def plan_of(root, kernel, threads):
    args = [{"buffer": "data"}, {"buffer": "flag"}, {"buffer": "seen"}]
    if kernel == "fenced_block":
        args.append({"buffer": "source"})
    return {
        "arch": ["sm_90", "sm_80"],
        "module": os.path.join(os.path.abspath(root), "cubins/nvshmem_order/{arch}.cubin"),
        "timeLimit": 60,
        "nvshmem": {"pes": 3},
        "buffers": {name: {"bytes": 128, "kind": "symmetric"} for name in ("data", "flag", "seen", "source")},
        "launches": [{"kernel": kernel, "grid": [1], "block": [threads], "args": args}],
    }


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("root")
    p.add_argument("--seeds", type=int, default=4)
    a = p.parse_args()
    wrong, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")

        def found_in(path):
            for arch in "sm_90", "sm_80":
                r = subprocess.run(
                    [a.program, "check-sync", path, "--arch", arch, "--json", report, "--seeds", str(a.seeds)],
                    capture_output=True,
                    text=True,
                )
                with open(report) as f:
                    yield arch, r, json.load(f)["findings"]

        for kernel, kind, words, threads in CASES:
            path = os.path.join(folder, "plan.json")
            with open(path, "w") as f:
                json.dump(plan_of(a.root, kernel, threads), f)
            for arch, r, found in found_in(path):
                tried += 1
                kinds = {f["kind"] for f in found}
                fits = [f for f in found if f["kind"] == kind and words in f["repair"]]
                if r.returncode != (6 if kind else 0) or bool(found) != bool(kind) or (kind and not fits):
                    wrong.append(f"{kernel}, {arch}: exit code {r.returncode}, {kinds}: {r.stdout}{r.stderr}")
        for name in EXAMPLES:
            with open(os.path.join(a.root, "cubins/nvshmem_order", name + ".json")) as f:
                plan = json.load(f)
            plan["module"] = os.path.join(os.path.abspath(a.root), "cubins/nvshmem_order/{arch}.cubin")
            del plan["nvshmem"]["delivery"]  # directly, where check-sync sees the puts
            path = os.path.join(folder, "example.json")
            with open(path, "w") as f:
                json.dump(plan, f)
            for arch, r, found in found_in(path):
                tried += 1
                if r.returncode or found:
                    wrong.append(f"{name}, {arch}: exit code {r.returncode}: {r.stdout}{r.stderr}")
    for line in wrong[:25]:
        print(line[:3000], file=sys.stderr)
    print(f"{tried} runs, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
