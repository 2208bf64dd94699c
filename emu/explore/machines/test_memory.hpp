// SPDX-License-Identifier: Apache-2.0
// The global memory of a test as machines reach it: its locations at addresses, all bytes in one
// row. Of a symmetric machine every PE has a copy of each location.
#pragma once

#include <algorithm>
#include <cstring>

#include "emu/explore/sass/program.hpp"
#include "sassemu/machine.h"

namespace sassemu::explore {

class TestMemory {
  public:
    struct Piece {
        uint64_t address, bytes, first;
    };

    TestMemory(const Test& test, bool symmetric) : test_(test) {
        pes_ = symmetric ? pes_of(test) : std::vector<int32_t>{0};
        if (8 * test.locations.size() * pes_.size() > most_bytes) {
            size_ = most_bytes + 1;
            return;
        }
        for (uint32_t l = 0; l < test.locations.size(); ++l)
            for (uint64_t copy = 0; copy < pes_.size(); ++copy) {
                const Location& location = test.locations[l];
                const bool shared = location.space == SASSEMU_SPACE_SHARED_CTA;
                if (!test.sass)  // each in lines of its own
                    add((shared ? of_shared(location.cta) : copy << 32) |
                            (l + 1) * uint64_t{0x1000},
                        std::max<uint64_t>(location.bytes, 8));
                else if (location.space == SASSEMU_SPACE_GLOBAL)
                    add(test.sass->address(test, l), test.sass->image(l).size());
                else
                    add(0, 0);
            }
    }
    bool fits() const { return size_ <= most_bytes; }

    // Of scoped machines; a CTA's shared memory begins there.
    static uint64_t of_shared(int32_t cta) {
        return SASSEMU_MACHINE_SHARED | static_cast<uint64_t>(cta + 1) << 24;
    }

    // What the location is at the start.
    std::vector<uint8_t> start() const {
        std::vector<uint8_t> row(size_);
        for (uint32_t l = 0; l < test_.locations.size(); ++l)
            for (const int32_t pe : pes_) {
                uint8_t* to = row.data() + of(l, pe).first;
                if (test_.sass) {
                    if (of(l, pe).bytes)
                        std::copy_n(test_.sass->image(l).data(), of(l, pe).bytes, to);
                    continue;
                }
                const uint32_t name = find_name(test_, test_.locations[l].name);
                const auto own = test_.initial_at.find({name, pe});
                const uint64_t v =
                    own == test_.initial_at.end() ? test_.names[name].initial : own->second;
                std::memcpy(to, &v, 8);
            }
        return row;
    }

    // The piece of a location, of the PE's copy where there are several; of those that are not
    // global it has no bytes.
    const Piece& of(uint32_t location, int32_t pe) const {
        const auto copy = pes_.size() == 1 ? 0 : std::ranges::find(pes_, pe) - pes_.begin();
        return pieces_[location * pes_.size() + static_cast<size_t>(copy)];
    }
    uint64_t size() const { return size_; }
    // Where the bytes are in the row; size(): not all of them are there.
    uint64_t find(uint64_t address, uint64_t bytes) const {
        for (const Piece& p : pieces_)
            if (address >= p.address && bytes <= p.bytes && address - p.address <= p.bytes - bytes)
                return p.first + (address - p.address);
        return size_;
    }

    int32_t home(uint64_t address) const {
        for (size_t i = 0; i < pieces_.size(); ++i)
            if (address - pieces_[i].address < pieces_[i].bytes)
                return test_.locations[i / pes_.size()].home;
        return SASSEMU_OF_NOBODY;
    }

    static constexpr uint64_t most_bytes = 16384;

  private:
    // Those that a thread, an operation or the condition names.
    static std::vector<int32_t> pes_of(const Test& test) {
        std::vector<int32_t> out;
        for (const Thread& t : test.threads) {
            out.push_back(t.gpu);
            for (const Statement& i : t.code)
                for_operands(i.what, Overloaded{[&](const Place& at) {
                                                    if (at.pe >= 0) out.push_back(at.pe);
                                                },
                                                [](const auto&) {}});
        }
        for (const Condition* c : leaves(*test.condition)) out.push_back(std::max(c->pe, 0));
        std::ranges::sort(out);
        out.erase(std::unique(out.begin(), out.end()), out.end());
        return out;
    }
    void add(uint64_t address, uint64_t bytes) {
        pieces_.push_back({address, bytes, size_});
        size_ += bytes;
    }

    const Test& test_;
    std::vector<int32_t> pes_;
    std::vector<Piece> pieces_;
    uint64_t size_ = 0;
};

}  // namespace sassemu::explore
