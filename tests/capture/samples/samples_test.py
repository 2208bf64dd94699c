#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capsules that samples/record captured on a GPU give its bytes: samples_test.py SASSEMU capsules.tar.xz native.tar.xz

native.tar.xz: graphs with copies, fills, a function of the host and memory of their own, and functions whose addresses stand in memory."""

import glob
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile

KERNELS = {"saxpy", "walk", "rotate", "bulk", "filter", "steps", "twice+reversed+twice", "_Z4makeP4RingPP5ShapePPFffEi", "_Z3usePKP5ShapePKPFffEPfi",
           "_Z3addPfPKffi+14 copies+_Z3addPfPKffi", "_Z3addPfPKffi+15 copies+_Z3addPfPKffi",
           "_Z8integersPjj+1 copies+_Z8integersPjj+1 copies+_Z8integersPjj+1 copies+_Z8integersPjj", "_Z8integersPjj+_Z8integersPjj+_Z8integersPjj"}


def run(sassemu, plan):
    return subprocess.run([sassemu, "run", plan, "--threads", "2"], capture_output=True, text=True, timeout=60)


def name_of(plan):
    names = []
    for kernel, group in itertools.groupby(plan["launches"], lambda launch: launch.get("kernel")):
        names += [kernel for _ in group] if kernel else ["%d copies" % len(list(group))]
    return "+".join(names)


def of_two_modules(path):
    """The same launch from the second of two modules that have all variables: a graph of several modules is captured so."""
    with open(path) as f:
        plan = json.load(f)
    plan["modules"] *= 2
    plan["launches"][0]["module"] = 1
    for entry in plan["globals"].values():
        entry["module"] = 1
    with open(os.path.join(os.path.dirname(path), "sevens.bin"), "wb") as f:
        f.write(b"\x07" * 4)
    plan["globals"]["counted@0"] = {"symbol": "counted", "module": 0, "fill": 7, "expect": {"file": "sevens.bin"}}
    changed = os.path.join(os.path.dirname(path), "two.json")
    with open(changed, "w") as f:
        json.dump(plan, f)
    return changed


def main():
    sassemu, *archives = sys.argv[1:]
    seen, problems = set(), []
    with tempfile.TemporaryDirectory() as folder:
        for capsules in archives:
            with tarfile.open(capsules) as t:
                t.extractall(folder)
        for path in sorted(glob.glob(os.path.join(folder, "capsules/*/plan.json"))):
            with open(path) as f:
                plan = json.load(f)
            name = name_of(plan)
            seen.add(name)
            done = run(sassemu, path)
            if done.returncode:
                problems.append("%s: %d\n%s%s" % (name, done.returncode, done.stdout, done.stderr))
            if name == "saxpy" and (done := run(sassemu, of_two_modules(path))).returncode:
                problems.append("of two modules: %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
            # It would be noticed: some byte of what was there afterwards is another.
            after = [b["expect"]["file"] for b in {**plan["buffers"], **plan.get("globals", {})}.values() if b.get("expect", {}).get("file", "").endswith(".after.bin")]
            if not after:
                problems.append("%s: compares nothing" % name)
                continue
            with open(os.path.join(os.path.dirname(path), after[0]), "r+b") as f:
                byte = f.read(1)
                f.seek(0)
                f.write(bytes([byte[0] ^ 1]))
            if (wrong := run(sassemu, path)).returncode != 1:
                problems.append("%s with another byte: %d\n%s" % (name, wrong.returncode, wrong.stdout))
    if seen != KERNELS:
        problems.append("kernels: %s" % sorted(seen ^ KERNELS))
    print("\n".join(problems) or "%d kinds of capsules" % len(seen))
    return bool(problems)


sys.exit(main())
