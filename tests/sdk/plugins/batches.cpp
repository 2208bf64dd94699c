// SPDX-License-Identifier: Apache-2.0
// What runs, as a line per instruction and access: from a call for each (mode=calls) or from blocks
// (mode=records), which must be the same. mode=counts: whether counts() says what records sum up
// to.
#include <sassemu/plugin.hpp>

#include <bit>
#include <map>
#include <mutex>

namespace {

struct Batches : sassemu::Plugin {
    static constexpr auto name = "batches", summary = "what runs, told in two ways";
    static constexpr auto threading = SASSEMU_FREE;
    // A scoreboard is waited for before the instruction; its record is there by then.
    static constexpr uint64_t sync_ignored = uint64_t{1} << SASSEMU_SYNC_SCOREBOARD;
    static constexpr sassemu_option options[] = {{"mode", "calls|records|counts", "how"}};
    explicit Batches(const sassemu::Start& s) : Plugin(s), mode(s.value("mode")) {}

    uint32_t select(sassemu_insn) const {
        return mode == "calls" ? SASSEMU_BEFORE
               : mode == "records"
                   ? SASSEMU_RECORD | SASSEMU_RECORD_ACCESSES | SASSEMU_RECORD_VALUES
                   : SASSEMU_RECORD | SASSEMU_RECORD_SKIPPED;
    }
    void instruction(uint64_t cta, uint32_t warp, uint32_t lanes, uint32_t active, uint64_t clock,
                     sassemu_insn i) {
        char text[300];
        std::snprintf(text, sizeof text, "%llu.%u %08x of %08x @%llu %s\n",
                      static_cast<unsigned long long>(cta), warp, lanes, active,
                      static_cast<unsigned long long>(clock), host.insn_text(i));
        print(text);
        last = i;
    }
    void accessed(uint32_t op, uint32_t space, uint32_t bytes, uint32_t lanes, uint64_t addresses,
                  uint64_t words) {
        char text[200];
        std::snprintf(text, sizeof text, "  op=%u space=%u bytes=%u lanes=%08x %llx %llx\n", op,
                      space, bytes, lanes, static_cast<unsigned long long>(addresses),
                      static_cast<unsigned long long>(words));
        print(text);
    }
    static void mix(uint64_t& sum, uint64_t v) { sum = (sum ^ v) * 0x100000001b3u; }

    void before(sassemu_warp w, sassemu_insn i, uint32_t lanes) {
        const sassemu_warp_info v = info(w);
        instruction(info(v.cta).linear, v.index, lanes, v.active, v.clock, i);
    }
    void access(const sassemu_access& a) {
        if (mode != "calls") return;
        const uint64_t* const at = host.addresses(&a);
        uint64_t addresses = 0, words = 0;
        for (uint32_t rest = a.lanes; rest; rest &= rest - 1)
            mix(addresses, at[std::countr_zero(rest)]);
        for (const uint32_t* rows :
             {host.values(&a), a.op == SASSEMU_ATOMIC ? host.results(&a) : nullptr})
            for (uint32_t rest = a.lanes; rows && rest; rest &= rest - 1)
                for (uint32_t k = 0; k < (a.bytes + 3u) / 4; ++k)
                    mix(words, rows[k * 32 + static_cast<uint32_t>(std::countr_zero(rest))]);
        accessed(a.op, a.space, a.bytes, a.lanes, addresses, words);
    }
    void sync(const sassemu_sync& s) {
        if (mode != "counts") print("  sync kind=" + std::to_string(s.kind) + "\n");
    }

    void records(const sassemu_records& r) {
        const uint64_t cta = info(r.cta).linear;
        const sassemu_recorded_access* a = r.access;
        const auto accesses_of = [&](uint32_t record, uint32_t step) {
            for (; a != r.access + r.accesses && a->record == record && a->step == step; ++a) {
                uint64_t addresses = 0, words = 0;
                const auto lanes = static_cast<uint32_t>(std::popcount(a->lanes));
                for (uint32_t k = 0; k < lanes; ++k) mix(addresses, r.address[a->address + k]);
                for (uint32_t k = 0; k < lanes * (a->words + a->result_words); ++k)
                    mix(words, r.word[a->word + k]);
                accessed(a->op, a->space, a->bytes, a->lanes, addresses, words);
            }
        };
        if (mode == "records") accesses_of(SASSEMU_RECORD_BEFORE, 0);
        for (uint32_t k = 0; k < r.records; ++k) {
            const sassemu_record& one = r.record[k];
            for (uint32_t n = 0; n < one.count; ++n) {
                if (mode == "records") {
                    instruction(cta, one.warp, one.lanes, one.active, one.clock + n,
                                host.module_insn(r.module, uint64_t{one.insn + n} * 16));
                    accesses_of(k, n);
                    continue;
                }
                const std::lock_guard guard(mutex);
                sassemu_count& c = sums[one.insn + n];
                ++c.issued;
                c.skipped += one.lanes == 0;
                c.active += static_cast<unsigned>(std::popcount(one.active));
                c.lanes += static_cast<unsigned>(std::popcount(one.lanes));
            }
        }
        if (a != r.access + r.accesses) print("an access without its record\n");
    }
    void counts(sassemu_launch, const sassemu_counts& c) {
        if (mode != "counts") return;
        sassemu_count all{};
        size_t wrong = 0, some = 0;
        for (uint64_t k = 0; k < c.count; ++k) {
            const sassemu_count &x = c.at[k], &y = sums[c.insn + k];
            wrong += x.issued != y.issued || x.skipped != y.skipped || x.active != y.active ||
                     x.lanes != y.lanes;
            some += y.issued != 0;
            all.issued += x.issued;
            all.skipped += x.skipped;
            all.lanes += x.lanes;
        }
        for (const auto& [k, y] : sums) wrong += y.issued && (k < c.insn || k >= c.insn + c.count);
        print("instructions " + std::to_string(some) + " wrong " + std::to_string(wrong) +
              " issued " + std::to_string(all.issued) + " skipped " + std::to_string(all.skipped) +
              " lanes " + std::to_string(all.lanes) + "\n");
        sums.clear();
    }

    const std::string mode;
    sassemu_insn last = nullptr;
    std::mutex mutex;  // of sums
    std::map<uint64_t, sassemu_count> sums;
};

}  // namespace

SASSEMU_PLUGIN(Batches)
