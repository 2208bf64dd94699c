// SPDX-License-Identifier: Apache-2.0
// Mnemonics of the machines that are no consistency models: nvshmem_* and SASS. docs/litmus.md,
// sections 6 and 7.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

Result<void> remote(Form& form, size_t i, Operand& out) {
    SASSEMU_ASSIGN(out, form.memory(i));
    if (out.offset)
        return input_error("'" + std::string(form.operands[i]) +
                           "': symmetric objects are named as a whole");
    return {};
}

Result<void> read_shmem(Form& form, std::string_view head) {
    Instruction& out = form.out;
    out.op = Op::shmem;
    out.form = std::string(head);
    const auto is = [&](std::initializer_list<std::string_view> names) {
        for (const std::string_view n : names)
            if (head == n) return true;
        return false;
    };
    if (is({"nvshmem_fence", "nvshmem_quiet", "nvshmem_barrier_all"})) return form.count(0, 0);
    if (is({"nvshmemx_quiet_on_stream"})) {
        if (form.thread.kind != ThreadKind::stream)
            return input_error("nvshmemx_quiet_on_stream belongs to a stream");
        return form.count(0, 0);
    }
    if (is({"nvshmem_p", "nvshmem_amo_add", "nvshmem_amo_add_nbi"})) {
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_TRY(remote(form, 0, out.a));
        SASSEMU_ASSIGN(out.b, form.value(1));
        return {};
    }
    if (is({"nvshmem_put", "nvshmem_put_nbi", "nvshmem_get", "nvshmem_get_nbi"})) {
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_TRY(remote(form, 0, out.a));
        return remote(form, 1, out.b);
    }
    if (is({"nvshmem_g"})) {
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        return remote(form, 1, out.b);
    }
    if (is({"nvshmem_amo_fetch_add", "nvshmem_amo_fetch_add_nbi"})) {
        SASSEMU_TRY(form.count(3, 3));
        if (head.ends_with("_nbi")) {
            SASSEMU_TRY(remote(form, 0, out.a));
        } else {
            SASSEMU_ASSIGN(out.a, form.reg(0));
        }
        SASSEMU_TRY(remote(form, 1, out.b));
        SASSEMU_ASSIGN(out.c, form.value(2));
        return {};
    }
    if (is({"nvshmem_wait_until", "nvshmem_test"})) {
        out.negated = form.words.next() == "ne";
        if (!form.words.take("eq") && !form.words.take("ne"))
            return input_error("'" + out.form + "' takes .eq or .ne");
        const size_t at = head == "nvshmem_test" ? 1 : 0;
        SASSEMU_TRY(form.count(at + 2, at + 2));
        if (at) {
            SASSEMU_ASSIGN(out.a, form.reg(0));
        }
        SASSEMU_TRY(remote(form, at, out.b));
        SASSEMU_ASSIGN(out.c, form.value(at + 1));
        return {};
    }
    form.known = false;
    return {};
}

bool take_strong(Form& form, bool& bypasses) {
    if (!form.words.take("STRONG")) return false;
    const std::string_view level = form.words.pop();
    bypasses = level == "GPU" || level == "SYS";
    return bypasses || level == "CTA" || level == "SM";
}

Result<void> read_membar(Form& form) {
    Instruction& out = form.out;
    constexpr std::pair<std::string_view, uint32_t> levels[] = {{"CTA", 1}, {"SM", 1},  {"VC", 2},
                                                                {"GL", 3},  {"GPU", 3}, {"SYS", 4}};
    for (const auto& [name, level] : levels)
        if (!out.scope && form.words.take(name)) out.scope = level;
    if (!out.scope) return input_error("MEMBAR takes a level: CTA, SM, VC, GL (GPU) or SYS");
    if (form.words.take("IVALLD"))
        out.restriction = 1;
    else if (form.words.take("IVALLT"))
        out.restriction = 2;
    else if (form.words.take("IVALLTD"))
        out.restriction = 3;
    return form.count(0, 0);
}

