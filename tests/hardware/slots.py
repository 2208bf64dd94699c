# SPDX-License-Identifier: Apache-2.0
"""Slots: cubins that run one instruction word after another and show everything that each one changed.

Here: the layout of a slot's memory, the operands (a counter-based hash; replay_test.cpp computes the same
ones) and the patched image. Not here: which words run (instances) and how they run (record.py).

A slot loads R0..R207, P0..P6, UR0..UR58 and UP0..UP6 of its warp, runs the word, waits far longer than any
latency, and stores the same set. The helper instructions are the encodings that ptxas gives to our own kernels,
with other registers in them. `slots.py --template` makes the image to patch (needs ptxas 13.0).
"""
import gzip
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATE = os.path.join(HERE, "template.cubin.gz")

SLOTS = 128            # words of one image
WARPS = 32             # operand sets: one block of one warp each
REGISTERS = 208        # R0.. that a slot loads and stores
UNIFORM = 59           # UR0..
QUADS = REGISTERS // 4
AT_PREDICATES = QUADS * 512            # after the registers: [quad][lane][4 words]
AT_UNIFORM = AT_PREDICATES + 512       # 64 words: UR0..UR58, word 60 the uniform predicates
IN_STRIDE = 32768                      # operands of one warp
OUT_SLOT = 0x6c00                      # results of one slot
OUT_STRIDE = SLOTS * OUT_SLOT          # results of one warp
ROWS = REGISTERS + 3                   # + predicates, UR0..31, UR32..58 with the uniform predicates in lane 28
CONSTANT = 0x220                       # c[0x0][CONSTANT..] holds CONSTANTS words of operands
CONSTANTS = 256
PARAMETERS = 16 + 4 * CONSTANTS
NOPS = 40
LENGTH = 360           # instructions of a slot


# --- operands ------------------------------------------------------------------------------------------------------

SPECIAL32 = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, 0x3f800000,
    0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff,
    0xffffffff, 0x7f800001, 0xff800001, 0x7fa12345, 0xffd54321, 0x40000000, 0x3f000000, 0x3effffff, 0x4b000000, 0x4b800001,
    0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x477fe000,
    0x477ff000, 0x47800000, 0x38800000, 0x387fc000, 0x33000000, 0x33000001, 0x3fc00000, 0x40200000, 0xbfc00000, 0x43e00000,
    0x43e80000, 0x42fe0000, 0x437f8000, 0x46fffe00, 0x477fff00, 0x00400000, 0x00000100, 0x3f808000, 0x3f818000, 0x3f801000,
    0x3f803000, 0x40490fdb, 0x7e800000, 0x01000000]
SPECIAL16 = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
    0x7e00, 0xfe00, 0x7fff, 0xffff, 0x7c01, 0xfd55, 0x4000, 0x3800, 0x3e00, 0x6400, 0x6401, 0x0200, 0x7800, 0x1400, 0x3f80, 0xbf80,
    0x7f80, 0xff80, 0x7fc0, 0x7f81, 0x7f7f, 0xff7f, 0x0080, 0x007f, 0x4f00, 0xcf00, 0x5800, 0x57ff, 0xd800, 0x7b00, 0x3fc0, 0x2e66]
SPECIAL64 = [
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x8010000000000001,
    0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7fffffffffffffff, 0x7ff0000000000001,
    0xfff4000012345678, 0x4000000000000000, 0x3fe0000000000000, 0x41e0000000000000, 0x41dfffffffc00000, 0xc1e0000000000000,
    0x41efffffffe00000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x47efffffe0000000, 0x47effffff0000000,
    0x3810000000000000, 0x380fffffffffffff, 0x36a0000000000000, 0x3690000000000001, 0x3ff0000010000000, 0x3ff0000030000000]
SPECIAL_INTEGER = [
    0, 1, 0xffffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0x7ffffffe, 2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256,
    0x7fff, 0x8000, 0xffff, 0x10000, 0x7fff7fff, 0x80008000, 0x00ff00ff, 0xff00ff00, 0x7f7f7f7f, 0x80808080, 0x01010101,
    0x55555555, 0xaaaaaaaa]
