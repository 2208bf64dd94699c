// SPDX-License-Identifier: Apache-2.0
// Lowering of loads and stores, and their way through the memory port. The handlers of the inlined
// flat model are in memory_global.cpp and memory_near.cpp.
#include "emu/isa/memory.hpp"

#include "emu/isa/memory_access.hpp"
#include "emu/isa/memory_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

const Op* access_port(const Op* op, Warp& w, uint32_t mask) {
    Access a;
    a.op = static_cast<AccessOp>(op->k[1] & 15);
    a.space = static_cast<AccessSpace>(op->k[1] >> 4);
    a.ordering = static_cast<Ordering>(op->k[2] & 7);
    a.scope = static_cast<MemScope>(op->k[2] >> 3 & 7);
    a.proxy = op->k[2] >> 7 ? Proxy::texture : Proxy::generic;
    const auto width = static_cast<Width>(op->k[0]);
    a.bytes = static_cast<uint8_t>(width_bytes(width));
    a.sign = width == Width::s8 || width == Width::s16;
    a.lanes = mask;
    a.warp = &w;
    a.destination = a.op == AccessOp::store ? sink_row : op->d;
    a.source[0] = a.source[1] = op->d;
    const uint32_t* low = w.row(op->a);
    const uint32_t* high = w.row(op->b);
    if (a.space == AccessSpace::shared || a.space == AccessSpace::local) {
        const uint32_t add = w.scalar32(op->c) + op->m[0];
        for (uint32_t lane = 0; lane < 32; ++lane) a.address[lane] = (low[lane] << op->m[1]) + add;
    } else {
        const uint64_t add = w.scalar64(op->c) + static_cast<uint64_t>(signed_offset(op));
        for (uint32_t lane = 0; lane < 32; ++lane)
            a.address[lane] = (uint64_t{high[lane]} << 32 | low[lane]) + add;
    }
    return services(w).access(w, op, a);
}

bool far_operand(Lower& x, const typed::Mem& mem, bool extended, bool wide_base) {
    if (!extended) {
        x.gap("a 32-bit global address");
        return false;
    }
    if (mem.base_uniform) {
        x.op.a = x.op.b = zero_row;
        x.op.c = x.uniform_scalar(mem.base, 2);
    } else {
        x.op.a = x.source_row(mem.base, wide_base ? 2 : 1);
        x.op.b = wide_base && mem.base != SASSDEC_RZ ? x.op.a + row_bytes : zero_row;
        x.op.c = x.uniform_scalar(mem.has_ureg ? mem.ureg : SASSDEC_URZ, 2);
    }
    x.op.m[0] = static_cast<uint32_t>(mem.offset);
    return true;
}

void near_operand(Lower& x, const typed::Mem& mem, uint32_t shift) {
    x.op.a = x.source_row(mem.base);
    x.op.b = zero_row;
    x.op.c = x.uniform_scalar(mem.has_ureg ? mem.ureg : SASSDEC_URZ);
    x.op.m[0] = static_cast<uint32_t>(mem.offset);
    x.op.m[1] = shift;
}

