// SPDX-License-Identifier: Apache-2.0
// The pieces that the readers of mnemonics share. What belongs here: one form being read, and the
// list of the readers (a file each).
#pragma once

#include <string_view>
#include <utility>

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

template <class T, size_t n>
const T* lookup(const std::pair<std::string_view, T> (&table)[n], std::string_view word) {
    for (const auto& [name, value] : table)
        if (name == word) return &value;
    return nullptr;
}

struct Form {
    Test& test;
    Thread& thread;
    std::string_view mnemonic;
    Words words;
    std::vector<std::string_view> operands;
    Operation out{};
    bool known = true;  // a reader clears it when the mnemonic is none of its own
    uint32_t scope = SASSEMU_SCOPE_NONE, space = 0;  // what the qualifiers said
    uint64_t bytes = 0;                              // of an access: 0 is the whole location
    uint32_t minimum = 0;                            // lowest target (sm number), 0: any
    bool exact_family = false;                       // needs the `a` variant of the target

    // One operand, in the way of what takes it.
    Result<void> operand(size_t i, Register& out);
    Result<void> operand(size_t i, Place& out);
    Result<void> operand(size_t i, Argument& out);
    Result<void> operand(size_t i, uint64_t& out);
    template <class T>
    Result<void> operand(size_t i, std::optional<T>& out) {
        return operand(i, out.emplace());
    }
    // All operands, one after the other from `first`; there are as many.
    template <class... T>
    Result<void> read_from(size_t first, T&... out) {
        SASSEMU_TRY(count(first + sizeof...(T), first + sizeof...(T)));
        Result<void> done;
        size_t i = first;
        (void)((done = operand(i++, out)) && ...);
        return done;
    }
    template <class... T>
    Result<void> read(T&... out) {
        return read_from(0, out...);
    }
    Result<void> count(size_t least, size_t most) const;
    Error unknown_word() const;

    // Qualifiers that mean the same everywhere. Each takes at most one word.
    bool take_scope();  // cta, cluster, gpu, sys
    bool take_space();  // global, shared, shared::cta, shared::cluster
    bool take_type();   // u32, b64: sets `bytes`
    bool take_modification(op::Modification& out);
    // That the memory is where the qualifier says; that the thread can reach it.
    Result<void> check_space(const Place& memory, uint32_t qualifier = 0) const;
    // The size of an access: its type, or the whole location.
    Result<void> set_bytes(Place& memory);
    const Location& location(const Place& memory) const {
        return test.locations[test.names[memory.name].location];
    }
    Result<void> need_mbarrier(const Place& memory) const;
    void needs(uint32_t sm) { minimum = std::max(minimum, sm); }
    // The minimum target against that of the test (docs/litmus.md, section 4).
    Result<void> check_target() const;
};

Result<void> read_ordinary_form(Form& form, std::string_view head);
Result<void> read_fence_form(Form& form, std::string_view head);
Result<void> read_barrier_form(Form& form, std::string_view head);
Result<void> read_async_form(Form& form, std::string_view head);
Result<void> read_tensor_form(Form& form, std::string_view head);
// SASS without its guard and annotations, which go into `out` or are checked.
Result<std::string> strip_sass(std::string_view text, Thread& thread, Statement& out);
Result<void> read_machine_form(Form& form, std::string_view head);  // nvshmem_*, SASS

}  // namespace sassemu::explore
