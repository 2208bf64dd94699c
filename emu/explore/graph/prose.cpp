// SPDX-License-Identifier: Apache-2.0
// See prose.hpp. The rules themselves: docs/litmus.md, section 3.
#include "emu/explore/graph/prose.hpp"

#include <algorithm>

namespace sassemu::explore {
namespace {

const char* clause_of(const Instruction& i) {
    switch (i.op) {
        case Op::mbarrier_init:
        case Op::mbarrier_arrive:
        case Op::mbarrier_expect:
        case Op::mbarrier_complete:
        case Op::mbarrier_wait:
            return "PTX ISA 9.7.13.15, mbarrier: phases, pending count and tx-count; 8.9.4 for "
                   "what an arrival and a wait order";
        case Op::store_async:
            return "PTX ISA, st.async and red.async: the completion on the mbarrier is a release "
                   "of the operation's own write";
        case Op::copy_async:
        case Op::copy_commit:
        case Op::copy_wait:
        case Op::copy_arrive:
            return "PTX ISA, cp.async: weak generic accesses in no order until wait_group or the "
                   "mbarrier";
        case Op::bulk:
        case Op::bulk_tensor:
        case Op::bulk_commit:
        case Op::bulk_wait:
            return "PTX ISA, cp.async.bulk: accesses of the async proxy; the completion carries an "
                   "implicit generic-async proxy fence";
        case Op::wgmma_fence:
        case Op::wgmma:
        case Op::wgmma_commit:
        case Op::wgmma_wait:
            return "PTX ISA 9.7.15, wgmma: accesses of the async proxy, ordered by wgmma.fence and "
                   "wait_group";
        case Op::tensor_load:
        case Op::tensor_store:
        case Op::tensor_wait_load:
        case Op::tensor_wait_store:
        case Op::tensor_mma:
        case Op::tensor_copy:
        case Op::tensor_commit:
        case Op::tensor_before:
        case Op::tensor_after:
            return "PTX ISA 9.7.16.6, tcgen05 memory consistency: pipelined pairs, wait, commit "
                   "and thread-sync fences";
        case Op::map_replace:
        case Op::map_publish:
            return "PTX ISA, tensormap.replace and cp_fenceproxy: generic writes, then a release "
                   "toward the tensormap proxy";
        case Op::launch:
        case Op::join:
            return "PTX ISA 8.9.4, API synchronization";
        default:
            return nullptr;
    }
}

}  // namespace

std::vector<std::string> prose_clauses(const Test& test) {
    std::vector<std::string> out;
    for (const Thread& t : test.threads)
        for (const Instruction& i : t.code)
            if (const char* clause = clause_of(i);
                clause && std::ranges::find(out, clause) == out.end())
                out.push_back(clause);
    return out;
}

}  // namespace sassemu::explore
