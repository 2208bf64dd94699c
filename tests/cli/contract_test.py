#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line's contract: exit codes, messages, --stats, --dump, Ctrl-C, disasm, info.

Here: what a user of the program sees. Not here: whether kernels compute the right thing (the plan tests).
Called with the program and the source directory.
"""
import json
import os
import struct
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ROOT = ""
# A sanitizer's shadow memory needs address space, and its checks system calls that the sandbox refuses.
SANITIZED = "ASAN_OPTIONS" in os.environ


def sassemu(*args, stdin=None):
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, text=True, timeout=120)


def cubin(kernel, arch="sm_90"):
    return os.path.join(ROOT, "cubins", kernel, arch + ".cubin")


def plan_path(kernel):
    return os.path.join(ROOT, "cubins", kernel, "plan.json")


def one(kernel, arch="sm_90"):
    """A committed plan, on one of its architectures."""
    return plan_path(kernel), "--arch", arch


class Contract(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)

    def path(self, name):
        return os.path.join(self.scratch.name, name)

    def plan(self, kernel, change):
        """A changed copy of a committed plan, elsewhere: file paths become absolute."""
        with open(plan_path(kernel)) as f:
            plan = json.load(f)
        here = os.path.dirname(plan_path(kernel))
        plan.update(arch="sm_90", module=os.path.join(here, plan["module"]))
        for buffer in plan.get("buffers", {}).values():
            for holder in (buffer, buffer.get("expect", {})):
                if "file" in holder:
                    holder["file"] = os.path.join(here, holder["file"])
        change(plan)
        with open(self.path("plan.json"), "w") as f:
            json.dump(plan, f)
        return self.path("plan.json")

    def check(self, code, *args, stdin=None):
        result = sassemu(*args, stdin=stdin)
        self.assertEqual(result.returncode, code, (args, result.stdout, result.stderr))
        return result

    def check_one_line(self, code, *args):
        """An error: nothing on stdout, one line on stderr."""
        result = self.check(code, *args)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def resident(self, *args):
        """Bytes that the program had resident at most."""
        child = subprocess.Popen([PROGRAM, *args], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss * 1024

    def test_zeros_cost_what_is_touched(self):
        def change(plan):
            plan["buffers"]["large"] = {"bytes": 64 << 30}
            plan["buffers"]["filled"] = {"bytes": 64 << 30, "fill": "0x00"}

        small = self.resident("run", *one("vecadd"), "--threads", "1")
        large = self.resident("run", self.plan("vecadd", change), "--threads", "1")
        self.assertLess(large - small, 40 << 20)  # the page table of 128 GB

    def test_zeros_that_nobody_touched_are_neither_read_nor_written(self):
        """64 GB, of which a kernel touches a little: as an expectation's file, and as a dump."""
        size = 64 << 30
        expected = self.path("expected.bin")
        with open(os.path.join(ROOT, "cubins/vecadd/c.expected.bin"), "rb") as f:
            values = f.read()
        with open(expected, "wb") as f:
            f.write(values)
            f.truncate(size)

        def change(plan):
            plan["buffers"]["c"] = {"bytes": size, "expect": {"file": expected}}

        small = self.resident("run", *one("vecadd"), "--threads", "1")
        for sandbox in [[]] if SANITIZED else [[], ["--sandbox"]]:
            dump = self.path("dump.bin")
            large = self.resident("run", self.plan("vecadd", change), "--threads", "1", "--dump", "c=" + dump,
                                  "--memory-limit", "200M", *sandbox)
            self.assertLess(large - small, 40 << 20)
            status = os.stat(dump)
            self.assertEqual(status.st_size, size)
            self.assertLess(status.st_blocks * 512, 16 << 20)
            with open(dump, "rb") as f:
                self.assertEqual(f.read(len(values) + 4096), values + bytes(4096))
            os.remove(dump)
        # One byte far out is found.
        with open(expected, "r+b") as f:
            f.seek(size - 5)
            f.write(b"\1")
        result = self.check(1, "run", self.plan("vecadd", change))
        self.assertIn(str(size - 5), result.stdout + result.stderr)

    def test_fill(self):
        for bad in ("x", "0x1", "random:"):
            self.assertIn("--fill", self.check_one_line(2, "run", *one("vecadd"), "--fill", bad))
        self.check(0, "run", *one("vecadd"), "--fill", "random:3")

    def test_threads_are_as_many_as_were_asked_for(self):
        result = self.check(0, "run", *one("sgemm"), "--threads", "4", "--stats")
        self.assertEqual(json.loads(result.stdout.splitlines()[-1])["threads"], 4)

    def test_the_limit_of_instructions_is_exact(self):
        result = self.check(4, "run", *one("sgemm"), "--max-instructions", "777", "--stats")
        self.assertEqual(json.loads(result.stdout.splitlines()[-1])["warp_instructions"], 777)

    @unittest.skipIf(SANITIZED, "needs little address space")
    def test_a_short_machine_gives_no_signal(self):
        """Whatever the address space: an end of the run's own, which is a limit, and a line."""
        for kilobytes in range(60_000, 700_000, 64_000):
            command = 'ulimit -v %d; exec "$0" run "$@" --threads 4' % kilobytes
            result = subprocess.run(["bash", "-c", command, PROGRAM, *one("sgemm")],
                                    capture_output=True, text=True, timeout=120)
            if "error while loading shared libraries" in result.stderr:
                continue
            self.assertIn(result.returncode, (0, 4), (kilobytes, result.stdout, result.stderr))
            self.assertTrue(result.stdout or result.stderr)

    def test_usage(self):
        self.check(0, "--help")
        self.check(0, "run", "--help")
        self.check(0, "--version")
        self.check(2)
        self.check(2, "frobnicate")
        self.check(2, "run")
        self.check(2, "run", *one("vecadd"), "--no-such-option")
        self.check(2, "run", *one("vecadd"), "--level", "v9")
        self.check(2, "run", *one("vecadd"), "--threads", "many")

    def test_bad_input_is_one_line(self):
        self.assertIn("gone.json", self.check_one_line(2, "run", "gone.json"))
        self.assertIn("gone.cubin", self.check_one_line(2, "run", "gone.cubin", "--kernel", "k"))
        self.assertIn("gone", self.check_one_line(2, "info", "gone"))
        self.assertIn("gone", self.check_one_line(2, "disasm", "gone"))
        self.assertIn("plan.json:1:", self.check_one_line(2, "run", self.plan("vecadd", lambda p: p.update(lunches=1))))
        wrong = self.plan("vecadd", lambda p: p["launches"][0]["args"].pop())
        self.assertIn("takes 4 arguments, the plan has 3", self.check_one_line(2, "run", wrong))
        missing = self.plan("vecadd", lambda p: p["buffers"]["a"].update(file="gone.bin") or p["buffers"]["a"].pop("random"))
        self.assertIn("gone.bin", self.check_one_line(2, "run", missing))
        with open(cubin("vecadd"), "rb") as f:
            whole = f.read()
        with open(self.path("cut.cubin"), "wb") as f:
            f.write(whole[:len(whole) // 2])
        self.assertIn("cut.cubin", self.check_one_line(2, "run", self.path("cut.cubin")))

    def test_unknown_names_are_errors(self):
        self.assertIn("nosuch", self.check_one_line(2, "run", *one("vecadd"), "--plugin", "nosuch.so"))
        self.assertIn("nosuch", self.check_one_line(2, "run", *one("vecadd"), "--model", "nosuch"))
        self.assertIn("zz", self.check_one_line(2, "run", *one("vecadd"), "--dump", "zz=" + self.path("z")))
        self.assertIn("BUFFER=FILE", self.check_one_line(2, "run", *one("vecadd"), "--dump", "c"))
        self.assertIn("sm_9x", self.check_one_line(2, "disasm", "--arch", "sm_9x", "--words", "-"))
        self.assertEqual(os.listdir(self.scratch.name), [])

    def test_launch_that_no_gpu_accepts(self):
        self.check_one_line(2, "run", self.plan("vecadd", lambda p: p["launches"][0].update(block=[2000])))

    def test_success_stats_and_dump(self):
        result = self.check(0, "run", *one("vecadd"), "--stats", "--threads", "1", "--dump", "c=" + self.path("c.bin"))
        stats = json.loads(result.stdout.splitlines()[-1])
        self.assertGreater(stats["warp_instructions"], 0)
        self.assertEqual(stats["threads"], 1)
        self.assertIs(stats["partial"], False)
        self.assertAlmostEqual(stats["warp_instructions_per_second"] * stats["seconds"] / stats["warp_instructions"], 1, 3)
        self.assertEqual(os.path.getsize(self.path("c.bin")), 40000)
        self.assertEqual(os.listdir(self.scratch.name), ["c.bin"])
        self.check(0, "run", *one("vecadd"), "--stats=" + self.path("stats"))
        with open(self.path("stats")) as f:
            self.assertEqual(json.load(f)["warp_instructions"], stats["warp_instructions"])

    def test_a_plan_for_several_architectures_runs_on_all_in_turn(self):
        def change(p):
            p["arch"] = ["sm_75", "sm_86", "sm_90"]
        def fault_on_75(p):  # the wrong cubin for one of them
            change(p)
            p["module"] = self.path("{arch}.cubin")
            for arch in p["arch"]:
                os.symlink(cubin("fault_wild" if arch == "sm_75" else "vecadd", arch), self.path(arch + ".cubin"))
        path = self.plan("vecadd", change)
        lines = self.check(0, "run", path, "--stats").stdout.splitlines()
        self.assertEqual([json.loads(x)["arch"] for x in lines if x.startswith("{")], ["sm_75", "sm_86", "sm_90"])
        self.assertEqual(lines.count("result: ok"), 3)
        only = self.check(0, "run", path, "--arch", "sm_86").stdout
        self.assertEqual((only.count("result: ok"), only.count("sm_86 on")), (1, 1))
        self.assertIn("it is for sm_75, sm_86, sm_90", self.check_one_line(2, "run", path, "--arch", "sm_80"))
        self.assertIn("--arch sm_75", self.check_one_line(2, "run", path, "--dump", "c=" + self.path("c")))
        self.assertIn("--arch sm_75", self.check_one_line(2, "run", path, "--stats=" + self.path("s")))
        # One that fails does not keep the others from running, and its exit code is that of all.
        result = self.check(2, "run", self.plan("vecadd", fault_on_75))
        self.assertEqual(result.stdout.count("result: ok"), 2)
        self.assertIn("vecadd", result.stderr)
        broken = self.plan("vecadd", lambda p: (change(p), p["buffers"]["c"].update(expect={"values": [0] * 10000, "type": "f32"})))
        self.assertEqual(self.check(1, "run", broken).stdout.count("DIFFERENT"), 3)

    def test_a_difference_is_shown_and_is_1(self):
        def change(p):
            p["buffers"]["c"]["expect"] = {"values": [0] * 10000, "type": "f32"}
        result = self.check(1, "run", self.plan("vecadd", change))
        self.assertIn("of 10000 f32 elements differ; last written by kernel 'vecadd', launch 1", result.stdout)
        self.assertRegex(result.stdout, r"\[0\] got \S+ \(0x[0-9a-f]{8}\), expected 0 \(0x00000000\)")
        self.check(1, "run", self.plan("vecadd", lambda p: p.update(expect={"status": "trap"})))

    def test_a_fault_is_3_and_the_rest_is_not_run(self):
        def change(p):
            p["expect"] = {"status": "ok"}
            p["launches"].append(p["launches"][0])
            for name, buffer in p["buffers"].items():
                buffer.pop("expect", None)
        path = self.plan("fault_misaligned", change)
        with open(path) as f:
            first = sorted(json.load(f)["buffers"])[0]
        result = self.check(3, "run", path, "--stats", "--dump", first + "=" + self.path("dump"))
        self.assertIn("misaligned-address", result.stdout)
        self.assertIn("not run", result.stdout)
        self.assertIs(json.loads(result.stdout.splitlines()[-1])["partial"], True)
        self.assertTrue(os.path.exists(self.path("dump")))
        self.check(0, "run", *one("fault_misaligned"))

    def test_a_limit_is_4(self):
        result = self.check(4, "run", *one("sgemm"), "--max-instructions", "100", "--stats",
                            "--dump", "c=" + self.path("c.bin"))
        self.assertIs(json.loads(result.stdout.splitlines()[-1])["partial"], True)
        self.assertTrue(os.path.exists(self.path("c.bin")))
        bench = os.path.join(ROOT, "cubins", "bench", "ffma.json")
        self.check(4, "run", bench, "--time-limit", "0.05")

    def test_interrupt_is_130(self):
        bench = os.path.join(ROOT, "cubins", "bench", "ffma.json")
        process = subprocess.Popen([PROGRAM, "run", bench, "--reference", "--progress", "--stats"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("launch 1/", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out)

    def test_quick_form(self):
        result = self.check(0, "run", cubin("vecadd"), "--grid", "1", "--block", "32,1", "--arg", "buffer=128", "--arg",
                            "buffer=128", "--arg", "buffer=128", "--arg", "i32=32", "--dump", "arg2=" + self.path("c"))
        self.assertIn("vecadd grid 1x1x1 block 32x1x1: ok", result.stdout)
        with open(self.path("c"), "rb") as f:
            self.assertEqual(f.read(), bytes(128))
        self.assertIn("takes 4 arguments", self.check_one_line(2, "run", cubin("vecadd"), "--kernel", "vecadd"))
        self.assertIn("--grid", self.check_one_line(2, "run", cubin("vecadd"), "--grid", "0"))
        self.check_one_line(2, "run", plan_path("vecadd"), "--kernel", "vecadd")

    def test_same_result_in_every_mode(self):
        dumps = []
        for mode in ([], ["--reference"], ["--deterministic"], ["--threads", "1"], ["--level", "v2"]):
            self.check(0, "run", *one("sgemm"), "--dump", "c=" + self.path("c"), *mode)
            with open(self.path("c"), "rb") as f:
                dumps.append(f.read())
        self.assertEqual(len(set(dumps)), 1)

    def test_disasm_words(self):
        words = "000000000000794d\n".rjust(33, "0")
        lines = ["000fea0003800000000000000000794d", "000fea0003800000000000000000794d\t10", "nonsense", "",
                 "0" * 32, "f" * 32]
        result = self.check(0, "disasm", "--arch", "sm_90a", "--words", "-", stdin="\n".join(lines) + "\n")
        out = result.stdout.splitlines()
        self.assertEqual(len(out), len(lines))
        self.assertEqual(out[:2], ["EXIT", "EXIT"])
        for text in out[2:4]:
            self.assertRegex(text, r"^<undecodable: .+>$")
        self.assertEqual(self.check(0, "disasm", "--arch", "sm_90", "--words", "-", stdin="").stdout, "")
        self.check(2, "disasm", "--words", "-", stdin=words)

    def test_disasm_module(self):
        text = self.check(0, "disasm", cubin("mandelbrot")).stdout
        self.assertIn(".text.mandelbrot", text)
        self.assertRegex(text, r"\n        /\*[0-9a-f]{4}\*/ +EXIT ;\n")
        self.assertRegex(text, r"\n\.L_x_0:\n")
        self.assertIn("BRA `(.L_x_", text)
        self.assertIn("/* 0x", self.check(0, "disasm", "--hex", cubin("mandelbrot")).stdout)
        document = json.loads(self.check(0, "disasm", "--json", cubin("mandelbrot")).stdout)
        rows = document[0]["sections"][0]["instructions"]
        self.assertEqual([row["pc"] for row in rows], list(range(0, 16 * len(rows), 16)))

    def test_isa(self):
        text = self.check(0, "isa", "ffma", "--arch", "sm_90a").stdout
        self.assertIn("insn FFMA\n    op alu 0x23 ", text)
        self.assertIn("enum Rounding: ", text)
        self.assertIn("insn LDG\n", self.check(0, "isa", "LDG.E.64", "--arch", "sm_80").stdout)
        for arch in ("75", "80", "86", "89", "90", "100", "103", "110", "120"):
            self.check(0, "isa", "EXIT", "--arch", "sm_" + arch)
        self.assertIn("sm_90", self.check_one_line(2, "isa", "FROB", "--arch", "sm_90"))

    def test_info(self):
        text = self.check(0, "info", cubin("vecadd")).stdout
        self.assertIn("vecadd", text)
        self.assertIn("sm_90", text)
        json.loads(self.check(0, "info", "--json", cubin("vecadd")).stdout)

    def with_word(self, kernel, word, index):
        """A committed cubin with another word at this place of its code."""
        with open(cubin(kernel), "rb") as f:
            data = bytearray(f.read())
        table, = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        for k in range(count):
            _, kind, flags, _, at, _ = struct.unpack_from("<IIQQQQ", data, table + k * size)
            if kind == 1 and flags & 4:
                data[at + 16 * index:at + 16 * index + 16] = word.to_bytes(16, "little")
        with open(self.path("unknown.cubin"), "wb") as f:
            f.write(data)
        return self.path("unknown.cubin")

    def test_unknown_words(self):
        """A word that sassemu does not know is not the kernel's fault, whatever it is."""
        grid = ("--grid", "1", "--block", "32", "--arg", "buffer=128", "--arg", "buffer=128", "--arg", "buffer=128", "--arg", "u32=32")
        for word in (0x000fe2000000000000000000000070ff, (1 << 128) - 1, 0x000fe200000000000000000000001fff):
            module = self.with_word("vecadd", word, 1)
            digits = "0x%032x" % word
            said = self.check(5, "info", "--unsupported", module).stdout
            self.assertIn("a word at 16: sassemu does not know this word, " + digits + " (", said)
            found, = json.loads(self.check(5, "info", "--unsupported", "--json", module).stdout)
            self.assertEqual((found["what"], found["offset"]), ("a word", 16))
            done = self.check(5, "run", module, *grid)
            self.assertIn("sassemu does not know this word", done.stdout + done.stderr)
            self.assertIn(digits, done.stdout + done.stderr)
            self.assertNotIn("illegal", done.stdout + done.stderr)
        last = len(json.loads(self.check(0, "disasm", "--json", cubin("vecadd")).stdout)[0]["sections"][0]["instructions"]) - 1
        module = self.with_word("vecadd", (1 << 128) - 1, last)  # behind the end: nobody comes there
        self.check(5, "info", "--unsupported", module)
        self.check(0, "run", module, *grid)

    def test_options_take_one_value(self):
        """What follows an option's value is not the option's: `run --plugin profile PLAN` has a plan."""
        for command, *option in (("run", "--plugin", "profile"), ("run", "--dump", "c=" + self.path("c")), ("run", "--directory", "."),
                                 ("check-mem", "--undefined", "c"), ("check-mem", "--only-kernel", "vecadd"), ("debug", "--batch", "--ex", "continue")):
            self.check(0, command, *option, plan_path("vecadd"), "--arch", "sm_90")

    def test_info_unsupported(self):
        self.assertEqual(self.check(0, "info", "--unsupported", cubin("vecadd")).stdout, "")
        parent = os.path.join(ROOT, "tests", "engine", "data", "launches.cubin")
        self.assertIn("'_Z5erasePi': __cudaCDP2MemsetAsync at 0: it is of the device's runtime library",
                      self.check(5, "info", "--unsupported", parent).stdout)
        plain = os.path.join(ROOT, "tests", "module", "data", "plain.87.cubin")
        found, = json.loads(self.check(5, "info", "--unsupported", "--json", plain).stdout)
        opcode = found["what"].split()[0]
        listed = [line for line in self.check(0, "disasm", plain).stdout.splitlines() if opcode in line]
        self.assertEqual(found["count"], len(listed))
        self.assertIn("/*%04x*/" % found["offset"], listed[0])

    def test_kernels_by_the_names_that_people_write(self):
        library = os.path.join(ROOT, "cubins", "sync", "library", "library.sm_90.cubin")
        symbol = "_Z12cuda_barrierILi0EEvPKjPjS2_"
        whole = self.check(0, "disasm", library, "--kernel", symbol).stdout
        for name in ("void cuda_barrier<0>(unsigned int const*, unsigned int*, unsigned int*)", "cuda_barrier<0>", "cuda_barrier<?>"):
            if "?" not in name:
                self.assertEqual(self.check(0, "disasm", library, "--kernel", name).stdout, whole)
            said = self.check(2, "run", library, "--kernel", name).stderr
            self.assertIn("cuda_barrier<0>" if "?" not in name else "may be any of", said)
        said = self.check_one_line(2, "run", library, "--kernel", "cuda_barier")
        self.assertIn("does not exist", said)
        self.assertIn("; cuda_barrier<0>; ", said)
        listed = self.check(2, "run", library).stderr
        self.assertIn("\n  cuda_barrier<0>(unsigned int const*: 8 bytes, ", listed)
        example = listed.splitlines()[-1].split("for example: sassemu ")[1]
        self.assertIn("--grid 1 --block 32 --arg buffer=4096", example)
        self.check(0, *shlex.split(example), "--time-limit", "20")
        fault = self.check(3, "run", library, "--kernel", "cuda_barrier<0>", *["--arg", "i64=64"] * 3).stdout
        self.assertIn("in kernel 'void cuda_barrier<0>(", fault)

    def test_a_missing_service_concerns_its_callers(self):
        """sm_120 leaves copies to functions of the driver; one that nobody knows refuses the kernel that calls it."""
        with open(cubin("bulk_copy", "sm_120"), "rb") as f:
            module = f.read()
        name = b"__cuda_syscall_cp_async_bulk_multicast"
        self.assertIn(name, module)
        with open(self.path("odd.cubin"), "wb") as f:
            f.write(module.replace(name, name.replace(b"multicast", b"multicasu")))

        def only(kernel, buffer):
            def change(plan):
                plan.update(arch="sm_120", module=self.path("odd.cubin"))
                plan["launches"] = [launch for launch in plan["launches"] if launch["kernel"] == kernel]
                plan["buffers"][buffer].pop("expect")
            return self.plan("bulk_copy", change)

        self.check(0, "run", only("pipeline", "tiles"))
        self.assertIn("launch of 'multicast': it calls __cuda_syscall_cp_async_bulk_multicasu",
                      self.check(5, "run", only("multicast", "out")).stderr)


if __name__ == "__main__":
    PROGRAM, ROOT = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
