// SPDX-License-Identifier: Apache-2.0
// Mnemonics of register arithmetic, branches, loads, stores and atomic operations, and the
// qualifiers that all forms share. See docs/litmus.md, section 2.
#include <type_traits>

#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

constexpr std::pair<std::string_view, uint32_t> scopes[] = {{"cta", SASSEMU_SCOPE_CTA},
                                                            {"cluster", SASSEMU_SCOPE_CLUSTER},
                                                            {"gpu", SASSEMU_SCOPE_GPU},
                                                            {"sys", SASSEMU_SCOPE_SYS}};
constexpr std::pair<std::string_view, uint64_t> types[] = {
    {"u8", 1},  {"s8", 1},  {"b8", 1},  {"u16", 2}, {"s16", 2}, {"b16", 2}, {"u32", 4},
    {"s32", 4}, {"b32", 4}, {"f32", 4}, {"u64", 8}, {"s64", 8}, {"b64", 8}, {"f64", 8}};
constexpr std::pair<std::string_view, op::Modification> modifications[] = {
    {"add", {AtomicOp::add}},  {"sub", {AtomicOp::add, true}}, {"exch", {AtomicOp::exch}},
    {"inc", {AtomicOp::inc}},  {"dec", {AtomicOp::dec}},       {"cas", {AtomicOp::cas}},
    {"and", {AtomicOp::and_}}, {"or", {AtomicOp::or_}},        {"xor", {AtomicOp::xor_}},
    {"min", {AtomicOp::min}},  {"max", {AtomicOp::max}}};
constexpr std::pair<std::string_view, Arithmetic> arithmetic[] = {
    {"add", Arithmetic::add},  {"sub", Arithmetic::sub},     {"mul", Arithmetic::mul},
    {"and", Arithmetic::and_}, {"or", Arithmetic::or_},      {"xor", Arithmetic::xor_},
    {"eq", Arithmetic::equal}, {"ne", Arithmetic::not_equal}};

// Targets are resolved when the whole thread is read.
Result<void> read_branch(Form& form, std::string_view head) {
    op::Branch out;
    const size_t last = head == "bra" ? 0 : 2;
    SASSEMU_TRY(form.count(last + 1, last + 1));
    out.label = std::string(form.operands[last]);
    if (last) {
        out.if_equal = head == "beq";
        SASSEMU_TRY(form.operand(0, out.b));
        SASSEMU_TRY(form.operand(1, out.c));
    }
    form.out = std::move(out);
    return {};
}

