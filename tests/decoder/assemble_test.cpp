// SPDX-License-Identifier: Apache-2.0
// Text -> word. Whatever the decoder prints the assembler reads back; what the text does not say is
// safe; what it gets wrong is told with its column.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <random>

#include "rows.hpp"

namespace {

struct Answer {
    sassdec_status status;
    std::uint64_t word[2] = {0, 0};
    sassdec_asm_error error;
};

Answer assemble(sassdec_arch arch, const std::string& text, std::uint64_t pc = 0) {
    Answer a;
    a.status = sassdec_assemble(arch, text.c_str(), pc, nullptr, a.word, &a.error);
    return a;
}

std::string print(sassdec_arch arch, const std::uint64_t (&word)[2], std::uint64_t pc,
                  bool exact = false) {
    sassdec_insn insn;
    sassdec_decode(arch, word, pc, &insn);
    char text[1024];
    const int n = exact ? sassdec_format_exact(&insn, text, sizeof text)
                        : sassdec_format(&insn, nullptr, text, sizeof text);
    return n < 0 ? "<no text>" : text;
}

std::string reason(sassdec_arch arch, const std::string& text) {
    const Answer a = assemble(arch, text);
    if (a.status == SASSDEC_OK) return "assembled";
    return std::to_string(a.error.column) + ": " + a.error.reason;
}

sassdec_insn decoded(sassdec_arch arch, const std::string& text) {
    const Answer a = assemble(arch, text);
    EXPECT_EQ(a.status, SASSDEC_OK) << text << "\n  " << a.error.column << ": " << a.error.reason;
    sassdec_insn insn;
    sassdec_decode(arch, a.word, 0, &insn);
    return insn;
}

const char* collection() {
    for (const char* p : {SASSEMU_SOURCE_DIR "/../shared/decode", "../shared/decode"})
        if (std::filesystem::is_directory(p)) return p;
    return nullptr;
}

// Does what `row` leaves a compiler's schedule to say wait at least as long when the assembler says
// it? A write barrier is also released after the sources are read.
bool as_safe_as(const Row& row) {
    const Answer a = assemble(row.arch, print(row.arch, row.word, row.pc), row.pc);
    if (a.status != SASSDEC_OK) return true;  // round_trip() sees it
    sassdec_insn compiled, own;
    sassdec_decode(row.arch, row.word, row.pc, &compiled);
    sassdec_decode(row.arch, a.word, row.pc, &own);
    const auto none = [](unsigned barrier) { return barrier == 7; };
    if (!none(compiled.control.write_barrier)) return !none(own.control.write_barrier);
    return none(compiled.control.read_barrier) || !none(own.control.read_barrier) ||
           !none(own.control.write_barrier);
}

// Bits 0 to 104 of a word that its text shows; the rest is control. Not shown: the payload of a
// NaN; the uniform register with the descriptor of [R2.64] on sm_80 to sm_89 (of LDGSTS, that there
// is one); that BAR has its operands as RZ or not.
struct Shown {
    std::uint64_t lo = ~std::uint64_t{0}, hi = (std::uint64_t{1} << 41) - 1;
};
Shown shown(const Row& row, const std::string& text) {
    Shown s;
    const std::uint64_t opcode = row.word[0] & 0xfff;
    if (text.find("NAN") != std::string::npos) s.lo = 0xffffffff;
    if (text.find("BAR.SYNC.DEFER_BLOCKING 0x0") != std::string::npos && opcode == 0x91d) s.lo = 0;
    const bool descriptors = row.arch >= SASSDEC_SM_80 && row.arch <= SASSDEC_SM_89;
    if (descriptors && text.find(".64") != std::string::npos) {
        if (opcode == 0x980 || opcode == 0x981)
            s.lo &= ~(std::uint64_t{0x3f} << 32);
        else if (opcode == 0xfae || opcode == 0xdae)
            s.hi &= ~std::uint64_t{0x103f};
        else
            s.hi &= ~std::uint64_t{0x3f};
    }
    return s;
}
// Is what the assembler makes of the text what the compiler wrote?
void as_compiled(const Row& row, unsigned& wrong) {
    const std::string text = print(row.arch, row.word, row.pc);
    const Answer a = assemble(row.arch, text, row.pc);
    if (a.status != SASSDEC_OK) return;  // round_trip() sees it
    const Shown s = shown(row, text);
    const std::uint64_t lo = (a.word[0] ^ row.word[0]) & s.lo,
                        hi = (a.word[1] ^ row.word[1]) & s.hi;
    if (!(lo | hi)) return;
    if (++wrong <= 10)
        ADD_FAILURE() << sassdec_arch_name(row.arch) << " " << text << std::hex << "\n  compiled "
                      << row.word[1] << " " << row.word[0] << "\n  assembled " << a.word[1] << " "
                      << a.word[0];
}

// One word there and back: the text alone gives the same text, the exact text the same bits.
void round_trip(sassdec_arch arch, const std::uint64_t (&word)[2], std::uint64_t pc,
                unsigned& wrong) {
    const std::string text = print(arch, word, pc);
    const Answer a = assemble(arch, text, pc);
    const std::string again = a.status == SASSDEC_OK ? print(arch, a.word, pc) : a.error.reason;
    if (again != text && ++wrong > 1 && wrong <= 11)
        ADD_FAILURE() << sassdec_arch_name(arch) << " want " << text << "\n   got " << again;
    const std::string exact = print(arch, word, pc, true);
    const Answer e = assemble(arch, exact, pc);
    if ((e.status != SASSDEC_OK || e.word[0] != word[0] || e.word[1] != word[1]) && ++wrong <= 10)
        ADD_FAILURE() << sassdec_arch_name(arch) << " exact " << exact << "\n   " << e.error.reason;
}

TEST(Assemble, OwnCubinsComeBack) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    ASSERT_GT(rows.size(), 7000u);
    unsigned wrong = 0;
    for (const Row& row : rows) round_trip(row.arch, row.word, row.pc, wrong);
    EXPECT_EQ(wrong, 0u) << "of " << rows.size();
}

