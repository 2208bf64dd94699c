// SPDX-License-Identifier: Apache-2.0
// What a hooked operation has beside its Op: the handlers that it had, what plugins want of it, and
// the description that they are shown. One per instruction of a code image that plugins look at; a
// plugin sees its address as a sassemu_insn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "emu/machine/op.hpp"
#include "emu/program/intent.hpp"
#include "sassdec/sassdec.h"
#include "sassemu/host.h"

namespace sassemu {

class CodeImage;
class Hooks;

// Text that is made once somebody asks for it.
struct InstructionText {
    std::string opcode, text, function, place, ptx;
    uint32_t ptx_line = 0;
    struct Source {
        std::string file, function;
        uint32_t line = 0, column = 0;
    };
    std::vector<Source> sources;  // innermost first
    Intent intent;
    bool has_intent = false;
};

enum class Hooked : uint8_t {
    plain,         // only shown before or after
    access,        // one access of warp: op.hpp of machine/ says where its parts are
    wide,          // LDG, STG of 256 bits: accesses of up to 16 bytes (WidePayload)
    copy,          // LDGSTS: a load from global and a store to shared memory
    uniform_load,  // ULDC, LDCU: one access for the warp, its result in uniform registers
    fence,         // MEMBAR, FENCE
    cache,         // CCTL and its like
    mbarrier_init,
    mbarrier_test,
    mbarrier_invalidate,
    group_commit,
    group_wait,
    grid_launch,
    grid_wait,
};

struct alignas(64) HookedInstruction {
    // What every access looks at comes first.
    Handler plain[2] = {};
    int32_t (*issue)(void* self, const sassemu_access*) = nullptr;  // of the model
    Hooks* hooks = nullptr;
    sassemu_access access{};  // access, copy: all that does not change
    CodeImage* image = nullptr;
    uint32_t index = 0;  // of the Op
    Hooked kind = Hooked::plain;
    bool overridden = false;        // by the plugins with semantics that want it
    bool scoreboard = false;        // waits, and somebody wants to know
    bool orders = false;            // a scoped machine is shown what it orders
    uint8_t wait = 0;               // scoreboards
    uint8_t before = 0, after = 0;  // somebody is shown it
    uint64_t wanted_before = 0, wanted_after = 0, wanted_override = 0;  // bit per session
    uint32_t wanted_accesses = 0, wanted_values = 0;                    // in records; bit per slot
    uint32_t predicate = 7;  // LDG, LDGSTS: lanes without it do not access; bit 8: negated
    sassemu_fence fence{};
    sassemu_cache_op cache{};
    uint8_t address_row = 255,
            address_ureg = 255;  // cache, uniform_load: base registers; 255: none
    uint8_t bank = 0;            // LDC, uniform_load
    uint8_t elements = 1;        // of an atomic: each is an access of its own
    uint8_t destination = 255;   // uniform_load
    bool wide_address = false;
    int32_t address_offset = 0;
    uint32_t group_left = 0;  // group_wait: groups that may be left
    uint8_t group = 0;        // sassemu_group_kind
    bool group_read = false;
    std::atomic<InstructionText*> text{nullptr};

    ~HookedInstruction() { delete text.load(); }
};

// The operation's own handler.
inline const Op* plain(const HookedInstruction& i, const Op* op, Warp& w, uint32_t mask) {
    return i.plain[mask == ~0u](op, w, mask);
}

inline sassemu_insn handle(const HookedInstruction* i) { return reinterpret_cast<sassemu_insn>(i); }
inline const HookedInstruction& instruction(sassemu_insn i) {
    return *reinterpret_cast<const HookedInstruction*>(i);
}

const InstructionText& text_of(const HookedInstruction&);
bool decode(const HookedInstruction&, sassdec_insn& out);

// Copies what both sides know of a struct that the plugin brought.
template <class T>
void give(T* to, T from) {
    from.size = to->size;
    std::memcpy(to, &from, std::min<size_t>(to->size, sizeof from));
}

// Where the host table's functions on modules and instructions are filled in.
void add_instruction_functions(sassemu_host& table);
void add_scratch_functions(sassemu_host& table);  // scratch.cpp

}  // namespace sassemu
