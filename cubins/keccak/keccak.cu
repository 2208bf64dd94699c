// SHA3-256 (FIPS 202) of one 128-byte message per thread: Keccak-f[1600] on 64-bit lanes held in registers.
__constant__ unsigned long long round_constant[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
    0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
    0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

__device__ unsigned long long rotl(unsigned long long v, int n) { return n ? v << n | v >> (64 - n) : v; }

__device__ void permute(unsigned long long (&s)[25]) {
    for (int round = 0; round < 24; ++round) {
        unsigned long long c[5], b[25];
#pragma unroll
        for (int x = 0; x < 5; ++x) c[x] = s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20];
#pragma unroll
        for (int x = 0; x < 5; ++x) {
            const unsigned long long d = c[(x + 4) % 5] ^ rotl(c[(x + 1) % 5], 1);
#pragma unroll
            for (int y = 0; y < 5; ++y) s[x + 5 * y] ^= d;
        }
        // Rho and pi walk the 24 lanes other than (0,0) along (x, y) -> (y, 2x + 3y); the t-th rotates by (t+1)(t+2)/2.
        b[0] = s[0];
        int x = 1, y = 0;
#pragma unroll
        for (int t = 0; t < 24; ++t) {
            const int nx = y, ny = (2 * x + 3 * y) % 5;
            b[nx + 5 * ny] = rotl(s[x + 5 * y], (t + 1) * (t + 2) / 2 % 64);
            x = nx;
            y = ny;
        }
#pragma unroll
        for (int j = 0; j < 25; j += 5)
#pragma unroll
            for (int i = 0; i < 5; ++i) s[j + i] = b[j + i] ^ (~b[j + (i + 1) % 5] & b[j + (i + 2) % 5]);
        s[0] ^= round_constant[round];
    }
}

extern "C" __global__ void keccak(const unsigned long long* message, unsigned long long* digest) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long s[25] = {};
#pragma unroll
    for (int i = 0; i < 16; ++i) s[i] = message[t * 16 + i];
    s[16] = 0x8000000000000006ull;  // 128 bytes fill 16 of the 17 lanes of the rate; the last holds the padding
    permute(s);
#pragma unroll
    for (int i = 0; i < 4; ++i) digest[t * 4 + i] = s[i];
}
