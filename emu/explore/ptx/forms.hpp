// SPDX-License-Identifier: Apache-2.0
// The pieces that the readers of mnemonics share. What belongs here: one form being read, and the
// list of the readers (a file each).
#pragma once

#include <string_view>

#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

// The words of a mnemonic between its dots, taken one after the other.
class Words {
  public:
    explicit Words(std::string_view mnemonic);
    bool done() const { return at_ >= words_.size(); }
    std::string_view next() const;
    bool take(std::string_view word);
    std::string_view pop();

  private:
    std::vector<std::string_view> words_;
    size_t at_ = 0;
};

struct Form {
    Test& test;
    Thread& thread;
    std::string_view mnemonic;
    Words words;
    std::vector<std::string_view> operands;
    Instruction out;
    bool known = true;  // a reader clears it when the mnemonic is none of its own

    Result<Operand> operand(size_t i);
    Result<Operand> reg(size_t i);
    Result<Operand> memory(size_t i);
    Result<Operand> value(size_t i);
    Result<uint64_t> constant(size_t i);
    Result<void> count(size_t least, size_t most) const;
    Error unknown_word() const;

    // Qualifiers that mean the same everywhere. Each takes at most one word.
    bool take_scope();               // cta, cluster, gpu, sys
    bool take_space(uint32_t& out);  // global, shared, shared::cta, shared::cluster
    bool take_type();                // u32, b64: sets `bytes`
    Result<void> check_space(const Operand& memory, uint32_t space) const;
    // The size of an access: its type, or the whole location.
    Result<void> set_bytes(const Operand& memory);
    void needs(uint32_t sm) { out.minimum = std::max(out.minimum, sm); }
};

AtomicOp atomic_op(std::string_view word);  // none when it is no operation

Result<void> read_form(Form& form);
Result<void> read_ordinary_form(Form& form, std::string_view head);
Result<void> read_fence_form(Form& form, std::string_view head);
Result<void> read_barrier_form(Form& form, std::string_view head);
Result<void> read_async_form(Form& form, std::string_view head);
Result<void> read_tensor_form(Form& form, std::string_view head);
// SASS without its guard and annotations, which go into `out` or are checked.
Result<std::string> strip_sass(std::string_view text, Thread& thread, Instruction& out);
Result<void> read_machine_form(Form& form, std::string_view head);  // nvshmem_*, SASS

}  // namespace sassemu::explore
