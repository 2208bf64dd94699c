#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Includes between folders are those that docs/architecture.md lists, those that it lists exist, and there is no
cycle among them.

    arrows_test.py ROOT
"""
import collections
import graphlib
import os
import re
import sys

ANYWHERE = {"decoder", "sdk", "emu/base", "emu"}  # what every folder of emu may include
PREFIX = {"sassdec": "decoder", "sassemu": "sdk"}


def folder(path, folders):
    """emu/isa/isa.hpp -> emu/isa, emu/gpu.hpp -> emu, plugins/ptx/plugin.cpp -> plugins; of folders in emu/explore those
    that the page lists are folders of their own."""
    parts = path.split("/")
    if parts[0] != "emu" or len(parts) == 2:
        return parts[0]
    deep = "/".join(parts[:3])
    return deep if deep in folders else "/".join(parts[:2])


def includes(root, folders):
    """(folder, folder) -> the files that include."""
    found = collections.defaultdict(list)
    for top in ("decoder", "sdk/include", "emu", "plugins"):
        for directory, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if not name.endswith((".c", ".h", ".cpp", ".hpp")):
                    continue
                path = os.path.relpath(os.path.join(directory, name), root).replace(os.sep, "/")
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    text = f.read()
                for target in re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">]+)[">]', text, re.M):
                    first = target.split("/")[0]
                    if first in PREFIX and "/" in target:
                        target = PREFIX[first] + "/" + target
                    elif first not in ("emu", "plugins", "decoder", "sdk", "tests"):
                        continue  # the system's, a library's, or a neighbour
                    arrow = folder(path, folders), folder(target, folders)
                    if arrow[0] != arrow[1]:
                        found[arrow].append(path)
    return found


def listed(root):
    with open(os.path.join(root, "docs", "architecture.md"), encoding="utf-8") as f:
        block = f.read().split("```arrows\n")[1].split("```")[0]
    arrows = set()
    for line in block.splitlines():
        source, targets = line.split("->")
        arrows |= {(source.strip(), target) for target in targets.split()}
    return arrows


def main():
    root = sys.argv[1]
    allowed = listed(root)
    found = includes(root, {a for a, _ in allowed})
    problems = ["%s includes %s (%s), which docs/architecture.md does not list" % (a, b, ", ".join(sorted(set(files))[:3]))
                for (a, b), files in sorted(found.items())
                if (a, b) not in allowed and not (a.startswith("emu") and b in ANYWHERE)]
    problems += ["docs/architecture.md lists %s -> %s, and no file includes so" % arrow for arrow in sorted(allowed - set(found))]
    graph = collections.defaultdict(set)
    for a, b in found:
        graph[a].add(b)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1]
        problems.append("a cycle: " + "; ".join("%s includes %s (%s)" % (a, b, found[a, b][0])
                                                for b, a in zip(circle, circle[1:])))
    for problem in problems:
        print(problem)
    print("%d arrows, %d problems" % (len(found), len(problems)))
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
