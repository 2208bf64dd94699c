// Surfaces: typed reads and writes of one to four components; reads outside give zero, writes outside are dropped.
#include <surface_indirect_functions.h>

extern "C" __global__ void surface(cudaSurfaceObject_t in, cudaSurfaceObject_t out, cudaSurfaceObject_t line, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const uchar4 a = surf2Dread<uchar4>(in, x * 4, y, cudaBoundaryModeZero);
    const uchar4 b = surf2Dread<uchar4>(in, (x - 3) * 4, y + 2, cudaBoundaryModeZero);
    const uint2 v = make_uint2(a.x + 256u * b.y, static_cast<unsigned>(a.z) << 16 | b.w);
    surf2Dwrite(v, out, (width - 1 - x) * 8, y, cudaBoundaryModeZero);
    surf2Dwrite(v, out, (width + x) * 8, y, cudaBoundaryModeZero);
    if (y == 0) {
        const short h = surf1Dread<short>(line, x * 2, cudaBoundaryModeClamp);
        surf1Dwrite(static_cast<short>(h * 3 - x), line, x * 2, cudaBoundaryModeZero);
    }
}
