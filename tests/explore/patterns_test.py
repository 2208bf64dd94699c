#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every pattern of cubins/sync, and every twin with a link left out, under `flat`, `caches` and `ptx` (the plans in
<pattern>/small), beside what check-sync finds in the large kernel (tests/sync/check_test.py holds it to that). Fails where
they contradict each other, and where docs/patterns.md says something else.

    patterns_test.py SASSEMU ROOT [--write] [--time-limit S] [--machine-time S] [NAME...]

`--write` makes the table in docs/patterns.md anew, with NAMEs these rows of it.
"""
import argparse
import concurrent.futures
import glob
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sync"))
from sync_plans import sync_plans

# What the engine is asked for: agents early, late and at random; caches in two tempers.
RUNS = {"flat": [["--agents", "eager"], ["--agents", "lazy"], ["--agents", "random", "--seed", "3"], ["--agents", "random", "--seed", "8"]],
        "caches": [["--model", "caches:policy=random", "--agents", "random", "--seed", "5"], ["--model", "caches:policy=adversarial", "--seed", "3"],
                   ["--model", "caches:policy=lazy", "--agents", "lazy"]]}
# `weak` is run until some seed shows something wrong, at most so many times: first the small kernel, then the large one.
WEAK = ["--model", "weak", "--agents", "random", "--seed"]
WEAK_SEEDS = 32
CORRECT_SEEDS = 8
# What wgmma reads without the proxy fence of who wrote it; there is no small kernel.
WGMMA = ["wgmma_operands", "wgmma_reload"]
MODELS = ["ptx", "flat", "caches", "weak"]


def explore(program, path, model, limit):
    r = subprocess.run([program, "litmus", "--json", "--time-limit", str(limit), *([] if model == "ptx" else ["--model", model]), path],
                       capture_output=True, text=True)
    if not r.stdout:
        return {"verdict": "error", "error": r.stderr.strip(), "outcomes": [], "complete": True}
    report = json.loads(r.stdout.splitlines()[0])
    if report["verdict"] == "unknown" and not beyond(report):  # the time was up, or a loop reached its bound
        report["verdict"] = "open"
    return report


def beyond(report):
    """What of it is not explored: an instruction, or lanes of a warp at several barriers; nothing."""
    found = re.search(r"'(?:@\S+ )?([A-Z0-9]+)\S*[^']*' is not explored(: lanes)?", report.get("bound", ""))
    return found and ("lanes apart" if found[2] else found[1])


def states(report):
    return {tuple(sorted(o["state"].items())) for o in report["outcomes"]}


def run(program, path, names, options, well=(0,)):
    """What a run leaves in the places that the condition names; None if it does not end well (exit code 1: with other results than the plan says)."""
    buffers = sorted({n.split("[")[0] for n in names})
    with tempfile.TemporaryDirectory() as work:
        dumps = [x for b in buffers for x in ("--dump", "%s=%s" % (b, os.path.join(work, b)))]
        r = subprocess.run([program, "run", path, "--threads", "1", *options, *dumps], capture_output=True, text=True)
        if r.returncode not in well:
            return None, r.stdout + r.stderr
        data = {b: open(os.path.join(work, b), "rb").read() for b in buffers}
    value = lambda n: struct.unpack_from("<I", data[n.split("[")[0]], 4 * int(n.split("[")[1][:-1]))[0]
    return tuple(sorted((n, value(n)) for n in names)), ""


def weak(program, path, names, right, stated, allowed):
    """After how many seeds a run under `weak` shows something wrong; and what it must not show."""
    problems = []
    if not names:  # ptx has no execution that ends
        return ("right" if run(program, path, names, WEAK + ["1"], (0, 1))[0] is not None else "ends badly, seed 1"), problems
    for seed in range(1, (WEAK_SEEDS if stated == "allowed" else CORRECT_SEEDS) + 1):
        state, why = run(program, path, names, WEAK + [str(seed)], (0, 1))
        if state is None and stated == "forbidden":
            problems.append("run --model weak --seed %d: %s" % (seed, why[-300:]))
        if state is not None and allowed is not None and state not in allowed:
            problems.append("run --model weak --seed %d shows %s, which ptx does not allow" % (seed, state))
        if dict(state or {}) != right:
            return ("ends badly, seed %d" if state is None else "seed %d") % seed, problems
    return "right" if stated == "forbidden" else "not shown", problems


def weak_large(program, plan, correct, arch="sm_90"):
    """The same of a large kernel, which is wrong where `correct` says other results; "not shown" if none is."""
    with open(correct) as f:
        right = {b: struct.pack("<%dI" % len(what["expect"]["values"]), *what["expect"]["values"])
                 for b, what in json.load(f)["buffers"].items() if "expect" in what}
    for seed in range(1, WEAK_SEEDS + 1):
        with tempfile.TemporaryDirectory() as work:
            dumps = [x for b in right for x in ("--dump", "%s=%s" % (b, os.path.join(work, b)))]
            r = subprocess.run([program, "run", plan, "--arch", arch, "--threads", "1", *WEAK, str(seed), *dumps], capture_output=True)
            if r.returncode not in (0, 1):
                return "large ends badly, seed %d" % seed
            if any(open(os.path.join(work, b), "rb").read() != data for b, data in right.items()):
                return "large, seed %d" % seed
    return "not shown"


def judge(program, path, wanted, limit, machine_time, large):
    """The row of a plan, and what is wrong with it."""
    pattern, variant = path.split(os.sep)[-3], os.path.basename(path)[:-len(".json")]
    name, correct, wrong = pattern + "/" + variant, variant == "correct", []
    with open(path) as f:
        plan = json.load(f)
    stated = plan["verdict"]
    right = {place: int(v) for place, v in re.findall(r"(\w+\[\d+\])!=(\d+)", plan["condition"])}
    # What is allowed is found soon, what is forbidden when all has been seen.
    reports = {m: explore(program, path, m, limit if stated == "forbidden" and m == "ptx" else min(limit, machine_time)) for m in MODELS}
    ptx = reports["ptx"]
    if ptx["verdict"] != stated:
        wrong.append("ptx says %s, the plan %s %s" % (ptx["verdict"], stated, ptx.get("error", "")))
    if stated == "forbidden" and not ptx["complete"]:
        wrong.append("ptx: not complete, %s" % ptx.get("bound"))
    if correct and not ptx.get("executions"):
        wrong.append("ptx: no execution ends")
    names = sorted(ptx["outcomes"][0]["state"]) if ptx["outcomes"] else []
    # Outcomes can be held against ptx where it has them all, and all have a meaning.
    allowed = states(ptx) if ptx["complete"] and "undefined" not in ptx and names else None
    row = {"pattern": pattern, "variant": variant, "late": set(), "ptx": ptx["verdict"] if ptx.get("executions") or "undefined" in ptx else "ends nowhere"}
    if "undefined" in ptx:
        row["ptx"] += ", " + ptx["undefined"]
    for m in "flat", "caches", "weak":
        report = reports[m]
        if report["verdict"] == "error":
            wrong.append("%s: %s" % (m, report["error"]))
        if allowed is not None:
            wrong += ["the machine %s shows %s, which ptx does not allow" % (m, s) for s in states(report) - allowed]
        if correct and report["verdict"] not in ("forbidden", "open", "unknown"):
            wrong.append("%s says %s" % (m, report["verdict"]))
    for m in "flat", "caches":
        report = reports[m]
        ends = [run(program, path, names, options) for options in RUNS[m]] if names else []
        for (state, why), options in zip(ends, RUNS[m]):
            if state is None and stated == "forbidden":
                wrong.append("run %s: %s" % (" ".join(options), why[-300:]))
            if state is not None and allowed is not None and state not in allowed:
                wrong.append("run %s shows %s, which ptx does not allow" % (" ".join(options), state))
            if state is not None and report["complete"] and state not in states(report):
                wrong.append("run %s shows %s, which exploration of %s does not" % (" ".join(options), state, m))
        bad = sum(dict(state or {}) != right for state, _ in ends)
        known = report["verdict"] != "unknown"
        if known and not report["complete"]:
            row["late"].add(m)
        row[m] = report["verdict"] if known else "unknown: %s; runs: %s" % (beyond(report), "right" if ends and not bad else "wrong")
    row["weak"], more = weak(program, path, names, right, stated, allowed)
    wrong += more
    if row["weak"] == "not shown":
        row["weak"] = weak_large(program, large, os.path.join(os.path.dirname(large), "correct.json"))
    row["check-sync"] = ", ".join(sorted({f["kind"] + ("" if f["common"] else " (by the letter)") for f in wanted})) or "nothing"
    return row, ["%s: %s" % (name, w) for w in wrong]


COLUMNS = ["pattern", "variant", "flat", "caches", "weak", "ptx", "check-sync"]


def line(row):
    return "| " + " | ".join(row[c] for c in COLUMNS) + " |"


def lines_of(row):
    """What the page may say: how far a machine comes in its time is the host's affair."""
    cells = {m: {"open": ("allowed", "forbidden", "open"), "allowed": ("allowed", "open")}.get(row[m], (row[m],)) for m in row["late"]}
    return {line(dict(row, **dict(zip(cells, how)))) for how in itertools.product(*cells.values())}


