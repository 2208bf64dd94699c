// SPDX-License-Identifier: Apache-2.0
// Mnemonics of the tensor units: wgmma and tcgen05. See docs/litmus.md, section 2.
#include <algorithm>
#include <charconv>

#include "emu/explore/ptx/forms.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::explore {
namespace {

// Words that PTX wants and the memory model does not: shapes, kinds, group sizes.
void skip_shape_words(Form& form) {
    for (;;) {
        const std::string_view w = form.words.next();
        const bool shape = !w.empty() && w.find_first_not_of("0123456789xbmnk") == w.npos;
        if (!shape && !w.starts_with("cta_group::") && !w.starts_with("kind::") &&
            !w.starts_with("mbarrier::arrive") && w != "sync" && w != "aligned" && w != "b64" &&
            w != "b32" && w != "shared::cluster" && w != "f16" && w != "f32" && w != "bf16" &&
            w != "tf32")
            return;
        if (form.words.done()) return;
        form.words.pop();
    }
}

Result<void> read_operand(Form& form, size_t i, Operand& out) {
    if (i >= form.operands.size()) return {};
    SASSEMU_ASSIGN(out, form.memory(i));
    return form.check_space(out, 0);
}

Result<void> need_tensor(const Form& form, const Operand& memory) {
    const Location& l = form.test.locations[form.test.names[memory.name].location];
    if (l.space == SASSEMU_SPACE_TENSOR) return {};
    return input_error("'" + l.name + "' is not in tensor memory");
}

Result<void> read_wgmma(Form& form) {
    Instruction& out = form.out;
    form.needs(90);
    out.exact_family = true;
    out.proxy = SASSEMU_PROXY_ASYNC;
    const std::string_view what = form.words.pop();
    skip_shape_words(form);
    if (what == "fence") {
        out.op = Op::wgmma_fence;
        return form.count(0, 0);
    }
    if (what == "commit_group") {
        out.op = Op::wgmma_commit;
        return form.count(0, 0);
    }
    if (what == "wait_group") {
        out.op = Op::wgmma_wait;
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.c.value, form.constant(0));
        return {};
    }
    if (what != "mma_async") return input_error("'wgmma." + std::string(what) + "' is unknown");
    out.op = Op::wgmma;
    SASSEMU_TRY(form.count(2, 3));
    SASSEMU_ASSIGN(out.a, form.reg(0));
    SASSEMU_TRY(read_operand(form, 1, out.b));
    return read_operand(form, 2, out.c);
}

Result<void> read_tcgen05(Form& form) {
    Instruction& out = form.out;
    form.needs(100);
    out.exact_family = true;
    const std::string_view what = form.words.pop();
    skip_shape_words(form);
    const auto plain = [&](Op op) {
        out.op = op;
        return form.count(0, 0);
    };
    if (what == "wait::ld") return plain(Op::tensor_wait_load);
    if (what == "wait::st") return plain(Op::tensor_wait_store);
    if (what == "fence::before_thread_sync") return plain(Op::tensor_before);
    if (what == "fence::after_thread_sync") return plain(Op::tensor_after);
    if (what == "commit") {
        out.op = Op::tensor_commit;
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        const Location& l = form.test.locations[form.test.names[out.b.name].location];
        return l.kind == LocationKind::mbarrier
                   ? Result<void>{}
                   : Result<void>(input_error("'" + l.name + "' is no mbarrier"));
    }
    if (what == "ld") {
        out.op = Op::tensor_load;
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.b, form.memory(1));
        SASSEMU_TRY(form.set_bytes(out.b));
        return need_tensor(form, out.b);
    }
    if (what == "st") {
        out.op = Op::tensor_store;
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        SASSEMU_ASSIGN(out.c, form.value(1));
        SASSEMU_TRY(form.set_bytes(out.b));
        return need_tensor(form, out.b);
    }
    if (what == "mma" || what == "cp") {
        out.op = what == "mma" ? Op::tensor_mma : Op::tensor_copy;
        SASSEMU_TRY(form.count(2, what == "mma" ? 3 : 2));
        SASSEMU_ASSIGN(out.a, form.memory(0));
        SASSEMU_TRY(need_tensor(form, out.a));
        SASSEMU_TRY(read_operand(form, 1, out.b));
        return read_operand(form, 2, out.c);
    }
    return input_error("'tcgen05." + std::string(what) + "' is unknown");
}

}  // namespace

Result<void> read_tensor_form(Form& form, std::string_view head) {
    const bool thread = form.thread.kind == ThreadKind::thread;
    if (thread && head == "wgmma") return read_wgmma(form);
    if (thread && head == "tcgen05") return read_tcgen05(form);
    form.known = false;
    return {};
}

// docs/litmus.md, section 4.
Result<void> check_target(const Instruction& instruction, std::string_view target) {
    if (target.empty()) return {};
    char variant = 0;
    const sassdec::Architecture* chip =
        target.starts_with("sm_") ? sassdec::find_architecture(target, &variant) : nullptr;
    uint32_t sm = chip ? chip->sm : 0;
    if (!chip && target.starts_with("sm_")) {  // PTX has targets older than the list
        const char* end = target.data() + target.size();
        const auto [at, status] = std::from_chars(target.data() + 3, end, sm);
        if (status != std::errc{} || at != end || sm >= sassdec::architectures[0].sm) sm = 0;
    }
    if (!sm)
        return input_error("'" + std::string(target) + "' is no target; " +
                           sassdec::known_architectures);
    const auto needs = [&](std::string_view what) {
        return input_error(instruction.form + " needs " + std::string(what) + ", the target is " +
                           std::string(target));
    };
    const std::string least = "sm_" + std::to_string(instruction.minimum);
    if (!instruction.exact_family) {
        if (sm < instruction.minimum) return needs(least);
        return {};
    }
    if (instruction.form.starts_with("wgmma"))
        return variant && chip->family->wgmma ? Result<void>{} : Result<void>(needs("sm_90a"));
    if (instruction.form.starts_with("tcgen05"))
        return variant && chip->family->tcgen05 ? Result<void>{} : Result<void>(needs("sm_100a"));
    return sm >= instruction.minimum && variant ? Result<void>{} : Result<void>(needs(least + "a"));
}

}  // namespace sassemu::explore
