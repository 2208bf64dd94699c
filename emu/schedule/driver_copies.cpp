// SPDX-License-Identifier: Apache-2.0
// The driver's copies: for sm_120, ptxas leaves bulk and tensor copies from global memory to
// another CTA of the cluster, or to several, to functions of the driver. Their parameters, read off
// what ptxas 13.0 emits before the call:
//   R4,R5  shared address with the CTA's rank    R6,R7   global address, or that of the tensor map
//   bulk   R8 bytes, R9 ranks of a multicast, R10,R11 mbarrier, R12,R13 cache hint
//   tensor R8..R12 coordinates, R13 ranks of a multicast, R14,R15 mbarrier, on the stack the
//   offsets of im2col, 16 bits each, and from byte 8 on the cache hint
#include "emu/memory/host_access.hpp"
#include "emu/schedule/driver_call.hpp"

namespace sassemu {
namespace {

template <bool Multicast>
const Op* bulk(const Op* op, Warp& w, uint32_t lanes) {
    return each_lane(op, w, lanes, [&](uint32_t lane) {
        BulkCopy copy;
        copy.from_global = true;
        copy.to = argument(w, 4, lane);
        copy.from = argument64(w, 6, lane);
        copy.bytes = argument(w, 8, lane);
        if (copy.bytes % 16)
            return engine(w).fault(w, op, 1u << lane, FaultKind::misaligned_address,
                                   "a bulk copy's size is a multiple of 16", true, copy.from);
        copy.mbarrier = argument(w, 10, lane);
        copy.multicast = Multicast;
        if (Multicast) copy.ranks = argument(w, 9, lane) & 0xffff;
        return services(w).bulk_copy(w, op, 1u << lane, copy);
    });
}

template <uint32_t Dimensions, bool Multicast, TensorMode Mode>
const Op* tensor(const Op* op, Warp& w, uint32_t lanes) {
    return each_lane(op, w, lanes, [&](uint32_t lane) {
        TensorCopy copy;
        copy.mode = Mode;
        copy.map = argument64(w, 6, lane);
        copy.shared = argument(w, 4, lane);
        copy.dimensions = Dimensions;
        for (uint32_t k = 0; k < Dimensions; ++k)
            copy.at[k] = static_cast<int32_t>(argument(w, 8 + k, lane));
        copy.mbarrier = argument(w, 14, lane);
        copy.multicast = Multicast;
        if (Multicast) copy.ranks = argument(w, 13, lane) & 0xffff;
        if constexpr (Mode == TensorMode::column) {
            const uint32_t stack = argument(w, 1, lane);
            if (stack % 4 || uint64_t{stack} + 8 > w.cta->launch->local_bytes)
                return engine(w).fault(w, op, 1u << lane, FaultKind::stack_overflow,
                                       "the offsets of a copy of pixels are not on the stack", true,
                                       stack);
            for (uint32_t k = 0; k < Dimensions - 2; ++k)
                copy.offset[k] =
                    host::load<uint32_t>(w.local + (stack / 4 + k / 2) * row_bytes + lane * 4) >>
                        k % 2 * 16 &
                    0xffff;
        }
        return services(w).tensor_copy(w, op, 1u << lane, copy);
    });
}

template <uint32_t Dimensions>
void tensor_functions(std::vector<DriverFunction>& to) {
    const std::string name =
        "__cuda_syscall_cp_async_bulk_tensor_" + std::to_string(Dimensions) + "d_";
    constexpr TensorMode tile = TensorMode::tile, column = TensorMode::column;
    to.push_back({name + "tile_unicast", tensor<Dimensions, false, tile>});
    to.push_back({name + "tile_multicast", tensor<Dimensions, true, tile>});
    if constexpr (Dimensions >= 3) {
        to.push_back({name + "im2col_unicast", tensor<Dimensions, false, column>});
        to.push_back({name + "im2col_multicast", tensor<Dimensions, true, column>});
    }
}

}  // namespace

std::vector<DriverFunction> copy_functions() {
    std::vector<DriverFunction> all{{"__cuda_syscall_cp_async_bulk_unicast", bulk<false>},
                                    {"__cuda_syscall_cp_async_bulk_multicast", bulk<true>}};
    tensor_functions<1>(all);
    tensor_functions<2>(all);
    tensor_functions<3>(all);
    tensor_functions<4>(all);
    tensor_functions<5>(all);
    return all;
}

}  // namespace sassemu
