#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the linker and the compiler leave in our programs and libraries: no code from the folder that a program is
started in, no lazy binding, canaries, fortified calls of libc.

Called with the program, the build directory, the source directory and a C compiler.
"""
import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = BUILD = ROOT = COMPILER = ""
SHADOW_STACKS = platform.machine() == "x86_64"


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def linked_files(top):
    """Every program and shared object below a folder."""
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or name.endswith(".o"):
                continue
            with open(path, "rb") as f:
                head = f.read(20)
            if head[:4] == b"\x7fELF" and head[16] in (2, 3) and head[18] == 62:  # x86-64, no cubin
                found.append(path)
    return found


def search_path(path):
    found = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", output("readelf", "-dW", path))
    return found.group(1).split(":") if found else []


class Hardening(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        install = os.path.join(self.scratch.name, "prefix")
        output("cmake", "--install", BUILD, "--prefix", install)
        self.files = {"build": [f for folder in ("bin", "lib", "tests") for f in
                                linked_files(os.path.join(BUILD, folder))],
                      "install": linked_files(install)}
        self.installed = os.path.join(install, "bin", "sassemu")

    def test_nothing_is_searched_for_in_the_current_folder(self):
        for tree, files in self.files.items():
            self.assertGreaterEqual(len(files), 6, tree)
            for path in files:
                for element in search_path(path):
                    self.assertRegex(element, r"^(/|\$ORIGIN)", "%s searches '%s'" % (path, element))

    def test_libraries_of_the_current_folder_are_not_loaded(self):
        """An empty library by every name that a file of ours needs: whoever loads one of them fails."""
        source = os.path.join(self.scratch.name, "empty.c")
        hostile = os.path.join(self.scratch.name, "hostile")
        os.mkdir(hostile)
        open(source, "w").close()
        output(COMPILER, "-shared", "-fPIC", "-o", os.path.join(hostile, "empty.so"), source)
        needed = set()
        for path in self.files["build"]:
            needed.update(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", path)))
        self.assertIn("liblz4.so.1", needed)
        for name in needed:
            os.link(os.path.join(hostile, "empty.so"), os.path.join(hostile, name))
        plan = os.path.join(ROOT, "cubins", "vecadd", "plan.json")
        for program in (PROGRAM, self.installed):
            for extra in ([], ["--plugin", "check-sync"], ["--model", "caches"]):
                run = [program, "run", plan, "--arch", "sm_90", *extra]
                output(*run, cwd=hostile)
                there = subprocess.run(run, cwd=hostile, capture_output=True,
                                       env=dict(os.environ, LD_LIBRARY_PATH="."))
                self.assertEqual(there.returncode, 127, "the libraries would not have been noticed")

    def test_what_is_installed_is_hardened(self):
        canaries = fortified = 0
        for path in self.files["install"]:
            dynamic, segments = output("readelf", "-dW", path), output("readelf", "-lW", path)
            self.assertRegex(dynamic, r"BIND_NOW|FLAGS.*NOW", path)
            self.assertIn("GNU_RELRO", segments, path)
            self.assertRegex(segments, r"GNU_STACK.* RW +0x", path)
            self.assertNotIn("TEXTREL", dynamic, path)
            if SHADOW_STACKS:
                self.assertRegex(output("readelf", "-nW", path), "x86 feature: .*SHSTK", path)
            if "/bin/" in path:
                self.assertIn("PIE", dynamic, path)
            symbols = output("readelf", "--dyn-syms", "-W", path)
            canaries += "__stack_chk_fail" in symbols
            fortified += "_chk@" in symbols.replace("__stack_chk_fail", "")
        self.assertGreaterEqual(canaries, 4)
        self.assertGreaterEqual(fortified, 1, "_FORTIFY_SOURCE has no effect")


if __name__ == "__main__":
    PROGRAM, BUILD, ROOT, COMPILER = sys.argv[1:5]
    unittest.main(argv=[sys.argv[0]] + sys.argv[5:])
