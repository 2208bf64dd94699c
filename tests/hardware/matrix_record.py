# SPDX-License-Identifier: Apache-2.0
"""Records warp matrix instructions on a GPU (sm_90): every form below on WARPS sets of operands.

  matrix_record.py --source OUT.cu          the recorder as CUDA source; needs matrix_operands.hpp beside it
  nvcc -std=c++17 -O2 -arch=sm_90 OUT.cu -o recorder && ./recorder RAW
  matrix_record.py --pack RAW RECORD        the record that matrix_replay_test reads

The record, little-endian: "SASSMM01", u32 forms, warps W, warps per block B, hashed warps H, sampled warps S; per form
u64 low, u64 high (the word; D, A, B, C, E in the registers below), u8 kind, element, accumulator, registers of a, b, c,
d, selector, u32 0; then W / B sums of warp hashes, H warp hashes, and S x d x 32 result words.
Kind: 0 product, 1 sparse product, 2 MOVM, 3 LDSM, 4 STSM (hash over shared memory, no samples).
"""
import itertools
import struct
import sys

D, A, B, C, E = 64, 32, 48, 56, 72  # registers of the word
WARPS, BLOCK, HASHED, SAMPLED = 65536, 512, 64, 4
ELEMENT = {n: i for i, n in enumerate("f16 bf16 tf32 f64 u8 s8 bit f32 s32".split())}
FORMS = []


def form(name, opcode, high, element, accumulator, a, b, c, ptx, kind=0, selector=0, low=0):
    word = opcode | 7 << 12 | D << 16 | A << 24 | B << 32 | low
    if kind <= 1:
        high |= C
        if kind == 1:
            word |= E << 40 | selector << 48
    FORMS.append(dict(name=name, low=word, high=high, kind=kind, element=element, accumulator=accumulator,
                      a=a, b=b, c=c, d=c, selector=selector, ptx=ptx))


def bits(value, *positions):
    """Spreads a value over bit positions, most significant first."""
    return sum((value >> (len(positions) - 1 - i) & 1) << (p - 64) for i, p in enumerate(positions))


