// SPDX-License-Identifier: Apache-2.0
// A machine for tests of single instructions: raw words are decoded and lowered at a given host
// level and run on one warp whose registers, predicates and memory the test sets. What belongs
// here: the machine. What does not: any instruction.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/machine/local_memory.hpp"
#include "emu/machine/services.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/perform.hpp"
#include "emu/memory/textures.hpp"
#include "emu/schedule/level_choice.hpp"
#include "sassdec/sassdec.h"

namespace sassemu::test {

struct Word {
    uint64_t lo = 0, hi = 0;
    Word() = default;
    Word(uint64_t high, uint64_t low) : lo(low), hi(high) {}
    // 32 hex digits, bits 127..0.
    explicit Word(const char* hex) {
        const std::string text = hex;
        hi = std::strtoull(text.substr(0, 16).c_str(), nullptr, 16);
        lo = std::strtoull(text.substr(16).c_str(), nullptr, 16);
    }
    // Bits high..low := value; low and high in the same half.
    Word& set(unsigned high, unsigned low, uint64_t value) {
        uint64_t& half = low < 64 ? lo : hi;
        const unsigned n = high - low + 1, at = low % 64;
        const uint64_t mask = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << at;
        half = (half & ~mask) | (value << at & mask);
        return *this;
    }
};

// The levels that this CPU can run.
inline std::vector<const LevelTable*> levels() {
    std::vector<const LevelTable*> out;
    for (HostLevel level : {HostLevel::v2, HostLevel::v3, HostLevel::v4})
        if (auto table = choose_level(level)) out.push_back(*table);
    return out;
}

enum class Outcome { ok, fault, unsupported, undecodable };

class Machine {
  public:
    static constexpr uint32_t registers = 255;
    static constexpr uint32_t rows = first_register_row + registers + 1;

    explicit Machine(const LevelTable* level, uint32_t shared_bytes = 49152,
                     uint32_t local_bytes = 4096)
        : level_(level),
          shared_(shared_bytes + 64),
          local_(sizeof(LocalWritten) + local_bytes * 32 + 64) {
        rows_ = static_cast<std::byte*>(std::aligned_alloc(128, rows * row_bytes));
        std::memset(rows_, 0, rows * row_bytes);
        for (auto& bank : banks_) bank.resize(65536 + 64);
        services_.fault = [](Warp& w, const Op*, uint32_t lanes, FaultKind kind, const char* what,
                             bool, uint64_t address) -> const Op* {
            self(w).fault_ = {kind, lanes, address, what};
            return nullptr;
        };
        services_.unsupported = [](Warp& w, const Op*, uint32_t) -> const Op* {
            self(w).unsupported_ = true;
            return nullptr;
        };
        services_.access = [](Warp& w, const Op* op, const Access& a) -> const Op* {
            return self(w).access(op, a);
        };
        services_.fence = [](Warp& w, const Op* op, const Fence& f) -> const Op* {
            self(w).fences.push_back(f);
            return op + 1;
        };
        services_.watch = [](Warp& w, const std::byte* at, uint32_t bytes) {
            self(w).watched.push_back({at, bytes});
        };
        launch_.services = &services_;
        launch_.space = &space;
        launch_.textures = &textures;
        launch_.local_bytes = local_bytes;
        launch_.shared_bytes = shared_bytes;
        launch_.rows = rows;
        launch_.registers = registers;
        cta_.machine = this;
        cta_.launch = &launch_;
        cta_.cluster = &cluster_;
        cluster_.cta[0] = &cta_;
        cta_.warp_count = 1;
        cta_.threads = cta_.live_threads = 32;
        cta_.shared_bytes = shared_bytes;
        cta_.shared = aligned(shared_);
        cta_.warps = &w;
        w.cta = &cta_;
        w.rows = rows_;
        w.local = aligned(local_) + sizeof(LocalWritten);
        local_written(w) = {0, LocalWritten::shift_for(local_bytes)};
        w.live = w.active = w.exists = w.started = ~0u;
        w.p[7] = w.p[15] = ~0u;
        w.paths_used = 1;
        w.paths[0].lanes = ~0u;
        w.base[static_cast<int>(Base::rows)] = rows_;
        w.base[static_cast<int>(Base::uniform)] = reinterpret_cast<const std::byte*>(w.uniform);
        w.base[static_cast<int>(Base::immediate)] = pool_.base();
        for (int bank = 0; bank < 4; ++bank) {
            const int at = static_cast<int>(Base::bank0) + bank;
            w.base[at] = launch_.base[at] = aligned(banks_[bank]);
            launch_.bank_bytes[at] = 65536;
        }
        launch_.base[static_cast<int>(Base::immediate)] = pool_.base();
        w.quantum_end = ~uint64_t{0};
    }
    Machine(const Machine&) = delete;
    ~Machine() { std::free(rows_); }

