// SPDX-License-Identifier: Apache-2.0
// What instructions do: a line for each kind of statement, and what holds of every word.
#include "sassdec/effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "rows.hpp"

namespace {

std::string effects_of(const char* arch, const char* text) {
    std::uint64_t word[2];
    sassdec_asm_error error{};
    const sassdec_arch a = sassdec_arch_from_name(arch);
    if (sassdec_assemble(a, text, 0, nullptr, word, &error) != SASSDEC_OK)
        return std::string(text) + ": " + error.reason;
    sassdec_insn insn;
    sassdec_decode(a, word, 0, &insn);
    char out[256];
    return sassdec_format_effects(&insn, out, sizeof out) < 0 ? "<too long>" : out;
}

TEST(Effects, OfLines) {
    const char* const lines[][3] = {
        {"sm_90", "LDG.E.64.STRONG.GPU R2, desc[UR4][R8.64+0x10]",
         "load space=global order=relaxed scope=gpu type=b64 policy=normal latency=lsu bytes=8 "
         "address=addr result=d predicate=pa"},
        {"sm_90", "LDG.E.EF.S8.CONSTANT R2, desc[UR4][R8.64]",
         "load space=global proxy=texture type=s8 policy=first latency=lsu bytes=1 address=addr "
         "result=d predicate=pa"},
        {"sm_75", "LDG.E.STRONG.SYS R2, [R8]",
         "load space=global order=relaxed scope=sys type=b32 policy=normal latency=lsu bytes=4 "
         "address=addr result=d predicate=pa"},
        {"sm_75", "LDG.E.SYS R2, [R8]",
         "load space=global type=b32 policy=normal latency=lsu bytes=4 address=addr result=d "
         "predicate=pa"},
        {"sm_90", "ST.E.128.MMIO.SYS desc[UR4][R8.64], R4",
         "store space=generic order=mmio scope=sys type=b128 policy=normal latency=lsu bytes=16 "
         "address=addr data=data"},
        {"sm_80", "LDC.U16 R1, c[0x3][R2+0x20]",
         "load space=constant proxy=constant type=u16 latency=lsu bytes=2 address=addr result=d"},
        {"sm_100", "LDCU.128 UR4, c[0x0][0x380]",
         "load space=constant proxy=constant type=b128 latency=lsu bytes=16 address=addr "
         "result=d"},
        {"sm_100", "LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]",
         "load space=global policy=normal latency=lsu bytes=32 address=addr result=d "
         "predicate=pa"},
        {"sm_80", "LDSM.16.MT88.4 R4, [R8]",
         "load.matrix space=shared latency=mio bytes=16 address=addr result=d"},
        {"sm_90", "ATOMG.E.CAS.64.STRONG.SYS PT, R2, [R8], R4, R6",
         "atomic space=global order=relaxed scope=sys atomic=compare_exchange type=u64 "
         "policy=normal latency=lsu bytes=8 elements=1 address=addr data=data compare=cmp "
         "result=d"},
        {"sm_90", "REDG.E.ADD.BF16x8.RN.STRONG.GPU desc[UR4][R8.64], R4",
         "reduce space=global order=relaxed scope=gpu atomic=add type=bf16x2 policy=normal "
         "latency=lsu bytes=16 elements=4 address=addr data=data"},
        {"sm_90", "ATOMS.EXCH R2, [R8], R4",
         "atomic space=shared atomic=exchange type=u32 latency=mio bytes=4 elements=1 "
         "address=addr data=data result=d"},
        {"sm_80", "LDGSTS.E.BYPASS.128 [R2], desc[UR4][R8.64], P1",
         "async.copy space=shared from=global type=b128 policy=normal agent=ldgsts latency=lsu "
         "bytes=16 address=shared source=addr predicate=pa"},
        {"sm_90", "MEMBAR.ALL.GPU", "fence order=acq_rel scope=gpu latency=lsu"},
        {"sm_90", "MEMBAR.SC.VC", "fence order=sc scope=vc latency=lsu"},
        {"sm_90", "FENCE.VIEW.ASYNC.S",
         "fence.proxy space=shared order=acq_rel scope=cta proxy=async latency=lsu"},
        {"sm_90", "CCTL.IVALL", "cache.invalidate_all cache=data latency=lsu"},
        {"sm_90", "CCTL.E.C.PF2 [R2]", "cache.prefetch cache=constant latency=lsu address=addr"},
        {"sm_90", "CCTLL.WBALL", "cache.write_back_all cache=local latency=lsu"},
        {"sm_90", "BAR.ARV 0x1, 0x40", "barrier.arrive order=acq_rel scope=cta"},
        {"sm_90", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x8], R2",
         "mbarrier.test space=shared latency=lsu address=addr"},
        {"sm_90", "UTMACMDFLUSH", "async.commit agent=bulk latency=tma"},
        {"sm_90", "DEPBAR.LE SB0, 0x1", "async.wait latency=fixed data=count"},
        {"sm_100", "UTCBAR [UR4], URZ",
         "async.commit space=shared agent=tcgen05 latency=tcgen05 "
         "address=addr"},
        {"sm_90", "WARPSYNC.ALL", "convergence.warp"},
        {"sm_90", "EXIT", "control.exit"},
        {"sm_90", "IADD3 R1, PT, PT, R2, R3, R4", "none latency=alu"},
    };
    for (const auto& l : lines) EXPECT_EQ(effects_of(l[0], l[1]), l[2]) << l[0] << ' ' << l[1];
}