# Per kind of warp, how many of 16 values are of each class.
CLASSES = ["raw", "special32", "moderate32", "wide32", "tiny32", "near32", "half", "special_half", "bfloat", "double",
           "special_double", "small", "special_integer", "bytes"]
FLAVOURS = [
    # raw s32 m32 w32 t32 n32 hlf s16 bfl dbl s64 sml int byt
    (2, 2, 2, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1),
    (0, 2, 7, 2, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 10, 3, 3, 0, 0, 0, 0, 0),
    (1, 0, 0, 0, 0, 0, 0, 0, 0, 11, 4, 0, 0, 0),
    (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 5, 2),
    (16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 10, 0, 1, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 3, 6, 7, 0, 0, 0, 0, 0)]
SEED = 0x5a55e3b1c0de2026


def mix(x, np):
    """The finaliser of splitmix64 (Steele, Lea, Flood 2014) over uint64 arrays."""
    x = x ^ x >> np.uint64(30)
    x = x * np.uint64(0xbf58476d1ce4e5b9)
    x = x ^ x >> np.uint64(27)
    x = x * np.uint64(0x94d049bb133111eb)
    return x ^ x >> np.uint64(31)


def values(warp, row, lane, np):
    """The operands of (warp, row, lane), broadcast; uint32."""
    u = np.uint64
    warp, row, lane = (np.asarray(v, dtype=u) for v in (warp, row, lane))

    def draw(r):
        return mix((warp << u(32) | r << u(8) | lane) * u(0x9e3779b97f4a7c15) + u(SEED), np)
    with np.errstate(over="ignore"):
        h = draw(row)
        pair = draw((row >> u(1)) + u(4096))        # what both halves of a 64-bit value share
        near = draw(row * u(0) + u(8192))           # what all registers of a lane share
    warp, row, h, pair, near = np.broadcast_arrays(warp, row, h, pair, near)
    raw = h >> u(32)
    k = h >> u(8) & u(0xffffff)
    odd = (row & u(1)).astype(bool)

    def table(t, index):
        return np.array(t, dtype=u)[(index % u(len(t))).astype(np.int64)]

    def moderate(bits):
        return (bits & u(0x80000000)) | (u(123) + (bits >> u(23) & u(7))) << u(23) | (
            bits & np.where(bits & u(0x40000000), u(0x7fffff), u(0x7c0000)))

    def half(bits):
        return (bits & u(0x8000)) | (u(11) + (bits >> u(10) & u(7))) << u(10) | (bits & u(0x3ff))

    def brain(bits):
        return (bits & u(0x8000)) | (u(124) + (bits >> u(7) & u(7))) << u(7) | (bits & u(0x7f))
    double_high = (pair >> u(32) & u(0x800fffff)) | (u(1019) + (pair >> u(4) & u(7))) << u(20)
    double_low = np.where(pair & u(1), pair * u(5) & u(0xffffffff), (pair >> u(8) & u(1)) << u(29))
    special_double = table(SPECIAL64, pair >> u(8) & u(0xffffff))
    wide = np.where((raw >> u(23) & u(255)) == u(255), raw ^ u(0x00800000), raw)
    out = {
        "raw": raw,
        "special32": table(SPECIAL32, k),
        "moderate32": moderate(raw),
        "wide32": wide,
        "tiny32": raw & u(0x80ffffff),
        "near32": ((moderate(near >> u(32)) + k % u(5) - u(2)) ^ (raw & u(0x80000000))) & u(0xffffffff),
        "half": half(raw & u(0xffff)) | half(raw >> u(16)) << u(16),
        "special_half": table(SPECIAL16, k & u(0xfff)) | table(SPECIAL16, k >> u(12)) << u(16),
        "bfloat": brain(raw & u(0xffff)) | brain(raw >> u(16)) << u(16),
        "double": np.where(odd, double_high, double_low),
        "special_double": np.where(odd, special_double >> u(32), special_double & u(0xffffffff)),
        "small": np.where(k & u(8), u(0) - (raw & u(15)), raw & u(63)) & u(0xffffffff),
        "special_integer": table(SPECIAL_INTEGER, k),
        "bytes": (raw & u(0x0f0f0f0f)) | (k & u(0xff)) << u(24),
    }
    result = np.zeros(h.shape, dtype=u)
    for flavour, shares in enumerate(FLAVOURS):
        of_flavour = warp % u(len(FLAVOURS)) == u(flavour)
        # A pair of registers draws one class, so that doubles are whole.
        ticket = pair >> u(60)
        first = 0
        for name, share in zip(CLASSES, shares):
            chosen = of_flavour & (ticket >= u(first)) & (ticket < u(first + share))
            result = np.where(chosen, out[name], result)
            first += share
    return result.astype(np.uint32)


