# SPDX-License-Identifier: Apache-2.0
"""Random PTX programs whose results do not depend on chance: program(seed, arch) -> text.

A program has CTAs of one to three warps. Threads compute on registers of their own; what they exchange goes through
collectives of the lanes that are known to be there, barriers that all of their threads reach, and atomics whose order
does not show. KIND of a seed (seed % 8) says what it is about:
  0, 1  straight arithmetic of every kind, memory, collectives   2  divided control flow   3  calls
  4     recursion, each lane as deep as it likes                 5  barriers, in branches too   6  matrix instructions
  7     divided control flow and recursion, and who runs together (activemask): compared with a chip of the same
        architecture only
"""
import random

KINDS = 8
HEAD = ".version 9.0\n.target {arch}\n.address_size 64\n"
REGISTERS = """    .reg .b32 %v<8>, %t<40>, %o<2>, %s<8>, %n<40>; .reg .f32 %f<4>, %g<12>; .reg .b64 %d<3>, %a<12>, %p<8>;
    .reg .f64 %e<2>, %q<4>; .reg .b16 %h<8>; .reg .pred %c<60>, %z<8>;
"""
# Functions get and give six words.
PASS = ["v0", "v1", "v2", "v3", "v4", "o0"]

INTEGER = [
    "add.u32 {d}, {a}, {b};", "sub.u32 {d}, {a}, {b};", "mul.lo.u32 {d}, {a}, {b};", "mul.hi.u32 {d}, {a}, {b};",
    "mul.hi.s32 {d}, {a}, {b};", "mad.lo.u32 {d}, {a}, {b}, {c};", "mad.hi.s32 {d}, {a}, {b}, {c};",
    "mul24.lo.u32 {d}, {a}, {b};", "mad24.hi.s32 {d}, {a}, {b}, {c};", "sad.s32 {d}, {a}, {b}, {c};",
    "and.b32 {d}, {a}, {b};", "or.b32 {d}, {a}, {b};", "xor.b32 {d}, {a}, {b};", "not.b32 {d}, {a};", "cnot.b32 {d}, {a};",
    "lop3.b32 {d}, {a}, {b}, {c}, {k8};", "shl.b32 {d}, {a}, {b};", "shr.u32 {d}, {a}, {b};", "shr.s32 {d}, {a}, {b};",
    "shf.l.wrap.b32 {d}, {a}, {b}, {c};", "shf.r.clamp.b32 {d}, {a}, {b}, {c};", "prmt.b32 {d}, {a}, {b}, {k16};",
    "prmt.b32.f4e {d}, {a}, {b}, {c};", "prmt.b32.ecl {d}, {a}, {b}, {c};", "bfe.u32 {d}, {a}, {b}, {c};",
    "bfe.s32 {d}, {a}, {k5}, {k5b};", "bfi.b32 {d}, {a}, {b}, {c}, {k5};", "brev.b32 {d}, {a};", "popc.b32 {d}, {a};",
    "clz.b32 {d}, {a};", "bfind.u32 {d}, {a};", "bfind.shiftamt.s32 {d}, {a};", "fns.b32 {d}, {a}, {k5}, 1;",
    "bmsk.clamp.b32 {d}, {a}, {b};", "bmsk.wrap.b32 {d}, {a}, {b};", "szext.wrap.s32 {d}, {a}, {b};",
    "szext.clamp.u32 {d}, {a}, {b};", "min.s32 {d}, {a}, {b};", "max.u32 {d}, {a}, {b};", "abs.s32 {d}, {a};",
    "neg.s32 {d}, {a};", "add.sat.s32 {d}, {a}, {b};", "sub.sat.s32 {d}, {a}, {b};", "mad.hi.sat.s32 {d}, {a}, {b}, {c};",
    "dp4a.u32.s32 {d}, {a}, {b}, {c};", "dp4a.s32.s32 {d}, {a}, {b}, {c};", "dp2a.lo.s32.u32 {d}, {a}, {b}, {c};",
    "dp2a.hi.u32.u32 {d}, {a}, {b}, {c};", "vadd.s32.u32.s32.sat {d}, {a}.b1, {b}.h0;", "vabsdiff4.u32.u32.u32.add {d}, {a}, {b}, {c};",
    "vadd4.s32.s32.s32.sat {d}, {a}, {b}, {c};", "vmad.s32.s32.u32.shr7 {d}, {a}.h1, {b}.b0, {c};", "vset2.u32.u32.lt {d}, {a}, {b}, {c};",
    "slct.u32.s32 {d}, {a}, {b}, {c};", "slct.b32.f32 {d}, {a}, {b}, {f};", "set.lt.u32.s32 {d}, {a}, {b};", "set.ge.u32.f32 {d}, {f}, {f2};",
    "add.cc.u32 {d}, {a}, {b};\n    addc.u32 {e}, {c}, {b};", "sub.cc.u32 {d}, {a}, {b};\n    subc.u32 {e}, {c}, {b};",
    "mad.lo.cc.u32 {d}, {a}, {b}, {c};\n    madc.hi.u32 {e}, {a}, {b}, {c};", "div.u32 {d}, {a}, {b};", "rem.u32 {d}, {a}, {b};",
    "div.s32 {d}, {a}, {b};", "rem.s32 {d}, {a}, {b};", "selp.b32 {d}, {a}, {b}, %z{z};", "setp.{cmp}.u32 %z{z}, {a}, {b};",
    "setp.{cmp}.and.s32 %z{z}|%z{z2}, {a}, {b}, %z{z3};", "setp.{cmp}.xor.u32 %z{z}, {a}, {b}, !%z{z2};", "setp.{fcmp}.f32 %z{z}, {f}, {f2};",
    "mul.wide.u32 {w}, {a}, {b};", "mul.wide.s32 {w}, {a}, {b};", "mad.wide.u32 {w}, {a}, {b}, {w2};",
    "cvt.u64.u32 {w}, {a};", "cvt.u32.u64 {d}, {w};", "mov.b64 {w}, {{{a}, {b}}};", "mov.b64 {{{d}, {e}}}, {w};",
    "cvt.s32.s8 {d}, {a};", "cvt.u32.u16 {d}, {a};", "cvt.sat.u8.s32 {d}, {a};", "cvt.rni.s32.f32 {d}, {f};",
    "cvt.rzi.u32.f32 {d}, {f};", "cvt.rpi.ftz.s32.f32 {d}, {f};", "mov.b32 {d}, {f};", "mov.b32 {d}, {k32};", "isspacep.shared %z{z}, {w};",
    "@%z{z} add.u32 {d}, {a}, {k32};", "@!%z{z} xor.b32 {d}, {a}, {b};", "testp.{tp}.f32 %z{z}, {f};",
]
WIDE = [
    "add.u64 {w}, {w2}, {w3};", "sub.s64 {w}, {w2}, {w3};", "mul.lo.u64 {w}, {w2}, {w3};", "mul.hi.s64 {w}, {w2}, {w3};",
    "mul.hi.u64 {w}, {w2}, {w3};", "mad.lo.s64 {w}, {w2}, {w3}, {w};", "shl.b64 {w}, {w2}, {a};", "shr.s64 {w}, {w2}, {b};", "and.b64 {w}, {w2}, {w3};",
    "lop3.b32 {d}, {a}, {b}, {c}, {k8};", "min.s64 {w}, {w2}, {w3};", "max.u64 {w}, {w2}, {w3};", "abs.s64 {w}, {w2};",
    "popc.b64 {d}, {w};", "clz.b64 {d}, {w};", "brev.b64 {w}, {w2};", "bfe.s64 {w}, {w2}, {k5}, {k5b};", "bfi.b64 {w}, {w2}, {w3}, {k5}, {k5b};",
    "bfind.u64 {d}, {w};", "setp.{cmp}.s64 %z{z}, {w}, {w2};", "selp.b64 {w}, {w2}, {w3}, %z{z};", "div.u64 {w}, {w2}, {w3};", "rem.s64 {w}, {w2}, {w3};",
    "cvt.rn.f32.u64 {f}, {w};", "cvt.rzi.s64.f32 {w}, {f};", "add.cc.u64 {w}, {w2}, {w3};\n    addc.u32 {d}, {a}, {b};",
]
FLOAT = [
    "add.{r}.f32 {f}, {f2}, {f3};", "sub.f32 {f}, {f2}, {f3};", "mul.{r}.f32 {f}, {f2}, {f3};", "fma.{r}.f32 {f}, {f2}, {f3}, {f4};",
    "add.ftz.f32 {f}, {f2}, {f3};", "mul.ftz.sat.f32 {f}, {f2}, {f3};", "fma.rn.ftz.f32 {f}, {f2}, {f3}, {f4};", "fma.rn.sat.f32 {f}, {f2}, {f3}, {f4};",
    "min.f32 {f}, {f2}, {f3};", "max.ftz.f32 {f}, {f2}, {f3};", "abs.f32 {f}, {f2};", "neg.ftz.f32 {f}, {f2};", "copysign.f32 {f}, {f2}, {f3};",
    "div.rn.f32 {f}, {f2}, {f3};", "div.rz.ftz.f32 {f}, {f2}, {f3};", "div.full.f32 {f}, {f2}, {f3};", "div.approx.ftz.f32 {f}, {f2}, {f3};",
    "rcp.rn.f32 {f}, {f2};", "rcp.approx.ftz.f32 {f}, {f2};", "sqrt.{r}.f32 {f}, {f2};", "sqrt.approx.f32 {f}, {f2};", "rsqrt.approx.f32 {f}, {f2};",
    "sin.approx.f32 {f}, {f2};", "cos.approx.ftz.f32 {f}, {f2};", "lg2.approx.f32 {f}, {f2};", "ex2.approx.ftz.f32 {f}, {f2};", "tanh.approx.f32 {f}, {f2};",
    "cvt.{r}.f32.s32 {f}, {a};", "cvt.rn.f32.u32 {f}, {a};", "cvt.rmi.f32.f32 {f}, {f2};", "cvt.sat.f32.f32 {f}, {f2};", "mov.b32 {f}, {a};",
    "mov.b32 {f}, {kf};", "selp.f32 {f}, {f2}, {f3}, %z{z};",
    "cvt.f64.f32 {x}, {f};", "add.{r}.f64 {x}, {x2}, {x};", "mul.{r}.f64 {x}, {x2}, {x};", "fma.{r}.f64 {x}, {x2}, {x}, {x2};", "div.rn.f64 {x}, {x2}, {x};",
    "sqrt.rn.f64 {x}, {x2};", "min.f64 {x}, {x2}, {x};", "cvt.{r}.f32.f64 {f}, {x};", "cvt.rni.s32.f64 {d}, {x};", "cvt.rn.f64.s32 {x}, {a};",
    "rcp.approx.ftz.f64 {x}, {x2};", "mov.b64 {w}, {x};",
    "fma.rn.f16x2 {d}, {a}, {b}, {c};", "add.sat.f16x2 {d}, {a}, {b};", "mul.ftz.f16x2 {d}, {a}, {b};", "cvt.rn.f16.f32 %h0, {f};\n    mov.b32 {d}, {{%h0, %h0}};",
    "mov.b32 {{%h0, %h1}}, {a};\n    cvt.f32.f16 {f}, %h1;", "neg.f16x2 {d}, {a};", "abs.f16x2 {d}, {a};", "set.lt.f16x2.f16x2 {d}, {a}, {b};",
]
FLOAT80 = ["min.NaN.f32 {f}, {f2}, {f3};", "fma.rn.relu.f16x2 {d}, {a}, {b}, {c};", "fma.rn.bf16x2 {d}, {a}, {b}, {c};",
           "max.NaN.f16x2 {d}, {a}, {b};", "cvt.rn.bf16x2.f32 {d}, {f}, {f2};", "cvt.rz.relu.f16x2.f32 {d}, {f}, {f2};", "cvt.rna.tf32.f32 {d}, {f};",
           "min.bf16x2 {d}, {a}, {b};", "neg.bf16x2 {d}, {a};", "tanh.approx.f16x2 {d}, {a};"]
