// SPDX-License-Identifier: Apache-2.0
// Sampling behind texture_sample.hpp.
#include "emu/isa/texture_sample.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

// Halves of a weight in 1/256: one is rounded, the other is what is left.
struct Split {
    uint32_t low, high;
};
uint32_t part(uint32_t weight, uint32_t fraction) { return (weight * fraction + 128) >> 8; }
Split by_high(uint32_t weight, uint32_t fraction) {
    const uint32_t high = part(weight, fraction);
    return {weight - high, high};
}
Split by_low(uint32_t weight, uint32_t fraction) {
    const uint32_t low = part(weight, 256 - fraction);
    return {low, weight - low};
}

}  // namespace

Texel Sampler::read(unsigned level, int64_t x, int64_t y, uint64_t slice) {
    const uint64_t row = slice * desc_.extent(1, level) + static_cast<uint64_t>(y);
    const uint64_t pitch =
        level == 0 ? desc_.pitch : uint64_t{desc_.extent(0, level)} * object_.texel_bytes;
    const uint64_t at = desc_.address + object_.level_begin[level] + row * pitch +
                        static_cast<uint64_t>(x) * object_.texel_bytes;
    const uint32_t step = object_.texel_bytes / desc_.channels;
    if (at % step || !reach<false>(w_, at, object_.texel_bytes)) {
        if (!failed_) address_ = at;
        failed_ = true;
        return {};
    }
    const std::byte* host = w_.cta->last.host + (at - w_.cta->last.lo);
    std::byte copy[16];  // the largest texel
    if (const TextureTable& table = *w_.cta->launch->textures; table.texel) [[unlikely]]
        host = table.texel(table.texel_user, w_, at, host, object_.texel_bytes, copy);
    else if (w_.watch)
        services(w_).watch(w_, host, object_.texel_bytes);
    return format_.load(host);
}

Texel Sampler::fetch(const Lookup& l) {
    // What has one dimension only is linear memory: an array is addressed by two.
    if (l.dims == 1 && !desc_.layers && !desc_.linear_memory) return {};
    if (l.level < 0 || static_cast<uint32_t>(l.level) >= desc_.levels) return {};
    const auto level = static_cast<unsigned>(l.level);
    int64_t i[3] = {};
    for (unsigned dim = 0; dim < l.dims; ++dim) {
        const int64_t n = desc_.extent(dim, level);
        i[dim] = int64_t{l.texel[dim]} + l.offset[dim];
        if (l.clamp)
            i[dim] = std::clamp<int64_t>(i[dim], 0, n - 1);
        else if (i[dim] < 0 || i[dim] >= n)
            return {};
    }
    if (desc_.layers && !l.clamp && l.layer >= desc_.layers) return {};
    const uint64_t z = l.dims == 3 ? static_cast<uint64_t>(i[2]) : slice(l.layer);
    return values(read(level, i[0], i[1], z));
}

Texel Sampler::at(const Lookup& l, unsigned level, const Axis* axes, const int64_t* index) {
    int64_t i[3] = {};
    for (unsigned dim = 0; dim < l.dims; ++dim) {
        i[dim] = wrapped(index[dim], axes[dim]);
        if (i[dim] < 0) return format_.border();
    }
    return read(level, i[0], i[1], l.dims == 3 ? static_cast<uint64_t>(i[2]) : slice(l.layer));
}

Texel Sampler::point(const Lookup& l, unsigned level) {
    const Axis axes[3] = {axis(0, level), axis(1, level), axis(2, level)};
    int64_t i[3];
    if (l.cube) {
        const OnCube c = on_cube(l.at[0], l.at[1], l.at[2]);
        for (unsigned dim = 0; dim < 2; ++dim) {
            const Position p = scaled_on_face(dim ? c.t : c.s, axes[dim]);
            i[dim] = wrapped(p.value >> p.bits, axes[dim]);
            if (i[dim] < 0) return format_.border();
        }
        return read(level, i[0], i[1], slice(l.layer) + c.face);
    }
    for (unsigned dim = 0; dim < l.dims; ++dim)
        i[dim] = texel_at(l.at[dim], axes[dim]) + l.offset[dim];
    return at(l, level, axes, i);
}

Sampler::Quad Sampler::on_face(unsigned level, uint64_t layer, unsigned face, const int64_t* low,
                               unsigned wanted) {
    const Axis axes[2] = {axis(0, level), axis(1, level)};
    const int64_t n = desc_.extent(0, level);
    Quad q;
    for (unsigned k = 0; k < 4; ++k) {
        FaceTexel t{face, low[0] + (k & 1), low[1] + (k >> 1)};
        const bool beside = t.x < 0 || t.x >= n, above = t.y < 0 || t.y >= n;
        if (!desc_.seamless) {
            t.x = wrapped(t.x, axes[0]);
            t.y = wrapped(t.y, axes[1]);
        } else if (beside && above) {
            q.corner = k;
            continue;
        } else if (beside || above) {
            t = across_edge(t, n);
        }
        if (!(wanted >> k & 1)) continue;
        q.texel[k] = t.x < 0 || t.y < 0 ? format_.border() : read(level, t.x, t.y, layer + t.face);
    }
    return q;
}

