// SPDX-License-Identifier: Apache-2.0
// Sampling behind texture_sample.hpp.
#include "emu/isa/texture_sample.hpp"

#include <bit>

namespace sassemu {
namespace SASSEMU_ISA_NS {

namespace {

float half_to_float(uint32_t h) {
    const uint32_t sign = (h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return std::bit_cast<float>(m ? 0x7fffffffu : sign | 0x7f800000u);
    if (e == 0) {
        const float v = static_cast<float>(m) * (1.0f / 16777216.0f);  // m * 2^-24
        return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
    }
    return std::bit_cast<float>(sign | (e + 112) << 23 | m << 13);
}

// To the nearest float, ties away from zero: half a unit of the kept mantissa is added, the rest
// cut.
float round_away(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v) + (uint64_t{1} << 28);
    return static_cast<float>(std::bit_cast<double>(bits & ~((uint64_t{1} << 29) - 1)));
}

float ratio(int32_t v, float top) {
    const float r = static_cast<float>(v) / top;
    return r < -1.0f ? -1.0f : r;
}

}  // namespace

int64_t Sampler::wrap(double index, unsigned dim) const {
    const int64_t n = size(dim);
    const AddressMode m = mode(dim);
    if (m == AddressMode::border) {
        if (!(index >= 0 && index < static_cast<double>(n))) return -1;
        return static_cast<int64_t>(index);
    }
    if (m == AddressMode::clamp) {
        if (!(index > 0)) return 0;
        if (index >= static_cast<double>(n)) return n - 1;
        return static_cast<int64_t>(index);
    }
    // Far away, single texels are no longer told apart by a float anyway.
    if (!(index > -1e15 && index < 1e15)) return 0;
    const auto i = static_cast<int64_t>(index);
    if (m == AddressMode::wrap) return (i % n + n) % n;
    const int64_t period = 2 * n, j = (i % period + period) % period;
    return j < n ? j : period - 1 - j;
}

void Sampler::split(float c, unsigned dim, double* low, uint32_t* weight) const {
    const double x = place(c, dim) - 0.5;
    *low = __builtin_floor(x);
    const double fraction = x - *low;  // NaN for an infinite coordinate
    *weight = fraction >= 0 ? static_cast<uint32_t>(fraction * 256.0 + 0.5) : 0;
}

uint32_t Sampler::component(const std::byte* at) const {
    const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
    const bool unit = desc_.read_normalized;
    switch (desc_.format) {
        case TextureFormat::u8: {
            const uint8_t v = host::load<uint8_t>(at);
            return unit ? bits(static_cast<float>(v) / 255.0f) : v;
        }
        case TextureFormat::s8: {
            const auto v = static_cast<int8_t>(host::load<uint8_t>(at));
            return unit ? bits(ratio(v, 127.0f)) : static_cast<uint32_t>(v);
        }
        case TextureFormat::u16: {
            const uint16_t v = host::load<uint16_t>(at);
            return unit ? bits(static_cast<float>(v) / 65535.0f) : v;
        }
        case TextureFormat::s16: {
            const auto v = static_cast<int16_t>(host::load<uint16_t>(at));
            return unit ? bits(ratio(v, 32767.0f)) : static_cast<uint32_t>(v);
        }
        case TextureFormat::f16:
            return bits(half_to_float(host::load<uint16_t>(at)));
        default:
            return host::load<uint32_t>(at);
    }
}

Texel Sampler::read(int64_t x, int64_t y, int64_t z) {
    Texel out = border();
    if (x < 0 || y < 0 || z < 0) return out;
    const uint64_t row = static_cast<uint64_t>(z * size(1) + y);
    const uint64_t at =
        desc_.address + row * desc_.pitch + static_cast<uint64_t>(x) * object_.texel_bytes;
    const uint32_t step = object_.texel_bytes / desc_.channels;
    if (at % step || !reach<false>(w_, at, object_.texel_bytes)) {
        failed_ = true;
        address_ = at;
        return out;
    }
    const std::byte* host = w_.cta->last.host + (at - w_.cta->last.lo);
    std::byte copy[16];  // the largest texel
    if (const TextureTable& table = *w_.cta->launch->textures; table.texel) [[unlikely]]
        host = table.texel(table.texel_user, w_, at, host, object_.texel_bytes, copy);
    else if (w_.watch)
        services(w_).watch(w_, host, object_.texel_bytes);
    for (uint32_t k = 0; k < desc_.channels; ++k) out.component[k] = component(host + k * step);
    if (desc_.channels < 4) out.component[3] = is_float() ? std::bit_cast<uint32_t>(1.0f) : 1;
    return out;
}

Texel Sampler::point(const float* coordinate, unsigned dims) {
    int64_t i[3] = {};
    for (unsigned dim = 0; dim < dims; ++dim)
        if (dim == 0 || !absent(dim))
            i[dim] = wrap(__builtin_floor(place(coordinate[dim], dim)), dim);
    return read(i[0], i[1], i[2]);
}

Texel Sampler::fetch(const int32_t* coordinate, unsigned dims) {
    int64_t i[3] = {};
    for (unsigned dim = 0; dim < dims; ++dim) {
        if (dim != 0 && absent(dim)) continue;
        i[dim] = coordinate[dim] < size(dim) ? coordinate[dim] : -1;
    }
    return read(i[0], i[1], i[2]);
}

Texel Sampler::linear(const float* coordinate, unsigned dims) {
    double low[3] = {};
    uint32_t weight[3] = {};
    int64_t index[3][2] = {};
    for (unsigned dim = 0; dim < dims; ++dim) {
        if (dim != 0 && absent(dim)) continue;
        split(coordinate[dim], dim, &low[dim], &weight[dim]);
        index[dim][0] = wrap(low[dim], dim);
        index[dim][1] = wrap(low[dim] + 1, dim);
    }
    const uint32_t both = (weight[0] * weight[1] + 128) >> 8;
    const uint32_t plane[4] = {256 - weight[0] - weight[1] + both, weight[0] - both,
                               weight[1] - both, both};
    const bool whole = desc_.read_normalized &&
                       (desc_.format == TextureFormat::u8 || desc_.format == TextureFormat::u16);
    double sum[4] = {};
    uint64_t units[4] = {};  // of 1/65535, times 65536
    for (unsigned corner = 0; corner < 8; ++corner) {
        const unsigned cx = corner & 1, cy = corner >> 1 & 1, cz = corner >> 2;
        const uint32_t part = plane[corner & 3] * (cz ? weight[2] : 256 - weight[2]);
        if (part == 0) continue;
        const Texel t = read(index[0][cx], index[1][cy], index[2][cz]);
        if (failed_) return border();
        for (unsigned k = 0; k < 4; ++k) {
            const auto v = std::bit_cast<float>(t.component[k]);
            if (whole)
                units[k] += uint64_t{part} * static_cast<uint32_t>(v * 65535.0f + 0.5f);
            else
                sum[k] += static_cast<double>(part) * static_cast<double>(v);
        }
    }
    Texel out;
    for (unsigned k = 0; k < 4; ++k) {
        const float v = whole ? static_cast<float>((units[k] + 32768) >> 16) / 65535.0f
                              : round_away(sum[k] / 65536.0);
        out.component[k] = std::bit_cast<uint32_t>(v);
    }
    return out;
}

Texel Sampler::gather(const float* coordinate, unsigned component) {
    int64_t index[2][2];
    for (unsigned dim = 0; dim < 2; ++dim) {
        double low;
        uint32_t weight;
        split(coordinate[dim], dim, &low, &weight);
        index[dim][0] = wrap(low, dim);
        index[dim][1] = wrap(low + 1, dim);
    }
    constexpr unsigned order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    Texel out;
    for (unsigned k = 0; k < 4; ++k)
        out.component[k] =
            read(index[0][order[k][0]], index[1][order[k][1]], 0).component[component];
    return out;
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
