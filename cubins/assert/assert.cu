// A device assertion that one thread breaks: the launch must end with the assertion's text, file and line.
// nvcc: -lineinfo
#include <cassert>

extern "C" __global__ void checked(const int* x, int limit) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(x[i] < limit && "value out of range");
}