// Weights are split from the level to z, x and y.
void Sampler::linear(const Lookup& l, unsigned level, uint32_t weight, Blend& sum) {
    const Axis axes[3] = {axis(0, level), axis(1, level), axis(2, level)};
    int64_t low[3] = {};
    uint32_t fraction[3] = {};
    OnCube place{};
    const unsigned dims = l.cube ? 2 : l.dims;
    if (l.cube) place = on_cube(l.at[0], l.at[1], l.at[2]);
    for (unsigned dim = 0; dim < dims; ++dim) {
        int64_t q;
        bool clamps = axes[dim].mode == AddressMode::clamp;
        if (l.cube) {
            q = between_texels(scaled_on_face(dim ? place.t : place.s, axes[dim]));
            clamps = clamps && !desc_.seamless;
        } else {
            q = between_texels(coordinate(l.at[dim]), axes[dim]) + int64_t{l.offset[dim]} * 256;
        }
        if (clamps) q = std::clamp<int64_t>(q, 0, int64_t{axes[dim].size - 1} * 256);
        low[dim] = q >> 8;
        fraction[dim] = static_cast<uint32_t>(q & 255);
    }
    const Split z = by_low(weight, fraction[2]);
    for (unsigned cz = 0; cz < 2; ++cz) {
        const uint32_t plane = cz ? z.high : z.low;
        if (plane == 0 || (cz && fraction[2] == 0)) continue;
        const Split x = by_high(plane, fraction[0]);
        const Split low_y = by_low(x.low, fraction[1]), high_y = by_high(x.high, fraction[1]);
        uint32_t weights[4] = {low_y.low, high_y.low, low_y.high, high_y.high};
        // Which are looked at, though their weight may be rounded to 0.
        const unsigned wanted = fraction[0] ? fraction[1] ? 15u : 3u : fraction[1] ? 5u : 1u;
        sum.plane();
        Quad quad;
        if (l.cube) {
            quad = on_face(level, slice(l.layer), place.face, low, wanted);
            if (quad.corner < 4 && (wanted >> quad.corner & 1)) {
                // The three that meet there share its weight.
                const uint32_t share = weights[quad.corner], beside = (share + 1) / 3;
                weights[quad.corner ^ 1] += beside;
                weights[quad.corner ^ 2] += beside;
                weights[quad.corner ^ 3] += share - 2 * beside;
            }
        }
        for (unsigned k = 0; k < 4; ++k) {
            if (!(wanted >> k & 1) || k == quad.corner) continue;
            const int64_t index[3] = {low[0] + (k & 1), low[1] + (k >> 1), low[2] + cz};
            sum.add(l.cube ? quad.texel[k] : at(l, level, axes, index), weights[k]);
        }
    }
}

Texel Sampler::sample(const Lookup& l) {
    const bool blend = desc_.filter == FilterMode::linear && format_.is_float();
    unsigned level = static_cast<unsigned>(l.level + 128) >> 8, next = level;
    uint32_t fraction = 0;
    if (desc_.level_filter == FilterMode::linear) {
        level = static_cast<unsigned>(l.level) >> 8;
        fraction = static_cast<uint32_t>(l.level & 255);
        next = std::min(level + 1, desc_.levels - 1);
    }
    // With any of these a texel goes through the filter, alone or not.
    if (!blend && desc_.level_filter == FilterMode::point && desc_.anisotropy <= 1)
        return values(point(l, level));
    Blend sum(format_);
    const auto add = [&](unsigned of, uint32_t weight) {
        sum.level();
        if (blend) {
            linear(l, of, weight, sum);
        } else {
            sum.plane();
            sum.add(point(l, of), weight);
        }
    };
    add(level, 256 - fraction);
    if (fraction != 0) add(next, fraction);
    return failed_ ? Texel{} : sum.sum();
}

Texel Sampler::gather(const Lookup& l) {
    // In the order of tld4, as an index of x and y.
    constexpr unsigned order[4] = {2, 3, 1, 0};
    const Axis axes[3] = {axis(0, 0), axis(1, 0), axis(2, 0)};
    OnCube place{};
    if (l.cube) place = on_cube(l.at[0], l.at[1], l.at[2]);
    int64_t low[2];
    for (unsigned dim = 0; dim < 2; ++dim)
        low[dim] = l.cube ? between_texels(scaled_on_face(dim ? place.t : place.s, axes[dim])) >> 8
                          : (between_texels(coordinate(l.at[dim]), axes[dim]) >> 8) + l.offset[dim];
    Quad quad;
    if (l.cube) {
        quad = on_face(0, slice(l.layer), place.face, low, 15);
    } else {
        for (unsigned k = 0; k < 4; ++k) {
            const int64_t index[3] = {low[0] + (k & 1), low[1] + (k >> 1), 0};
            quad.texel[k] = at(l, 0, axes, index);
        }
    }
    Texel out;
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned from = order[k];
        // Each goes through the filter.
        Blend sum(format_);
        sum.level();
        sum.plane();
        if (from != quad.corner) {
            sum.add(quad.texel[from], 256);
        } else {
            sum.add(quad.texel[from ^ 1], 85);
            sum.add(quad.texel[from ^ 2], 85);
            sum.add(quad.texel[from ^ 3], 86);
        }
        out.component[k] = sum.sum().component[l.component];
    }
    return out;
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