// Operands are what the columns say; loads and stores have widths, and nothing else does.
TEST(Effects, OfEveryWord) {
    std::size_t words = 0, told = 0;
    const auto look = [&](const Row& row) {
        sassdec_insn insn;
        sassdec_effect e;
        const bool ok = sassdec_decode(row.arch, row.word, row.pc, &insn) == SASSDEC_OK;
        sassdec_effects(&insn, &e);
        ++words;
        if (!ok) {
            ASSERT_EQ(e.kind, SASSDEC_KIND_NONE);
            ASSERT_EQ(e.address, SASSDEC_NO_OPERAND);
            return;
        }
        char text[256];
        ASSERT_GT(sassdec_format_effects(&insn, text, sizeof text), 0);
        SCOPED_TRACE(row.text + "   " + text);
        const auto operand = [&](std::uint8_t column) -> const sassdec_operand* {
            return column == SASSDEC_NO_OPERAND ? nullptr : insn.operand + column;
        };
        for (const std::uint8_t c :
             {e.address, e.source, e.data, e.compare, e.result, e.predicate, e.object})
            ASSERT_TRUE(c == SASSDEC_NO_OPERAND || c < insn.operand_count);
        const bool access = e.kind >= SASSDEC_KIND_LOAD && e.kind <= SASSDEC_KIND_REDUCE;
        told += e.kind != SASSDEC_KIND_NONE;
        if (access) {
            ASSERT_NE(e.space, SASSDEC_SPACE_NONE);
            const sassdec_operand* at = operand(e.address);
            if (e.space >= SASSDEC_SPACE_GLOBAL && e.space <= SASSDEC_SPACE_GENERIC) {
                ASSERT_TRUE(at != nullptr);
                ASSERT_TRUE(at->kind == SASSDEC_OP_MEM || at->kind == SASSDEC_OP_CONST);
            }
            if (e.kind == SASSDEC_KIND_LOAD || e.kind == SASSDEC_KIND_ATOMIC) {
                ASSERT_TRUE(e.result == SASSDEC_NO_OPERAND ||
                            operand(e.result)->access & SASSDEC_WRITE);
            } else if (e.data != SASSDEC_NO_OPERAND) {
                ASSERT_TRUE(operand(e.data)->access & SASSDEC_READ);
            }
        }
        if (e.kind == SASSDEC_KIND_ATOMIC || e.kind == SASSDEC_KIND_REDUCE) {
            ASSERT_TRUE(!e.elements || e.bytes % e.elements == 0);
        } else if (e.kind != SASSDEC_KIND_ASYNC) {
            ASSERT_EQ(e.elements, 0);
        }
        ASSERT_TRUE(e.predicate == SASSDEC_NO_OPERAND ||
                    operand(e.predicate)->kind == SASSDEC_OP_PRED);
        ASSERT_TRUE(!access || !e.scope || e.order != SASSDEC_ORDER_WEAK);
    };
    for (const Row& row : read_rows(SASSDEC_TEST_DATA "/own.tsv")) look(row);
    for (const char* file : {"/compiled.tsv.gz", "/sweep.tsv.gz", "/mutations.tsv.gz"})
        for_each_row(std::string(SASSDEC_TEST_DATA) + file, nullptr, look);
    EXPECT_GT(words, 100000u);
    EXPECT_GT(told, words / 10);
}

