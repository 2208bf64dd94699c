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
        for reader in READERS:
            for path, word in (("/dev/zero", "device"), (self.folder, "directory")):
                self.one_line(limited(*reader, path), 2, word)

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

    def test_the_memory_limit_is_read_with_units(self):
        cubin = os.path.join(ROOT, "tests/module/data/plain.90.cubin")
        for text, code in (("1G", 0), ("512m", 0), ("1073741824", 0), ("64K", 4), ("1", 4), ("0", 2), ("x", 2), ("-1", 2)):
            self.assertEqual(limited("info", cubin, "--memory-limit", text).returncode, code, text)


if __name__ == "__main__":
    unittest.main()
