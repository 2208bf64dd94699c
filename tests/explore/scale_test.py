#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exploration that scales: tests whose executions are many, each with the processor time that its search may take and how many executions it has.

    scale_test.py SASSEMU [--slack N]

Times are of one core; `--slack` multiplies them (builds with sanitizers, busy hosts).
"""
import argparse
import json
import resource
import subprocess
import sys
import tempfile

LOCK = ["atom.relaxed.gpu.add r0, [ticket], 1", "L:", "ld.acquire.gpu r1, [serving]", "bne r1, r0, L", "ld.weak r2, [data]", "add r2, r2, 1", "st.weak [data], r2",
        "add r3, r0, 1", "st.release.gpu [serving], r3"]


def ring(n):
    return [[f"st.relaxed.gpu [x{i}], 1", "fence.sc.gpu", f"ld.relaxed.gpu r0, [x{(i + 1) % n}]"] for i in range(n)]


def mixed(threads, length):
    """Loads and stores in turn over four words, two or three stores to each."""
    return [[f"st.relaxed.gpu [{'abcd'[(i + j) % 4]}], {10 * i + j + 1}" if (i // 2 + j) % 2 == 0 else f"ld.relaxed.gpu r{j}, [{'abcd'[(i + j) % 4]}]"
             for j in range(length)] for i in range(threads)]


def neighbours(n):
    return [[f"st.weak [s{i}], 1", "bar.sync 0", f"ld.weak r0, [s{(i + 1) % n}]", "bar.sync 0", f"st.weak [s{i}], 2"] for i in range(n)]


# name: threads, condition, seconds, executions (None: more than can be counted in these seconds), more of the test
TESTS = {
    "8 fetch-adds": ([["atom.relaxed.gpu.add r0, [x], 1"]] * 8, "x!=8 || P0:r0==8", 1, 40320, {}),
    "4 x 3 fetch-adds": ([[f"atom.relaxed.gpu.add r{k}, [x], 1" for k in range(3)]] * 4, "x!=12", 2, 369600, {}),
    "ticket lock of 4": ([LOCK] * 4, "data!=4", 5, 24, {}),
    "store buffering, ring of 8 with fence.sc": (ring(8), " && ".join(f"P{i}:r0==0" for i in range(8)), 5, 255, {}),
    "4 x 4 accesses to 4 words": (mixed(4, 4), "P0:r1==99", 10, 6561, {}),
    "128 threads, two barriers": (neighbours(128), "||".join(f"P{i}:r0!=1" for i in range(128)), 10, 1,
                                  {"cta": 0, "locations": {f"s{i}": {"space": "shared::cta", "cta": 0} for i in range(128)}}),
    "4 x 6 accesses to 4 words": (mixed(4, 6), "P0:r1==99", 2, None, {}),
}
RATE = 100_000  # classes a second of the last


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--slack", type=float, default=1)
    a = p.parse_args()
    wrong = []
    for name, (threads, condition, seconds, executions, more) in TESTS.items():
        test = {"name": name, "model": "ptx", "init": {}, "condition": condition, "threads": [{"id": f"P{i}", "cta": more.get("cta", i), "ops": ops} for i, ops in enumerate(threads)],
                "locations": more.get("locations", {})}
        limit = seconds * a.slack * 10 if executions else seconds
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
            f.write(json.dumps(test) + "\n")
            f.flush()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            r = subprocess.run([a.program, "litmus", "--json", "--threads", "1", "--time-limit", str(limit), f.name], capture_output=True, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        report = json.loads(r.stdout)
        rate = report["executions"] / max(spent, 1e-3)
        print(f"{name}: {report['verdict']}, {report['executions']} executions, {spent:.2f} s" + (f", {rate:,.0f} a second" if executions is None else ""))
        if executions is None:
            # It cannot be seen through: nothing may be claimed.
            if (report["verdict"], r.returncode) != ("unknown", 4):
                wrong.append(f"{name}: {report['verdict']}, exit code {r.returncode}, although it was not explored to the end")
            if rate < RATE / a.slack:
                wrong.append(f"{name}: {rate:,.0f} executions a second, not {RATE / a.slack:,.0f}")
        elif (report["verdict"], report["executions"]) != ("forbidden", executions) or spent > seconds * a.slack:
            wrong.append(f"{name}: {report['verdict']}, {report['executions']} executions for {executions}, {spent:.2f} s for {seconds * a.slack}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
