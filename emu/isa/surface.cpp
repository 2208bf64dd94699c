// SPDX-License-Identifier: Apache-2.0
// Surface loads, stores and reductions. Coordinates become device addresses here, and the access
// itself goes through the memory port in every mode.
//
// PTX ISA, "suld", "sust": x is in bytes; outside the surface .trap faults, .zero (IGN here) reads
// 0 and drops writes, and .clamp uses the nearest location.
//
// Op: a the row of x (y and z follow); c the handle, a scalar or (m[0]) a row; d data row(s);
// k[0] Width; k[1] dimensions, the layer too, | clamp << 4 | layered << 6; m[1] AccessOp; m[2]
// AtomicOp | AtomicType << 8.
#include "emu/isa/texture.hpp"

#include "emu/isa/memory_access.hpp"
#include "emu/memory/textures.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

enum Outside : uint32_t { ignored, nearest, trapped };

const Op* surface(const Op* op, Warp& w, uint32_t mask) {
    const auto width = static_cast<Width>(op->k[0]);
    const int64_t bytes = width_bytes(width);
    const unsigned dims = op->k[1] & 15;
    const auto outside = static_cast<Outside>(op->k[1] >> 4 & 3);
    const bool layered = op->k[1] >> 6;
    Access a;
    a.op = static_cast<AccessOp>(op->m[1]);
    a.space = AccessSpace::surface;
    a.proxy = Proxy::surface;
    a.bytes = static_cast<uint8_t>(bytes);
    a.sign = width == Width::s8 || width == Width::s16;
    a.atomic = static_cast<AtomicOp>(op->m[2] & 255);
    a.type = static_cast<AtomicType>(op->m[2] >> 8);
    a.warp = &w;
    a.destination = a.op == AccessOp::load ? op->d : sink_row;
    a.source[0] = a.source[1] = op->d;
    a.lanes = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        const uint32_t handle = op->m[0] ? w.row(op->c)[lane] : w.scalar32(op->c);
        const TextureObject* object = w.cta->launch->textures->find(handle);
        if (!object)
            return services(w).fault(w, op, 1u << lane, FaultKind::illegal_texture,
                                     "the handle names no surface object", true, handle);
        const TextureDesc& desc = object->desc;
        int64_t extent[3] = {static_cast<int64_t>(desc.width) * object->texel_bytes - (bytes - 1),
                             desc.extent(1), static_cast<int64_t>(desc.slices())};
        // The layer of lines is a row.
        if (layered && dims == 2) extent[1] = extent[2];
        int64_t at[3] = {};
        bool inside = true;
        for (unsigned i = 0; i < dims; ++i) {
            at[i] = static_cast<int32_t>(w.row(op->a + i * row_bytes)[lane]);
            if (at[i] >= 0 && at[i] < extent[i]) continue;
            inside = false;
            at[i] = at[i] < 0 || extent[i] <= 0 ? 0 : extent[i] - 1;
        }
        const uint64_t address = desc.address +
                                 static_cast<uint64_t>(at[2] * extent[1] + at[1]) * desc.pitch +
                                 static_cast<uint64_t>(at[0]);
        if (!inside && outside == trapped)
            return services(w).fault(w, op, 1u << lane, FaultKind::illegal_texture,
                                     "outside the surface", true, address);
        a.address[lane] = address;
        if (inside || outside == nearest) a.lanes |= 1u << lane;
    }
    if (a.op == AccessOp::load && a.lanes != mask)
        for (uint32_t k = 0; k < width_words(width); ++k)
            write<false>(w, op->d + k * row_bytes, L::splat(0), mask & ~a.lanes);
    return a.lanes ? services(w).access(w, op, a) : op + 1;
}

