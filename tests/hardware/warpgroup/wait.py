#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What WARPGROUP.ARRIVE, .WAIT and USETSHMSZ do, asked of a chip.

    wait.py write SASSEMU FOLDER       assembles the programs (anywhere)
    wait.py run FOLDER OUT.json        on a machine with a GPU (sm_90) and the driver's libcuda.so.1; OUT.json is wait.json here
    wait.py show OUT.json              who passed which instruction when
    wait.py replay SASSEMU wait.json   does the emulator do the same? But for unit*, whose warps execute different wgmma, and sharing*

A program is a CTA whose warps do what their strings say: see STEP. `t` leaves the clock of the SM; both halves of a warp leave their
own. The log is memory of the host, so that it can be read of a launch that hangs: which is killed after a second, in a process of its
own.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time

GAP = 0x8000  # cycles of `d`
SLOTS = 16  # words of log of a thread

STEP = {
    "A": ["WARPGROUP.ARRIVE"],
    "W": ["WARPGROUP.WAIT"],
    "a": ["@!P1 WARPGROUP.ARRIVE"],  # lanes 0 to 15
    "w": ["@!P1 WARPGROUP.WAIT"],
    "H": ["HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24"] * 15 + ["HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0"],
    "P": ["WARPGROUP.DEPBAR.LE gsb0, 0x0"],
    "B": ["BAR.SYNC 0x0"],
    "x": ["EXIT"],
    "f": ["USETSHMSZ.FLUSH"],
}

