// SPDX-License-Identifier: Apache-2.0
// UBLKCP, UBLKRED, UTMALDG, UTMASTG, UTMAREDG and what goes with them: how the operands of bulk and
// tensor copies lie in uniform registers. The copies are async/'s. Read off what ptxas 13.0 emits
// for PTX:
//   UBLKCP.S.G [d], [s], c   d: shared address, mbarrier; s: global address (pair)
//   UBLKCP.S.S [d], [s], c   d: shared address, mbarrier of the other CTA; s: shared address
//   UBLKCP.G.S [d], [s], c   d: global address (pair); s: shared address
//                            c: units of 16 bytes in bits 15..0, ranks of a multicast in
//                            bits 31..16
//                            .DST_G_BYTE_MASK: bytes of each 16 in bits 31..16
//   UBLKRED.G.S, UBLKRED.S.S as UBLKCP
//   UTMALDG [d], [s] (, c)   d: shared address, mbarrier, coordinates; s: tensor map (pair);
//                            c: ranks of a multicast in bits 31..16, of a copy of pixels (IM2COL,
//                            W, W128) the offsets in bits 15..0
//   UTMASTG, UTMAREDG [d], [s]  d: shared address, coordinates; s: tensor map (pair)
//   UGETNEXTWORKID [d], [m]  d: shared address; m: mbarrier, in the next register
//   UMEMSETS.64 [d], URZ, c  d: shared address; c: units of 8 bytes
// Cache hints (desc[UR]) change no result.
#include "emu/isa/bulk.hpp"

#include "emu/isa/memory_access.hpp"
#include "emu/memory/perform.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

uint64_t pair(const Warp& w, uint32_t at) {
    return w.uniform[at / 4] | uint64_t{w.uniform[at / 4 + 1]} << 32;
}

// Bits of k[0] of copies.
constexpr uint8_t to_global = 1, from_global = 2, multicast = 4, pair_of_ctas = 8, masked = 16,
                  prefetch = 32;

// a: destination, b: source, c: size and ranks or bytes, as byte offsets into the uniform
// registers; k[0]: bits, k[1]: AtomicOp, k[2]: AtomicType.
const Op* bulk(const Op* op, Warp& w, uint32_t mask) {
    BulkCopy copy;
    copy.to_global = op->k[0] & to_global;
    copy.from_global = op->k[0] & from_global;
    copy.to = copy.to_global ? pair(w, op->a) : w.uniform[op->a / 4];
    copy.from = copy.from_global ? pair(w, op->b) : w.uniform[op->b / 4];
    copy.mbarrier = copy.to_global ? 0 : w.uniform[op->a / 4 + 1];
    const uint32_t c = w.uniform[op->c / 4];
    copy.bytes = (c & 0xffff) * 16;
    copy.multicast = op->k[0] & multicast;
    copy.ranks = c >> 16;
    if (op->k[0] & masked) copy.byte_mask = static_cast<uint16_t>(c >> 16);
    copy.reduce = static_cast<AtomicOp>(op->k[1]);
    copy.type = static_cast<AtomicType>(op->k[2]);
    return services(w).bulk_copy(w, op, mask, copy);
}

// The offsets of a copy of pixels: one of 16 bits, two of 8, three of 5; wHalo of 11 bits and
// wOffset of 5.
void offsets(TensorCopy& copy, uint32_t packed) {
    const bool wide = copy.mode != TensorMode::column;
    const uint32_t each = wide ? 11 : 16 / (copy.dimensions - 2);
    for (uint32_t k = 0; k < (wide ? 2 : copy.dimensions - 2); ++k)
        copy.offset[k] = (packed & 0xffff) >> each * k & ((1u << each) - 1);
}

