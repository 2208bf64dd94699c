// 128-bit integers: carries across four words, products, division and shifts; and a 256-bit schoolbook product with carry chains.
typedef unsigned __int128 u128;
typedef __int128 i128;

__device__ void put(unsigned long long* o, u128 v) {
    o[0] = static_cast<unsigned long long>(v);
    o[1] = static_cast<unsigned long long>(v >> 64);
}

extern "C" __global__ void int128(const ulonglong2* a, const ulonglong2* b, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const ulonglong2 va = a[i], vb = b[i];
    const u128 x = static_cast<u128>(va.y) << 64 | va.x, y = (static_cast<u128>(vb.y) << 64 | vb.x) >> (i & 127);
    const i128 sx = static_cast<i128>(x), sy = static_cast<i128>(y) - (static_cast<i128>(1) << 90);
    unsigned long long* o = out + 24 * i;
    put(o + 0, x + y);
    put(o + 2, x - y);
    put(o + 4, x * y);
    put(o + 6, x / (y | 1));
    put(o + 8, x % (y | 1));
    put(o + 10, static_cast<u128>(sx / (sy | 1)));
    put(o + 12, x << (static_cast<int>(y) & 127));
    put(o + 14, static_cast<u128>(sx >> (static_cast<int>(x) & 127)));
    put(o + 16, sx < sy ? x ^ y : x & ~y);

    // va * vb as 256 bits, by 32-bit words and the carry flag.
    const unsigned p[4] = {static_cast<unsigned>(va.x), static_cast<unsigned>(va.x >> 32), static_cast<unsigned>(va.y), static_cast<unsigned>(va.y >> 32)};
    const unsigned q[4] = {static_cast<unsigned>(vb.x), static_cast<unsigned>(vb.x >> 32), static_cast<unsigned>(vb.y), static_cast<unsigned>(vb.y >> 32)};
    unsigned r[8] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        asm("mad.lo.cc.u32 %0, %5, %9, %0; madc.lo.cc.u32 %1, %6, %9, %1; madc.lo.cc.u32 %2, %7, %9, %2; madc.lo.cc.u32 %3, %8, %9, %3; addc.u32 %4, %4, 0;"
            : "+r"(r[k]), "+r"(r[k + 1]), "+r"(r[k + 2]), "+r"(r[k + 3]), "+r"(r[k + 4])
            : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[k]));
        unsigned top = k + 5 < 8 ? r[k + 5] : 0;
        asm("mad.hi.cc.u32 %0, %5, %9, %0; madc.hi.cc.u32 %1, %6, %9, %1; madc.hi.cc.u32 %2, %7, %9, %2; madc.hi.cc.u32 %3, %8, %9, %3; addc.u32 %4, %4, 0;"
            : "+r"(r[k + 1]), "+r"(r[k + 2]), "+r"(r[k + 3]), "+r"(r[k + 4]), "+r"(top)
            : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[k]));
        if (k + 5 < 8) r[k + 5] = top;
    }
    for (int k = 0; k < 3; ++k) o[18 + k] = r[2 * k] | static_cast<unsigned long long>(r[2 * k + 1]) << 32;
    o[21] = r[6] | static_cast<unsigned long long>(r[7]) << 32;
    unsigned lo, hi;
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %4, %5;" : "=r"(lo), "=r"(hi) : "r"(p[0]), "r"(q[0]), "r"(p[1]), "r"(q[1]));
    o[22] = lo | static_cast<unsigned long long>(hi) << 32;
    o[23] = static_cast<unsigned long long>(static_cast<u128>(va.x) * vb.y >> 64);
}
