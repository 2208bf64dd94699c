// SPDX-License-Identifier: Apache-2.0
// Lowering and handlers of texture instructions. Surfaces are in surface.cpp, sampling itself in
// texture_sample.cpp. Textures are read-only here: they do not pass the memory port.
//
// Where the arguments lie, from compiled code (ptxas 13.0): layer (an integer) and coordinates in
// the registers from Ra on; then, from Rb on, the handle (.B), the level of detail and the offsets
// (4 bits for each dimension; of TLD4 6 of each byte). With .SCR the whole list is cut in two
// halves, the first in Ra and the rest in Rb. TXD has the coordinates, then layer | offsets << 16
// in Ra, and the derivatives in Rb, of each coordinate along x and y.
//
// Op: m[0..2] rows of the coordinates; a of the layer; b of the level or the first derivative; f of
// the offsets; c the handle, a scalar or (k[0]) a row; d, e the result rows; k[1] dimensions; k[2]
// component mask | predicate << 4; m[3] TextureWork and flags.
#include "emu/isa/texture.hpp"

#include "emu/isa/texture_level.hpp"
#include "emu/isa/texture_sample.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

enum TextureWork : uint32_t { sample, fetch, gather, query, derive };
enum TextureFlag : uint32_t {
    cube = 1 << 4,
    array = 1 << 5,
    has_level = 1 << 6,  // without: of samples the base
    clamps = 1 << 7,
    component_shift = 8,
};

int32_t signed_bits(uint32_t bits, unsigned from, unsigned count) {
    return static_cast<int32_t>(bits << (32 - count - from)) >> (32 - count);
}

// What lane `lane` asks of the object.
Lookup lookup(const Op* op, Warp& w, unsigned lane, const TextureDesc& desc) {
    const auto kind = static_cast<TextureWork>(op->m[3] & 15);
    Lookup l;
    l.dims = op->k[1];
    l.cube = op->m[3] & cube;
    l.clamp = op->m[3] & clamps;
    l.component = op->m[3] >> component_shift;
    for (unsigned i = 0; i < l.dims; ++i) {
        const uint32_t bits = w.row(op->m[i])[lane];
        l.at[i] = std::bit_cast<float>(bits);
        l.texel[i] = static_cast<int32_t>(bits);
    }
    uint32_t offsets = w.row(op->f)[lane];
    l.layer = w.row(op->a)[lane];
    if (kind == derive) {
        offsets = l.layer >> 16;
        l.layer &= 0xffff;
    }
    if (!(op->m[3] & array)) l.layer = 0;
    for (unsigned i = 0; i < l.dims && i < 3; ++i)
        l.offset[i] =
            kind == gather ? signed_bits(offsets, 8 * i, 6) : signed_bits(offsets, 4 * i, 4);
    if (kind == derive) {
        double d[4] = {};
        for (unsigned i = 0; i < 2 * l.dims; ++i) {
            const float v = std::bit_cast<float>(w.row(op->b + i * row_bytes)[lane]);
            d[i] = in_texels(v, desc.extent(i / 2));
        }
        l.level = level_of_derivatives(d, desc);
    } else if (kind == fetch) {
        l.level = op->m[3] & has_level ? static_cast<int32_t>(w.row(op->b)[lane]) : 0;
    } else if (kind == sample) {
        const float lod = std::bit_cast<float>(w.row(op->b)[lane]);
        l.level = op->m[3] & has_level ? level_of(lod, desc) : level_within(-32 * 256, desc);
    }
    return l;
}