def forms():
    types = [("f16", "f16", 0), ("f32", "f16", 0), ("f32", "bf16", 1), ("f32", "tf32", 2)]
    # (shape, code, registers of a, b), of 16-bit types and of tf32
    dense = {False: [("1688", 0, 2, 1), ("16816", 1, 4, 2)], True: [("1684", 2, 2, 1), ("1688", 0, 4, 2)]}
    sparse = {False: [("16816", 1, 2, 4), ("16832", 3, 4, 2)], True: [("1688", 0, 2, 4), ("16816", 1, 4, 2)]}
    for acc, t, code in types:
        suffix = ".F16" if acc == "f16" else ".F32" + {0: "", 1: ".BF16", 2: ".TF32"}[code]
        n = 2 if acc == "f16" else 4
        high = bits(acc == "f32", 76) | bits(code, 83, 82)
        for shape, s, a, b in dense[t == "tf32"]:
            k = {"1688": 8, "16816": 16, "1684": 4}[shape]
            form("HMMA.%s%s" % (shape, suffix), 0x23c, high | bits(s, 78, 75), t, acc, a, b, n,
                 "mma.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s" % (k, acc, t, t, acc))
        for shape, s, ab, selectors in sparse[t == "tf32"]:
            k = {"1688": 8, "16816": 16, "16832": 32}[shape]
            for selector in range(selectors):
                form("HMMA.SP.%s%s" % (shape, suffix), 0x23c, high | bits(s, 78, 75) | bits(1, 73), t, acc, ab, ab, n,
                     "mma.sp::ordered_metadata.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s" % (k, acc, t, t, acc), 1, selector)
    for x, y, sat in itertools.product("us", "us", (0, 1)):
        types = bits(x == "s", 76) | bits(y == "s", 78) | bits(sat, 82) | bits(1, 74)
        suffix = ".%s8.%s8%s" % (x.upper(), y.upper(), ".SAT" if sat else "")
        ptx = ".row.col%s.s32.%s8.%s8.s32" % (".satfinite" if sat else "", x, y)
        for shape, s, a, b, c, m in [("8816", 0, 1, 1, 2, "m8n8k16"), ("16816", 4, 2, 1, 4, "m16n8k16"), ("16832", 5, 4, 2, 4, "m16n8k32")]:
            form("IMMA.%s%s" % (shape, suffix), 0x237, types | bits(s, 86, 85, 75), x + "8" + y, "s32", a, b, c,
                 "mma.sync.aligned." + m + ptx)
        for shape, s, ab, selectors, m in [("16832", 5, 2, 2, "m16n8k32"), ("16864", 6, 4, 1, "m16n8k64")]:
            for selector in range(selectors):
                form("IMMA.SP.%s%s" % (shape, suffix), 0x237, types | bits(s, 86, 85, 75) | bits(1, 72), x + "8" + y, "s32", ab, ab, 4,
                     "mma.sp::ordered_metadata.sync.aligned." + m + ptx, 1, selector)
    for shape, s, a, b, c, m in [("88128", 0, 1, 1, 2, "m8n8k128"), ("168128", 1, 2, 1, 4, "m16n8k128"), ("168256", 2, 4, 2, 4, "m16n8k256")]:
        form("BMMA.%s.AND.POPC" % shape, 0x23d, bits(s, 76, 75) | bits(1, 78) | bits(1, 74) | bits(1, 80), "bit", "s32", a, b, c,
             "mma.sync.aligned." + m + ".row.col.s32.b1.b1.s32.and.popc")
    for shape, s, a, b, c, m in [("8x8x4", 0, 2, 2, 4, "m8n8k4"), ("16x8x4", 1, 4, 2, 8, "m16n8k4"), ("16x8x8", 2, 8, 4, 8, "m16n8k8"),
                                 ("16x8x16", 3, 16, 8, 8, "m16n8k16")]:
        form("DMMA.%s" % shape, 0x23f, bits(s, 77, 76), "f64", "f64", a, b, c, "mma.sync.aligned." + m + ".row.col.f64.f64.f64.f64")
    form("MOVM.16.MT88", 0x23a, 0, "u8", "s32", 1, 0, 1, "movmatrix.sync.aligned.m8n8.trans.b16", 2)
    for transposed, (count, code) in itertools.product((0, 1), ((1, 0), (2, 1), (4, 2))):
        tail = ".16.%s88%s" % ("MT" if transposed else "M", ".%d" % count if count > 1 else "")
        ptx = ".sync.aligned.m8n8.x%d%s.shared.b16" % (count, ".trans" if transposed else "")
        form("LDSM" + tail, 0x83b, bits(code, 73, 72) | bits(transposed, 78), "u8", "s32", 1, 0, count, "ldmatrix" + ptx, 3)
        form("STSM" + tail, 0x844, bits(code, 73, 72) | bits(transposed, 78), "u8", "s32", 1, count, count, "stmatrix" + ptx, 4)


def operands(element, count):
    """Types of asm operands and how the words of an operand are handed over."""
    if element == "f64":
        return count // 2, "d", "matrix_double(%s[%d], %s[%d])"
    return count, "f" if element == "f32" else "r", "__uint_as_float(%s[%d])" if element == "f32" else "%s[%d]"


