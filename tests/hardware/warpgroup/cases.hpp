// SPDX-License-Identifier: Apache-2.0
// The cases of the warpgroup record (wgmma of sm_90a): forms, descriptors, operands, all from
// seeds, the same where they were recorded and where they are replayed. What belongs here: what is
// multiplied. What does not: any result.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "images.hpp"

namespace warpgroup {

inline uint32_t bits_of(Type t) { return t == tf32 ? 32 : t <= bf16 ? 16 : t == bit ? 1 : 8; }

struct Form {
    Type a = f16, b = f16;
    bool half = false;  // D is f16
    uint32_t n = 8;
    bool registers = false, sparse = false;
    bool negate_a = false, negate_b = false, transpose_a = false, transpose_b = false;
    bool saturate = false;
    uint32_t selector = 0;
    bool spread = false;  // .REGOFFSET

    bool operator==(const Form&) const = default;
    bool integers() const { return a >= u8; }
    uint32_t d_registers() const { return half ? n / 4 : n / 2; }
};

// The 128-bit word of a form, from one of the template kernels (A in registers or not, sparse or
// not) whose registers it keeps.
inline void patch(const Form& f, uint64_t& low, uint64_t& high) {
    const auto set = [](uint64_t& word, uint32_t at, uint32_t bits, uint64_t value) {
        const uint64_t mask = ((uint64_t{1} << bits) - 1) << at;
        word = (word & ~mask) | value << at;
    };
    static constexpr uint8_t family[types] = {0, 0, 0, 3, 3, 1, 1, 2};
    const uint32_t opcode = family[f.a];
    // N of integers: 8, 16, 24, 32 and then multiples of 16.
    const uint32_t wide = f.n <= 32 ? f.n / 8 - 1 : f.n / 16 + 1;
    const uint32_t narrow = f.n / 8 - 1;
    uint32_t shape = 0;
    if (opcode == 0)
        shape = narrow + (f.a == tf32 ? (f.sparse ? 0 : 32) : f.sparse ? 64 : 0);
    else if (opcode == 3)
        shape = narrow + (f.sparse ? 32 : 0);
    else if (opcode == 1)
        shape = 3 * wide + f.sparse;
    else
        shape = wide;
    set(low, 0, 2, opcode);
    if (f.sparse) set(low, 48, 2, f.selector);
    set(low, 53, opcode == 0 ? 7 : 6, shape);
    set(low, 61, 1, f.transpose_a);
    set(low, 62, 1, f.transpose_b);
    set(low, 63, 1, f.negate_b);
    set(high, 8, 1, f.negate_a);
    if (f.sparse) set(high, 10, 1, f.spread);
    set(high, 11, 1, opcode == 1 ? f.saturate : opcode == 2 ? 0 : !f.half);
    if (opcode == 0) set(high, 12, 2, f.a);
    if (opcode == 3) set(high, 12, 1, f.a == e5m2), set(high, 13, 1, f.b == e5m2);
    if (opcode == 1) set(high, 12, 2, f.a == s8), set(high, 18, 2, f.b == s8);
    if (opcode == 2) set(high, 12, 2, 0), set(high, 14, 1, 1), set(high, 16, 1, 1);
}

// The template with the wgmma of a form in the kernel for it, which kernel_of() names.
inline std::vector<char> with_form(std::vector<char> image, const Form& f) {
    for (size_t at = 0; at + 16 <= image.size(); at += 8) {
        uint64_t low, high;
        std::memcpy(&low, &image[at], 8);
        std::memcpy(&high, &image[at + 8], 8);
        if ((low & 0xfff) != (f.registers ? 0xdf0 : 0x9f0) || (low >> 53 & 31) != 31 ||
            (high >> 27 & 1) != 1 || (high >> 9 & 1) != f.sparse)
            continue;
        patch(f, low, high);
        std::memcpy(&image[at], &low, 8);
        std::memcpy(&image[at + 8], &high, 8);
        return image;
    }
    return {};
}
inline const char* kernel_of(const Form& f) {
    return f.registers ? f.sparse ? "rs_sparse" : "rs" : f.sparse ? "ss_sparse" : "ss";
}

// ---- descriptors

struct Draw {
    uint64_t state;
    uint32_t operator()(uint32_t n) {
        state += 0x9e3779b97f4a7c15ull;
        return static_cast<uint32_t>((matrix_mix(state) >> 32) * n >> 32);
    }
};

// A matrix of `rows` m or n and `k_bytes` bytes of k in the image at `base`. `tight`: as libraries
// lay it out; else any offsets.
inline uint64_t descriptor(Draw& draw, bool of_b, uint32_t rows, uint32_t k_bytes, uint32_t bits,
                           bool mn_major, bool tight) {
    const uint32_t base = shared_base + (of_b ? bytes_a : 0), room = of_b ? bytes_b : bytes_a;
    const uint32_t mode = draw(4);  // 0 none, 1 128 bytes, 2 64, 3 32
    const uint32_t span = mode ? 16u >> mode : 1;
    const uint32_t element = bits < 8 ? 1 : bits / 8;
    const uint32_t k = k_bytes / element;
    const uint32_t chunks = mn_major ? (rows * element + 15) / 16 : (k_bytes + 15) / 16;
    // How many steps of either offset the matrix takes.
    uint32_t leading_steps, stride_steps, leading, stride;
    if (!mn_major) {
        leading_steps = chunks, stride_steps = rows / 8;
        leading = mode ? 16 : 128, stride = 128 * span;
        if (!mode && draw(2)) leading = rows * 16, stride = 128;
        if (!mode && leading == 128) stride = 128 * chunks;
    } else if (!mode) {
        leading_steps = k / 8, stride_steps = chunks;
        stride = 128, leading = 128 * chunks;
    } else {
        leading_steps = (chunks + span - 1) / span, stride_steps = k / 8;
        leading = 128 * span, stride = leading * leading_steps;
        if (draw(2)) stride = 128 * span, leading = stride * stride_steps;
    }
    const uint32_t all = 1024 + 128 * span;
    uint32_t start = 0, offset = 0;
    if (!tight) {
        const uint32_t most = (room - 4096) / 16;
        // Either offset may turn out to count the other's steps.
        const uint32_t steps = std::max({leading_steps, stride_steps, 2u});
        const uint32_t limit = std::max(2u, most / (2 * steps));
        leading = 16 * draw(limit), stride = 16 * draw(limit);
        if (draw(2)) leading &= ~127u, stride &= ~127u;
        start = 16 * draw(64), offset = draw(3) ? 0 : draw(8);
    }
    const uint32_t extent = all + leading * leading_steps + stride * stride_steps;
    if (extent < room) {
        const uint32_t free = (room - extent) / 1024;
        start += 1024 * draw(free + 1);
    }
    uint64_t d = uint64_t{(base + start) >> 4} | uint64_t{leading >> 4} << 16 |
                 uint64_t{stride >> 4} << 32 | uint64_t{offset} << 49 | uint64_t{mode} << 62;
    return d;
}
constexpr uint64_t reserved_bits =
    uint64_t{3} << 14 | uint64_t{3} << 30 | uint64_t{7} << 46 | uint64_t{0x3ff} << 52;

// ---- cases

struct Case {
    Form form;
    Launch launch{};
};
inline uint32_t k_bytes_of_b(const Form& f) { return f.sparse ? 64 : 32; }

inline Case described(Case c, Draw& draw, bool tight) {
    const Form& f = c.form;
    c.launch.a = descriptor(draw, false, 64, 32, bits_of(f.a), f.transpose_a, tight);
    c.launch.b = descriptor(draw, true, f.n, k_bytes_of_b(f), bits_of(f.b), f.transpose_b, tight);
    c.launch.count = f.d_registers();
    return c;
}

// Where each element comes from: 16 rows of A or B against an identity.
inline std::vector<Case> probes() {
    std::vector<Case> out;
    Draw draw{1};
    for (uint32_t kind = 0; kind < 5; ++kind)  // 16 bits, transposed, 32 bits, 8 bits low and high
        for (uint32_t sparse = 0; sparse < 2; ++sparse)
            for (uint32_t of_b = 0; of_b < 2; ++of_b)
                for (uint32_t i = 0; i < 48; ++i) {
                    Case c;
                    Form& f = c.form;
                    f.a = f.b = kind < 2 ? f16 : kind == 2 ? tf32 : u8;
                    f.sparse = sparse;
                    f.registers = of_b;
                    f.n = of_b        ? 64
                          : kind == 2 ? (sparse ? 16 : 8)
                          : kind < 2  ? (sparse ? 32 : 16)
                                      : (sparse ? 64 : 32);
                    (of_b ? f.transpose_b : f.transpose_a) = kind == 1;
                    c = described(c, draw, i < 8);
                    Launch& l = c.launch;
                    const uint64_t known = uint64_t{identity_leading >> 4} << 16 |
                                           uint64_t{identity_stride >> 4} << 32;
                    if (of_b)
                        l.a = shared_base >> 4 | known;
                    else
                        l.b = (shared_base + bytes_a) >> 4 | known;
                    if (i >= 40) (of_b ? l.b : l.a) |= reserved_bits & matrix_mix(i * 2 + of_b);
                    const uint32_t probe = kind < 2    ? probe16
                                           : kind == 2 ? probe32
                                           : kind == 3 ? probe8_low
                                                       : probe8_high;
                    const uint32_t same = kind < 2 ? 0 : kind == 2 ? 1 : 2;
                    l.image_a = of_b ? fragment16 + same : probe;
                    l.image_b = of_b ? probe : (sparse ? identity16_sparse : identity16) + same;
                    l.table = zero_table;
                    l.metadata = i & 1;
                    l.accumulate = 0;
                    out.push_back(c);
                }
    return out;
}

// Types and results that there are, without N and modifiers.
inline std::vector<Form> type_forms() {
    std::vector<Form> out;
    const auto add = [&](Type a, Type b, bool half, bool saturate = false) {
        for (uint32_t sparse = 0; sparse < (a == bit ? 1 : 2); ++sparse) {
            Form f;
            f.a = a, f.b = b, f.half = half, f.saturate = saturate, f.sparse = sparse;
            out.push_back(f);
        }
    };
    add(f16, f16, true), add(f16, f16, false), add(bf16, bf16, false), add(tf32, tf32, false);
    for (Type a : {e4m3, e5m2})
        for (Type b : {e4m3, e5m2}) add(a, b, true), add(a, b, false);
    for (Type a : {u8, s8})
        for (Type b : {u8, s8}) add(a, b, false, false), add(a, b, false, true);
    add(bit, bit, false);
    return out;
}
inline void operands(Case& c, Draw& draw, uint32_t flavour, bool raw_metadata = false) {
    const Form& f = c.form;
    Launch& l = c.launch;
    const uint32_t mixed = draw(8) ? flavour : draw(flavours);
    l.image_a = (f.a * flavours + flavour) * per_flavour + draw(per_flavour);
    l.image_b = (f.b * flavours + mixed) * per_flavour + draw(per_flavour);
    l.registers_a = draw(bytes_a / 4 - 512) & ~31u;
    l.table = (f.integers() ? 2 : f.half ? 1 : 0) * flavours + flavour;
    l.seed = draw(1u << 31);
    l.metadata = raw_metadata  ? metadata_raw + draw(16)
                 : f.a == tf32 ? metadata_pairs + draw(16)
                               : metadata_valid + draw(16);
    l.accumulate = draw(8) != 0;
}
// What sums are: every type, 64 x 8 results, as libraries lay out operands.
inline std::vector<Case> sums() {
    std::vector<Case> out;
    Draw draw{2};
    for (const Form& form : type_forms())
        for (uint32_t i = 0; i < 128; ++i) {
            Case c{form};
            c = described(c, draw, true);
            operands(c, draw, i % flavours);
            out.push_back(c);
        }
    return out;
}
// The least exponent of a sum.
inline std::vector<Case> floors() {
    std::vector<Case> out;
    Draw draw{4};
    for (const Form& form : type_forms())
        for (uint32_t i = 0; i < 64; ++i) {
            const bool ties = form.half && form.a == form.b;
            const uint32_t image = form.a == bf16   ? least_bf16
                                   : form.a == tf32 ? least_tf32
                                   : !ties          ? images
                                   : form.a == f16  ? tie_f16
                                   : form.a == e5m2 ? tie_e5m2
                                                    : images;
            if (image == images) continue;
            Case c{form};
            c.form.registers = ties;
            c = described(c, draw, true);
            operands(c, draw, sassemu::test::tiny);
            if (ties)
                c.launch.b = (shared_base + bytes_a) >> 4 | uint64_t{8} << 16 | uint64_t{32} << 32;
            c.launch.image_a = c.launch.image_b = image;
            c.launch.registers_a = 0;
            if (ties) c.launch.b += draw(1024) * 2;
            c.launch.accumulate = !ties && draw(2);
            out.push_back(c);
        }
    return out;
}
// Sparse operands with metadata of any bits, and either selector.
inline std::vector<Case> wild_metadata() {
    std::vector<Case> out;
    Draw draw{3};
    for (const Form& form : type_forms())
        for (uint32_t i = 0; form.sparse && i < 16; ++i) {
            Case c{form};
            c.form.registers = i & 1;
            c.form.selector = form.integers() || form.a >= e4m3 ? 0 : i / 2 % 2;
            c = described(c, draw, true);
            operands(c, draw, i % flavours, i >= 4);
            out.push_back(c);
        }
    return out;
}
// Which metadata places which elements: ones against an identity, in both orders.
inline std::vector<Case> places() {
    std::vector<Case> out;
    Draw draw{77};
    for (uint32_t kind = 0; kind < 3; ++kind)  // 16, 32, 8 bits
        for (uint32_t spread = 0; spread < 2; ++spread)
            for (uint32_t selector = 0; selector < (kind == 2 ? 1u : 2u); ++selector)
                for (uint32_t registers = 0; registers < 2; ++registers)
                    for (uint32_t i = 0; i < 8; ++i) {
                        Case c;
                        Form& f = c.form;
                        f.a = f.b = kind == 0 ? f16 : kind == 1 ? tf32 : u8;
                        f.sparse = true, f.spread = spread;
                        f.selector = selector, f.registers = registers;
                        f.n = kind == 0 ? 32 : kind == 1 ? 16 : 64;
                        c = described(c, draw, true);
                        Launch& l = c.launch;
                        l.b = (shared_base + bytes_a) >> 4 | uint64_t{identity_leading >> 4} << 16 |
                              uint64_t{identity_stride >> 4} << 32;
                        l.image_a = ones16 + kind;
                        l.image_b = identity16_sparse + kind;
                        l.table = zero_table;
                        l.metadata = (kind == 1 ? metadata_pairs : metadata_valid) + i;
                        out.push_back(c);
                    }
    return out;
}
// Anything: `per_form` cases of each of a sample of words.
inline std::vector<Case> anything(uint64_t seed, uint32_t per_type, uint32_t per_word) {
    std::vector<Case> out;
    Draw draw{matrix_mix(seed)};
    for (const Form& form : type_forms())
        for (uint32_t w = 0; w < per_type; ++w) {
            Case c{form};
            Form& f = c.form;
            f.n = form.integers() ? (draw(18) + 1) * 16 - 16 : 8 * (w % 32 + 1);
            if (form.integers()) f.n = f.n < 16 ? 8 : f.n == 272 ? 24 : f.n;
            f.registers = w / 32 % 2;
            f.selector = f.sparse && f.a <= tf32 ? draw(2) : 0;
            if (!f.integers()) f.negate_a = draw(2), f.negate_b = draw(2);
            if (f.a <= bf16) f.transpose_a = !f.registers && draw(2), f.transpose_b = draw(2);
            for (uint32_t i = 0; i < per_word; ++i) {
                Case one = described(c, draw, draw(2));
                operands(one, draw, draw(flavours), draw(8) == 0);
                out.push_back(one);
            }
        }
    return out;
}

// The suites of the record.
constexpr const char* suites[] = {"probes", "sums", "floors", "metadata", "places", "anything"};
inline std::vector<Case> of_record(const std::string& suite) {
    return suite == "probes"     ? probes()
           : suite == "sums"     ? sums()
           : suite == "floors"   ? floors()
           : suite == "metadata" ? wild_metadata()
           : suite == "places"   ? places()
                                 : anything(1, 64, 1);
}
inline uint32_t hash(const uint32_t* words, size_t count) {
    uint64_t h = 0;
    for (size_t i = 0; i < count; ++i) h += matrix_mix((uint64_t{i} << 32 | words[i]) + 0x1234567);
    return static_cast<uint32_t>(h >> 32);
}

}  // namespace warpgroup