const Op* texture(const Op* op, Warp& w, uint32_t mask) {
    const auto kind = static_cast<TextureWork>(op->m[3] & 15);
    Texel result[32];
    for (uint32_t m = mask; m; m &= m - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(m));
        const uint32_t handle = op->k[0] ? w.row(op->c)[lane] : w.scalar32(op->c);
        const TextureObject* object = w.cta->launch->textures->find(handle);
        if (!object)
            return services(w).fault(w, op, 1u << lane, FaultKind::illegal_texture,
                                     "the handle names no texture object", true, handle);
        const TextureDesc& desc = object->desc;
        if (kind == query) {
            const uint32_t level = w.row(op->a)[lane];
            if (level < desc.levels)
                result[lane] = Texel{{desc.extent(0, level), desc.extent(1, level),
                                      desc.layers  ? desc.layers
                                      : desc.depth ? desc.extent(2, level)
                                                   : 0,
                                      0}};
            // The layers of lines are rows.
            if (level < desc.levels && desc.layers && !desc.height && !desc.cube)
                result[lane] = Texel{{desc.extent(0, level), desc.layers, 0, 0}};
            continue;
        }
        // How an anisotropic filter places its samples is not known.
        if (kind == derive && desc.anisotropy > 1) return services(w).unsupported(w, op, mask);
        const Lookup l = lookup(op, w, lane, desc);
        Sampler s(w, *object);
        result[lane] = kind == fetch ? s.fetch(l) : kind == gather ? s.gather(l) : s.sample(l);
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
    // All texels are resident.
    write_predicate(w, op->k[2] >> 4, mask, mask);
    return next(op, w);
}

// What TexDim says.
bool dimensions(Lower& x, typed::TexDim dim) {
    switch (dim) {
        case typed::TexDim::D1:
        case typed::TexDim::ARRAY_1D:
            x.op.k[1] = 1;
            break;
        case typed::TexDim::D2:
        case typed::TexDim::ARRAY_2D:
            x.op.k[1] = 2;
            break;
        case typed::TexDim::D3:
            x.op.k[1] = 3;
            break;
        case typed::TexDim::CUBE:
        case typed::TexDim::ARRAY_CUBE:
            x.op.k[1] = 3;
            x.op.m[3] |= cube;
            break;
        default:
            x.reject("a texture dimension that does not exist");
            return false;
    }
    if (dim == typed::TexDim::ARRAY_1D || dim == typed::TexDim::ARRAY_2D ||
        dim == typed::TexDim::ARRAY_CUBE)
        x.op.m[3] |= array;
    return true;
}

template <class T>
bool results(Lower& x, const T& i) {
    const auto mask = static_cast<uint8_t>(i.mask.imm & 15);
    x.op.k[2] = static_cast<uint8_t>(mask | 7 << 4);
    const auto n = static_cast<unsigned>(std::popcount(static_cast<uint32_t>(mask)));
    x.op.d = x.destination_row(i.d.index, n > 2 ? 2 : n ? n : 1);
    x.op.e = x.destination_row(i.d2.index, n > 3 ? 2 : 1);
    if (n > 2) return true;
    x.op.e = sink_row;
    return true;
}
template <class T>
bool results_and_residency(Lower& x, const T& i) {
    if (!results(x, i)) return false;
    x.op.k[2] = static_cast<uint8_t>((x.op.k[2] & 15) | Lower::predicate(i.pd.index) << 4);
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

// Whether the handle stands in one place, of those that are known.
template <class T>
bool one_handle(Lower& x, const T& i, bool bindless) {
    using typed::SrcKind;
    const bool outside = i.word.kind == SrcKind::Imm || i.handle.kind == SrcKind::UReg;
    const bool more = i.slot.kind == SrcKind::Imm ||
                      (i.extra.kind == SrcKind::UReg && i.extra.index != SASSDEC_URZ);
    if (bindless != outside && !more) return true;
    x.gap(bindless && outside ? "a texture handle given twice" : "a texture handle of this form");
    return false;
}

struct Form {
    bool scalar, bindless, level, offsets;
};

// The rows of the argument list.
template <class T>
bool arguments(Lower& x, const T& i, const Form& form) {
    const unsigned dims = x.op.k[1];
    if (!one_handle(x, i, form.bindless)) return false;
    const bool layered = x.op.m[3] & array;
    const unsigned places = layered + dims;
    const unsigned n = places + form.bindless + form.level + form.offsets;
    const unsigned first = form.scalar ? (n + 1) / 2 : places;
    unsigned k = 0;
    const auto argument = [&](bool there) {
        if (!there) return zero_row;
        const unsigned at = k++;
        return at < first ? row_after(x, i.a, at) : row_after(x, i.b, at - first);
    };
    x.op.a = argument(layered);
    for (unsigned d = 0; d < dims; ++d) x.op.m[d] = argument(true);
    x.op.k[0] = form.bindless;
    if (form.bindless) x.op.c = argument(true);
    x.op.b = argument(form.level);
    x.op.f = argument(form.offsets);
    if (form.level) x.op.m[3] |= has_level;
    return form.bindless || bound_handle(x, i);
}

// .AOFFI of the architectures, and what else takes offsets.
template <class T>
bool plain_offsets(Lower& x, const T& i, const char* what, bool* offsets) {
    const uint64_t form = static_cast<uint64_t>(i.offset);
    *offsets = i.aoffi || form == 1;
    if (form > 1 || i.uai) x.gap(what);
    return form <= 1 && !i.uai;
}

}  // namespace

