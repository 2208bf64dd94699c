// SPDX-License-Identifier: Apache-2.0
// A litmus test as read: threads of instructions, locations, the condition. What belongs here: the
// parsed form of docs/litmus.md, front ends fill it. What does not: running it.
#pragma once

#include <sassemu/consistency.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::explore {

// What one line of a thread is. A few PTX instructions share a code and differ in the fields of
// Instruction.
enum class Op : uint8_t {
    move,  // a <- b
    add,
    sub,
    mul,
    and_,
    or_,
    xor_,
    equal,
    not_equal,  // a <- b op c
    branch,     // to target
    branch_if_equal,
    branch_if_not_equal,  // b, c, target
    load,
    store,
    atomic,
    fence,        // fence, membar; and a one-sided proxy fence together with its order
    proxy_fence,  // fence.proxy.*
    barrier,      // bar.*: arrives, waits, reduces
    cluster_arrive,
    cluster_wait,
    mbarrier_init,
    mbarrier_arrive,
    mbarrier_expect,
    mbarrier_complete,
    mbarrier_wait,
    store_async,  // st.async, red.async
    copy_async,   // cp.async
    copy_commit,
    copy_wait,
    copy_arrive,
    bulk,
    bulk_tensor,
    bulk_commit,
    bulk_wait,
    wgmma_fence,
    wgmma,
    wgmma_commit,
    wgmma_wait,
    tensor_load,
    tensor_store,
    tensor_wait_load,
    tensor_wait_store,
    tensor_mma,
    tensor_copy,
    tensor_commit,
    tensor_before,
    tensor_after,
    map_replace,
    map_publish,  // tensormap.replace, tensormap.cp_fenceproxy
    copy,         // a copy engine or the host
    launch,
    join,
    sass_word,  // real machine code (graph/sass_steps.cpp); in no test's text
    shmem,      // nvshmem_*: `form` says which (machines/deliveries.cpp)
    sass,       // a form of the caches model (machines/memory_operation.cpp)
};

enum class AtomicOp : uint8_t {
    none,
    add,
    sub,
    exchange,
    compare_swap,
    increment,
    decrement,
    and_,
    or_,
    xor_,
    min,
    max,
};

enum class Reduction : uint8_t { none, count, all, any };

struct Operand {
    enum class Kind : uint8_t { none, reg, value, memory, address, computed } kind = Kind::none;
    uint32_t reg = 0;     // kind reg: index in Thread::registers; kind computed: in State::values
    uint64_t value = 0;   // kind value
    uint32_t name = 0;    // kind memory, address: index in Test::names
    uint64_t offset = 0;  // kind memory
    int32_t pe = -1;      // kind memory: x@1
};

struct Instruction {
    Op op = Op::move;
    uint32_t order = SASSEMU_ORDER_WEAK, scope = SASSEMU_SCOPE_NONE, proxy = SASSEMU_PROXY_GENERIC;
    uint32_t restriction = 0, operation = 0;   // of a fence
    uint32_t from = 0, to = 0, both_ways = 0;  // of a proxy fence
    AtomicOp atomic = AtomicOp::none;
    Reduction reduction = Reduction::none;
    bool arrives = false, waits = false, negated = false;  // of a barrier
    bool group = false, reads_only = false, no_increment = false, drop = false, no_complete = false,
         expects = false, fetches = false, insists = false;
    uint64_t bytes = 0;     // of an access: 0 is the whole location
    Operand a, b, c, d;     // the first is what is written, where something is
    uint32_t target = 0;    // of a branch: an instruction
    int32_t instance = -1;  // @inst=k
    bool aligned = false;   // of a barrier in machine code
    std::string form;       // the mnemonic as written
    std::string text;       // the line as written
    int32_t guard = -1;     // @P of SASS: a register
    bool guard_inverted = false;
    uint32_t minimum = 0;       // lowest target (sm number), 0: any
    bool exact_family = false;  // needs the `a` variant of the target
};

// Finds the elements of a list that only grows by a text of theirs: the first that has it.
class TextIndex {
  public:
    template <class List, class Text>
    uint32_t find(const List& list, std::string_view wanted, Text&& text) {
        for (; seen_ < list.size(); ++seen_) numbers_.try_emplace(text(list[seen_]), seen_);
        const auto found = numbers_.find(wanted);
        return found == numbers_.end() ? seen_ : found->second;
    }
    void clear() { *this = {}; }

