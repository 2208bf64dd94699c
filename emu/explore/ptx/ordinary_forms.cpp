// SPDX-License-Identifier: Apache-2.0
// Mnemonics of register arithmetic, branches, loads, stores and atomic operations, and the
// qualifiers that all forms share. See docs/litmus.md, section 2.
#include <algorithm>
#include <utility>

#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

template <class T, size_t n>
const T* lookup(const std::pair<std::string_view, T> (&table)[n], std::string_view word) {
    for (const auto& [name, value] : table)
        if (name == word) return &value;
    return nullptr;
}

constexpr std::pair<std::string_view, uint32_t> scopes[] = {{"cta", SASSEMU_SCOPE_CTA},
                                                            {"cluster", SASSEMU_SCOPE_CLUSTER},
                                                            {"gpu", SASSEMU_SCOPE_GPU},
                                                            {"sys", SASSEMU_SCOPE_SYS}};
constexpr std::pair<std::string_view, uint64_t> types[] = {
    {"u8", 1},  {"s8", 1},  {"b8", 1},  {"u16", 2}, {"s16", 2}, {"b16", 2}, {"u32", 4},
    {"s32", 4}, {"b32", 4}, {"f32", 4}, {"u64", 8}, {"s64", 8}, {"b64", 8}, {"f64", 8}};
constexpr std::pair<std::string_view, AtomicOp> atomics[] = {
    {"add", AtomicOp::add},       {"sub", AtomicOp::sub},       {"exch", AtomicOp::exchange},
    {"inc", AtomicOp::increment}, {"dec", AtomicOp::decrement}, {"cas", AtomicOp::compare_swap},
    {"and", AtomicOp::and_},      {"or", AtomicOp::or_},        {"xor", AtomicOp::xor_},
    {"min", AtomicOp::min},       {"max", AtomicOp::max}};
constexpr std::pair<std::string_view, Op> arithmetic[] = {
    {"add", Op::add}, {"sub", Op::sub},  {"mul", Op::mul},  {"and", Op::and_},
    {"or", Op::or_},  {"xor", Op::xor_}, {"eq", Op::equal}, {"ne", Op::not_equal}};

Result<void> read_label(Form& form, size_t i) {
    if (i >= form.operands.size()) return input_error("the branch's target is missing");
    // Targets are resolved when the whole thread is read: the label waits in `form`.
    form.out.form = std::string(form.operands[i]);
    return {};
}

Result<void> read_branch(Form& form, std::string_view head) {
    if (head == "bra") {
        form.out.op = Op::branch;
        SASSEMU_TRY(form.count(1, 1));
        return read_label(form, 0);
    }
    form.out.op = head == "beq" ? Op::branch_if_equal : Op::branch_if_not_equal;
    SASSEMU_TRY(form.count(3, 3));
    SASSEMU_ASSIGN(form.out.b, form.value(0));
    SASSEMU_ASSIGN(form.out.c, form.value(1));
    return read_label(form, 2);
}