template <class T>
bool place(Lower& x, const T& i) {
    using D = typed::SurfaceDim;
    using C = typed::SurfaceClamp;
    unsigned dims;
    bool layered = false;
    switch (i.dim) {
        case D::D1:
            dims = 1;
            break;
        case D::D2:
            dims = 2;
            break;
        case D::D3:
            dims = 3;
            break;
        case D::ARRAY_1D:
            dims = 2;
            layered = true;
            break;
        case D::ARRAY_2D:
            dims = 3;
            layered = true;
            break;
        default:
            x.gap("surface buffers");
            return false;
    }
    Outside outside;
    switch (i.clamp) {
        case C::IGN:
            outside = ignored;
            break;
        case C::NEAR:
            outside = nearest;
            break;
        case C::TRAP:
            outside = trapped;
            break;
        default:
            x.reject("a clamp mode that does not exist");
            return false;
    }
    if (i.uai || (i.extra.kind == typed::SrcKind::UReg && i.extra.index != SASSDEC_URZ)) {
        x.gap("a surface access with two uniform operands");
        return false;
    }
    if (!i.ba) {
        x.gap("a surface access whose x does not count bytes");
        return false;
    }
    x.op.k[1] = static_cast<uint8_t>(dims | outside << 4 | (layered ? 64 : 0));
    x.op.a = x.source_row(i.addr.base, dims);
    x.op.m[0] = 0;
    if (i.handle.kind == typed::SrcKind::UReg) {
        if (i.index.kind == typed::SrcKind::Imm && i.index.imm != 0) {
            x.gap("an index beside the surface handle");
            return false;
        }
        x.op.c = x.uniform_scalar(i.handle.index);
    } else if (i.word.kind == typed::SrcKind::Imm) {
        x.op.c =
            x.constant(static_cast<unsigned>(i.bank.imm), static_cast<uint32_t>(i.word.imm) * 4, 4);
    } else {
        return true;  // in a register: the caller's
    }
    return true;
}

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
            out = Width::b128;
            return true;
        default:
            x.reject("an access size that does not exist");
            return false;
    }
}

template <class T>
void object_register(Lower& x, const T& i) {
    if (i.object.kind != typed::SrcKind::Reg) return;
    x.op.m[0] = 1;
    x.op.c = x.source_row(i.object.index);
}

}  // namespace

void lower(Lower& x, const typed::Suld& i) {
    Width width;
    if (i.pd.index != SASSDEC_PT) return x.gap("SULD with a residency predicate");
    if (!place(x, i) || !width_of(x, i.size, width)) return;
    object_register(x, i);
    x.op.d = x.destination_row(i.d.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    x.op.m[1] = static_cast<uint32_t>(AccessOp::load);
    x.op.m[2] = 0;
    x.handler(surface);
}

void lower(Lower& x, const typed::Sust& i) {
    Width width;
    if (!place(x, i) || !width_of(x, i.size, width)) return;
    object_register(x, i);
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    x.op.m[1] = static_cast<uint32_t>(AccessOp::store);
    x.op.m[2] = 0;
    x.handler(surface);
}

void lower(Lower& x, const typed::Sured& i) {
    using O = typed::SuredOp;
    using T = typed::AtomType;
    if (!place(x, i)) return;
    object_register(x, i);
    AtomicOp op;
    switch (i.op) {
        case O::ADD:
            op = AtomicOp::add;
            break;
        case O::MIN:
            op = AtomicOp::min;
            break;
        case O::MAX:
            op = AtomicOp::max;
            break;
        case O::INC:
            op = AtomicOp::inc;
            break;
        case O::DEC:
            op = AtomicOp::dec;
            break;
        case O::AND:
            op = AtomicOp::and_;
            break;
        case O::OR:
            op = AtomicOp::or_;
            break;
        default:
            op = AtomicOp::xor_;
            break;
    }
    AtomicType type;
    Width width = Width::b32;
    switch (i.type) {
        case T::U32:
            type = AtomicType::u32;
            break;
        case T::S32:
            type = AtomicType::s32;
            break;
        case T::U64:
            type = AtomicType::u64, width = Width::b64;
            break;
        case T::S64:
            type = AtomicType::s64, width = Width::b64;
            break;
        default:
            return x.gap("a floating-point reduction on a surface");
    }
    x.op.d = x.source_row(i.data.index, width_words(width));
    x.op.k[0] = static_cast<uint8_t>(width);
    x.op.m[1] = static_cast<uint32_t>(AccessOp::reduce);
    x.op.m[2] = static_cast<uint32_t>(op) | static_cast<uint32_t>(type) << 8;
    x.handler(surface);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
