#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA's math API on a chip and in the emulator: every function of functions.txt over 1,310,720 operands.

  math_api.py replay SASSEMU [--all] [--variants V,...] [--only PATTERN] [--jobs N] [--values FOLDER]
        runs VARIANT.cubin.xz in the emulator and compares with record.bin: the chunks of SAMPLE, with --all all
  math_api.py replay SASSEMU --arch ARCH
        the same of what nvcc makes for another architecture; ELSEWHERE names the functions that have other results there, and why
  math_api.py build FOLDER              makes VARIANT.cubin.xz with nvcc 13.0 (a chip's record is of these files)
  math_api.py chip FOLDER               on a GPU machine (libcuda.so.1): FOLDER/VARIANT.hashes, and .values of some results
  math_api.py pack FOLDER               makes record.bin of them
  math_api.py source                    prints the kernels, one a function

Variants: opt, debug (-G), fast (-use_fast_math). Operands come in chunks of 4096 (operand_chunk()): two of special values, then
four of five chunks of random bits and one of bits within a range where functions are at work. A chunk's hash is the CRC-32 of its results as they lie in
memory. record.bin keeps the first eight chunks' hashes and one for every eight of the rest.
"""
import argparse
import ctypes
import fnmatch
import functools
import hashlib
import itertools
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
CHUNK = 4096
CHUNKS = 320
THREADS = 256
KEPT = {0: 1024, 2: 256, 3: 256}  # values that `chip` keeps: so many of a chunk
GROUPS = [[c] for c in range(8)] + [list(range(c, c + 8)) for c in range(8, CHUNKS, 8)]  # chunks that have a hash in the record
SAMPLE = {"opt": [0, 1, 2], "debug": [0], "fast": [0]}  # chunks, which are groups too
VARIANTS = {"opt": [], "debug": ["-G"], "fast": ["-use_fast_math"]}
# What is not as on sm_90 elsewhere: architecture, functions, why.
NOT_THERE = {"sm_75": ["h__b___half_a", "B__BBB___hcmadd", "b__bbb___hfma*", "B__BBB___hfma2*"]}
APPROXIMATED = "by float functions that the header rounds, where sm_90 has an instruction"
CONTRACTED = "nvcc contracts other products"
ELSEWHERE = [
    (["sm_75"], ["b__bb___h*_nan", "B__BB___h*2_nan"], "zeros of both signs compare equal in the header's own code"),
    (["sm_75", "sm_80", "sm_86", "sm_89"], ["b__b_htanh_approx", "B__B_h2tanh_approx"], APPROXIMATED),
    (["sm_75", "sm_80", "sm_86", "sm_89"], ["b__d___double2bfloat16"], "the header's own code makes another NaN"),
    (["sm_100", "sm_120"], ["d__dd_atan2", "d__dddd_norm_4_*", "d__dddd_rnorm_4_*"], CONTRACTED),
]
RECORD = os.path.join(HERE, "record.bin")

C = {"f": "float", "d": "double", "h": "__half", "b": "__nv_bfloat16", "H": "__half2", "B": "__nv_bfloat162", "i": "int", "u": "unsigned",
     "l": "long long", "L": "unsigned long long", "s": "short", "S": "unsigned short", "c": "signed char", "C": "unsigned char", "p": "bool",
     "n": "int"}
SIZE = {"f": 4, "d": 8, "h": 2, "b": 2, "H": 4, "B": 4, "i": 4, "u": 4, "l": 8, "L": 8, "s": 2, "S": 2, "c": 1, "C": 1, "p": 1, "n": 4}
SLOTS = "abce"  # what a call names its operands

PRELUDE = """// Made by math_api.py from functions.txt.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
template<class T> struct Array
{
    T v[4];
    __device__ Array(T a, T b, T c, T d) : v{a, b, c, d} {}
};
template<class T> struct Pair
{
    float x;
    __device__ Pair(float& second, T both) : x(both.x) { second = both.y; }
};
"""


# --- the table ------------------------------------------------------------------------------------------------------

def expanded(call):
    """[xy] and (x|y) in all their readings."""
    found = re.search(r"\[(\w+)\]|\(([\w]*(?:\|[\w]*)+)\)", call)
    if not found:
        return [call]
    parts = list(found.group(1)) if found.group(1) else found.group(2).split("|")
    return list(itertools.chain.from_iterable(expanded(call[:found.start()] + part + call[found.end():]) for part in parts))


class Function:
    def __init__(self, results, operands, call):
        self.results, self.operands = results, operands
        name = re.sub(r"\W+", "_", call.translate(NAMED)).rstrip("_") if "(" in call else call
        self.name = "%s__%s_%s" % (results, operands, name)
        self.call = call if "(" in call else "%s(%s)" % (call, ",".join(SLOTS[:len(operands)]))

    def source(self):
        types = [C[t] for t in self.operands]
        results = "".join(", %s* out%d" % (C[t], k) for k, t in enumerate(self.results))
        body = "".join("%s %s = in_%s[i]; " % (t, s, s) for s, t in zip(SLOTS, types))
        if len(self.results) == 2:
            body += "%s r; " % C[self.results[1]]
        if "&s" in self.call:  # both results come through pointers
            body += "%s s; %s; out0[i] = s; out1[i] = r;" % (C[self.results[0]], self.call)
        elif "Two(r)" in self.call:
            call = self.call.replace("Two(r).high", "&high").replace("Two(r).low", "&low")
            body += "bool high, low; out0[i] = %s; r = high * 2 + low; out1[i] = r;" % call
        else:
            body += "out0[i] = %s;" % self.call + (" out1[i] = r;" if len(self.results) == 2 else "")
        return 'extern "C" __global__ void %s(%s%s) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; %s }' % (
            self.name, ", ".join("const %s* in_%s" % (t, s) for s, t in zip(SLOTS, types)), results, body)


NAMED = {ord(k): v for k, v in (("+", "_add_"), ("-", "_sub_"), ("*", "_mul_"), ("/", "_div_"), ("%", "_rem_"), ("<", "_lt_"), (">", "_gt_"), ("=", "_eq_"),
                                 ("!", "_not_"))}


@functools.lru_cache(None)
def functions():
    found = []
    with open(os.path.join(HERE, "functions.txt")) as f:
        lines = [line.split("#")[0].strip() for line in f]
    for line in filter(None, lines):
        types, calls = line.split(" : ")
        results, operands = types.split(" < ")
        kinds = [("h", "H", "half"), ("b", "B", "bfloat16")] if re.search("[xX]", types) else [("", "", "")]
        for call in itertools.chain.from_iterable(map(expanded, calls.split())):
            for one, two, text in kinds:
                def of(letters):
                    return letters.replace("x", one).replace("X", two)
                found.append(Function(of(results), of(operands), call.replace("{t}", text)))
    names = [f.name for f in found]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    return found


# --- operands -------------------------------------------------------------------------------------------------------

def both_signs(values, bits):
    return [v | s for v in values for s in (0, 1 << bits - 1)]


def float_specials(exponent, mantissa, extra):
    """32 patterns with both signs: what every format has, and some values of the format's own."""
    one = ((1 << exponent - 1) - 1) << mantissa
    inf = ((1 << exponent) - 1) << mantissa
    quiet = 1 << mantissa - 1
    values = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, one - 1, one, one + 1, one + (1 << mantissa), one - (1 << mantissa),
              one + quiet, inf - 1, inf - (1 << mantissa), inf, inf | quiet, inf | 1, inf | quiet | 1, inf | (quiet - 1), inf | (2 * quiet - 1)] + extra
    assert len(values) == 32, len(values)
    return both_signs(values, 1 + exponent + mantissa)


