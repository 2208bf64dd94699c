# SPDX-License-Identifier: Apache-2.0
"""Limits in the debugger's processes, and that none of them outlives it. limits_test.py SASSEMU ROOT"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, ROOT = sys.argv[1:3]
del sys.argv[1:3]
sys.path.insert(0, os.path.join(ROOT, "tests", "limits"))
from works import Works  # noqa: E402  pylint: disable=wrong-import-position

# Going back there is another process that runs: a checkpoint.
BACK = ("stepi 200 all", "reverse-stepi 100 all")


class Limits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.works = Works(PROGRAM, folder.name)

    def command(self, plan, commands, *more):
        return [PROGRAM, "debug", plan, "--batch", *[word for text in commands for word in ("--ex", text)], *more]

    def processes(self, plan):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if os.fsencode(plan) in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass
        return found

    def wait(self, plan, met):
        end = time.monotonic() + 20
        while not met(self.processes(plan)) and time.monotonic() < end:
            time.sleep(0.02)
        return self.processes(plan)

    def test_limits_hold_where_the_program_runs(self):
        for option, plan in ((("--time-limit", "1"), self.works.endless(1000)),
                             (("--memory-limit", "200M"), self.works.touches())):
            for before in ((), BACK):
                command = self.command(plan, [*before, "continue"], *option)
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, 4, (command, done.stdout[-500:], done.stderr))
                self.assertIn("limit of", done.stdout + done.stderr)
                self.assertEqual(self.wait(plan, lambda left: not left), [])

    def test_no_process_outlives_the_debugger(self):
        plan = self.works.endless(1000)
        for before in ((), BACK):
            for number, code in ((signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)):
                with subprocess.Popen(self.command(plan, [*before, "continue"]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as process:
                    self.wait(plan, lambda there: len(there) > 3)  # and a checkpoint: it runs
                    process.send_signal(number)
                    self.assertEqual(process.wait(), code)
                self.assertEqual(self.wait(plan, lambda left: not left), [])


if __name__ == "__main__":
    unittest.main()
