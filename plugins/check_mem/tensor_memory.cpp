// SPDX-License-Identifier: Apache-2.0
// Columns of tensor memory that a CTA leaves behind when it ends, and those that are freed without
// being allocated. Accesses to what is not allocated end the launch by themselves.
#include <bit>

#include "checker.hpp"

namespace check_mem {

void Checker::change_columns(Cta& c, sassemu_warp handle, uint32_t warp, sassemu_insn insn,
                             uint32_t lanes) {
    const columns::Change change(*this, handle, insn, watched(c).warps[warp].operands);
    const std::string thread = thread_text(c, warp, static_cast<uint32_t>(std::countr_zero(lanes)));
    const auto apply = [&](Watched& to) {
        const uint32_t wrong = to.columns.apply(change, {insn, thread});
        if (!wrong) return;
        if (Finding* const f = found(Kind::invalid_free, insn)) {
            f->thread = thread;
            f->what = columns::range(wrong) + ", which are not allocated";
        }
    };
    apply(watched(c));
    if (!change.of_pair()) return;
    const auto peer = ctas_.find(host.cta_of_rank(c.handle, c.rank ^ 1));
    if (peer != ctas_.end()) apply(watched(peer->second));
}

void Checker::left_columns(Cta& c) {
    watched(c).columns.each_allocated([&](uint32_t left, const auto& by) {
        if (Finding* const f = found(Kind::leak, by.insn)) {
            f->thread = by.thread;
            f->what = columns::range(left) + " are allocated when the CTA ends";
        }
    });
}

}  // namespace check_mem
