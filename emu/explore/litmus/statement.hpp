// SPDX-License-Identifier: Apache-2.0
// What one line of a thread is: a kind for each form of docs/litmus.md, sections 2, 6 and 7, with
// the fields that it has. What does not belong here: what it does.
#pragma once

#include <sassemu/consistency.h>
#include <sassemu/machine.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "emu/machine/port.hpp"

namespace sassemu::explore {

struct Register {
    uint32_t number = 0;  // an index of Thread::registers
};
struct AddressOf {
    uint32_t name = 0;  // "&x": an index of Test::names
};
// Where an operation takes a value from.
using Argument = std::variant<uint64_t, Register, AddressOf>;

// Bytes of memory that lie together in what a name stands for.
struct Place {
    uint32_t name = 0;  // an index of Test::names
    uint64_t offset = 0;
    uint64_t bytes = 0;  // 0: all from there on
    int32_t pe = -1;     // x@1
};

enum class Arithmetic : uint8_t { add, sub, mul, and_, or_, xor_, equal, not_equal };
enum class Reduction : uint8_t { none, count, all, any };
// Asynchronous operations that are committed and waited for in groups.
enum class GroupKind : uint8_t { copies, bulks, wgmmas };

// operands(): what is written (Register), values (Argument) and memory (Place), in the order of the
// text.
namespace op {

struct Move {
    Register to;
    Argument from;
    auto operands() const { return std::tie(to, from); }
};
struct Compute {
    Arithmetic how;
    Register to;
    Argument b, c;
    auto operands() const { return std::tie(to, b, c); }
};
struct Branch {
    std::optional<bool> if_equal;  // else always
    Argument b, c;
    std::string label;
    uint32_t target = 0;  // an instruction
    auto operands() const { return std::tie(b, c); }
};

// Accesses.
struct Access {
    Place at;
    uint32_t order = SASSEMU_ORDER_WEAK, scope = SASSEMU_SCOPE_NONE;
    uint32_t proxy = SASSEMU_PROXY_GENERIC;
};
struct Load : Access {
    Register to;
    auto operands() const { return std::tie(to, at); }
};
struct Store : Access {
    Argument value;
    auto operands() const { return std::tie(at, value); }
};
struct Modification {
    AtomicOp how = AtomicOp::none;
    bool negated = false;  // with the operand's negative: sub
};
struct Atomic : Access {
    Modification by;
    std::optional<Register> to;  // none: a reduction
    Argument value, swap;
    auto operands() const { return std::tie(to, at, value, swap); }
};
struct HostCopy {  // by a copy engine or the host
    Place to, from;
    auto operands() const { return std::tie(to, from); }
};

// Fences.
struct Fence {
    uint32_t order = SASSEMU_ORDER_WEAK, scope = SASSEMU_SCOPE_NONE;
    uint32_t restriction = 0, operation = 0;
    auto operands() const { return std::tie(); }
};
struct ProxyFence {
    uint32_t from = SASSEMU_PROXY_GENERIC, to = SASSEMU_PROXY_GENERIC, both_ways = 0;
    uint32_t order = SASSEMU_ORDER_WEAK, scope = SASSEMU_SCOPE_NONE, restriction = 0;
    std::optional<Place> at;
    auto operands() const { return std::tie(at); }
};

// Barriers.
struct Barrier {
    uint32_t order = SASSEMU_ORDER_ACQ_REL;
    bool waits = false;
    Argument number;
    std::optional<Argument> count;
    Reduction reduction = Reduction::none;
    std::optional<Register> to;  // of a reduction
    Argument predicate;
    bool negated = false;
    int32_t instance = -1;  // @inst=k
    bool aligned = false;   // in machine code
    auto operands() const { return std::tie(to, number, count, predicate); }
};
struct ClusterArrive {
    uint32_t order = SASSEMU_ORDER_RELEASE;
    auto operands() const { return std::tie(); }
};
struct ClusterWait {
    auto operands() const { return std::tie(); }
};
struct MbarrierOperation {
    Place at;
    Argument amount = uint64_t{1};
    uint32_t order = SASSEMU_ORDER_WEAK, scope = SASSEMU_SCOPE_NONE;
    auto operands() const { return std::tie(at, amount); }
};
struct MbarrierInit : MbarrierOperation {};
struct MbarrierArrive : MbarrierOperation {
    bool drop = false, no_complete = false;
    bool expects = false;  // one arrival, and `amount` bytes
};
struct MbarrierTransaction : MbarrierOperation {
    bool completes = false;  // else expects
};
struct MbarrierWait : MbarrierOperation {
    std::optional<Register> to;  // none: it waits until it succeeds
    bool insists = false;        // it stands for several tries, of which the last succeeds
    auto operands() const { return std::tie(to, at, amount); }
};

// Asynchronous operations.
struct StoreAsync {  // st.async, red.async
    Place to;
    Argument value;
    Place mbarrier;
    Modification by;
    auto operands() const { return std::tie(to, value, mbarrier); }
};
struct CopyAsync {
    Place to, from;
    auto operands() const { return std::tie(to, from); }
};
struct CopiesArrive {
    Place mbarrier;
    bool no_increment = false;
    auto operands() const { return std::tie(mbarrier); }
};
struct Commit {
    GroupKind kind;
    auto operands() const { return std::tie(); }
};
struct GroupWait {
    GroupKind kind;
    uint64_t left = 0;
    bool uncommitted = false;  // wait_all: what is not committed, too
    bool reads_only = false;
    auto operands() const { return std::tie(); }
};
struct Bulk {
    Place to, from;
    Modification by;
    std::optional<Place> mbarrier;  // none: it belongs to a group
    auto operands() const { return std::tie(to, from, mbarrier); }
};
struct BulkTensor {
    Place shared, map;
    std::optional<Place> mbarrier;  // none: from shared memory, and it belongs to a group
    auto operands() const { return std::tie(shared, map, mbarrier); }
};
struct MapReplace {
    Place map;
    Argument value;
    auto operands() const { return std::tie(map, value); }
};
struct MapPublish {  // tensormap.cp_fenceproxy
    Place to, from;
    uint32_t scope = SASSEMU_SCOPE_NONE;
    auto operands() const { return std::tie(to, from); }
};

// Tensor cores.
struct WgmmaFence {
    auto operands() const { return std::tie(); }
};
struct Wgmma {
    Register to;
    Place b;
    std::optional<Place> c;
    auto operands() const { return std::tie(to, b, c); }
};
struct TensorLoad {
    Register to;
    Place from;
    auto operands() const { return std::tie(to, from); }
};
struct TensorStore {
    Place to;
    Argument value;
    auto operands() const { return std::tie(to, value); }
};
struct TensorWait {
    bool stores;  // else loads
    auto operands() const { return std::tie(); }
};
struct TensorProduct {  // tcgen05.mma and .cp
    uint32_t operation;
    Place to, b;
    std::optional<Place> c;
    auto operands() const { return std::tie(to, b, c); }
};
struct TensorCommit {
    Place mbarrier;
    auto operands() const { return std::tie(mbarrier); }
};
struct TensorFence {
    uint32_t operation;  // SASSEMU_OPERATION_TENSOR_BEFORE, _AFTER
    auto operands() const { return std::tie(); }
};

struct Launch {
    uint32_t thread;
    auto operands() const { return std::tie(); }
};
struct Join {
    uint32_t thread;
    bool early = false;  // only until its CTA lets dependent launches begin
    auto operands() const { return std::tie(); }
};

// An operation as machines know it (machine.h): of the model `caches` in SASS's words, nvshmem_*.
struct OnMachine {
    enum class Until : uint8_t { none, equal, differs };  // nvshmem_wait_until, nvshmem_test
    enum class Whose : uint8_t { own, launched, all };    // of a quiet; all: and they meet
    sassemu_operation what{};
    std::optional<Register> to{};
    std::optional<Place> at{}, other{};
    Argument value{};
    AtomicOp atomic = AtomicOp::none;
    bool blocks = false;        // of a load: what follows waits for it
    Until until = Until::none;  // the loaded value compares so with `value`
    Whose whose = Whose::own;
    auto operands() const { return std::tie(to, at, other, value); }
};

}  // namespace op

using Operation =
    std::variant<op::Move, op::Compute, op::Branch, op::Load, op::Store, op::Atomic, op::HostCopy,
                 op::Fence, op::ProxyFence, op::Barrier, op::ClusterArrive, op::ClusterWait,
                 op::MbarrierInit, op::MbarrierArrive, op::MbarrierTransaction, op::MbarrierWait,
                 op::StoreAsync, op::CopyAsync, op::CopiesArrive, op::Commit, op::GroupWait,
                 op::Bulk, op::BulkTensor, op::MapReplace, op::MapPublish, op::WgmmaFence,
                 op::Wgmma, op::TensorLoad, op::TensorStore, op::TensorWait, op::TensorProduct,
                 op::TensorCommit, op::TensorFence, op::Launch, op::Join, op::OnMachine>;

// A function of a few lambdas, by the kind that each takes.
template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 does not deduce an aggregate's

// f(Register) for what is written, f(Argument), f(Place), of each operand that is there.
template <class F>
void for_operands(const Operation& operation, F&& f) {
    const auto one = [&]<class T>(const T& x) {
        if constexpr (requires { x.has_value(); }) {
            if (x) f(*x);
        } else {
            f(x);
        }
    };
    std::visit(
        [&](const auto& o) { std::apply([&](const auto&... x) { (one(x), ...); }, o.operands()); },
        operation);
}

template <class T, class... Kinds>
constexpr bool is_any_of = (std::is_same_v<T, Kinds> || ...);
template <class... Kinds>
bool is_any(const Operation& o) {
    return (std::holds_alternative<Kinds>(o) || ...);
}

struct Statement {
    Operation what;
    std::string text;    // the line as written
    int32_t guard = -1;  // @P of SASS: a register
    bool guard_inverted = false;
};

}  // namespace sassemu::explore
