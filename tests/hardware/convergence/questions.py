# SPDX-License-Identifier: Apache-2.0
"""Hand-written questions of convergence: lists of what gen.P takes, "L" for a step that is logged, another string for a label. See README.md."""

import random

import gen


def question(*ops):
    p = gen.P()
    p.log()
    for o in ops:
        if o == "L":
            p.log()
        elif isinstance(o, str):
            p.mark(o)
        else:
            p.put(*o)
    p.log()
    p.put("end")
    return p


def clobber(first, second):
    """Lanes that `first` names wait at B6 while the others use it for a region of their own."""
    return question(
        ("bssy", 6, "E"), "L", ("bra", first, "X"), "L", ("save", 60, 6, 1), ("bssy", 6, "F"), "L", ("bra", second, "F"), "L",
        "F", ("bsync", 6), "L", ("restore", 60, 6), ("jmp", "E"), "X", "L", "E", ("bsync", 6), "L")


# fmt: off
def micros():
    M = {}

    def m(name, *ops):
        M[name] = question(*ops)

    A = 0xFFFFFFFF
    H = 0xFFFF
    m("bssy_twice", ("bra", H, "X"), "L", ("bssy", 0, "E"), "L", ("jmp", "E"), "X", "L", ("bssy", 0, "E"), "L", "E", "L", ("bsync", 0), "L")
    m("bssy_or", ("bssy", 0, "E"), "L", ("bra", H, "X"), "L", ("bssy", 0, "E"), "L", ("jmp", "E"), "X", "L", ("yield",), "L", "E", "L",
      ("bsync", 0), "L")
    m("restore_lanes", ("setmask", 60, 0xFF, 0x0000FFFF, 0xFFFF0000), "L", ("restore", 60, 0), "L")
    m("restore_lanes2", ("setmask", 60, 0xFF00, 0x0000FFFF, 0xFFFF0000), "L", ("restore", 60, 0), "L")
    m("restore_half", ("setmask", 60, 0xFF, 0x0000FFFF, 0xFFFF0000), ("bra", 0xFF, "X"), ("restore", 60, 0), "L", ("jmp", "E"), "X", "L",
      ("restore", 60, 0), "L", "E", "L")
    m("restore_full_then_half", ("setmask", 60, 0xFFFFFFFF, 0xFFFFFFFF, 0), ("setmask", 61, 0xFFFFFFFF, 0x1, 0), ("restore", 60, 0), "L",
      ("bra", 0xFF, "X"), ("restore", 61, 0), "L", ("jmp", "E"), "X", "L", "E", "L")
    m("save_clear", ("bssy", 0, "E"), "L", ("save", 60, 0, 1), "L", ("restore", 60, 0), "L", "E", ("bsync", 0), "L")
    m("after_bsync", ("bssy", 0, "E"), ("bra", H, "E"), "L", "E", ("bsync", 0), "L", ("bssy", 1, "F"), ("bra", 1, "F"), "L", "F", ("bsync",
      1), "L")
    m("bsync_stranger", ("bssy", 0, "E"), "L", ("setmask", 60, A, 0xF0, 0), ("restore", 60, 0), ("bra", 0xFF, "X"), "L", ("bsync", 0), "L",
      "E", "L", ("jmp", "Z"), "X", "L", ("bsync", 0), "L", "Z", "L")
    m("bsync_stranger2", ("setmask", 60, A, 0xF0, 0), ("restore", 60, 0), ("bra", 0xF0, "X"), "L", ("bsync", 0), "L", ("jmp", "Z"), "X",
      "L", ("bsync", 0), "L", "Z", "L")
    m("bsync_empty", ("bra", 0xFF, "X"), "L", ("bsync", 0), "L", ("jmp", "Z"), "X", "L", ("bsync", 0), "L", "Z", "L")
    m("bsync_two_places", ("bssy", 0, "E"), ("bra", 0xFF, "X"), "L", ("bsync", 0), "L", ("jmp", "Z"), "X", "L", ("bsync", 0), "L", "E", "Z",
      "L")
    m("break_some", ("bssy", 0, "E"), "L", ("break", 0, 0xFF), "L", ("bra", 0xFF, "X"), "L", ("bsync", 0), "E", "L", ("jmp", "Z"), "X", "L",
      "Z", "L")
    m("break_waiters", ("bssy", 0, "E"), ("bra", 0xFF, "X"), "L", ("bra", 0xFF00, "W"), "L", ("jmp", "E"), "W", "L", ("jmp", "E"), "X", "L",
      ("yield",), ("break", 0, A), "L", ("jmp", "Z"), "E", ("bsync", 0), "L", "Z", "L")
    m("exit_waiters", ("bssy", 0, "E"), ("bra", 0xFF, "X"), "L", ("jmp", "E"), "X", "L", ("exit", 0xF), "L", "E", ("bsync", 0), "L")
    m("same_pc", ("bra", 0xFF, "X"), "L", ("yield",), "L", ("jmp", "Y"), "X", "L", ("yield",), "L", "Y", "L", ("yield",), "L", ("yield",),
      "L")
    m("same_pc_three", ("bra", 0xFF, "X"), ("bra", 0xF00, "Y"), "L", ("yield",), "L", ("jmp", "Z"), "X", "L", ("yield",), "L", ("jmp", "Z"),
      "Y", "L", ("yield",), "Z", "L", ("yield",), "L", ("yield",), "L", ("yield",), "L", ("yield",), "L")
    m("same_pc_exit", ("bra", 0xFF, "X"), ("bra", 0xF00, "Y"), "Z", "L", ("yield",), "L", ("exit", 0xF000), "L", ("jmp", "E"), "X", "L",
      ("jmp", "Z"), "Y", "L", ("jmp", "Z"), "E", "L")
    m("clobber", ("bssy", 6, "E"), "L", ("bra", 0xFF, "X"), "L", ("save", 60, 6, 1), ("bssy", 6, "F"), "L", ("bra", 0xF00, "F"), "L",
      ("yield",), "L", "F", ("bsync", 6), "L", ("restore", 60, 6), ("jmp", "E"), "X", "L", ("yield",), "L", "E", ("bsync", 6), "L")
    M["clobber_tie"] = clobber(0xFFFF, 0xFF0000)
    M["clobber_small"] = clobber(0xFFFFFF, 0xF0000000)
    M["clobber_small2"] = clobber(0xFFFFFC00, 0x7)
    # who is next: n-way trees by ties, sizes and directions
    r = random.Random(5)
    for i in range(40):
        ops = []
        n = r.randint(2, 6)
        ops.append(("bssy", 0, "E"))
        for j in range(n):
            ops += [("bra", r.choice([r.getrandbits(32), r.getrandbits(32) & r.getrandbits(32), 1 << r.randrange(32)]), f"X{j}")] + (
                ["L"] if r.random() < 0.6 else []
            )
        ops += ["L", ("jmp", "E")]
        for j in r.sample(range(n), n):
            ops += [f"X{j}", "L"]
            if r.random() < 0.3:
                ops += [("bra", r.getrandbits(32), "E"), "L"]
            if r.random() < 0.15:
                ops += [("yield",), "L"]
            ops += [("jmp", "E")]
        ops += ["E", "L", ("bsync", 0)]
        m(f"tree{i}", *ops)
    return M
# fmt: on
