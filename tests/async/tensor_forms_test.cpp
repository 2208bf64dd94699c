// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma in all its forms: block scales, sparse matrices, weight-stationary products, pairs of
// CTAs, shifts of A, each kind, type, shape and layout, any bits, against the model by element. No
// chip at hand has them.
#include "emu/async/tensor_descriptor.hpp"
#include "tests/async/tensor_form_model.hpp"

namespace sassemu::async::test {
namespace {

TEST_F(TensorForms, ProductsAreThoseOfTheModel) {
    const auto all = levels();
    std::map<std::string, int> seen;
    std::set<uint32_t> results;
    uint64_t compared = 0;
    for (uint64_t seed = 0; seed < 240; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (!c.m.stationary && !c.scaled() && coin(random)) c.m.disabled_lanes = c.mask;
        if (const char* why = check(c.m, c.sm, shared_bytes)) {
            ASSERT_STREQ(why, "a matrix of the tensor core leaves shared memory");
            ++seen["outside"];
            continue;
        }
        fill(c, random);
        ++seen["kind " + std::to_string(static_cast<int>(c.m.kind)) + (c.sparse ? " sparse" : "") +
               (c.m.stationary ? " ws"
                : c.m.pair     ? " pair"
                               : "")];
        const TensorMemory before[2] = {*side[0].cells, *side[1].cells};
        // The model first: it reads what the product overwrites.
        const uint32_t sides = c.m.pair ? 2 : 1;
        struct Sample {
            uint32_t which, lane, column, want, row, n;
        };
        std::vector<Sample> samples;
        for (int i = 0; i < 700; ++i) {
            const uint32_t which = below(random, sides), row = below(random, c.rows),
                           n = below(random, c.n);
            const auto [lane, column] = c.place(row, n);
            const uint32_t rank = c.m.pair ? which ^ c.m.second : 0;
            const uint32_t d = before[which].cell[lane][column];
            samples.push_back({which, lane, column,
                               c.off(rank, lane) ? d : expected(c, which, row, n, d), row, n});
        }
        multiply(c.m, {view(0), view(1)}, c.sm, all[seed % all.size()]->matrix_sums);
        for (const Sample& s : samples) {
            ASSERT_EQ(side[s.which].cells->cell[s.lane][s.column], s.want)
                << std::hex << "kind " << static_cast<int>(c.m.kind) << " instruction "
                << c.m.instruction << std::dec << " row " << s.row << " column " << s.n << " side "
                << s.which << (c.sparse ? " sparse" : "") << (c.m.pair ? " pair" : "")
                << (c.m.stationary ? " ws" : "") << " level " << seed % all.size() << " before "
                << std::hex << before[s.which].cell[s.lane][s.column];
            results.insert(s.want), ++compared;
        }
        // Nothing else changes.
        for (uint32_t which = 0; which < 2; ++which) {
            std::set<uint64_t> d;
            const uint32_t rank = c.m.pair ? which ^ c.m.second : 0;
            if (which < sides)
                for (uint32_t row = 0; row < c.rows; ++row)
                    for (uint32_t n = 0; n < c.n; ++n)
                        if (const auto [lane, column] = c.place(row, n); !c.off(rank, lane))
                            d.insert(lane * 512 + column);
            for (uint32_t lane = 0; lane < 128; ++lane)
                for (uint32_t column = 0; column < 512; ++column) {
                    const bool a = column >= a_at && column < a_at + 8 && c.m.shifts &&
                                   which < sides && lane % 32 != 31;
                    if (a) {
                        ASSERT_EQ(side[which].cells->cell[lane][column],
                                  before[which].cell[lane + 1][column]);
                    } else if (!d.count(lane * 512 + column)) {
                        ASSERT_EQ(side[which].cells->cell[lane][column],
                                  before[which].cell[lane][column])
                            << lane << " " << column;
                    }
                }
        }
    }
    for (const char* what :
         {"kind 0 sparse", "kind 1 sparse pair", "kind 2 ws", "kind 3 sparse ws", "kind 3 pair",
          "kind 4", "kind 4 pair", "kind 4 sparse pair", "kind 5", "kind 5 sparse", "kind 5 pair",
          "kind 5 sparse pair", "kind 1 ws", "kind 0 pair"})
        EXPECT_GT(seen[what], 0) << what;
    EXPECT_LT(seen["outside"], 120);
    EXPECT_GT(compared, 60000u);
    EXPECT_GT(results.size(), compared / 4);
    for (const uint32_t special : {0x7fffffffu, 0x7f800000u, 0xff800000u, 0u})
        EXPECT_TRUE(results.count(special));
}

// What is not told may hold anything, and what is told is in memory.
TEST_F(TensorForms, ReadsAndWritesOnlyWhatItTells) {
    const auto all = levels();
    for (uint64_t seed = 1000; seed < 1024; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (!c.m.stationary && !c.scaled()) c.m.disabled_lanes = c.mask;
        if (check(c.m, c.sm, shared_bytes)) continue;
        fill(c, random);
        struct Told2 {
            std::set<uint64_t> shared[2], read[2], written[2];
        } told;
        touched(
            c.m,
            [](void* self, const Touched& t) {
                auto& x = *static_cast<Told2*>(self);
                auto& to = !t.tensor ? x.shared[t.peer]
                           : t.write ? x.written[t.peer]
                                     : x.read[t.peer];
                for (uint64_t i = 0; i < t.bytes; ++i) EXPECT_TRUE(to.insert(t.address + i).second);
            },
            &told);
        const uint32_t columns = granules(c.m);
        for (uint32_t which = 0; which < 2; ++which)
            for (const auto* set : {&told.read[which], &told.written[which]})
                for (const uint64_t at : *set)
                    ASSERT_TRUE(columns >> (at % 2048 / 4 / 32) & 1) << at;
        const TensorMemory before[2] = {*side[0].cells, *side[1].cells};
        multiply(c.m, {view(0), view(1)}, c.sm, all[0]->matrix_sums);
        const TensorMemory first[2] = {*side[0].cells, *side[1].cells};
        TensorMemory poisoned[2];
        for (uint32_t which = 0; which < 2; ++which) {
            *side[which].cells = before[which];
            poison(side[which].shared->data(), shared_bytes, told.shared[which], random);
            poison(reinterpret_cast<std::byte*>(side[which].cells.get()), sizeof(TensorMemory),
                   told.read[which], random);
            poisoned[which] = *side[which].cells;
        }
        multiply(c.m, {view(0), view(1)}, c.sm, all[0]->matrix_sums);
        for (uint32_t which = 0; which < 2; ++which) {
            const auto byte = [](const TensorMemory& m, uint64_t at) {
                return reinterpret_cast<const std::byte*>(&m)[at];
            };
            for (uint64_t at = 0; at < sizeof(TensorMemory); ++at)
                ASSERT_EQ(byte(*side[which].cells, at), told.written[which].count(at)
                                                            ? byte(first[which], at)
                                                            : byte(poisoned[which], at))
                    << which << " " << at;
        }
    }
}

TEST_F(TensorForms, RefusesWhatIsIllegal) {
    struct Wrong {
        const char* says;
        void (*change)(Case&);
    };
    const auto legal = [](TensorKind kind) {
        Case c;
        c.m.kind = kind;
        c.a = c.b = types.at(kind)[0];
        c.fa = {0, 128, 256, 0, 0}, c.fb = {middle, 128, 256, 0, 0};
        c.m.a = c.fa.word(), c.m.b = c.fb.word();
        c.m.scales_a = scales_a_at, c.m.scales_b = scales_b_at, c.m.metadata = metadata_at;
        c.n = 64;
        return c;
    };
    const auto why = [&](TensorKind kind, void (*change)(Case&)) -> std::string {
        Case c = legal(kind);
        c.m.instruction = c.instruction();
        EXPECT_EQ(check(c.m, 100, shared_bytes), nullptr);
        change(c);
        c.m.instruction ^= c.instruction() ^ legal(kind).instruction();
        const char* says = check(c.m, c.sm, shared_bytes);
        return says ? says : "nothing";
    };
    using K = TensorKind;
    const std::vector<std::tuple<K, const char*, void (*)(Case&)>> wrong{
        {K::f16, "selector", [](Case& c) { c.selector = 1; }},
        {K::f8f6f4, "selector", [](Case& c) { c.selector = 1, c.sparse = true; }},
        {K::f16, "lanes", [](Case& c) { c.sparse = true, c.m.metadata |= 16 << 16; }},
        {K::f16, "sparsity metadata leaves",
         [](Case& c) { c.sparse = true, c.selector = 3, c.m.metadata = 509; }},
        {K::f8f6f4, "sparsity metadata leaves",
         [](Case& c) { c.sparse = true, c.m.metadata = 511; }},
        {K::f16, "reserved", [](Case& c) { c.m.instruction ^= 1u << 30; }},
        {K::f16, "invalid N", [](Case& c) { c.m.stationary = true, c.n = 72; }},
        {K::f16, "invalid N", [](Case& c) { c.m.stationary = true, c.sparse = true, c.n = 256; }},
        {K::f16, "invalid M", [](Case& c) { c.m.stationary = true, c.rows = 16; }},
        {K::f16, "invalid M for cta_group::2", [](Case& c) { c.m.pair = true, c.rows = 32; }},
        {K::f16, "invalid N", [](Case& c) { c.m.pair = true, c.n = 24; }},
        {K::i8, "invalid N", [](Case& c) { c.m.pair = true, c.n = 48; }},
        {K::f8f6f4, "transposed B", [](Case& c) { c.m.pair = true, c.n = 48, c.tb = true; }},
        {K::f16, ".ashift",
         [](Case& c) {
             c.m.shifts = true, c.m.a_in_tensor_memory = true, c.m.a_address = a_at, c.rows = 64;
         }},
        {K::f16, "zero-column",
         [](Case& c) { c.m.stationary = true, c.m.zero_columns = uint64_t{1} << 36; }},
        {K::f16, "shifts by more",
         [](Case& c) {
             c.m.stationary = true, c.m.zero_columns = uint64_t{9} << 56, c.most_shift = 8;
         }},
        {K::f16, "shifts by more",
         [](Case& c) {
             c.m.stationary = true, c.rows = 32, c.m.zero_columns = uint64_t{17} << 56,
             c.most_shift = 32;
         }},
        {K::mxf8f6f4, "UE4M3", [](Case& c) { c.ue4m3 = true; }},
        {K::mxf8f6f4, "reserved", [](Case& c) { c.m.instruction ^= 1u << 31; }},
        {K::mxf8f6f4, "reserved", [](Case& c) { c.m.instruction ^= 1u << 24; }},
        {K::mxf8f6f4, "invalid M", [](Case& c) { c.m.instruction ^= 1u << 27; }},
        {K::mxf8f6f4, "invalid M for cta_group::2",
         [](Case& c) { c.m.pair = true, c.rows = 64, c.sparse = true; }},
        {K::mxf8f6f4, "scales of A", [](Case& c) { c.m.scales_a = 510; }},
        {K::mxf8f6f4, "scales of B", [](Case& c) { c.m.scales_b = 511; }},
        {K::mxf8f6f4, "another lane", [](Case& c) { c.m.scales_b |= 32 << 16; }},
        {K::mxf8f6f4, "type of A", [](Case& c) { c.m.instruction ^= 2u << 7; }},
        {K::mxf4, "type of A", [](Case& c) { c.m.instruction ^= 1u << 7; }},
        {K::mxf4, "reserved", [](Case& c) { c.m.instruction ^= 1u << 12; }},
        {K::mxf4, "selects scales", [](Case& c) { c.sfa = 1; }},
        {K::mxf4, "selects scales", [](Case& c) { c.m.block16 = true, c.sfb = 2; }},
        {K::mxf4, "UE4M3", [](Case& c) { c.ue4m3 = true; }},
        {K::mxf4, "K of 96", [](Case& c) { c.wide = true; }},
        {K::mxf4, "K of 96", [](Case& c) { c.wide = c.sparse = true, c.sm = 103; }},
        {K::mxf4, "K of 96", [](Case& c) { c.wide = c.m.pair = true, c.rows = 64, c.sm = 103; }},
        {K::mxf4, "transposes", [](Case& c) { c.ta = true; }},
        {K::f8f6f4, "scaled in a kind", [](Case& c) { c.m.scale_d = 1; }},
        {K::i8, "negates integers", [](Case& c) { c.m.instruction ^= 1u << 13; }},
        {K::tf32, "a transposed matrix of 32-bit elements needs", [](Case& c) { c.ta = true; }},
        {K::mxf4, "absolute", [](Case& c) { c.m.a |= uint64_t{1} << 52; }},
    };
    for (const auto& [kind, says, change] : wrong)
        EXPECT_NE(why(kind, change).find(says), std::string::npos)
            << says << ": " << why(kind, change);
    // K of 96 is of sm_103, where a row of 48 bytes may go on at another address.
    Case c = legal(K::mxf4);
    c.wide = true, c.sm = 103;
    c.m.instruction = c.instruction();
    EXPECT_EQ(check(c.m, 103, shared_bytes), nullptr);
    c.fa.mode = 2, c.fa.leading = 4096;
    c.m.a = c.fa.word() | uint64_t{1} << 52;
    EXPECT_EQ(check(c.m, 103, shared_bytes), nullptr);
    // Chunks 0 and 1 end a span of 128 bytes, the third begins the one at 4096.
    const SharedMatrix x((Fields{96, 4096, 1024, 0, 2}.word()) | uint64_t{1} << 52);
    EXPECT_EQ(x.k_major(0, 0), 96u);
    EXPECT_EQ(x.k_major(0, 1), 112u);
    EXPECT_EQ(x.k_major(0, 2), 4096u);
    EXPECT_EQ(x.k_major(1, 2), (4096u + 128) ^ 16);
}

// Whatever the descriptors are: what passes stays in memory, which ends at pages that fault.
TEST_F(TensorForms, NoDescriptorLeadsOutOfMemory) {
    const auto sums = levels().back()->matrix_sums;
    uint64_t passed = 0;
    for (uint64_t seed = 0; seed < 12000; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        Case c = some_case(random);
        if (coin(random)) c.m.a ^= random() & random() & random();
        if (coin(random)) c.m.b ^= (random() & 0x3fff3fff) | (random() & 0x3fff) << 32;
        if (coin(random)) c.m.instruction ^= 1u << below(random, 32);
        for (uint32_t* word : {&c.m.d, &c.m.a_address, &c.m.metadata, &c.m.scales_a, &c.m.scales_b})
            if (below(random, 4) == 0) *word ^= 1u << below(random, 32);
        if (below(random, 8) == 0) c.m.zero_columns ^= uint64_t{1} << below(random, 64);
        if (below(random, 8) == 0) c.m.kind = static_cast<TensorKind>(below(random, 6));
        if (check(c.m, c.sm, shared_bytes)) continue;
        ++passed;
        bool inside = true;
        touched(
            c.m,
            [](void* self, const Touched& t) {
                const uint64_t most = t.tensor ? sizeof(TensorMemory) : shared_bytes;
                *static_cast<bool*>(self) &= t.address + t.bytes <= most;
            },
            &inside);
        ASSERT_TRUE(inside);
        if (passed % 16 == 0) multiply(c.m, {view(0), view(1)}, c.sm, sums);
    }
    EXPECT_GT(passed, 1000u);
}

}  // namespace
}  // namespace sassemu::async::test
