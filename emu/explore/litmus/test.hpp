// SPDX-License-Identifier: Apache-2.0
// A litmus test as read: threads of instructions, locations, the condition. What belongs here: the
// parsed form of docs/litmus.md, front ends fill it. What does not: running it.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/explore/litmus/statement.hpp"

namespace sassemu::explore {

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
    std::vector<Statement> code;
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
    int32_t home = SASSEMU_OF_NOBODY;  // whose memory it is: a GPU's, or SASSEMU_OF_HOST
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

// unknown: no execution was found that reaches the condition, and not all were looked at.
enum class Verdict : uint8_t { unstated, allowed, forbidden, error, unknown };

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