// Every word that decodes, however odd: rare modifiers, reserved values, hidden operands.
TEST(Assemble, BitsWithoutTextAreThoseOfTheCompiler) {
    unsigned wrong = 0, tried = 0;
    const auto look = [&](const Row& row) {
        ++tried;
        as_compiled(row, wrong);
    };
    for (const Row& row : read_rows(SASSDEC_TEST_DATA "/own.tsv")) look(row);
    for_each_row(SASSDEC_TEST_DATA "/compiled.tsv.gz", nullptr, look);
    EXPECT_GT(tried, 50000u);
    EXPECT_EQ(wrong, 0u) << "of " << tried;
}

TEST(Assemble, MutatedAndDamagedWordsComeBack) {
    unsigned wrong = 0, tried = 0;
    for_each_row(vectors("mutations"), nullptr, [&](const Row& row) {
        sassdec_insn insn;
        if (sassdec_decode(row.arch, row.word, row.pc, &insn) != SASSDEC_OK) return;
        ++tried;
        round_trip(row.arch, row.word, row.pc, wrong);
    });
    EXPECT_GT(tried, 1000u);
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    std::mt19937_64 random(11);
    for (int arch = 0; arch < SASSDEC_ARCH_COUNT; ++arch)
        for (const Row& row : rows) {
            std::uint64_t w[2] = {row.word[0], row.word[1]};
            for (unsigned k = 0, n = 1 + random() % 6; k < n; ++k) {
                const unsigned bit = random() % 128;
                w[bit / 64] ^= std::uint64_t{1} << bit % 64;
            }
            sassdec_insn insn;
            if (sassdec_decode(static_cast<sassdec_arch>(arch), w, 0x700, &insn) != SASSDEC_OK)
                continue;
            ++tried;
            round_trip(static_cast<sassdec_arch>(arch), w, 0x700, wrong);
        }
    EXPECT_GT(tried, 15000u);
    // With batch number 3 nvdisasm prints IMAD.U32 for what is IMAD.IADD.U32 otherwise; the plain
    // name alone is assembled without.
    EXPECT_LE(wrong, 1u) << "of " << tried;
}

