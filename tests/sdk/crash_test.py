#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that crash or throw are named: plugin, callback, kernel, pc, instruction; never a signal, never `ok`.

Called with the program, the source directory and the folder of the test plugins.
"""
import os
import subprocess
import sys
import unittest

PROGRAM = ROOT = PLUGINS = ""


def run(how, where, *more, kernel="vecadd"):
    plan = os.path.join(ROOT, "cubins", kernel, "plan.json")
    plugin = "%s/crashes.so:how=%s,where=%s" % (PLUGINS, how, where)
    return subprocess.run([PROGRAM, "run", plan, "--arch", "sm_90", "--plugin", plugin, *more], capture_output=True, text=True, timeout=60)


class Crashes(unittest.TestCase):
    def named(self, result, callback, what):
        self.assertEqual(result.returncode, 7, result)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, r"^sassemu: plugin 'crashes' .*%s.* in its callback %s\b" % (what, callback))

    def test_every_way_to_crash(self):
        for how, what in (("segv", "SIGSEGV"), ("bus", "SIGBUS"), ("fpe", "SIGFPE"), ("ill", "SIGILL"),
                          ("abort", "SIGABRT"), ("stack", "SIGSEGV"), ("exit", r"exit\(\)")):
            for threads in ("1", "2"):
                result = run(how, "access", "--threads", threads)
                self.named(result, "access", what)
                self.assertRegex(result.stderr, r"kernel 'vecadd' in 'vecadd', pc 0x[0-9a-f]*0: (LD|ST|U?LDC)")

    def test_every_place_to_crash(self):
        for where in ("create", "select", "before", "after", "launch_begin", "cta_end", "allocate", "finish", "destroy"):
            self.named(run("segv", where), where, "SIGSEGV")

    def test_an_exception_that_is_no_exception(self):
        for where in ("before", "access", "launch_begin", "finish"):
            result = run("int", where)
            self.assertEqual(result.returncode, 6, (where, result.stdout[-300:], result.stderr))
            self.assertIn("crashes: plugin-failure: an exception that is no std::exception", result.stdout)

    def test_what_was_printed_before_stays(self):
        printed = run("", "", kernel="printf").stdout.split(os.path.join(ROOT, "cubins"))[0]
        self.assertGreater(printed.count("\n"), 1)
        result = run("segv", "finish", kernel="printf")
        self.named(result, "finish", "SIGSEGV")
        self.assertEqual(result.stdout, printed)


if __name__ == "__main__":
    PROGRAM, ROOT, PLUGINS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:])
