// SPDX-License-Identifier: Apache-2.0
// One lane of a warp that nothing runs, for expressions: registers, a buffer of 64 words.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "emu/async/agents.hpp"
#include "emu/debug/expression.hpp"
#include "emu/debug/view.hpp"
#include "emu/machine/cta.hpp"
#include "emu/memory/address_space.hpp"

namespace sassemu::test {

class Lane {
  public:
    static constexpr uint32_t lane = 5, registers = 16;

    Lane() {
        launch_.space = &space_;
        launch_.registers = registers;
        launch_.block = {64, 2, 1};
        launch_.grid = {4, 1, 1};
        cta_.launch = &launch_;
        cta_.id = {3, 0, 0};
        rows_.resize(register_row(registers + 1) + 64);
        const auto at = reinterpret_cast<uintptr_t>(rows_.data());
        warp_.rows = reinterpret_cast<std::byte*>((at + 63) / 64 * 64);
        warp_.cta = &cta_;
        warp_.index = 1;
        auto address = space_.allocate(256, {});
        EXPECT_TRUE(address.ok());
        for (uint32_t k = 0; k < 64; ++k) std::memcpy(space_.find(*address).host + 4 * k, &k, 4);
        named_["words"] = {*address, 256};
        set(4, static_cast<uint32_t>(*address));
        set(5, static_cast<uint32_t>(*address >> 32));
    }
    void set(uint32_t n, uint32_t v) { warp_.row(register_row(n))[lane] = v; }
    Warp& warp() { return warp_; }

    Result<debug::Value> value(const std::string& text) {
        SASSEMU_ASSIGN(const debug::Expression e, debug::Expression::parse(text));
        return e.evaluate(debug::View(places_, named_, warp_, lane, 77));
    }
    // As `print` shows it, or the error.
    std::string print(const std::string& text, char format = 0) {
        const auto v = value(text);
        return v ? text_of(*v, format) : "error: " + v.error().message();
    }

  private:
    AddressSpace space_;
    Launch launch_;
    Cta cta_;
    Warp warp_;
    std::vector<std::byte> rows_;
    debug::Places places_;
    std::map<std::string, debug::NamedMemory> named_;
};

}  // namespace sassemu::test