def cells(line):
    """Which row it is."""
    return tuple(line.split(" | ")[:2])


def table(rows):
    return [line({c: c for c in COLUMNS}), "|" + "---|" * len(COLUMNS), *map(line, rows)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("root")
    p.add_argument("names", nargs="*")
    p.add_argument("--write", action="store_true")
    p.add_argument("--time-limit", type=float, default=120)
    p.add_argument("--machine-time", type=float, help="for each machine; 3, without --write 1: what is open then may be known to the page")
    a = p.parse_args()
    folder = os.path.join(a.root, "cubins", "sync")
    with open(os.path.join(folder, "expected.json")) as f:
        expected = json.load(f)
    plans = [path for path in sorted(glob.glob(os.path.join(folder, "*", "small", "*.json"))) if not a.names or any(n in path for n in a.names)]
    plans.sort(key=lambda path: (path.split(os.sep)[-3], not path.endswith("correct.json"), path))
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(2) as pool:
        large = sync_plans(a.root, work)

        def job(path):
            name = "%s/%s.sm_90.line" % (path.split(os.sep)[-3], os.path.basename(path)[:-len(".json")])
            return judge(a.program, path, expected[name], a.time_limit, a.machine_time or (3 if a.write else 1), large[name].plan)
        results = list(pool.map(job, plans))
        wgmma = [] if a.names else WGMMA
        shown = {(w, v): weak_large(a.program, large["%s/%s.sm_90a.line" % (w, v)].plan, os.path.join(folder, w, "correct.json"), "sm_90a") for w in wgmma for v in ("correct", "fence")}
    lines, wrong = table([row for row, _ in results]), [w for _, ws in results for w in ws]
    wrong += ["%s/%s under weak: %s" % (*which, what) for which, what in shown.items() if (what == "not shown") != (which[1] == "correct")]
    document = os.path.join(a.root, "docs", "patterns.md")
    with open(document) as f:
        text = f.read()
    begin = text.index("| pattern |")
    if a.write:
        new = {cells(line): line for line in lines}
        kept = [new.pop(cells(line), line) for line in text[begin:].splitlines()] if a.names else []
        with open(document, "w") as f:
            f.write(text[:begin] + "\n".join(kept + list(new.values())) + "\n")
    else:
        said = set(text[begin:].splitlines())
        rows = [row for row, _ in results]
        wrong += ["docs/patterns.md lacks (--write makes it anew): " + line(row) for row in rows if not lines_of(row) & said]
        if not a.names and said - set(lines).union(*map(lines_of, rows)):
            wrong.append("docs/patterns.md has lines of what there is not")
    print("\n".join(lines))
    for what in wrong:
        print(what)
    print("%d plans, %d problems" % (len(plans), len(wrong)))
    return 1 if wrong or not plans else 0


if __name__ == "__main__":
    sys.exit(main())