def packed(code, values):
    return [struct.unpack("<" + {"e": "H", "f": "I", "d": "Q"}[code], struct.pack("<" + code, v))[0] for v in values]


PLACES = [3.141592653589793, 1.5707963267948966, 0.7853981633974483, 2.718281828459045, 0.6931471805599453]
F = float_specials(8, 23, packed("f", PLACES + [2.0 ** 23, 2.0 ** 24 + 2, 2.0 ** 31, 2.0 ** 63, 88.72284, 104.0, 1e-20]))
D = float_specials(11, 52, packed("d", PLACES + [2.0 ** 31, 2.0 ** 52, 2.0 ** 53 + 2, 2.0 ** 63, 709.782712893384, 745.2, 1e-160]))
X16 = float_specials(5, 10, packed("e", [3.140625, 1.5703125, 0.78515625, 2.71875, 0.693359375, 1024.0, 2048.0, 32768.0, 11.09, 17.3, 0.001, 3.0]))
BF = float_specials(8, 7, [v >> 16 for v in packed("f", PLACES + [128.0, 256.0, 2.0 ** 31, 2.0 ** 63, 88.5, 104.0, 1e-20])])
I = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 23, 24, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff, 0x1000000,
     0x1000001, 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0x80000001, 0x7fffff80, 0x7fffffc0, 0xffffff80, 0x80008000, 0x7fff7fff, 0x7fff8000,
     0x80007fff, 0x80808080, 0x7f7f7f7f, 0x807f807f, 0x7f807f80, 0x01010101, 0x00010001, 0xff00ff00, 0x00ff00ff, 0xaaaaaaaa, 0x55555555, 0x12345678,
     0x87654321, 0xfffffffe, 0xfffffffd, 0xffffffe0, 0xffffffc0, 0xffff0000, 0xffff8000, 0xff000000, 0xfffffff0, 0x3210, 0xffffffff]
