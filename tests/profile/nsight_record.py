#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the plans of cubins/ under Nsight Compute and takes down its metrics of each instruction.

  nsight_record.py OUT.json.gz [PLAN...]   on a machine with a GPU of compute capability 9.0 and ncu (needs numpy)
  nsight_record.py --launch PLAN...        what ncu watches: runs the plans in this process, in this order

All plans but those that end in a fault (it takes the context along). OUT has one entry a launch: the plan, the kernel, and
for each instruction its offset in the kernel, its text and the metrics. nsight_test.py makes nsight.tsv of it.
"""
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CUBINS = os.path.join(HERE, "..", "..", "cubins")
sys.path.insert(0, CUBINS)

# Run by themselves, so that one that hangs takes no other along.
SPIN = ["cooperative", "cta_handshake", "dependent_launch", "grid_sync", "ticket_lock", "warp_spin_lock"]
LIMIT_S = 300


def plans():
    found = []
    for path in sorted(glob.glob(os.path.join(CUBINS, "*", "plan.json"))):
        with open(path, encoding="utf-8") as f:
            plan = json.load(f)
        name = os.path.basename(os.path.dirname(path))
        if plan["expect"]["status"] == "ok" and {"sm_90", "sm_90a"} & set(plan["arch"]):
            found.append(name)
    return [n for n in found if n not in SPIN] + [n for n in found if n in SPIN]


def launch(names):
    import record
    held = {}
    for name in names:
        with open(record.plan_path(name), encoding="utf-8") as f:
            held[name] = json.load(f)
    driver = record.Driver()
    limits = {}
    for plan in held.values():  # a heap has one size for all of a context
        for what, n in plan.get("limits", {}).items():
            limits[what] = max(n, limits.get(what, 0))
    record.set_limits(driver, {"limits": limits})
    for name, plan in held.items():
        try:
            status = record.run_plan(driver, plan, os.path.dirname(record.plan_path(name)), [], [])[0]
        except Exception as e:  # the next plan may do
            status = "error: %s" % e
        kernels = [e["kernel"] for e in plan["launches"] for _ in range(e.get("repeat", 1))]
        print("\nLAUNCHED " + json.dumps({"plan": name, "status": status, "kernels": kernels}), flush=True)


def report_module():
    places = glob.glob("/opt/nvidia/nsight-compute/*/extras/python") + glob.glob("/usr/local/cuda*/nsight-compute*/extras/python")
    sys.path[:0] = sorted(places, reverse=True)
    import ncu_report
    return ncu_report


def read(path, reached):
    """The launches of a report, each with the plan that it belongs to."""
    context = report_module().load_report(path)
    actions = []
    for r in range(context.num_ranges()):
        of = context.range_by_idx(r)
        actions += [of.action_by_idx(k) for k in range(of.num_actions())]
    belongs = [(one["plan"], kernel) for one in reached for kernel in one["kernels"]]
    out = []
    for n, action in enumerate(actions):
        plan, kernel = belongs[n] if n < len(belongs) else ("?", "?")
        rows, texts = {}, {}
        for name in action.metric_names():
            if name.startswith(("smsp__pcsamp", "group:")):
                continue
            metric = action.metric_by_name(name)
            count = metric.num_instances()
            if not count or not metric.has_correlation_ids():
                continue
            ids = metric.correlation_ids()
            for k in range(count):
                pc = ids.as_uint64(k)
                if pc < 1 << 16:
                    continue
                row = rows.setdefault(pc, {})
                try:
                    value = metric.as_uint64(k)
                except Exception:
                    value = str(metric.as_string(k))
                row[name] = row.get(name, 0) + value if isinstance(value, int) else value
        for pc in rows:
            try:
                texts[pc] = action.sass_by_pc(pc)
            except Exception:
                texts[pc] = ""
        base = min(rows, default=0)
        columns = sorted({c for row in rows.values() for c in row})
        out.append({"plan": plan, "kernel": kernel, "name": action.name(), "base": base, "columns": columns,
                    "rows": [[pc - base, texts[pc]] + [rows[pc].get(c, 0) for c in columns] for pc in sorted(rows)]})
    return out, len(belongs)


def record_all(target, names):
    names = names or plans()
    groups = [[n for n in names if n not in SPIN]] + [[n] for n in names if n in SPIN]
    out = []
    for number, group in enumerate(g for g in groups if g):
        report = "%s.%d.ncu-rep" % (target, number)
        command = ["ncu", "--target-processes", "all", "--clock-control", "none", "--cache-control", "none", "--section", "SourceCounters",
                   "--force-overwrite", "--export", report, sys.executable, os.path.abspath(__file__), "--launch", *group]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
            said = done.stdout.decode("utf-8", "replace")
            note = "exit %d %s" % (done.returncode, done.stderr.decode("utf-8", "replace")[-500:])
        except subprocess.TimeoutExpired as e:
            said, note = (e.stdout or b"").decode("utf-8", "replace"), "timed out"
        reached = [json.loads(m) for m in re.findall(r"^LAUNCHED (.*)$", said, re.M)]
        for one in reached:
            if one["status"] != "ok":
                print("%s: %s" % (one["plan"], one["status"]))
        print("%s: %s, %.1f s" % (" ".join(group)[:60], note, time.monotonic() - begin), flush=True)
        errors = sorted(set(re.findall(r"^==(?:ERROR|WARNING)== .*$", said, re.M)))
        print("\n".join(errors[:5]))
        if not os.path.exists(report):
            print(said[-1500:])
            continue
        try:
            launches, expected = read(report, reached)
        except Exception as e:
            print("no report read: %r" % e)
            continue
        if len(launches) != expected:
            print("%d launches in the report, %d made" % (len(launches), expected))
        out += launches
        print("%d launches, %d rows, columns %s, read after %.1f s" % (
            len(launches), sum(len(x["rows"]) for x in launches), " ".join(launches[0]["columns"]) if launches else "",
            time.monotonic() - begin), flush=True)
    with gzip.open(target, "wt", encoding="utf-8") as f:
        json.dump(out, f, separators=(",", ":"))
    print("%d launches -> %s (%d bytes)" % (len(out), target, os.path.getsize(target)))
    good = any("inst_executed" in x["columns"] and "memory_l1_wavefronts_shared" in x["columns"] for x in out)
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--launch"]:
        launch(sys.argv[2:])
    elif len(sys.argv) > 1:
        sys.exit(record_all(sys.argv[1], sys.argv[2:]))
    else:
        sys.exit(__doc__)
