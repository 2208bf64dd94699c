#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs launch plans in every way that a plan can be run, and looks for ways that break what the others keep.

    everywhere.py SASSEMU SOURCE [--seconds N] [--seed S] [--jobs N] [--mode NAME...] [PLAN...]

A case is a plan of cubins/, one of its architectures and one mode. Without --seconds all cases run; with it as many as fit, in an order that
the seed draws (0, the default: the day, so that each day tries others). A failure prints the command that repeats it. Failures are:

  * exit code 7, a signal, or a process that is still there GRACE seconds after its time limit;
  * a result or verdict other than the plan states, where the mode must keep it: every mode keeps what a right plan states, except that a
    checker may report (6). A plan that shows a mistake (a twin in cubins/sync) promises nothing where schedules or models differ;
  * a mode that refuses (2) or cannot execute (5) a plan which the plain run takes.

KNOWN lists what is known to differ; it is counted apart.
"""
import argparse
import collections
import concurrent.futures
import datetime
import fnmatch
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

LIMIT, GRACE = 20, 10  # seconds: of a case, and for the end of its process

# name: the subcommand, its options, and whether another order of accesses or CTAs than the plain run's may be seen
MODES = {
    "flat": ("run", ["--threads", "1"], False),
    "threads-2": ("run", ["--threads", "2"], True),
    "threads-8": ("run", ["--threads", "8"], True),
    "deterministic": ("run", ["--deterministic", "--seed", "{seed}"], True),
    "reference": ("run", ["--reference", "--threads", "1"], False),
    "agents-lazy": ("run", ["--agents", "lazy"], True),
    "agents-random": ("run", ["--agents", "random", "--seed", "{seed}"], True),
    "fill": ("run", ["--fill", "random:{seed}"], True),
    "caches": ("run", ["--model", "caches", "--seed", "{seed}"], True),
    "caches-adversarial": ("run", ["--model", "caches:policy=adversarial", "--seed", "{seed}"], True),
    "weak": ("run", ["--model", "weak", "--seed", "{seed}"], True),
    "check-sync": ("check-sync", ["--seeds", "2"], True),
    "check-mem": ("check-mem", [], False),
    "trace": ("run", ["--plugin", "trace:file={out}/t.trace"], True),
    "profile": ("run", ["--plugin", "profile:html={out}/p.html"], True),
    "fidelity": ("run", ["--fidelity"], True),
    "debug": ("debug", ["--batch", "--ex", "continue"], False),
}
CHECKS = {"check-sync", "check-mem"}


def plans(source):
    """(path, architecture, whether it is right) of each plan and architecture."""
    for path in sorted(glob.glob(os.path.join(source, "cubins", "**", "*.json"), recursive=True)):
        with open(path) as f:
            try:
                plan = json.load(f)
            except ValueError:
                continue
        if not isinstance(plan, dict) or "launches" not in plan or "condition" in plan or os.path.relpath(path, source) in NOT_ALONE:
            continue
        arch = plan.get("arch", [])
        relative = os.path.relpath(path, source)
        for name in [arch] if isinstance(arch, str) else arch:
            yield relative, name, not relative.startswith("cubins/sync/") or os.path.basename(path) == "correct.json"


def command(sassemu, case, out):
    path, arch, _, mode, seed = case
    sub, options, _ = MODES[mode]
    limits = [] if sub == "debug" else ["--time-limit", str(LIMIT)]
    return [sassemu, sub, path, "--arch", arch, *limits, *(o.format(seed=seed, out=out) for o in options)]


def outcome(sassemu, source, case):
    """Exit code (negative: a signal; None: it did not end), what it said, seconds."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        try:
            done = subprocess.run(command(sassemu, case, out), cwd=source, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT + GRACE)
            code, said = done.returncode, (done.stderr or done.stdout).decode(errors="replace")
        except subprocess.TimeoutExpired:
            code, said = None, ""
    return code, said, time.monotonic() - started


# Plans that need a process beside the run.
NOT_ALONE = {"cubins/flight/pingpong/plan.json"}
# What is known to differ: modes, plans, architectures (patterns), and why.
KNOWN = [
    ("caches*", "cubins/*collisions/*", "*", "lanes that store to one place race; a machine takes them in an order of its own"),
    ("weak", "cubins/*collisions/*", "*", "the same"),
    ("caches*", "cubins/bench/*", "*", "these plans state how many warp instructions run; a machine's short turns divide warps otherwise"),
    ("weak", "cubins/bench/*", "*", "the same"),
]


def is_known(case):
    path, arch, _, mode, _ = case
    return any(fnmatch.fnmatch(mode, m) and fnmatch.fnmatch(path, p) and fnmatch.fnmatch(arch, a) for m, p, a, _ in KNOWN)


def judge(case, plain, code, said):
    """What is wrong; None: nothing. `plain` is the exit code of the mode flat, 0 where it was not run."""
    _, _, right, mode, _ = case
    if code is None:
        return f"is still there {GRACE} s after its limit of {LIMIT} s"
    if code < 0:
        return f"ended by signal {-code}"
    if code == 7:
        return "internal error"
    if code == 4 and "time limit" in said:
        return None  # too much for this machine in the time given; the plan's own limit is a test elsewhere
    wanted = {plain} if right else {plain, 0, 1, 3, 4} if MODES[mode][2] else {plain}
    if mode in CHECKS:
        wanted.add(6)
    return None if code in wanted else f"exit code {code}, not {' or '.join(str(w) for w in sorted(wanted))}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sassemu")
    parser.add_argument("source")
    parser.add_argument("plans", nargs="*", help="only these, relative to SOURCE")
    parser.add_argument("--seconds", type=float, help="draw cases for so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--mode", action="append", choices=list(MODES))
    a = parser.parse_intermixed_args()
    seed = a.seed or datetime.date.today().toordinal()
    sassemu = os.path.abspath(a.sassemu)
    draw = random.Random(seed)
    cases = [(path, arch, right, mode, draw.randrange(1, 1 << 16))
             for path, arch, right in plans(a.source) if not a.plans or path in a.plans for mode in a.mode or MODES]
    draw.shuffle(cases)
    end = time.monotonic() + a.seconds if a.seconds else float("inf")
    plain, lock, wrong, known_to_differ, ends, spent = {}, threading.Lock(), [], [], collections.Counter(), collections.Counter()

    def run(case):
        if time.monotonic() > end:
            return
        key = case[:2]
        with lock:
            known = plain.get(key)
        if known is None:  # twice at worst, with the same answer
            known = outcome(sassemu, a.source, (*case[:3], "flat", case[4]))
            with lock:
                plain[key] = known
        code, said, seconds = known if case[3] == "flat" else outcome(sassemu, a.source, case)
        # A right plan states what comes of it; what a wrong one gives in the plain run is the measure.
        expected = 0 if case[2] else known[0]
        bad = judge(case, expected, code, said)
        with lock:
            ends[case[3], code] += 1
            spent[case[3]] += seconds
            if bad and code == 1 and is_known(case):
                known_to_differ.append(case)
            elif bad:
                wrong.append(case)
                last = said.strip().splitlines()[-1] if said.strip() else ""
                print(f"{bad}: {' '.join(command(a.sassemu, case, 'OUT'))}\n    {last}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(run, cases))
    for mode in MODES:
        codes = ", ".join(f"{code}: {n}" for (m, code), n in sorted(ends.items(), key=str) if m == mode)
        if codes:
            print(f"  {mode:20} {codes}  ({spent[mode]:.0f} s)")
    print(f"everywhere: seed {seed}: {sum(ends.values())} of {len(cases)} cases, {len(known_to_differ)} differ as known, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
