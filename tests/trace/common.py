# SPDX-License-Identifier: Apache-2.0
"""What the tests of traces share: running the program, and a scratch folder. Called as TEST.py PROGRAM ROOT."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, os.path.join(ROOT, "sdk", "python"))
from sassemu import trace  # noqa: E402  (its folder is known only now)


def small(plan):
    """sgemm, 20 thousand warp instructions of it: a Python reader is slow."""
    plan["launches"][0]["grid"] = [2, 2, 1]
    plan["launches"][0]["args"][2] = {"i32": 32}


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def sassemu(self, code, *args, **more):
        done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120, **more)
        self.assertEqual(done.returncode, code, (args, done.stdout[-2000:], done.stderr[-2000:]))
        return done

    def record(self, kernel, name, *options, run=(), code=0, plan=None, **more):
        """Traces a committed plan; the path of the trace."""
        if kernel == "sgemm":
            plan = self.plan("sgemm", small)
        plan = plan or os.path.join(ROOT, "cubins", kernel, "plan.json")
        arch = () if plan.startswith(self.folder) else ("--arch", "sm_90")
        settings = ",".join(("file=" + self.path(name),) + options)
        self.sassemu(code, "run", plan, *arch, "--plugin", "trace:" + settings, *run, **more)
        return self.path(name)

    def plan(self, kernel, change, name="plan.json"):
        """A changed copy of a committed plan, without what it expects."""
        here = os.path.join(ROOT, "cubins", kernel)
        with open(os.path.join(here, "plan.json"), encoding="utf-8") as f:
            plan = json.load(f)
        plan.update(arch="sm_90", module=os.path.join(here, plan["module"]))
        for buffer in plan["buffers"].values():
            buffer.pop("expect", None)
            if "file" in buffer:
                buffer["file"] = os.path.join(here, buffer["file"])
        change(plan)
        with open(self.path(name), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        return self.path(name)


def key(r):
    """What identifies an executed instruction, apart from the trace that it is in."""
    return r.launch, r.cta, r.warp, r.pc, r.lanes, r.active


def records(path):
    with trace.Trace(path) as t:
        return list(t.records())