// ld, st and the accesses of other proxies: {.SEM}{.SCOPE}{.SPACE}{.TYPE}, in PTX's order or near
// it.
template <class Kind>
Result<void> read_access(Form& form, uint32_t proxy) {
    constexpr bool loads = std::is_same_v<Kind, op::Load>;
    Kind out;
    out.proxy = proxy;
    bool ordered = false;
    const auto take = [&](std::string_view word, uint32_t order) {
        if (ordered || !form.words.take(word)) return false;
        out.order = order;
        return ordered = true;
    };
    while (!form.words.done()) {
        if (take("mmio", SASSEMU_ORDER_MMIO)) {
            if (!form.words.take("relaxed") || !form.words.take("sys"))
                return input_error("mmio is written .mmio.relaxed.sys");
            form.scope = SASSEMU_SCOPE_SYS;
        } else if (take("volatile", SASSEMU_ORDER_VOLATILE)) {
            form.scope = SASSEMU_SCOPE_SYS;
        } else if (take("weak", SASSEMU_ORDER_WEAK) || take("relaxed", SASSEMU_ORDER_RELAXED) ||
                   (loads && take("acquire", SASSEMU_ORDER_ACQUIRE)) ||
                   (!loads && take("release", SASSEMU_ORDER_RELEASE)) ||
                   (form.test.corpus() && take("seq_cst", SASSEMU_ORDER_SC)) || form.take_scope() ||
                   form.take_space()) {
        } else if (form.words.next() == (loads ? "release" : "acquire")) {
            return input_error(loads ? "a load is never .release" : "a store is never .acquire");
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    out.scope = form.scope;
    if (out.order != SASSEMU_ORDER_WEAK && out.scope == SASSEMU_SCOPE_NONE)
        return input_error("'" + std::string(form.mnemonic) + "' needs a scope");
    if (out.order == SASSEMU_ORDER_WEAK && out.scope != SASSEMU_SCOPE_NONE)
        return input_error("a weak access has no scope");
    if constexpr (loads)
        SASSEMU_TRY(form.read(out.to, out.at));
    else
        SASSEMU_TRY(form.read(out.at, out.value));
    SASSEMU_TRY(form.set_bytes(out.at));
    if (out.order != SASSEMU_ORDER_WEAK && out.order != SASSEMU_ORDER_VOLATILE) form.needs(70);
    if (out.scope == SASSEMU_SCOPE_CLUSTER) form.needs(90);
    form.out = out;
    return form.check_space(out.at, form.space);
}

Result<void> read_atomic(Form& form, bool reduces) {
    op::Atomic out;
    bool ordered = false;
    const auto take = [&](std::string_view word, uint32_t order) {
        if (ordered || !form.words.take(word)) return false;
        out.order = order;
        return ordered = true;
    };
    while (!form.words.done()) {
        if (take("relaxed", SASSEMU_ORDER_RELAXED) ||
            (!reduces && take("acquire", SASSEMU_ORDER_ACQUIRE)) ||
            take("release", SASSEMU_ORDER_RELEASE) || take("acq_rel", SASSEMU_ORDER_ACQ_REL) ||
            form.take_scope() || form.take_space() || form.take_modification(out.by)) {
        } else if (reduces && form.words.next() == "acquire") {
            return input_error("a reduction is never .acquire");
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    if (!ordered) out.order = SASSEMU_ORDER_RELAXED;
    out.scope = form.scope ? form.scope : uint32_t{SASSEMU_SCOPE_GPU};  // PTX's default
    if (out.by.how == AtomicOp::none)
        return input_error("'" + std::string(form.mnemonic) + "' names no operation");
    const bool swaps = out.by.how == AtomicOp::cas;
    if (reduces && (swaps || out.by.how == AtomicOp::exch)) return form.unknown_word();
    SASSEMU_TRY(reduces ? form.read(out.at, out.value)
                : swaps ? form.read(out.to, out.at, out.value, out.swap)
                        : form.read(out.to, out.at, out.value));
    SASSEMU_TRY(form.set_bytes(out.at));
    if (ordered) form.needs(70);
    if (out.scope == SASSEMU_SCOPE_CLUSTER) form.needs(90);
    form.out = out;
    return form.check_space(out.at, form.space);
}

}  // namespace

bool Form::take_modification(op::Modification& out) {
    const op::Modification* found = lookup(modifications, words.next());
    if (!found || out.how != AtomicOp::none) return false;
    out = *found;
    words.pop();
    return true;
}

bool Form::take_scope() {
    const uint32_t* found = lookup(scopes, words.next());
    if (!found || scope) return false;
    scope = *found;
    words.pop();
    return true;
}

bool Form::take_space() {
    const std::string_view w = words.next();
    if (space) return false;
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
    bytes = *found;
    words.pop();
    return true;
}

Result<void> Form::check_space(const Place& memory, uint32_t qualifier) const {
    const Location& at = location(memory);
    if (at.space == SASSEMU_SPACE_SHARED_CTA) {
        if (thread.kind != ThreadKind::thread || thread.cluster != at.cluster)
            return input_error("'" + at.name + "' is shared memory of another cluster");
        if (thread.cta != at.cta && qualifier == SASSEMU_SPACE_SHARED_CTA)
            return input_error("'" + at.name +
                               "' is not in .shared::cta of this thread; write .shared::cluster");
        if (qualifier == SASSEMU_SPACE_GLOBAL)
            return input_error("'" + at.name + "' is in shared memory");
        return {};
    }
    if (qualifier && !(qualifier & at.space))
        return input_error("'" + at.name + "' is not in the state space that is written");
    return {};
}

Result<void> Form::set_bytes(Place& memory) {
    const Name& name = test.names[memory.name];
    if (!bytes) bytes = name.bytes - memory.offset;
    memory.bytes = bytes;
    if (memory.offset + bytes > name.bytes)
        return input_error("the access is longer than '" + name.text + "'");
    return {};
}

Result<void> Form::need_mbarrier(const Place& memory) const {
    if (location(memory).kind == LocationKind::mbarrier) return {};
    return input_error("'" + location(memory).name + "' is no mbarrier");
}

Result<void> read_ordinary_form(Form& form, std::string_view head) {
    if (head == "mov") {
        auto& out = form.out.emplace<op::Move>();
        form.take_type();
        return form.read(out.to, out.from);
    }
    if (const Arithmetic* how = lookup(arithmetic, head)) {
        auto& out = form.out.emplace<op::Compute>();
        out.how = *how;
        form.take_type();
        return form.read(out.to, out.b, out.c);
    }
    if (head == "bra" || head == "beq" || head == "bne") return read_branch(form, head);
    const bool asynchronous = form.words.next() == "async";  // st.async, red.async: async_forms.cpp
    if (asynchronous) {
        form.known = false;
        return {};
    }
    constexpr std::pair<std::string_view, uint32_t> loads[] = {{"ld", SASSEMU_PROXY_GENERIC},
                                                               {"suld", SASSEMU_PROXY_SURFACE},
                                                               {"tld", SASSEMU_PROXY_TEXTURE},
                                                               {"cold", SASSEMU_PROXY_CONSTANT}};
    if (const uint32_t* proxy = lookup(loads, head)) return read_access<op::Load>(form, *proxy);
    if (head == "st") return read_access<op::Store>(form, SASSEMU_PROXY_GENERIC);
    if (head == "sust") return read_access<op::Store>(form, SASSEMU_PROXY_SURFACE);
    if (head == "atom" || head == "red") return read_atomic(form, head == "red");
    if (head == "copy") {
        if (form.thread.kind != ThreadKind::copy_engine && form.thread.kind != ThreadKind::host)
            return input_error("'copy' is an operation of a copy engine or the host");
        auto& out = form.out.emplace<op::HostCopy>();
        SASSEMU_TRY(form.read(out.to, out.from));
        SASSEMU_TRY(form.set_bytes(out.from));
        out.to.bytes = out.from.bytes;
        return {};
    }
    if (head == "api") {
        const bool launches = form.words.take("launch");
        if (!launches && !form.words.take("join")) return form.unknown_word();
        SASSEMU_TRY(form.count(1, 1));
        for (uint32_t t = 0; t < form.test.threads.size(); ++t)
            if (form.test.threads[t].id == form.operands[0]) {
                if (launches)
                    form.out = op::Launch{t};
                else
                    form.out = op::Join{t};
                return {};
            }
        return input_error("no thread '" + std::string(form.operands[0]) + "'");
    }
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
