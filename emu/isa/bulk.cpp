// SPDX-License-Identifier: Apache-2.0
// UBLKCP, UTMALDG, UTMASTG and what goes with them: how the operands of bulk and tensor copies lie
// in uniform registers. The copies are async/'s. Read off what ptxas 13.0 emits for PTX:
//   UBLKCP.S.G [d], [s], c   d: shared address, mbarrier; s: global address (pair)
//   UBLKCP.S.S [d], [s], c   d: shared address, mbarrier of the other CTA; s: shared address
//   UBLKCP.G.S [d], [s], c   d: global address (pair); s: shared address
//                            c: units of 16 bytes in bits 15..0, ranks of a multicast in
//                            bits 31..16
//   UTMALDG [d], [s] (, c)   d: shared address, mbarrier, coordinates; s: tensor map (pair);
//                            c: ranks of a multicast in bits 31..16
//   UTMASTG [d], [s]         d: shared address, coordinates; s: tensor map (pair)
//   UGETNEXTWORKID [d], [m]  d: shared address; m: mbarrier, in the next register
//   UMEMSETS.64 [d], URZ, c  d: shared address; c: units of 8 bytes
// Cache hints (desc[UR]) change no result.
#include "emu/isa/bulk.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

uint64_t pair(const Warp& w, uint32_t at) {
    return w.uniform[at / 4] | uint64_t{w.uniform[at / 4 + 1]} << 32;
}

// a: destination, b: source, c: size and ranks, as byte offsets into the uniform registers; k[0]:
// to global, k[1]: from global, k[2]: multicast.
const Op* bulk(const Op* op, Warp& w, uint32_t mask) {
    BulkCopy copy;
    copy.to_global = op->k[0];
    copy.from_global = op->k[1];
    copy.to = copy.to_global ? pair(w, op->a) : w.uniform[op->a / 4];
    copy.from = copy.from_global ? pair(w, op->b) : w.uniform[op->b / 4];
    copy.mbarrier = copy.to_global ? 0 : w.uniform[op->a / 4 + 1];
    const uint32_t c = w.uniform[op->c / 4];
    copy.bytes = (c & 0xffff) * 16;
    copy.multicast = op->k[2];
    copy.ranks = c >> 16;
    return services(w).bulk_copy(w, op, mask, copy);
}

// a: destination, b: map, c: ranks; k[0]: dimensions, k[1]: store, k[2]: multicast.
const Op* tensor(const Op* op, Warp& w, uint32_t mask) {
    TensorCopy copy;
    const uint32_t* d = w.uniform + op->a / 4;
    copy.map = pair(w, op->b);
    copy.shared = d[0];
    copy.store = op->k[1];
    copy.dimensions = op->k[0];
    if (!copy.store) copy.mbarrier = d[1];
    for (uint32_t k = 0; k < copy.dimensions; ++k)
        copy.at[k] = static_cast<int32_t>(d[(copy.store ? 1 : 2) + k]);
    copy.multicast = op->k[2];
    copy.ranks = w.uniform[op->c / 4] >> 16;
    return services(w).tensor_copy(w, op, mask, copy);
}

// a: where the answer goes and its mbarrier; k[0]: in each CTA of the cluster.
const Op* next_work(const Op* op, Warp& w, uint32_t mask) {
    WorkRequest request;
    request.to = w.uniform[op->a / 4];
    request.mbarrier = w.uniform[op->a / 4 + 1];
    request.multicast = op->k[0];
    request.ranks = low_lanes(w.cta->cluster->size);
    return services(w).next_work(w, op, mask, request);
}

// a, m[0]: address; c: how many times eight bytes. Once for the warp.
const Op* clear_shared(const Op* op, Warp& w, uint32_t mask) {
    return services(w).clear_shared(w, op, mask, w.uniform[op->a / 4] + op->m[0],
                                    uint64_t{w.uniform[op->c / 4]} * 8);
}

const Op* end_group(const Op* op, Warp& w, uint32_t) {
    return services(w).end_copy_group(w, op, {.bulk = true, .scoreboard = op->k[0]});
}

// fence.proxy.tensormap acquire. PTX wants an address in global memory; an H200 checks only its
// alignment.
const Op* acquire_map(const Op* op, Warp& w, uint32_t mask) {
    Access a;
    a.op = AccessOp::cache;
    a.space = AccessSpace::global;
    a.proxy = Proxy::tensormap;
    a.bytes = 16;
    a.lanes = mask & (0u - mask);
    a.warp = &w;
    a.address[std::countr_zero(mask)] = pair(w, op->a);
    return services(w).access(w, op, a);
}

