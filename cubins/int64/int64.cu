// 64-bit integer arithmetic: products and their high halves, division and remainder, shifts, counts, bit fields, comparisons,
// and conversions from and to float and double.
// also: sm_107a
extern "C" __global__ void int64(const long long* a, const long long* b, unsigned long long* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long x = a[i], y = b[i] >> (i & 63);
    const unsigned long long ux = x, uy = static_cast<unsigned long long>(b[i]) >> (i & 63);
    unsigned long long* o = out + 20 * i;
    const int s = static_cast<int>(uy) & 63;
    o[0] = ux + uy;
    o[1] = ux * uy;
    o[2] = __umul64hi(ux, uy);
    o[3] = __mul64hi(x, y);
    o[4] = ux / (uy | 1u);
    o[5] = ux % (uy | 1u);
    o[6] = x / (y | 1);
    o[7] = x % (y | 1);
    o[8] = ux << s;
    o[9] = x >> s;
    o[10] = ux >> s;
    o[11] = __popcll(x) | __clzll(uy) << 8 | __ffsll(x) << 16;
    o[12] = __brevll(x);
    o[13] = min(x, y) ^ max(ux, uy);
    o[14] = (x < y) + 2 * (ux < uy) + 4 * (x == y) + 8 * (x >= 0);
    o[15] = __double_as_longlong(static_cast<double>(x) + static_cast<double>(uy));
    o[16] = __float_as_uint(static_cast<float>(x)) | static_cast<unsigned long long>(__float_as_uint(static_cast<float>(ux))) << 32;
    o[17] = static_cast<long long>(__longlong_as_double((x & 0x000fffffffffffffll) | 0x4300000000000000ll) * 1.5);
    o[18] = static_cast<unsigned long long>(static_cast<float>(uy)) - static_cast<unsigned>(x) * static_cast<unsigned long long>(static_cast<unsigned>(y));
    o[19] = llabs(x) + static_cast<long long>(static_cast<int>(x)) * static_cast<int>(y) - y;
}
