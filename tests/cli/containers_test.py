#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of files with several containers and architectures, by names and parts of names, and captured launches (version 2) whose module is such a file.

  containers_test.py SASSEMU REPOSITORY
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = map(os.path.abspath, (sys.argv.pop(1), sys.argv.pop(1)))
DATA = os.path.join(ROOT, "tests", "module", "data")


class Containers(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        # Kernels for sm_75 and sm_90a (plain), and for sm_90a alone, compressed (first, second).
        self.file = os.path.join(scratch.name, "two.fatbin")
        with open(self.file, "wb") as out:
            for name in ("plain_none", "rdc"):
                with open(os.path.join(DATA, name + ".fatbin"), "rb") as f:
                    out.write(f.read())

    def run_it(self, *args, code):
        done = subprocess.run([PROGRAM, "run", *args], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, (args, done.stdout[-1000:], done.stderr[-1000:]))
        return done.stderr

    def kernel(self, name, *args, code):
        return self.run_it(self.file, "--kernel", name, "--grid", "1", "--block", "1", "--dynamic-shared", "1024", *args, code=code)

    def test_by_a_part_of_the_name(self):
        self.kernel("fir*", "--arg", "buffer=4096", code=0)
        self.kernel("fir*", "--arg", "buffer=4096", "--arch", "sm_90a", code=0)
        self.assertIn("may be any of 2 kernels", self.kernel("*s*", "--arg", "buffer=4096", code=2))  # first, second
        self.assertIn("does not exist; there are: plain; ", self.kernel("third", code=2))

    def test_for_another_architecture(self):
        for name in ("first", "sec*"):
            self.assertIn("kernel '%s': is not there for sm_75; it is there for sm_90a" % name, self.kernel(name, "--arch", "sm_75", code=2))
        self.assertIn("does not exist", self.kernel("third", "--arch", "sm_75", code=2))

    def test_a_capsule_of_version_2(self):
        plan = {"capsule": {"version": 2, "program": "p", "launch": 1}, "arch": "sm_90a", "module": self.file, "buffers": {"out": {"bytes": 4096, "fill": 0}},
                "functions": [{"function": "_Z14plain_functioni", "address": 0x7f0000100000}],
                "launches": [{"kernel": "first", "grid": [1], "block": [1], "dynamicShared": 1024, "args": [{"buffer": "out"}]}]}
        path = self.file + ".json"
        for arch, code in (("sm_90a", 0), ("sm_75", 2)):
            with self.subTest(arch=arch), open(path, "w", encoding="utf-8") as f:
                json.dump(dict(plan, arch=arch), f)
                f.flush()
                self.run_it(path, code=code)


if __name__ == "__main__":
    unittest.main()
