// SPDX-License-Identifier: Apache-2.0
// The order of accesses to tensor memory: PTX ISA 9.7.16.6, "tcgen05 Memory Consistency Model
// Canonical Synchronization Patterns". Nothing of chapter 8 orders them; these rules do. X precedes
// Y
//   - pipelined: the same thread issued both in this order, and the text names the pair: Y an mma;
//   X
//     an mma, Y a shift; X a shift, Y a cp.4x256b;
//   - waited for: X is a load (store), and wait::ld (wait::st) stands between X and Y's issue;
//   - across threads: X is done, then fence::before_thread_sync, a path of program order and
//     synchronisation, fence::after_thread_sync, and then Y's issue. X is done at its wait, at the
//     commit that tracks it (which is a before_thread_sync), or, of a pipelined pair in one CTA, at
//     its issue;
//   - through another access to these bytes, which X precedes and which precedes Y.
#include "derived.hpp"

namespace sassemu::ptx {

void Derived::derive_tensor_order() {
    const Set& accesses = tensor_accesses_;
    if (accesses.empty()) return;
    tensor_order_.clear();
    const auto operation = [&](size_t i) { return x_.event(i).operation; };
    const auto pipelined = [&](size_t a, size_t b) {
        const uint32_t first = operation(a), then = operation(b);
        const bool multiplies = first == SASSEMU_OPERATION_TENSOR_MMA,
                   shifts = first == SASSEMU_OPERATION_TENSOR_SHIFT,
                   copies = first == SASSEMU_OPERATION_TENSOR_COPY ||
                            first == SASSEMU_OPERATION_TENSOR_COPY_4X256B;
        return (then == SASSEMU_OPERATION_TENSOR_MMA && (multiplies || shifts || copies)) ||
               (then == SASSEMU_OPERATION_TENSOR_SHIFT && multiplies) ||
               (then == SASSEMU_OPERATION_TENSOR_COPY_4X256B && shifts);
    };
    const auto issue_of = [&](size_t access) {
        for (size_t i = 0; i < x_.n; ++i)
            if (x_.spawn.has(i, access)) return i;
        return access;
    };
    // Arrivals and waits count here whether relaxed or not.
    const Relation path = (x_.po | x_.pairing | core_).closure();
    for (size_t a = 0; a < x_.n; ++a) {
        if (!accesses.has(a)) continue;
        const size_t issued = issue_of(a);
        for (size_t b = 0; b < x_.n; ++b) {
            if (!accesses.has(b) || !x_.overlaps(a, b)) continue;
            if (x_.event(a).agent == x_.event(b).agent) {
                if (x_.agent_order.has(a, b)) tensor_order_.add(a, b);  // it reads, then writes
                continue;
            }
            const size_t issue = issue_of(b);
            Set done(x_.n);
            for (size_t d = 0; d < x_.n; ++d) {
                const bool waited = x_.completion.has(a, d);
                if (waited && x_.po.has(d, issue)) tensor_order_.add(a, b);
                if (waited || (x_.agent_order.has(a, d) && x_.is(d, SASSEMU_EVENT_ARRIVE)))
                    done.add(d);
            }
            if (pipelined(a, b)) {
                if (x_.po.has(issued, issue)) tensor_order_.add(a, b);
                if (x_.same_cta(a, b)) done.add(issued);
            }
            for (size_t d = 0; d < x_.n; ++d) {
                if (!done.has(d)) continue;
                // As commonly relied on: causality order is enough.
                if (options_.relied && core_.has(d, issue)) tensor_order_.add(a, b);
                for (size_t before = 0; before < x_.n; ++before) {
                    if (operation(before) != SASSEMU_OPERATION_TENSOR_BEFORE) continue;
                    if (before != d && !x_.po.has(d, before)) continue;
                    for (size_t after = 0; after < x_.n; ++after)
                        if (operation(after) == SASSEMU_OPERATION_TENSOR_AFTER &&
                            path.has(before, after) && x_.po.has(after, issue))
                            tensor_order_.add(a, b);
                }
            }
        }
    }
    tensor_order_ = tensor_order_.closure();
}

}  // namespace sassemu::ptx