def operands(np):
    """All rows [warp][row][lane] as uint32: registers, predicates, two uniform rows."""
    warp = np.arange(WARPS).reshape(-1, 1, 1)
    rows = values(warp, np.arange(ROWS).reshape(1, -1, 1), np.arange(32).reshape(1, 1, -1), np)
    rows[:, REGISTERS, :] &= 0x7f
    rows[:, REGISTERS + 2, UNIFORM - 32:] = 0
    up = values(np.arange(WARPS), ROWS, 0, np) & np.uint32(0x7f)
    rows[:, REGISTERS + 2, 60 - 32] = up
    return rows


def constants(np):
    i = np.arange(CONSTANTS)
    return values(8 * 1000, 8 * (i // 256) + 0, i % 256, np)


def memory_image(rows, np):
    """The operands as the slots read them: one IN_STRIDE per warp."""
    image = np.zeros((WARPS, IN_STRIDE // 4), dtype=np.uint32)
    image[:, :AT_PREDICATES // 4] = rows[:, :REGISTERS].reshape(WARPS, QUADS, 4, 32).transpose(0, 1, 3, 2).reshape(WARPS, -1)
    image[:, AT_PREDICATES // 4:AT_PREDICATES // 4 + 128:4] = rows[:, REGISTERS]
    uniform = np.concatenate([rows[:, REGISTERS + 1], rows[:, REGISTERS + 2]], axis=1)
    up = uniform[:, 60].copy()
    uniform[:, 60] = 0
    for i in range(7):  # one word for each uniform predicate, which UISETP compares with zero
        image[:, AT_UNIFORM // 4 + 64 + i] = up >> np.uint32(i) & np.uint32(1)
    image[:, AT_UNIFORM // 4:AT_UNIFORM // 4 + 64] = uniform
    return image


def rows_of(results, np):
    """Rows [warp][slot][row][lane] of what the slots stored, uint32 [warp][slot][OUT_SLOT / 4]."""
    slots = results.shape[1]
    rows = np.empty((WARPS, slots, ROWS, 32), dtype=np.uint32)
    rows[:, :, :REGISTERS] = results[:, :, :AT_PREDICATES // 4].reshape(WARPS, slots, QUADS, 32, 4).transpose(0, 1, 2, 4, 3).reshape(
        WARPS, slots, REGISTERS, 32)
    rows[:, :, REGISTERS] = results[:, :, AT_PREDICATES // 4:AT_PREDICATES // 4 + 128:4]
    uniform = results[:, :, AT_UNIFORM // 4:AT_UNIFORM // 4 + 64].copy()
    uniform[:, :, [59, 61, 62, 63]] = 0
    rows[:, :, REGISTERS + 1:] = uniform.reshape(WARPS, slots, 2, 32)
    return rows


# --- code ----------------------------------------------------------------------------------------------------------

def word(low, high, stall=15, write=7, read=7, wait=0):
    """An instruction without control bits, and its control bits: stall cycles (as W15EG, the longest form), scoreboards."""
    high &= (1 << 41) - 1
    control = stall | write << 5 | read << 8 | wait << 11
    return struct.pack("<QQ", low, high | control << 41)


def nop(wait=0):
    return word(0x0000000000007918, 0, wait=wait)


def load(register, base, offset):  # LDG.E.128 R, desc[UR60][base.64+offset]
    return word(0x7981 | register << 16 | base << 24 | 60 << 32 | (offset & 0xffffff) << 40, 0x0c1e1d00, stall=4, write=0)


def store(register, base, offset):  # STG.E.128 desc[UR60][base.64+offset], R
    return word(0x7986 | base << 24 | register << 32 | (offset & 0xffffff) << 40, 0x0c101d00 | 60, stall=4, read=1)


def move_uniform(register, uniform):  # MOV R, UR
    return word(0x7c02 | register << 16 | uniform << 32, 0x08000f00)


IN_LANE, OUT_LANE, IN_WARP, OUT_WARP = 240, 242, 244, 246


def bases():
    def wide(d, a, factor, c):  # IMAD.WIDE.U32 d, a, factor, c
        return word(0x7825 | d << 16 | a << 24 | factor << 32, 0x078e0000 | c)
    return b"".join([
        word(0x0000000000007919 | 250 << 16, 0x2100, write=0),                     # S2R R250, SR_TID.X
        word(0x0000000000007919 | 251 << 16, 0x2500, write=0),                     # S2R R251, SR_CTAID.X
        word(0x00000000ff007b82 | IN_LANE << 16 | 0x210 << 38, 0x0a00, write=0),   # LDC.64 c[0x0][0x210]
        word(0x00000000ff007b82 | OUT_LANE << 16 | 0x218 << 38, 0x0a00, write=0),  # LDC.64 c[0x0][0x218]
        word(0x0000000000007ab9 | 60 << 16 | 0x208 << 38, 0x0a00),                 # ULDC.64 UR60, c[0x0][0x208]
        nop(wait=0x3f), nop(),
        wide(IN_WARP, 251, IN_STRIDE, IN_LANE), wide(OUT_WARP, 251, OUT_STRIDE, OUT_LANE), nop(),
        wide(IN_LANE, 250, 16, IN_WARP), wide(OUT_LANE, 250, 16, OUT_WARP), nop()])


def slot(index, tested):
    """The code of slot `index` around the 16 bytes `tested`."""
    code = [bases()]
    # Uniform predicates, then uniform registers, by way of R0..R71.
    code += [load(4 * i, IN_WARP, AT_UNIFORM + 16 * i) for i in range(18)] + [nop(wait=0x3f)]
    code += [word(0x72ca | i << 16 | (64 + i) << 24, 0x0e0000) for i in range(7)] + [nop()] * 3          # R2UR URi, R(64+i)
    code += [word(0x728c | i << 24 | 0x3f << 32, 0x0bf05070 | i << 17) for i in range(7)] + [nop()] * 2  # UISETP.NE.U32.AND UPi, UPT, URi, URZ, UPT
    code += [word(0x72ca | i << 16 | i << 24, 0x0e0000) for i in range(UNIFORM)] + [nop()] * 3           # R2UR URi, Ri
    code += [load(0, IN_LANE, AT_PREDICATES), nop(wait=0x3f)]
    code += [word(0x7804 | 0x7f << 32, 0), nop()]                              # R2P PR, R0, 0x7f
    code += [load(4 * q, IN_LANE, 512 * q) for q in range(QUADS)] + [nop(wait=0x3f), nop()]
    code += [tested]
    code += [nop()] * NOPS
    code += [bases()]
    out = index * OUT_SLOT
    code += [store(4 * q, OUT_LANE, out + 512 * q) for q in range(QUADS)] + [nop(wait=0x3f)]
    code += [move_uniform(i, i) for i in range(UNIFORM)]
    code += [word(0x7883 | 0x3f << 24 | 0x7f << 32, 0x08000000), nop(), move_uniform(60, 0)]  # UP2UR UR0, UPR, URZ, 0x7f
    code += [word(0x7803 | 64 << 16 | 0xff << 24 | 0x7f << 32, 0), nop()]            # P2R R64, PR, RZ, 0x7f
    code += [store(4 * i, OUT_WARP, out + AT_UNIFORM + 16 * i) for i in range(16)]
    code += [store(64, OUT_LANE, out + AT_PREDICATES), nop(wait=0x3f)]
    text = b"".join(code)
    if len(text) > 16 * LENGTH:
        raise ValueError("a slot has %d instructions" % (len(text) // 16))
    return text + nop() * (LENGTH - len(text) // 16)




# --- the image -----------------------------------------------------------------------------------------------------

def sections(image):
    """Name -> (header offset, file offset, size) of an ELF64 image."""
    table, = struct.unpack_from("<Q", image, 40)
    count, names = struct.unpack_from("<HH", image, 60)
    header = [struct.unpack_from("<IIQQQQ", image, table + 64 * i) for i in range(count)]
    strings = header[names][4]
    out = {}
    for i, h in enumerate(header):
        begin = strings + h[0]
        out[image[begin:image.index(b"\0", begin)].decode()] = (table + 64 * i, h[4], h[5])
    return out


def image_of(words):
    """A cubin whose kernel `slots` runs the words (at most SLOTS; None leaves a NOP)."""
    with gzip.open(TEMPLATE) as f:
        image = bytearray(f.read())
    where = sections(image)
    header, text, size = where[".text.slots"]
    code = []
    for i, w in enumerate(words):
        code.append(slot(i, nop() if w is None else word(w & (1 << 64) - 1, w >> 64)))
    code.append(word(0x000000000000794d, 0x03800000))  # EXIT
    code = b"".join(code)
    if len(code) > size:
        raise ValueError("the template is too small: make it again")
    code += word(0xfffffffc00fc7947, 0x0383ffff) * ((size - len(code)) // 16)  # BRA to itself
    image[text:text + size] = code
    # 255 registers: in the section's information word and in EIATTR_REGCOUNT.
    info, = struct.unpack_from("<I", image, header + 44)
    struct.pack_into("<I", image, header + 44, (info & 0xffffff) | 255 << 24)
    _, at, size = where[".nv.info"]
    end = at + size
    while at < end:
        form, attribute, length = struct.unpack_from("<BBH", image, at)
        if form == 4 and attribute == 0x2f:
            struct.pack_into("<I", image, at + 8, 255)
        at += 4 + (length if form == 4 else 0)
    return bytes(image)


def make_template():
    count = SLOTS * LENGTH + 8
    lines = [".version 8.0", ".target sm_90", ".address_size 64",
             ".visible .entry slots(.param .align 16 .b8 data[%d])" % PARAMETERS, "{", ".reg .u64 %rd<3>;", ".reg .u32 %r<2>;",
             "ld.param.u64 %rd1, [data];", "mov.u32 %r1, 1;"]
    lines += ["st.volatile.global.u32 [%%rd1+%d], %%r1;" % (4 * (i % 1024)) for i in range(count)]
    lines += ["ret;", "}"]
    with tempfile.TemporaryDirectory() as work:
        source, target = os.path.join(work, "t.ptx"), os.path.join(work, "t.cubin")
        with open(source, "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run(["ptxas", "-arch=sm_90", source, "-o", target], check=True)
        with open(target, "rb") as f:
            image = bytearray(f.read())
    _, text, size = sections(image)[".text.slots"]
    image[text:text + size] = bytes(size)
    with open(TEMPLATE, "wb") as f:
        f.write(gzip.compress(bytes(image), 9, mtime=0))


if __name__ == "__main__":
    if sys.argv[1:] == ["--template"]:
        make_template()
    elif len(sys.argv) >= 4 and sys.argv[1] == "--image":  # --image OUT.cubin WORD...: to look at
        with open(sys.argv[2], "wb") as f:
            f.write(image_of([int(w, 16) for w in sys.argv[3:]]))
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
