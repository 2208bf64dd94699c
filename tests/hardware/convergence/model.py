# SPDX-License-Identifier: Apache-2.0
"""The rule of convergence that explains what an H100 logged (emu/isa/QUESTIONS.md, T11), as a model of one warp. See README.md.

Each lane has a pc and a state: 0 exited, 1 ready, 3 gave way, 11 at WARPSYNC.ALL, 16 + n waits at Bn. `act` are the lanes that run; `stack` are
lanes, each the lowest of a group that was left at a branch; `masks` are these groups."""

EXITED, READY, GAVE_WAY, AT_WARPSYNC, AT = 0, 1, 3, 11, 16


def low(m):
    return (m & -m).bit_length() - 1


def bits(m):
    while m:
        yield low(m)
        m &= m - 1


def pop(m):
    return bin(m).count("1")


class Sim:
    def __init__(s, program, most_events=512):
        s.ops, s.labels, s.most_events = [], {}, most_events
        for o in program.ops:
            if o[0] == "label":
                s.labels[o[1]] = len(s.ops)
            else:
                s.ops.append(o)
        s.ev = []
        s.pc, s.st, s.since = [0] * 32, [READY] * 32, [0] * 32
        s.R, s.mem, s.B = [{} for _ in range(32)], [[] for _ in range(32)], [0] * 16
        s.stack, s.masks = [], {}
        s.whole = False  # the group on top of the stack is known whole: none has been taken since it was left
        s.aside = 0  # lanes that run only when nobody else is ready
        s.in_turn = {}  # of a jump with several targets
        s.clock = s.exited = 0
        s.act = 0xFFFFFFFF

    def get(s, r, lane):
        return s.R[lane].get(r, 0)

    def settle(s, mask, pc):
        for lane in bits(mask):
            s.pc[lane] = pc

    def lanes(s, wanted):
        return sum(1 << lane for lane in range(32) if wanted(lane))

    def wait(s, mask, state):
        s.clock += 1
        for lane in bits(mask):
            s.st[lane], s.since[lane] = state, s.clock

    def leave(s, mask, in_turn=False):
        seen = [lane for lane in s.stack if lane not in s.in_turn]
        if in_turn:
            s.in_turn[low(mask)] = mask
        elif len(seen) == 5:
            s.aside |= s.masks[seen[0]]
            s.stack.remove(seen[0])
        s.stack.append(low(mask))
        s.masks[low(mask)] = mask
        s.whole = True

    def select(s, own=0, left=None):
        """Another group runs: those that run wait, gave way (own), or have exited (the lowest of them was `left`)."""
        s.act, lead, known = 0, None, None
        if own:
            s.wait(own, GAVE_WAY)
            s.aside |= own
        while s.stack and lead is None:
            lane, whole = s.stack.pop(), s.whole
            s.whole = False
            if s.st[lane] == READY and not s.aside >> lane & 1:
                lead, known = lane, s.masks[lane] if whole else None
        if lead is None and left is None:
            lead = next((i for i in range(32) if s.st[i] == READY and not s.aside >> i & 1), None)
        if lead is None:
            there = [i for i in range(32) if s.st[i] not in (EXITED, AT_WARPSYNC)]
            if not there:
                return
            if left is not None:
                lead = next((i for i in there if i > left), there[0])
            else:
                lead = min(there, key=lambda i: (s.since[i], i))
        if s.st[lead] >= AT:
            s.B[s.st[lead] - AT] = 0
        same = s.lanes(lambda i: s.pc[i] == s.pc[lead] and s.st[i] not in (EXITED, AT_WARPSYNC))
        s.act = same if known is None else known & s.lanes(lambda i: same >> i & 1 and (s.st[i] < AT or i == lead))
        for lane in bits(s.act):
            s.st[lane] = READY
        s.aside &= ~s.act
        while s.stack and s.act >> s.stack[-1] & 1:
            s.stack.pop()
            s.whole = False

    def branch(s, falls, taken, here, target):
        s.settle(falls, here)
        s.settle(taken, target)
        if falls and taken:
            run, wait = (falls, taken) if pop(falls) <= pop(taken) else (taken, falls)
            s.leave(wait)
            s.act = run

    def jump(s, targets, A, pc):
        """To several places: mask of each target."""
        in_turn = s.in_turn.pop(low(A), 0) == A

        def split(A):
            to = next(t for t, m in targets.items() if m >> low(A) & 1)
            return targets[to] & A, A & ~targets[to], to

        some, rest, to = split(A)
        s.settle(some, to)
        if rest and not in_turn:
            others = {t for t, m in targets.items() if m & rest}
            if pop(some) <= pop(rest):
                s.settle(rest, pc if len(others) > 1 else others.pop())
                s.leave(rest)
                rest = 0
            else:
                s.leave(some)
                some, rest, to = split(rest)
                s.settle(some, to)
        s.act = some
        if rest:
            s.settle(rest, pc)
            s.leave(rest, in_turn=True)

    def bsync(s, b, A, pc):
        M = s.B[b] & ~s.exited
        others = M & ~A
        if not M & A:
            return s.settle(A, pc + 1)
        complete = all(s.st[i] == AT + b and s.pc[i] == pc for i in bits(others))
        strangers = A & ~M
        if not complete and any(s.st[i] == READY and not A >> i & 1 for i in range(32)):
            s.wait(A & M, AT + b)
            s.settle(strangers, pc + 1)
            s.act = strangers
            if not strangers:
                s.select()
            return
        for lane in bits(others):
            if s.st[lane] == AT + b and s.pc[lane] == pc:
                A |= 1 << lane
            elif s.st[lane] >= AT:
                s.wait(1 << lane, READY)
                s.aside |= 1 << lane
            elif s.st[lane] == GAVE_WAY and not strangers:
                s.st[lane] = READY
        for lane in bits(A):
            s.st[lane] = READY
        s.settle(A, pc + 1)
        s.B[b], s.act = 0, A

    def leave_barrier(s, b, A, pc):
        M = s.B[b] & ~s.exited
        s.settle(A, pc + 1)
        if M and all(s.st[i] == AT + b for i in bits(M)):
            s.B[b] = 0
            for lane in bits(M):
                s.st[lane] = READY
                s.pc[lane] += 1
            s.act, rest = (A, M) if pop(A) <= pop(M) else (M, A)
            s.leave(rest)

    def warpsync(s, A, pc):
        live = s.lanes(lambda i: s.st[i] != EXITED)
        if all(A >> i & 1 or s.st[i] == AT_WARPSYNC for i in bits(live)):
            for lane in bits(live):
                s.st[lane] = READY
            s.aside &= ~live
            s.settle(live, pc + 1)
            s.act = live
        else:
            for lane in bits(A):
                s.st[lane] = AT_WARPSYNC
            s.select()

    def run(s, most=20000):
        for _ in range(most):
            if not s.act or len(s.ev) >= s.most_events:
                return
            s.step()

    def step(s):
        A = s.act
        lead = low(A)
        pc = s.pc[lead]
        kind, *o = s.ops[pc]
        if kind == "bra":
            return s.branch(A & ~o[0], A & o[0], pc + 1, s.labels[o[1]])
        if kind in ("brz", "brnz"):
            taken = A & s.lanes(lambda i: (s.get(o[0], i) == 0) == (kind == "brz"))
            return s.branch(A & ~taken, taken, pc + 1, s.labels[o[1]])
        if kind == "ret":
            targets = {}
            for lane in bits(A):
                targets[s.get(20, lane)] = targets.get(s.get(20, lane), 0) | 1 << lane
            return s.jump(targets, A, pc)
        if kind == "switch":
            return s.jump({s.labels[to]: m & A for m, to in o[0] if m & A}, A, pc)
        if kind == "bsync":
            return s.bsync(o[0], A, pc)
        if kind == "break":
            if s.B[o[0]] & o[1] & A:
                s.B[o[0]] &= ~(o[1] & A)
                return s.leave_barrier(o[0], A, pc)
        elif kind == "warpsync_all":
            return s.warpsync(A, pc)
        elif kind in ("yield", "nanosleep"):
            s.settle(A, pc + 1)
            if any(s.st[i] and not A >> i & 1 for i in range(32)):
                s.select(own=A)
            return None
        elif kind in ("exit", "end"):
            T = A & o[0] if kind == "exit" else A
            for lane in bits(T):
                s.st[lane] = EXITED
            s.exited |= T
            s.act = A & ~T
            s.settle(s.act, pc + 1)
            if not s.act:
                s.select(left=lead)
            return None
        elif kind == "log":
            s.ev.append((o[0], A, s.B[0], s.B[1], s.B[2], s.B[6], tuple(s.st)))
        elif kind == "bssy":
            s.B[o[0]] |= A
        elif kind == "jmp":
            return s.settle(A, s.labels[o[0]])
        elif kind == "save":
            for lane in bits(A):
                s.R[lane][o[0]] = s.B[o[1]]
            if o[2]:
                s.B[o[1]] = 0
        elif kind == "restore":
            s.B[o[1]] = s.get(o[0], lead)
        elif kind == "call":
            for lane in bits(A):
                s.R[lane][20] = pc + 1
            return s.settle(A, s.labels[o[0]])
        else:
            for lane in bits(A):
                s.step_of_lane(kind, o, lane)
        s.settle(A, pc + 1)
        return None

    def step_of_lane(s, kind, o, lane):
        R = s.R[lane]
        if kind == "setlanes":
            R[o[0]] = o[1][lane]
        elif kind == "setmask":
            R[o[0]] = o[2] if o[1] >> lane & 1 else o[3]
        elif kind == "dec":
            R[o[0]] = (s.get(o[0], lane) - 1) & 0xFFFFFFFF
        elif kind == "mov":
            R[o[0]] = s.get(o[1], lane)
        elif kind == "enter":
            s.mem[lane].append((s.get(20, lane), s.get(22, lane), s.get(23, lane)))
        elif kind == "leave":
            R[20], R[22], R[23] = s.mem[lane].pop()
        else:
            raise ValueError(kind)
