# SPDX-License-Identifier: Apache-2.0
"""Programs over Thrust: what each is to leave in memory, and a plan of what its host program launches. thrust.cu is that program; a stand-in for the CUDA
runtime (recorder.cpp) writes down what it would do, at addresses that the plan's buffers then have."""
import functools
import json
import os
import struct
import subprocess

from pairs import SEED, LIMIT, philox

HERE = os.path.dirname(os.path.abspath(__file__))
N = 10000
U32 = 0xFFFFFFFF
PLACES = {"in": (0x7f1000000000, 4 * (N + 7)), "data": (0x7f1100000000, 4 * N), "out": (0x7f1200000000, 8 * N)}
ARENA = 0x7f2000000000


@functools.cache
def expected():
    """program -> what `out`, `data` and the host (words) are to hold; `data` first holds two sorted halves where they are asked for"""
    d = [philox(SEED, i) * LIMIT >> 32 for i in range(N + 7)]
    v = d[:N]
    halves = sorted(v[:N // 2]) + sorted(v[N // 2:])
    key = [x // 16384 for x in v]
    first = [i for i in range(N) if i == 0 or key[i] != key[i - 1]]
    runs = list(zip(first, first[1:] + [N]))
    inclusive, exclusive, total = [], [], 0
    for x in v:
        total += x
        inclusive.append(total & U32)
    for a, b in runs:
        total = 7
        for x in v[a:b]:
            exclusive.append(total & U32)
            total += x
    odd, even = [x for x in v if x & 1], [x for x in v if not x & 1]
    low = sorted(v, key=lambda x: x & 1023)
    union, both, i, k = [], [], 0, N // 2
    while i < N // 2 or k < N:
        if k == N or (i < N // 2 and halves[i] < halves[k]):
            union.append(halves[i])
            i += 1
        elif i == N // 2 or halves[k] < halves[i]:
            union.append(halves[k])
            k += 1
        else:
            union.append(halves[i])
            both.append(halves[i])
            i, k = i + 1, k + 1
    bounds = []
    below, sorted_half = 0, halves[:N // 2]
    place = {}
    for x in sorted(set(v)):
        while below < N // 2 and sorted_half[below] < x:
            below += 1
        place[x] = below
    bounds = [place[x] for x in v]
    return {
        "thrust_reduce": {"host": [sum(v) & U32]},
        "thrust_transform_reduce": {"host": [sum(3 * x + 1 for x in v) & U32]},
        "thrust_adjacent_difference": {"out": v[:1] + [b - a & U32 for a, b in zip(v, v[1:])]},
        "thrust_scan": {"out": inclusive},
        "thrust_scan_by_key": {"out": exclusive},
        "thrust_sort": {"out": sorted(v)},
        "thrust_sort_by_key": {"out": low, "data": low},
        "thrust_unique": {"out": [v[a] for a in first], "data": v, "host": [len(first)]},
        "thrust_unique_by_key": {"out": [d[7 + a] for a in first], "data": [v[a] for a in first], "host": [len(first)]},
        "thrust_copy_if": {"out": odd, "host": [len(odd)]},
        "thrust_partition": {"out": odd + [0] * (6000 - len(odd)) + even, "host": [len(odd)]},
        "thrust_reduce_by_key": {"out": [sum(v[a:b]) & U32 for a, b in runs], "data": [v[b - 1] for _, b in runs], "host": [len(first)]},
        "thrust_merge": {"halves": halves, "out": sorted(v)},
        "thrust_set_union": {"halves": halves, "out": union, "host": [len(union)]},
        "thrust_set_intersection": {"halves": halves, "out": both, "host": [len(both)]},
        "thrust_lower_bound": {"halves": halves, "out": bounds},
    }


NAMES = ["thrust_" + n for n in ("reduce", "transform_reduce", "adjacent_difference", "scan", "scan_by_key", "sort", "sort_by_key", "unique", "unique_by_key", "copy_if",
                                 "partition", "reduce_by_key", "merge", "set_union", "set_intersection", "lower_bound")]


def build(nvcc, out, arch, kind):
    """The cubin; of kind `line` the host program as well."""
    made = os.path.join(out, "thrust.%s.%s.cubin" % (arch, kind))
    sources = [os.path.join(HERE, f) for f in ("thrust.cu", "recorder.cpp")]
    if os.path.exists(made) and all(os.path.getmtime(made) > os.path.getmtime(s) for s in sources):
        return True
    flags = ["-O3", "-std=c++17", "-arch=" + arch, "-diag-suppress", "20054"]
    if kind == "plain":
        return not subprocess.run([nvcc, *flags, "-cubin", "-o", made, sources[0]]).returncode
    kept = os.path.join(out, "thrust.%s.keep" % arch)
    os.makedirs(kept, exist_ok=True)
    if subprocess.run([nvcc, *flags, "-lineinfo", "-cudart", "none", "--keep", "--keep-dir", kept, "-o", os.path.join(out, "thrust.%s.program" % arch), *sources]).returncode:
        return False
    cubin, = (f for f in os.listdir(kept) if f.endswith(".cubin"))
    os.replace(os.path.join(kept, cubin), made)
    for f in os.listdir(kept):
        os.remove(os.path.join(kept, f))
    return True


@functools.cache
def parameters(program, out, arch):
    """A file with the kernels' parameters."""
    path = os.path.join(out, "thrust.%s.parameters" % arch)
    said = json.loads(subprocess.run([program, "info", "--json", os.path.join(out, "thrust.%s.line.cubin" % arch)], capture_output=True, text=True, check=True).stdout)
    with open(path, "w") as f:
        for module in said["modules"]:
            for kernel in module["kernels"]:
                for p in kernel["parameters"]:
                    f.write("%s %d %d\n" % (kernel["name"], p["offset"], p["bytes"]))
    return path


def recorded(program, out, name, arch):
    path = os.path.join(out, "thrust.%s.record" % arch)
    how = dict(os.environ, RECORD=path, PARAMETERS=parameters(program, out, arch), ARCH=arch[3:])
    subprocess.run([os.path.join(out, "thrust.%s.program" % arch), name], env=how, check=True)
    with open(path) as f:
        return [line.split() for line in f]


def plan(program, out, name, arch, module):
    left = expected()[name]
    lines = recorded(program, out, name, arch)
    arena = next(int(line[1]) for line in lines if line[0] == "end")
    places = dict(PLACES, arena=(ARENA, arena)) if arena else PLACES
    buffers = {b: {"bytes": size, "address": at, "fill": 0} for b, (at, size) in places.items()}
    if arena:
        buffers["arena"]["fill"] = 0xcd
    buffers["in"] = {"bytes": PLACES["in"][1], "address": PLACES["in"][0], "random": {"type": "u32", "seed": SEED, "low": 0, "high": LIMIT}}
    if "halves" in left:
        file = os.path.join(out, "thrust.halves")
        with open(file, "wb") as f:
            f.write(struct.pack("<%dI" % N, *left["halves"]))
        buffers["data"] = {"bytes": 4 * N, "address": PLACES["data"][0], "file": "thrust.halves"}

    def place(address):
        buffer = next(b for b, (at, size) in places.items() if at <= address < at + size)
        return {"buffer": buffer, "offset": address - places[buffer][0]}

    launches, host = [], 0
    for what, *rest in lines:
        if what == "launch":
            kernel, *numbers, parameter_bytes = rest
            n = [int(x) for x in numbers]
            launches.append({"kernel": kernel, "grid": n[:3], "block": n[3:6], "dynamicShared": n[6], "paramBytes": "" if parameter_bytes == "-" else parameter_bytes})
        elif what == "copy":
            to, source, size = map(int, rest)
            launches.append({"copy": {"to": place(to) if to else {"buffer": "host", "offset": host}, "from": place(source), "bytes": size}})
            host += 0 if to else size
        elif what == "fill":
            to, value, size = map(int, rest)
            name_ = "fill%d" % len(buffers)
            buffers[name_] = {"bytes": size, "fill": value & 255}
            launches.append({"copy": {"to": place(to), "from": {"buffer": name_}, "bytes": size}})
    if host:
        buffers["host"] = {"bytes": host, "fill": 0}
    for buffer in ("out", "data", "host"):
        if buffer in left:
            size = buffers[buffer]["bytes"] // 4
            buffers[buffer]["expect"] = {"type": "u32", "values": left[buffer] + [0] * (size - len(left[buffer]))}
    return {"arch": arch, "module": module, "timeLimit": 60, "buffers": buffers, "launches": launches, "expect": {"status": "ok"}}


def kernels(program, out, name, arch):
    return list(dict.fromkeys(line[1] for line in recorded(program, out, name, arch) if line[0] == "launch"))