// ld, st and the accesses of other proxies: {.SEM}{.SCOPE}{.SPACE}{.TYPE}, in PTX's order or near
// it.
Result<void> read_access(Form& form, bool loads) {
    Instruction& out = form.out;
    out.op = loads ? Op::load : Op::store;
    bool ordered = false;
    uint32_t space = 0;
    while (!form.words.done()) {
        if (!ordered && form.words.take("mmio")) {
            if (!form.words.take("relaxed") || !form.words.take("sys"))
                return input_error(
                    "mmio is written ."
                    "mmio.relaxed.sys");
            out.order = SASSEMU_ORDER_MMIO, out.scope = SASSEMU_SCOPE_SYS, ordered = true;
        } else if (!ordered && form.words.take("weak")) {
            ordered = true;
        } else if (!ordered && form.words.take("volatile")) {
            out.order = SASSEMU_ORDER_VOLATILE, out.scope = SASSEMU_SCOPE_SYS, ordered = true;
        } else if (!ordered && form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED, ordered = true;
        } else if (!ordered && loads && form.words.take("acquire")) {
            out.order = SASSEMU_ORDER_ACQUIRE, ordered = true;
        } else if (!ordered && !loads && form.words.take("release")) {
            out.order = SASSEMU_ORDER_RELEASE, ordered = true;
        } else if (!ordered && form.test.corpus() && form.words.take("seq_cst")) {
            out.order = SASSEMU_ORDER_SC, ordered = true;
        } else if (out.scope == SASSEMU_SCOPE_NONE && form.take_scope()) {
        } else if (!space && form.take_space(space)) {
        } else if (loads ? form.words.next() == "release" : form.words.next() == "acquire") {
            return input_error(loads ? "a load is never .release" : "a store is never .acquire");
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    if (out.order != SASSEMU_ORDER_WEAK && out.scope == SASSEMU_SCOPE_NONE)
        return input_error("'" + std::string(form.mnemonic) + "' needs a scope");
    if (out.order == SASSEMU_ORDER_WEAK && out.scope != SASSEMU_SCOPE_NONE)
        return input_error("a weak access has no scope");
    SASSEMU_TRY(form.count(2, 2));
    if (loads) {
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.memory(1));
    } else {
        SASSEMU_ASSIGN(out.b, form.memory(0));
        SASSEMU_ASSIGN(out.c, form.value(1));
    }
    SASSEMU_TRY(form.set_bytes(out.b));
    if (out.order != SASSEMU_ORDER_WEAK && out.order != SASSEMU_ORDER_VOLATILE) form.needs(70);
    if (out.scope == SASSEMU_SCOPE_CLUSTER) form.needs(90);
    return form.check_space(out.b, space);
}

Result<void> read_atomic(Form& form, bool reduces) {
    Instruction& out = form.out;
    out.op = Op::atomic;
    out.fetches = !reduces;
    uint32_t space = 0;
    bool ordered = false;
    while (!form.words.done()) {
        if (!ordered && form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED, ordered = true;
        } else if (!ordered && !reduces && form.words.take("acquire")) {
            out.order = SASSEMU_ORDER_ACQUIRE, ordered = true;
        } else if (!ordered && form.words.take("release")) {
            out.order = SASSEMU_ORDER_RELEASE, ordered = true;
        } else if (!ordered && form.words.take("acq_rel")) {
            out.order = SASSEMU_ORDER_ACQ_REL, ordered = true;
        } else if (out.scope == SASSEMU_SCOPE_NONE && form.take_scope()) {
        } else if (!space && form.take_space(space)) {
        } else if (out.atomic == AtomicOp::none && atomic_op(form.words.next()) != AtomicOp::none) {
            out.atomic = atomic_op(form.words.pop());
        } else if (reduces && form.words.next() == "acquire") {
            return input_error("a reduction is never .acquire");
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    if (!ordered) out.order = SASSEMU_ORDER_RELAXED;
    if (out.scope == SASSEMU_SCOPE_NONE) out.scope = SASSEMU_SCOPE_GPU;  // PTX's default
    if (out.atomic == AtomicOp::none)
        return input_error("'" + std::string(form.mnemonic) + "' names no operation");
    const size_t values = out.atomic == AtomicOp::compare_swap ? 2 : 1, first = reduces ? 0 : 1;
    if (reduces && (out.atomic == AtomicOp::compare_swap || out.atomic == AtomicOp::exchange))
        return form.unknown_word();
    SASSEMU_TRY(form.count(first + 1 + values, first + 1 + values));
    if (!reduces) {
        SASSEMU_ASSIGN(out.a, form.reg(0));
    }
    SASSEMU_ASSIGN(out.b, form.memory(first));
    SASSEMU_ASSIGN(out.c, form.value(first + 1));
    if (values == 2) {
        SASSEMU_ASSIGN(out.d, form.value(first + 2));
    }
    SASSEMU_TRY(form.set_bytes(out.b));
    if (ordered) form.needs(70);
    if (out.scope == SASSEMU_SCOPE_CLUSTER) form.needs(90);
    return form.check_space(out.b, space);
}

}  // namespace

AtomicOp atomic_op(std::string_view word) {
    const AtomicOp* found = lookup(atomics, word);
    return found ? *found : AtomicOp::none;
}

bool Form::take_scope() {
    const uint32_t* found = lookup(scopes, words.next());
    if (!found) return false;
    out.scope = *found;
    words.pop();
    return true;
}

bool Form::take_space(uint32_t& space) {
    const std::string_view w = words.next();
    if (w == "global")
        space = SASSEMU_SPACE_GLOBAL;
    else if (w == "shared" || w == "shared::cta")
        space = SASSEMU_SPACE_SHARED_CTA;
    else if (w == "shared::cluster")
        space = SASSEMU_SPACE_SHARED_CLUSTER, needs(90);
    else
        return false;
    words.pop();
    return true;
}

bool Form::take_type() {
    const uint64_t* found = lookup(types, words.next());
    if (!found) return false;
    out.bytes = *found;
    words.pop();
    return true;
}

Result<void> Form::check_space(const Operand& memory, uint32_t space) const {
    const Location& location = test.locations[test.names[memory.name].location];
    if (location.space == SASSEMU_SPACE_SHARED_CTA) {
        if (thread.kind != ThreadKind::thread || thread.cluster != location.cluster)
            return input_error("'" + location.name + "' is shared memory of another cluster");
        if (thread.cta != location.cta && space == SASSEMU_SPACE_SHARED_CTA)
            return input_error("'" + location.name +
                               "' is not in .shared::cta of this thread; write .shared::cluster");
        if (space == SASSEMU_SPACE_GLOBAL)
            return input_error("'" + location.name + "' is in shared memory");
        return {};
    }
    if (space && !(space & location.space))
        return input_error("'" + location.name + "' is not in the state space that is written");
    return {};
}

Result<void> Form::set_bytes(const Operand& memory) {
    const Name& name = test.names[memory.name];
    if (!out.bytes) out.bytes = name.bytes - memory.offset;
    if (memory.offset + out.bytes > name.bytes)
        return input_error("the access is longer than '" + name.text + "'");
    return {};
}

Result<void> read_ordinary_form(Form& form, std::string_view head) {
    Instruction& out = form.out;
    if (head == "mov") {
        form.take_type();
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.value(1));
        return {};
    }
    if (const Op* op = lookup(arithmetic, head)) {
        out.op = *op;
        form.take_type();
        SASSEMU_TRY(form.count(3, 3));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.value(1));
        SASSEMU_ASSIGN(out.c, form.value(2));
        return {};
    }
    if (head == "bra" || head == "beq" || head == "bne") return read_branch(form, head);
    const bool asynchronous = form.words.next() == "async";  // st.async, red.async: async_forms.cpp
    if (asynchronous) {
        form.known = false;
        return {};
    }
    if (head == "ld" || head == "st") return read_access(form, head == "ld");
    constexpr std::pair<std::string_view, uint32_t> proxies[] = {{"suld", SASSEMU_PROXY_SURFACE},
                                                                 {"sust", SASSEMU_PROXY_SURFACE},
                                                                 {"tld", SASSEMU_PROXY_TEXTURE},
                                                                 {"cold", SASSEMU_PROXY_CONSTANT}};
    if (const uint32_t* proxy = lookup(proxies, head)) {
        out.proxy = *proxy;
        return read_access(form, head != "sust");
    }
    if (head == "atom" || head == "red") return read_atomic(form, head == "red");
    if (head == "copy") {
        if (form.thread.kind != ThreadKind::copy_engine && form.thread.kind != ThreadKind::host)
            return input_error("'copy' is an operation of a copy engine or the host");
        out.op = Op::copy;
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.a, form.memory(0));
        SASSEMU_ASSIGN(out.b, form.memory(1));
        return form.set_bytes(out.b);
    }
    if (head == "api") {
        out.op = form.words.next() == "launch" ? Op::launch : Op::join;
        if (!form.words.take("launch") && !form.words.take("join")) return form.unknown_word();
        SASSEMU_TRY(form.count(1, 1));
        for (uint32_t t = 0; t < form.test.threads.size(); ++t)
            if (form.test.threads[t].id == form.operands[0]) {
                out.target = t;
                return {};
            }
        return input_error("no thread '" + std::string(form.operands[0]) + "'");
    }
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
