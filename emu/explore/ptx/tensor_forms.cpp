// SPDX-License-Identifier: Apache-2.0
// Mnemonics of the tensor units: wgmma and tcgen05. See docs/litmus.md, section 2.
#include "emu/explore/ptx/forms.hpp"

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

// The matrices that a product reads, from operand 1 on.
template <class Kind>
Result<void> read_matrices(Form& form, Kind& out) {
    SASSEMU_TRY(form.operand(1, out.b));
    SASSEMU_TRY(form.check_space(out.b));
    if (form.operands.size() == 2) return {};
    SASSEMU_TRY(form.operand(2, out.c));
    return form.check_space(*out.c);
}

Result<void> need_tensor(const Form& form, const Place& memory) {
    if (form.location(memory).space == SASSEMU_SPACE_TENSOR) return {};
    return input_error("'" + form.location(memory).name + "' is not in tensor memory");
}

Result<void> read_wgmma(Form& form) {
    form.needs(90);
    form.exact_family = true;
    const std::string_view what = form.words.pop();
    skip_shape_words(form);
    if (what == "fence" || what == "commit_group") {
        if (what == "fence")
            form.out = op::WgmmaFence{};
        else
            form.out = op::Commit{GroupKind::wgmmas};
        return form.count(0, 0);
    }
    if (what == "wait_group") {
        auto& out = form.out.emplace<op::GroupWait>();
        out.kind = GroupKind::wgmmas;
        return form.read(out.left);
    }
    if (what != "mma_async") return input_error("'wgmma." + std::string(what) + "' is unknown");
    auto& out = form.out.emplace<op::Wgmma>();
    SASSEMU_TRY(form.count(2, 3));
    SASSEMU_TRY(form.operand(0, out.to));
    return read_matrices(form, out);
}

Result<void> read_tcgen05(Form& form) {
    form.needs(100);
    form.exact_family = true;
    const std::string_view what = form.words.pop();
    skip_shape_words(form);
    const auto plain = [&](Operation o) {
        form.out = std::move(o);
        return form.count(0, 0);
    };
    if (what == "wait::ld") return plain(op::TensorWait{false});
    if (what == "wait::st") return plain(op::TensorWait{true});
    if (what == "fence::before_thread_sync")
        return plain(op::TensorFence{SASSEMU_OPERATION_TENSOR_BEFORE});
    if (what == "fence::after_thread_sync")
        return plain(op::TensorFence{SASSEMU_OPERATION_TENSOR_AFTER});
    if (what == "commit") {
        auto& out = form.out.emplace<op::TensorCommit>();
        SASSEMU_TRY(form.read(out.mbarrier));
        return form.need_mbarrier(out.mbarrier);
    }
    if (what == "ld") {
        auto& out = form.out.emplace<op::TensorLoad>();
        SASSEMU_TRY(form.read(out.to, out.from));
        SASSEMU_TRY(form.set_bytes(out.from));
        return need_tensor(form, out.from);
    }
    if (what == "st") {
        auto& out = form.out.emplace<op::TensorStore>();
        SASSEMU_TRY(form.read(out.to, out.value));
        SASSEMU_TRY(form.set_bytes(out.to));
        return need_tensor(form, out.to);
    }
    if (what == "mma" || what == "cp") {
        auto& out = form.out.emplace<op::TensorProduct>();
        out.operation =
            what == "mma" ? SASSEMU_OPERATION_TENSOR_MMA : SASSEMU_OPERATION_TENSOR_COPY;
        SASSEMU_TRY(form.count(2, what == "mma" ? 3 : 2));
        SASSEMU_TRY(form.operand(0, out.to));
        SASSEMU_TRY(need_tensor(form, out.to));
        return read_matrices(form, out);
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

}  // namespace sassemu::explore
