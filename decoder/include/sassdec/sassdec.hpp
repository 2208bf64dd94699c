// SPDX-License-Identifier: Apache-2.0
// The C interface for C++ users: values instead of buffers. Everything here is a thin inline layer
// over sassdec.h; what costs an allocation says so by returning std::string. Per-instruction
// structs with named members are in sassdec/typed.hpp, filled by sassdec/visit.hpp.
#pragma once
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sassdec/ids.h"
#include "sassdec/sassdec.h"

namespace sassdec {

using Word = std::array<std::uint64_t, 2>;  // bits 63..0 first

struct Registers {
    sassdec_regset read, written;
};

class Instruction {
  public:
    Instruction() : Instruction(SASSDEC_ARCH_UNKNOWN, {}) {}
    Instruction(sassdec_arch arch, const Word& word, std::uint64_t pc = 0) {
        sassdec_decode(arch, word.data(), pc, &insn_);
    }
    explicit Instruction(const sassdec_insn& insn) : insn_(insn) {}

    // True when the word is an instruction of the architecture; else reason() says why not.
    explicit operator bool() const { return insn_.status == SASSDEC_OK; }
    const sassdec_insn& raw() const { return insn_; }
    std::uint64_t pc() const { return insn_.pc; }
    Word word() const { return {insn_.word[0], insn_.word[1]}; }
    std::uint16_t id() const { return insn_.id; }
    bool in(std::uint32_t groups) const { return (insn_.groups & groups) != 0; }
    const sassdec_control& control() const { return insn_.control; }
    std::span<const sassdec_operand> operands() const {
        return {insn_.operand, insn_.operand_count};
    }

    std::string_view mnemonic() const { return sassdec_mnemonic(&insn_); }
    std::string_view semantic(const char* key) const { return sassdec_semantic(&insn_, key); }
    Registers registers() const {
        Registers r;
        sassdec_registers(&insn_, &r.read, &r.written);
        return r;
    }
    std::optional<std::uint64_t> branch_target() const {
        std::uint64_t target = 0;
        if (!sassdec_branch_target(&insn_, &target)) return std::nullopt;
        return target;
    }

    std::string text(const sassdec_format_options* options = nullptr) const {
        return written([&](char* out, std::size_t size) {
            return sassdec_format(&insn_, options, out, size);
        });
    }
    // With all that the text does not say; assemble() makes the same word of it.
    std::string exact_text() const {
        return written(
            [&](char* out, std::size_t size) { return sassdec_format_exact(&insn_, out, size); });
    }
    std::string control_text() const {
        return written(
            [&](char* out, std::size_t size) { return sassdec_format_control(&insn_, out, size); });
    }
    std::string reason() const {
        return written(
            [&](char* out, std::size_t size) { return sassdec_reason(&insn_, out, size); });
    }

  private:
    template <class Write>
    static std::string written(Write&& write) {
        char small[512];
        int n = write(small, sizeof small);
        if (n >= 0) return {small, static_cast<std::size_t>(n)};
        std::string large(16384, '\0');  // only hooks write that much
        n = write(large.data(), large.size());
        large.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
        return large;
    }

    sassdec_insn insn_;
};

// The instructions of a section: for (const Instruction& i : Section(arch, bytes)) ...
class Section {
  public:
    Section(sassdec_arch arch, std::span<const std::uint8_t> code, std::uint64_t address = 0)
        : cursor_{code.data(), code.size(), address, arch, 0} {}

    class iterator {
      public:
        using value_type = Instruction;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;
        explicit iterator(const sassdec_cursor& cursor) : cursor_(cursor) { ++*this; }
        const Instruction& operator*() const { return current_; }
        const Instruction* operator->() const { return &current_; }
        iterator& operator++() {
            sassdec_insn insn;
            more_ = sassdec_next(&cursor_, &insn) != 0;
            if (more_) current_ = Instruction(insn);
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const { return !more_; }

      private:
        sassdec_cursor cursor_;
        Instruction current_;
        bool more_ = false;
    };
    iterator begin() const { return iterator(cursor_); }
    std::default_sentinel_t end() const { return {}; }

  private:
    sassdec_cursor cursor_;
};

struct Assembly {
    sassdec_status status = SASSDEC_E_SYNTAX;
    Word word{};                // when status is SASSDEC_OK
    sassdec_asm_error error{};  // otherwise
    explicit operator bool() const { return status == SASSDEC_OK; }
};

inline Assembly assemble(sassdec_arch arch, const std::string& text, std::uint64_t pc = 0,
                         const sassdec_asm_options* options = nullptr) {
    Assembly a;
    a.status = sassdec_assemble(arch, text.c_str(), pc, options, a.word.data(), &a.error);
    return a;
}

}  // namespace sassdec
