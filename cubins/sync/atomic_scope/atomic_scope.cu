// A counter of all CTAs.
#include "../sync.h"
enum { none, scope, atomic };
extern "C" __global__ void atomic_scope(uint32_t* sum) {
    if constexpr (WITHOUT == scope) atomicAdd_block(sum, threadIdx.x);  // @narrow
    else if constexpr (WITHOUT == atomic) *sum += threadIdx.x;  // @plain
    else atomicAdd(sum, threadIdx.x);
}