FLOAT90 = ["add.bf16x2 {d}, {a}, {b};", "min.s16x2 {d}, {a}, {b};", "max.relu.s32 {d}, {a}, {b};",
           "add.u16x2 {d}, {a}, {b};", "ex2.approx.ftz.bf16x2 {d}, {a};", "tanh.approx.bf16x2 {d}, {a};", "cvt.rn.satfinite.e4m3x2.f32 %h0, {f}, {f2};\n    mov.b32 {d}, {{%h0, %h0}};"]


def level(seed):
    """The architecture whose instructions a program has; it compiles for that and the later ones."""
    return (75, 80, 90)[seed // KINDS % 3]


def optimisation(seed):
    return (3, 1, 2, 0)[seed // (3 * KINDS) % 4]


class Program:
    def __init__(self, seed, arch):
        self.random = random.Random(seed * 0x9E3779B1 + 77)
        self.seed, self.kind = seed, seed % KINDS
        self.arch, self.sm = arch, level(seed)
        self.lines, self.labels, self.functions, self.masks = [], 0, [], 0
        self.warps = self.random.choice([1, 2, 2, 3])
        self.grid = self.random.choice([1, 1, 2])
        self.block = 32 * self.warps
        self.apart = 128  # threads of a CTA have words from here on in `spare`
        self.in_function = False

    def pick(self, table):
        return self.random.choice(table)

    def put(self, text):
        self.lines.append("    " + text)

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def fill(self, text):
        r = self.random
        v, f, d = (lambda: f"%v{r.randrange(8)}"), (lambda: f"%f{r.randrange(4)}"), (lambda: f"%d{r.randrange(3)}")
        first = r.randrange(8)
        return text.format(
            d=f"%v{first}", e=f"%v{(first + 1 + r.randrange(7)) % 8}", a=v(), b=v(), c=v(), f=f(), f2=f(), f3=f(), f4=f(), w=d(), w2=d(), w3=d(),
            x=f"%e{r.randrange(2)}", x2=f"%e{r.randrange(2)}", z=(z := r.randrange(8)), z2=(z + 1) % 8, z3=(z + 2) % 8,
            k8=r.randrange(256), k16=r.randrange(1 << 16), k5=r.randrange(32), k5b=r.randrange(1, 33), k32=self.constant(),
            kf="0f%08x" % r.choice([0x3f800000, 0xbf000000, 0x40490fdb, 0x7f800000, 0x00000001, 0x7f7fffff, 0x4b000001]),
            cmp=r.choice(["lt", "le", "eq", "ne", "gt", "ge"]), fcmp=r.choice(["lt", "leu", "equ", "ne", "gtu", "num", "nan"]),
            r=r.choice(["rn", "rn", "rz", "rm", "rp"]), tp=r.choice(["finite", "infinite", "number", "normal", "subnormal"]))

    def constant(self):
        r = self.random
        return r.choice([r.getrandbits(32), r.randrange(64), 0xffffffff, 0x80000000, 1 << r.randrange(32)])

    def arithmetic(self):
        t = self.random.random()
        table = INTEGER if t < .55 else WIDE if t < .68 else FLOAT if t < .9 else FLOAT80 if t < .96 else FLOAT90
        text = self.fill(self.pick(table))
        if (table is FLOAT80 and self.sm < 80) or (table is FLOAT90 and self.sm < 90):
            text = "mov.b32 %v7, %v6;"
        self.put(text)

    # Memory of one thread alone: a local array, its slot of shared memory and of the output, the input.
    def memory(self):
        r = self.random
        kind, d, a, b = r.randrange(9), r.randrange(8), r.randrange(8), r.randrange(8)
        if kind == 0:
            self.put(f"and.b32 %t0, %v{a}, 63;\n    mul.wide.u32 %a0, %t0, 4;\n    add.u64 %a0, %a0, %p0;\n    ld.global.nc.u32 %v{d}, [%a0+{4 * r.randrange(64)}];")
        elif kind == 1:
            self.put(f"and.b32 %t0, %v{a}, 15;\n    mad.lo.u32 %t0, %t0, 4, %s2;\n    st.local.u32 [%t0], %v{b};")
        elif kind == 2:
            self.put(f"and.b32 %t0, %v{a}, 15;\n    mad.lo.u32 %t0, %t0, 4, %s2;\n    ld.local.u32 %v{d}, [%t0];")
        elif kind == 3:
            self.put(f"and.b32 %t0, %v{a}, 3;\n    mad.lo.u32 %t0, %t0, 16, %s2;\n    ld.local.v4.u32 {{%v{d}, %t1, %v{(d + 1) % 8}, %t2}}, [%t0];\n    xor.b32 %v{d}, %v{d}, %t1;")
        elif kind == 4:
            self.put(f"st.local.v2.u32 [%s2+{8 * r.randrange(8)}], {{%v{a}, %v{b}}};\n    st.local.u8 [%s2+{r.randrange(64)}], %v{a};")
        elif kind == 5:
            self.put(f"ld.local.s8 %v{d}, [%s2+{r.randrange(64)}];\n    ld.local.u16 %t0, [%s2+{2 * r.randrange(32)}];\n    add.u32 %v{d}, %v{d}, %t0;")
        elif kind == 6:   # an atomic on the thread's own word
            op = r.choice(["add.u32", "exch.b32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32"])
            self.put(f"atom.shared.{op} %v{d}, [%s1], %v{a};" if r.random() < .5 else f"atom.global.{op} %v{d}, [%p2], %v{a};")
        elif kind == 7:
            self.put(r.choice([f"atom.shared.cas.b32 %v{d}, [%s1], %v{a}, %v{b};", f"atom.global.cas.b64 %d0, [%p2], %d1, %d2;",
                               f"atom.global.add.noftz.f16x2 %v{d}, [%p2], %v{a};", f"atom.shared.add.f32 %f0, [%s1], %f1;",
                               f"atom.global.add.u64 %d1, [%p2], %d0;", f"atom.shared.exch.b64 %d1, [%s1], %d0;"]))
        else:             # everybody's atomics: only sums that do not depend on order
            op = r.choice(["add.u32", "min.u32", "max.s32", "xor.b32"])
            at = {"add.u32": 0, "min.u32": 64, "max.s32": 128, "xor.b32": 192}[op]
            self.put(f"and.b32 %t0, %v{a}, 15;\n    mad.lo.u32 %t0, %t0, 4, %s3;\n    red.shared.{op} [%t0+{at}], %v{b};")

    # Collectives of the lanes in MASK, all of which are here.
    def collective(self, mask):
        r = self.random
        whole = mask == "0xffffffff"
        d, a, b = r.randrange(8), r.randrange(8), r.randrange(8)
        kind = r.randrange(10)
        if kind < 3 and whole:
            how = r.choice(["up", "down", "bfly", "idx"])
            clamp = {"up": 0, "down": 31, "bfly": 31, "idx": 31}[how] | r.choice([0, 0, 16, 24, 28]) << 8
            lane = r.choice([str(r.randrange(32)), f"%v{b}"])
            self.put(f"shfl.sync.{how}.b32 %v{d}|%z{r.randrange(8)}, %v{a}, {lane}, {clamp}, {mask};")
        elif kind < 3:
            self.put(f"brev.b32 %t0, {mask};\n    clz.b32 %t0, %t0;\n    shfl.sync.idx.b32 %v{d}, %v{a}, %t0, 31, {mask};")
        elif kind == 3:
            self.put(f"vote.sync.ballot.b32 %v{d}, %z{r.randrange(8)}, {mask};")
        elif kind == 4:
            self.put(f"vote.sync.{r.choice(['any', 'all', 'uni'])}.pred %z{r.randrange(8)}, {r.choice(['', '!'])}%z{r.randrange(8)}, {mask};")
        elif kind == 5:
            self.put(f"and.b32 %t0, %v{a}, 3;\n    match.any.sync.b32 %v{d}, %t0, {mask};")
        elif kind == 6:
            self.put(f"shr.u32 %t0, %v{a}, 31;\n    match.all.sync.b32 %v{d}|%z{r.randrange(8)}, %t0, {mask};")
        elif kind == 7:
            op = r.choice(["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"])
            self.put(f"redux.sync.{op} %v{d}, %v{a}, {mask};" if self.sm >= 80 else f"mov.b32 %v{d}, %v{a};")
            if self.sm < 80:
                self.without_redux(op, d, mask)
        elif kind == 8:
            self.put(f"bar.warp.sync {mask};")
        else:
            self.put(f"match.any.sync.b64 %v{d}, %d{r.randrange(3)}, {mask};")

    # The same through shared memory is more than it is worth: a sum by votes of each bit.
    def without_redux(self, op, d, mask):
        self.put(f"mov.u32 %t8, 0;\n    mov.u32 %t9, {mask};")
        loop, name = self.label(), op.split(".")[0]
        start = {"add": 0, "and": -1, "or": 0, "xor": 0, "min": 0x7fffffff, "max": 0}[name]
        self.put(f"mov.b32 %t8, {start};")
        self.lines.append(f"{loop}:")
        self.put("brev.b32 %t10, %t9;\n    clz.b32 %t10, %t10;")
        self.put(f"shfl.sync.idx.b32 %t11, %v{d}, %t10, 31, {mask};")
        self.put(f"{op} %t8, %t8, %t11;")
        self.put(f"sub.u32 %t10, %t9, 1;\n    and.b32 %t9, %t9, %t10;\n    setp.ne.u32 %c50, %t9, 0;\n    @%c50 bra.uni {loop};")
        self.put(f"mov.b32 %v{d}, %t8;")

    # All threads of the CTA come here, and run together as far as PTX says.
    def barrier(self):
        r = self.random
        d, a = r.randrange(8), r.randrange(8)
        kind = r.randrange(8)
        n = self.block
        if kind < 2:      # exchange
            self.put(f"st.shared.u32 [%s1], %v{a};\n    bar.sync 0;")
            self.put(f"mad.lo.u32 %t0, %s0, {r.choice([1, 3, 5, 7])}, {r.randrange(n)};\n    rem.u32 %t0, %t0, {n};\n    mad.lo.u32 %t0, %t0, 8, %s4;")
            self.put(f"ld.shared.u32 %v{d}, [%t0];\n    bar.sync 0;")
        elif kind == 2:
            self.put(f"bar.red.popc.u32 %v{d}, {r.randrange(16)}, %z{r.randrange(8)};")
        elif kind == 3:   # the result is wanted in a branch only: ptxas may sink the barrier into it
            p, q, end = r.randrange(8), r.randrange(8), self.label()
            self.put(f"bar.red.{r.choice(['or', 'and'])}.pred %c51, {r.randrange(16)}, %z{p};\n    setp.lt.u32 %c52, %v{a}, {self.constant()};")
            self.put(f"@%c52 bra {end};\n    selp.b32 %t0, {self.constant()}, {r.randrange(9)}, %c51;\n    add.u32 %v{d}, %v{d}, %t0;")
            self.lines.append(f"{end}:")
        elif kind == 4:
            self.put(f"bar.red.{r.choice(['or', 'and'])}.pred %z{r.randrange(8)}, {r.randrange(16)}, {r.choice(['', '!'])}%z{r.randrange(8)};")
        elif kind == 5:   # a barrier that threads reach in two places
            other, end, which = self.label(), self.label(), r.randrange(16)
            self.put(f"setp.lt.s32 %c53, %v{a}, {self.constant()};\n    @%c53 bra {other};\n    add.u32 %v{d}, %v{d}, 1;\n    barrier.sync {which}, {n};\n    bra {end};")
            self.lines.append(f"{other}:")
            self.put(f"xor.b32 %v{d}, %v{d}, 5;\n    barrier.sync {which}, {n};")
            self.lines.append(f"{end}:")
        elif kind == 6 and self.warps > 1:   # warp 0 arrives, the others wait
            end, wait = self.label(), self.label()
            self.put(f"st.shared.u32 [%s1], %v{a};\n    setp.ge.u32 %c54, %s0, 32;\n    @%c54 bra {wait};\n    bar.arrive 3, {n};\n    bra {end};")
            self.lines.append(f"{wait}:")
            self.put(f"bar.sync 3, {n};\n    and.b32 %t0, %s0, 31;\n    mad.lo.u32 %t0, %t0, 8, %s4;\n    ld.shared.u32 %v{d}, [%t0];")
            self.lines.append(f"{end}:")
            self.put("bar.sync 0;")
        else:
            self.put(f"bar.sync {r.randrange(16)};")

    def observe(self):
        if self.kind == 7:
            self.put("activemask.b32 %t0;\n    mad.lo.u32 %o0, %o0, 0x01000193, %t0;")

    # One statement. together: the lanes known to be here (an operand, None: unknown); cta: all threads are.
    def statement(self, depth, together, cta):
        r, kind = self.random, self.kind
        t = r.random()
        divide = {0: .04, 1: .06, 2: .34, 3: .15, 4: .15, 5: .12, 6: .08, 7: .34}[kind]
        collect = .14 if together else 0
        calls = {3: .2, 4: .2, 7: .12}.get(kind, .02 if self.functions else 0) if self.functions and depth < 3 else 0
        barriers = {5: .3, 0: .05, 1: .05}.get(kind, .05) if cta else 0
        matrix = .3 if kind == 6 and together == "0xffffffff" else 0
        for weight, action in ((divide if depth < 3 else 0, lambda: self.divided(depth, together)), (collect, lambda: self.collective(together)),
                               (calls, self.call), (barriers, self.barrier), (matrix, self.matrix), (.16, self.memory)):
            if t < weight:
                return action()
            t -= weight
        self.arithmetic()

    def block_of(self, depth, together, cta, most):
        for _ in range(self.random.randint(1, most)):
            self.statement(depth, together, cta)

    def divided(self, depth, together):
        r = self.random
        shape = r.randrange(6)
        c, a, d = 2 + depth * 8, r.randrange(8), r.randrange(8)
        self.put(r.choice([f"setp.lt.u32 %c{c}, %v{a}, {self.constant()};", f"and.b32 %t0, %s5, {r.randrange(1, 32)};\n    setp.eq.u32 %c{c}, %t0, 0;",
                           f"and.b32 %t0, %v{a}, {r.randrange(1, 8)};\n    setp.ne.u32 %c{c}, %t0, 0;", f"mov.pred %c{c}, %z{r.randrange(8)};"]))
        end = self.label()
        if shape == 0 or shape == 1:      # if, or if and else; the lanes of each side are known where they came together
            mask = other_mask = None
            if together and r.random() < .7:
                mask, other_mask = f"%n{2 * self.masks % 40}", f"%n{(2 * self.masks + 1) % 40}"
                self.masks += 1
                self.put(f"vote.sync.ballot.b32 {mask}, %c{c}, {together};")
                self.put(f"not.b32 {other_mask}, {mask};\n    and.b32 {other_mask}, {other_mask}, {together};")
            other = self.label()
            self.put(f"@!%c{c} bra {other if shape else end};")
            self.observe()
            self.block_of(depth + 1, mask, False, 4)
            if shape:
                self.put(f"bra {end};")
                self.lines.append(f"{other}:")
                self.block_of(depth + 1, other_mask, False, 4)
                self.observe()
        elif shape == 2 or shape == 3:    # a loop of each lane's own length, with another way out
            head, n = self.label(), 20 + depth
            self.put(f"and.b32 %t{n}, %v{a}, {r.choice([1, 3, 3, 7])};")
            self.lines.append(f"{head}:")
            self.observe()
            self.block_of(depth + 1, None, False, 3)
            if shape == 3:
                self.put(f"setp.eq.u32 %c{c + 1}, %v{d}, %t{n};\n    @%c{c + 1} bra {end};")
            self.block_of(depth + 1, None, False, 2)
            self.put(f"sub.u32 %t{n}, %t{n}, 1;\n    setp.ge.s32 %c{c + 1}, %t{n}, 0;\n    @%c{c + 1} bra {head};")
        elif shape == 4:                  # a switch
            arms = [self.label() for _ in range(r.randint(2, 5))]
            table = self.label()
            self.put(f"rem.u32 %t1, %v{a}, {len(arms)};\n    {table}: .branchtargets {', '.join(arms)};\n    brx.idx %t1, {table};")
            for arm in arms:
                self.lines.append(f"{arm}:")
                self.block_of(depth + 1, None, False, 2)
                self.observe()
                if r.random() < .8:
                    self.put(f"bra {end};")
        else:                             # a branch into the other side
            middle, other = self.label(), self.label()
            self.put(f"@%c{c} bra {other};")
            self.block_of(depth + 1, None, False, 2)
            self.put(f"setp.gt.u32 %c{c + 1}, %v{d}, {self.constant()};\n    @%c{c + 1} bra {middle};")
            self.block_of(depth + 1, None, False, 2)
            self.put(f"bra {end};")
            self.lines.append(f"{other}:")
            self.block_of(depth + 1, None, False, 2)
            self.lines.append(f"{middle}:")
            self.observe()
            self.block_of(depth + 1, None, False, 2)
        self.lines.append(f"{end}:")
        self.observe()
        if together and r.random() < .5:
            self.put(f"bar.warp.sync {together};")

    def call(self, level="%s6"):
        name = self.random.choice(self.functions)
        inside = self.in_function
        self.put("{ .param .b32 a0; .param .b32 a1; .param .b32 a2; .param .b32 a3; .param .b32 a4; .param .b32 a5; .param .b32 a6; .param .align 8 .b8 r[24];")
        for i, v in enumerate(PASS):
            self.put(f"st.param.b32 [a{i}], %{v};")
        self.put(f"st.param.b32 [a6], {level if inside else '%s7'};")
        self.put(f"call (r), {name}, (a0, a1, a2, a3, a4, a5, a6);")
        for i, v in enumerate(PASS):
            self.put(f"ld.param.b32 %{v}, [r+{4 * i}];")
        self.put("}")
        self.observe()

    def matrix(self):
        r = self.random
        d, a, b, f = r.randrange(5), r.randrange(5), r.randrange(7), r.randrange(4)
        fr = "{%f0, %f1, %f2, %f3}"
        ir = f"{{%v{d}, %v{d + 1}, %v{d + 2}, %v{d + 3}}}"
        ar, br = f"{{%v{a}, %v{a + 1}, %v{a + 2}, %v{a + 3}}}", f"{{%v{b}, %v{b + 1}}}"
        half = f"{{%v{a}, %v{a + 1}}}"
        forms = [
            (75, f"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {fr}, {half}, {{%v{b}}}, {fr};"),
            (75, f"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {half}, {half}, {{%v{b}}}, {half};"),
            (75, f"mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {half}, {{%v{b}}}, {{%v{d}}}, {half};"),
            (75, f"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {half}, [%t30];"), (75, f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {ar}, [%t30];"),
            (75, f"movmatrix.sync.aligned.m8n8.trans.b16 %v{d}, %v{a};"),
            (80, f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {fr}, {ar}, {br}, {fr};"), (80, f"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {fr}, {ar}, {br}, {fr};"),
            (80, f"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {fr}, {ar}, {br}, {fr};"), (80, f"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {ir}, {ar}, {br}, {ir};"),
            (80, f"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {ir}, {ar}, {br}, {ir};"),
            (80, f"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {ir}, {ar}, {br}, {ir};"), (80, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e0, %e1}, {%e0}, {%e1}, {%e0, %e1};"),
            (80, f"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {half}, {ar}, {br}, {half};"),
            (90, f"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%t30], {half};\n    bar.warp.sync 0xffffffff;"),
        ]
        at, text = r.choice(forms)
        if at <= self.sm:
            if "matrix" in text and "%t30" in text:   # each warp has 512 bytes for itself
                self.put(f"and.b32 %t30, %s5, 31;\n    mad.lo.u32 %t30, %t30, 16, %s6;")
                self.put(f"st.shared.v4.u32 [%t30], {{%v0, %v{a}, %v{b}, %v7}};\n    bar.warp.sync 0xffffffff;")
                text += "\n    bar.warp.sync 0xffffffff;"
            self.put(text)

    # ---- functions and the kernel
    def prologue(self):
        self.put("mov.u32 %s0, %tid.x;\n    mov.u32 %s5, %laneid;\n    mov.u32 %s4, words;\n    mad.lo.u32 %s1, %s0, 8, %s4;\n    mov.u32 %s3, sums;")
        self.put("mov.u32 %s2, array;")

    def set_rest(self):
        self.put("mul.lo.u32 %v5, %v0, %v1;\n    xor.b32 %v6, %v2, 0x5bd1e995;\n    add.u32 %v7, %v3, %v4;\n    cvt.rn.f32.s32 %f0, %v0;\n    mov.b32 %f1, %v1;")
        self.put("mov.b32 %f2, 0f3fc00000;\n    cvt.rn.f32.u32 %f3, %v3;\n    mov.b64 %d0, {%v0, %v2};\n    mov.b64 %d1, {%v1, %v4};\n    mul.wide.u32 %d2, %v3, %v0;")
        self.put("cvt.f64.f32 %e0, %f0;\n    cvt.rn.f64.s32 %e1, %v1;")
        for i in range(8):
            self.put(f"bfe.u32 %t0, %v{i}, {3 * i % 32}, 1;\n    setp.eq.u32 %z{i}, %t0, 1;")

    def function(self, name, recursive):
        self.lines.append(f".func (.param .align 8 .b8 r_[24]) {name}(" + ", ".join(f".param .b32 p{i}" for i in range(7)) + ")\n{")
        self.lines.append(REGISTERS + "    .local .align 16 .b8 array[64];")
        self.in_function = True
        self.prologue()
        for i, v in enumerate(PASS):
            self.put(f"ld.param.b32 %{v}, [p{i}];")
        self.put("ld.param.b32 %s6, [p6];\n    ld.global.u64 %p0, [where];")
        self.put(f"mov.u64 %p2, spare;\n    mov.u32 %t0, %ctaid.x;\n    mad.lo.u32 %t0, %t0, {self.apart}, %s0;\n    mul.wide.u32 %a0, %t0, 8;\n    add.u64 %p2, %p2, %a0;")
        for i in range(8):
            self.put(f"st.local.v2.u32 [array+{8 * i}], {{%v{i % 5}, %v{(i + 1) % 5}}};")
        self.set_rest()
        self.observe()
        self.block_of(1, None, False, 5)
        if recursive:
            r, end = self.random, self.label()
            saved, self.functions = self.functions, [name]
            self.put(f"setp.eq.u32 %c48, %s6, 0;\n    @%c48 bra {end};\n    sub.u32 %s6, %s6, 1;")
            self.observe()
            shape = r.randrange(5)
            if shape == 0:
                self.call()
            elif shape == 1:      # from two places
                other = self.label()
                self.put(f"and.b32 %t0, %v{r.randrange(5)}, {r.randrange(1, 8)};\n    setp.eq.u32 %c49, %t0, 0;\n    @%c49 bra {other};")
                self.call()
                self.put(f"bra {end};")
                self.lines.append(f"{other}:")
                self.observe()
                self.call()
            elif shape == 2:      # not by all
                self.put(f"and.b32 %t0, %v{r.randrange(5)}, {r.randrange(1, 8)};\n    setp.eq.u32 %c49, %t0, 0;\n    @%c49 bra {end};")
                self.call()
            elif shape == 3:      # twice
                self.call()
                self.put("shr.u32 %s6, %s6, 1;")
                self.call()
            else:                 # in a loop
                head = self.label()
                self.put(f"and.b32 %t39, %v{r.randrange(5)}, 1;")
                self.lines.append(f"{head}:")
                self.call()
                self.put(f"shr.u32 %s6, %s6, 1;\n    sub.u32 %t39, %t39, 1;\n    setp.ge.s32 %c49, %t39, 0;\n    @%c49 bra {head};")
            self.block_of(1, None, False, 3)
            self.functions = saved
            self.lines.append(f"{end}:")
            self.observe()
        for i, v in enumerate(PASS):
            self.put(f"st.param.b32 [r_+{4 * i}], %{v};")
        self.put("ret;\n}")
        self.in_function = False
        self.functions.append(name)

    def body(self):
        r = self.random
        for _ in range(r.randint(8, 22)):
            self.statement(0, "0xffffffff", True)
            self.observe()
            if r.random() < .3:
                self.put("bar.warp.sync 0xffffffff;")

    def text(self):
        r = self.random
        head = HEAD.format(arch=self.arch) + "\n"
        head += ".global .align 8 .u64 where;\n.global .align 8 .b8 spare[4096];\n"
        head += f".shared .align 16 .b8 words[{max(1024, 8 * self.block)}];\n.shared .align 16 .b8 sums[256];\n.shared .align 16 .b8 tiles[{max(2048, 512 * self.warps)}];\n"
        if self.kind in (3, 4, 7, 8) or r.random() < .2:
            for i in range(r.randint(1, 2)):
                self.function(f"f{i}", self.kind == 4 or (self.kind == 7 and i == 0) or r.random() < .2)
        self.lines.append(".entry k(.param .u64 out_, .param .u64 in_)\n{")
        self.lines.append(REGISTERS + "    .local .align 16 .b8 array[64];")
        self.prologue()
        self.put("ld.param.u64 %p1, [out_];\n    ld.param.u64 %p0, [in_];\n    cvta.to.global.u64 %p1, %p1;\n    cvta.to.global.u64 %p0, %p0;")
        self.put(f"st.global.u64 [where], %p0;\n    mov.u64 %p2, spare;\n    mov.u32 %t0, %ctaid.x;\n    mad.lo.u32 %t1, %t0, {self.apart}, %s0;\n    mul.wide.u32 %a0, %t1, 8;\n    add.u64 %p2, %p2, %a0;")
        self.put(f"mov.u64 %d0, 0;\n    st.global.u64 [%p2], %d0;\n    st.shared.u64 [%s1], %d0;\n    mad.lo.u32 %t1, %t0, {self.block}, %s0;\n    mul.wide.u32 %a1, %t1, 32;")
        self.put("add.u64 %p1, %p1, %a1;\n    add.u64 %a2, %p0, %a1;\n    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%a2+4096];\n    ld.global.u32 %v4, [%a2+4112];\n    mov.u32 %o0, 0;")
        self.put("shr.u32 %t0, %s0, 5;\n    mov.u32 %s6, tiles;\n    mad.lo.u32 %s6, %t0, 512, %s6;")
        depth = r.choice([1, 3, 3, 3]) if self.kind in (4, 7) else 2
        self.put(f"shr.u32 %s7, %v3, 9;\n    and.b32 %s7, %s7, {depth};")
        for i in range(8):
            self.put(f"st.local.v2.u32 [array+{8 * i}], {{%v{i % 5}, %v{(i + 2) % 5}}};")
        self.set_rest()
        end = self.label()
        self.put(f"and.b32 %t0, %s0, 31;\n    mad.lo.u32 %t0, %t0, 8, %s3;\n    mov.u64 %d0, 0;\n    st.shared.u64 [%t0], %d0;\n    bar.sync 0;")
        self.body()
        self.put("bar.sync 0;\n    and.b32 %t0, %s0, 63;\n    mad.lo.u32 %t0, %t0, 4, %s3;\n    ld.shared.u32 %t1, [%t0];\n    xor.b32 %v7, %v7, %t1;\n    ld.shared.u32 %t1, [%s1];\n    xor.b32 %v6, %v6, %t1;")
        self.put("ld.global.u32 %t1, [%p2];\n    ld.local.u32 %t2, [array+20];\n    add.u32 %v5, %v5, %t1;\n    xor.b32 %v4, %v4, %t2;")
        self.put("mov.b64 {%t3, %t4}, %d0;\n    mad.lo.u32 %v0, %v0, 0x01000193, %t3;\n    xor.b32 %v0, %v0, %t4;\n    mov.b64 {%t3, %t4}, %d1;\n    mad.lo.u32 %v1, %v1, 0x01000193, %t3;\n    xor.b32 %v1, %v1, %t4;")
        self.put("mov.b32 %t3, %f0;\n    mad.lo.u32 %v2, %v2, 0x01000193, %t3;\n    mov.b32 %t3, %f1;\n    xor.b32 %v2, %v2, %t3;\n    mov.b32 %t3, %f2;\n    mad.lo.u32 %v3, %v3, 0x01000193, %t3;\n    mov.b64 {%t3, %t4}, %e0;\n    xor.b32 %v4, %v4, %t3;\n    xor.b32 %v3, %v3, %t4;")
        for i in range(8):
            self.put(f"@%z{i} xor.b32 %v{7 - i}, %v{7 - i}, {1 << i};")
        if self.kind in (7, 8):
            self.put("mov.b32 %v7, %o0;")
        self.put("st.global.v4.u32 [%p1], {%v0, %v1, %v2, %v3};\n    st.global.v4.u32 [%p1+16], {%v4, %v5, %v6, %v7};\n    ret;\n}")
        return head + "\n".join(self.lines) + "\n"


def program(seed, arch="sm_90"):
    p = Program(seed, arch)
    text = p.text()
    return text, p.grid, p.block


if __name__ == "__main__":
    import sys
    print(program(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "sm_90")[0], end="")
