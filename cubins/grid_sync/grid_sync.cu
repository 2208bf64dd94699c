// Grid-wide synchronisation as the cooperative groups library does it, between the phases of a reduction and a reversal.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(const int* in, int* partial, int* out, int n) {
    cg::grid_group grid = cg::this_grid();
    const int rank = static_cast<int>(grid.thread_rank()), size = static_cast<int>(grid.size());
    int sum = 0;
    for (int i = rank; i < n; i += size) sum += in[i];
    partial[rank] = sum;
    grid.sync();
    for (int half = size / 2; half > 0; half /= 2) {
        if (rank < half) partial[rank] += partial[rank + half];
        grid.sync();
    }
    const int total = partial[0];
    for (int i = rank; i < n; i += size) out[n - 1 - i] = in[i] ^ total;
}
