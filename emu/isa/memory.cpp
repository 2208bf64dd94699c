// SPDX-License-Identifier: Apache-2.0
// Lowering of loads and stores, and their way through the memory port. The handlers of the inlined
// flat model are in memory_global.cpp and memory_near.cpp.
#include "emu/isa/memory.hpp"

#include "emu/isa/memory_access.hpp"
#include "emu/isa/memory_handlers.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

const Op* access_port(const Op* op, Warp& w, uint32_t mask) {
    Access a = as<MemoryPayload>(*op).access(w, mask);
    const auto width = static_cast<Width>(op->k[0]);
    a.bytes = static_cast<uint8_t>(width_bytes(width));
    a.sign = width == Width::s8 || width == Width::s16;
    return services(w).access(w, op, a);
}

const Op* wide_access_port(const Op* op, Warp& w, uint32_t mask) {
    const auto& payload = as<WidePayload>(*op);
    const bool load = payload.operation() == AccessOp::load;
    const uint32_t lanes = load ? payload.accessing(w, mask) : mask;
    const Access all = payload.access(w, lanes);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const uint64_t address = all.address[std::countr_zero(rest)];
        if (address % WidePayload::bytes)
            return services(w).fault(w, op, rest & (0u - rest), FaultKind::misaligned_address,
                                     "the address is not a multiple of the access size", true,
                                     address);
    }
    for (uint32_t k = 0; k < payload.parts(); ++k) {
        for (uint32_t i = 0; load && i < payload.words(k); ++i)
            write<false>(w, payload.row(k) + i * row_bytes, L::splat(0), mask & ~lanes);
        if (lanes && !services(w).access(w, op, payload.part(all, k))) return nullptr;
    }
    return op + 1;
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

// The types of loads and stores are the widths that handlers have.
bool width_of(Lower& x, const Event& e, Width& out) {
    static_assert(SASSDEC_TYPE_B128 - SASSDEC_TYPE_U8 == int(Width::b128));
    if (e.type < SASSDEC_TYPE_U8 || e.type > SASSDEC_TYPE_B128) {
        x.reject("an access size that does not exist");
        return false;
    }
    out = static_cast<Width>(e.type - SASSDEC_TYPE_U8);
    return true;
}