    uint32_t& r(unsigned index, unsigned lane) {
        return reinterpret_cast<uint32_t*>(rows_ + register_row(index))[lane];
    }
    void set64(unsigned index, unsigned lane, uint64_t value) {
        r(index, lane) = static_cast<uint32_t>(value);
        r(index + 1, lane) = static_cast<uint32_t>(value >> 32);
    }
    uint64_t r64(unsigned index, unsigned lane) {
        return r(index, lane) | uint64_t{r(index + 1, lane)} << 32;
    }
    uint32_t& ur(unsigned index) { return w.uniform[index]; }
    uint32_t& p(unsigned index) { return w.p[index]; }
    uint32_t& up(unsigned index) { return w.p[8 + index]; }
    std::byte* shared() { return cta_.shared; }
    std::byte* local() { return w.local; }
    // Banks 0, 2, 3 and 4 as 0..3.
    std::byte* bank(unsigned index) { return aligned(banks_[index]); }
    Cta& cta() { return cta_; }
    Launch& launch() { return launch_; }
    // Device memory of `bytes` bytes and its host address.
    std::byte* allocate(uint64_t bytes, uint64_t& address, uint32_t flags = 0) {
        AddressSpace::Options options;
        options.flags = flags;
        options.name = "test";
        auto at = space.allocate(bytes, options);
        address = at ? *at : 0;
        const Extent& e = space.find(address);
        return e.host;
    }

    // Runs one instruction for `active` lanes (the guard applies on top).
    Outcome step(const char* arch, const Word& word, uint32_t active = ~0u,
                 Lowering lowering = Lowering::plain) {
        Op ops[2];
        const Outcome outcome = prepare(arch, word, ops, lowering);
        return outcome == Outcome::ok ? run(ops, active) : outcome;
    }
    // The two halves of step(): ops[0] does the instruction, ops[1] ends the run.
    Outcome prepare(const char* arch, const Word& word, Op (&ops)[2],
                    Lowering lowering = Lowering::plain) {
        rejection.clear();
        const uint64_t bits[2] = {word.lo, word.hi};
        sassdec_insn insn;
        if (sassdec_decode(sassdec_arch_from_name(arch), bits, 0, &insn) != SASSDEC_OK)
            return Outcome::undecodable;
        char text[512];
        sassdec_format(&insn, nullptr, text, sizeof text);
        sass = text;
        LowerRequest request;
        request.instruction = &insn;
        request.section_end = 16;
        request.sm = static_cast<uint32_t>(std::atoi(arch + 3));
        request.max_registers = registers;
        request.lowering = lowering;
        request.pool = &pool_;
        request.op = &ops[0];
        request.rejection = &rejection;
        level_->lower(request);
        ops[1] = Op{};
        ops[1].guard = 7;
        ops[1].fn[0] =
            ops[1].fn[1] = [](const Op*, Warp&, uint32_t) -> const Op* { return nullptr; };
        launch_.arch = request.sm;
        return Outcome::ok;
    }
    Outcome run(const Op (&ops)[2], uint32_t active = ~0u) {
        fault_.reset();
        unsupported_ = false;
        w.active = active;
        level_->run(w, ops);
        w.active = ~0u;
        if (unsupported_) return Outcome::unsupported;
        return fault_ ? Outcome::fault : Outcome::ok;
    }

    struct Fault {
        FaultKind kind;
        uint32_t lanes;
        uint64_t address;
        std::string what;
    };
    const std::optional<Fault>& fault() const { return fault_; }

    Warp w;
    AddressSpace space;
    TextureTable textures;
    std::string sass;       // text of the last instruction
    std::string rejection;  // why it cannot run
    std::vector<Access> accesses;
    std::vector<Fence> fences;
    std::vector<std::pair<const std::byte*, uint32_t>> watched;

  private:
    // For what no test of a single instruction needs.
    struct Unasked {
        template <class R, class... A>
        using Function = R (*)(A...);
        template <class R, class... A>
        constexpr operator Function<R, A...>() const {
            return [](A...) -> R { std::abort(); };
        }
    };
    static Machine& self(Warp& warp) { return *static_cast<OwnCta&>(*warp.cta).machine; }
    static std::byte* aligned(std::vector<std::byte>& v) {
        return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(v.data()) + 63) / 64 * 64);
    }
    const Op* access(const Op* op, const Access& a) {
        accesses.push_back(a);
        const bool write = a.op != AccessOp::load;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (!(a.lanes >> lane & 1)) continue;
            const Landing at = land(w, a.space, a.address[lane], lane, a.bytes, write);
            if (at.host) continue;
            fault_ = {at.fault, 1u << lane, a.address[lane], at.what};
            return nullptr;
        }
        perform(w, a, a.lanes);
        return op + 1;
    }

    const LevelTable* level_;
    Services services_ = services_of(Unasked{});
    Launch launch_;
    struct OwnCta : Cta {
        Machine* machine = nullptr;
    } cta_;
    ImmediatePool pool_;
    Cluster cluster_;
    std::byte* rows_ = nullptr;
    std::vector<std::byte> shared_, local_;
    std::vector<std::byte> banks_[4];
    std::optional<Fault> fault_;
    bool unsupported_ = false;
};

}  // namespace sassemu::test
