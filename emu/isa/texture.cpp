// SPDX-License-Identifier: Apache-2.0
// Lowering and handlers of texture instructions. Surfaces are in surface.cpp, sampling itself in
// texture_sample.cpp. Textures are read-only here: they do not pass the memory port.
//
// Where the arguments lie, from compiled code (ptxas 13.0): coordinates in the registers from Ra
// on; then, from Rb on, the handle (.B) and the level of detail. With .SCR the whole list is cut in
// two halves, the first in Ra and the rest in Rb. Objects have one level here, so that it does not
// matter.
//
// Op: m[0..2] rows of the coordinates; c the handle, a scalar or (k[0]) a row; d, e the result
// rows; k[1] dimensions; k[2] component mask; m[3] TextureWork | gathered component << 8.
#include "emu/isa/texture.hpp"

#include "emu/isa/texture_sample.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

enum TextureWork : uint32_t { sample, fetch, gather, query };

const Op* texture(const Op* op, Warp& w, uint32_t mask) {
    const auto kind = static_cast<TextureWork>(op->m[3] & 255);
    const unsigned dims = op->k[1];
    Texel result[32];
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        const uint32_t handle = op->k[0] ? w.row(op->c)[lane] : w.scalar32(op->c);
        const TextureObject* object = w.cta->launch->textures->find(handle);
        if (!object)
            return services(w).fault(w, op, 1u << lane, FaultKind::illegal_texture,
                                     "the handle names no texture object", true, handle);
        if (kind == query) {
            result[lane] = Texel{{object->desc.width, object->desc.height, object->desc.depth, 1}};
            continue;
        }
        Sampler s(w, *object);
        float at[3];
        int32_t index[3];
        for (unsigned i = 0; i < dims; ++i) {
            const uint32_t bits = w.row(op->m[i])[lane];
            at[i] = std::bit_cast<float>(bits);
            index[i] = static_cast<int32_t>(bits);
        }
        if (kind == fetch)
            result[lane] = s.fetch(index, dims);
        else if (kind == gather)
            result[lane] = s.gather(at, op->m[3] >> 8);
        else if (object->desc.filter == FilterMode::linear && s.is_float())
            result[lane] = s.linear(at, dims);
        else
            result[lane] = s.point(at, dims);
        if (s.failed())
            return services(w).fault(w, op, 1u << lane, FaultKind::illegal_texture,
                                     "a texel lies outside of every allocation", true, s.address());
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        uint32_t slot = 0;
        for (uint32_t k = 0; k < 4; ++k) {
            if (!(op->k[2] >> k & 1)) continue;
            w.row(slot < 2 ? op->d + slot * row_bytes : op->e + (slot - 2) * row_bytes)[lane] =
                result[lane].component[k];
            ++slot;
        }
    }
    return next(op, w);
}

bool dimensions(Lower& x, typed::TexDim dim) {
    switch (dim) {
        case typed::TexDim::D1:
            x.op.k[1] = 1;
            return true;
        case typed::TexDim::D2:
            x.op.k[1] = 2;
            return true;
        case typed::TexDim::D3:
            x.op.k[1] = 3;
            return true;
        default:
            x.gap("layered and cube textures");
            return false;
    }
}

template <class T>
bool results(Lower& x, const T& i) {
    x.op.k[2] = static_cast<uint8_t>(i.mask.imm & 15);
    const auto n = static_cast<unsigned>(std::popcount(static_cast<uint32_t>(x.op.k[2])));
    x.op.d = x.destination_row(i.d.index, n > 2 ? 2 : n ? n : 1);
    x.op.e = x.destination_row(i.d2.index, n > 3 ? 2 : 1);
    if (n > 2) return true;
    x.op.e = sink_row;
    return true;
}

// The handle of forms that have it outside the argument list.
template <class T>
bool bound_handle(Lower& x, const T& i) {
    x.op.k[0] = 0;
    if (i.handle.kind == typed::SrcKind::UReg) {
        if (i.index.kind == typed::SrcKind::Imm && i.index.imm != 0) {
            x.gap("an index beside the texture handle");
            return false;
        }
        x.op.c = x.uniform_scalar(i.handle.index);
        return true;
    }
    x.op.c =
        x.constant(static_cast<unsigned>(i.bank.imm), static_cast<uint32_t>(i.word.imm) * 4, 4);
    return true;
}