// What sm_107 adds to copies and does not execute; null: nothing.
template <typename I>
const char* unknown_form(const I& i) {
    if constexpr (requires { i.report; }) {
        if (i.multicast > typed::TmaCast::MULTICAST) return "a mask of 32 CTAs (.MULTICAST32)";
        if (i.report != typed::TmaReport::NONE) return "a report of what was read (.VALIDCHK)";
    }
    if constexpr (requires { i.gaddr; }) {
        if (i.gaddr != typed::TmaAddress::MAP) return "an address beside the map (.TENSOR_GADDR)";
        if (i.strides != typed::TmaStrides::MAP)
            return "strides beside the map (.TENSOR_STRIDE_SIZE_MAX256)";
    }
    return nullptr;
}

void tensor_operands(Lower& x, const typed::Mem& d, const typed::Mem& map, typed::TmaDim dim,
                     bool store) {
    const uint32_t dimensions = static_cast<uint32_t>(dim) + 1;
    if (dimensions > 5) return x.reject("a tensor copy of an invalid dimension");
    x.op.k[0] = static_cast<uint8_t>(dimensions);
    x.op.k[1] = store;
    x.op.a = x.uniform_source(d.base, dimensions + (store ? 1 : 2));
    x.op.b = x.uniform_source(map.base, 2);
    x.op.c = uniform_zero;
    x.handler(tensor);
}

}  // namespace

void lower(Lower& x, const typed::Ublkcp& i) {
    x.op.k[0] = i.dst_space == typed::BulkSpace::G;
    x.op.k[1] = i.src_space == typed::BulkSpace::G;
    x.op.k[2] = i.multicast != typed::TmaCast::NONE;
    if (x.op.k[0] && x.op.k[1]) return x.reject("a bulk copy from global to global memory");
    if (i.byte_mask || i.counted) return x.gap("this form of a bulk copy");
    if (const char* what = unknown_form(i)) return x.gap(what);
    x.op.a = x.uniform_source(i.dst.base, 2);
    x.op.b = x.uniform_source(i.src.base, x.op.k[1] ? 2 : 1);
    x.op.c = x.uniform_source(i.c.index);
    x.handler(bulk);
}

void lower(Lower& x, const typed::Utmaldg& i) {
    if (i.mode != typed::TmaMode::TILE || i.cta2) return x.gap("this mode of a tensor copy");
    if (const char* what = unknown_form(i)) return x.gap(what);
    tensor_operands(x, i.dst, i.src, i.dim, false);
    x.op.k[2] = i.multicast != typed::TmaCast::NONE;
    if (x.op.k[2]) x.op.c = x.uniform_source(i.c.index);
}
void lower(Lower& x, const typed::Utmastg& i) {
    if (i.mode != typed::TmaMode::TILE || i.counted) return x.gap("this mode of a tensor copy");
    if (const char* what = unknown_form(i)) return x.gap(what);
    tensor_operands(x, i.dst, i.src, i.dim, true);
}

// Prefetches leave no trace, and tensor maps are not cached here.
void lower(Lower& x, const typed::Ublkpf&) { x.handler(nothing); }
void lower(Lower& x, const typed::Utmapf&) { x.handler(nothing); }
void lower(Lower& x, const typed::Utmacctl& i) {
    x.op.a = x.uniform_source(i.addr.base, 2);
    x.handler(i.op == typed::TmaCctlOp::IV ? acquire_map : nothing);
}
void lower(Lower& x, const typed::UtmacctlIvall&) { x.handler(nothing); }
// cp.async.bulk.commit_group. DEPBAR waits on the scoreboard that it frees when the group is done.
void lower(Lower& x, const typed::Utmacmdflush&) {
    x.op.k[0] = x.instruction().control.read_barrier;
    x.handler(x.late_copies() ? end_group : nothing);
}

void lower(Lower& x, const typed::Ugetnextworkid& i) {
    x.op.a = x.uniform_source(i.addr.base, 2);
    x.op.k[0] = i.cast;
    x.handler(next_work);
}

void lower(Lower& x, const typed::Umemsets& i) {
    if (static_cast<uint32_t>(i.value) != SASSDEC_URZ)
        return x.gap("UMEMSETS of another value than zero");
    x.op.a = x.uniform_source(i.addr.base);
    x.op.m[0] = static_cast<uint32_t>(i.addr.offset);
    x.op.c = x.uniform_source(i.count.index);
    x.handler(clear_shared);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