namespace {

template <class T>
void far_load(Lower& x, const T& i) {
    const Event e = describe(x);
    Width width;
    if (!width_of(x, e, width)) return;
    if (!far_operand(x, i.addr, i.e, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_far_load(x, width, e.access_space() == AccessSpace::generic);
}

template <class T>
void far_store(Lower& x, const T& i) {
    const Event e = describe(x);
    Width width;
    if (!width_of(x, e, width)) return;
    if (!far_operand(x, i.addr, i.e, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_far_store(x, width, e.access_space() == AccessSpace::generic);
}

template <class T>
void near_load(Lower& x, const T& i, uint32_t shift) {
    const Event e = describe(x);
    Width width;
    if (!width_of(x, e, width)) return;
    near_operand(x, i.addr, shift);
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_near_load(x, width, e.access_space());
}

template <class T>
void near_store(Lower& x, const T& i, uint32_t shift) {
    const Event e = describe(x);
    Width width;
    if (!width_of(x, e, width)) return;
    near_operand(x, i.addr, shift);
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    if (x.through_port())
        x.handler(access_port);
    else
        choose_near_store(x, width, e.access_space());
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

namespace {
// A load with a predicate operand, m[3]: index | negated << 8. Lanes whose predicate is false get
// zeros (measured on an H200 for LDG); m[2] is the number of registers.
const Op* load_or_zero(const Op* op, Warp& w, uint32_t mask) {
    const uint32_t p = w.p[op->m[3] & 255] ^ (op->m[3] >> 8 ? ~0u : 0u);
    for (uint32_t k = 0; k < op->m[2]; ++k)
        write<false>(w, op->d + k * row_bytes, L::splat(0), mask & ~p);
    return mask & p ? access_port(op, w, mask & p) : next(op, w);
}
template <class T>
void lower_load(Lower& x, const T& i) {
    if (i.zd) return x.gap("a load with a predicate result");
    far_load(x, i);
    if (i.pa.index == SASSDEC_PT && !i.pa.neg) return;
    x.op.m[2] = width_words(static_cast<Width>(x.op.k[0]));
    x.op.m[3] = i.pa.index | static_cast<uint32_t>(i.pa.neg) << 8;
    x.handler(load_or_zero);
}
}  // namespace

namespace {
// The natural accesses that make up the words of the mask, as WidePayload has them.
uint32_t parts_of(uint32_t mask, const typed::Mem& address, uint32_t low, uint32_t high) {
    uint32_t parts = 0, count = 0, last = 0;
    const auto add = [&](uint32_t part) { parts |= part << 8 * count++; };
    for (uint32_t word = 0, words; word < 8; word += words) {
        const uint32_t rest = mask >> word;
        words = word % 4 == 0 && (rest & 15) == 15 ? 4 : word % 2 == 0 && (rest & 3) == 3 ? 2 : 1;
        if (!(rest & 1)) continue;
        // The part that overwrites the address comes last, since a model may put off the one behind
        // it. The pair of an address is aligned, so it is one.
        const uint32_t first = (word < 4 ? low : high) + word % 4;
        const bool over = address.has_base && !address.base_uniform && address.base != SASSDEC_RZ &&
                          first < address.base + 2u && address.base < first + words;
        if (over)
            last = word | words << 4;
        else
            add(word | words << 4);
    }
    if (last) add(last);
    return parts;
}

template <class T>
void lower_wide(Lower& x, const T& i, uint8_t low, uint8_t high) {
    const bool load = describe(x).access_op() == AccessOp::load;
    if (!far_operand(x, i.addr, true, i.ext == typed::AddressExt::B64 || !i.addr.has_ureg)) return;
    const auto mask = static_cast<uint32_t>(i.lanes.imm);
    const auto rows = [&](uint8_t index, uint32_t wanted) {
        const uint32_t count = wanted ? 4 : 1;
        return load ? x.destination_row(index, count) : x.source_row(index, count);
    };
    x.op.d = rows(low, mask & 15);
    x.op.e = rows(high, mask >> 4);
    x.op.m[2] = parts_of(mask, i.addr, low, high);
    x.op.m[3] = 7;
    bool always = true;
    if constexpr (requires { i.pa; }) {
        always = i.pa.index == SASSDEC_PT && !i.pa.neg;
        x.op.m[3] = i.pa.index | static_cast<uint32_t>(i.pa.neg) << 8;
    }
    if (x.through_port() || !always)
        x.handler(wide_access_port);
    else
        choose_wide(x, !load);
}
}  // namespace

void lower(Lower& x, const typed::Ldg256& i) { lower_wide(x, i, i.d.index, i.d2.index); }
void lower(Lower& x, const typed::Stg256& i) { lower_wide(x, i, i.data.index, i.data2.index); }
void lower(Lower& x, const typed::Ldg& i) {
    if (i.pd.index != SASSDEC_PT) return x.gap("a load with a predicate result");
    lower_load(x, i);
}
void lower(Lower& x, const typed::Stg& i) { far_store(x, i); }
void lower(Lower& x, const typed::Ld& i) { lower_load(x, i); }
void lower(Lower& x, const typed::St& i) { far_store(x, i); }
void lower(Lower& x, const typed::Lds& i) {
    if (i.zd) return x.gap("a load with a predicate result");
    near_load(x, i, shift_of(i.scale));
}
void lower(Lower& x, const typed::Sts& i) { near_store(x, i, shift_of(i.scale)); }
void lower(Lower& x, const typed::Ldl& i) { near_load(x, i, 0); }
void lower(Lower& x, const typed::Stl& i) { near_store(x, i, 0); }

void lower(Lower& x, const typed::Ldc& i) {
    Width width;
    if (!width_of(x, event_of(x.instruction()), width)) return;
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
