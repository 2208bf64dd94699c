// A 16-byte load from an address that is a multiple of 4 only.
// nvcc: -lineinfo
extern "C" __global__ void fault_misaligned(const int* in, int4* out, int shift) {
    out[threadIdx.x] = *reinterpret_cast<const int4*>(in + 4 * threadIdx.x + shift);
}
