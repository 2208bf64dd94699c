# SPDX-License-Identifier: Apache-2.0
"""Makes everything that is said once in a table of functions (api.def, or the runtime's).

    generate.py TABLE OUT                     declarations, entries, look-up table, version script
    generate.py TABLE --page docs/driver.md   the page's table, between its two marks; --check: is it so?
    generate.py TABLE --calls FILE.c          a program that calls every function with bad handles

A row of the table:   ABI = NAME VERSION [ptds|ptsz VERSION] | STATE | PARAMETERS
ABI is the exported symbol, NAME what cuGetProcAddress knows it as, from VERSION on; with ptds or ptsz
there is a second symbol for the default stream of the calling thread. STATE is `yes`, `part: what
not`, `refused: why` (written, and says no), `as: ABI` (the same function under an older name) or `no` (CUDA_ERROR_NOT_SUPPORTED, named once). A
parameter is a type; pointers begin with `in`, `out` (both must not be null) or `opt` (may be).
`any:` before STATE: may be called before cuInit.
"""
import re
import sys
from pathlib import Path

TYPES = {"uint": "unsigned int", "u64": "unsigned long long", "u8": "unsigned char", "u16": "unsigned short"}


class Parameter:
    def __init__(self, text):
        self.use = ""
        head = text.split(" ", 1)
        if head[0] in ("in", "out", "opt"):
            self.use, text = head
        self.type = re.sub(r"\b(uint|u64|u8|u16)\b", lambda m: TYPES[m[0]], text)
        if ("*" in text) != bool(self.use):
            raise SystemExit(f"parameter '{text}': a pointer, and only one, says in, out or opt")


class Row:
    def __init__(self, line):
        what, state, parameters = (part.strip() for part in line.split("|"))
        match = re.fullmatch(r"(\w+) = (\w+) (\d+)(?: (ptds|ptsz) (\d+))?", what)
        if not match:
            raise SystemExit(f"row '{what}' is not ABI = NAME VERSION [ptds|ptsz VERSION]")
        self.abi, self.name, self.version = match[1], match[2], int(match[3])
        self.thread, self.thread_version = match[4], int(match[5] or 0)
        self.any = state.startswith("any:")
        if self.any:
            state = state[4:].strip()
        self.state, _, self.note = (part.strip() for part in state.partition(":"))
        if self.state not in ("yes", "part", "refused", "as", "no"):
            raise SystemExit(f"{self.abi}: state '{self.state}'")
        self.parameters = [Parameter(p.strip()) for p in parameters.split(",") if p.strip()]

    def symbols(self):
        return [self.abi] + ([f"{self.abi}_{self.thread}"] if self.thread else [])

    def declare(self, symbol):
        types = ", ".join(p.type for p in self.parameters) or "void"
        return f"CUresult {symbol}({types})"

    def arguments(self):
        return ", ".join(f"{p.type} a{i}" for i, p in enumerate(self.parameters))


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


STATES = {"part": "partly", "refused": "refused", "as": "as"}
HEAD = "// Made by generate.py of api.def. Do not edit.\n"


def known_types(types):
    text = types.read_text()
    return set(re.findall(r"\b(CU\w+);", text)) | set(re.findall(r"\(\*(CU\w+)\)", text)) | {"CUresult"}


