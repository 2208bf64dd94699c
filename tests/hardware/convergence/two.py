# SPDX-License-Identifier: Apache-2.0
"""Recursion with two convergence barriers, logged. See README.md."""

import os, random, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen
import questions


def two(seed, shape):
    r = random.Random(seed * 77 + shape)
    p = gen.P()
    p.put("jmp", "MAIN")
    p.mark("F")
    p.log()
    p.put("enter")
    p.put("save", 23, 1, 1)
    p.put("save", 22, 6, 1)
    e = p.label()
    e2 = p.label()
    p.put("bssy", 1, e)
    p.log()
    p.put("brz", 49, e)
    p.put("dec", 49)
    p.put("bssy", 6, e2)
    p.log()
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
    p.mark(e2)
    p.put("bsync", 6)
    p.log()
    if shape == 1:
        p.put("yield")
        p.log()
    p.mark(e)
    p.put("bsync", 1)
    p.log()
    p.put("restore", 22, 6)
    p.put("restore", 23, 1)
    p.log()
    p.put("leave")
    p.put("ret")
    p.mark("MAIN")
    hi = r.choice([2, 3, 3, 4])
    p.put("setlanes", 49, [r.randint(0, hi) for _ in range(32)])
    p.log()
    p.put("call", "F")
    p.log()
    p.put("warpsync_all")
    p.log()
    p.put("setlanes", 49, [r.randint(0, hi) for _ in range(32)])
    p.put("call", "F")
    p.log()
    p.put("end")
    return p


def bssys():
    # what BSSY does to a register that others have left lanes in
    M = {}

    def m(n, *ops):
        M[n] = questions.question(*ops)

    for k, (a, b) in enumerate([(0xFFFF0000, 0xFFFF), (0xFF, 0xFFFFFFFF), (0xF0F0, 0xFF), (0xFFFFFFFF, 0xFF)]):
        m(
            f"restored{k}",
            ("setmask", 60, 0xFFFFFFFF, a, 0),
            ("restore", 60, 0),
            "L",
            ("bra", b, "X"),
            "L",
            ("bssy", 0, "E"),
            "L",
            "E",
            ("bsync", 0),
            "L",
            ("jmp", "Z"),
            "X",
            "L",
            ("bssy", 0, "F"),
            "L",
            "F",
            ("bsync", 0),
            "L",
            "Z",
            "L",
        )
        m(
            f"stale{k}",
            ("bssy", 0, "E"),
            "L",
            ("bra", b, "X"),
            "L",
            ("yield",),
            ("bssy", 0, "E"),
            "L",
            ("jmp", "E"),
            "X",
            "L",
            ("yield",),
            ("bssy", 0, "F"),
            "L",
            "F",
            ("bsync", 0),
            "L",
            ("jmp", "Z"),
            "E",
            ("bsync", 0),
            "L",
            "Z",
            "L",
        )
    return M


def all_programs():
    d = {f"t{s}_{i}": two(i, s) for s in (0, 1) for i in range(120)}
    d.update({"q_" + k: v for k, v in bssys().items()})
    return d


if __name__ == "__main__":
    import os

    os.makedirs(sys.argv[1], exist_ok=True)
    L = []
    for k, p in all_programs().items():
        open(os.path.join(sys.argv[1], k + ".sass"), "w").write(gen.emit(p))
        L.append(f"{k} {k}.cubin k 1 64 {0x8010} 1 h")
    open(os.path.join(sys.argv[1], "list.two"), "w").write("\n".join(L) + "\n")