Result<void> read_sass(Form& form, std::string_view head) {
    Instruction& out = form.out;
    out.op = Op::sass;
    out.form = std::string(head);
    if (head == "MEMBAR") return read_membar(form);
    if (head == "CCTL" || head == "CCTLT") {
        out.group = head == "CCTL" && form.words.take("IV");
        if (!out.group && !form.words.take("IVALL"))
            return input_error("the cache operations are CCTL.IV, CCTL.IVALL and CCTLT.IVALL");
        SASSEMU_TRY(form.count(out.group, out.group));
        if (out.group) {
            SASSEMU_ASSIGN(out.b, form.memory(0));
        }
        return {};
    }
    if (head == "PRELOAD") {
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        return {};
    }
    if (head == "LD" || head == "TLD") {
        if (head == "LD" && form.words.take("CV"))
            out.reads_only = true;
        else if (head == "LD" && !form.words.done() && !take_strong(form, out.reads_only))
            return form.unknown_word();
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.memory(1));
        return {};
    }
    if (head == "ST") {
        bool unused = false;
        if (!form.words.done() && !take_strong(form, unused)) return form.unknown_word();
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        SASSEMU_ASSIGN(out.c, form.value(1));
        return {};
    }
    if (head == "ATOM") {
        if (form.words.take("ADD"))
            out.atomic = AtomicOp::add;
        else if (form.words.take("EXCH"))
            out.atomic = AtomicOp::exchange;
        else
            return input_error("the atomic operations are ATOM.ADD and ATOM.EXCH");
        SASSEMU_TRY(form.count(3, 3));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.memory(1));
        SASSEMU_ASSIGN(out.c, form.value(2));
        return {};
    }
    form.known = false;
    return {};
}

// &req={0,1} and &rd=2 name scoreboards; ?WAIT5 the least stall. Nothing here depends on them but
// their form, and that a MEMBAR waits at least WAIT5.
Result<void> check_annotation(std::string_view word, bool membar) {
    const auto wrong = [&] {
        return input_error("'" + std::string(word) + "' is no annotation of SASS");
    };
    if (word.starts_with('&')) {
        std::string_view v = word.substr(1);
        if (v.starts_with("req="))
            v.remove_prefix(4);
        else if (v.starts_with("rd="))
            v.remove_prefix(3);
        else
            return wrong();
        if (v.starts_with('{') && v.ends_with('}')) v = v.substr(1, v.size() - 2);
        if (v.empty() || v.size() % 2 == 0) return wrong();
        for (size_t i = 0; i < v.size(); ++i)
            if (i % 2 ? v[i] != ',' : v[i] < '0' || v[i] > '5') return wrong();
        return {};
    }
    std::string_view v = word.substr(1);
    if (v.starts_with("sched>=")) v.remove_prefix(7);
    if (!v.starts_with("WAIT")) return wrong();
    v.remove_prefix(4);
    uint32_t n = 0;
    for (const char c : v) {
        if (c < '0' || c > '9' || n > 99) return wrong();
        n = n * 10 + static_cast<uint32_t>(c - '0');
    }
    if (v.empty()) return wrong();
    if (membar && n < 5) return input_error("a MEMBAR waits at least WAIT5");
    return {};
}

}  // namespace

Result<std::string> strip_sass(std::string_view text, Thread& thread, Instruction& out) {
    std::string rest;
    const bool membar = text.find("MEMBAR") != text.npos;
    for (size_t i = 0; i < text.size();) {
        const size_t end = std::min(text.find(' ', i), text.size());
        std::string_view word = text.substr(i, end - i);
        i = end + 1;
        if (word.starts_with('&') || word.starts_with('?')) {
            SASSEMU_TRY(check_annotation(word, membar));
        } else if (word.starts_with('@') && rest.empty()) {
            word.remove_prefix(1);
            out.guard_inverted = word.starts_with('!');
            if (out.guard_inverted) word.remove_prefix(1);
            if (word.empty()) return input_error("the guard names no register");
            out.guard = static_cast<int32_t>(register_of(thread, word));
        } else if (!word.empty()) {
            rest += (rest.empty() ? "" : " ") + std::string(word);
        }
    }
    return rest;
}

Result<void> read_machine_form(Form& form, std::string_view head) {
    if (form.test.model == "nvshmem" && head.starts_with("nvshmem")) return read_shmem(form, head);
    if (form.test.model == "caches") return read_sass(form, head);
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
