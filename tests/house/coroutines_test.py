#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No statement with co_await or co_yield has a conditional part (?:, &&, ||), around it or in its argument: GCC 12 then destroys temporaries of
that part twice, or never. An if does as well.

    coroutines_test.py ROOT
"""
import os
import re
import sys

# Comments, strings and characters say nothing; what is left of them keeps its lines.
SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    return "0" + "\n" * match[0].count("\n")


WAITS = re.compile(r"\bco_(await|yield)\b")


def parts(statement):
    """The head of an if or a while is an expression of its own."""
    head = re.match(r"\s*(else\s+)?(if|while|switch)\b[^(]*\(", statement)
    depth = 1
    for at in range(head.end() if head else len(statement), len(statement)):
        depth += {"(": 1, ")": -1}.get(statement[at], 0)
        if not depth:
            return [statement[:at], *parts(statement[at:].replace(")", " ", 1))]
    return [statement]


def find(text):
    """The lines of such statements."""
    line = 1
    for statement in re.split(r"([;{}])", SILENT.sub(blank, text)):
        for part in parts(statement):
            waits = WAITS.search(part)
            if waits and re.search(r"\?|&&|\|\||\b(and|or)\b", part):
                yield line + part[:waits.start()].count("\n")
            line += part.count("\n")


def main():
    known = [("co_await f(a ? b : c);", 1), ("x = y\n ? co_await f() : z;", 1), ("if (a && co_await f()) {", 1), ("if (a && (b)) x = co_await f(b);", 0),
             ("if (a) x = co_await f(b && c);", 1), ("else if (a)\n while (b || c) co_await f();", 0), ("while (co_await f() || b) {}", 1),
             ('co_await f("?"); // a ? b', 0), ("x = a ? b : c;\nco_await f(x);", 0)]
    for text, wanted in known:
        assert len(list(find(text))) == wanted, text
    looked, bad = 0, 0
    for top in ("decoder", "emu", "sdk", "plugins", "tests"):
        for directory, _, files in os.walk(os.path.join(sys.argv[1], top)):
            for name in files:
                if not name.endswith((".c", ".h", ".cpp", ".hpp")):
                    continue
                path = os.path.join(directory, name)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                looked += "co_await" in text
                for line in find(text):
                    print(f"{os.path.relpath(path, sys.argv[1])}:{line}: a conditional part in a statement with co_await: take an if")
                    bad += 1
    print(f"{looked} files with co_await, {bad} statements to be taken apart")
    return int(bool(bad) or not looked)


if __name__ == "__main__":
    sys.exit(main())
