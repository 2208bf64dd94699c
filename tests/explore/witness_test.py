#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The output of `sassemu litmus`: every JSON line has its fields, verdicts name the clauses that they rest on, every allowed test has a witness, and the
witness's Graphviz text is a well-formed graph whose edges join nodes that it declares.

usage: witness_test.py SASSEMU FILE...
"""
import json
import re
import subprocess
import sys

NODE = re.compile(r'\s*(e\d+) \[label="(?:[^"\\]|\\.)*"\];$')
EDGE = re.compile(r"\s*(e\d+) -> (e\d+) \[.*\];$")


def check_graph(text, name):
    nodes, edges, depth, wrong = set(), [], 0, []
    for line in text.splitlines():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        depth += bare.count("{") - bare.count("}")
        if m := EDGE.match(line):
            edges.append(m.groups())
        elif m := NODE.match(line):
            nodes.add(m[1])
        elif "->" in bare:
            wrong.append(f"{name}: no edge: {line}")
    if depth:
        wrong.append(f"{name}: the braces do not match")
    return wrong + [f"{name}: {a} -> {b} joins what is no node" for a, b in edges if a not in nodes or b not in nodes]


def main():
    program, files = sys.argv[1], sys.argv[2:]
    r = subprocess.run([program, "litmus", "--json", "--witness", *files], capture_output=True, text=True)
    wrong, tests, graphs = [], {}, 0
    for line in r.stdout.splitlines():
        t = json.loads(line)
        tests[t["name"]] = t
        missing = {"name", "model", "verdict", "executions", "outcomes", "complete", "seconds"} - t.keys()
        wrong += [f"{t['name']}: lacks {missing}"] if missing else []
        for c in t.get("clauses", []):
            if not (c["axiom"] and c["clause"] and c["refused"] > 0):
                wrong.append(f"{t['name']}: an empty clause")
    shown = set()
    for part in re.split(r"(?=^witness of )", r.stderr, flags=re.M)[1:]:
        name = re.match(r"witness of (.*?):(?: |\n)", part)[1]
        shown.add(name)
        at = part.index("digraph")
        wrong += check_graph(part[at:], name)
        graphs += 1
    for name, t in tests.items():
        exact = t["model"].startswith("ptx") and not t.get("undefined")
        if exact and t["verdict"] == "allowed" and name not in shown:
            wrong.append(f"{name}: allowed, and no witness")
    async_tests = [t for t in tests.values() if t.get("prose")]
    if not async_tests:
        wrong.append("no verdict cites prose")
    print("\n".join(wrong[:20]))
    print(f"{len(tests)} tests, {graphs} witnesses, {len(async_tests)} cite prose, {len(wrong)} wrong")
    return 1 if wrong or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
