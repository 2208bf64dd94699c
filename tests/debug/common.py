# SPDX-License-Identifier: Apache-2.0
"""What the tests of the debugger share: plans over the cubins beside them, and running the program. Called as
TEST.py PROGRAM ROOT."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
DATA = os.path.join(ROOT, "tests", "debug", "data")
PLANS = {
    "steps": {"buffers": {"in": {"bytes": 512, "random": {"type": "i32", "seed": 1, "low": 0, "high": 100}},
                          "out": {"bytes": 512, "fill": "0x00"}, "count": {"bytes": 4, "fill": "0x00"}},
              "launches": [{"kernel": "steps", "grid": [2, 1, 1], "block": [64, 1, 1],
                            "args": [{"buffer": "in"}, {"buffer": "out"}, {"buffer": "count"}, {"i32": 5}]}]},
    "locals": {"buffers": {"in": {"bytes": 512, "random": {"type": "i32", "seed": 1, "low": 0, "high": 100}},
                           "out": {"bytes": 512, "fill": "0x00"}},
               "launches": [{"kernel": "locals", "grid": [2, 1, 1], "block": [64, 1, 1],
                             "args": [{"buffer": "in"}, {"buffer": "out"}, {"i32": 128},
                                      {"bytes": "0000c03f0000204007000000"}]}]},
    "calls": {"buffers": {"in": {"bytes": 128, "random": {"type": "i32", "seed": 1, "low": 0, "high": 100}},
                          "out": {"bytes": 128, "fill": "0x00"}},
              "launches": [{"kernel": "calls", "grid": [1, 1, 1], "block": [32, 1, 1],
                            "args": [{"buffer": "in"}, {"buffer": "out"}, {"i32": 32}]}]},
    "spaces": {"buffers": {"in": {"bytes": 128, "fill": "0x00"}, "out": {"bytes": 128, "fill": "0x00"},
                           "t": {"bytes": 32, "fill": "0x00"}},
               "launches": [{"kernel": "spaces", "grid": [1, 1, 1], "block": [32, 1, 1], "dynamicShared": 128,
                             "args": [{"buffer": "out"}, {"buffer": "in"}, {"i32": 1}]}]},
}


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, name, change=None):
        plan = json.loads(json.dumps(PLANS[name]))
        plan.update(arch="sm_90", module=os.path.join(DATA, name + ".cubin"))
        if change:
            change(plan)
        with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
            json.dump(plan, f)
        return self.path(name + ".json")

    def run_debugger(self, file, *args, code=0, text=None, **more):
        done = subprocess.run([PROGRAM, "debug", file, *args], capture_output=True, text=True, timeout=120, input=text,
                              **more)
        self.assertEqual(done.returncode, code, (args, done.stdout[-3000:], done.stderr[-2000:]))
        return done

    def session(self, file, *commands, options=(), code=0):
        """The output of each command, in a list: what is printed before the first comes first."""
        script = [part for c in commands for part in ("--ex", c, "--ex", "echo ----")]
        done = self.run_debugger(file, "--batch", "--ex", "echo ----", *options, *script, code=code)
        self.errors = done.stderr
        return done.stdout.split("----\n")[:-1]
