// SPDX-License-Identifier: Apache-2.0
// See prose.hpp. The rules themselves: docs/litmus.md, section 3.
#include "emu/explore/graph/prose.hpp"

#include <algorithm>

namespace sassemu::explore {
namespace {

constexpr const char* copy_groups =
    "PTX ISA, cp.async: weak generic accesses in no order until wait_group or "
    "the mbarrier";
constexpr const char* bulk_copies =
    "PTX ISA, cp.async.bulk: accesses of the async proxy; the completion "
    "carries an implicit "
    "generic-async proxy fence";
constexpr const char* wgmma =
    "PTX ISA 9.7.15, wgmma: accesses of the async "
    "proxy, ordered by wgmma.fence and wait_group";

const char* clause_of(const Operation& o) {
    constexpr const char* groups[] = {copy_groups, bulk_copies, wgmma};  // by GroupKind
    if (is_any<op::MbarrierInit, op::MbarrierArrive, op::MbarrierTransaction, op::MbarrierWait>(o))
        return "PTX ISA 9.7.13.15, mbarrier: phases, pending count and tx-count; "
               "8.9.4 for "
               "what an arrival and a wait order";
    if (is_any<op::StoreAsync>(o))
        return "PTX ISA, st.async and red.async: the completion on the mbarrier is "
               "a release "
               "of the operation's own write";
    if (const auto* commit = std::get_if<op::Commit>(&o))
        return groups[static_cast<size_t>(commit->kind)];
    if (const auto* wait = std::get_if<op::GroupWait>(&o))
        return groups[static_cast<size_t>(wait->kind)];
    if (is_any<op::CopyAsync, op::CopiesArrive>(o)) return copy_groups;
    if (is_any<op::Bulk, op::BulkTensor>(o)) return bulk_copies;
    if (is_any<op::WgmmaFence, op::Wgmma>(o)) return wgmma;
    if (is_any<op::TensorLoad, op::TensorStore, op::TensorWait, op::TensorProduct, op::TensorCommit,
               op::TensorFence>(o))
        return "PTX ISA 9.7.16.6, tcgen05 memory consistency: pipelined pairs, "
               "wait, commit "
               "and thread-sync fences";
    if (is_any<op::MapReplace, op::MapPublish>(o))
        return "PTX ISA, tensormap.replace and cp_fenceproxy: generic writes, then "
               "a release "
               "toward the tensormap proxy";
    if (is_any<op::Launch, op::Join>(o)) return "PTX ISA 8.9.4, API synchronization";
    return nullptr;
}

}  // namespace

std::vector<std::string> prose_clauses(const Test& test) {
    std::vector<std::string> out;
    for (const Thread& t : test.threads)
        for (const Statement& i : t.code)
            if (const char* clause = clause_of(i.what);
                clause && std::ranges::find(out, clause) == out.end())
                out.push_back(clause);
    return out;
}

}  // namespace sassemu::explore
