#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random convergence programs in SASS for sm_90 (branches, regions, calls, recursion, YIELD); every step is logged. See README.md."""

import random, sys, json

FULL = [0xFFFFFFFF]


class P:
    """Abstract program: list of (op, args); labels by name. Emitted as SASS text."""

    def __init__(s):
        s.ops = []
        s.n = 0
        s.site = 0
        s.local = 0

    def label(s, x=None):
        if x is None:
            s.n += 1
            x = f"L{s.n}"
        return x

    def put(s, *a):
        s.ops.append(a)

    def log(s):
        s.site += 1
        s.put("log", s.site)

    def mark(s, l):
        s.put("label", l)


def emit(p, light=False, watch=True):
    out = []

    def I(x):
        out.append(x)

    def L(x):
        out.append((x,))

    L("START")
    for t in [
        "LDC R1, c[0x0][0x28]",
        "ULDC.64 UR4, c[0x0][0x208]",
        "S2R R0, SR_TID.X",
        "LDC.64 R2, c[0x0][log]",
        "MOV R6, 0x1",
        "SHF.L.U32 R7, R6, R0, RZ",
        "UMOV UR8, 0x0",
        "MOV R30, RZ",
        "MOV R31, RZ",
        "ISETP.GT.U32.AND P5, PT, R0, 0x1f, PT",
    ]:
        I(t)
    if watch:
        I("STS [0x400], RZ")
        I("BAR.SYNC.DEFER_BLOCKING 0x0")
        I("@P5 BRA `(WATCH)")
    for o in p.ops:
        k = o[0]
        if k == "label":
            L(o[1])
        elif k == "log":
            I(f"MOV R32, 0x{o[1]:x}")
            I("VOTE.ANY R33, PT, PT")
            regs = ["B0", "B1", "B2", "B6"]
            if not light:
                regs += [
                    "THREAD_STATE_ENUM.0",
                    "THREAD_STATE_ENUM.1",
                    "THREAD_STATE_ENUM.2",
                    "THREAD_STATE_ENUM.3",
                    "THREAD_STATE_ENUM.4",
                    "OPT_STACK",
                    "MACTIVE",
                    "MEXITED",
                    "MCOLLECTIVE",
                ]
            for i, r in enumerate(regs):
                I(f"BMOV.32 R{34+i}, {r}")
            I("CS2R.32 R47, SR_CLOCKLO")
            I("IADD3 R4, R2, UR8, RZ")
            I("MOV R5, R3")
            I("UIADD3 UR8, UR8, 0x40, URZ")
            I("ULOP3.LUT UR8, UR8, 0x7fff, URZ, 0xc0, !UPT")
            for i in range(4):
                I(f"STG.E.128 desc[UR4][R4.64+0x{16*i:x}], R{32+4*i}")
        elif k == "bssy":
            I(f"BSSY B{o[1]}, `({o[2]})")
        elif k == "bsync":
            I(f"BSYNC B{o[1]}")
        elif k == "break":
            I(f"LOP3.LUT P1, RZ, R7, 0x{o[2]:x}, RZ, 0xc0, !PT")
            I(f"@P1 BREAK B{o[1]}")
        elif k == "bra":  # lanes in mask go to label
            I(f"LOP3.LUT P0, RZ, R7, 0x{o[1]:x}, RZ, 0xc0, !PT")
            I(f"@P0 BRA `({o[2]})")
        elif k == "jmp":
            I(f"BRA `({o[1]})")
        elif k == "yield":
            I("YIELD")
        elif k == "nanosleep":
            I("NANOSLEEP 0x20")
        elif k == "save":
            I(f"BMOV.32{'.CLEAR' if o[3] else ''} R{o[1]}, B{o[2]}")
        elif k == "restore":
            I(f"BMOV.32 B{o[2]}, R{o[1]}")
        elif k == "warpsync_all":
            I("WARPSYNC.ALL")
        elif k == "warpsync":
            I(f"MOV R9, 0x{o[1]:x}")
            I("WARPSYNC R9")
        elif k == "exit":
            I(f"LOP3.LUT P0, RZ, R7, 0x{o[1]:x}, RZ, 0xc0, !PT")
            I("@P0 MOV R9, 0x1")
            I("@P0 ATOMS.ADD RZ, [0x400], R9")
            I("@P0 EXIT")
        elif k == "setlanes":  # R[o1] = per lane table nibble: values list of 32 (0..15) via 4 words
            v = o[2]
            I(f"MOV R{o[1]}, RZ")
            for b in range(4):
                m = sum(1 << i for i in range(32) if v[i] >> b & 1)
                I(f"LOP3.LUT P0, RZ, R7, 0x{m:x}, RZ, 0xc0, !PT")
                I(f"@P0 IADD3 R{o[1]}, R{o[1]}, 0x{1<<b:x}, RZ")
        elif k == "setmask":  # R = immediate, lanewise: lanes of mask o[2] get o[3] else o[4]
            I(f"LOP3.LUT P0, RZ, R7, 0x{o[2]:x}, RZ, 0xc0, !PT")
            I(f"MOV R{o[1]}, 0x{o[4]:x}")
            I(f"@P0 MOV R{o[1]}, 0x{o[3]:x}")
        elif k == "brz":  # lanes with R==0 go to label
            I(f"ISETP.EQ.U32.AND P0, PT, R{o[1]}, RZ, PT")
            I(f"@P0 BRA `({o[2]})")
        elif k == "brnz":
            I(f"ISETP.NE.U32.AND P0, PT, R{o[1]}, RZ, PT")
            I(f"@P0 BRA `({o[2]})")
        elif k == "dec":
            I(f"IADD3 R{o[1]}, R{o[1]}, -0x1, RZ")
        elif k == "call":
            s_ = ("ret", len(out))
            I(("retaddr",))
            I("MOV R21, 0x0")
            I(f"CALL.REL.NOINC `({o[1]})")
        elif k == "ret":
            I("RET.REL.NODEC R20 `(START)")
        elif k == "switch":  # lanes go where their mask says: pairs of mask and label, by BRX
            for m, l in o[1]:
                I(f"LOP3.LUT P0, RZ, R7, 0x{m:x}, RZ, 0xc0, !PT")
                I(("address", l))
            I("MOV R25, 0x0")
            I(("jump",))
        elif k == "enter":  # frame: return address, saved R22 (B6), R23
            n = 16
            I(f"IADD3 R1, R1, -0x10, RZ")
            I("STL [R1], R20")
            I("STL [R1+0x4], R21")
            I("STL [R1+0x8], R22")
            I("STL [R1+0xc], R23")
        elif k == "leave":
            I("LDL R20, [R1]")
            I("LDL R21, [R1+0x4]")
            I("LDL R22, [R1+0x8]")
            I("LDL R23, [R1+0xc]")
            I("IADD3 R1, R1, 0x10, RZ")
        elif k == "mov":
            I(f"MOV R{o[1]}, R{o[2]}")
        elif k == "end":
            I("MOV R9, 0x1")
            I("ATOMS.ADD RZ, [0x400], R9")
            I("EXIT")
        else:
            raise Exception(k)
    if watch:
        L("WATCH")
        for t in ["CS2R.32 R10, SR_CLOCKLO", "ISETP.NE.U32.AND P4, PT, R0, 0x20, PT", "@P4 EXIT"]:
            I(t)
        L("WL")
        for t in [
            "LDS R11, [0x400]",
            "CS2R.32 R12, SR_CLOCKLO",
            "IADD3 R12, R12, -R10, RZ",
            "ISETP.EQ.U32.AND P4, PT, R11, 0x20, PT",
            "@P4 EXIT",
            "ISETP.LT.U32.AND P4, PT, R12, 0x80000, PT",
            "@P4 BRA `(WL)",
            "MOV R12, 0xdead",
            "STG.E desc[UR4][R2.64+0x8000], R12",
            "MEMBAR.SC.SYS",
            "BPT.TRAP 0x1",
            "EXIT",
        ]:
            I(t)
    text = [".target sm_90", ".kernel k", ".param log 8", ".shared 2048", ".local 2048", ".barriers 2"]
    pos = 0
    at = {}
    for x in out:
        if isinstance(x, tuple) and len(x) == 1 and x[0] not in ("retaddr", "jump"):
            at[x[0]] = 16 * pos
        else:
            pos += 1
    pos = 0
    for x in out:
        if isinstance(x, tuple) and len(x) == 1 and x[0] not in ("retaddr", "jump"):
            text.append(f"{x[0]}:")
            continue
        if isinstance(x, tuple) and x[0] == "address":
            text.append(f" @P0 MOV R24, 0x{at[x[1]]:x}")
        elif x == ("jump",):
            text.append(f" BRX R24 -0x{16*(pos+1):x}")
        elif isinstance(x, tuple):
            text.append(f" MOV R20, 0x{16*(pos+3):x}")
        else:
            text.append(" " + x)
        pos += 1
    return "\n".join(text) + "\n"


