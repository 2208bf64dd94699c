#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of `cubins/` for sm_80 in Accel-Sim itself, its timing model.

    accel_sim.py SASSEMU SIMULATOR [KERNEL...]     SIMULATOR: the gpu-simulator folder of a built Accel-Sim

A line for each plan: how many instructions of threads the simulator has counted, which are those of the trace (LDGSTS it counts twice), and
cycles; or what it ended with. Plans of more than a few million instructions, and those that end in a fault, are left out."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CONFIG, ARCH, MOST, LIMIT_S = "SM86_RTX3070", "sm_80", 300_000, 300


def simulated(simulator, folder):
    """(thread instructions, cycles), or what it said last."""
    for file in glob.glob(os.path.join(simulator, "gpgpu-sim/configs/tested-cfgs", CONFIG, "*")):
        shutil.copy(file, folder)
    libraries = glob.glob(os.path.join(simulator, "gpgpu-sim/lib/*/*/release"))
    try:
        done = subprocess.run([os.path.join(simulator, "bin/release/accel-sim.out"), "-trace", os.path.join(folder, "kernelslist.g"), "-config", "gpgpusim.config", "-config",
                               os.path.join(simulator, "configs/tested-cfgs", CONFIG, "trace.config")],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT_S,
                              env={**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)})
    except subprocess.TimeoutExpired:
        return f"{LIMIT_S} s"
    if done.returncode:
        return done.stdout.strip().splitlines()[-1][-160:]
    return tuple(int(re.findall(rf"gpu_tot_sim_{what} = (\d+)", done.stdout)[-1]) for what in ("insn", "cycle"))


def plan_of(program, simulator, plan, folder):
    trace = os.path.join(folder, "t")
    run = subprocess.run([program, "run", plan, "--arch", ARCH, "--deterministic", "--max-instructions", str(MOST), "--plugin", "trace:file=" + trace],
                         capture_output=True, text=True)
    if run.returncode or "fault" in run.stdout + run.stderr:
        return None
    stat = json.loads(subprocess.run([program, "trace", "stat", trace, "--json"], capture_output=True, text=True, check=True).stdout)
    subprocess.run([program, "trace", "convert", trace, "--to", "accel-sim", "-o", os.path.join(folder, "out")], check=True)
    copies = 0
    for file in glob.glob(os.path.join(folder, "out", "*.traceg")):
        with open(file, encoding="utf-8") as f:
            copies += sum(int(line.split()[1], 16).bit_count() for line in f if " LDGSTS" in line)
    return stat["threadInstructions"] + copies, simulated(simulator, os.path.join(folder, "out"))


def main():
    program, simulator, *names = sys.argv[1:]
    program, simulator, wrong = os.path.abspath(program), os.path.abspath(simulator), 0
    for plan in sorted(glob.glob(os.path.join(ROOT, "cubins/*/plan.json"))):
        name = os.path.basename(os.path.dirname(plan))
        if (names and name not in names) or not os.path.exists(os.path.join(os.path.dirname(plan), ARCH + ".cubin")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            got = plan_of(program, simulator, plan, folder)
        if got is None:
            continue
        expected, (count, cycles) = got[0], got[1] if isinstance(got[1], tuple) else (got[1], None)
        wrong += count != expected
        print(f"{name}: {count} thread instructions, {cycles} cycles" if count == expected else f"{name}: {count}, expected {expected}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
