// SPDX-License-Identifier: Apache-2.0
// The first difference between two traces: warp by warp, in the order of launches and CTAs.
#include <algorithm>
#include <bit>
#include <deque>
#include <sassemu/trace.hpp>
#include <set>

#include "show.hpp"

namespace sassemu::trace {

namespace {

// The records of one CTA of one trace, given out warp by warp. Holds what one warp is ahead of
// another.
class Stream {
  public:
    Stream(const Reader& reader, const std::vector<size_t>* blocks)
        : reader_(reader), blocks_(blocks) {}
    bool more() {
        if (!blocks_ || next_ == blocks_->size()) return false;
        for (Record& r : reader_.read((*blocks_)[next_++]).records)
            waiting_[r.warp].push_back(std::move(r));
        return true;
    }
    std::map<uint32_t, std::deque<Record>>& waiting() { return waiting_; }

  private:
    const Reader& reader_;
    const std::vector<size_t>* blocks_;
    size_t next_ = 0;
    std::map<uint32_t, std::deque<Record>> waiting_;
};

std::string differing_register(const Instruction& i, bool written, const Record& a,
                               const Record& b) {
    const std::vector<uint32_t>& x = written ? a.after : a.before;
    const std::vector<uint32_t>& y = written ? b.after : b.before;
    size_t at = 0;
    for (const RegisterName& name : register_names(i, written, a.lanes)) {
        uint32_t lanes = a.lanes;
        for (uint32_t k = 0; k < name.words; ++k, ++at) {
            const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
            lanes &= lanes - 1;
            if (at < x.size() && at < y.size() && x[at] == y[at]) continue;
            if (at >= x.size() || at >= y.size()) return "";
            return name.name + (name.words > 1 ? " of lane " + std::to_string(lane) : "") +
                   (written ? " after" : " before") + " it is " + hex(x[at]) + " and " + hex(y[at]);
        }
    }
    return "";
}

std::string differing_access(const CompareOptions& o, const Record& a, const Record& b) {
    if (a.accesses.size() != b.accesses.size())
        return "it accesses memory " + std::to_string(a.accesses.size()) + " and " +
               std::to_string(b.accesses.size()) + " times";
    for (size_t k = 0; k < a.accesses.size(); ++k) {
        const MemoryAccess &x = a.accesses[k], &y = b.accesses[k];
        if (x.lanes != y.lanes)
            return "it accesses memory in lanes " + hex(x.lanes) + " and " + hex(y.lanes);
        for (uint32_t rest = x.lanes; rest && o.addresses; rest &= rest - 1) {
            const auto lane = static_cast<size_t>(std::countr_zero(rest));
            if (x.addresses[lane] != y.addresses[lane])
                return "the address of lane " + std::to_string(lane) + " is " +
                       hex(x.addresses[lane]) + " and " + hex(y.addresses[lane]);
        }
        if (!o.values || x.values.empty() || y.values.empty()) continue;
        const auto lanes = static_cast<size_t>(std::popcount(x.lanes));
        for (const auto& [p, q] : {std::pair(&x.values, &y.values), {&x.results, &y.results}})
            for (size_t w = 0; w < std::min(p->size(), q->size()); ++w)
                if ((*p)[w] != (*q)[w]) {
                    uint32_t rest = x.lanes;
                    for (size_t skip = w / (p->size() / lanes); skip; --skip) rest &= rest - 1;
                    return "the value in memory of lane " + std::to_string(std::countr_zero(rest)) +
                           " is " + hex((*p)[w]) + " and " + hex((*q)[w]);
                }
    }
    return "";
}

// "" where the records say the same.
std::string difference(const CompareOptions& o, const Record& a, const Record& b, bool registers) {
    if (o.pc && a.instruction->pc() != b.instruction->pc())
        return "goes on at pc " + hex(a.instruction->pc()) + " (" + a.instruction->text() +
               ") and at pc " + hex(b.instruction->pc()) + " (" + b.instruction->text() + ")";
    if (o.pc ? a.instruction->text() != b.instruction->text()
             : a.instruction->opcode() != b.instruction->opcode())
        return "executes " + a.instruction->text() + " and " + b.instruction->text();
    if (o.masks && a.active != b.active)
        return "has the active lanes " + hex(a.active) + " and " + hex(b.active);
    if (o.masks && a.lanes != b.lanes)
        return "executes it in lanes " + hex(a.lanes) + " and " + hex(b.lanes);
    std::string text;
    registers = registers && o.registers && a.lanes == b.lanes &&
                a.instruction->text() == b.instruction->text();
    if (registers) text = differing_register(*a.instruction, false, a, b);
    if (text.empty()) text = differing_access(o, a, b);
    if (text.empty() && registers && a.has_after && b.has_after)
        text = differing_register(*a.instruction, true, a, b);
    return text;
}

}  // namespace

std::string first_difference(const Reader& a, const Reader& b, const CompareOptions& options) {
    const size_t launches = std::min(a.launches().size(), b.launches().size());
    for (size_t k = 0; k < launches; ++k)
        if (a.launches()[k].kernel() != b.launches()[k].kernel())
            return "launch " + std::to_string(k + 1) + " is of " + a.launches()[k].kernel() +
                   " and of " + b.launches()[k].kernel();
    if (a.launches().size() != b.launches().size())
        return std::to_string(a.launches().size()) + " and " + std::to_string(b.launches().size()) +
               " launches";
    const bool registers = a.header().registers() && b.header().registers();
    const auto blocks_a = by_cta(a), blocks_b = by_cta(b);
    std::set<std::pair<uint64_t, uint64_t>> keys;
    for (const auto* blocks : {&blocks_a, &blocks_b})
        for (const auto& [key, list] : *blocks) keys.insert(key);
    for (const auto& key : keys) {
        const auto find = [&](const auto& blocks) {
            const auto at = blocks.find(key);
            return at == blocks.end() ? nullptr : &at->second;
        };
        Stream one(a, find(blocks_a)), two(b, find(blocks_b));
        const auto where = [&](uint32_t warp) {
            return place_text(a, key.first, key.second) + ", warp " + std::to_string(warp);
        };
        for (bool going = true; going;) {
            going = one.more() | two.more();
            const Record *first = nullptr, *other = nullptr;
            std::string what;
            // Of what differs the earliest of the CTA.
            for (auto& [warp, x] : one.waiting()) {
                auto& y = two.waiting()[warp];
                for (; !x.empty() && !y.empty(); x.pop_front(), y.pop_front()) {
                    if (first && x.front().clock >= first->clock) break;
                    std::string text = difference(options, x.front(), y.front(), registers);
                    if (text.empty()) continue;
                    what = std::move(text);
                    first = &x.front();
                    other = &y.front();
                    break;
                }
            }
            if (first)
                return where(first->warp) + ", its instruction " + std::to_string(first->number) +
                       ", pc " + hex(first->instruction->pc()) + " (" + first->instruction->text() +
                       "): " + what +
                       (other->instruction->pc() == first->instruction->pc()
                            ? ""
                            : " (by pc " + hex(other->instruction->pc()) + ")");
        }
        for (const bool second : {false, true})
            for (const auto& [warp, left] : (second ? two : one).waiting())
                if (!left.empty())
                    return where(warp) + ", its instruction " +
                           std::to_string(left.front().number) + ", pc " +
                           hex(left.front().instruction->pc()) + " (" +
                           left.front().instruction->text() + "): is in the " +
                           (second ? "second" : "first") + " trace only";
    }
    return "";
}

}  // namespace sassemu::trace
