# SPDX-License-Identifier: Apache-2.0
"""Makes everything that is said once in the table of the runtime's functions (api.def).

    generate.py TABLE OUT                      declarations, entries and version scripts of both ABIs
    generate.py TABLE --page docs/exec.md   the page's table, between its two marks; --check: is it so?
    generate.py TABLE --calls FILE.cpp      calls of every function: with nothing, and with what it has not given out

A row of the table:   NAME [12|13] [ptds|ptsz] | STATE | PARAMETERS [| BEHIND]
A number: that ABI alone has it so. ptds, ptsz: there is a second symbol for the default stream of the
calling thread. STATE is `yes`, `refused: why` or `no` (cudaErrorNotSupported, named once), and before
it what the call needs: `init:` the driver, `free:` nothing, `quiet:` nothing, and it is no last error
either; otherwise a current context. A parameter is a type. BEHIND is the driver's function that is
called with the same arguments, or `= TYPE` where something else than an error comes back.
"""
import re
import sys
from pathlib import Path

TYPES = {"uint": "unsigned int", "u64": "unsigned long long"}
HEAD = "// Made by generate.py of api.def. Do not edit.\n"
NEEDS = {"init": "Needs::driver", "free": "Needs::nothing", "quiet": "", "": "Needs::context"}


class Row:
    def __init__(self, line):
        parts = [part.strip() for part in line.split("|")] + [""]
        words = parts[0].split()
        self.name, marks = words[0], words[1:]
        self.abis = [int(m) for m in marks if m.isdigit()] or [12, 13]
        self.thread = next((m for m in marks if m in ("ptds", "ptsz")), "")
        state = [part.strip() for part in parts[1].split(":", 1)]
        self.need = state.pop(0) if state[0] in ("init", "free", "quiet") else ""
        self.state, _, self.note = state[0].partition(":") if not self.need else (state[0].partition(":"))
        if not self.need and len(state) > 1:
            self.state, self.note = state
        self.state, self.note = self.state.strip(), self.note.strip()
        if self.state not in ("yes", "refused", "no"):
            raise SystemExit(f"{self.name}: state '{self.state}'")
        self.types = [re.sub(r"\b(uint|u64)\b", lambda m: TYPES[m[0]], p.strip()) for p in parts[2].split(",") if p.strip()]
        behind = parts[3]
        self.returns = behind[1:].strip() if behind.startswith("=") else "Error"
        self.driver = "" if behind.startswith("=") else behind
        # What differs between the ABIs has a function for each.
        self.own = self.name + (f"_abi{self.abis[0]}" if len(self.abis) == 1 else "")
        if self.name.startswith("__"):
            self.own = self.name[2:]

    def parameters(self):
        return ", ".join(f"{t} a{i}" for i, t in enumerate(self.types))

    def arguments(self):
        stream = self.thread and self.driver
        return ", ".join(f"stream_of(a{i})" if stream and t == "CUstream" else f"a{i}" for i, t in enumerate(self.types))

    def written(self):
        return self.state == "yes" and not self.driver

    def entry(self, symbol):
        out = [f'extern "C" SASSEMU_EXPORT {self.returns} {symbol}({self.parameters()}) {{']
        if symbol != self.name:
            out.append("    const OwnStream own;")
        if self.state != "yes":
            out += [f"    (void)a{i};" for i in range(len(self.types))]
            out.append(f'    return leave(missing("{self.name}"));')
        elif self.need == "quiet":
            out.append(f"    return sassemu::runtime::{self.own}({self.arguments()});")
        else:
            call = f"SASSEMU_CU({self.driver})({self.arguments()})" if self.driver else f"sassemu::runtime::{self.own}({self.arguments()})"
            out.append(f"    if (const Error error = enter({NEEDS[self.need]})) return leave(error);")
            out.append(f"    return leave({call});")
        return "\n".join(out + ["}", ""])


def read(path):
    groups = []
    for line in Path(path).read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            groups.append((line.strip("[]"), []))
        else:
            groups[-1][1].append(Row(line))
    return groups


