// Loads and stores of 1, 2, 4, 8 and 16 bytes, signed and unsigned, in global, shared and local memory.
extern "C" __global__ void byte_short(const signed char* b, const unsigned short* h, int* out, unsigned char* bytes, short* shorts, uint4* wide) {
    __shared__ unsigned char sb[512];
    __shared__ short sh[256];
    __shared__ __align__(16) unsigned sw[256];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    const int x = b[i], y = h[i];
    sb[t] = static_cast<unsigned char>(x + 1);
    sb[t + 128] = static_cast<unsigned char>(y >> 3);
    sh[t] = static_cast<short>(x * y);
    sw[t] = static_cast<unsigned>(x) * 0x01010101u ^ static_cast<unsigned>(y);
    __syncthreads();
    signed char kept[20];
    for (int k = 0; k < 20; ++k) kept[k] = static_cast<signed char>(sb[(t * 7 + k) & 255]);
    unsigned short pairs[10];
    for (int k = 0; k < 10; ++k) pairs[k] = static_cast<unsigned short>(sh[(t + k * 13) & 127] + kept[(t + k) % 20]);
    int sum = 0;
    for (int k = 0; k < 20; ++k) sum = sum * 3 + kept[(k * 7 + t) % 20] - pairs[(k + x * x) % 10];
    out[i] = sum;
    bytes[3 * i] = static_cast<unsigned char>(sum);
    bytes[3 * i + 1] = sb[127 - t];
    bytes[3 * i + 2] = static_cast<unsigned char>(sum >> 24);
    shorts[i] = static_cast<short>(sum >> 5);
    const uint2 two = *reinterpret_cast<const uint2*>(&sw[(t & ~1) ^ 2]);
    const uint4 four = *reinterpret_cast<const uint4*>(&sw[(t & ~3) ^ 4]);
    wide[i] = make_uint4(two.x + four.x, two.y ^ four.y, four.z, four.w);
    const uchar4 c = *reinterpret_cast<const uchar4*>(b + (i & ~3));
    const ushort2 d = *reinterpret_cast<const ushort2*>(h + (i & ~1));
    out[gridDim.x * blockDim.x + i] = c.x + c.y * 256 - c.z * 3 + c.w + d.x - d.y;
}