uint32_t row_after(Lower& x, const typed::Src& first, unsigned n) {
    return first.index == SASSDEC_RZ ? zero_row : x.source_row(first.index + n);
}

// Coordinates and handle from the argument list; `extra` arguments follow them.
template <class T>
bool arguments(Lower& x, const T& i, bool scalar, bool bindless, unsigned extra) {
    using typed::SrcKind;
    const unsigned dims = x.op.k[1];
    const bool outside = i.word.kind == SrcKind::Imm || i.handle.kind == SrcKind::UReg;
    const bool more = i.slot.kind == SrcKind::Imm ||
                      (i.extra.kind == SrcKind::UReg && i.extra.index != SASSDEC_URZ);
    if (bindless == outside || more) {
        x.gap(bindless && outside ? "a texture handle given twice"
                                  : "a texture handle of this form");
        return false;
    }
    const bool in_list = bindless;
    const unsigned n = dims + in_list + extra;
    const unsigned first = scalar ? (n + 1) / 2 : dims;
    const auto argument = [&](unsigned k) {
        return k < first ? row_after(x, i.a, k) : row_after(x, i.b, k - first);
    };
    for (unsigned k = 0; k < dims; ++k) x.op.m[k] = argument(k);
    if (!in_list) return bound_handle(x, i);
    x.op.k[0] = 1;
    x.op.c = argument(dims);
    return true;
}

}  // namespace

void lower(Lower& x, const typed::Tex& i) {
    using Lod = typed::TexLod;
    if (i.half != typed::TexHalf::None || i.aoffi || i.offset || i.uai || i.dc || i.ndv ||
        i.derivatives || i.pd.index != SASSDEC_PT)
        return x.gap("TEX with offsets, comparison, half results or residency");
    if (i.lod != Lod::None && i.lod != Lod::LZ && i.lod != Lod::LL && i.lod != Lod::LB)
        return x.gap("TEX with a clamped level of detail");
    const bool level = i.lod == Lod::LL || i.lod == Lod::LB;
    if (!dimensions(x, i.dim) || !results(x, i) ||
        !arguments(x, i, i.scr, i.bindless == typed::Bindless::B, level ? 1 : 0))
        return;
    x.op.m[3] = sample;
    x.handler(texture);
}

void lower(Lower& x, const typed::Tld& i) {
    if (i.half != typed::TexHalf::None || i.aoffi || i.offset || i.uai || i.ms || i.samples ||
        i.cl || i.pd.index != SASSDEC_PT)
        return x.gap("TLD with offsets, samples, half results or residency");
    if (!dimensions(x, i.dim) || !results(x, i) ||
        !arguments(x, i, i.scr, i.bindless == typed::Bindless::B,
                   i.lod == typed::TexLod::LL ? 1 : 0))
        return;
    x.op.m[3] = fetch;
    x.handler(texture);
}

void lower(Lower& x, const typed::Tld4& i) {
    if (i.half != typed::TexHalf::None || i.offset != typed::TexOffset::None || i.uai || i.dc ||
        i.pd.index != SASSDEC_PT)
        return x.gap("TLD4 with offsets, comparison, half results or residency");
    if (!dimensions(x, i.dim) || !results(x, i) ||
        !arguments(x, i, i.scr, i.bindless == typed::Bindless::B, 0))
        return;
    x.op.m[3] = gather | static_cast<uint32_t>(i.component) << 8;
    x.handler(texture);
}

// Derivatives choose a level of detail, and there is only one.
void lower(Lower& x, const typed::Txd& i) {
    if (i.half != typed::TexHalf::None || i.aoffi || i.offset || i.uai || i.lc || i.clamp ||
        i.bindless == typed::Bindless::B || i.pd.index != SASSDEC_PT)
        return x.gap("TXD with offsets, half results, residency or a handle in a register");
    if (!dimensions(x, i.dim) || !results(x, i) || !arguments(x, i, false, false, 0)) return;
    x.op.m[3] = sample;
    x.handler(texture);
}

void lower(Lower& x, const typed::Txq& i) {
    if (i.query != typed::TxqQuery::DIMENSION) return x.gap("this question of TXQ");
    if (i.bindless == typed::Bindless::B ||
        (i.handle.kind != typed::SrcKind::UReg && i.word.kind != typed::SrcKind::Imm))
        return x.gap("TXQ with a handle in a register");
    x.op.k[1] = 0;
    if (!results(x, i) || !bound_handle(x, i)) return;
    x.op.m[3] = query;
    x.handler(texture);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
