#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--sandbox and --root: what a run may no longer do, and that it still does all the rest.

Called with the program, the source directory and the folder of the test plugins.
"""
import ctypes
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ROOT = PLUGINS = ""
LANDLOCK_CREATE_RULESET, SECCOMP = (444, 317) if os.uname().machine == "x86_64" else (444, 277)


def sassemu(*args, **more):
    return subprocess.run([PROGRAM, args[0], "--arch", "sm_90", *args[1:]], capture_output=True, text=True, timeout=120, **more)


def plan_path(kernel, plan="plan"):
    return os.path.join(ROOT, "cubins", kernel, plan + ".json")


def without(*numbers):
    """For a child: these system calls fail with ENOSYS, as on a kernel that lacks them."""
    def install():
        code = struct.pack("=HBBI", 0x20, 0, 0, 0)
        for number in numbers:
            code += struct.pack("=HBBI", 0x15, 0, 1, number) + struct.pack("=HBBI", 0x06, 0, 0, 0x00050000 | 38)
        code += struct.pack("=HBBI", 0x06, 0, 0, 0x7fff0000)
        buffer = ctypes.create_string_buffer(code)
        program = ctypes.create_string_buffer(struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(buffer)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    return install


class Folder(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = os.path.realpath(self.scratch.name)

    def path(self, *name):
        return os.path.join(self.folder, *name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def read(self, name, mode="r"):
        with open(self.path(name), mode) as f:
            return f.read()

    def check(self, code, *args, **more):
        result = sassemu(*args, **more)
        self.assertEqual(result.returncode, code, (args, result.stdout, result.stderr))
        return result


class Sandbox(Folder):
    ATTEMPTS = ("read", "make", "truncate", "rename", "delete", "look", "socket", "local socket", "fork", "signal",
                "code", "read by a thread", "affinity", "affinity of another", "limits of another", "clock of another", "exec")

    def attempts(self, *options):
        self.write("there", "kept")
        plugin = "%s/escapes.so:folder=%s,early=%s" % (PLUGINS, self.folder, self.path("early"))
        os.dup2(1, 9, inheritable=True)
        result = self.check(0, "run", plan_path("vecadd"), "--plugin", plugin, *options, pass_fds=(9,))
        return dict(re.findall(r"^(\w[\w ]*): (.*)$", result.stdout, re.MULTILINE))

    def test_what_is_forbidden_is_refused(self):
        for threads in ("1", "2"):
            said = self.attempts("--sandbox", "--threads", threads)
            for what in self.ATTEMPTS:
                self.assertEqual(said[what], "Operation not permitted", (what, said))
            self.assertEqual(said["inherited"], "Bad file descriptor")
            self.assertEqual((said["own affinity"], said["own affinity set"]), ("done", "done"))
            self.assertEqual((said["early"], said["write early"]), ("done", "done"))
            self.assertEqual(self.read("early"), "written")
            self.assertEqual(sorted(os.listdir(self.folder)), ["early", "there"])
            self.assertEqual(self.read("there"), "kept")

    def test_what_the_caller_left_open_is_closed_without_proc_too(self):
        hidden = ["unshare", "--user", "--map-root-user", "--mount"]
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no namespaces here")
        plugin = "%s/escapes.so:folder=%s,early=%s" % (PLUGINS, self.folder, self.path("early"))
        # The loader finds libraries beside a program by /proc.
        libraries = {**os.environ, "LD_LIBRARY_PATH": os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), "..", "lib")}
        command = [PROGRAM, "run", "--arch", "sm_90", plan_path("vecadd"), "--sandbox", "--plugin", plugin]
        for descriptor in (9, 5000):
            done = subprocess.run([*hidden, "bash", "-c", 'mount -t tmpfs none /proc && ulimit -n 6000 && exec "$@" 9<&%d' % descriptor, "-", *command],
                                  capture_output=True, text=True, timeout=120, preexec_fn=lambda: os.dup2(1, descriptor), check=False, close_fds=False,
                                  env=libraries)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("\ninherited: Bad file descriptor\n", done.stdout)

    def test_many_outputs(self):
        buffers = {"b%d" % i: {"bytes": 1 + i, "fill": "0x5a"} for i in range(300)}
        with open(plan_path("vecadd"), encoding="utf-8") as f:
            plan = json.load(f)
        plan["buffers"].update(buffers)
        plan.update(arch="sm_90", module=os.path.join(ROOT, "cubins", "vecadd", "sm_90.cubin"))
        del plan["buffers"]["c"]["expect"]
        dumps = [text for name in buffers for text in ("--dump", "%s=%s" % (name, self.path(name)))]
        self.check(0, "run", self.write("plan.json", json.dumps(plan)), "--sandbox", *dumps)
        for i in range(300):
            self.assertEqual(self.read("b%d" % i, "rb"), b"Z" * (1 + i))

    def test_without_it_the_same_plugin_does_it_all(self):
        said = self.attempts("--threads", "1")
        for what in self.ATTEMPTS[:-1] + ("inherited",):
            if what not in ("delete", "signal"):  # renamed before; the parent may be another user's
                self.assertEqual(said[what], "done", (what, said))

    def outputs(self, prefix, *options):
        self.check(0, "run", plan_path("sgemm"), "--dump", "c=" + self.path(prefix + "c"),
                   "--stats=" + self.path(prefix + "stats"), *options)
        result = sassemu("check-sync", plan_path("sync/atomic_scope", "scope"), "--json", self.path(prefix + "json"), "--sarif",
                         self.path(prefix + "sarif"), *options)
        self.assertIn(result.returncode, (0, 6), result.stderr)
        return result.returncode, re.sub(r"in [\d.e+-]+ s, [\d.]+ M/s", "", result.stdout)

    def test_outputs_are_the_same(self):
        for options in (["--threads", "1"], ["--threads", "2"], ["--model", "delay"]):
            plain = self.outputs("plain.", *options)
            shut = self.outputs("shut.", "--sandbox", *options)
            self.assertEqual(plain, shut)
            for name in ("c", "json", "sarif"):
                self.assertEqual(self.read("plain." + name, "rb"), self.read("shut." + name, "rb"), name)
            self.assertEqual(json.loads(self.read("shut.stats"))["warp_instructions"],
                             json.loads(self.read("plain.stats"))["warp_instructions"])
            self.assertEqual(len(os.listdir(self.folder)), 8, os.listdir(self.folder))

    def test_outputs_that_are_not_written_stay_as_they_were(self):
        self.write("c", "before")
        self.check(2, "run", self.write("plan.json", "{}"), "--sandbox", "--dump", "c=" + self.path("c"))
        self.assertEqual(self.read("c"), "before")
        self.assertEqual(sorted(os.listdir(self.folder)), ["c", "plan.json"])
        result = self.check(2, "run", plan_path("vecadd"), "--sandbox", "--dump", "c=" + self.path("gone", "c"))
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(result.stdout, "")

    def test_exit_codes_and_interrupts(self):
        self.check(0, "run", plan_path("fault_misaligned"), "--sandbox")
        self.check(4, "run", plan_path("sgemm"), "--sandbox", "--max-instructions", "100")
        process = subprocess.Popen([PROGRAM, "run", plan_path("bench", "ffma"), "--reference",
                                    "--progress", "--sandbox", "--stats=" + self.path("stats")],
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("launch 1/", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out)
        self.assertEqual(os.listdir(self.folder), ["stats"])

    def test_never_without_it(self):
        for number in (LANDLOCK_CREATE_RULESET, SECCOMP):
            result = self.check(2, "run", plan_path("vecadd"), "--sandbox", preexec_fn=without(number))
            self.assertEqual(result.stdout, "")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("--sandbox", result.stderr)
        several = [plan_path("vecadd"), plan_path("vecadd")]
        for args in (["check-sync", *several], ["check-sync", several[0], "--seeds", "2"],
                     ["run", several[0], "--plugin", "profile:html=" + self.path("p.html")]):
            result = self.check(2, *args, "--sandbox")
            self.assertIn("--sandbox", result.stderr)
            self.assertEqual(result.stdout, "")


class Root(Folder):
    def setUp(self):
        super().setUp()
        self.inside = self.path("inside")
        shutil.copytree(os.path.join(ROOT, "cubins", "vecadd"), self.inside)
        shutil.copytree(self.inside, self.path("outside"))

    def plan(self, change):
        with open(plan_path("vecadd")) as f:
            plan = json.load(f)
        change(plan)
        with open(os.path.join(self.inside, "plan.json"), "w") as f:
            json.dump(plan, f)
        return os.path.join(self.inside, "plan.json")

    def refused(self, plan, *more):
        result = self.check(2, "run", plan, "--root", self.inside, *more)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn("outside of --root", result.stderr)

    def test_inside(self):
        self.check(0, "run", self.plan(lambda p: None), "--root", self.inside)
        self.check(0, "run", self.plan(lambda p: p.update(module=self.path("inside", "sm_90.cubin"))), "--root", self.inside)
        self.check(0, "run", self.plan(lambda p: p.update(module="../inside/./sm_90.cubin")), "--root", self.folder)
        self.plan(lambda p: None)
        self.check(0, "run", "plan.json", "--root", ".", cwd=self.inside)
        self.check(0, "run", "../inside/plan.json", "--root", ".", cwd=self.inside)
        os.symlink("sm_90.cubin", self.path("inside", "link"))
        self.check(0, "run", self.plan(lambda p: p.update(module="link")), "--root", self.inside, "--sandbox")
        os.symlink(self.inside, self.path("other_name"))
        self.check(0, "run", self.path("inside", "plan.json"), "--root", self.path("other_name"))
        self.check(0, "run", self.path("other_name", "plan.json"), "--root", self.path("other_name"))

    def test_outside(self):
        self.refused(self.path("outside", "plan.json"))
        self.refused(self.path("inside", "..", "outside", "plan.json"))
        os.symlink(self.path("outside"), self.path("inside", "folder"))
        os.symlink("../outside/sm_90.cubin", self.path("inside", "file"))
        for module in (self.path("outside", "sm_90.cubin"), "../outside/sm_90.cubin", "folder/sm_90.cubin", "file",
                       "folder/../sm_90.cubin", "/proc/self/exe"):
            self.refused(self.plan(lambda p: p.update(module=module)))
        for change in ({"file": "file"}, {"expect": {"file": "file"}}):
            self.refused(self.plan(lambda p: p["buffers"].update(c={"bytes": 40000, **change})))
        self.refused(self.path("outside", "sm_90.cubin"), "--kernel", "vecadd")
        result = self.check(2, "run", self.plan(lambda p: None), "--root", self.path("nowhere"))
        self.assertIn("--root", result.stderr)


if __name__ == "__main__":
    PROGRAM, ROOT, PLUGINS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:])
