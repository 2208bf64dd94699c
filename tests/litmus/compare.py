#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `sassemu litmus` with the stated verdicts and with the brute force, outcome by outcome.

usage: compare.py SASSEMU FILE.jsonl...                     the given tests, under both readings
       compare.py SASSEMU FILE.jsonl... --sampled N        random mode: what N random executions of each test reach is among all outcomes
       compare.py SASSEMU --random N [--seed S] [--keep F]  N random programs (generate.py); F gets those that differ

Exit 1 on any difference. Tests of models that this sassemu does not know are counted, not compared.
"""
import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import brute_force


def both_readings(tests):
    for d in tests:
        yield d
        if "verdict_relied" in d:
            yield d | {"name": d["name"] + " (relied)", "options": d.get("options", {}) | {"reading": "relied"}, "verdict": d["verdict_relied"]}


def run(program, tests, timeout, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.write("".join(json.dumps({k: v for k, v in d.items() if k != "verdict_relied"}) + "\n" for d in tests))
        f.flush()
        r = subprocess.run([program, "litmus", f.name, "--json", *options], capture_output=True, text=True, timeout=timeout)
    found = {}
    for line in r.stdout.splitlines():
        try:
            o = json.loads(line)
            found[o["name"]] = o
        except (ValueError, KeyError, TypeError):
            print("not an answer:", line, file=sys.stderr)
    return found, r


def states(o):
    return {tuple(sorted((k, str(v)) for k, v in x["state"].items())) for x in o["outcomes"]}


def outside(ours, theirs):
    """Random executions find some of the outcomes, and no other."""
    if theirs is None:
        return ["no answer"]
    if "left_out" in ours or ours.get("undefined") or ours["verdict"] == "error":
        return []
    return [f"reached at random, but not among all outcomes: {x}" for x in sorted(states(theirs) - states(ours))[:4]]


def differences(d, ours, theirs):
    """ours: the brute force; theirs: sassemu."""
    if "left_out" in ours:
        return []
    if theirs is None:
        return ["no answer"]
    out = []
    if theirs.get("verdict") == "unknown" and "verdict" not in d:  # not explored to the end
        return outside(ours, theirs)
    if theirs.get("verdict") != ours["verdict"]:
        out.append(f"verdict {theirs.get('verdict')} {theirs.get('error', '')}, brute force {ours['verdict']} {ours.get('error', '')}")
    if "verdict" in d and theirs.get("verdict") != d["verdict"]:
        out.append(f"verdict {theirs.get('verdict')}, stated {d['verdict']}")
    if theirs.get("undefined") != ours.get("undefined"):
        out.append(f"undefined {theirs.get('undefined')}, brute force {ours.get('undefined')}")
    if not out and not ours.get("undefined") and ours["verdict"] != "error":
        a, b = states(theirs), states(ours)
        for text, s in (("only sassemu finds", a - b), ("only the brute force finds", b - a)):
            out += [f"{text} " + " ".join(f"{k}={v}" for k, v in x) for x in sorted(s)[:4]]
    return out


def explore(job):
    return brute_force.explore(*job)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("files", nargs="*")
    p.add_argument("--random", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kind")
    p.add_argument("--keep")
    p.add_argument("--sampled", type=int)
    p.add_argument("--limit", type=float, default=4)
    p.add_argument("--jobs", type=int, default=2)
    a = p.parse_args()
    if a.random:
        import generate
        tests = [generate.program(a.seed, i, a.kind) for i in range(a.random)]
    else:
        tests = list(both_readings(t for f in a.files for t in brute_force.load(f)))
    start = time.monotonic()
    theirs, r = run(a.program, tests, 1200, *(["--random", str(a.sampled), "--seed", str(a.seed)] if a.sampled else []))
    taken, unknown, left, wrong, kept = time.monotonic() - start, 0, 0, 0, []
    with multiprocessing.Pool(a.jobs) as pool:
        ours = pool.imap(explore, [(d, a.limit) for d in tests], chunksize=8)
        for d, o in zip(tests, ours):
            t = theirs.get(d["name"])
            if t and t.get("verdict") == "error" and f"model '{d['model']}' is none of those" in t.get("error", ""):
                unknown += 1
                continue
            left += "left_out" in o
            diff = outside(o, t) if a.sampled else differences(d, o, t)
            if diff:
                wrong += 1
                kept.append(d)
                print(f"DIFFERS {d['name']}")
                for x in diff:
                    print("    " + x)
                if a.random and wrong <= 5:
                    print("    " + json.dumps(d))
    if a.keep:
        with open(a.keep, "w") as f:
            f.write("".join(json.dumps(d) + "\n" for d in kept))
    if r.returncode not in (0, 1, 4):
        wrong += 1
        print(f"sassemu litmus ended with {r.returncode}: {r.stderr[-500:]}")
    print(f"{len(tests)} tests, {wrong} differ, {left} left out by the brute force, {unknown} of models that sassemu litmus does not have; "
          f"sassemu {taken:.1f} s, both {time.monotonic() - start:.1f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