// The same said by nvdisasm's text: whoever adds an instruction or a modifier and says the wrong
// thing of it, or nothing, is found here.
struct Spelling {
    const char* root;
    sassdec_kind kind;
    sassdec_space space;
};
constexpr Spelling spellings[] = {
    {"LDG", SASSDEC_KIND_LOAD, SASSDEC_SPACE_GLOBAL},
    {"STG", SASSDEC_KIND_STORE, SASSDEC_SPACE_GLOBAL},
    {"LD", SASSDEC_KIND_LOAD, SASSDEC_SPACE_GENERIC},
    {"ST", SASSDEC_KIND_STORE, SASSDEC_SPACE_GENERIC},
    {"LDS", SASSDEC_KIND_LOAD, SASSDEC_SPACE_SHARED},
    {"STS", SASSDEC_KIND_STORE, SASSDEC_SPACE_SHARED},
    {"LDSM", SASSDEC_KIND_LOAD, SASSDEC_SPACE_SHARED},
    {"STSM", SASSDEC_KIND_STORE, SASSDEC_SPACE_SHARED},
    {"LDL", SASSDEC_KIND_LOAD, SASSDEC_SPACE_LOCAL},
    {"STL", SASSDEC_KIND_STORE, SASSDEC_SPACE_LOCAL},
    {"LDC", SASSDEC_KIND_LOAD, SASSDEC_SPACE_CONSTANT},
    {"ATOMG", SASSDEC_KIND_ATOMIC, SASSDEC_SPACE_GLOBAL},
    {"ATOM", SASSDEC_KIND_ATOMIC, SASSDEC_SPACE_GENERIC},
    {"ATOMS", SASSDEC_KIND_ATOMIC, SASSDEC_SPACE_SHARED},
    {"RED", SASSDEC_KIND_REDUCE, SASSDEC_SPACE_GLOBAL},
    {"REDG", SASSDEC_KIND_REDUCE, SASSDEC_SPACE_GLOBAL},
    {"SULD", SASSDEC_KIND_LOAD, SASSDEC_SPACE_SURFACE},
    {"SUST", SASSDEC_KIND_STORE, SASSDEC_SPACE_SURFACE},
    {"LDGSTS", SASSDEC_KIND_ASYNC, SASSDEC_SPACE_SHARED},
    {"MEMBAR", SASSDEC_KIND_FENCE, SASSDEC_SPACE_NONE},
    {"CCTL", SASSDEC_KIND_CACHE, SASSDEC_SPACE_NONE},
    {"CCTLL", SASSDEC_KIND_CACHE, SASSDEC_SPACE_NONE},
    {"CCTLT", SASSDEC_KIND_CACHE, SASSDEC_SPACE_NONE},
};

class Mnemonic {
  public:
    explicit Mnemonic(std::string text) {
        if (text.starts_with('@')) text.erase(0, text.find(' ') + 1);
        std::istringstream in(text.substr(0, text.find(' ')));
        for (std::string word; std::getline(in, word, '.');) words_.push_back(word);
    }
    const std::string& root() const { return words_.front(); }
    bool has(std::string_view word) const { return std::ranges::count(words_, word) != 0; }
    // The value of the first word that is there.
    unsigned first(std::initializer_list<std::pair<const char*, unsigned>> of,
                   unsigned otherwise) const {
        for (const auto& [word, value] : of)
            if (has(word)) return value;
        return otherwise;
    }

