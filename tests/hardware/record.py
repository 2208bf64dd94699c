#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the instruction words of instances.tsv.gz on a GPU of compute capability 9.0 and records what each changed.

  record.py DIRECTORY [WORDS]          writes DIRECTORY/record.tar.gz (numpy and the driver's libcuda.so.1 needed); WORDS, maybe
                                       compressed, has a word of 32 hex digits first on each line, or an instruction as text; then
                                       DIRECTORY/words.tsv.gz gets the words. Text needs sassemu (SASSEMU, build/release/bin or PATH)
  record.py --one WORDS OUT            one image of words in this process
  record.py --selftest                 anywhere with numpy: layout and operands against each other

Here: launching, faults, the record's format (README.md). Not here: the slots themselves (slots.py).
Every image runs in a process of its own, because a word that traps takes its context along; such an image is halved
until the word stands alone. Each image runs twice: a word whose results differ between two runs is marked.
"""
import concurrent.futures
import ctypes
import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

import slots

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = 8      # warps whose changed rows the record holds in full; of the others it holds a hash
LIMIT_S = 60    # per process
TOTAL_S = 420   # after this no failing batch is halved any more
WORKERS = 16
MAGIC = b"SASSHW01"
WORD = re.compile(r"[0-9a-f]{32}(\t|$)")
OK, TRAPS, UNSTABLE, MISSING = 0, 1, 2, 3
# Classes whose forms often trap: in the last batches, so that they do not halve the batches of the others.
SUSPICIOUS = re.compile(r"BF16_V2\S*\.(FTZ|FMZ|SAT|OOB)|F32\S*\.(SAT|FTZ|FMZ|OOB|RELU)$|FMZ|OOB|FTZ\.RELU|^HFMA2\.F32|^F2FP|MMA\.|^MOVM|^I2[IF]P|^VIMNMX3|^IDP|^IMMA")


def row_hashes(rows, np):
    """One uint64 per leading index: [..., row][32 lanes] -> hash of that row, before its number is mixed in."""
    lane = np.arange(32, dtype=np.uint64)
    with np.errstate(over="ignore"):
        return slots.mix(rows.astype(np.uint64) + (lane << np.uint64(40)) + np.uint64(0x1234567), np).sum(axis=-1, dtype=np.uint64)


def warp_hashes(rows, changed, numbers, np):
    """rows [warp][n][32], changed [warp][n] bool, numbers: row number of each n -> uint64 [warp]."""
    with np.errstate(over="ignore"):
        numbered = slots.mix(row_hashes(rows, np) + np.asarray(numbers, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15), np)
        return np.where(changed, numbered, np.uint64(0)).sum(axis=1, dtype=np.uint64)


def entry(word, status, numbers=(), changed=None, rows=None, np=None):
    """One word of the record: 16 bytes word, status, row count, row numbers, masks, hashes, sampled rows."""
    out = struct.pack("<QQBB", word & (1 << 64) - 1, word >> 64, status, len(numbers))
    if status in (TRAPS, MISSING):
        return out
    out += bytes(numbers)
    if len(numbers):
        out += warp_hashes(rows, changed, numbers, np).astype("<u8").tobytes()
        out += rows[:SAMPLE].transpose(1, 0, 2).astype("<u4").tobytes()
    return out


# --- the driver ----------------------------------------------------------------------------------------------------

class Failure(Exception):
    pass


def driver():
    cu = ctypes.CDLL("libcuda.so.1")

    def check(code, what):
        if code:
            raise Failure("%s: CUDA error %d" % (what, code))
    return cu, check


def run_words(words, np):
    """[warp][slot][row][32] of two runs, as a list of two arrays."""
    cu, check = driver()
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cu.cuInit(0), "cuInit")
    check(cu.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "cuDevicePrimaryCtxRetain")
    check(cu.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(cu.cuModuleLoadData(ctypes.byref(module), slots.image_of(words)), "cuModuleLoadData")
    check(cu.cuModuleGetFunction(ctypes.byref(function), module, b"slots"), "cuModuleGetFunction")
    rows = slots.operands(np)
    image = np.ascontiguousarray(slots.memory_image(rows, np))
    size = slots.WARPS * slots.OUT_STRIDE
    source, target = ctypes.c_uint64(), ctypes.c_uint64()
    check(cu.cuMemAlloc_v2(ctypes.byref(source), ctypes.c_size_t(image.nbytes)), "cuMemAlloc")
    check(cu.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(size)), "cuMemAlloc")
    check(cu.cuMemcpyHtoD_v2(source, ctypes.c_void_p(image.ctypes.data), ctypes.c_size_t(image.nbytes)), "cuMemcpyHtoD")
    parameters = ctypes.create_string_buffer(
        struct.pack("<QQ", source.value, target.value) + slots.constants(np).astype("<u4").tobytes(), slots.PARAMETERS)
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(parameters))
    results = []
    for _ in range(2):
        check(cu.cuMemsetD32_v2(target, ctypes.c_uint(0xdeadbeef), ctypes.c_size_t(size // 4)), "cuMemsetD32")
        check(cu.cuLaunchKernel(function, slots.WARPS, 1, 1, 32, 1, 1, 0, None, pointers, None), "cuLaunchKernel")
        check(cu.cuCtxSynchronize(), "the kernel")
        got = np.empty((slots.WARPS, slots.SLOTS, slots.OUT_SLOT // 4), dtype=np.uint32)
        check(cu.cuMemcpyDtoH_v2(ctypes.c_void_p(got.ctypes.data), target, ctypes.c_size_t(size)), "cuMemcpyDtoH")
        results.append(slots.rows_of(got[:, :len(words)], np))
    return rows, results


def record_one(source, target):
    import numpy as np
    with open(source) as f:
        words = [int(line, 16) for line in f.read().split()]
    try:
        before, (first, second) = run_words(words, np)
    except Failure as e:
        print(e)
        return 3
    with open(target, "wb") as f:
        for i, w in enumerate(words):
            rows = first[:, i]
            changed = (rows != before).any(axis=2)
            numbers = np.nonzero(changed.any(axis=0))[0]
            if w == 0x7918 and len(numbers):
                for n in numbers[:8]:
                    lane = int(np.nonzero(rows[0, n] != before[0, n])[0][0]) if (rows[0, n] != before[0, n]).any() else 0
                    print("a NOP changes row %d: warp 0, lane %d: %08x was %08x" % (n, lane, rows[0, n, lane], before[0, n, lane]))
            if len(numbers) > 64:
                raise SystemExit("word %032x changed %d rows: a slot is wrong" % (w, len(numbers)))
            status = OK if (rows == second[:, i]).all() else UNSTABLE
            f.write(entry(w, status, [int(n) for n in numbers], changed[:, numbers], rows[:, numbers], np))
    return 0


# --- all -----------------------------------------------------------------------------------------------------------

def assembled(lines):
    """Lines of instruction text -> [word, mnemonic, text] each."""
    built = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "release", "bin", "sassemu")
    program = os.environ.get("SASSEMU") or (built if os.path.exists(built) else "sassemu")
    done = subprocess.run([program, "asm", "--arch", "sm_90", "--words", "-"], input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    words = done.stdout.splitlines()
    for word, line in zip(words, lines):
        if not WORD.match(word):
            raise SystemExit("%s: %s" % (line, word))
    # The record holds words without control bits.
    return [["%032x" % (int(word, 16) & (1 << 105) - 1), plain(line).split(".")[0], line] for word, line in zip(words, lines)]


def plain(text):
    """The mnemonic with its modifiers, without a guard."""
    return next(t for t in text.split() if t[0] != "@")


def read_words(path):
    with open(path, "rb") as f:
        data = f.read()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]
    if all(WORD.match(line) for line in lines):
        return [line.split("\t") for line in lines]
    return assembled(lines)


def record_all(directory, path):
    begin = time.monotonic()
    listed = read_words(path)
    os.makedirs(directory, exist_ok=True)
    with gzip.GzipFile(os.path.join(directory, "words.tsv.gz"), "wb", 9, mtime=0) as f:
        f.write("".join("\t".join(line) + "\n" for line in listed).encode())
    listed.sort(key=lambda line: bool(SUSPICIOUS.search(plain(line[-1]))))  # stable
    words = [int(line[0], 16) for line in listed]
    order = {w: i for i, w in enumerate(words)}
    text = {int(line[0], 16): line[-1] for line in listed}
    found, notes = {}, []

    def attempt(batch, work):
        """Entries of the batch's words; a failing batch is halved, a failing word alone traps."""
        source = os.path.join(work, "%032x-%d" % (batch[0], len(batch)))
        with open(source, "w") as f:
            f.write("\n".join("%032x" % w for w in batch))
        try:
            done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", source, source + ".out"], timeout=LIMIT_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=HERE)
            code, said = done.returncode, done.stdout.decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            code, said = 4, "no end within %d s" % LIMIT_S
        if code == 0:
            with open(source + ".out", "rb") as f:
                found[batch[0]] = f.read()
            os.remove(source + ".out")
            return
        if len(batch) > 1 and time.monotonic() - begin > TOTAL_S:
            notes.append("out of time: %d words from %032x on: %s" % (len(batch), batch[0], said[-200:]))
            found[batch[0]] = b"".join(entry(w, MISSING) for w in batch)
            return
        if len(batch) == 1:
            notes.append("%032x %s: %s" % (batch[0], text[batch[0]], said[-200:]))
            found[batch[0]] = entry(batch[0], TRAPS)
            return
        if code not in (3, 4):
            notes.append("process failed: " + said[-500:])
        middle = len(batch) // 2
        attempt(batch[:middle], work)
        attempt(batch[middle:], work)

    def check():
        """One image of NOPs first: a broken harness shall not be taken for 4,000 trapping words."""
        with tempfile.TemporaryDirectory() as work:
            source = os.path.join(work, "nop")
            with open(source, "w") as f:
                f.write("0000000000000000" + "0000000000007918")
            done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", source, source + ".out"], timeout=LIMIT_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=HERE)
            said = done.stdout.decode("utf-8", "replace").strip()
            if done.returncode:
                raise SystemExit("an image with one NOP failed: " + said)
            with open(source + ".out", "rb") as f:
                if f.read() != entry(0x7918, OK):
                    raise SystemExit("an image with one NOP changed something or is unstable: " + said)
        print("one NOP: %.1f s" % (time.monotonic() - begin), flush=True)

    check()
    batches = [words[i:i + slots.SLOTS] for i in range(0, len(words), slots.SLOTS)]
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda b: attempt(b, work), batches))
    body = io.BytesIO()
    body.write(MAGIC + struct.pack("<III", len(words), slots.WARPS, SAMPLE))
    for key in sorted(found, key=order.get):
        body.write(found[key])
    summary = {"words": len(words), "tuples_per_word": 32 * slots.WARPS, "notes": sorted(notes), "gpu": gpu_name()}
    archive = os.path.join(directory, "record.tar.gz")
    with tarfile.open(archive, "w:gz", compresslevel=9) as tar:
        for name, data in (("record.bin", body.getvalue()), ("summary.json", json.dumps(summary, indent=1).encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    for note in summary["notes"]:
        print(note)
    print("%d words, %d that trap, %d images, %.1f s; record %d bytes, %s %d bytes" % (
        len(words), sum(1 for n in notes if re.match("[0-9a-f]{32} ", n)), len(batches), time.monotonic() - begin,
        body.tell(), archive, os.path.getsize(archive)))
    return 0


def gpu_name():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE,
                              timeout=20).stdout.decode().strip()
    except (OSError, subprocess.TimeoutExpired):
        return "?"


def selftest():
    import numpy as np
    rows = slots.operands(np)
    image = slots.memory_image(rows, np)
    stored = np.zeros((slots.WARPS, 1, slots.OUT_SLOT // 4), dtype=np.uint32)
    stored[:, 0, :slots.AT_UNIFORM // 4 + 64] = image[:, :slots.AT_UNIFORM // 4 + 64]
    bits = image[:, slots.AT_UNIFORM // 4 + 64:slots.AT_UNIFORM // 4 + 71]
    stored[:, 0, slots.AT_UNIFORM // 4 + 60] = (bits << np.arange(7, dtype=np.uint32)).sum(axis=1)
    assert (slots.rows_of(stored, np)[:, 0] == rows).all()
    for warp in range(8):
        print("warp", warp, " ".join("%08x" % v for v in rows[warp, :12, 3]))
    counts = np.unique(rows[:, :slots.REGISTERS]).size
    print("%d different operands; constants %s" % (counts, " ".join("%08x" % v for v in slots.constants(np)[:6])))
    image = slots.image_of([0x7918] * slots.SLOTS)
    print("image of %d bytes" % len(image))
    return 0


def main(args):
    if args == ["--selftest"]:
        return selftest()
    if len(args) == 3 and args[0] == "--one":
        return record_one(args[1], args[2])
    if args and not args[0].startswith("-"):
        return record_all(args[0], args[1] if len(args) > 1 else os.path.join(HERE, "instances.tsv.gz"))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
