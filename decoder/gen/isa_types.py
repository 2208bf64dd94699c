# SPDX-License-Identifier: Apache-2.0
"""What an entry turns into: forms with fields and operands, every bit position resolved; and the names that the language has
for kinds of operands, types of immediates and ALU forms."""
import re
from dataclasses import dataclass, field
from isa_parse import fail

NONE = 0xff

# Operand kinds of the tables (the order is the C enum's, see emit_tables.py).
KINDS = ["reg", "pred", "imm", "fimm", "const", "mem", "label", "enum", "text", "bar", "sb", "list"]
IMM_TYPES = ["u32", "s32", "f32", "f64", "f16x2", "bf16x2", "dec", "f16", "s32x", "tf32", "bf16"]

# Groups whose instructions have variable latency unless a `fixed` statement says otherwise.
VARIABLE_GROUPS = {"memory", "texture", "async", "branch", "call", "return", "exit", "barrier", "convergence", "fence",
                   "cache"}

# Conditions of `pseudo` lines: register RZ or immediate 0; immediate 1; immediate 2^k, k = 1..30 but not 16.
PSEUDO = ["zero", "one", "pow2"]

# Shape of the ALU operand forms: code in bits [11:9], what sits in bits [63:32], and in which letter.
ALU = {"RRR": (1, "R", "b"), "RRI": (2, "I", "c"), "RRC": (3, "C", "c"), "RIR": (4, "I", "b"),
       "RCR": (5, "C", "b"), "RUR": (6, "U", "b"), "RRU": (7, "U", "c"),
       "RXR": (5, "X", "b"), "RRX": (3, "X", "c")}


@dataclass
class Field:
    name: str
    enum: object              # Enum or None for a literal
    bits: list                # bit positions, most significant first
    printed: bool
    literal: str = None
    when: tuple = None        # (field name, frozenset of raw values)
    flag: bool = False
    where: str = ""
    pseudo: list = None       # [(operand name, predicate)]: literal printed when all hold, first such line wins


@dataclass
class Operand:
    name: str
    kind: str
    where: str
    file: str = "R"
    pos: int = NONE
    length: int = 0
    neg: int = NONE
    abs: int = NONE
    inv: int = NONE
    reuse: int = NONE
    width: int = 1
    width_field: str = None
    width_factor: str = None  # a second field, whose weight multiplies
    align: int = 1
    suffix: str = None
    when: tuple = None
    optional: bool = False
    write: bool = False
    read: bool = False
    type: str = "u32"
    scale: int = 0
    enum: object = None
    text: str = ""
    separator: str = None
    enum_bits: list = field(default_factory=list)
    default: int = None
    # memory parts
    ureg: int = NONE
    ureg_len: int = 0
    desc: int = NONE
    desc_if: str = None
    ext: str = None
    off: int = NONE
    off_len: int = 0
    off_signed: bool = False
    prefix: str = ""
    flags: set = field(default_factory=set)
    bank: int = NONE
    bank_len: int = 0


@dataclass
class Form:
    family: str
    entry: object
    opcode: int
    mask: int
    value: int
    fields: list
    operands: list
    sem: dict
    denies: list
    uniform_guard: bool
    variable: bool = False    # variable latency: completion through scoreboards; such operands have no reuse cache
    reuse_mask: int = 0       # bits [124:122] that may be set
    no_scoreboard: int = 0    # 1: no write barrier, 2: no read barrier may be named
    scoreboard: str = ""      # the assembler's default scoreboard
    stall: int = 0            # least stall cycles that the assembler accepts
    fills: tuple = ()         # (high, low, value): what the assembler writes to bits that nothing else decides


def bit_list(text, where):
    """'79:78' or '80,76' -> [79,78] / [80,76], most significant first."""
    out = []
    for p in text.split(","):
        m = re.match(r"(\d+)(?::(\d+))?$", p)
        if not m:
            fail(where, f"bad bit range '{text}'")
        hi, lo = int(m[1]), int(m[2] or m[1])
        if lo > hi:
            fail(where, f"bit range '{p}' must be high:low")
        if hi > 127:
            fail(where, f"bit {hi} is outside the word")
        out += range(hi, lo - 1, -1)
    return out


def number(text, where):
    try:
        return int(text, 0)
    except ValueError:
        fail(where, f"expected a number, got '{text}'")
