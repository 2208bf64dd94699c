# SPDX-License-Identifier: Apache-2.0
"""The rule of convergence that explains what an H100 logged (emu/isa/QUESTIONS.md, T11), as a model of one warp. See README.md."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen


def low(m):
    return (m & -m).bit_length() - 1


def bits(m):
    while m:
        l = low(m)
        yield l
        m &= m - 1


def pop(m):
    return bin(m).count("1")


class Sim:
    def __init__(s, p, maxev=512):
        s.ops = []
        lab = {}
        s.ev = []
        s.maxev = maxev
        for o in p.ops:
            if o[0] == "label":
                lab[o[1]] = len(s.ops)
            else:
                s.ops.append(o)
        s.lab = lab
        s.pc = [0] * 32
        s.st = [1] * 32
        s.B = [0] * 16
        s.R = [dict() for _ in range(32)]
        s.stack = []
        s.mem = [[] for _ in range(32)]
        s.since = [0] * 32
        s.masks = {}
        s.act = 0xFFFFFFFF
        s.hang = False
        s.npops = 0
        s.last = 0
        s.exited = 0
        s.drop = False

    def lanes_st(s, *v):
        return sum(1 << i for i in range(32) if s.st[i] in v)

    def get(s, r, l):
        return s.R[l].get(r, 0)

    def push(s, m):
        if len(s.stack) == 5:
            s.y |= s.masks[s.stack[0]]
            s.stack = s.stack[1:]
        s.stack.append(low(m))
        s.masks[low(m)] = m

    def settle(s, mask, pc):
        for l in bits(mask):
            s.pc[l] = pc

    def samepc(s, lane, states):
        return sum(1 << i for i in range(32) if s.pc[i] == s.pc[lane] and s.st[i] in states)

    # the current group has nothing to run: choose another
    def select(s, own=0, ex=False):
        s.act = 0
        lead = None
        frm = 0xFFFFFFFF
        while s.stack:
            l = s.stack.pop()
            if s.st[l] == 1 and not own >> l & 1 and not s.y >> l & 1:
                lead = l
                frm = s.masks[l]
                break
        if lead is None:
            ones = [i for i in range(32) if s.st[i] == 1 and not (own | s.y) >> i & 1]
            if ones and not ex:
                lead = ones[0]
        if lead is None:
            s.clock += 1
            for l in bits(own):
                s.st[l] = 3
                s.since[l] = s.clock
            c = [i for i in range(32) if s.st[i]]
            if not c:
                return False
            lead = min(c, key=lambda i: (s.since[i], i)) if not ex else c[0]
            if s.st[lead] >= 16:
                b = s.st[lead] - 16
                w = s.lanes_st(16 + b)
                for l in bits(w):
                    if s.pc[l] == s.pc[lead] and l != lead:
                        s.st[l] = 1
                        s.pc[l] += 1
                s.st[lead] = 1
                s.pc[lead] += 1
                s.B[b] = 0
        s.clock += 1
        for l in bits(own):
            s.st[l] = 3
            s.since[l] = s.clock
        s.y |= own
        s.activate(lead, frm)
        return True

    clock = 0
    y = 0

    def next_of(s, c):
        n = [i for i in c if i > s.last]
        return (n or c)[0]

    SWEEP = 3

    def activate(s, lead, frm):
        s.last = lead
        same = sum(1 << i for i in range(32) if s.pc[i] == s.pc[lead] and s.st[i] != 0)
        m = sum(1 << i for i in bits(same) if s.st[i] in (1, 3) or i == lead) & frm
        blk = same & ~m if s.flag == 2 else 0
        if s.SWEEP == 0:
            sw = not s.stack
        elif s.SWEEP == 1:
            sw = not s.stack and blk and low(blk) < lead
        elif s.SWEEP == 2:
            sw = blk and low(blk) < lead
        elif s.SWEEP == 3:
            sw = s.flag == 2
        if sw:
            m |= blk
        for l in bits(m):
            s.st[l] = 1
        s.act = m
        s.y &= ~m
        while s.stack and m >> s.stack[-1] & 1 and sw:
            s.stack.pop()

    def diverge(s, groups):  # list of (mask,pc), in order: first fall-through
        groups = [g for g in groups if g[0]]
        for m, pc in groups:
            s.settle(m, pc)
        if len(groups) == 1:
            return
        a, b = groups
        run, wait = (a, b) if pop(a[0]) <= pop(b[0]) else (b, a)
        s.push(wait[0])
        s.act = run[0]

    def needed(s, b):  # lanes that barrier b still waits for
        return sum(1 << l for l in bits(s.B[b]) if s.st[l] == 1)

    def release(s, b, pc):
        m = s.act
        for l in bits(s.B[b]):
            if s.st[l] == 16 + b:
                m |= 1 << l
        for l in bits(m):
            s.st[l] = 1
            s.pc[l] = pc
        for l in range(32):
            if s.st[l] == 3:
                s.st[l] = 1
        s.B[b] = 0
        s.act = m

    def run(s, limit=20000):
        for _ in range(limit):
            if not s.act:
                return
            lead = low(s.act)
            pc = s.pc[lead]
            s.last = lead
            o = s.ops[pc]
            k = o[0]
            A = s.act
            nx = pc + 1
            if k == "log":
                T = s.st
                s.ev.append((o[1], A, s.B[0], s.B[1], s.B[2], s.B[6], tuple(T), len(s.stack), tuple(s.stack), s.exited))
                if len(s.ev) >= s.maxev:
                    return
                s.settle(A, nx)
            elif k == "bssy":
                s.B[o[1]] |= A
                s.settle(A, nx)
            elif k == "break":
                b = o[1]
                was = s.B[b]
                s.B[b] &= ~(o[2] & A)
                s.settle(A, nx)
                M = s.B[b] & ~s.exited
                if was != s.B[b] and M and all(s.st[l] == 16 + b for l in bits(M)):
                    s.push(A)
                    s.B[b] = 0
                    for l in bits(M):
                        s.st[l] = 1
                        s.pc[l] += 1
                    s.act = M
            elif k == "bra":
                T = o[1] & A
                s.diverge([(A & ~T, nx), (T, s.lab[o[2]])])
            elif k in ("brz", "brnz"):
                T = sum(1 << l for l in bits(A) if (s.get(o[1], l) == 0) == (k == "brz"))
                s.diverge([(A & ~T, nx), (T, s.lab[o[2]])])
            elif k == "jmp":
                s.settle(A, s.lab[o[1]])
            elif k == "save":
                for l in bits(A):
                    s.R[l][o[1]] = s.B[o[2]]
                if o[3]:
                    s.B[o[2]] = 0
                s.settle(A, nx)
            elif k == "restore":
                s.B[o[2]] = s.get(o[1], lead)
                s.settle(A, nx)
            elif k == "setlanes":
                for l in bits(A):
                    s.R[l][o[1]] = o[2][l]
                s.settle(A, nx)
            elif k == "setmask":
                for l in bits(A):
                    s.R[l][o[1]] = o[3] if o[2] >> l & 1 else o[4]
                s.settle(A, nx)
            elif k == "dec":
                for l in bits(A):
                    s.R[l][o[1]] = (s.get(o[1], l) - 1) & 0xFFFFFFFF
                s.settle(A, nx)
            elif k == "mov":
                for l in bits(A):
                    s.R[l][o[1]] = s.get(o[2], l)
                s.settle(A, nx)
            elif k == "call":
                for l in bits(A):
                    s.R[l][20] = nx
                s.settle(A, s.lab[o[1]])
            elif k == "enter":
                for l in bits(A):
                    s.mem[l].append((s.get(20, l), s.get(22, l), s.get(23, l)))
                s.settle(A, nx)
            elif k == "leave":
                for l in bits(A):
                    a, b, c = s.mem[l].pop()
                    s.R[l][20] = a
                    s.R[l][22] = b
                    s.R[l][23] = c
                s.settle(A, nx)
            elif k == "ret":
                t = {}
                for l in bits(A):
                    t.setdefault(s.get(20, l), 0)
                    t[s.get(20, l)] |= 1 << l
                g = [(m, a) for a, m in t.items()]
                if len(g) == 1:
                    s.settle(*g[0])
                else:
                    s.ret(g, A, pc)
            elif k == "yield":
                s.do_yield(A, nx)
            elif k == "nanosleep":
                s.do_yield(A, nx)
            elif k == "bsync":
                b = o[1]
                s.bsync(b, A, nx)
            elif k in ("exit", "end"):
                T = (o[1] if k == "exit" else 0xFFFFFFFF) & A
                for l in bits(T):
                    s.st[l] = 0
                s.exited |= T
                s.act = A & ~T
                s.settle(s.act, nx)
                for b in range(16):
                    s.B[b] &= s.B[b]
                if not s.act:
                    s.select(0, True)
            elif k == "warpsync_all":
                return
            else:
                raise Exception(k)

    NM = 1
    FK = 0

    def bsync(s, b, A, nx):
        M = s.B[b] & ~s.exited
        if not M & A:
            s.settle(A, nx)
            return
        others = M & ~A
        if not others:
            s.B[b] = 0
            s.settle(A, nx)
            s.flag = 0 if s.FK == 0 else s.flag
            return
        complete = all(s.st[l] == 16 + b for l in bits(others))
        anyready = any(s.st[l] == 1 and not A >> l & 1 for l in range(32))
        if complete or not anyready:
            W = sum(1 << l for l in bits(M) if s.st[l] == 16 + b)
            if complete:
                s.flag = 1
            for l in bits(M):
                if s.st[l] == 3 or (s.st[l] >= 16 and s.st[l] != 16 + b):
                    s.y |= 1 << l
                if s.st[l] >= 16 and s.st[l] != 16 + b:
                    s.since[l] = s.clock = s.clock + 1
                if s.st[l] != 0:
                    s.st[l] = 1
            R = W | A
            for l in bits(R):
                s.pc[l] = nx
            s.B[b] = 0
            s.act = R
            return
        s.clock += 1
        for l in bits(A):
            s.st[l] = 16 + b
            s.since[l] = s.clock
        s.flag = 2 if s.flag == 1 else 0
        s.select()

    flag = 0

    def gone(s):
        pass

    def ret(s, g, A, pc):
        # lowest lane's target against the rest, which stays here
        first = [x for x in g if x[0] >> low(A) & 1][0]
        rest = A & ~first[0]
        s.settle(first[0], first[1])
        a, b = first, (rest, pc)
        if len(g) == 2:
            b = [x for x in g if x is not first][0]
            s.settle(*b)
        run, wait = (a, b) if pop(a[0]) <= pop(b[0]) else (b, a)
        s.push(wait[0])
        s.act = run[0]

    def do_yield(s, A, nx):
        s.settle(A, nx)
        if not any(s.st[i] and not A >> i & 1 for i in range(32)):
            return
        s.select(A)

    def freed(s):  # nobody can run: the lanes at one barrier need not wait any longer
        for b in range(16):
            w = s.lanes_st(16 + b)
            if not w:
                continue
            lead = low(w & s.B[b] or w)
            for l in bits(w):
                if s.pc[l] == s.pc[lead] and l != lead:
                    s.st[l] = 1
                    s.pc[l] += 1
            s.st[lead] = 1
            s.pc[lead] += 1
            s.B[b] = 0
            return


if __name__ == "__main__":
    import show, collections

    if len(sys.argv) > 2:
        Sim.FK = int(sys.argv[2])
    pref = sys.argv[1] if len(sys.argv) > 1 else ""
    tot = collections.Counter()
    good = collections.Counter()
    bads = []
    for n, p in show.PR.items():
        if not n.startswith(pref):
            continue
        if any(o[0] in ("warpsync_all",) for o in p.ops):
            continue
        fam = n.split("_")[0]
        st, ev, dead = show.log(n)
        sim = Sim(p)
        try:
            sim.run()
        except Exception as e:
            sim.ev.append(("EXC", repr(e)))
        want = [(w[0], w[1], w[2], w[3], w[4], w[5], tuple(3 if x == 7 else x for x in show.states(w))) for w in ev]
        got = [e[:7] for e in sim.ev]
        tot[fam] += 1
        k = next((i for i in range(max(len(want), len(got))) if i >= len(want) or i >= len(got) or want[i] != got[i]), None)
        if k is None and bool(dead or st) == sim.hang:
            good[fam] += 1
        else:
            bads.append((k, n, len(ev)))
    print({f: (good[f], tot[f]) for f in tot})
    bads.sort(key=lambda x: (x[0] is None, x[0] or 0))
    print(bads[:40])
