// SPDX-License-Identifier: Apache-2.0
// See recording.hpp.
#include "emu/plugin/recording.hpp"

#include <bit>

#include "emu/plugin/hooks.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu {

namespace {

// Blocks that stay in the host's near caches.
constexpr size_t most_records = 1024, most_addresses = 8192, most_words = 1 << 15;
constexpr size_t lanes_at_once = 32, words_at_once = 2 * 32 * 4;

}  // namespace

thread_local Recording* Recording::current_ = nullptr;

Recording::Recording(const std::vector<PluginSession*>& recorders) {
    for (const PluginSession* s : recorders) {
        Buffer& b = buffers_.emplace_back();
        b.session = s;
        b.records.reserve(most_records);
    }
}

Recording::Scope::Scope(const Launch& launch)
    : hooks_(launch.hooks && launch.hooks->records() ? launch.hooks : nullptr) {
    if (hooks_) current_ = hooks_->take_recording(launch);
}

Recording::Scope::~Scope() {
    if (!hooks_) return;
    current_->deliver();
    hooks_->give_recording(current_);
    current_ = nullptr;
}

void Recording::begin(const Launch& launch, const HookedImage& image, bool counts) {
    wanted_ = image.wanted.data();
    ops_ = image.image->ops();
    instructions_ = image.instructions.get();
    cta_ = nullptr;
    first_ = next_ = nullptr;
    if (!counts) return;
    // Those of a launch that is over are used again.
    counts_ = nullptr;
    for (const auto& c : all_counts_) {
        if (c->launch == &launch) {
            counts_ = c.get();
            return;
        }
        if (!c->launch && c->at.size() == image.wanted.size() + 1) counts_ = c.get();
    }
    if (!counts_) {
        counts_ = all_counts_.emplace_back(std::make_unique<Counts>()).get();
        counts_->at.resize(image.wanted.size() + 1);
    }
    counts_->launch = &launch;
}

void Recording::begin(const Op* op, uint32_t lanes, uint32_t active) {
    close();
    first_ = next_ = op;
    lanes_ = lanes;
    active_ = active;
    run_wanted_ = wanted_[op - ops_];
    run_clock_ = clock_ + warp_->issued + warp_->guard_false;
}

bool Recording::was_executed(uint32_t& lanes, uint32_t& active) {
    Path& p = warp_->path();
    if (p.meeting == Meeting::collective || p.meeting == Meeting::collective_all) return false;
    p.end = nullptr;
    warp_->thread_instructions += static_cast<unsigned>(std::popcount(lanes & p.want));
    lanes &= ~p.want;
    active &= ~p.want;
    return !active;
}

void Recording::tally(const Op* first, const Op* end, uint32_t lanes, uint32_t active,
                      uint64_t times) {
    const auto from = static_cast<uint64_t>(first - ops_), to = static_cast<uint64_t>(end - ops_);
    const auto add = [&](sassemu_count& c, uint64_t n) {
        c.issued += n;
        c.active += n * static_cast<unsigned>(std::popcount(active));
        c.lanes += n * static_cast<unsigned>(std::popcount(lanes));
        c.skipped += lanes ? 0 : n;
    };
    add(counts_->at[from], times);
    add(counts_->at[to], 0 - times);
    counts_->low = std::min(counts_->low, from);
    counts_->high = std::max(counts_->high, to);
}

void Recording::close() {
    if (first_ == next_) return;
    const auto count = static_cast<uint32_t>(next_ - first_);
    warp_->thread_instructions += uint64_t{count} * static_cast<unsigned>(std::popcount(lanes_));
    if (run_wanted_ & Wanted::counts) tally(first_, next_, lanes_, active_, 1);
    for (uint32_t slot = 0; slot < buffers_.size(); ++slot) {
        if (!(run_wanted_ & (lanes_ ? Wanted::record(slot) : Wanted::skipped(slot)))) continue;
        Buffer& b = buffers_[slot];
        b.records.push_back({run_clock_, static_cast<uint32_t>(first_ - ops_), count, lanes_,
                             active_, warp_->index, 0});
    }
    run_clock_ += count;
    first_ = next_;  // it may go on
    for (Buffer& b : buffers_)
        if (b.records.size() >= most_records) deliver(b);
}

bool Recording::take_back(const Op* op) {
    if (first_ != next_) {
        --next_;
        return true;
    }
    if (run_wanted_ & Wanted::counts) tally(op, op + 1, lanes_, active_, ~uint64_t{0});
    return false;
}