def declarations(rows, types):
    known, opaque = known_types(types), set()
    for row in rows:
        for p in row.parameters:
            for name in re.findall(r"\bCU\w+", p.type):
                if name in known:
                    continue
                if not p.use:
                    raise SystemExit(f"{row.abi}: cuda_types.h lacks {name}")
                opaque.add(name)
    out = ["/* Made by generate.py of api.def. Do not edit. */", "#pragma once", '#include "emu/driver/cuda_types.h"',
           "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    out += [f"typedef struct {name} {name};" for name in sorted(opaque)]
    out += [f"{row.declare(symbol)};" for row in rows for symbol in row.symbols()]
    return "\n".join(out + ["#ifdef __cplusplus", "}", "#endif", ""])


def implementations(rows):
    out = [HEAD + "// What is behind the exported functions.", "#pragma once", '#include "cuda_driver.h"',
           "namespace sassemu::driver::api {"]
    out += [row.declare(row.abi) + ";" for row in rows if row.state not in ("no", "as")]
    return "\n".join(out + ["}  // namespace sassemu::driver::api", ""])


def entries(rows):
    out = [HEAD, '#include "emu/driver/entry.hpp"', '#include "api.hpp"', "using namespace sassemu::driver;", 'extern "C" {']
    for row in rows:
        for symbol in row.symbols():
            own = symbol != row.abi
            args = ", ".join(f"a{i}" for i in range(len(row.parameters)))
            out.append(f"__attribute__((visibility(\"default\"))) CUresult {symbol}({row.arguments()}) {{")
            if row.state == "no":
                out += [f"    (void)a{i};" for i in range(len(row.parameters))]
                out.append(f'    return missing("{row.abi}");\n}}')
                continue
            checks = [f"!a{i}" for i, p in enumerate(row.parameters) if p.use in ("in", "out")]
            wrong = " || ".join(checks) or "false"
            if row.state == "refused":
                out.append("    caller = __builtin_return_address(0);")
            out.append(f'    return entered({str(row.any).lower()}, {str(own).lower()}, [&]() -> CUresult {{')
            out.append(f"        if ({wrong}) return CUDA_ERROR_INVALID_VALUE;")
            function = row.note if row.state == "as" else row.abi
            out.append(f"        return api::{function}({args});\n    }});\n}}")
    return "\n".join(out + ['}  // extern "C"', ""])


def table(rows):
    out = [HEAD, '#include "emu/driver/entry.hpp"', '#include "cuda_driver.h"', "namespace sassemu::driver {",
           "const EntryPoint entry_points[] = {"]
    for row in sorted(rows, key=lambda r: (r.name, r.version)):
        thread = f"reinterpret_cast<void*>(&::{row.symbols()[1]})" if row.thread else "nullptr"
        out.append(f'    {{"{row.name}", {row.version}, {row.thread_version}, reinterpret_cast<void*>(&::{row.abi}), {thread}}},')
    out += ["};", "const size_t entry_point_count = sizeof entry_points / sizeof *entry_points;",
            "}  // namespace sassemu::driver", ""]
    return "\n".join(out)


def page(groups):
    out = []
    for name, rows in groups:
        by_name = {r.abi: r for r in rows}
        done = [r for r in rows if by_name.get(r.note, r).state == "yes"]
        part = [r for r in rows if r.state in ("part", "refused") or r.state == "as" and r not in done]
        lacking = [r for r in rows if r.state == "no"]
        out.append(f"### {name}\n")
        if done:
            out.append("Complete: " + ", ".join(f"`{s}`" for s in sorted({r.abi for r in done})) + "\n")
        if part:
            out += ["| function | | |", "|---|---|---|"]
            out += [f"| `{r.abi}` | {STATES[r.state]} | {r.note} |" for r in part]
            out.append("")
        if lacking:
            out.append("Not there: " + ", ".join(f"`{s}`" for s in sorted({r.abi for r in lacking})) + "\n")
    return "\n".join(out)


def calls(rows):
    """Every function with nulls, with handles of no kind, with numbers that are none."""
    out = ["/* Made by generate.py of api.def. Do not edit. */", '#include "cuda_driver.h"', '#include "tests/driver/calls.h"',
           "#include <string.h>", "static _Thread_local char bytes[4096];", "const struct call every_call[] = {"]
    wrappers = []
    skip = {"cuInit", "cuProfilerStop", "cuProfilerStart"}
    for row in rows:
        if row.name in skip:
            continue
        for symbol in row.symbols():
            def value(p, how):
                if p.use:
                    return f"({p.type})0" if how == 0 else f"({p.type})(void*)bytes"
                if p.type in ("float",):
                    return "0"
                if p.type in ("CUmemLocation", "CUipcMemHandle", "CUipcEventHandle"):
                    return f"({p.type}){{0}}"
                if re.match(r"CU(hostFn|streamCallback|occupancyB2DSize|logsCallback|asyncCallback|coredumpStatusCallback|graphRecaptureCallback)", p.type):
                    return f"({p.type})0"
                if row.name in LISTS and p.type in ("size_t", "unsigned int"):
                    return "1"
                if p.type.startswith("CU") and p.type in HANDLES:
                    return f"({p.type})(uintptr_t)foreign" if how else f"({p.type})0"
                return f"({p.type})number" if how else f"({p.type})0"
            for how in (0, 1):
                args = ", ".join(value(p, how) for p in row.parameters)
                wrappers.append(f"static CUresult {symbol}_{how}(uintptr_t foreign, uintptr_t number) {{ (void)foreign; (void)number; memset(bytes, 0, sizeof bytes); return {symbol}({args}); }}")
            out.append(f'    {{"{symbol}", {symbol}_0, {symbol}_1}},')
    out += ["};", "const unsigned call_count = sizeof every_call / sizeof *every_call;", ""]
    return "\n".join(out[:5] + wrappers + out[5:])


# Their counts say how long lists of the caller's are: a wrong one is the caller's fault.
LISTS = {"cuMemcpyBatchAsync", "cuStreamBatchMemOp", "cuMemPrefetchBatchAsync", "cuStreamUpdateCaptureDependencies", "cuPointerGetAttributes"}
HANDLES = {"CUcontext", "CUmodule", "CUfunction", "CUlibrary", "CUkernel", "CUstream", "CUevent", "CUarray",
           "CUmipmappedArray", "CUtexref", "CUsurfref", "CUgraph", "CUgraphNode", "CUgraphExec", "CUgraphDeviceNode",
           "CUgraphicsResource", "CUlinkState", "CUmemoryPool", "CUexternalMemory", "CUexternalSemaphore", "CUuserObject",
           "CUgreenCtx", "CUdevResourceDesc", "CUasyncCallbackHandle", "CUlogsCallbackHandle"}


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
    types = Path(sys.argv[1]).parent / "cuda_types.h"
    symbols = [symbol for row in rows for symbol in row.symbols()]
    files = {"cuda_driver.h": declarations(rows, types), "api.hpp": implementations(rows), "entries.cpp": entries(rows),
             "table.cpp": table(rows),
             "driver.map": "{\nglobal:\n" + "".join(f"    {s};\n" for s in symbols) + "local:\n    *;\n};\n"}
    for name, text in files.items():
        path = out / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


main()