  private:
    std::map<std::string, uint32_t, std::less<>> numbers_;
    uint32_t seen_ = 0;
};

enum class ThreadKind : uint8_t { thread, host, copy_engine, stream };

struct Thread {
    std::string id;
    ThreadKind kind = ThreadKind::thread;
    int32_t cta = 0, cluster = 0,
            gpu = 0;  // numbered over the whole test; the host is alone everywhere
    int32_t sm = -1;
    uint32_t lanes = 1;
    bool starts = true;  // else an api.launch starts it
    std::vector<std::string> registers;
    TextIndex register_index;
    std::vector<uint64_t> initial;  // of the registers
    std::vector<Instruction> code;
    bool sass = false;  // its code is machine code: Test::sass has it
};

enum class LocationKind : uint8_t { data, mbarrier, tensor_map };

// A piece of physical memory.
struct Location {
    std::string name;
    LocationKind kind = LocationKind::data;
    uint32_t space = SASSEMU_SPACE_GLOBAL;    // GLOBAL, SHARED_CTA or TENSOR
    int32_t cta = -1, cluster = -1, gpu = 0;  // the owner's, for shared and tensor memory
    uint64_t bytes = 4;
    int64_t count = -1;  // of an mbarrier that is initialised from the start
    bool symmetric = false;
};

// A name: a virtual address of a location.
struct Name {
    std::string text;
    uint32_t location = 0, alias = 0;
    uint64_t offset = 0, bytes = 0;
    uint64_t element = 4;                    // bytes of x[i] in a condition
    uint32_t proxy = SASSEMU_PROXY_GENERIC;  // of an alias through another proxy
    uint64_t initial = 0;
    int32_t initial_address = -1;  // "&y": the index of a name
};

struct Condition {
    enum class Kind : uint8_t { constant, reg, memory, equal, not_equal, and_, or_, not_ } kind;
    uint64_t value = 0;
    uint32_t thread = 0, reg = 0;
    uint32_t name = 0;
    int32_t pe = -1;
    uint64_t first = 0, bytes = 0;  // x[first:bytes]; bytes 0: all of it
    std::string text;               // of reg and memory, as written: a key of the outcome's state
    uint32_t leaf = 0;              // of reg and memory: which of leaves() it is
    size_t at = 0;                  // of reg and memory: where it begins in the text
    // What it is made of. `a || b || c` is one node: a tree is as deep as its text is nested.
    std::vector<Condition> terms;
};

enum class Verdict : uint8_t { unstated, allowed, forbidden, error, incomplete };

class SassProgram;

struct Test {
    std::string name, model, target, where;  // where: FILE:LINE for messages
    std::vector<Thread> threads;
    std::vector<Location> locations;
    std::vector<Name> names;
    mutable TextIndex name_index;
    std::optional<Condition> condition;  // nothing in the liveness models
    Verdict verdict = Verdict::unstated, verdict_relied = Verdict::unstated;
    std::string error;                           // words of the message, for verdict error
    std::map<std::string, std::string> options;  // of the model
    uint32_t bound = 2;
    std::map<std::pair<uint32_t, int32_t>, uint64_t> initial_at;  // (name, PE): of one copy
    std::shared_ptr<SassProgram> sass;                            // of threads in machine code

    bool corpus() const { return model.starts_with("ptx60") || model.starts_with("ptx75"); }
    bool liveness() const { return model.ends_with("-liveness"); }
};

// "P0:r1==1 && x!=2"; the registers and locations have to exist. `error_at`: the byte of the text
// at which an error is.
Result<Condition> read_condition(std::string_view text, Test& test, size_t* error_at = nullptr);
bool holds(const Condition& condition, const std::vector<uint64_t>& values);
// The registers and locations of the condition, each once; `values` of holds() is in this order.
std::vector<const Condition*> leaves(const Condition& condition);

uint32_t find_name(const Test& test, std::string_view text);  // names.size() when there is none
uint32_t register_of(Thread& thread, std::string_view name);  // a new one when there is none

inline Error input_error(std::string what) {
    return make_error(ErrorCode::input, {}, std::move(what));
}

}  // namespace sassemu::explore
