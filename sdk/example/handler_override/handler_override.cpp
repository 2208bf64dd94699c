// SPDX-License-Identifier: Apache-2.0
// Own behaviour for an opcode: MUFU.RCP by exact division instead of the approximation of the
// special function unit. Shows how to read operands and to write a result.
//
//   sassemu run plan.json --plugin ./handler_override.so
#include <sassemu/plugin.hpp>

#include <bit>
#include <cmath>
#include <string_view>

namespace {

class ExactReciprocal : public sassemu::Plugin {
  public:
    static constexpr auto name = "exact_reciprocal", summary = "MUFU.RCP rounds as a division does";
    using Plugin::Plugin;

    bool overrides(sassemu_insn insn) {
        const std::string_view text = host.insn_text(insn);
        return text.find("MUFU.RCP ") != std::string_view::npos;
    }

    int execute(sassemu_warp warp, sassemu_insn insn, uint32_t lanes) {
        const sassemu_operand d = operand(insn, 0), a = operand(insn, 1);
        if (a.kind != SASSEMU_OPERAND_REGISTER)
            return SASSEMU_PASS;  // of a constant: as the emulator does it
        const uint32_t* from = host.row(warp, a.index);
        float result[32];
        for (unsigned lane = 0; lane < 32; ++lane) {
            float x = std::bit_cast<float>(from[lane]);
            if (a.absolute) x = std::fabs(x);
            result[lane] = 1.0f / (a.negated ? -x : x);
        }
        uint32_t* to = host.row(warp, d.index);
        for (unsigned lane = 0; lane < 32; ++lane)
            if (lanes >> lane & 1) to[lane] = std::bit_cast<uint32_t>(result[lane]);
        ++count_;
        return SASSEMU_EXECUTED;
    }

    void finish() {
        print("exact_reciprocal: stood in for " + std::to_string(count_) + " instructions\n");
    }

  private:
    uint64_t count_ = 0;
};

}  // namespace

SASSEMU_PLUGIN(ExactReciprocal)
