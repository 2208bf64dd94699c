#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages are read through the checked helpers of emu/debug/json.hpp: a subscript, get() or value() of the library's own goes wrong where a
key is missing or a value is of another kind (undefined behaviour, or an exception that nobody expects). Subscripts that make messages are no
reading. Who else parses JSON is listed.

    json_test.py ROOT
"""
import os
import re
import sys

FOLDER = "emu/debug"  # whose messages come from editors and other processes
HELPERS = ("emu/debug/json.hpp", "emu/debug/json.cpp")
PARSERS = {  # where text becomes a tree of the library's, and what looks at every value's kind after it
    "emu/debug/json.cpp": "these helpers",
    "emu/explore/litmus/json_text.hpp": "emu/explore/ptx/read_test.cpp; litmus_fuzz",
    "emu/plan/report_json.cpp": "text of its own making",
    "plugins/findings/exceptions.cpp": "text_of() and places_of() there",
}
FORBIDDEN = (
    (re.compile(r"(?:\.|->)\s*(?:get|get_ref|get_to|get_ptr)\s*<"), "get<>"),
    (re.compile(r'(?:\.|->)\s*value\(\s*"'), "value()"),
    (re.compile(r'(?:\.|->)\s*at\(\s*"'), "at()"),
    # name["key"] is written to where = or another subscript that is written to comes next.
    (re.compile(r'[\w)\]]\["\w+"\](?!(?:\["\w+"\])*\s*=(?!=))(?!\[")'), "a subscript"),
)


def find(text):
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"//.*", "", line)
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                yield number, what


def main():
    for text, wanted in (('x = m["a"];', 1), ('m["a"]["b"] = 1;', 0), ('m["a"] == 1', 1), ('m["a"] = n;', 0), ("m.get<int>()", 1), ('m.value("a", 0)', 1),
                         ("optional->value()", 0), ('of["seed"].push_back(1);', 1)):
        assert len(list(find(text))) == wanted, text
    root, looked, bad, parsers = sys.argv[1], 0, 0, set()
    for top in ("emu", "sdk", "plugins"):
        for directory, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                path = os.path.relpath(os.path.join(directory, name), root).replace(os.sep, "/")
                if not name.endswith((".cpp", ".hpp", ".h")):
                    continue
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    text = f.read()
                if re.search(r"\b(?i:\w*json)::parse\(", text):
                    parsers.add(path)
                if not path.startswith(FOLDER + "/") or path in HELPERS:
                    continue
                looked += 1
                for number, what in find(text):
                    print(f"{path}:{number}: {what}: take part(), item(), list() or field() of emu/debug/json.hpp")
                    bad += 1
    for path in sorted(parsers ^ set(PARSERS)):
        print(f"{path}: parses JSON, and the list above does not say how it is looked at, or the contrary")
        bad += 1
    print(f"{looked} files, {bad} unchecked readings")
    return int(bool(bad) or not looked)


if __name__ == "__main__":
    sys.exit(main())