# name: what the warps do. lo/hi: the two halves of a warp apart.
PROGRAMS = {
    "late": ["tAtWt"] * 3 + ["tdAtWt"],
    "late_wait_alone": ["tWt"] * 3 + ["tdWt"],
    "late_at_wait": ["tAtWt"] * 3 + ["tAtdWt"],
    "arrives_and_never_waits": ["tAtWt"] * 3 + ["tAtdt"],
    "late_first": ["tdAtWt"] + ["tAtWt"] * 3,
    "never_arrives": ["tAtWt"] * 3 + ["tdddt"],
    "exits_at_once": ["tAtWt"] * 3 + ["x"],
    "waits_and_never_arrives": ["tAtWt"] * 3 + ["tdWt"],
    "one_waits_and_never_arrived": ["tWt"] + ["tdAtWt"] * 3,
    "twice": ["tAtWtAtWt"] * 3 + ["tdAtWtdAtWt"],
    "ahead": ["tAtWtAtWt"] * 3 + ["tAtdAtdWtWt"],
    "two_arrivals_of_one": ["tAtAtWt"] + ["tAtWt"] * 2 + ["tddAtWt"],
    "four_arrivals_of_one": ["tAAAAtWt"] + ["tddAtWt"] * 3,
    "two_waits": ["tAtWtWt"] * 3 + ["tdAtWtdWt"],
    "two_waits_all": ["tAtWtWt"] * 4,
    "other_group_late": ["tAtWt"] * 4 + ["tddAtWt"] * 4,
    "second_group_late": ["tAtWt"] * 7 + ["tdAtWt"],
    "one_warp": ["tAtWt"],
    "two_warps": ["tAtWt", "tdAtWt"],
    "three_warps": ["tAtWt"] * 2 + ["tdAtWt"],
    "five_warps": ["tAtWt"] * 5,
    "one_warp_waits": ["tWt"],
    "short_warp": ["tAtWt"] * 3 + ["tAtWt", "short"],
    "half_later": ["tAtWt/tddAtWt"] + ["tAtWt"] * 3,
    "half_exits": ["tdAtWt/x"] + ["tAtWt"] * 3,
    "half_never": ["tAtWt/tdddt"] + ["tAtWt"] * 3,
    "half_waits_later": ["tAtWt/tAtddWt"] + ["tAtWt"] * 3,
    "guarded": ["tatwt"] + ["tAtWt"] * 3,
    "guarded_all": ["tatwt"] * 4,
    "unit": ["tAtHtWtPt"] * 4,
    "unit_alone": ["tAtHtPt"] * 4,
    "unit_wait_first": ["tAtWtHtPt"] * 4,
    "unit_late": ["tAtHtWtPt"] * 3 + ["tdAtHtWtPt"],
    "unit_late_at_unit": ["tAtHtWtPt"] * 3 + ["tAtdHtWtPt"],
    "unit_late_at_wait": ["tAtHtWtPt"] * 3 + ["tAtHtdWtPt"],
    "unit_wait_first_late": ["tAtWtHtPt"] * 3 + ["tdAtWtHtPt"],
    "unit_wait_first_late_at_wait": ["tAtWtHtPt"] * 3 + ["tAtdWtHtPt"],
    "unit_without_arrive": ["tHtPt"] * 3 + ["tdHtPt"],
    "unit_wait_without_arrive": ["tWtHtPt"] * 3 + ["tdWtHtPt"],
    "unit_then_wait_later": ["tAtHtPtWt"] * 3 + ["tAtHtPtdWt"],
    "unit_depbar_late": ["tAtHtPt"] * 3 + ["tAtHtdPt"],
    # Shared memory ends at 0x8400; the CTA's own begins at 0x400.
    "shared": ["{s2000}{l2000}"],
    "shared_flush": ["{s2000}f{l2000}"],
    "shared_0_at_0": ["{z0}{l0}"],
    "shared_0_at_4": ["{z0}{l4}"],
    "shared_0_at_3fc": ["{z0}{l3fc}"],
    "shared_0_at_400": ["{z0}{l400}"],
    "shared_4_at_0": ["{z4}{l0}"],
    "shared_400_at_3fc": ["{z400}{l3fc}"],
    "shared_400_at_400": ["{z400}{l400}"],
    "shared_1000_at_ffc": ["{sffc}{z1000}{lffc}"],
    "shared_1000_at_1000": ["{z1000}{l1000}"],
    "shared_1000_at_13fc": ["{z1000}{l13fc}"],
    "shared_1004_at_1000": ["{z1004}{l1000}"],
    "shared_1004_at_1004": ["{z1004}{l1004}"],
    "shared_1010_at_100c": ["{z1010}{l100c}"],
    "shared_1010_at_1010": ["{z1010}{l1010}"],
    "shared_1010_at_107c": ["{z1010}{l107c}"],
    "shared_1010_at_1080": ["{z1010}{l1080}"],
    "shared_1010_at_13fc": ["{z1010}{l13fc}"],
    "shared_3980_at_397c": ["{z3980}{l397c}"],
    "shared_3980_at_3980": ["{z3980}{l3980}"],
    "shared_8400_at_83fc": ["{z8400}{l83fc}"],
    "shared_10000_at_83fc": ["{z10000}{l83fc}"],
    "shared_10000_at_8400": ["{z10000}{l8400}"],
    "shared_grows": ["{s1800}{z1000}{z2000}{l1800}"],
    "shared_grows_after_flush": ["{s1800}{z1000}f{z2000}{l1800}"],
    "shared_store": ["{z1000}{s1000}"],
    "shared_other_warp": ["{s2000}dd{l2000}", "d{z1000}dd"],
    "shared_other_warp_flush": ["{s2000}dd{l2000}", "d{z1000}fdd"],
}
# CTAs of which an SM has shared memory for one: do more come when it names less?
SHARING = {"keeps": "", "zero": "{z0}", "zero_flush": "{z0}f", "flush": "f", "small": "{z1000}", "small_flush": "{z1000}f"}
SHARING_BYTES = 120 << 10


def steps_of(what):
    return re.findall(r"\{[^}]*\}|.", what)


def one_with(step):
    """{z400}: USETSHMSZ 0x400; {s400}, {l400}: a store, a load there, whose value is logged."""
    number = "0x" + step[2:-1]
    if step[1] == "z":
        return ["USETSHMSZ " + number]
    if step[1] == "s":
        return ["STS [%s], R18" % number]
    return ["LDS R10, [%s]" % number, "STG.E desc[UR4][R2.64], R10", "IADD3 R2, R2, 0x4, RZ"]


def threads(warps):
    return 32 * len(warps) if warps[-1] != "short" else 32 * (len(warps) - 2) + 16


