# SPDX-License-Identifier: Apache-2.0
"""Random PTX programs that divide their warps and need them whole again: program(seed, arch) -> text.

CTAs of four to eight warps. Between barriers and collectives of whole warps that PTX calls aligned (mma, stmatrix, movmatrix, shfl, redux, match)
the lanes part: switches, nested loops with ways out of one or two of them, calls, slow paths of divisions, loops of compare-and-swap. Nothing but the
end of the statement that divided the warp brings it together again, and results do not depend on chance: lanes that are not back in time are
missing from an exchange, or leave the CTA waiting."""
import generate

KIND = 8


def level(seed):
    return 80


def optimisation(seed):
    return (3, 3, 2, 1)[seed % 4]


class Program(generate.Program):
    def __init__(self, seed, arch):
        super().__init__(seed, arch)
        self.kind = KIND
        self.sm = int("".join(c for c in arch if c.isdigit()))
        r = self.random
        self.warps = r.choice([4, 4, 4, 5, 6, 8])
        self.block = 32 * self.warps
        self.grid = r.choice([1, 2])
        self.apart = 256
        self.ends = []  # labels that a loop's body may leave for: of the loops around it

    # A condition that parts the lanes: some, few, most, or by what they computed.
    def condition(self, c):
        r = self.random
        a, b = r.randrange(8), r.randrange(8)
        self.put(r.choice([
            f"setp.lt.u32 %c{c}, %v{a}, {self.constant()};", f"setp.lt.s32 %c{c}, %v{a}, %v{b};",
            f"and.b32 %t0, %s5, {r.randrange(1, 32)};\n    setp.eq.u32 %c{c}, %t0, 0;", f"and.b32 %t0, %v{a}, {r.randrange(1, 8)};\n    setp.ne.u32 %c{c}, %t0, 0;",
            f"setp.lt.u32 %c{c}, %s5, {r.randrange(1, 32)};", f"setp.eq.u32 %c{c}, %s5, {r.randrange(32)};", f"mov.pred %c{c}, %z{r.randrange(8)};",
            f"setp.gt.f32 %c{c}, %f{a % 4}, %f{b % 4};"]))

    # What compilers make loops and calls of: the lanes part without a branch in the PTX.
    def hidden(self):
        r = self.random
        d, a, b, f, e = r.randrange(8), r.randrange(8), r.randrange(8), r.randrange(4), r.randrange(2)
        self.put(r.choice([
            f"atom.shared.add.f64 %e{e}, [%s1], %e{1 - e};", f"red.shared.add.f64 [%s1], %e{e};", f"atom.shared.min.s64 %d0, [%s1], %d1;",
            f"atom.shared.add.noftz.f16x2 %v{d}, [%s1], %v{a};", f"atom.shared.max.u64 %d2, [%s1], %d{r.randrange(2)};", f"red.shared.add.f32 [%s1], %f{f};",
            f"rcp.rn.f64 %e{e}, %e{1 - e};", f"sqrt.rn.f64 %e{e}, %e{1 - e};", f"rsqrt.approx.f64 %e{e}, %e{1 - e};", f"div.rn.f64 %e{e}, %e0, %e1;",
            f"div.rn.f32 %f{f}, %f0, %f1;", f"sqrt.rn.f32 %f{f}, %f2;", f"rcp.rz.f32 %f{f}, %f3;", f"div.u64 %d0, %d1, %d2;", f"rem.s64 %d1, %d2, %d0;",
            f"rem.u32 %v{d}, %v{a}, %v{b};"]))

    def statement(self, depth, together, cta):
        r = self.random
        t = r.random()
        whole = together == "0xffffffff"
        for weight, action in ((.3 if depth < 4 else 0, lambda: self.divided(depth, together)), (.12, self.hidden),
                               (.14 if whole else 0, lambda: self.collective(together)), (.14 if whole else 0, self.matrix), (.2 if cta else 0, self.barrier),
                               (.1 if self.functions and depth < 3 else 0, self.call), (.1 if self.ends else 0, self.leave), (.08, self.memory)):
            if t < weight:
                return action()
            t -= weight
        self.arithmetic()

    def block_of(self, depth, together, cta, most):
        for _ in range(self.random.randint(1, most)):
            self.statement(depth, None, False)
            if self.random.random() < .25:
                self.put(f"mad.lo.u32 %o0, %o0, 0x01000193, %v{self.random.randrange(8)};")

    # Out of a loop, or of the one around it, or on with its next turn.
    def leave(self):
        c = 56 + self.random.randrange(4)
        self.condition(c)
        self.put(f"@%c{c} bra {self.random.choice(self.ends)};")

    def divided(self, depth, together):
        r = self.random
        shape = r.choice(["if", "else", "else", "loop", "loop", "loop", "switch", "switch", "switch", "cross"])
        c = 2 + depth * 8
        end = self.label()
        if shape in ("if", "else"):
            other = self.label()
            self.condition(c)
            self.put(f"@!%c{c} bra {other if shape == 'else' else end};")
            self.block_of(depth + 1, None, False, 4)
            if shape == "else":
                self.put(f"bra {end};")
                self.lines.append(f"{other}:")
                self.block_of(depth + 1, None, False, 4)
        elif shape == "loop":
            head, turn = self.label(), self.label()
            n = 20 + depth
            self.put(f"and.b32 %t{n}, %v{r.randrange(8)}, {r.choice([1, 3, 3, 7])};")
            self.lines.append(f"{head}:")
            self.ends += [end, turn]
            for _ in range(r.randint(1, 3)):
                self.block_of(depth + 1, None, False, 2)
                if r.random() < .5:
                    self.leave()
            del self.ends[-2:]
            self.lines.append(f"{turn}:")
            self.put(f"sub.u32 %t{n}, %t{n}, 1;\n    setp.ge.s32 %c{c + 1}, %t{n}, 0;\n    @%c{c + 1} bra {head};")
        elif shape == "switch":
            arms = [self.label() for _ in range(r.randint(2, 7))]
            table = self.label()
            self.selector(len(arms), c)
            self.put(f"{table}: .branchtargets {', '.join(arms)};\n    brx.idx %t1, {table};")
            for arm in arms:
                self.lines.append(f"{arm}:")
                self.block_of(depth + 1, None, False, 3)
                if r.random() < .75:
                    self.put(f"bra {end};")
        else:                             # a branch into the other side
            middle, other = self.label(), self.label()
            self.condition(c)
            self.put(f"@%c{c} bra {other};")
            self.block_of(depth + 1, None, False, 2)
            self.condition(c + 1)
            self.put(f"@%c{c + 1} bra {middle};")
            self.block_of(depth + 1, None, False, 2)
            self.put(f"bra {end};")
            self.lines.append(f"{other}:")
            self.block_of(depth + 1, None, False, 2)
            self.lines.append(f"{middle}:")
            self.block_of(depth + 1, None, False, 2)
        self.lines.append(f"{end}:")

    # %t1: an arm of a switch. Even, or so that most lanes take one of them.
    def selector(self, arms, c):
        r = self.random
        a, kind = r.randrange(8), r.randrange(4)
        if kind == 0:
            self.put(f"clz.b32 %t1, %v{a};\n    min.u32 %t1, %t1, {arms - 1};")
            return
        self.put(f"rem.u32 %t1, %v{a}, {arms};")
        if kind < 3:
            self.put(f"and.b32 %t0, %v{r.randrange(8)}, {r.choice([1, 3, 3, 7, 10])};\n    setp.ne.u32 %c{c}, %t0, 0;\n    @%c{c} mov.u32 %t1, {r.randrange(arms)};")

    # Barriers of the whole CTA, of half its warps, and exchanges over them.
    def barrier(self):
        r = self.random
        if r.random() < .8:
            return super().barrier()
        d, a, low = r.randrange(8), r.randrange(8), r.randrange(1, self.warps)
        other, end = self.label(), self.label()
        self.put(f"st.shared.u32 [%s1], %v{a};\n    setp.ge.u32 %c54, %s0, {32 * low};\n    @%c54 bra {other};\n    barrier.sync 3, {32 * low};\n    bra {end};")
        self.lines.append(f"{other}:")
        self.put(f"barrier.sync 4, {self.block - 32 * low};")
        self.lines.append(f"{end}:")
        self.put(f"xor.b32 %t0, %s0, {r.randrange(1, 32)};\n    mad.lo.u32 %t0, %t0, 8, %s4;\n    ld.shared.u32 %v{d}, [%t0];\n    bar.sync 0;")

    def body(self):
        r = self.random
        for _ in range(r.randint(8, 18)):
            self.statement(0, "0xffffffff", True)
            self.put(f"mad.lo.u32 %o0, %o0, 0x01000193, %v{r.randrange(8)};")


def program(seed, arch="sm_90"):
    p = Program(seed, arch)
    text = p.text()
    return text, p.grid, p.block
