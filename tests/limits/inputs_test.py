#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory that input commands, and files that are none. inputs_test.py SASSEMU"""
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = sys.argv.pop(1)
READERS = (["run"], ["disasm"], ["info"], ["litmus"], ["asm", "-o", "/dev/null"])
PLAN = [os.path.join(ROOT, "cubins/saxpy/plan.json"), "--arch", "sm_90"]
MORE_READERS = (["check-sync"], ["check-mem"], ["disasm", "--arch", "sm_90", "--words"], ["asm", "--arch", "sm_90", "--words"],
                ["check-mem", *PLAN, "--suppressions"], ["check-sync", *PLAN, "--baseline"], ["debug", *PLAN, "--batch", "--command"])


def limited(*arguments, seconds=60):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, errors="replace", timeout=seconds,
                          stdin=subprocess.DEVNULL)


def bomb(cubin, images, size):
    """Containers of one image each: a cubin and then zeros, as Zstandard packs them (RFC 8878: blocks of run lengths)."""
    def frame():
        out = [b"\x28\xb5\x2f\xfd\xe0", struct.pack("<Q", size)]
        for at in range(0, len(cubin), 1 << 17):
            piece = cubin[at:at + (1 << 17)]
            out += [struct.pack("<I", len(piece) << 3)[:3], piece]
        left = size - len(cubin)
        while left:
            run = min(left, 1 << 17)
            left -= run
            out += [struct.pack("<I", run << 3 | 2 | (left == 0))[:3], b"\0"]
        return b"".join(out)

    packed = frame()
    padded = packed + bytes(-len(packed) % 8)
    entry = struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(padded), len(packed), 0, 0, 0, 90, 0, 0, 0x8000, 0, size)
    body = entry + padded
    return (struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body) * images


class Inputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def put(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def one_line(self, result, code, word):
        self.assertEqual(result.returncode, code, result.stderr[:500])
        self.assertIn(word, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr[:500])

    def test_what_is_no_file_is_named(self):
        for reader in READERS + MORE_READERS:
            for path, word in (("/dev/zero", "device"), (self.folder, "directory")):
                self.one_line(limited(*reader, path), 2, word)

    def test_a_long_listing_ends_at_the_time_limit(self):
        module = os.path.join(ROOT, "cubins", "nvshmem_types", "sm_90.cubin")
        for more in ((), ("--json",)):
            self.one_line(limited("disasm", module, *more, "--time-limit", "0.01", seconds=30), 4, "--time-limit")

    def test_a_pipe_without_a_writer_ends_at_the_time_limit(self):
        path = os.path.join(self.folder, "pipe")
        os.mkfifo(path)
        for reader in READERS:
            self.one_line(limited(*reader, path, "--time-limit", "0.2", seconds=30), 4, "--time-limit")

    def test_endless_input_ends_at_the_memory_limit(self):
        path = os.path.join(self.folder, "pipe")
        for reader in READERS[1:3]:
            if not os.path.exists(path):
                os.mkfifo(path)
            source = subprocess.Popen(["sh", "-c", f"cat /dev/zero > {path}"], stderr=subprocess.DEVNULL)
            self.one_line(limited(*reader, path, "--memory-limit", "100M"), 4, "--memory-limit")
            source.wait()

    def test_a_plan_of_many_keys_is_read_in_linear_time(self):
        many = range(120000)
        plan = {"module": "none.cubin", "buffers": {f"b{i}": {"bytes": 8} for i in many},
                "launches": [{"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
                              "args": [{"buffer": f"b{i}"} for i in many]}]}
        began = time.monotonic()
        self.one_line(limited("run", self.put("p.json", json.dumps(plan))), 2, "none.cubin")
        self.assertLess(time.monotonic() - began, 30)  # it took minutes; now a second

    def test_plans_that_name_many_buffers_often_are_read_and_run_in_linear_time(self):
        """Steps of the host, operations of streams, members of multicast objects: 20,000 of each, every one another buffer."""
        many, word = range(20000), {"bytes": 16}
        buffers = {f"b{i}": word for i in many}
        steps = [{"write": {"buffer": f"b{i}", "type": "u32", "values": [i]}} for i in many]
        module = os.path.join(ROOT, "cubins", "vecadd", "sm_90.cubin")
        plans = {"host": {"host": steps}, "streams": {"launches": [{"writeValue": {"buffer": f"b{i}", "value": 1}} for i in many]},
                 "multicast": {"buffers": {**buffers, "m": {"bytes": 16, "kind": "multicast", "of": list(buffers)}}}}
        for name, more in plans.items():
            plan = {"arch": "sm_90", "module": module, "gpus": 2, "buffers": buffers,
                    "launches": [{"writeValue": {"buffer": "b0", "value": 1}}], **more}
            began = time.monotonic()
            result = limited("run", self.put(name + ".json", json.dumps(plan)), seconds=100)
            self.assertEqual(result.returncode, 0, (name, result.stderr[-500:]))
            self.assertLess(time.monotonic() - began, 30, name)  # tens of seconds and more; now one or two

    def test_sass_of_many_names_is_read_in_linear_time(self):
        many = range(32000)
        text = ".target sm_90\n.kernel k\n" + "".join(f".param p{i} 1\n" for i in many)
        text += "".join(f" LDC R2, c[0x0][p{i}]\n" for i in many) + " EXIT\n"
        text += "".join(f".kernel k{i}\n EXIT\n" for i in many)
        began = time.monotonic()
        result = limited("asm", self.put("a.sass", text), "-o", os.path.join(self.folder, "o"))
        self.assertIn(result.returncode, (0, 2), result.stderr)
        self.assertLess(time.monotonic() - began, 30)

    def test_images_are_unpacked_within_the_memory_limit(self):
        with open(os.path.join(ROOT, "tests/module/data/plain.90.cubin"), "rb") as file:
            cubin = file.read()
        small = self.put("small.fatbin", bomb(cubin, 2, 1 << 20))
        self.assertEqual(limited("info", small, "--memory-limit", "1G").returncode, 0)
        # 8.6 GB of four images, as the sum and as one too many
        for images, size in ((4, (1 << 31) - 1), (20, 1 << 26)):
            path = self.put("bomb.fatbin", bomb(cubin, images, size))
            self.assertLess(os.path.getsize(path), 1 << 20)
            self.one_line(limited("info", path, "--memory-limit", "1G"), 4, "--memory-limit")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 1 << 20)  # KiB

    def test_exploration_ends_at_the_memory_limit(self):
        operations = ["ST [x], 1", "ST [y], 2", "LD r0, [x]", "LD r1, [y]", "ST [z], 3"]
        lines = {"name": "t", "model": "caches", "condition": "x==9",
                 "threads": [{"id": f"P{t}", "cta": t, "ops": operations} for t in range(10)]}
        threads = ",".join('{"id":"P%d","cta":%d,"kernel":"k"}' % (t, t) for t in range(12))
        words = "".join(f"LDG.E R{8 + i}, desc[UR4][R2.64]\nSTG.E desc[UR4][R2.64], R8\n" for i in range(8))
        sass = self.put("t.sass", '// litmus {"name":"t","threads":[' + threads + '],"condition":"x==9"}\n'
                        ".target sm_90\n.kernel k\n.param x 8\nULDC.64 UR4, c[0x0][0x208]\nMOV R2, c[0x0][x]\n"
                        "MOV R3, c[0x0][x+4]\n" + words + "EXIT\n")
        plan = self.exploration_plan("out[0]==7", grid=14)
        limit = 64 << 20
        for path, model in ((self.put("t.jsonl", json.dumps(lines)), "caches"), (sass, "flat"), (sass, "caches"),
                            (plan, "flat"), (plan, "caches")):
            result, most = self.measured("litmus", path, "--model", model, "--memory-limit", "64M")
            self.one_line(result, 4, "the memory limit")
            self.assertIn("incomplete: the memory limit", result.stdout)  # what is known is said
            self.assertLess(most, limit)
            self.assertGreater(most, limit * 3 // 4)

    def measured(self, *arguments):
        """Its end, and the bytes that it had resident at most."""
        # Linux counts what a process was before exec(), and that is this program, with all that it has read.
        small = "import resource, subprocess, sys; code = subprocess.call(sys.argv[2:]); " \
                "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)"
        pages = os.path.join(self.folder, "resident")
        result = subprocess.run([sys.executable, "-S", "-c", small, pages, PROGRAM, *arguments], text=True,
                                stdin=subprocess.DEVNULL, capture_output=True)
        with open(pages) as file:
            return result, int(file.read()) * 1024

    def exploration_plan(self, condition, grid=2):
        folder = os.path.join(ROOT, "tests/explore/plans")
        with open(os.path.join(folder, "buffering.json")) as file:
            plan = json.load(file)
        plan.update(module=os.path.join(folder, plan["module"]), condition=condition)
        del plan["verdict"]
        plan["launches"][0]["grid"] = [grid, 1, 1]
        return self.put("explored.json", json.dumps(plan, indent=1, ensure_ascii=False))

    def test_local_memory_counts_when_it_is_touched(self):
        """Half a gigabyte for each of 64 CTAs: untouched, touched page by page, touched at once by a fill."""
        kernels = (".kernel quiet\n.param x 8\n EXIT\n"
                   ".kernel writes\n.param x 8\n MOV R0, RZ\nL: STL [R0], R0\n IADD3 R0, R0, 0x80, RZ\n"
                   " ISETP.LT.U32.AND P0, PT, R0, 0x80000, PT\n @P0 BRA `(L)\n EXIT\n")
        cubin = os.path.join(self.folder, "local.cubin")
        made = limited("asm", self.put("local.sass", ".target sm_90\n" + kernels), "-o", cubin)
        self.assertEqual(made.returncode, 0, made.stderr)

        def run(kernel, *more):
            plan = {"module": cubin, "arch": "sm_90", "limits": {"stack": 512 << 10}, "buffers": {"x": {"bytes": 8}},
                    "launches": [{"kernel": kernel, "grid": [64, 1, 1], "block": [1024, 1, 1],
                                  "args": [{"buffer": "x"}]}]}
            result, most = self.measured("run", self.put("local.json", json.dumps(plan)), "--memory-limit", "200M", *more)
            # It is looked at every few milliseconds, and more slowly where the machine is busy.
            self.assertLess(most, 300 << 20)
            return result, most

        self.assertEqual(run("quiet")[0].returncode, 0)
        result, most = run("writes")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("--memory-limit", result.stdout + result.stderr)  # in order, or by the watchdog
        self.assertGreater(most, 150 << 20)
        result, most = run("quiet", "--fill", "0xcd")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("--memory-limit", result.stdout)
        self.assertLess(most, 100 << 20)  # it asked before

    def test_errors_in_conditions_of_plans_have_line_and_column(self):
        for condition, wrong in (("out[0]==1 && ", 13), ("zz[0]==2", 0), ("out[0]==1 && out[999]==0", 13),
                                 ("out[0]==1 && P9:R0==1", 13), ("out[0]==1 && C0T0:R40==0", 13),
                                 ("out[0]==1 && \u00e9", 13), ("out[0]==1 && out[1]==0x1z", 21)):
            path = self.exploration_plan(condition)
            with open(path) as file:
                lines = file.read().split("\n")
            line = next(i for i, text in enumerate(lines) if '"condition"' in text)
            column = lines[line].index(condition) + wrong
            result = limited("litmus", path)
            self.one_line(result, 2, f"{path}:{line + 1}:{column + 1}: condition: ")

    def printf_plan(self, grid, old=b"", new=b""):
        folder = os.path.join(ROOT, "cubins/printf")
        with open(os.path.join(folder, "sm_90.cubin"), "rb") as file:
            cubin = file.read()
        self.assertIn(old, cubin)
        with open(os.path.join(folder, "plan.json")) as file:
            plan = json.load(file)
        plan["arch"] = "sm_90"
        plan["module"] = self.put("k.cubin", cubin.replace(old, new.ljust(len(old), b"\0")))
        plan["launches"][0]["grid"] = [grid, 1, 1]
        return self.put("p.json", json.dumps(plan))

    def test_one_printf_writes_at_most_a_mebibyte(self):
        plan = self.printf_plan(1, b"%f %10.3e %g %+.2f\n", b"%.2147483647f\n")
        began = time.monotonic()
        result = limited("run", plan, "--memory-limit", "256M")
        self.assertEqual(result.returncode, 1, result.stderr)  # the plan expects another text
        text = result.stdout[result.stdout.index("3.141592653589793"):]
        self.assertEqual(text[:1 << 20].rstrip("0"), "3.141592653589793115997963468544185161590576171875")
        self.assertEqual(text[1 << 20:].split("\n")[0][:3], "-12")
        self.assertLess(time.monotonic() - began, 20)  # it took 60 s and 7 GB

    def test_printed_text_is_passed_on_not_kept(self):
        # 94 MB of text
        result = limited("run", self.printf_plan(200000), "--memory-limit", "128M", "--threads", "2", seconds=120)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertGreaterEqual(result.stdout.count("hello from a kernel"), 200000)

    def test_text_of_launches_that_may_overlap_is_passed_on_too(self):
        path = self.printf_plan(100000)
        with open(path) as file:
            plan = json.load(file)
        plan["launches"] += [dict(plan["launches"][0], attributes={"programmaticStreamSerialization": True})]
        self.put("p.json", json.dumps(plan))
        result, most = self.measured("run", path, "--memory-limit", "1G", "--agents", "lazy",
                                     "--threads", "1")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertGreaterEqual(result.stdout.count("hello from a kernel"), 200000)
        self.assertLess(most, 64 << 20)  # 94 MB of text

    def test_without_proc_no_limit_of_memory_is_promised(self):
        cubin = os.path.join(ROOT, "tests/module/data/plain.90.cubin")
        hidden = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*hidden, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no mount namespace is to be had")
        # Nor does the loader know where the program lies.
        libraries = {**os.environ, "LD_LIBRARY_PATH": os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(PROGRAM))), "lib")}
        run = lambda *more: subprocess.run([*hidden, PROGRAM, "info", cubin, *more], capture_output=True, text=True, check=False,
                                           env=libraries)
        self.one_line(run("--memory-limit", "1G"), 2, "--memory-limit")
        self.assertEqual(run().returncode, 0)

    def test_the_memory_limit_is_read_with_units(self):
        cubin = os.path.join(ROOT, "tests/module/data/plain.90.cubin")
        for text, code in (("1G", 0), ("512m", 0), ("1073741824", 0), ("64K", 4), ("1", 4), ("0", 2), ("x", 2), ("-1", 2)):
            self.assertEqual(limited("info", cubin, "--memory-limit", text).returncode, code, text)


if __name__ == "__main__":
    unittest.main()