class Gen:
    def __init__(s, seed, kind):
        s.r = random.Random(seed * 7919 + kind)
        s.p = P()
        s.kind = kind
        s.budget = s.r.randint(6, 22)
        s.depth = 0
        s.fns = []

    def mask(s):
        r = s.r
        t = r.random()
        if t < 0.3:
            return r.getrandbits(32)
        if t < 0.45:
            return r.getrandbits(32) & r.getrandbits(32)
        if t < 0.6:
            return r.getrandbits(32) | r.getrandbits(32)
        if t < 0.8:
            return 1 << r.randrange(32)
        if t < 0.9:
            return r.choice([0xFFFF, 0xFFFF0000, 0x55555555, 0xFF, 0xFFFFFF00, 0x0F0F0F0F])
        return 0xFFFFFFFF ^ (1 << r.randrange(32))

    def block(s, avail, lvl):
        for _ in range(s.r.randint(1, 3)):
            if s.budget <= 0:
                return
            s.stmt(avail, lvl)

    def stmt(s, avail, lvl):
        r = s.r
        p = s.p
        s.budget -= 1
        ch = [
            ("log", 1),
            ("region", 5 if lvl < 4 else 0),
            ("yield", 1.2 if s.kind in (1, 3) else 0),
            ("nanosleep", 0.4 if s.kind in (1, 3) else 0),
            ("loop", 1.5 if lvl < 4 else 0),
            ("call", 2 if s.fns and s.kind >= 2 else 0),
            ("bare", 0.5 if s.kind == 3 else 0),
            ("exit", 0.4 if s.kind == 3 else 0),
            ("brk", 0.6 if s.kind == 3 and lvl else 0),
            ("wsync", 0.3 if s.kind == 3 else 0),
            ("resave", 1.5 if lvl < 4 else 0),
        ]
        k = r.choices([c for c, _ in ch], [w for _, w in ch])[0]
        if k == "log":
            p.log()
        elif k == "yield":
            p.put("yield")
            p.log()
        elif k == "nanosleep":
            p.put("nanosleep")
            p.log()
        elif k == "wsync":
            p.put("warpsync_all")
            p.log()
        elif k == "exit":
            p.put("exit", s.mask() & s.mask())
            p.log()
        elif k == "brk":
            p.put("break", r.choice([0, 1, 2, 6]), s.mask())
            p.log()
        elif k == "call":
            p.put("call", r.choice(s.fns))
            p.log()
        elif k == "bare":  # divergence without a barrier around it
            e = p.label()
            p.put("bra", s.mask(), e)
            p.log()
            s.block(avail, lvl + 1)
            p.mark(e)
            p.log()
        elif k == "region" or k == "resave":
            save = None
            if k == "resave" or not avail:
                b = 6
                if s.reg >= 64 - 1:
                    return p.log()
                save = s.reg
                s.reg += 1
                p.put("save", save, b, 1)
                p.log()
                rest = avail
            else:
                b = avail[0]
                rest = avail[1:]
            e = p.label()
            p.put("bssy", b, e)
            p.log()
            t = r.random()
            if t < 0.35:  # if
                p.put("bra", s.mask(), e)
                p.log()
                s.block(rest, lvl + 1)
            elif t < 0.8:  # if else
                x = p.label()
                p.put("bra", s.mask(), x)
                p.log()
                s.block(rest, lvl + 1)
                p.put("jmp", e)
                p.mark(x)
                p.log()
                s.block(rest, lvl + 1)
            else:  # switch of three
                x = p.label()
                y = p.label()
                p.put("bra", s.mask(), x)
                p.put("bra", s.mask(), y)
                p.log()
                s.block(rest, lvl + 1)
                p.put("jmp", e)
                p.mark(y)
                p.log()
                s.block(rest, lvl + 1)
                p.put("jmp", e)
                p.mark(x)
                p.log()
                s.block(rest, lvl + 1)
            p.mark(e)
            if r.random() < 0.2:
                p.log()
            p.put("bsync", b)
            p.log()
            if save is not None:
                p.put("restore", save, b)
                p.log()
        elif k == "loop":
            if s.cnt >= 126:
                return p.log()
            c = s.cnt
            s.cnt += 1
            vals = [r.randint(1, 3) for _ in range(32)]
            h = p.label()
            reg = r.random() < 0.7 and avail
            if reg:
                e = p.label()
                p.put("bssy", avail[0], e)
                rest = avail[1:]
            else:
                rest = avail
            p.put("setlanes", c, vals)
            p.mark(h)
            p.log()
            s.block(rest if reg else avail, lvl + 1)
            p.put("dec", c)
            p.put("brnz", c, h)
            if reg:
                p.mark(e)
                p.put("bsync", avail[0])
            p.log()

    def make(s):
        s.reg = 50
        s.cnt = 100
        main = s.label = "MAIN"
        s.p.put("jmp", "MAIN") if False else None
        if s.kind >= 2:
            s.p.put("jmp", "MAIN")
            for i in range(s.r.randint(1, 2)):
                f = f"F{i}"
                s.p.mark(f)
                s.p.log()
                s.p.put("enter")
                s.p.put("save", 22, 6, 1)
                s.p.log()
                e = s.p.label()
                s.p.put("bssy", 6, e)
                s.p.log()
                s.p.put("brz", 49, e)
                s.p.put("dec", 49)
                s.p.log()
                t = s.r.random()
                b = s.budget
                s.budget = 2
                fns = s.fns
                s.fns = fns + [f] if s.r.random() < 0.3 else fns
                if t < 0.35:
                    s.p.put("call", f)
                    s.p.log()
                elif t < 0.6:
                    x = s.p.label()
                    y = s.p.label()
                    s.p.put("bra", s.mask(), x)
                    s.p.log()
                    s.p.put("call", f)
                    s.p.log()
                    s.p.put("jmp", y)
                    s.p.mark(x)
                    s.p.log()
                    s.p.put("call", f)
                    s.p.log()
                    s.p.mark(y)
                elif t < 0.8:
                    x = s.p.label()
                    s.p.put("bra", s.mask(), x)
                    s.p.log()
                    s.p.put("call", f)
                    s.p.log()
                    s.p.mark(x)
                    s.p.log()
                else:
                    s.p.put("call", f)
                    s.p.log()
                    s.p.put("call", f)
                    s.p.log()
                if s.kind == 3 and s.r.random() < 0.5:
                    s.p.put("yield")
                    s.p.log()
                s.budget = b
                s.fns = fns + [f]
                s.p.mark(e)
                s.p.put("bsync", 6)
                s.p.log()
                s.p.put("restore", 22, 6)
                s.p.log()
                s.p.put("leave")
                s.p.put("ret")
            s.p.mark("MAIN")
            hi = s.r.choice([2, 3, 3, 4, 5])
            s.p.put("setlanes", 49, [s.r.randint(0, hi) for _ in range(32)])
        s.p.log()
        s.budget = s.r.randint(5, 16)
        if s.kind == 2 and s.r.random() < 0.5:
            s.p.put("call", s.r.choice(s.fns))
            s.p.log()
        else:
            while s.budget > 0:
                s.stmt([0, 1, 2], 0)
        s.p.log()
        s.p.put("end")
        return s.p