TEST(Assemble, EveryModifierComesBack) {
    unsigned wrong = 0, tried = 0;
    const std::string compiled = SASSDEC_TEST_DATA "/compiled.tsv.gz";
    for (const auto& file : {vectors("sweep"), vectors("named"), vectors("random"), compiled})
        for_each_row(file, nullptr, [&](const Row& row) {
            sassdec_insn insn;
            if (sassdec_decode(row.arch, row.word, row.pc, &insn) != SASSDEC_OK) return;
            ++tried;
            round_trip(row.arch, row.word, row.pc, wrong);
        });
    EXPECT_GT(tried, 100000u);
    EXPECT_EQ(wrong, 0u) << "of " << tried;
}

TEST(Assemble, CollectionComesBack) {
    const char* dir = collection();
    if (!dir) GTEST_SKIP() << "no ../shared/decode";
    unsigned wrong = 0, tried = 0, unsafe = 0, otherwise = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".tsv.gz")) continue;
        const std::string arch = name.substr(0, name.size() - 7);
        std::FILE* pipe = popen(("gzip -dc '" + entry.path().string() + "'").c_str(), "r");
        ASSERT_NE(pipe, nullptr);
        char line[1024];
        while (std::fgets(line, sizeof line, pipe)) {
            Row row;
            std::string s(line);
            while (!s.empty() && s.back() == '\n') s.pop_back();
            if (!parse_row(s, row, arch.c_str())) continue;
            ++tried;
            round_trip(row.arch, row.word, row.pc, wrong);
            unsafe += !as_safe_as(row);
            as_compiled(row, otherwise);
        }
        pclose(pipe);
    }
    EXPECT_EQ(otherwise, 0u) << "of " << tried;
    EXPECT_EQ(wrong, 0u) << "of " << tried;
    // Four words of sm_75 (HFMA2, HSETP2) name a write barrier, as a hundred like them do not;
    // BAR.SYNC 0x0 a read barrier.
    EXPECT_LE(unsafe, 12u) << "of " << tried;
}

// ---- what the text does not say
// -------------------------------------------------------------------------------------------

TEST(Assemble, DefaultsAreSafe) {
    // A fixed-latency result: the longest stall. Everything waits for all scoreboards.
    sassdec_insn insn = decoded(SASSDEC_SM_90, "FADD R1, R2, R3");
    EXPECT_EQ(insn.control.stall, 15);
    EXPECT_EQ(insn.control.wait_mask, 0x3f);
    EXPECT_EQ(insn.control.write_barrier, 7);
    EXPECT_EQ(insn.control.read_barrier, 7);
    // A load: results and sources through scoreboards.
    insn = decoded(SASSDEC_SM_90, "LDG.E R0, desc[UR4][R2.64]");
    EXPECT_EQ(insn.control.write_barrier, 0);
    EXPECT_EQ(insn.control.read_barrier, 1);
    EXPECT_EQ(insn.control.wait_mask, 0x3f);
    insn = decoded(SASSDEC_SM_90, "STG.E desc[UR4][R2.64], R0");
    EXPECT_EQ(insn.control.write_barrier, 7);
    EXPECT_EQ(insn.control.read_barrier, 1);
    // Doubles complete through scoreboards on sm_86, not on sm_90; wgmma never does.
    EXPECT_EQ(decoded(SASSDEC_SM_86, "DADD R0, R2, R4").control.write_barrier, 0);
    EXPECT_EQ(decoded(SASSDEC_SM_90, "DADD R0, R2, R4").control.write_barrier, 7);
    EXPECT_EQ(
        decoded(SASSDEC_SM_90, "HGMMA.64x8x16.F32 R24, gdesc[UR4], RZ, !UPT").control.write_barrier,
        7);
    EXPECT_EQ(decoded(SASSDEC_SM_90, "BRA 0x40").control.read_barrier, 7);
    EXPECT_EQ(decoded(SASSDEC_SM_90, "FENCE.VIEW.ASYNC.S").control.write_barrier, 0);
    // A reuse flag needs the other half of the schedules.
    insn = decoded(SASSDEC_SM_90, "FFMA R0, R1.reuse, R2, R3");
    EXPECT_EQ(insn.control.stall, 11);
    EXPECT_EQ(insn.control.yield, 0);
    EXPECT_EQ(insn.control.reuse, 1);
}