// a: destination, b: map, c: ranks and offsets; k[0]: bits, k[1]: dimensions and, from bit 4 on,
// TensorMode, k[2]: AtomicOp.
const Op* tensor(const Op* op, Warp& w, uint32_t mask) {
    TensorCopy copy;
    const uint32_t* d = w.uniform + op->a / 4;
    copy.map = pair(w, op->b);
    copy.prefetch = op->k[0] & prefetch;
    if (!copy.prefetch) copy.shared = *d++;
    copy.store = op->k[0] & to_global;
    copy.dimensions = op->k[1] & 15;
    copy.mode = static_cast<TensorMode>(op->k[1] >> 4);
    copy.reduce = static_cast<AtomicOp>(op->k[2]);
    if (!copy.store && !copy.prefetch) copy.mbarrier = *d++;
    const uint32_t coordinates = copy.mode == TensorMode::rows4 ? 5 : copy.dimensions;
    for (uint32_t k = 0; k < coordinates; ++k) copy.at[k] = static_cast<int32_t>(d[k]);
    copy.multicast = op->k[0] & multicast;
    copy.pair = op->k[0] & pair_of_ctas;
    const uint32_t c = w.uniform[op->c / 4];
    copy.ranks = c >> 16;
    if (copy.mode >= TensorMode::column) offsets(copy, c);
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

constexpr uint32_t map_alignment = 64;

// What the chip looks at where an operation leaves memory alone (tests/hardware/generic): the
// alignment of its address, and that it is one of 57 bits; whether anything is there it does not
// ask. False: a fault has been reported.
bool possible_address(Warp& w, const Op* op, uint32_t mask, uint64_t address, uint32_t alignment,
                      const char* rule) {
    const bool aligned = address % alignment == 0;
    if (aligned && is_extended(address)) return true;
    services(w).fault(w, op, mask & (0u - mask),
                      aligned ? FaultKind::out_of_bounds : FaultKind::misaligned_address,
                      aligned ? "addresses have 57 bits, the upper of which are extended" : rule,
                      true, address);
    return false;
}

// fence.proxy.tensormap acquire. PTX wants an address in global memory, and models are told of one.
const Op* acquire_map(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    Access a;
    a.op = AccessOp::cache;
    a.space = AccessSpace::global;
    a.proxy = Proxy::tensormap;
    a.bytes = 16;
    a.lanes = 1u << lane;
    a.warp = &w;
    a.address[lane] = pair(w, op->a);
    if (!possible_address(w, op, mask, a.address[lane], map_alignment,
                          "a tensor map to acquire lies at a multiple of 64 bytes"))
        return nullptr;
    return services(w).access(w, op, a);
}

// prefetch.tensormap reads the map, though nobody sees what: the chip faults some time later.
const Op* prefetch_map(const Op* op, Warp& w, uint32_t mask) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const uint64_t address = pair(w, op->a);
    if (!possible_address(w, op, mask, address, map_alignment,
                          "a tensor map to prefetch lies at a multiple of 64 bytes"))
        return nullptr;
    if (reaches(w, AccessSpace::global, address, lane, map_alignment, false)) return next(op, w);
    const Landing at = land(w, AccessSpace::global, address, lane, map_alignment, false);
    return services(w).fault(w, op, 1u << lane, at.fault, at.what, true, address);
}

const Op* prefetch_bytes(const Op* op, Warp& w, uint32_t mask) {
    const bool any = w.uniform[op->c / 4] & 0xffff;
    return !any || possible_address(w, op, mask, pair(w, op->b), 16,
                                    "a bulk copy's addresses are multiples of 16")
               ? next(op, w)
               : nullptr;
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

AtomicOp atomic_op(typed::TmaRedOp op) {
    constexpr AtomicOp of[] = {AtomicOp::add, AtomicOp::min,  AtomicOp::max, AtomicOp::inc,
                               AtomicOp::dec, AtomicOp::and_, AtomicOp::or_, AtomicOp::xor_};
    return of[static_cast<uint32_t>(op)];
}
AtomicType atomic_type(typed::BulkType type) {
    constexpr AtomicType of[] = {AtomicType::u32, AtomicType::s32,   AtomicType::u64,
                                 AtomicType::s64, AtomicType::f16x2, AtomicType::f32_rn,
                                 AtomicType::f32, AtomicType::f64,   AtomicType::bf16x2};
    return of[static_cast<uint32_t>(type)];
}

TensorMode tensor_mode(typed::TmaMode mode) {
    switch (mode) {
        case typed::TmaMode::IM2COL:
            return TensorMode::column;
        case typed::TmaMode::W:
            return TensorMode::wide;
        case typed::TmaMode::W128:
            return TensorMode::wide128;
        case typed::TmaMode::GATHER4:
        case typed::TmaMode::SCATTER4:
            return TensorMode::rows4;
        default:
            return TensorMode::tile;
    }
}

template <typename I>
void tensor_operands(Lower& x, const I& i, uint8_t bits, AtomicOp reduce = AtomicOp::none) {
    if (const char* what = unknown_form(i)) return x.gap(what);
    const uint32_t dimensions = static_cast<uint32_t>(i.dim) + 1;
    if (dimensions > 5) return x.reject("a tensor copy of an invalid dimension");
    if (i.mode > typed::TmaMode::SCATTER4) return x.reject("a tensor copy of an invalid mode");
    const TensorMode mode = tensor_mode(i.mode);
    if (mode >= TensorMode::column && dimensions < 3)
        return x.reject("a copy of pixels of less than three dimensions");
    if (mode == TensorMode::rows4 && dimensions != 2)
        return x.reject("a copy of four rows of other than two dimensions");
    const uint32_t coordinates = mode == TensorMode::rows4 ? 5 : dimensions;
    x.op.k[0] = bits;
    x.op.k[1] = static_cast<uint8_t>(dimensions | static_cast<uint32_t>(mode) << 4);
    x.op.k[2] = static_cast<uint8_t>(reduce);
    const uint32_t before = bits & prefetch ? 0 : bits & to_global ? 1 : 2;
    x.op.a = x.uniform_source(i.dst.base, before + coordinates);
    x.op.b = x.uniform_source(i.src.base, 2);
    x.op.c = uniform_zero;
    x.handler(tensor);
}

}  // namespace

