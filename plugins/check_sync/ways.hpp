// SPDX-License-Identifier: Apache-2.0
// What comes of a branch that an undefined value decides: both ways are tried on a copy of the
// lane's registers, up to where they come together, and what they do not leave alike there is
// undefined. What belongs here: going the ways of one lane. Where they meet is in meetings.hpp,
// what instructions compute is the engine's (host.compute).
#pragma once

#include <functional>
#include <map>

#include "follow/follower.hpp"
#include "meetings.hpp"

namespace check_sync {

class Ways {
  public:
    // Whether a byte of a CTA's shared memory has been written.
    using Written = std::function<bool(sassemu_cta, uint32_t address)>;
    Ways(const sassemu::Plugin& plugin, Written written)
        : host_(plugin.host), session_(plugin.session), written_(std::move(written)) {}

    // Whether they can be followed from this instruction at all; known before the code around it
    // is there.
    static bool are_followed(const sassemu::Plugin& plugin, sassemu_insn insn);
    // What they leave different, for the place where they meet; there `by`, the row that decides,
    // is what it was. False: they do what somebody sees, or it cannot be told. The lane's registers
    // are as the instruction finds them.
    bool follow(const follow::Step& s, const follow::Code& code, uint32_t by, uint32_t lane,
                follow::Join& join);

    void forget() { meetings_ = {}; }

  private:
    struct Value {
        bool known = false;
        uint32_t bits = 0;
        bool operator==(const Value& o) const { return known && o.known && bits == o.bits; }
    };
    struct Way {
        uint32_t at = 0, depth = 0;        // of calls
        follow::RowSet here{}, written{};  // rows with a value of its own; written to
        follow::RowSet known{};            // of `here`
        std::array<uint32_t, follow::all_rows> bits;
        std::map<uint64_t, Value> stored;  // by byte: local << 32 | address
    };
    enum class Went : uint8_t { on, parted, back, lost };  // back: it has left the function

    Went step(Way& w, std::vector<Way>& open);
    Went compute(Way& w, const follow::Instruction& i, bool doubtful);
    Went control(Way& w, const follow::Instruction& i);
    void load(Way& w, const follow::Instruction& i, bool doubtful);
    bool store(Way& w, const follow::Instruction& i);
    // Whether it is executed; `open`: the row on which that depends, if it is not known.
    bool condition(const Way& w, const follow::Instruction& i, uint32_t& open) const;

    Value row(const Way& w, uint32_t row) const;
    Value first_row(uint32_t row) const;
    void put(Way& w, uint32_t row, Value v, bool doubtful) const;
    static void assume(Way& w, uint32_t row, uint32_t bits);
    Value byte(const Way& w, uint64_t at) const;
    Value first_byte(uint64_t at) const;
    Value address(const Way& w, const follow::Instruction& i) const;
    void compare(const std::vector<Way>& ways, follow::Join& join) const;

    const sassemu_host& host_;
    const sassemu_session session_;
    const Written written_;
    Meetings meetings_;
    // Of the lane at work.
    const follow::Step* step_ = nullptr;
    const follow::Code* code_ = nullptr;
    uint32_t lane_ = 0;
    sassemu_warp warp_ = nullptr, scratch_ = nullptr;
};

}  // namespace check_sync