def page(groups):
    out = []
    for name, rows in groups:
        out.append(f"### {name}\n")
        for text, some in (("Complete", [r for r in rows if r.state == "yes"]),
                           ("Not there", [r for r in rows if r.state == "no"])):
            names = {f"`{r.name}`" + (f" ({r.abis[0]})" if len(r.abis) == 1 else "") for r in some}
            if names:
                out.append(f"{text}: " + ", ".join(sorted(names)) + "\n")
        for row in rows:
            if row.state == "refused":
                out.append(f"Refused: `{row.name}`: {row.note}\n")
    return "\n".join(out)


def calls(rows):
    """Declarations, and a list of functions that call one each."""
    def nothing(t):
        return f"static_cast<{t}>(nullptr)" if t.endswith("*") else f"({t}){{}}"

    def foreign(t):
        if t in ("StreamCallback", "CUhostFn", "CUlogsCallback"):
            return "nullptr"
        if t.endswith("*") or re.fullmatch(r"CU(stream|event|array|mipmappedArray|graph|graphNode|graphExec|library|kernel|memoryPool|userObject|logsCallbackHandle)", t):
            return f"({t})bytes"
        if t in ("int", "size_t", "unsigned int", "unsigned long long", "CUdeviceptr"):
            return f"({t})number"
        return nothing(t)

    out = [HEAD, '#include "emu/runtime/types.hpp"', '#include "tests/runtime/calls.hpp"']
    body, named = [], []
    for row in rows:
        if 13 not in row.abis or row.name.startswith("__") or row.name == "cudaDeviceReset":
            continue
        for symbol in [row.name] + ([f"{row.name}_{row.thread}"] if row.thread else []):
            out.append(f'extern "C" {row.returns} {symbol}({", ".join(row.types)});')
            for how, value in (("nothing", nothing), ("foreign", foreign)):
                body.append(f"static void {symbol}_{how}(char* bytes, long number) {{ (void)bytes; (void)number; (void){symbol}({', '.join(map(value, row.types))}); }}")
            named.append(f'    {{"{symbol}", {symbol}_nothing, {symbol}_foreign}},')
    return "\n".join(out + body + ["const Call every_call[] = {"] + named + ["};", "const unsigned call_count = sizeof every_call / sizeof *every_call;", ""])


def main():
    groups = read(sys.argv[1])
    rows = [row for _, group in groups for row in group]
    if sys.argv[2] == "--page":
        path = Path(sys.argv[3])
        text = path.read_text()
        begin, end = "<!-- functions -->\n", "<!-- end of functions -->"
        head, rest = text.split(begin)
        made = head + begin + page(groups) + end + rest.split(end)[1]
        if "--check" in sys.argv:
            sys.exit(0 if made == text else f"{path} is not what {sys.argv[1]} says: run {sys.argv[0]} TABLE --page {path}")
        path.write_text(made)
        return
    if sys.argv[2] == "--calls":
        Path(sys.argv[3]).write_text(calls(rows))
        return
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    own = sorted({f"{r.returns} {r.own}({', '.join(r.types)});" for r in rows if r.written()})
    files = {"runtime_api.hpp": HEAD + '// What is behind the exported functions.\n#pragma once\n#include "emu/runtime/types.hpp"\n'
             + "namespace sassemu::runtime {\n" + "\n".join(own) + "\n}  // namespace sassemu::runtime\n"}
    for abi in (12, 13):
        mine = [r for r in rows if abi in r.abis]
        symbols = [(r, s) for r in mine for s in ([r.name] + ([f"{r.name}_{r.thread}"] if r.thread else []))]
        files[f"entries_{abi}.cpp"] = (
            HEAD + '#include "emu/runtime/state.hpp"\n#include "runtime_api.hpp"\nusing namespace sassemu::runtime;\n'
            + f"const int sassemu::runtime::abi = {abi};\n" + "\n".join(r.entry(s) for r, s in symbols))
        files[f"libcudart_{abi}.map"] = (f"libcudart.so.{abi} {{\nglobal:\n" + "".join(f"    {s};\n" for _, s in symbols) + "local:\n    *;\n};\n")
    for name, text in files.items():
        path = out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


main()
