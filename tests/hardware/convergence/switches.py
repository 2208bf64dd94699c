# SPDX-License-Identifier: Apache-2.0
"""Nested switches (BRX), loops and regions that share barrier registers, logged. See README.md."""

import os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen

BARRIERS = [0, 1, 2, 6]


class Switches(gen.Gen):
    def __init__(s, seed, shape):
        super().__init__(seed * 31 + shape, 9)
        s.shape, s.cnt = shape, 100
        s.budget = s.r.randint(4, 12)
        s.out = []  # (label, barriers between here and there): what an arm may leave for

    def parts(s):
        """Lanes to arms: even, or most to one of them."""
        r = s.r
        n = r.randint(2, 6)
        weights = [r.choice([1, 1, 1, 6]) for _ in range(n)]
        to = r.choices(range(n), weights, k=32)
        return [sum(1 << lane for lane in range(32) if to[lane] == k) for k in range(n)]

    def region(s, avail):
        r, p = s.r, s.p
        b, e = avail[0], p.label()
        p.put("bssy", b, e)
        p.log()
        kind = r.choice(["switch", "switch", "switch", "if", "else", "loop"])
        inside = avail[1:]
        s.out.append((e, b))
        if kind == "switch":
            arms = [(m, p.label()) for m in s.parts()]
            p.put("switch", arms)
            for _, arm in arms:
                p.mark(arm)
                p.log()
                s.body(inside)
                if r.random() < 0.8:
                    s.leave(b, e)
        elif kind == "loop":
            c, h = s.cnt, p.label()
            s.cnt += 1
            p.put("setlanes", c, [r.randint(1, 3) for _ in range(32)])
            p.mark(h)
            p.log()
            s.body(inside)
            p.put("dec", c)
            p.put("brnz", c, h)
        else:
            x = p.label()
            p.put("bra", s.mask(), x if kind == "else" else e)
            p.log()
            s.body(inside)
            if kind == "else":
                p.put("jmp", e)
                p.mark(x)
                p.log()
                s.body(inside)
        s.out.pop()
        p.mark(e)
        p.put("bsync", b)
        p.log()

    def leave(s, b, e):
        """To the end of the region, or out of it to the end of one around it."""
        if s.shape == 1 and len(s.out) > 1 and s.r.random() < 0.3:
            k = s.r.randrange(len(s.out) - 1)
            for _, inner in reversed(s.out[k + 1:]):
                s.p.put("break", inner, 0xFFFFFFFF)
            s.p.log()
            s.p.put("jmp", s.out[k][0])
        else:
            s.p.put("jmp", e)

    def body(s, avail):
        for _ in range(s.r.randint(1, 2)):
            s.budget -= 1
            if avail and s.budget > 0 and s.cnt < 120 and s.r.random() < 0.7:
                s.region(avail)
            else:
                s.p.log()

    def make(s):
        for _ in range(s.r.randint(1, 3)):
            s.budget = max(s.budget, 4)
            s.region(BARRIERS)
        s.p.log()
        s.p.put("end")
        return s.p


def all_programs():
    return {f"s{shape}_{i}": Switches(i, shape).make() for shape in (0, 1) for i in range(150)}


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    L = []
    for k, p in all_programs().items():
        with open(os.path.join(sys.argv[1], k + ".sass"), "w") as f:
            f.write(gen.emit(p))
        L.append(f"{k} {k}.cubin k 1 64 {0x8010} 1 h")
    with open(os.path.join(sys.argv[1], "list.switches"), "w") as f:
        f.write("\n".join(L) + "\n")