  private:
    std::vector<std::string> words_;
};

TEST(Effects, AgreeWithTheText) {
    std::size_t seen = 0, wrong = 0;
    std::set<std::string> met;
    const auto look = [&](const Row& row) {
        sassdec_insn insn;
        if (row.text == "-" || row.text.find("INVALID") != row.text.npos ||
            row.text.find("???") != row.text.npos ||
            sassdec_decode(row.arch, row.word, row.pc, &insn) != SASSDEC_OK)
            return;
        const Mnemonic m(row.text);
        const auto known = std::ranges::find(spellings, m.root(), &Spelling::root);
        if (known == std::end(spellings)) return;
        sassdec_effect e;
        sassdec_effects(&insn, &e);
        if (e.kind == SASSDEC_KIND_MBARRIER && m.has("ARRIVE")) return;
        ++seen;
        met.insert(m.root());
        sassdec_effect want = e;
        want.kind = known->kind;
        if (known->space) want.space = known->space;
        const bool access = known->kind <= SASSDEC_KIND_REDUCE;
        if (access || known->kind == SASSDEC_KIND_ASYNC) {
            const bool strong = m.has("STRONG"), mmio = m.has("MMIO");
            want.order = strong ? SASSDEC_ORDER_RELAXED
                         : mmio ? SASSDEC_ORDER_MMIO
                                : SASSDEC_ORDER_WEAK;
            want.scope = static_cast<uint8_t>(strong || mmio ? m.first({{"CTA", SASSDEC_SCOPE_CTA},
                                                                        {"SM", SASSDEC_SCOPE_SM},
                                                                        {"VC", SASSDEC_SCOPE_VC},
                                                                        {"GPU", SASSDEC_SCOPE_GPU},
                                                                        {"SYS", SASSDEC_SCOPE_SYS}},
                                                                       SASSDEC_SCOPE_NONE)
                                                             : unsigned{SASSDEC_SCOPE_NONE});
            if (m.has("CONSTANT") && e.space != SASSDEC_SPACE_SURFACE)
                want.proxy = SASSDEC_PROXY_TEXTURE;
            const bool formatted = m.root().starts_with("SU") && m.has("P");
            if (e.action != SASSDEC_ACTION_MATRIX && !formatted)
                want.bytes = static_cast<uint8_t>(m.first({{"U8", 1},
                                                           {"S8", 1},
                                                           {"U16", 2},
                                                           {"S16", 2},
                                                           {"64", 8},
                                                           {"S64", 8},
                                                           {"U64", 8},
                                                           {"F64", 8},
                                                           {"128", 16},
                                                           {"256", 32},
                                                           {"F16x4", 8},
                                                           {"BF16x4", 8},
                                                           {"F32x2", 8},
                                                           {"F16x8", 16},
                                                           {"BF16x8", 16},
                                                           {"F32x4", 16}},
                                                          4));
            want.policy = static_cast<uint8_t>(
                m.first({{"EF", SASSDEC_POLICY_FIRST},
                         {"EL", SASSDEC_POLICY_LAST},
                         {"LU", SASSDEC_POLICY_LAST_USE},
                         {"EU", SASSDEC_POLICY_UNCHANGED},
                         {"NA", SASSDEC_POLICY_NO_ALLOCATE}},
                        e.policy ? SASSDEC_POLICY_NORMAL : SASSDEC_POLICY_NONE));
        }
        if (known->kind == SASSDEC_KIND_ATOMIC || known->kind == SASSDEC_KIND_REDUCE)
            want.atomic = static_cast<uint8_t>(
                m.has("CAS") || m.has("CAST") ? unsigned{SASSDEC_OPERATOR_COMPARE_EXCHANGE}
                                              : m.first({{"POPC", SASSDEC_OPERATOR_ADD},
                                                         {"ADD", SASSDEC_OPERATOR_ADD},
                                                         {"MIN", SASSDEC_OPERATOR_MIN},
                                                         {"MAX", SASSDEC_OPERATOR_MAX},
                                                         {"INC", SASSDEC_OPERATOR_INC},
                                                         {"DEC", SASSDEC_OPERATOR_DEC},
                                                         {"AND", SASSDEC_OPERATOR_AND},
                                                         {"OR", SASSDEC_OPERATOR_OR},
                                                         {"XOR", SASSDEC_OPERATOR_XOR},
                                                         {"EXCH", SASSDEC_OPERATOR_EXCHANGE},
                                                         {"SAFEADD", SASSDEC_OPERATOR_SAFE_ADD}},
                                                        SASSDEC_OPERATOR_NONE));
        if (known->kind == SASSDEC_KIND_FENCE && e.action == SASSDEC_ACTION_PLAIN) {
            want.order = static_cast<uint8_t>(m.first(
                {{"MMIO", SASSDEC_ORDER_MMIO}, {"ALL", SASSDEC_ORDER_ACQ_REL}}, SASSDEC_ORDER_SC));
            want.scope = static_cast<uint8_t>(m.first({{"CTA", SASSDEC_SCOPE_CTA},
                                                       {"SM", SASSDEC_SCOPE_SM},
                                                       {"GPU", SASSDEC_SCOPE_GPU},
                                                       {"VC", SASSDEC_SCOPE_VC}},
                                                      SASSDEC_SCOPE_SYS));
        }
        if (known->kind == SASSDEC_KIND_CACHE)
            want.action =
                static_cast<uint8_t>(m.first({{"IV", SASSDEC_ACTION_INVALIDATE},
                                              {"IVTH", SASSDEC_ACTION_INVALIDATE},
                                              {"IVALL", SASSDEC_ACTION_INVALIDATE_ALL},
                                              {"IVALLP", SASSDEC_ACTION_INVALIDATE_ALL_PRIVATE},
                                              {"WB", SASSDEC_ACTION_WRITE_BACK},
                                              {"WBALL", SASSDEC_ACTION_WRITE_BACK_ALL},
                                              {"WBALLP", SASSDEC_ACTION_WRITE_BACK_ALL},
                                              {"RS", SASSDEC_ACTION_RESET},
                                              {"PF1", SASSDEC_ACTION_PREFETCH},
                                              {"PF2", SASSDEC_ACTION_PREFETCH}},
                                             SASSDEC_ACTION_OTHER));
        if (std::memcmp(&e, &want, sizeof e) != 0 && ++wrong <= 20) {
            char text[256];
            sassdec_format_effects(&insn, text, sizeof text);
            ADD_FAILURE() << sassdec_arch_name(row.arch) << ' ' << row.text << "\n   " << text;
        }
    };
    for (const Row& row : read_rows(SASSDEC_TEST_DATA "/own.tsv")) look(row);
    for (const char* file : {"/compiled.tsv.gz", "/sweep.tsv.gz", "/mutations.tsv.gz"})
        for_each_row(std::string(SASSDEC_TEST_DATA) + file, nullptr, look);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(seen, 10000u);
    EXPECT_EQ(met.size(), std::size(spellings));
}

TEST(Effects, ShortBuffersAndNothing) {
    sassdec_effect e;
    sassdec_effects(nullptr, &e);
    EXPECT_EQ(e.kind, SASSDEC_KIND_NONE);
    EXPECT_EQ(e.result, SASSDEC_NO_OPERAND);
    char small[4];
    EXPECT_EQ(sassdec_format_effects(nullptr, small, sizeof small), -1);
    char enough[8];
    EXPECT_EQ(sassdec_format_effects(nullptr, enough, sizeof enough), 4);
    EXPECT_STREQ(enough, "none");
}

}  // namespace