def text(warps):
    out = [".target sm_90", ".kernel k", ".param log 8", ".shared 32768", ".barriers 1"]
    label = [0]

    def steps(what):
        for step in steps_of(what):
            if step == "t":
                out.extend(["CS2R.32 R10, SR_CLOCKLO", "LOP3.LUT R10, R10, 0x1, RZ, 0xfc, !PT", "STG.E desc[UR4][R2.64], R10"])
                out.append("IADD3 R2, R2, 0x4, RZ")
            elif step[0] == "{":
                out.extend(one_with(step))
            elif step == "d":
                label[0] += 1
                out.extend(["CS2R.32 R10, SR_CLOCKLO", "D%d:" % label[0], "CS2R.32 R11, SR_CLOCKLO", "IADD3 R11, R11, -R10, RZ"])
                out.extend(["ISETP.LT.U32.AND P0, PT, R11, 0x%x, PT" % GAP, "@P0 BRA `(D%d)" % label[0]])
            else:
                out.extend(STEP[step])
        out.append("EXIT")

    out.extend(["S2R R0, SR_TID.X", "ULDC.64 UR4, c[0x0][0x208]", "MOV R4, 0x%x" % (4 * SLOTS), "IMAD.WIDE.U32 R2, R0, R4, c[0x0][log]"])
    out.extend(["SHF.R.U32.HI R5, RZ, 0x5, R0", "LOP3.LUT R6, R0, 0x10, RZ, 0xc0, !PT", "ISETP.NE.AND P1, PT, R6, RZ, PT"])
    out.extend(["MOV R18, 0x5a5a"])
    # Matrices without a swizzle, 128 and 256 bytes apart, at the start of shared memory.
    out.extend(["UMOV UR8, 0x80040", "UMOV UR9, 0x10", "UMOV UR10, 0x80040", "UMOV UR11, 0x10"])
    out.extend("MOV R%d, RZ" % r for r in range(24, 152))
    out.append("BAR.SYNC 0x0")
    warps = [w for w in warps if w != "short"]
    for i in range(1, len(warps)):
        out.extend(["ISETP.EQ.U32.AND P0, PT, R5, 0x%x, PT" % i, "@P0 BRA `(W%d)" % i])
    for i, what in enumerate(warps):
        out.append("W%d:" % i)
        low, _, high = what.partition("/")
        if high:
            out.append("@P1 BRA `(H%d)" % i)
        steps(low)
        if high:
            out.append("H%d:" % i)
            steps(high)
    return "\n".join(line if line[0] == "." or line[-1] == ":" else "    " + line for line in out) + "\n"


def sharing_text(what):
    out = [".target sm_90", ".kernel k", ".param log 8", ".shared 1024"]
    out.extend(["ULDC.64 UR4, c[0x0][0x208]", "S2R R0, SR_CTAID.X", "MOV R4, 0x10", "IMAD.WIDE.U32 R2, R0, R4, c[0x0][log]", "S2R R8, SR_VIRTUALSMID"])
    out.append("CS2R.32 R9, SR_CLOCKLO")
    for step in steps_of(what):
        out.extend(one_with(step) if step[0] == "{" else STEP[step])
    out.extend(["L:", "CS2R.32 R10, SR_CLOCKLO", "IADD3 R11, R10, -R9, RZ", "ISETP.LT.U32.AND P0, PT, R11, 0x40000, PT", "@P0 BRA `(L)"])
    out.extend(["STG.E desc[UR4][R2.64], R8", "STG.E desc[UR4][R2.64+0x4], R9", "STG.E desc[UR4][R2.64+0x8], R10", "EXIT"])
    return "\n".join(line if line[0] == "." or line[-1] == ":" else "    " + line for line in out) + "\n"


def write(sassemu, folder):
    os.makedirs(folder, exist_ok=True)
    for name, content in [(n, text(w)) for n, w in PROGRAMS.items()] + [("sharing_" + n, sharing_text(w)) for n, w in SHARING.items()]:
        with open(os.path.join(folder, name + ".sass"), "w") as f:
            f.write(content)
        subprocess.run([sassemu, "asm", os.path.join(folder, name + ".sass"), "-o", os.path.join(folder, name + ".cubin")], check=True)


class Driver:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise RuntimeError("%s: %d" % (name, code), code)

    def launch(self, cubin, ctas, threads_, shared, size):
        """The log, and how the launch ended: 0, an error, or "hangs"."""
        module, function, log = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(log), ctypes.c_size_t(size), 3)
        ctypes.memset(log, 0, size)
        self.call("cuModuleLoad", ctypes.byref(module), cubin.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        if shared:
            self.call("cuFuncSetAttribute", function, 8, shared)
        address = ctypes.c_uint64(log.value)
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(address), ctypes.c_void_p))
        ended = 0
        try:
            self.call("cuLaunchKernel", function, ctas, 1, 1, threads_, 1, 1, shared, None, params, None)
            end = time.monotonic() + 1
            while (code := self.lib.cuStreamQuery(None)) == 600 and time.monotonic() < end:
                time.sleep(0.001)
            ended = "hangs" if code == 600 else code
        except RuntimeError as e:
            ended = e.args[1]
        return list(memoryview(ctypes.string_at(log, size)).cast("I")), ended