def body(f):
    """Statements that leave the result in d[]."""
    acc = f["accumulator"]
    if f["kind"] == 2:
        return 'asm volatile("%s %%0, %%1;" : "=r"(d[0]) : "r"(a[0]));' % f["ptx"]
    if f["kind"] == 3:
        outs = ", ".join('"=r"(d[%d])' % i for i in range(f["d"]))
        names = ", ".join("%%%d" % i for i in range(f["d"]))
        return 'asm volatile("%s {%s}, [%%%d];" : %s : "r"(address) : "memory");' % (f["ptx"], names, f["d"], outs)
    if f["kind"] == 4:
        ins = ", ".join('"r"(b[%d])' % i for i in range(f["b"]))
        names = ", ".join("%%%d" % (i + 1) for i in range(f["b"]))
        return 'asm volatile("%s [%%0], {%s};" :: "r"(address), %s : "memory");' % (f["ptx"], names, ins)
    n, letter, _ = operands(acc if acc in ("f32", "f64") else "u32", f["d"])
    kind = {"r": "uint32_t", "f": "float", "d": "double"}[letter]
    out = ["%s r%d;" % (kind, i) for i in range(n)]
    at, lists, inputs = n, ["{%s}" % ", ".join("%%%d" % i for i in range(n))], []
    for name, element in (("a", f["element"]), ("b", f["element"]), ("c", acc)):
        count, letter_in, pattern = operands(element if element in ("f32", "f64") else "u32", f[name])
        lists.append("{%s}" % ", ".join("%%%d" % (at + i) for i in range(count)))
        at += count
        for i in range(count):
            value = pattern % ((name, 2 * i, name, 2 * i + 1) if letter_in == "d" else (name, i))
            inputs.append('"%s"(%s)' % (letter_in, value))
    tail = ""
    if f["kind"] == 1:
        tail = ", %%%d, %d" % (at, f["selector"])
        inputs.append('"r"(e)')
    outs = ", ".join('"=%s"(r%d)' % (letter, i) for i in range(n))
    out.append('asm volatile("%s %s%s;" : %s : %s);' % (f["ptx"], ", ".join(lists), tail, outs, ", ".join(inputs)))
    for i in range(n):
        if letter == "d":
            out.append("d[%d] = __double2loint(r%d); d[%d] = __double2hiint(r%d);" % (2 * i, i, 2 * i + 1, i))
        else:
            out.append("d[%d] = %s;" % (i, "__float_as_uint(r%d)" % i if letter == "f" else "r%d" % i))
    return " ".join(out)


PROLOGUE = r'''#include <cstdio>
#include <cstdlib>
#include <vector>
#include "matrix_operands.hpp"
using namespace sassemu::test;
__device__ double matrix_double(uint32_t low, uint32_t high) { return __hiloint2double(high, low); }
#define CHECK(x) do { cudaError_t e_ = (x); if (e_) { fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)
constexpr uint32_t warps_per_block = 4;
struct Form { MatrixElement ea, eb, ec; bool half; uint32_t na, nb, nc, nd, kind; };
template <int N> struct Body;
template <int N> __global__ void run(unsigned long long* hashes, uint32_t* samples, uint32_t sampled) {
    __shared__ __align__(16) uint32_t shared[warps_per_block][matrix_rows * 4];
    using B = Body<N>;
    constexpr Form f = B::form;
    const uint32_t lane = threadIdx.x % 32, local = threadIdx.x / 32, warp = blockIdx.x * warps_per_block + local;
    uint32_t a[16] = {}, b[8] = {}, c[8] = {}, d[8] = {}, e = 0, address = 0;
    for (uint32_t i = 0; i < f.na; ++i) a[i] = matrix_word(f.ea, operand_a, warp, i, lane, f.half);
    for (uint32_t i = 0; i < f.nb; ++i) b[i] = matrix_word(f.eb, operand_b, warp, i, lane, f.half);
    for (uint32_t i = 0; i < f.nc; ++i) c[i] = matrix_word(f.ec, operand_c, warp, i, lane, f.half);
    if (f.kind == 1) e = matrix_metadata(f.ea, warp, lane);
    if (f.kind >= 3) {
        for (uint32_t i = lane; i < matrix_rows * 4; i += 32) shared[local][i] = f.kind == 3 ? matrix_shared_word(warp, i) : 0;
        address = uint32_t(__cvta_generic_to_shared(shared[local])) + matrix_row_address(warp, lane);
        __syncwarp();
    }
    B::go(a, b, c, d, e, address);
    uint64_t h = 0;
    if (f.kind == 4) {
        __syncwarp();
        for (uint32_t i = lane; i < matrix_rows * 4; i += 32) h += matrix_hash(shared[local][i], i, 0);
    } else {
        for (uint32_t i = 0; i < f.nd; ++i) h += matrix_hash(d[i], i, lane);
    }
    for (int s = 16; s; s /= 2) h += __shfl_xor_sync(~0u, h, s);
    if (lane == 0) hashes[warp] = h;
    if (warp < sampled) for (uint32_t i = 0; i < f.nd; ++i) samples[(warp * f.nd + i) * 32 + lane] = d[i];
}
'''
EPILOGUE = r'''
template <int N> void record(FILE* out) {
    constexpr uint32_t warps = %(warps)d, sampled = 64;
    static unsigned long long* hashes = nullptr;
    static uint32_t* samples = nullptr;
    CHECK(cudaMalloc(&hashes, 8 * warps));
    CHECK(cudaMalloc(&samples, 4 * sampled * 8 * 32));
    CHECK(cudaMemset(samples, 0, 4 * sampled * 8 * 32));
    run<N><<<warps / warps_per_block, 32 * warps_per_block>>>(hashes, samples, sampled);
    CHECK(cudaDeviceSynchronize());
    std::vector<unsigned long long> h(warps);
    std::vector<uint32_t> s(sampled * Body<N>::form.nd * 32);
    CHECK(cudaMemcpy(h.data(), hashes, 8 * warps, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(s.data(), samples, 4 * s.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(hashes));
    CHECK(cudaFree(samples));
    fwrite(h.data(), 8, h.size(), out);
    fwrite(s.data(), 4, s.size(), out);
}
int main(int argc, char** argv) {
    FILE* out = fopen(argc > 1 ? argv[1] : "raw", "wb");
    if (!out) return 1;
    %(calls)s
    return fclose(out) != 0;
}
'''
RAW_SAMPLED = 64


