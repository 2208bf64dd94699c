// SPDX-License-Identifier: Apache-2.0
// wgmma in machine code on a machine. The threads of a warpgroup issue one each by itself; once all
// have, it is an agent that reads shared memory, and then, behind those issued before it, reads and
// writes registers of all of them. See sass_fetch.hpp.
#include <algorithm>

#include "emu/explore/machines/sass_fetch.hpp"
#include "emu/explore/machines/test_memory.hpp"

namespace sassemu::explore {

// The threads of the warpgroup, in order; fewer where it is not complete.
std::vector<uint32_t> SassFetch::warpgroup(uint32_t thread) const {
    const SassThread& self = test_.sass->thread(thread);
    std::vector<uint32_t> out;
    for (uint32_t t = 0; t < test_.threads.size(); ++t) {
        if (!test_.threads[t].sass || test_.threads[t].cta != test_.threads[thread].cta) continue;
        const SassThread& other = test_.sass->thread(t);
        if (other.launch == self.launch &&
            other.thread / threads_of_warpgroup == self.thread / threads_of_warpgroup)
            out.push_back(t);
    }
    std::ranges::sort(out, {}, [&](uint32_t t) { return test_.sass->thread(t).thread; });
    return out;
}

SassState::GroupKey SassFetch::group_key(uint32_t thread) const {
    return {test_.threads[thread].cta, test_.sass->thread(thread).thread / threads_of_warpgroup};
}

// Stands for the registers of a warpgroup among what steps touch.
uint64_t SassFetch::registers_of(uint32_t thread) const {
    const auto [cta, group] = group_key(thread);
    return SASSEMU_MACHINE_SHARED | uint64_t{1} << 60 | static_cast<uint64_t>(cta + 1) << 24 |
           group << 4;
}

bool SassFetch::multiplies(const SassState& s, uint32_t thread) const {
    return s.products.contains(group_key(thread));
}

// Products that the thread has issued, that are not done, and whose registers it touches.
bool SassFetch::touches_products(const SassState& s, uint32_t thread,
                                 const SassInstruction& i) const {
    const auto found = s.products.find(group_key(thread));
    if (i.warpgroup || found == s.products.end()) return false;
    const SassCode& code = test_.sass->code(test_.sass->thread(thread).launch);
    return std::ranges::any_of(found->second, [&](const Product& p) {
        return p.issued[test_.sass->thread(thread).thread % threads_of_warpgroup] &&
               touches(code, i, p.what);
    });
}

SassFetch::What SassFetch::product(Turn& at, const async::WarpgroupMultiply& m) {
    const std::vector<uint32_t> group = warpgroup(at.thread);
    SassState::OfThread& self = at.s.threads[at.thread];
    const uint32_t lane = test_.sass->thread(at.thread).thread % threads_of_warpgroup;
    std::vector<Product>& all = at.s.products[group_key(at.thread)];
    auto p = std::ranges::find_if(all, [&](const Product& x) { return !x.issued[lane]; });
    // Who has ended does not come any more, but may have issued it before.
    const auto gone = [&](uint32_t t) {
        return at.s.threads[t].ended &&
               (p == all.end() || !p->issued[test_.sass->thread(t).thread % threads_of_warpgroup]);
    };
    if (group.size() != threads_of_warpgroup || std::ranges::any_of(group, gone))
        return refuse_at(at, "faults: wgmma by a warpgroup that is not complete");
    const PreparedLaunch& launch = test_.sass->launch(test_.sass->thread(at.thread).launch);
    if (const char* why = async::check(m, launch.launch.shared_bytes))
        return refuse_at(at, std::string("faults: ") + why);
    if (p == all.end()) {
        Product fresh;
        fresh.pc = at.pc;
        fresh.number = at.s.threads[group[0]].issued++;
        fresh.what = m;
        p = all.insert(all.end(), fresh);
    }
    if (const char* why = p->differs(at.pc, m)) return refuse_at(at, why);
    p->issued.set(lane);
    if (m.form.sparse && !m.form.empty)
        p->metadata[lane] = static_cast<uint32_t>(word(at, m.metadata, 0));
    self.products.push_back({p->number, m.form.signals});
    touched_.starts.push_back({registers_of(at.thread), 1, true});
    const uint64_t shared = TestMemory::of_shared(test_.threads[at.thread].cta);
    for (const SharedRange& r : shared_operands(m))
        touched_.starts.push_back({shared | r.address, r.bytes, false});
    CopyAgent a;
    a.thread = group[0];
    a.number = p->number;
    if (scoped_) at.out.emplace_back(SASSEMU_OPERATION_ISSUE).what.other = a.id();
    if (p->complete()) {
        CopyWork work;
        work.registers = registers_of(at.thread);
        auto& moves = work.receivers.emplace_back().moves;
        for (const SharedRange& r : shared_operands(m))
            moves.push_back({shared | r.address, 0, r.bytes});
        if (p != all.begin()) work.after = {std::prev(p)->number};
        a.pc = at.pc;
        begin(at.s, std::move(a), std::move(work));
    }
    ++at.pc;
    return What::ran;
}

// WARPGROUP.DEPBAR: all but the last `left` of those that signal are done, and what came before
// these.
SassFetch::What SassFetch::product_wait(Turn& at, uint32_t left) {
    std::vector<SassState::Issued>& own = at.s.threads[at.thread].products;
    auto over = std::ranges::count(own, true, &SassState::Issued::signals) - int64_t{left};
    size_t count = 0;
    for (size_t k = 0; over > 0; ++k)
        if (own[k].signals) --over, count = k + 1;
    const uint32_t first = warpgroup(at.thread).front();
    const auto found = at.s.products.find(group_key(at.thread));
    for (size_t k = 0; k < count && found != at.s.products.end(); ++k)
        if (std::ranges::find(found->second, own[k].number, &Product::number) !=
            found->second.end()) {
            touched_.copies.emplace_back(first, own[k].number);
            return What::blocked;
        }
    for (size_t k = 0; k < count && scoped_; ++k)
        at.out.emplace_back(SASSEMU_OPERATION_OBSERVE).what.other =
            CopyAgent{first, own[k].number}.id();
    own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
    ++at.pc;
    return What::ran;
}

std::vector<std::byte> SassFetch::shared_as_read(const PreparedLaunch& launch, const CopyAgent& a) {
    std::vector<std::byte> shared(launch.launch.shared_bytes);
    const uint8_t* found = a.found.data();
    for (const CopyWork::Move& m : a.work->receivers.front().moves) {
        std::copy_n(reinterpret_cast<const std::byte*>(found), m.bytes,
                    shared.data() + (m.from & 0xffffff));
        found += m.bytes;
    }
    return shared;
}

void SassFetch::multiply(
    SassState& s, const CopyAgent& a,
    const std::function<std::vector<uint64_t>&(uint32_t thread)>& registers) const {
    const std::vector<uint32_t> group = warpgroup(a.thread);
    const SassThread& first = test_.sass->thread(a.thread);
    const SassCode& code = test_.sass->code(first.launch);
    const PreparedLaunch& launch = test_.sass->launch(first.launch);
    const auto at = s.products.find(group_key(a.thread));
    const std::vector<std::byte> shared = shared_as_read(launch, a);
    const auto cell = [&](uint32_t lane, uint32_t index) -> uint64_t& {
        return registers(group[lane])[static_cast<size_t>(code.number_of(index))];
    };
    sassemu::explore::multiply(
        launch, at->second.front(), shared.data(),
        [&](uint32_t lane, uint32_t index) { return static_cast<uint32_t>(cell(lane, index)); },
        [&](uint32_t lane, uint32_t index, uint32_t value) { cell(lane, index) = value; });
    at->second.erase(at->second.begin());
    if (at->second.empty()) s.products.erase(at);
}

}  // namespace sassemu::explore