// Whatever ptxas 13.0 lets complete through a scoreboard does so by default.
TEST(Assemble, DefaultsAreAsSafeAsCompiledCode) {
    unsigned barriers = 0;
    const auto look = [&](const Row& row) {
        barriers += (row.word[1] >> 46 & 7) != 7;
        EXPECT_TRUE(as_safe_as(row)) << sassdec_arch_name(row.arch) << " " << row.text;
    };
    for (const Row& row : read_rows(SASSDEC_TEST_DATA "/own.tsv")) look(row);
    for_each_row(SASSDEC_TEST_DATA "/compiled.tsv.gz", nullptr, look);
    EXPECT_GT(barriers, 5000u);
}

TEST(Assemble, ControlSuffixSaysEveryBit) {
    const sassdec_insn insn = decoded(
        SASSDEC_SM_90, "@!P2 LDG.E R0, desc[UR4][R2.64] &req={0,3} &rd=none &wr5 ?WAIT3 ?YIELD ;");
    EXPECT_EQ(insn.control.wait_mask, 0b1001);
    EXPECT_EQ(insn.control.read_barrier, 7);
    EXPECT_EQ(insn.control.write_barrier, 5);
    EXPECT_EQ(insn.control.stall, 3);
    EXPECT_EQ(insn.control.yield, 1);
    EXPECT_EQ(insn.guard, 2);
    EXPECT_EQ(insn.guard_neg, 1);
    char text[100];
    ASSERT_GT(sassdec_format_control(&insn, text, sizeof text), 0);
    EXPECT_STREQ(text, "&req={0,3} &rd=none &wr=5 ?WAIT3 ?YIELD");
    EXPECT_EQ(decoded(SASSDEC_SM_90, "NOP ?WAIT4").control.yield, 0);
    const Answer a = assemble(SASSDEC_SM_90, "NOP &bits={47:40=0x5a, 33=1}");
    ASSERT_EQ(a.status, SASSDEC_OK) << a.error.reason;
    EXPECT_EQ(a.word[0] >> 32, 0x5a02u);
}

// Any 20 of them suffice to see a default that changed: PT, RZ and 0 for what does not show.
TEST(Assemble, HiddenOperandsAreCanonical) {
    const auto word = [](sassdec_arch arch, const char* text) {
        Answer a = assemble(arch, text);
        EXPECT_EQ(a.status, SASSDEC_OK) << text << ": " << a.error.reason;
        char hex[40];
        std::snprintf(hex, sizeof hex, "%010llx%016llx",
                      static_cast<unsigned long long>(a.word[1] & 0xfffffffffull),
                      static_cast<unsigned long long>(a.word[0]));
        return std::string(hex);
    };
    EXPECT_EQ(word(SASSDEC_SM_90, "IADD3 R0, R1, R2, R3"), "0007ffe0030000000201007210");
    EXPECT_EQ(word(SASSDEC_SM_90, "LDG.E R0, desc[UR4][R2.64]"), "000c1e19000000000402007981");
    EXPECT_EQ(word(SASSDEC_SM_90, "EXIT"), "0003800000000000000000794d") << "PT as condition";
    EXPECT_EQ(word(SASSDEC_SM_90, "MOV R1, R2"), "0000000f000000000200017202") << "all bytes";
}