def recursion(seed, shape):
    r = random.Random(seed * 31 + shape)
    p = P()
    p.put("jmp", "MAIN")
    p.mark("F")
    p.log()
    p.put("enter")
    p.put("save", 22, 6, 1)
    e = p.label()
    p.put("bssy", 6, e)
    p.log()
    p.put("brz", 49, e)
    p.put("dec", 49)
    p.log()
    if shape == 0:
        p.put("call", "F")
    elif shape == 1:
        p.put("mov", 23, 49)
        p.put("call", "F")
        p.log()
        p.put("mov", 49, 23)
        p.put("call", "F")
    elif shape == 2:
        x = p.label()
        y = p.label()
        p.put("bra", r.getrandbits(32), x)
        p.put("call", "F")
        p.log()
        p.put("jmp", y)
        p.mark(x)
        p.log()
        p.put("call", "F")
        p.log()
        p.mark(y)
    elif shape == 3:
        p.put("call", "F")
        p.log()
        p.put("yield")
    p.log()
    p.mark(e)
    p.put("bsync", 6)
    p.log()
    p.put("restore", 22, 6)
    p.log()
    p.put("leave")
    p.put("ret")
    p.mark("MAIN")
    hi = r.choice([2, 3, 3, 4, 6]) if shape != 1 else 3
    d = [r.randint(0, hi) for _ in range(32)]
    if shape == 0 and seed == 0:
        d = [int(c) for c in "22031010231301013213101311001111"]
    p.put("setlanes", 49, d)
    p.log()
    p.put("call", "F")
    p.log()
    p.put("end")
    return p


def all_programs():
    out = {}
    import questions  # which needs P

    for k, v in questions.micros().items():
        out["m_" + k] = v
    for sh in range(4):
        for sd in range(60 if sh != 3 else 30):
            out[f"r{sh}_{sd}"] = recursion(sd, sh)
    for kind in range(4):
        for sd in range([120, 100, 150, 150][kind]):
            out[f"g{kind}_{sd}"] = Gen(sd, kind).make()
    return out


if __name__ == "__main__":
    import os

    ps = all_programs()
    print(len(ps))
    for k, p in ps.items():
        open(f"sass/{k}.sass", "w").write(emit(p))
        open(f"sass/{k}.light.sass", "w").write(emit(p, light=True, watch=True))