def elements(f):
    e = f["element"]
    if e[0] in "us" and len(e) == 3:
        return e[:2], e[2] + "8"
    return e, e


def source(path):
    out = [PROLOGUE]
    for i, f in enumerate(FORMS):
        ea, eb = elements(f)
        out.append("// %s\ntemplate <> struct Body<%d> {\n    static constexpr Form form{element_%s, element_%s, element_%s, %s, %d, %d, %d, %d, %d};\n"
                   "    static __device__ void go(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d, uint32_t e, uint32_t address) {\n        %s\n    }\n};\n"
                   % (f["name"], i, ea, eb, f["accumulator"], "true" if ea == "f16" else "false", f["a"], f["b"],
                      f["c"] if f["kind"] <= 1 else 0, 0 if f["kind"] == 4 else f["d"], f["kind"], body(f)))
    out.append(EPILOGUE % {"warps": WARPS, "calls": "\n    ".join("record<%d>(out);" % i for i in range(len(FORMS)))})
    with open(path, "w") as file:
        file.write("".join(out))


def pack(raw, path):
    with open(raw, "rb") as file:
        data = file.read()
    at, out = 0, [b"SASSMM01", struct.pack("<5I", len(FORMS), WARPS, BLOCK, HASHED, SAMPLED)]
    for f in FORMS:
        nd = 0 if f["kind"] == 4 else f["d"]
        hashes = struct.unpack_from("<%dQ" % WARPS, data, at)
        at += 8 * WARPS
        samples = data[at:at + SAMPLED * nd * 128]
        at += RAW_SAMPLED * nd * 128
        ea, eb = elements(f)
        out.append(struct.pack("<QQ8BBBHI", f["low"], f["high"], f["kind"], ELEMENT[ea], ELEMENT[eb], ELEMENT[f["accumulator"]],
                               f["a"], f["b"], f["c"] if f["kind"] <= 1 else 0, nd, f["selector"], 0, 0, 0))
        sums = [sum(hashes[i:i + BLOCK]) & (1 << 64) - 1 for i in range(0, WARPS, BLOCK)]
        out.append(struct.pack("<%dQ" % len(sums), *sums))
        out.append(struct.pack("<%dQ" % HASHED, *hashes[:HASHED]))
        out.append(samples)
    if at != len(data):
        raise SystemExit("%s: %d bytes, expected %d: recorded by another version of this program" % (raw, len(data), at))
    with open(path, "wb") as file:
        file.write(b"".join(out))


if __name__ == "__main__":
    forms()
    if len(sys.argv) == 3 and sys.argv[1] == "--source":
        source(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "--pack":
        pack(sys.argv[2], sys.argv[3])
    elif sys.argv[1:] == ["--words"]:
        for f in FORMS:
            print("%016x%016x" % (f["high"], f["low"]))
    else:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