// ---- spelling
// ---------------------------------------------------------------------------------------------------------------

TEST(Assemble, WhatPeopleWriteIsRead) {
    const auto text = [](const char* line) {
        const Answer a = assemble(SASSDEC_SM_90, line);
        return a.status == SASSDEC_OK ? print(SASSDEC_SM_90, a.word, 0)
                                      : std::string(a.error.reason);
    };
    EXPECT_EQ(text("  @P0   IADD3   R0,R1 , 16,R3  ;  "), "@P0 IADD3 R0, R1, 0x10, R3");
    EXPECT_EQ(text("IADD3 R0, R1, -1, R3"), "IADD3 R0, R1, -0x1, R3");
    EXPECT_EQ(text("IADD3 R0, R1, 0xffffffff, R3"), "IADD3 R0, R1, -0x1, R3");
    EXPECT_EQ(text("FADD R0, R1, 0.1"), "FADD R0, R1, 0.10000000149011611938");
    EXPECT_EQ(text("FADD R0, R1, 0f3f800000"), "FADD R0, R1, 1");
    EXPECT_EQ(text("FADD R0, R1, -INF"), "FADD R0, R1, -INF");
    EXPECT_EQ(text("HADD2 R0, R1, 1, 65504"), "HADD2 R0, R1, 1, 65504");
    EXPECT_EQ(text("IMAD R0, RZ, RZ, R3"), "IMAD.MOV R0, RZ, RZ, R3")
        << "a plain name for what has a short one";
    EXPECT_EQ(text("LDG.E R0, desc[UR4][R2.64-0x10]"), "LDG.E R0, desc[UR4][R2.64+-0x10]");
    EXPECT_EQ(text("ST [R2] R3"), "ST [R2], R3");
    EXPECT_EQ(text("MEMBAR.GL"), "MEMBAR.GPU");
    EXPECT_EQ(text("@!P1 MEMBAR.SYS &req_6 &rd3 ?WAIT7"), "@!P1 MEMBAR.SYS");
}

TEST(Assemble, FusedMembarIsTwoWords) {
    EXPECT_EQ(assemble(SASSDEC_SM_90, "MEMBAR.GL.IVALLD").status, SASSDEC_E_TWO_WORDS);
    char out[200];
    EXPECT_EQ(sassdec_expand("@P0 MEMBAR.GL.IVALLD ?WAIT6", out, sizeof out), 2);
    EXPECT_STREQ(out, "@P0 CCTL.IVALL\n@P0 MEMBAR.GPU ?WAIT6");
    EXPECT_EQ(sassdec_expand("MEMBAR.SC.SYS.IVALLT", out, sizeof out), 2);
    EXPECT_STREQ(out, "CCTLT.IVALL\nMEMBAR.SC.SYS");
    EXPECT_EQ(sassdec_expand("MEMBAR.CTA.IVALLTD", out, sizeof out), 3);
    EXPECT_STREQ(out, "CCTLT.IVALL\nCCTL.IVALL\nMEMBAR.CTA");
    EXPECT_EQ(sassdec_expand("FADD R0, R1, R2", out, sizeof out), 1);
    EXPECT_EQ(sassdec_expand("MEMBAR.CTA.IVALLTD", out, 20), -1);
}

// ---- mistakes
// ---------------------------------------------------------------------------------------------------------------

