// Benchmark: 32-bit integer arithmetic, logic and shifts (IADD3, IMAD, LOP3, SHF, LEA, PRMT, POPC, min and max).
extern "C" __global__ void __launch_bounds__(256) integer(unsigned* out, unsigned key, int turns) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i * 2654435761u, b = i ^ key, c = key - i, d = ~i;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            a += b + c;
            d ^= a;
            d = __funnelshift_l(d, d, 16);
            c = c * 0x01000193u + d;
            b ^= c & key;
            b = __funnelshift_r(b, a, 7);
            a = (a << 5) + d;
            d = (a & b) | (~a & c);
            c = max(c, a ^ 0x5bd1e995u) + key;
            b = b * key + a;
            a ^= b >> 11;
            d += static_cast<unsigned>(__popc(c)) + b;
            c = __byte_perm(c, d, 0x2143);
            b = min(b, 0xfffffff0u - a) - d;
        }
    }
    out[i] = a ^ b ^ c ^ d;
}