def rows_of(name, log):
    rows = []
    for w, what in enumerate(x for x in PROGRAMS[name] if x != "short"):
        for half in (0, 16) if "/" in what else (0,):
            at = (32 * w + half) * SLOTS
            rows.append(log[at : at + SLOTS])
    rows = [row[: max((i + 1 for i, v in enumerate(row) if v), default=0)] for row in rows]
    if name.startswith("shared"):
        return rows
    first = min((row[0] for row in rows if row), default=0)
    return [[v - first & 0xFFFFFFFF for v in row] for row in rows]


def one(folder, name):
    driver = Driver()
    if name.startswith("sharing_"):
        log, ended = driver.launch(os.path.join(folder, name + ".cubin"), 132 * 4, 32, SHARING_BYTES, 132 * 4 * 16)
        of = {}
        for i in range(0, len(log), 4):
            of.setdefault(log[i], []).append((log[i + 1], log[i + 2]))
        most = max((sum(b <= s < e for b, e in spans) for spans in of.values() for s, _ in spans), default=0)
        result = {"ended": ended, "together": most}
    else:
        warps = PROGRAMS[name]
        log, ended = driver.launch(os.path.join(folder, name + ".cubin"), 1, threads(warps), 0, 8 * 32 * SLOTS * 4)
        result = {"ended": ended, "rows": rows_of(name, log)}
    print(json.dumps(result), flush=True)
    os._exit(0)  # a launch may hang


def run(folder, out):
    results = {}
    for name in list(PROGRAMS) + ["sharing_" + n for n in SHARING]:
        try:
            done = subprocess.run([sys.executable, __file__, "one", folder, name], capture_output=True, text=True, timeout=15)
            results[name] = json.loads(done.stdout) if done.stdout else {"ended": done.stderr[-300:]}
        except subprocess.TimeoutExpired as e:
            results[name] = {"ended": "killed", "rows": json.loads(e.stdout)["rows"] if e.stdout else []}
        with open(out, "w") as f:
            json.dump(results, f, indent=0)


FAULTS = {700: "out-of-bounds", 715: "illegal-instruction"}


def replay(sassemu, recorded):
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        write(sassemu, folder)
        for name, chip in json.load(open(recorded)).items():
            if name.startswith(("unit", "sharing")) or name == "half_waits_later":  # who exits first is a race
                continue
            warps = PROGRAMS[name]
            log = os.path.join(folder, "log")
            done = subprocess.run(
                [sassemu, "run", os.path.join(folder, name + ".cubin"), "--json", "--grid", "1", "--block", str(threads(warps)), "--dump", "arg0=" + log,
                 "--arg", "buffer=%d" % (8 * 32 * SLOTS * 4), "--max-instructions", "20000000"], capture_output=True, text=True)
            report = json.loads(done.stdout)["launches"][0]
            ended = report["status"].removeprefix("fault:")
            if ended != (FAULTS.get(chip["ended"], "hangs") if chip["ended"] else "ok"):
                problems.append("%s: %s, the chip %s" % (name, ended, chip["ended"]))
            if ended != "ok" or chip["ended"]:
                continue
            with open(log, "rb") as f:
                words = list(memoryview(f.read()).cast("I"))
            rows = rows_of(name, words)
            # Both count cycles of the SM: whole gaps are what tells.
            whole = lambda all_: [[v if name.startswith("shared") else (v + GAP // 4) // GAP for v in row] for row in all_]
            if whole(rows) != whole(chip["rows"]):
                problems.append("%s: %s, the chip %s" % (name, rows, chip["rows"]))
    print("\n".join(problems) or "as on the chip")
    return bool(problems)


def show(path):
    for name, result in json.load(open(path)).items():
        print("%s: %s" % (name, result["ended"] or "ends"), result.get("together", ""))
        whats = [part for what in PROGRAMS.get(name, []) if what != "short" for part in what.split("/")]
        for what, row in zip(whats, result.get("rows", [])):
            print("    %-14s" % what, *("%.2f" % (v / GAP) if not name.startswith("shared") else hex(v) for v in row))


if __name__ == "__main__":
    sys.exit({"write": write, "run": run, "one": one, "show": show, "replay": replay}[sys.argv[1]](*sys.argv[2:]))