namespace {

struct Meaning {
    Ordering ordering = Ordering::weak;
    MemScope scope = MemScope::none;
    bool constant = false;  // through the texture path (ld.global.nc)
};

// The names are nvdisasm's; strong is PTX relaxed.
Meaning meaning(typed::MemOrder order) {
    using O = typed::MemOrder;
    switch (order) {
        case O::CONSTANT:
        case O::CONSTANT_PRIVATE:
        case O::CONSTANT_CTA:
        case O::CONSTANT_CTA_PRIVATE:
        case O::CONSTANT_SM:
        case O::CONSTANT_SM_PRIVATE:
        case O::CONSTANT_VC:
        case O::CONSTANT_VC_PRIVATE:
        case O::CONSTANT_GPU:
        case O::CONSTANT_GPU_PRIVATE:
        case O::CONSTANT_SYS:
        case O::CONSTANT_SYS_PRIVATE:
            return {Ordering::weak, MemScope::none, true};
        case O::STRONG_CTA:
        case O::STRONG_CTA_PRIVATE:
            return {Ordering::relaxed, MemScope::cta, false};
        case O::STRONG_SM:
        case O::STRONG_SM_PRIVATE:
            return {Ordering::relaxed, MemScope::sm, false};
        case O::STRONG_GPU:
        case O::STRONG_GPU_PRIVATE:
            return {Ordering::relaxed, MemScope::gpu, false};
        case O::STRONG_SYS:
        case O::STRONG_SYS_PRIVATE:
        case O::STRONG_SYS_ORDERED:
            return {Ordering::relaxed, MemScope::sys, false};
        case O::MMIO_CTA:
        case O::MMIO_CTA_PRIVATE:
            return {Ordering::mmio, MemScope::cta, false};
        case O::MMIO_SM:
        case O::MMIO_SM_PRIVATE:
            return {Ordering::mmio, MemScope::sm, false};
        case O::MMIO_GPU:
        case O::MMIO_GPU_PRIVATE:
            return {Ordering::mmio, MemScope::gpu, false};
        case O::MMIO_SYS:
        case O::MMIO_SYS_PRIVATE:
        case O::MMIO_SYS_ORDERED:
            return {Ordering::mmio, MemScope::sys, false};
        default:
            return {};
    }
}

// Width of the typed struct's size field; U.128 moves the same bytes as 128.
bool width_of(Lower& x, typed::MemSize size, Width& out) {
    using S = typed::MemSize;
    switch (size) {
        case S::U8:
            out = Width::u8;
            return true;
        case S::S8:
            out = Width::s8;
            return true;
        case S::U16:
            out = Width::u16;
            return true;
        case S::S16:
            out = Width::s16;
            return true;
        case S::B32:
            out = Width::b32;
            return true;
        case S::B64:
            out = Width::b64;
            return true;
        case S::B128:
        case S::U128:
            out = Width::b128;
            return true;
        default:
            x.reject("an access size that does not exist");
            return false;
    }
}

template <class T>
void far_load(Lower& x, const T& i, AccessSpace space) {
    Width width;
    if (!width_of(x, i.size, width)) return;
    if (!far_operand(x, i.addr, i.e, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    describe(x, AccessOp::load, space, i.order);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_far_load(x, width, space == AccessSpace::generic);
}

template <class T>
void far_store(Lower& x, const T& i, AccessSpace space) {
    Width width;
    if (!width_of(x, i.size, width)) return;
    if (!far_operand(x, i.addr, i.e, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    describe(x, AccessOp::store, space, i.order);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_far_store(x, width, space == AccessSpace::generic);
}

template <class T>
void near_load(Lower& x, const T& i, AccessSpace space, uint32_t shift) {
    Width width;
    if (!width_of(x, i.size, width)) return;
    near_operand(x, i.addr, shift);
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    describe(x, AccessOp::load, space, typed::MemOrder::WEAK);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_near_load(x, width, space);
}

template <class T>
void near_store(Lower& x, const T& i, AccessSpace space, uint32_t shift) {
    Width width;
    if (!width_of(x, i.size, width)) return;
    near_operand(x, i.addr, shift);
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    describe(x, AccessOp::store, space, typed::MemOrder::WEAK);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_near_store(x, width, space);
}

uint32_t shift_of(typed::SharedScale scale) {
    switch (scale) {
        case typed::SharedScale::X4:
            return 2;
        case typed::SharedScale::X8:
            return 3;
        case typed::SharedScale::X16:
            return 4;
        default:
            return 0;
    }
}

}  // namespace

void describe(Lower& x, AccessOp op, AccessSpace space, typed::MemOrder order) {
    const Meaning m = meaning(order);
    x.op.k[1] = static_cast<uint8_t>(static_cast<uint8_t>(op) | static_cast<uint8_t>(space) << 4);
    x.op.k[2] = static_cast<uint8_t>(static_cast<uint8_t>(m.ordering) |
                                     static_cast<uint8_t>(m.scope) << 3 | m.constant << 7);
}

namespace {
// A load with a predicate operand, m[3]: index | negated << 8. Lanes whose predicate is false get
// zeros (measured on an H200 for LDG); m[2] is the number of registers.
const Op* load_or_zero(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t p = w.p[op->m[3] & 255] ^ (op->m[3] >> 8 ? ~0u : 0u);
    for (uint32_t k = 0; k < op->m[2]; ++k)
        write<false>(w, op->d + k * row_bytes, L::splat(0), mask & ~p);
    return mask & p ? access_port(op, w, mask & p) : op + 1;
}
template <class T>
void lower_load(Lower& x, const T& i, AccessSpace space) {
    if (i.zd) return x.gap("a load with a predicate result");
    far_load(x, i, space);
    if (i.pa.index == SASSDEC_PT && !i.pa.neg) return;
    x.op.m[2] = width_words(static_cast<Width>(x.op.k[0]));
    x.op.m[3] = i.pa.index | static_cast<uint32_t>(i.pa.neg) << 8;
    x.handler(load_or_zero);
}
}  // namespace

void lower(Lower& x, const typed::Ldg& i) {
    if (i.pd.index != SASSDEC_PT) return x.gap("a load with a predicate result");
    lower_load(x, i, AccessSpace::global);
}
void lower(Lower& x, const typed::Stg& i) { far_store(x, i, AccessSpace::global); }
void lower(Lower& x, const typed::Ld& i) { lower_load(x, i, AccessSpace::generic); }
void lower(Lower& x, const typed::St& i) { far_store(x, i, AccessSpace::generic); }
void lower(Lower& x, const typed::Lds& i) {
    if (i.zd) return x.gap("a load with a predicate result");
    near_load(x, i, AccessSpace::shared, shift_of(i.scale));
}
void lower(Lower& x, const typed::Sts& i) {
    near_store(x, i, AccessSpace::shared, shift_of(i.scale));
}
void lower(Lower& x, const typed::Ldl& i) { near_load(x, i, AccessSpace::local, 0); }
void lower(Lower& x, const typed::Stl& i) { near_store(x, i, AccessSpace::local, 0); }

void lower(Lower& x, const typed::Ldc& i) {
    Width width;
    if (!width_of(x, i.size, width)) return;
    // .IL, .IS and .ISL change how register and offset form bank and address.
    if (i.mode != typed::ConstMode::None) return x.gap("LDC with an index mode");
    const auto& a = i.addr;
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    x.op.a = x.source_row(a.index);
    x.op.m[0] = static_cast<uint32_t>(a.offset);
    switch (a.bank) {
        case 0:
            x.op.m[1] = static_cast<uint32_t>(Base::bank0);
            break;
        case 2:
            x.op.m[1] = static_cast<uint32_t>(Base::bank2);
            break;
        case 3:
            x.op.m[1] = static_cast<uint32_t>(Base::bank3);
            break;
        case 4:
            x.op.m[1] = static_cast<uint32_t>(Base::bank4);
            break;
        default:
            return x.gap("a constant bank that compute kernels do not have");
    }
    choose_constant_load(x, width);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
