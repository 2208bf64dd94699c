#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes every launch plan in cubins/ from one short description per kernel and the recorded results.

Here: what each kernel is launched with. Not here: how results are recorded (record.py).
One plan serves every architecture that its kernel is built for. A buffer marked `check` gets its expectation from
recorded.json, which record.py --apply writes; until a result is recorded, its plan expects nothing of that buffer.
"""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "decoder", "gen"))
import architectures

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHS = architectures.names()
USUAL = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]  # what a source is built for that says nothing
SIZE = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "bf16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
PLANS = {}
BENCH_SOURCES = {}


def rnd(type, count, seed, low=None, high=None, check=None):
    """A buffer of `count` random elements; low inclusive, high exclusive."""
    spec = {"type": type, "seed": seed}
    if low is not None:
        spec["low"] = low
        spec["high"] = high
    return buf({"bytes": SIZE[type] * count, "random": spec}, check)


def fill(nbytes, byte=0, check=None):
    return buf({"bytes": nbytes, "fill": "0x%02x" % byte}, check)


def data(name, nbytes, check=None):
    return buf({"bytes": nbytes, "file": name}, check)


def buf(spec, check):
    if check is not None:
        spec["check"] = check
    return spec


EXACT = {}


def close(type, rtol, atol):
    """Compared with a tolerance: the kernel uses units whose exact bits are not claimed."""
    return {"type": type, "rtol": rtol, "atol": atol}


def launch(kernel, grid, block, *args, **more):
    def dim(d):
        d = list(d) if isinstance(d, (list, tuple)) else [d]
        return d + [1] * (3 - len(d))

    entry = {"kernel": kernel, "grid": dim(grid), "block": dim(block)}
    entry.update(more)
    entry["args"] = [{"buffer": a} if isinstance(a, str) else a for a in args]
    return entry


def i32(v):
    return {"i32": v}


def u32(v):
    return {"u32": v}


def f32(v):
    return {"f32": v}


def f64(v):
    return {"f64": v}


def u64(v):
    return {"u64": v}


def plan(name, buffers, *launches, **more):
    PLANS[name] = dict(buffers=buffers, launches=list(launches), **more)


def bench(name, buffers, *launches, source=None, **more):
    """source: of the kernel, where several plans have one."""
    plan("bench/" + name, buffers, *launches, **more)
    BENCH_SOURCES["bench/" + name] = source or name


def archs_of(name):
    """The architectures that a kernel is built for: the usual (of bench/ sm_90), or what its source says (see rebuild)."""
    source = BENCH_SOURCES.get(name)
    archs = ["sm_90"] if source else list(USUAL)
    for source in glob.glob(os.path.join(HERE, *(("bench", source + ".cu") if source else (name, "*.cu")))):
        with open(source) as f:
            for line in f:
                if line.startswith("// archs: "):
                    archs = line.split()[2:]
                if line.startswith("// also: "):
                    archs += line.split()[2:]
    return archs


def text_bytes(path):
    return os.path.getsize(os.path.join(HERE, path))


def render(name, archs, module, recorded):
    spec = PLANS[name]
    out = {"arch": archs, "module": module, "timeLimit": 60}
    for key in ("limits", "device"):
        if key in spec:
            out[key] = spec[key]
    result = recorded.get(name, {})
    buffers = {}
    for key, b in spec["buffers"].items():
        b = dict(b)
        check = b.pop("check", None)
        expect = result.get("buffers", {}).get(key)
        if check is not None and expect:
            b["expect"] = dict(expect, **check)
        buffers[key] = b
    if buffers:
        out["buffers"] = buffers
    for key, g in spec.get("globals", {}).items():
        g = dict(g)
        check = g.pop("check", None)
        g.pop("bytes", None)
        expect = result.get("globals", {}).get(key)
        if check is not None and expect:
            g["expect"] = dict(expect, **check)
        if g:
            out.setdefault("globals", {})[key] = g
    out["launches"] = spec["launches"]
    expect = {"status": spec.get("status", "ok")}
    if spec.get("stdout") and "stdout" in result:
        expect["stdout"] = result["stdout"]
    out["expect"] = expect
    return layout(out)


def layout(plan):
    """One line per buffer and launch: short enough to read, and diffs stay small."""
    lines = []
    for key, value in plan.items():
        if key in ("buffers", "globals"):
            rows = ["    %s: %s" % (json.dumps(k), json.dumps(v)) for k, v in value.items()]
            lines.append('  "%s": {\n' % key + ",\n".join(rows) + "\n  }")
        elif key == "launches":
            lines.append('  "launches": [\n' + ",\n".join("    " + json.dumps(v) for v in value) + "\n  ]")
        else:
            lines.append("  %s: %s" % (json.dumps(key), json.dumps(value)))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(path, text):
    try:
        with open(path) as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w") as f:
        f.write(text)


def main():
    import descriptions  # noqa: F401  fills PLANS
    try:
        with open(os.path.join(HERE, "recorded.json")) as f:
            recorded = json.load(f)["results"]
    except FileNotFoundError:
        recorded = {}
    missing = []
    for name in PLANS:
        if name.startswith("bench/"):
            write(os.path.join(HERE, name + ".json"), render(name, archs_of(name)[0], BENCH_SOURCES[name] + ".cubin", recorded))
            continue
        built = [arch for arch in ARCHS if os.path.exists(os.path.join(HERE, name, arch + ".cubin"))]
        missing += ["%s/%s" % (name, arch) for arch in archs_of(name) if arch not in built]
        if built:
            write(os.path.join(HERE, name, "plan.json"), render(name, built, "{arch}.cubin", recorded))
    if missing:
        print("no cubin yet: " + " ".join(missing), file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["usual"]:
        print(" ".join(USUAL))
        sys.exit(0)
    sys.modules["plans"] = sys.modules["__main__"]
    sys.path.insert(0, HERE)
    main()
