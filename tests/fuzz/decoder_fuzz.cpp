// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any word on any architecture -> an instruction or a reason, text, registers,
// names. Build: cmake --preset fuzz && cmake --build --preset fuzz Run:   decoder_fuzz -max_len=256
// -max_total_time=600 corpus/
#include <cstdint>
#include <cstring>

#include "sassdec/effects.h"
#include "sassdec/sassdec.h"
#include "sassdec/visit.hpp"

namespace {

void check(bool condition) {
    if (!condition) __builtin_trap();
}

int label(void* user, const sassdec_insn*, std::uint64_t target, char* out, std::size_t size) {
    *static_cast<std::uint64_t*>(user) ^= target;
    if (size == 0 || (target & 0x10) == 0) return -1;
    std::memset(out, 'L', size);
    return static_cast<int>(target & 0xff) < static_cast<int>(size)
               ? static_cast<int>(target & 0xff)
               : 1;
}

void exercise(sassdec_arch arch, const std::uint64_t (&word)[2], std::uint64_t pc,
              std::size_t room) {
    sassdec_insn insn;
    std::memset(&insn, 0xa5, sizeof insn);
    const sassdec_status status = sassdec_decode(arch, word, pc, &insn);
    check(status == static_cast<sassdec_status>(insn.status));
    char text[1024], reason[256];
    const int length = sassdec_format(&insn, nullptr, text, sizeof text);
    check(length > 0 && std::strlen(text) == static_cast<std::size_t>(length));
    check(sassdec_reason(&insn, reason, sizeof reason) >= 0);
    check((reason[0] == 0) == (status == SASSDEC_OK));
    std::uint64_t seen = 0;
    const sassdec_format_options options{sizeof options, label, &seen, nullptr};
    sassdec_format(&insn, &options, text, sizeof text);
    char* exact = new char[room + 1];  // the sanitizer watches its end
    sassdec_format(&insn, nullptr, exact, room + 1);
    check(std::strlen(exact) <= room);
    delete[] exact;
    sassdec_regset read, written;
    sassdec_registers(&insn, &read, &written);
    std::uint64_t target = 0;
    sassdec_branch_target(&insn, &target);
    for (unsigned i = 0; i <= SASSDEC_MAX_FIELDS; ++i) {
        check(sassdec_field_name(&insn, i) && sassdec_field_text(&insn, i) &&
              sassdec_operand_name(&insn, i));
    }
    check(sassdec_mnemonic(&insn) && sassdec_semantic(&insn, "latency"));
    check(sassdec_format_effects(&insn, text, sizeof text) > 0);
    check(sassdec::typed::visit(insn, [](const auto&) {}) == (status == SASSDEC_OK));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // Records of an architecture, a buffer size, a pc and a word.
    constexpr std::size_t record = 2 + 4 + 16;
    for (; size >= record; data += record, size -= record) {
        std::uint64_t word[2];
        std::uint32_t pc;
        std::memcpy(&pc, data + 2, sizeof pc);
        std::memcpy(word, data + 6, sizeof word);
        exercise(static_cast<sassdec_arch>(data[0] % (SASSDEC_ARCH_COUNT + 1)), word, pc, data[1]);
    }
    return 0;
}
