#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads are started in two places only, which bear a host that gives none: lend_thread() for those that wait, Workers for those that compute.
oneTBB, which would start threads of its own, is known to one source.

    threads_test.py ROOT
"""
import os
import re
import sys

MAKES = ("emu/base/lend_thread.hpp", "emu/base/workers.cpp")
# What sees neither: a library in the programs of others, plugins.
APART = ("sdk/capture/", "sdk/example/", "plugins/")
SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
STARTS = re.compile(
    r"\bstd::j?thread\s*[({]"  # one made
    r"|\bstd::j?thread\s+\w+\s*[({]"  # and with a name
    r"|<\s*std::j?thread\s*>\s+\w+\s*[;({]"  # a container that makes them
    r"|\bstd::async\b|\bpthread_create\b|\bthrd_create\b|\btbb\b")


def find(text):
    text = SILENT.sub(lambda m: re.sub(r"[^\n]", "", m[0]), text)
    return [text.count("\n", 0, m.start()) + 1 for m in STARTS.finditer(text)]


def main():
    for text, wanted in [("std::thread t([] {});", 1), ("thread_ = std::thread([] {});", 1), ("std::vector<std::thread> all;", 1),
                         ("std::thread thread_;", 0), ("thread_ = lend_thread(f);", 0), ("std::set<std::thread::id> ids;", 0),
                         ("// std::thread(f)", 0), ("#include <oneapi/tbb/task_arena.h>", 1), ("auto f = std::async(g);", 1)]:
        assert len(find(text)) == wanted, text
    looked, bad = 0, 0
    for top in ("decoder", "emu", "sdk", "plugins"):
        for directory, _, files in os.walk(os.path.join(sys.argv[1], top)):
            for name in files:
                path = os.path.join(directory, name)
                short = os.path.relpath(path, sys.argv[1])
                if not name.endswith((".c", ".h", ".cpp", ".hpp")) or short in MAKES or short.startswith(APART):
                    continue
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                looked += 1
                for line in find(text):
                    bad += 1
                    print(f"{short}:{line}: a thread is started here; lend_thread() or Workers (emu/base) do that")
    assert looked > 200, looked
    return bad != 0


sys.exit(main())
