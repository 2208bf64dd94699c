// SPDX-License-Identifier: Apache-2.0
// A machine that is within the rules of machine.h and hard to drive. kind=turns: an operation of a
// thread can only be performed in every other turn, its neighbour's in those between, and there is
// always a turn to take. kind=keeps: something is on its way for ever.
#include <sassemu/plugin.hpp>

#include <atomic>
#include <bit>

namespace {

class Odd : public sassemu::Plugin {
  public:
    static constexpr auto name = "odd", summary = "a machine that is hard to drive";
    static constexpr sassemu_option options[] = {{"kind", "turns|keeps", "what is hard about it"}};
    static constexpr uint32_t spaces = SASSEMU_SPACE_BIT(SASSEMU_GLOBAL);
    static constexpr uint32_t threading = SASSEMU_SERIAL;

    struct State {
        uint64_t turn = 0;
    };

    explicit Odd(const sassemu::Start& start)
        : Plugin(start), keeps_(start.value("kind") == "keeps") {}

    State start(std::span<const sassemu_place>) const { return {}; }
    uint32_t ways(const State& s, sassemu::MemoryBytes, const sassemu_operation& o) const {
        return keeps_ || s.turn % 2 == o.from.thread % 2;
    }
    void perform(State&, sassemu::MemoryBytes memory, const sassemu_operation& o, uint32_t,
                 uint8_t* value) const {
        ++performed_[o.kind];
        if (o.kind == SASSEMU_OPERATION_LOAD) memory.read(o.address, value, o.bytes);
        if (o.kind == SASSEMU_OPERATION_STORE) memory.write(o.address, value, o.bytes);
    }
    std::vector<uint64_t> steps(const State&) const { return {0}; }
    void take(State& s, sassemu::MemoryBytes, uint32_t) const { ++s.turn; }
    uint64_t held(const State&) const { return keeps_; }
    std::string key(const State& s) const { return s.turn % 2 ? "1" : "0"; }

    void access(const sassemu_access& a) {
        if (a.space != SASSEMU_GLOBAL) return;
        asked_[a.op == SASSEMU_LOAD    ? SASSEMU_OPERATION_LOAD
               : a.op == SASSEMU_STORE ? SASSEMU_OPERATION_STORE
                                       : SASSEMU_OPERATION_ATOMIC] +=
            static_cast<uint64_t>(std::popcount(a.lanes));
    }
    void fence(const sassemu_fence& f) {
        asked_[SASSEMU_OPERATION_FENCE] += static_cast<uint64_t>(std::popcount(f.lanes));
    }
    void finish() {
        for (const auto& [kind, word] : {std::pair{SASSEMU_OPERATION_LOAD, "loads"},
                                         {SASSEMU_OPERATION_ATOMIC, "atomics"},
                                         {SASSEMU_OPERATION_FENCE, "fences"}})
            if (asked_[kind])
                print(std::string(word) +
                      (performed_[kind] == asked_[kind]
                           ? ": each once\n"
                           : ": " + std::to_string(performed_[kind]) + " performed of " +
                                 std::to_string(asked_[kind]) + "\n"));
    }

  private:
    const bool keeps_;
    mutable std::atomic<uint64_t> performed_[8] = {}, asked_[8] = {};
};

}  // namespace

SASSEMU_PLUGIN(Odd)
