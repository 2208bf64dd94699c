#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a GPU: the launches that real.py has prepared, and whether they leave what they left in the emulator.

    chip.py FOLDER RESULT     FOLDER as OUT/sm_90a of real.py; RESULT is a folder for chip.json, and differ.tar.gz with
                              the buffers that differ. Needs numpy and the driver's libcuda.so.1
    chip.py --one FOLDER      one launch's folder, in this process: a line of JSON

Each launch runs twice, in a process of its own, because a kernel that faults takes its context along. `cubins/record.py` reads the plans.
"""

import concurrent.futures
import glob
import hashlib
import json
import os
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../../cubins")]
import record  # noqa: E402

SECONDS = 30  # for a launch; most of it is the start of its process


def emulated(folder, name):
    try:
        with open(os.path.join(folder, f"{name}.got"), "rb") as f:
            return f.read()
    except FileNotFoundError:
        return None


def one(folder):
    with open(os.path.join(folder, "plan.json")) as f:
        plan = json.load(f)
    driver = record.Driver()
    record.set_limits(driver, plan)
    with open(os.path.join(folder, plan["module"]), "rb") as f:
        row = {"gpu": driver.name(), "driver": driver.version(), "module": hashlib.sha256(f.read()).hexdigest()}
    runs = [record.run_plan(driver, plan, folder, list(plan["buffers"]), []) for _ in range(2)]
    row["status"] = runs[0][0]
    row["varies"] = [name for name in plan["buffers"] if runs[0][1].get(name) != runs[1][1].get(name)]
    row["sha256"] = {name: hashlib.sha256(held).hexdigest() for name, held in runs[0][1].items()}
    row["differs"] = [name for name, held in runs[0][1].items() if held != emulated(folder, name)]
    for name in row["differs"]:
        with open(os.path.join(folder, f"{name}.chip"), "wb") as f:
            f.write(runs[0][1][name])
    print(json.dumps(row))


def launch(folder):
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", folder], capture_output=True, text=True, timeout=SECONDS)
        return json.loads(done.stdout) if done.returncode == 0 else {"error": (done.stderr + done.stdout)[-500:]}
    except subprocess.TimeoutExpired:
        return {"error": f"{SECONDS} s"}


def main(folder, result):
    os.makedirs(result, exist_ok=True)
    places = sorted(os.path.dirname(path) for path in glob.glob(os.path.join(folder, "*/plan.json")))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        rows = dict(zip(map(os.path.basename, places), pool.map(launch, places)))
    with open(os.path.join(result, "chip.json"), "w") as f:
        json.dump(rows, f, indent=1, sort_keys=True)
    if others := glob.glob(os.path.join(folder, "*/*.chip")):
        with tarfile.open(os.path.join(result, "differ.tar.gz"), "w:gz") as tar:
            for path in others:
                tar.add(path, os.path.relpath(path, folder))
    for name, row in rows.items():
        print(
            "equal" if not (row.get("error") or row["varies"] or row["differs"] or row["status"] != "ok") else "WRONG",
            name,
            row.get("error") or " ".join(f"{key}: {row[key]}" for key in ("status", "varies", "differs") if row[key]),
        )


if sys.argv[1:2] == ["--one"]:
    one(sys.argv[2])
elif len(sys.argv) == 3:
    main(*sys.argv[1:])
else:
    sys.exit(__doc__)