void lower(Lower& x, const typed::Ublkcp& i) {
    const bool global = i.dst_space == typed::BulkSpace::G;
    if (global && i.src_space == typed::BulkSpace::G)
        return x.reject("a bulk copy from global to global memory");
    if (i.counted) return x.gap("a copy that is counted (.COUNTED), which no PTX becomes");
    if (const char* what = unknown_form(i)) return x.gap(what);
    if (i.byte_mask && (!global || i.multicast != typed::TmaCast::NONE))
        return x.reject("a bulk copy of masked bytes that is not to global memory");
    x.op.k[0] = static_cast<uint8_t>(
        (global ? to_global : 0) | (i.src_space == typed::BulkSpace::G ? from_global : 0) |
        (i.multicast != typed::TmaCast::NONE ? multicast : 0) | (i.byte_mask ? masked : 0));
    x.op.k[1] = x.op.k[2] = 0;
    x.op.a = x.uniform_source(i.dst.base, 2);
    x.op.b = x.uniform_source(i.src.base, x.op.k[0] & from_global ? 2 : 1);
    x.op.c = x.uniform_source(i.c.index);
    x.handler(bulk);
}

void lower(Lower& x, const typed::Ublkred& i) {
    if (i.counted) return x.gap("a copy that is counted (.COUNTED), which no PTX becomes");
    if (!i.src_space || i.type > typed::BulkType::BF16_RN)
        return x.reject("a bulk reduction of an invalid source or type");
    const bool global = i.dst_space == typed::BulkSpace::G;
    const AtomicType type = atomic_type(i.type);
    if (!reduction_exists(atomic_op(i.op), type) || (!global && type > AtomicType::u64))
        return x.reject("there is no such bulk reduction of this type");
    x.op.k[0] = global ? to_global : 0;
    x.op.k[1] = static_cast<uint8_t>(atomic_op(i.op));
    x.op.k[2] = static_cast<uint8_t>(type);
    x.op.a = x.uniform_source(i.dst.base, 2);
    x.op.b = x.uniform_source(i.src.base);
    x.op.c = x.uniform_source(i.c.index);
    x.handler(bulk);
}

void lower(Lower& x, const typed::Utmaldg& i) {
    const bool cast = i.multicast != typed::TmaCast::NONE;
    tensor_operands(x, i,
                    static_cast<uint8_t>((cast ? multicast : 0) | (i.cta2 ? pair_of_ctas : 0)));
    if (cast || tensor_mode(i.mode) >= TensorMode::column) x.op.c = x.uniform_source(i.c.index);
}
void lower(Lower& x, const typed::Utmastg& i) {
    if (i.counted) return x.gap("a copy that is counted (.COUNTED), which no PTX becomes");
    tensor_operands(x, i, to_global);
}
void lower(Lower& x, const typed::Utmaredg& i) {
    if (i.counted) return x.gap("a copy that is counted (.COUNTED), which no PTX becomes");
    tensor_operands(x, i, to_global, atomic_op(i.op));
}

// Prefetches leave no trace, but a map that is none is one for them too; and tensor maps are not
// cached here.
void lower(Lower& x, const typed::Ublkpf& i) {
    x.op.b = x.uniform_source(i.src.base, 2);
    x.op.c = x.uniform_source(i.c.index);
    x.handler(prefetch_bytes);
}
void lower(Lower& x, const typed::Utmapf& i) {
    if (unknown_form(i)) return x.handler(nothing);
    tensor_operands(x, i, prefetch);
    if (tensor_mode(i.mode) >= TensorMode::column) x.op.c = x.uniform_source(i.c.index);
}
void lower(Lower& x, const typed::Utmacctl& i) {
    x.op.a = x.uniform_source(i.addr.base, 2);
    x.handler(i.op == typed::TmaCctlOp::IV ? acquire_map : prefetch_map);
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