WIDE = [v | ((0xffffffff << 32) if v & 0x80000000 and k % 2 else 0) for k, v in enumerate(I[:40])] + [
    1 << 32, (1 << 32) + 1, (1 << 32) - 1, 1 << 53, (1 << 53) + 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1, (1 << 64) - 2,
    0x7fffffffffffff00, 0x7ffffffffffffc00, 0xfffffffffffff800, 0xffffff8000000000, 0x0000008000000001, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa,
    0x0123456789abcdef, 0xfedcba9876543210, 0xffffffff00000000, 0x00000000ffff0000, 0x8000000080000000, 0x7fffffff80000000]


def lanes(pattern, bits, count=CHUNK):
    return int.from_bytes(pattern.to_bytes(bits // 8, "little") * count, "little")


def exponents(exponent, mantissa):
    """(and, or) over bits: 2^-31 to 1, 2^-3 to 1 (halves: the same), 2 to 2^32, 2 to 511, as far as the format goes."""
    top, kept = exponent - 1, (1 << mantissa) - 1 | 1 << exponent + mantissa
    small, tiny = min(5, exponent - 2), 2
    large, some = min(5, exponent - 1), min(3, exponent - 2)
    made = []
    for free, high in ((small, 0), (tiny, 0), (large, 1), (some, 1)):
        fixed = 1 << top if high else ((1 << top) - 1) >> free << free
        made.append((kept | ((1 << free) - 1) << mantissa, fixed << mantissa))
    return made


def pairs(kinds):
    return [(a | a << 16, o | o << 16) for a, o in kinds]


# letter -> bits, special values, (and, or) of the chunks within a range
INTEGERS = [(0x3f, 0), (0xffffffff, 0xffffffc0), (0xffff, 0), (0x00ff00ff, 0)]
KINDS = {
    "f": (32, F, exponents(8, 23)),
    "d": (64, D, exponents(11, 52)),
    "h": (16, X16, exponents(5, 10)),
    "b": (16, BF, exponents(8, 7)),
    "H": (32, X16, pairs(exponents(5, 10))),
    "B": (32, BF, pairs(exponents(8, 7))),
    "i": (32, I, INTEGERS),
    "l": (64, WIDE, [(0x3f, 0), ((1 << 64) - 1, (1 << 64) - 64), (0xffffffff, 0), (0xffffffffff, 0)]),
    "s": (16, [v & 0xffff for v in I], [(0x3f, 0), (0xffff, 0xffc0), (0xff, 0), (0x0fff, 0)]),
    "c": (8, [v & 0xff for v in I], [(0x3f, 0), (0xff, 0xc0), (0x0f, 0), (0x7f, 0)]),
    "n": (32, list(range(-8, 24)) * 2, None),
}
LIKE = {"u": "i", "L": "l", "S": "s", "C": "c"}


@functools.lru_cache(None)
def operand_chunk(letter, slot, chunk):
    """CHUNK operands of a type for the slot (0: a, 1: b...), as bytes."""
    letter = LIKE.get(letter, letter)
    bits, special, within = KINDS[letter]
    nbytes = bits // 8
    if letter == "n":  # functions that take as long as it is large
        return struct.pack("<%di" % CHUNK, *[special[(k * 29 + k // 64 + chunk) % 64] for k in range(CHUNK)])
    seed = ("%s %d %d" % (letter, slot, chunk)).encode()
    random = hashlib.shake_128(seed).digest(CHUNK * nbytes)
    if chunk < 2:
        place = [lambda k: k % 64, lambda k: k // 64, lambda k: (k * 37 + k // 64 * 11) % 64, lambda k: (k * 23 + k // 64 * 7) % 64][slot]
        values = [special[place(k)] for k in range(CHUNK)]
        if letter in "HB":  # two specials each
            values = [v | special[(k * 45 + k // 64 * 13 + slot) % 64] << 16 for k, v in enumerate(values)]
        fixed = b"".join(v.to_bytes(nbytes, "little") for v in values)
        if chunk == 0:
            return fixed
        return b"".join((fixed if (k >> slot) & 1 else random)[k * nbytes:(k + 1) * nbytes] for k in range(CHUNK))
    if chunk % 5 != 2:
        return random
    turn = chunk // 5
    keep, put = within[(turn + turn // 4 * slot) % 4]
    value = int.from_bytes(random, "little") & lanes(keep, bits) | lanes(put, bits)
    return value.to_bytes(CHUNK * nbytes, "little")


def operands(letter, slot, chunks):
    return b"".join(operand_chunk(letter, slot, c) for c in chunks)


# --- a chip ---------------------------------------------------------------------------------------------------------

def read_cubin(variant):
    with lzma.open(os.path.join(HERE, variant + ".cubin.xz")) as f:
        return f.read()


def chip(folder, variant, driver):
    """VARIANT.hashes: a function after the other the CRC-32s of its chunks, result by result; VARIANT.values: those KEPT."""
    module = ctypes.c_void_p()
    driver.call("cuModuleLoadData", ctypes.byref(module), read_cubin(variant))
    total = CHUNK * CHUNKS
    held = {}

    def operand(letter, slot):
        key = LIKE.get(letter, letter), slot
        if key not in held:
            data = operands(*key, range(CHUNKS))
            held[key] = driver.allocate(len(data))
            driver.write(held[key], data)
        return held[key]

    results = [driver.allocate(total * 8) for _ in range(2)]
    hashes, values = [], []
    with ThreadPoolExecutor(8) as pool:
        for f in functions():
            kernel = ctypes.c_void_p()
            driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, f.name.encode())
            args = [ctypes.c_uint64(operand(t, k)) for k, t in enumerate(f.operands)] + [ctypes.c_uint64(r) for r in results[:len(f.results)]]
            pointers = (ctypes.c_void_p * len(args))(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in args])
            driver.call("cuLaunchKernel", kernel, total // THREADS, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
            driver.call("cuCtxSynchronize")
            for r, t in zip(results, f.results):
                data, size = memoryview(driver.read(r, total * SIZE[t])), CHUNK * SIZE[t]
                crcs = pool.map(zlib.crc32, [data[c * size:(c + 1) * size] for c in range(CHUNKS)])
                hashes.append(struct.pack("<%dI" % CHUNKS, *crcs))
                values += [bytes(data[c * size:c * size + n * SIZE[t]]) for c, n in KEPT.items()]
    for ending, what in (".hashes", hashes), (".values", values):
        with open(os.path.join(folder, variant + ending), "wb") as f:
            f.write(b"".join(what))
    print("%s: %d functions on %s, driver %d" % (variant, len(functions()), driver.name(), driver.version()), flush=True)
    return driver.name()


def chip_all(folder):
    sys.path.insert(0, os.path.join(HERE, "../../../cubins"))
    from record import Driver
    driver = Driver()
    for variant in VARIANTS:
        chip(folder, variant, driver)


# --- the record -----------------------------------------------------------------------------------------------------

def grouped(crcs):
    """The hashes of GROUPS from those of chunks (a mapping; groups that it lacks are left out)."""
    return {k: crcs[g[0]] if len(g) == 1 else zlib.crc32(struct.pack("<%dI" % len(g), *[crcs[c] for c in g]))
            for k, g in enumerate(GROUPS) if all(c in crcs for c in g)}


def streams():
    return sum(len(f.results) for f in functions())


def pack(folder):
    """record.bin: a byte for each result, bit v: variant v differs from the first; then u32: the first's hashes of GROUPS, and those of each that differs."""
    held = []
    for variant in VARIANTS:
        with open(os.path.join(folder, variant + ".hashes"), "rb") as f:
            held.append(f.read())
    flags, hashes, size = bytearray(), bytearray(), CHUNKS * 4
    for k in range(streams()):
        own = [h[k * size:(k + 1) * size] for h in held]
        flags.append(sum(1 << v for v, h in enumerate(own) if h != own[0]))
        for v, h in enumerate(own):
            if v == 0 or h != own[0]:
                hashes += struct.pack("<%dI" % len(GROUPS), *grouped(dict(enumerate(struct.unpack("<%dI" % CHUNKS, h)))).values())
    with open(RECORD, "wb") as f:
        f.write(flags + hashes)


@functools.lru_cache(None)
def record():
    """A list of the variants' hashes for each result."""
    with open(RECORD, "rb") as f:
        data = f.read()
    at, found = streams(), []
    for flag in data[:at]:
        own = []
        for v in range(len(VARIANTS)):
            if v == 0 or flag >> v & 1:
                own.append(struct.unpack_from("<%dI" % len(GROUPS), data, at))
                at += 4 * len(GROUPS)
            else:
                own.append(own[0])
        found.append(own)
    assert at == len(data), "record.bin is not of this functions.txt"
    return found


# --- the emulator ---------------------------------------------------------------------------------------------------

def run(sassemu, arch, cubin, some, chunks, folder):
    """The results of some functions, as the emulator has them: lists of bytes, or what it said where it failed."""
    buffers, launches, dumps = {}, [], []
    for f in some:
        args = []
        for k, t in enumerate(f.operands):
            name = "%s%d" % (LIKE.get(t, t), k)
            data = operands(t, k, chunks)
            buffers[name] = {"bytes": len(data), "file": name}
            path = os.path.join(folder, name)
            if not os.path.exists(path):
                with open(path, "wb") as out:
                    out.write(data)
            args.append({"buffer": name})
        for k, t in enumerate(f.results):
            name = "%s.%d" % (f.name, k)
            buffers[name] = {"bytes": SIZE[t] * CHUNK * len(chunks), "fill": "0x00"}
            args.append({"buffer": name})
            dumps += ["--dump", "%s=%s" % (name, os.path.join(folder, name))]
        launches.append({"kernel": f.name, "grid": [len(chunks) * CHUNK // THREADS, 1, 1], "block": [THREADS, 1, 1], "args": args})
    plan = os.path.join(folder, some[0].name + ".json")
    with open(plan, "w") as out:
        json.dump({"arch": arch, "module": cubin, "buffers": buffers, "launches": launches}, out)
    ran = subprocess.run([sassemu, "run", plan, "--threads", "1", *dumps], capture_output=True, text=True, errors="replace")
    if ran.returncode:
        return (ran.stderr + ran.stdout).strip()
    results = []
    for f in some:
        for k in range(len(f.results)):
            path = os.path.join(folder, "%s.%d" % (f.name, k))
            with open(path, "rb") as made:
                results.append(made.read())
            os.remove(path)
    return results


def explain(stream, t, results, chunks, values):
    """Where results are not those that `chip` kept."""
    per = sum(KEPT.values())
    at = sum(SIZE[r] for r in "".join(f.results for f in functions())[:stream]) * per
    for c, n in KEPT.items():
        want = values[at:at + n * SIZE[t]]
        at += n * SIZE[t]
        if c not in chunks:
            continue
        begin = chunks.index(c) * CHUNK * SIZE[t]
        got = results[begin:begin + n * SIZE[t]]
        for i in range(n):
            a, b = (x[i * SIZE[t]:(i + 1) * SIZE[t]][::-1].hex() for x in (got, want))
            if a != b:
                yield c, i, a, b


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def replay(options):
    known, position = record(), {}
    for f in functions():
        position[f.name] = len(position) and position["next"]
        position["next"] = position[f.name] + len(f.results)
    chosen = [f for f in functions() if fnmatch.fnmatch(f.name, options.only) and not matches(f.name, NOT_THERE.get(options.arch, []))]
    expected = {f.name for archs, names, _ in ELSEWHERE for f in chosen if options.arch in archs and matches(f.name, names)}
    wrong = compared = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for v, variant in enumerate(VARIANTS):
            if variant not in options.variants:
                continue
            chunks = list(range(CHUNKS)) if options.all else SAMPLE[variant]
            cubin = os.path.join(folder, variant + ".cubin")
            if options.arch == "sm_90":
                with open(cubin, "wb") as out:
                    out.write(read_cubin(variant))
            else:
                nvcc(folder, chosen, ["-arch=" + options.arch, *VARIANTS[variant]], cubin)
            values = b""
            if options.values:
                with open(os.path.join(options.values, variant + ".values"), "rb") as f:
                    values = f.read()
            size = max(1, min(16 if options.all else 128, (len(chosen) + options.jobs - 1) // options.jobs))
            batches = [chosen[k:k + size] for k in range(0, len(chosen), size)]

            def one(batch, v=v, chunks=chunks, cubin=cubin, values=values):
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    made = run(options.sassemu, options.arch, cubin, batch, chunks, own)
                if isinstance(made, str):
                    return made
                found, at = [], 0
                for f in batch:
                    for k, t in enumerate(f.results):
                        data, nbytes = made[at], CHUNK * SIZE[t]
                        crcs = {c: zlib.crc32(data[i * nbytes:(i + 1) * nbytes]) for i, c in enumerate(chunks)}
                        stream = position[f.name] + k
                        bad = [GROUPS[g] for g, h in grouped(crcs).items() if h != known[stream][v][g]]
                        if bad:
                            found.append((f, k, bad, list(explain(stream, t, data, chunks, values)) if values else []))
                        at += 1
                return found

            compared += len(chosen) * len(chunks) * CHUNK
            for batch, found in zip(batches, pool.map(one, batches)):
                if isinstance(found, str):
                    print("%s: %s ... %s: %s" % (variant, batch[0].name, batch[-1].name, found))
                    wrong += len(batch)
                    continue
                for f, k, bad, places in found:
                    if f.name in expected:
                        continue
                    wrong += 1
                    print("%s: %s: result %d differs in chunks %s" % (variant, f.name, k, " ".join("%d-%d" % (g[0], g[-1]) for g in bad[:8])))
                    for c, i, got, want in places[:8]:
                        given = []
                        for slot, t in enumerate(f.operands):
                            data, n = operand_chunk(t, slot, c), SIZE[t]
                            given.append(data[i * n:(i + 1) * n][::-1].hex())
                        print("    %s: %s, on the chip %s" % (" ".join(given), got, want))
    print("%d functions, %s: %d results compared, %d differ" % (len(chosen), ",".join(options.variants), compared, wrong))
    return wrong == 0


# --- files ----------------------------------------------------------------------------------------------------------

def source(some):
    return PRELUDE + "\n".join(f.source() for f in some) + "\n"


def nvcc(folder, some, flags, made):
    with open(os.path.join(folder, "math_api.cu"), "w") as f:
        f.write(source(some))
    subprocess.run(["nvcc", "-std=c++17", "-cubin", *flags, "-o", made, "math_api.cu"], cwd=folder, check=True)


def build(folder):
    sys.path.insert(0, os.path.join(HERE, "../../../cubins"))
    from variants import without_debug_text
    for variant, flags in VARIANTS.items():
        made = os.path.join(folder, variant + ".cubin")
        nvcc(folder, functions(), ["-arch=sm_90", *flags], made)
        with open(made, "rb") as f, lzma.open(os.path.join(HERE, variant + ".cubin.xz"), "wb", preset=9 | lzma.PRESET_EXTREME) as out:
            out.write(without_debug_text(f.read()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["replay", "build", "chip", "pack", "source"])
    parser.add_argument("sassemu", metavar="SASSEMU|FOLDER", nargs="?")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--variants", type=lambda s: s.split(","), default=list(VARIANTS))
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", default="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--values")
    options = parser.parse_args()
    if options.command == "source":
        print(source(functions()), end="")
        return 0
    if options.command == "replay":
        if options.arch != "sm_90" and options.variants == list(VARIANTS):
            options.variants = ["opt"]
        return 0 if replay(options) else 1
    {"build": build, "chip": chip_all, "pack": pack}[options.command](options.sassemu)
    return 0


if __name__ == "__main__":
    sys.exit(main())
