// SPDX-License-Identifier: Apache-2.0
// Recorded cases of texture sampling: what a line of the record says, and the texels and kernel
// arguments that follow from it. Used where they are recorded (record.cpp) and replayed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace texture_cases {

// Of the kernels in textures.cu.
struct Arguments {
    uint64_t texture, out;
    uint32_t seed, n, pattern, grid;
    float low[4], range[4];
    int32_t first, count, exponent, exponents;
    uint32_t zero;
};

inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t x = a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// "kernel=tex_2d w=7 h=5 fmt=f16 ...": everything has a default.
class Case {
  public:
    explicit Case(const std::string& line) {
        std::istringstream in(line);
        for (std::string word; in >> word;) {
            const size_t e = word.find('=');
            keys_[word.substr(0, e)] = word.substr(e + 1);
        }
        format = text("fmt", "f32");
        bits = std::atoi(format.c_str() + 1);
        channels = number("ch", 4);
        width = number("w", 1), height = number("h", 0), depth = number("d", 0);
        layers = number("layers", 0), levels = number("levels", 0);
        cube = number("cube", 0) != 0;
        samples = number("n", 1024);
    }
    std::string text(const char* key, const char* otherwise) const {
        const auto at = keys_.find(key);
        return at == keys_.end() ? otherwise : at->second;
    }
    long number(const char* key, long otherwise) const {
        const auto at = keys_.find(key);
        return at == keys_.end() ? otherwise : std::strtol(at->second.c_str(), nullptr, 0);
    }
    float real(const char* key, const char* otherwise) const {
        return std::strtof(text(key, otherwise).c_str(), nullptr);
    }
    std::vector<float> reals(const char* key, const char* otherwise) const {  // four
        std::vector<float> v;
        std::istringstream in(text(key, otherwise));
        for (std::string part; std::getline(in, part, ',');)
            v.push_back(std::strtof(part.c_str(), nullptr));
        v.resize(4);
        return v;
    }
    long slices(long level) const {
        if (layers || cube) return (layers ? layers : 1) * (cube ? 6 : 1);
        return depth >> level ? depth >> level : 1;
    }
    // Row by row, slice by slice.
    std::vector<uint8_t> texels(long level) const {
        const long w = width >> level ? width >> level : 1,
                   h = height >> level ? height >> level : 1;
        const int bytes = bits / 8;
        std::vector<uint8_t> v(static_cast<size_t>(w * h * slices(level) * channels * bytes));
        uint8_t* at = v.data();
        const std::string kind = text("texels", "ramp");
        const uint32_t seed = static_cast<uint32_t>(number("tseed", 1) + level * 1000);
        for (long s = 0; s < slices(level); ++s)
            for (long y = 0; y < h; ++y)
                for (long x = 0; x < w; ++x)
                    for (int c = 0; c < channels; ++c, at += bytes) {
                        const uint32_t texel =
                            component(kind, seed, static_cast<uint32_t>((s * h + y) * w + x),
                                      {x, y, s, level}, c);
                        std::memcpy(at, &texel, static_cast<size_t>(bytes));
                    }
        return v;
    }
    Arguments arguments(uint64_t texture, uint64_t out) const {
        Arguments a = {};
        a.texture = texture;
        a.out = out;
        a.seed = static_cast<uint32_t>(number("seed", 1));
        a.n = static_cast<uint32_t>(samples);
        a.pattern = static_cast<uint32_t>(number("pattern", 0));
        a.grid = static_cast<uint32_t>(number("grid", 8));
        const auto low = reals("low", "0"), range = reals("range", "1,1,1,1");
        for (size_t i = 0; i < 4; ++i) a.low[i] = low[i], a.range[i] = range[i];
        a.first = static_cast<int32_t>(number("first", 0));
        a.count = static_cast<int32_t>(number("count", 1));
        a.exponent = static_cast<int32_t>(number("exponent", -8));
        a.exponents = static_cast<int32_t>(number("exponents", 8));
        a.zero = static_cast<uint32_t>(number("zero", 0));
        return a;
    }
    std::string format;  // "f16": kind and bits
    int bits, channels;
    long width, height, depth, layers, levels, samples;
    bool cube;

  private:
    struct Place {
        long v[4];
    };
    // The bits of a component: of a kind that the case names.
    uint32_t component(const std::string& kind, uint32_t seed, uint32_t i, const Place& place,
                       int c) const {
        const auto k = static_cast<uint32_t>(c);
        const uint32_t h = mix(seed, i, k), g = mix(seed + 500, i, k);
        const char type = format[0];
        const bool half = type == 'f' && bits == 16;
        float f = 0;
        if (kind == "ramp" || kind == "level" || kind == "saw") {
            const long saw[4] = {place.v[0] & 1023, (place.v[0] + 512) & 1023, place.v[1] & 1023,
                                 (place.v[1] + 512) & 1023};
            const long v = kind == "saw" ? saw[c] : kind == "level" ? place.v[3] : place.v[c];
            if (type != 'f') return static_cast<uint32_t>(v);
            f = static_cast<float>(v);
        } else if (kind == "corner") {
            const bool one = place.v[0] + 2 * place.v[1] + 4 * place.v[2] - number("base", 0) == c;
            if (type != 'f') return !one ? 0 : type == 's' ? (1u << (bits - 1)) - 1 : ~0u;
            f = one ? 1.0f : 0.0f;
        } else if (kind == "unit") {
            if (type != 'f') return h;
            f = half ? static_cast<float>(static_cast<int>(h >> 21) - 1024) / 1024.0f
                     : static_cast<float>(static_cast<int>(h >> 8) - 8388608) / 8388608.0f;
        } else if (kind == "tiny") {
            if (type != 'f') return g & 1 ? 0x80808080u : g & 2 ? 0 : 0x7f7f7f7fu;
            return half ? (h & 0x83ff) | (g & 1 ? g >> 8 & 3 : 27 + (g >> 8 & 3)) << 10
                        : (h & 0x807fffff) | (g & 1 ? g >> 8 & 7 : 247 + (g >> 8 & 7)) << 23;
        } else if (kind == "rand") {  // finite
            if (type != 'f') return h;
            return half ? ((h >> 10 & 31) == 31 ? h & 0xbfff : h)
                        : (h & 0x807fffff) | (107 + g % 41) << 23;
        } else {  // any bits
            constexpr uint32_t special[16] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                              0x7fc00000, 0xffffffff, 0x7f800001, 1,
                                              0x80000001, 0x807fffff, 0x00800000, 0x7f7fffff,
                                              0xff7fffff, 0x3f800000, 0xbf800000, 0x33800000};
            return (g & 7) == 0 && type == 'f' && bits == 32 ? special[g >> 8 & 15] : h;
        }
        uint32_t b;
        std::memcpy(&b, &f, 4);
        if (!half) return b;
        const int e = static_cast<int>(b >> 23 & 255) - 112;  // of values that a half holds
        if (!(b & 0x7fffffff)) return b >> 16;
        if (e <= 0)
            return (b >> 16 & 0x8000) | (e < -10 ? 0 : ((b & 0x7fffff) | 0x800000) >> (14 - e));
        return (b >> 16 & 0x8000) | static_cast<uint32_t>(e) << 10 | (b >> 13 & 0x3ff);
    }

    std::map<std::string, std::string> keys_;
};

// Of a case's results, word by word.
inline uint64_t hash(const uint32_t* words, size_t n) {
    uint64_t h = 1469598103934665603ull;
    for (size_t i = 0; i < n; ++i) h = (h ^ words[i]) * 1099511628211ull;
    return h;
}

}  // namespace texture_cases
