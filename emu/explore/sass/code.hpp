// SPDX-License-Identifier: Apache-2.0
// Machine code as exploration needs it: per instruction the registers that it reads and writes,
// what kind of step it is, and what the PTX behind it meant. What belongs here: facts about code.
// What does not: executing it (lane.hpp, graph/sass_turn.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/explore/litmus/test.hpp"
#include "emu/memory/event.hpp"
#include "emu/program/code_image.hpp"
#include "emu/program/intent.hpp"

namespace sassemu::explore {

// In the words of consistency.h.
uint32_t order_of(Ordering o);
uint32_t scope_of(MemScope s);

// Every register that a thread has, in one row of numbers; uniform ones are the thread's own here.
namespace sass_register {
constexpr uint32_t general = 0, predicate = 256, uniform = 264, uniform_predicate = 344,
                   reduced =
                       352,  // what the last BAR.RED counted, how many took part, and its kind
    reduced_of = 353, count = 354;
std::string name(uint32_t index);
}  // namespace sass_register

struct SassInstruction {
    sassdec_insn insn{};
    Event event{};  // of insn, which it points to: SassCode keeps them in place
    bool decodes = false;
    // Numbers of SassCode::registers; the guard is not among them.
    std::vector<uint32_t> reads, writes;
    std::vector<bool> data;  // of reads: only stored, so that its value may stay open
    int32_t guard = -1;
    bool guard_negated = false;
    // What the step machine does with it. A plain one only makes values of values.
    enum class Kind : uint8_t { plain, control, access, order, other } kind = Kind::other;
    // Exchanges values between the lanes of a warp. Compilers vote for reasons of their own as well
    // (VOTEU before a uniform branch): right for whoever runs together, a thread alone among them.
    bool warp = false;
    bool elects = false;  // ELECT: the lowest lane of the warp
    // More than values of registers, and done once for a warp that does it as one, by whichever
    // lane the compiler has the others agree on: the lowest here.
    bool once = false;
    bool warpgroup = false;  // wgmma, its fence and its wait
    bool tensor = false;     // tcgen05
    bool insists = false;    // a wait that is tried until it succeeds
    bool meets = false;      // a NOP that is all that is left of bar.warp.sync
    bool ptx_known = false;
    Intent intent;                  // of the PTX line that it comes from
    std::vector<Operation> orders;  // the fences that it stands for
    std::string refused;            // why it has no meaning here, if so
};

// What ELECT leaves in a register or predicate, of the lanes that the warp has.
uint32_t elected(uint32_t index, uint32_t lane, uint32_t exists);

class SassCode {
  public:
    explicit SassCode(CodeImage& image);

    uint32_t count() const { return static_cast<uint32_t>(code_.size()); }
    const SassInstruction& at(uint32_t pc) const { return code_[pc]; }
    std::string text(uint32_t pc) const { return image_.sass(uint64_t{pc} * 16); }
    std::string place(uint32_t pc) const;  // "kernel+0x120"
    CodeImage& image() const { return image_; }

    // The registers that occur, by sass_register's numbers; threads keep these only.
    const std::vector<uint32_t>& registers() const { return registers_; }
    int32_t number_of(uint32_t index) const { return numbers_[index]; }  // -1: does not occur
    // Read before written from here on; `wanted` at the ends.
    const std::vector<bool>& live(uint32_t pc) const { return live_[pc]; }
    void set_wanted(const std::vector<bool>& wanted);
    bool loop_head(uint32_t pc) const { return heads_[pc]; }
    bool has_ptx() const { return has_ptx_; }
    bool uses_tensor_memory() const;

  private:
    void read_registers();
    void read_intents();
    void order_of_words(uint32_t pc);
    void read_retries();
    struct Ahead {
        uint32_t pc;                       // of the first instruction that does something
        std::vector<std::string> ordered;  // fences and the like before it
    };
    Ahead ahead(uint32_t pc, int32_t predicate, bool value) const;

    CodeImage& image_;
    std::vector<SassInstruction> code_;
    std::vector<uint32_t> registers_;
    std::vector<int32_t> numbers_;
    std::vector<std::vector<bool>> live_;
    std::vector<bool> heads_;
    bool has_ptx_ = false;
};

}  // namespace sassemu::explore
