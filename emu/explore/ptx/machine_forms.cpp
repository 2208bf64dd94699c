// SPDX-License-Identifier: Apache-2.0
// Mnemonics of the machines that are no consistency models: nvshmem_* and SASS. docs/litmus.md,
// sections 6 and 7.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

Result<void> read_shmem(Form& form, std::string_view head) {
    using Whose = op::OnMachine::Whose;
    auto& out = form.out.emplace<op::OnMachine>();
    sassemu_operation& what = out.what;
    constexpr std::pair<std::string_view, Whose> quiets[] = {
        {"nvshmem_quiet", Whose::own},
        {"nvshmemx_quiet_on_stream", Whose::launched},
        {"nvshmem_barrier_all", Whose::all}};
    if (const auto* whose = lookup(quiets, head); whose || head == "nvshmem_fence") {
        what.kind = whose ? SASSEMU_OPERATION_QUIET : SASSEMU_OPERATION_ORDER;
        if (whose) out.whose = *whose;
        if (out.whose == Whose::launched && form.thread.kind != ThreadKind::stream)
            return input_error("nvshmemx_quiet_on_stream belongs to a stream");
        return form.count(0, 0);
    }
    what.early = head.ends_with("_nbi");
    const std::string_view name = what.early ? head.substr(0, head.size() - 4) : head;
    if (head == "nvshmem_p" || name == "nvshmem_amo_add") {
        what.kind = head == "nvshmem_p" ? SASSEMU_OPERATION_STORE : SASSEMU_OPERATION_REDUCE;
        return form.read(out.at, out.value);
    }
    if (name == "nvshmem_put" || name == "nvshmem_get") {
        what.kind = SASSEMU_OPERATION_COPY;
        what.gets = name == "nvshmem_get";
        return form.read(out.at, out.other);
    }
    if (head == "nvshmem_g") {
        what.kind = SASSEMU_OPERATION_LOAD;
        out.blocks = true;
        return form.read(out.to, out.at);
    }
    if (head == "nvshmem_amo_fetch_add") {
        what.kind = SASSEMU_OPERATION_ATOMIC;
        out.atomic = AtomicOp::add;
        return form.read(out.to, out.at, out.value);
    }
    if (head == "nvshmem_amo_fetch_add_nbi") {
        what.kind = SASSEMU_OPERATION_REDUCE;
        what.gets = true;
        return form.read(out.other, out.at, out.value);
    }
    if (head == "nvshmem_wait_until" || head == "nvshmem_test") {
        what.kind = SASSEMU_OPERATION_LOAD;
        out.until =
            form.words.next() == "ne" ? op::OnMachine::Until::differs : op::OnMachine::Until::equal;
        if (!form.words.take("eq") && !form.words.take("ne"))
            return input_error("'" + std::string(head) + "' takes .eq or .ne");
        return head == "nvshmem_test" ? form.read(out.to, out.at, out.value)
                                      : form.read(out.at, out.value);
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

Result<void> read_membar(Form& form, sassemu_operation& fence) {
    constexpr std::pair<std::string_view, uint8_t> levels[] = {
        {"CTA", SASSEMU_LEVEL_SM}, {"SM", SASSEMU_LEVEL_SM},   {"VC", SASSEMU_LEVEL_VC},
        {"GL", SASSEMU_LEVEL_GPU}, {"GPU", SASSEMU_LEVEL_GPU}, {"SYS", SASSEMU_LEVEL_SYS}};
    const uint8_t* level = lookup(levels, form.words.next());
    if (!level) return input_error("MEMBAR takes a level: CTA, SM, VC, GL (GPU) or SYS");
    form.words.pop();
    fence.kind = SASSEMU_OPERATION_FENCE;
    fence.ordering = SASSEMU_SC;
    fence.scope = *level;
    const std::string_view next = form.words.next();
    fence.invalidate_data = next == "IVALLD" || next == "IVALLTD";
    fence.invalidate_texture = next == "IVALLT" || next == "IVALLTD";
    if (fence.invalidate_data || fence.invalidate_texture) form.words.pop();
    return form.count(0, 0);
}

Result<void> read_sass(Form& form, std::string_view head) {
    auto& out = form.out.emplace<op::OnMachine>();
    sassemu_operation& what = out.what;
    if (head == "MEMBAR") return read_membar(form, what);
    if (head == "CCTL" || head == "CCTLT") {
        what.kind = SASSEMU_OPERATION_CACHE;
        what.cache = head == "CCTLT" ? SASSEMU_CACHE_TEXTURE : SASSEMU_CACHE_DATA;
        what.has_address = head == "CCTL" && form.words.take("IV");
        what.action = what.has_address ? SASSEMU_CACHE_INVALIDATE : SASSEMU_CACHE_INVALIDATE_ALL;
        if (!what.has_address && !form.words.take("IVALL"))
            return input_error("the cache operations are CCTL.IV, CCTL.IVALL and CCTLT.IVALL");
        return what.has_address ? form.read(out.at) : form.count(0, 0);
    }
    what.kind = SASSEMU_OPERATION_LOAD;
    bool bypasses = false;
    if (head == "PRELOAD") return form.read(out.at);
    if (head == "LD" || head == "TLD") {
        if (head == "TLD")
            what.proxy = SASSEMU_VIA_TEXTURE;
        else if (form.words.take("CV"))
            bypasses = true;
        else if (!form.words.done() && !take_strong(form, bypasses))
            return form.unknown_word();
        if (bypasses) what.flags = SASSEMU_ACCESS_CACHE_CV;
        return form.read(out.to, out.at);
    }
    if (head == "ST") {
        what.kind = SASSEMU_OPERATION_STORE;
        if (!form.words.done() && !take_strong(form, bypasses)) return form.unknown_word();
        return form.read(out.at, out.value);
    }
    if (head == "ATOM") {
        what.kind = SASSEMU_OPERATION_ATOMIC;
        out.atomic = form.words.next() == "ADD" ? AtomicOp::add : AtomicOp::exch;
        if (!form.words.take("ADD") && !form.words.take("EXCH"))
            return input_error("the atomic operations are ATOM.ADD and ATOM.EXCH");
        return form.read(out.to, out.at, out.value);
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

Result<std::string> strip_sass(std::string_view text, Thread& thread, Statement& out) {
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
    if (form.test.model == "nvshmem" && head.starts_with("nvshmem")) {
        SASSEMU_TRY(read_shmem(form, head));
        const Place* part = nullptr;
        for_operands(form.out, Overloaded{[&](const Place& p) { part = p.offset ? &p : part; },
                                          [](const auto&) {}});
        if (!part) return {};
        return input_error("'" + form.test.names[part->name].text +
                           "': symmetric objects are named as a whole");
    }
    if (form.test.model == "caches") return read_sass(form, head);
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
