#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sassemu exec`: what it starts and what not, exit codes, signals, which libraries a program is given; and a CUDA
program without a toolkit (program.cpp) under it.

    exec_test.py SASSEMU PROGRAM CUBIN
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SASSEMU = PROGRAM = CUBIN = ""


def run(*args, env=None, **more):
    return subprocess.run([SASSEMU, "exec", *args], capture_output=True, text=True, timeout=120, env=env, **more)


class Starting(unittest.TestCase):
    def test_exit_codes_are_the_programs(self):
        self.assertEqual(run("--", "true").returncode, 0)
        self.assertEqual(run("--", "sh", "-c", "exit 41").returncode, 41)

    def test_arguments_reach_the_program(self):
        result = run("--seed", "3", "--", "printf", "%s|", "--seed", "a b", "--", "")
        self.assertEqual(result.stdout, "--seed|a b|--||")

    def test_what_cannot_be_run_is_said(self):
        for program, words in (("no-such-program", "there is no such program"), ("/etc", "is a folder"), ("/etc/passwd", "cannot be executed")):
            result = run("--", program)
            self.assertEqual(result.returncode, 2, program)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_static_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "a.c"), os.path.join(folder, "a")
            with open(source, "w") as f:
                f.write("int main(void) { return 0; }\n")
            compiler = shutil.which("cc")
            if not compiler or subprocess.run([compiler, "-static", source, "-o", program], capture_output=True).returncode:
                self.skipTest("nothing can be linked statically here")
            result = run("--", program)
            self.assertEqual(result.returncode, 5)
            self.assertIn("linked statically", result.stderr)

    def test_options_are_looked_at_first(self):
        for options in (["--model", "no-such-model"], ["--plugin", "no-such-plugin"], ["--device", "gtx"], ["--gpus", "0"]):
            result = run(*options, "--", "sh", "-c", "echo started")
            self.assertEqual((result.returncode, result.stdout), (2, ""), options)
        self.assertEqual(run("--save", "x", "--", "true").returncode, 5)

    def test_it_ends_as_the_program_does(self):
        self.assertEqual(run("--", "sh", "-c", "kill -SEGV $$").returncode, -signal.SIGSEGV)

    def test_signals_pass(self):
        child = subprocess.Popen([SASSEMU, "exec", "--", "sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"],
                                 stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        child.terminate()
        self.assertEqual(child.wait(20), 9)
        child.stdout.close()

    def test_who_kills_it_kills_the_program(self):
        child = subprocess.Popen([SASSEMU, "exec", "--", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True)
        program = int(child.stdout.readline())
        child.kill()
        child.wait()
        child.stdout.close()  # and the pipe
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                with open(f"/proc/{program}/stat") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return
            except OSError:
                return
            time.sleep(0.01)
        self.fail("the program goes on")

    def test_a_program_that_goes_on_is_ended(self):
        result = run("--time-limit", "0.1", "--", "sleep", "60")
        self.assertEqual(result.returncode, 4)
        self.assertIn("time limit", result.stderr)

    def test_dispositions_are_as_without(self):
        code = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_DFL, open('/proc/self/status').read().split('SigIgn:')[1].split()[0])"
        plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(run("--", sys.executable, "-c", code).stdout, plain.stdout)


class Libraries(unittest.TestCase):
    """By soname, by absolute paths that do not exist, as wheels name them, and in children."""

    def loaded(self, name, before=()):
        code = f"import ctypes; ctypes.CDLL({name!r}); print([l.split()[-1] for l in open('/proc/self/maps') if 'r-xp' in l and '/sassemu/cu' in l])"
        result = run("--", *before, sys.executable, "-c", code)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [os.path.basename(path) for path in eval(result.stdout)]

    def test_redirected(self):
        for name, ours in (("libcudart.so.13", "libcudart.so.13"), ("/nowhere/libcudart.so.12", "libcudart.so.12"), ("libcudart.so.12.4.99", "libcudart.so.12"),
                           ("libcudart-d0da41ae.so.12", "libcudart.so.12"), ("/usr/lib/libcuda.so.1", "libcuda.so.1"), ("libcuda.so", "libcuda.so.1")):
            found = self.loaded(name)
            self.assertTrue(any(one.startswith(ours) for one in found), (name, found))

    def test_children_too(self):
        self.assertTrue(any(one.startswith("libcudart") for one in self.loaded("libcudart.so.13", before=["env"])))

    def test_others_are_not(self):
        for name in ("libcudart.so.11.0", "libcudadevrt.so", "libcuda_other.so"):
            self.assertEqual(run("--", sys.executable, "-c", f"import ctypes; ctypes.CDLL({name!r})").returncode, 1)


class Cuda(unittest.TestCase):
    def part(self, name, *options, code=0):
        result = run(*options, "--", PROGRAM, CUBIN, name)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        return result

    def test_sums(self):
        self.part("sums")

    def test_rows(self):
        self.part("rows")

    def test_the_end_of_a_program_is_none_of_a_thread(self):
        for _ in range(20):  # workers met the end of TBB in every second run
            self.part("sums", "--threads", "4")

    def test_traces_and_profiles_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            trace, profile = os.path.join(folder, "t.trace"), os.path.join(folder, "p.json")
            self.part("sums", "--trace", trace, "--profile", profile)
            self.assertGreater(os.path.getsize(trace), 100)
            self.assertGreater(os.path.getsize(profile), 100)
            self.assertEqual(sorted(os.listdir(folder)), ["p.json", "t.trace"])

    def test_devices(self):
        result = self.part("devices", "--gpus", "2", "--device", "h200")
        self.assertIn("132 SMs, 9.0, devices: 2", result.stdout)

    def test_errors(self):
        self.part("errors")

    def test_faults_are_reported_once(self):
        result = self.part("fault", code=3)
        self.assertEqual(result.stderr.count("out of bounds") + result.stderr.count("out-of-bounds"), 1, result.stderr)


if __name__ == "__main__":
    SASSEMU, PROGRAM, CUBIN = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
