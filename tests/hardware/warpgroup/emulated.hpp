// SPDX-License-Identifier: Apache-2.0
// Runs cases on the emulator's unit (async/warpgroup_core.hpp) alone, without warps.
#pragma once

#include <memory>

#include "cases.hpp"
#include "emu/async/warpgroup_core.hpp"
#include "emu/machine/op.hpp"

namespace warpgroup {

// What all cases share.
struct Operands {
    std::vector<uint32_t> a = all_images(false), b = all_images(true), tables = all_tables(),
                          metadata = all_metadata();
};

class Unit {
  public:
    Unit(const Operands& o, sassemu::lanes::WarpgroupSums sums) : o_(o), sums_(sums) {}

    // The registers of D, 128 words each; empty: the unit refuses the case.
    std::vector<uint32_t> run(const Case& c) {
        const Launch& l = c.launch;
        const uint32_t* a = &o_.a[size_t{l.image_a} * (bytes_a / 4)];
        std::memcpy(&shared_[shared_base], a, bytes_a);
        std::memcpy(&shared_[shared_base + bytes_a], &o_.b[size_t{l.image_b} * (bytes_b / 4)],
                    bytes_b);
        for (uint32_t t = 0; t < 128; ++t) {
            auto& rows = rows_->of[t / 32];
            for (uint32_t r = 0; r < l.count; ++r)
                rows[r][t % 32] = o_.tables[table_index(l, r, t)];
            for (uint32_t r = 0; r < 4; ++r)
                rows[at_a + r][t % 32] = a[l.registers_a + r * 128 + t];
            metadata_[t / 32][t % 32] = o_.metadata[l.metadata * 128 + t];
        }
        const sassemu::async::WarpgroupMultiply m = request(c);
        if (sassemu::async::check(m, shared_.size())) return {};
        std::byte* rows[4];
        for (uint32_t w = 0; w < 4; ++w) rows[w] = reinterpret_cast<std::byte*>(rows_->of[w]);
        sassemu::async::multiply(m, shared_.data(), rows, metadata_, *room_, sums_);
        std::vector<uint32_t> out(l.count * 128);
        for (uint32_t i = 0; i < out.size(); ++i) out[i] = rows_->of[i % 128 / 32][i / 128][i % 32];
        return out;
    }

  private:
    static sassemu::async::WarpgroupMultiply request(const Case& c) {
        const Form& f = c.form;
        sassemu::async::WarpgroupMultiply m;
        // The same order of types.
        m.form.a = static_cast<sassemu::async::WarpgroupType>(f.a);
        m.form.b = static_cast<sassemu::async::WarpgroupType>(f.b);
        m.form.bits = static_cast<uint8_t>(bits_of(f.a));
        m.form.n = static_cast<uint16_t>(f.n);
        m.form.selector = static_cast<uint8_t>(f.selector);
        m.form.half = f.half, m.form.saturates = f.saturate;
        m.form.negates = f.negate_a != f.negate_b;
        m.form.transposed_a = f.transpose_a, m.form.transposed_b = f.transpose_b;
        m.form.in_registers = f.registers, m.form.sparse = f.sparse;
        m.form.spread = f.spread;
        m.accumulate = c.launch.accumulate;
        m.a_rows = at_a * sassemu::row_bytes;
        m.a = c.launch.a, m.b = c.launch.b;
        return m;
    }

    static constexpr uint32_t at_a = 128;
    struct alignas(128) Rows {
        uint32_t of[4][132][32];
    };
    sassemu::async::WarpgroupMetadata metadata_{};
    const Operands& o_;
    sassemu::lanes::WarpgroupSums sums_;
    std::vector<std::byte> shared_ = std::vector<std::byte>(shared_base + shared_bytes);
    std::unique_ptr<Rows> rows_ = std::make_unique<Rows>();
    std::unique_ptr<sassemu::lanes::WarpgroupProduct> room_ =
        std::make_unique<sassemu::lanes::WarpgroupProduct>();
};

}  // namespace warpgroup