void lower(Lower& x, const typed::Tex& i) {
    using Lod = typed::TexLod;
    Form form{i.scr != 0, i.bindless == typed::Bindless::B, false, false};
    if (i.half != typed::TexHalf::None || i.dc || i.ndv || i.derivatives)
        return x.gap("TEX with comparison, half results or derivatives of its neighbours");
    if (!plain_offsets(x, i, "TEX with offsets in a uniform register", &form.offsets)) return;
    if (i.lod != Lod::None && i.lod != Lod::LZ && i.lod != Lod::LL && i.lod != Lod::LB)
        return x.gap("TEX with a clamped level of detail");
    form.level = i.lod == Lod::LL || i.lod == Lod::LB;
    x.op.m[3] = sample;
    if (!dimensions(x, i.dim) || !results_and_residency(x, i) || !arguments(x, i, form)) return;
    // To what a bias would be added, the level of the pixel, kernels do not have.
    if (i.lod == Lod::LB) x.op.m[3] &= ~has_level;
    x.handler(texture);
}

void lower(Lower& x, const typed::Tld& i) {
    Form form{i.scr != 0, i.bindless == typed::Bindless::B, i.lod == typed::TexLod::LL, false};
    if (i.half != typed::TexHalf::None || i.ms || i.samples)
        return x.gap("TLD with samples or half results");
    if (!plain_offsets(x, i, "TLD with offsets in a uniform register", &form.offsets)) return;
    x.op.m[3] = fetch | (i.cl ? clamps : 0u);
    if (!dimensions(x, i.dim) || !results_and_residency(x, i) || !arguments(x, i, form)) return;
    x.handler(texture);
}

void lower(Lower& x, const typed::Tld4& i) {
    using typed::TexOffset;
    if (i.half != typed::TexHalf::None || i.uai || i.dc ||
        (i.offset != TexOffset::None && i.offset != TexOffset::AOFFI))
        return x.gap("TLD4 with an offset for each texel, comparison or half results");
    const Form form{i.scr != 0, i.bindless == typed::Bindless::B, false,
                    i.offset == TexOffset::AOFFI};
    x.op.m[3] = gather | static_cast<uint32_t>(i.component) << component_shift;
    if (!dimensions(x, i.dim) || !results_and_residency(x, i) || !arguments(x, i, form)) return;
    x.handler(texture);
}

void lower(Lower& x, const typed::Txd& i) {
    Form form{};
    if (i.half != typed::TexHalf::None || i.lc || i.clamp || i.bindless == typed::Bindless::B)
        return x.gap("TXD with half results, a clamped level or a handle in a register");
    if (!plain_offsets(x, i, "TXD with offsets in a uniform register", &form.offsets)) return;
    x.op.m[3] = derive;
    if (!one_handle(x, i, false) || !dimensions(x, i.dim) || !results_and_residency(x, i)) return;
    const unsigned dims = x.op.k[1];
    for (unsigned d = 0; d < dims; ++d) x.op.m[d] = row_after(x, i.a, d);
    x.op.a = (x.op.m[3] & array) || form.offsets ? row_after(x, i.a, dims) : zero_row;
    x.op.b = x.source_row(i.b.index, 2 * dims);
    x.op.f = zero_row;
    if (bound_handle(x, i)) x.handler(texture);
}

void lower(Lower& x, const typed::Txq& i) {
    if (i.query != typed::TxqQuery::DIMENSION) return x.gap("this question of TXQ");
    if (i.bindless == typed::Bindless::B ||
        (i.handle.kind != typed::SrcKind::UReg && i.word.kind != typed::SrcKind::Imm))
        return x.gap("TXQ with a handle in a register");
    x.op.k[1] = 0;
    x.op.m[3] = query;
    x.op.a = x.source_row(i.a.index);
    if (!results(x, i) || !bound_handle(x, i)) return;
    x.handler(texture);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