TEST(Assemble, MistakesNameColumnAndReason) {
    const auto why = [](const char* line) { return reason(SASSDEC_SM_90, line); };
    EXPECT_EQ(why("FADDD R0, R1, R2"), "1: sm_90 has no instruction 'FADDD'");
    EXPECT_EQ(
        why("LDCU UR4, c[0x0][0x10]"),
        "1: sm_90 has no instruction 'LDCU'; it exists on sm_100 sm_103 sm_110 sm_120 sm_107");
    EXPECT_EQ(why("FADD.FOO R1, R2, R3"), "5: no such modifier here, not '.FOO'");
    EXPECT_EQ(why("FADD R1, R2"), "12: an operand is missing here, not the end of the line");
    EXPECT_EQ(why("FADD R1, R2, R3, R4"),
              "16: expected the end of the line or a control suffix (&req= &rd= &wr= ?WAITn ?YIELD "
              "&bits=), not ','");
    EXPECT_EQ(why("IADD3 R1, R2, 0x1ffffffff, R4"), "15: the number does not fit this operand");
    EXPECT_EQ(why("DADD R0, R2, 0.1"),
              "14: only doubles whose lower 32 bits are zero fit this operand");
    EXPECT_EQ(why("BRA nowhere"), "5: unknown label");
    EXPECT_EQ(why("BRA 0x48"), "assembled");
    EXPECT_EQ(why("BRA 0x42"), "5: the target is not a multiple of the unit of jumps");
    EXPECT_EQ(why("MEMBAR.GPU ?WAIT4"), "12: this instruction needs a schedule of ?WAIT5 or more");
    EXPECT_EQ(why("MEMBAR.GL ?WAIT4"), "11: this instruction needs a schedule of ?WAIT5 or more");
    EXPECT_EQ(why("MEMBAR.GPU ?WAIT5"), "assembled");
    EXPECT_EQ(why("FFMA R0, R1.reuse, R2, R3 ?WAIT4 ?YIELD"),
              "27: a reuse flag needs ?WAIT1 to ?WAIT11, without ?YIELD");
    EXPECT_EQ(why("@UP0 FADD R1, R2, R3"),
              "1: the guard of this instruction is a predicate P0 to P6 or PT");
    EXPECT_EQ(why("@P8 FADD R1, R2, R3"),
              "2: expected a guard @P0 to @PT, @UP0 to @UPT or with '!', not 'P8'");
    EXPECT_EQ(why("IMAD.MOV R1, R2, R3, R4"),
              "24: the operands do not fit this short name of the instruction");
    EXPECT_EQ(why(""), "1: expected an instruction, not the end of the line");
    EXPECT_EQ(why("NOP ; NOP"), "6: expected one instruction only");
}

TEST(Assemble, ColumnsOfOlderSpellingsAreThoseOfTheLine) {
    EXPECT_EQ(reason(SASSDEC_SM_90, "MEMBAR.XX.GL.GL.GL.GL.GL.GL.GL.GL").substr(0, 2), "7:");
    EXPECT_EQ(reason(SASSDEC_SM_90, "MEMBAR.SC.GL what").substr(0, 3), "14:");
    EXPECT_EQ(reason(SASSDEC_SM_90, "@P0 MEMBAR.SC.GL ?WAIT99").substr(0, 3),
              reason(SASSDEC_SM_90, "@P0 MEMBAR.SC.SM ?WAIT99").substr(0, 3));
}

// Cut and damaged lines: an answer, never a read past the end.
TEST(Assemble, DamagedTextIsAnswered) {
    const auto rows = read_rows(SASSDEC_TEST_DATA "/own.tsv");
    std::mt19937_64 random(3);
    unsigned good = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::string text = rows[i].text;
        if (i % 2)
            text.resize(random() % (text.size() + 1));
        else
            text[random() % text.size()] = " .,;[]|-~!&?{}@RUPZ09x+\x80\xff"[random() % 26];
        text.shrink_to_fit();
        good += assemble(rows[i].arch, text).status == SASSDEC_OK;
    }
    EXPECT_LT(good, rows.size() / 2);
}

}  // namespace