sassemu_recorded_access& Recording::add(Buffer& b, uint32_t lanes, const uint64_t* addresses) {
    sassemu_recorded_access& a = b.accesses.emplace_back();
    a = {};
    if (first_ != next_) {
        a.record = static_cast<uint32_t>(b.records.size());
        a.step = static_cast<uint32_t>(next_ - first_ - 1);
    } else if (b.records.empty()) {
        a.record = SASSEMU_RECORD_BEFORE;
    } else {
        a.record = static_cast<uint32_t>(b.records.size() - 1);
        a.step = b.records.back().count - 1;
    }
    a.lanes = lanes;
    const size_t at = b.addresses.size();
    a.address = static_cast<uint32_t>(at);
    a.word = static_cast<uint32_t>(b.words.size());
    if (b.addresses.capacity() < at + lanes_at_once)
        b.addresses.reserve(most_addresses + lanes_at_once);
    if (lanes == ~0u) {
        b.addresses.insert(b.addresses.end(), addresses, addresses + lanes_at_once);
    } else {
        for (uint32_t rest = lanes; rest; rest &= rest - 1)
            b.addresses.push_back(addresses[std::countr_zero(rest)]);
    }
    return a;
}

void Recording::deliver_if_full(Buffer& b) {
    if (b.addresses.size() >= most_addresses || b.words.size() >= most_words) {
        close();
        deliver(b);
    }
}

void Recording::access(const HookedInstruction& i, uint32_t lanes, const uint64_t* addresses) {
    for (uint32_t slots = i.wanted_accesses; slots; slots &= slots - 1) {
        Buffer& b = buffers_[static_cast<size_t>(std::countr_zero(slots))];
        sassemu_recorded_access& a = add(b, lanes, addresses);
        a.flags = i.access.flags;
        a.op = i.access.op;
        a.space = i.access.space;
        a.bytes = i.access.bytes;
        a.atomic = i.access.atomic;
        deliver_if_full(b);
    }
}

void Recording::access(AccessCall& call) {
    if (!next_) return;
    const HookedInstruction& i = instructions_[next_ - 1 - ops_];
    for (uint32_t slots = i.wanted_accesses; slots; slots &= slots - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(slots));
        Buffer& b = buffers_[slot];
        sassemu_recorded_access& a = add(b, call.shown.lanes, call.address);
        a.flags = call.shown.flags;
        a.op = call.shown.op;
        a.space = call.shown.space;
        a.bytes = call.shown.bytes;
        a.atomic = call.shown.atomic;
        if (i.wanted_values >> slot & 1 && !(a.flags & SASSEMU_ACCESS_MATRIX)) {
            if (b.words.capacity() < b.words.size() + words_at_once)
                b.words.reserve(most_words + words_at_once);
            const auto words = static_cast<uint8_t>((a.bytes + 3) / 4);
            const auto take = [&](const uint32_t* rows) -> uint8_t {
                if (!rows) return 0;
                for (uint32_t rest = a.lanes; rest; rest &= rest - 1)
                    for (uint32_t k = 0; k < words; ++k)
                        b.words.push_back(
                            rows[k * 32 + static_cast<uint32_t>(std::countr_zero(rest))]);
                return words;
            };
            if (!call.rows) prepare(call);
            a.words = take(call.values);
            if (a.op == SASSEMU_ATOMIC) a.result_words = take(call.results);
        }
        deliver_if_full(b);
    }
}

void Recording::deliver(Buffer& b) {
    if (b.records.empty() && b.accesses.empty()) return;
    sassemu_records r{};
    r.size = sizeof r;
    r.records = static_cast<uint32_t>(b.records.size());
    r.accesses = static_cast<uint32_t>(b.accesses.size());
    r.cta = handle(cta_);
    r.module = module_handle(instructions_);
    r.record = b.records.data();
    r.access = b.accesses.data();
    r.address = b.addresses.data();
    r.word = b.words.data();
    b.session->call("records", nullptr, b.session->table().observer->records, &r);
    b.records.clear();
    b.accesses.clear();
    b.addresses.clear();
    b.words.clear();
}

void Recording::deliver() {
    close();
    for (Buffer& b : buffers_) deliver(b);
}

void Recording::deliver(const PluginSession& s) {
    close();
    deliver(buffers_[s.slot]);
}

void Recording::add_counts(const Launch& launch, std::vector<sassemu_count>& total) {
    for (const auto& c : all_counts_) {
        if (c->launch != &launch) continue;
        for (uint64_t k = c->low; k <= c->high && c->low <= c->high; ++k) {
            sassemu_count &from = c->at[k], &to = total[k];
            to.issued += from.issued;
            to.skipped += from.skipped;
            to.active += from.active;
            to.lanes += from.lanes;
            from = {};
        }
        c->low = ~uint64_t{0};
        c->high = 0;
        c->launch = nullptr;
    }
}

}  // namespace sassemu
