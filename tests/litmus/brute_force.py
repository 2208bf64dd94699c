#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second checker of litmus tests, by brute force: docs/litmus.md and the axioms, written apart from emu/explore and plugins/ptx.

usage: brute_force.py FILE.jsonl[.gz]... [--json] [--limit SECONDS] [--name WORDS] [--every N] [--jobs N] [--quiet]

Every test's stated verdict (and verdict_relied) is compared; exit 1 when one is contradicted. --limit: tests that take longer are left out and counted.
"""
import argparse
import collections
import gzip
import json
import multiprocessing
import sys
import time
from condition import evaluate, key
from form import Refused, Test


def explore(d, limit=None):
    """One test -> the output object of docs/litmus.md, section 8; "left_out" says why there is no verdict."""
    start, out = time.monotonic(), {"name": d["name"], "model": d.get("model", "ptx")}
    try:
        test = Test(d)
        if test.model == "nvshmem":
            from delivery import Explorer
        elif test.model.endswith("liveness"):
            from progress import Explorer
        elif test.model == "caches":
            from cache_machine import Explorer
        else:
            from candidates import Explorer
        x = Explorer(test, limit)
        x.explore()
    except Refused as e:
        return out | {"verdict": "error", "error": str(e), "executions": 0, "outcomes": [], "complete": True}
    except TimeoutError as e:
        return out | {"left_out": str(e) or "time"}
    outcomes, verdict = [], getattr(x, "verdict", "forbidden")
    for state, count in sorted(x.outcomes.items(), key=str):
        named = dict(zip(x.names, state))
        holds = evaluate(d["condition"], named)
        verdict = "allowed" if holds else verdict
        outcomes.append({"state": {key(n): v for n, v in named.items()}, "count": count, "condition": bool(holds)})
    if x.undefined:
        verdict, out["undefined"] = "allowed", x.undefined
    return out | {"verdict": verdict, "executions": x.executions, "outcomes": outcomes, "complete": x.complete, "seconds": round(time.monotonic() - start, 4)}


def judge(job):
    """(test, limit) -> (outputs, complaints)."""
    d, limit = job
    complaints, outputs = [], []
    for reading in ("strict", "relied"):
        if reading == "relied" and "verdict_relied" not in d:
            continue
        options = d.get("options", {}) | ({"reading": "relied"} if reading == "relied" else {})
        r = explore(d | {"options": options}, limit)
        outputs.append(r)
        want = d.get("verdict_relied") if reading == "relied" else d.get("verdict")
        if "verdict" in r and want and r["verdict"] != want:
            states = "; ".join(" ".join(f"{k}={v}" for k, v in o["state"].items()) + (" <-" if o["condition"] else "") for o in r["outcomes"])
            complaints.append(f"{d['name']} ({reading}): stated {want}, found {r['verdict']} {r.get('error', '')}{r.get('undefined', '')} [{states}]")
        if r.get("verdict") == "error" and d.get("error", "") not in r["error"]:
            complaints.append(f"{d['name']}: the error is '{r['error']}', not '{d['error']}'")
        if r.get("undefined") != d.get("undefined") and "derivation" in d and reading == "strict":
            complaints.append(f"{d['name']}: undefined is '{r.get('undefined')}', stated '{d.get('undefined')}'")
    return outputs, complaints


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        return [json.loads(line) for line in f if line.strip()]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+")
    p.add_argument("--json", action="store_true")
    p.add_argument("--limit", type=float)
    p.add_argument("--name")
    p.add_argument("--every", type=int, default=1, help="only every N-th test")
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--quiet", action="store_true")
    a = p.parse_args()
    tests = [t for f in a.files for t in load(f) if not a.name or a.name in t["name"]][::a.every]
    start, left, right, wrong = time.monotonic(), collections.Counter(), 0, []
    with multiprocessing.Pool(a.jobs) as pool:
        for d, (outputs, complaints) in zip(tests, pool.imap(judge, ((t, a.limit) for t in tests), chunksize=4)):
            if a.json:
                print(json.dumps(outputs[0]))
            if "left_out" in outputs[0]:
                left[outputs[0]["left_out"]] += 1
                if not a.quiet and outputs[0]["left_out"] != "liveness":
                    print(f"left out ({outputs[0]['left_out']}): {d['name']}", file=sys.stderr)
            elif not complaints:
                right += 1
            wrong += complaints
    for w in wrong:
        print("WRONG", w, file=sys.stderr)
    if not a.json:
        print(f"{right} of {len(tests)} tests agree with their stated verdicts, {len(wrong)} complaints, "
              f"{sum(left.values())} left out ({', '.join(f'{n} {k}' for k, n in left.items()) or 'none'}), {time.monotonic() - start:.1f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
