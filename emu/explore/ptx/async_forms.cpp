// SPDX-License-Identifier: Apache-2.0
// Mnemonics of asynchronous copies and stores: cp.async, cp.async.bulk, st.async, red.async, and of
// tensor maps. See docs/litmus.md, section 2.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

Result<void> need_tensor_map(const Form& form, const Place& memory) {
    if (form.location(memory).kind == LocationKind::tensor_map) return {};
    return input_error("'" + form.location(memory).name + "' is no tensor map");
}

// st.async and red.async [s], v, [b]
Result<void> read_store_async(Form& form, bool reduces) {
    op::StoreAsync out;
    form.needs(90);
    while (!form.words.done()) {
        if (form.words.take("weak") || form.words.take("relaxed") || form.words.take("cluster") ||
            form.words.take("mbarrier::complete_tx::bytes") || form.take_space() ||
            (reduces && form.take_modification(out.by))) {
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    if (reduces && out.by.how == AtomicOp::none)
        return input_error("'" + std::string(form.mnemonic) + "' names no operation");
    SASSEMU_TRY(form.read(out.to, out.value, out.mbarrier));
    SASSEMU_TRY(form.need_mbarrier(out.mbarrier));
    SASSEMU_TRY(form.set_bytes(out.to));
    const Location& to = form.location(out.to);
    if (to.space != SASSEMU_SPACE_SHARED_CTA)
        return input_error("'" + to.name + "' is not in shared memory");
    if (to.cta != form.location(out.mbarrier).cta)
        return input_error("the data and the mbarrier are in different CTAs");
    if (out.to.bytes != 4 && out.to.bytes != 8)
        return input_error("st.async and red.async are of 4 or 8 bytes");
    form.out = out;
    return form.check_space(out.to, form.space);
}

// wait_group n; wait_all: committed or not
Result<void> read_wait(Form& form, GroupKind kind) {
    auto& out = form.out.emplace<op::GroupWait>();
    out.kind = kind;
    out.reads_only = kind == GroupKind::bulks && form.words.take("read");
    return form.read(out.left);
}

// cp.async{.ca,.cg}.shared.global [s], [g]; commit_group; wait_group n; wait_all; mbarrier.arrive
Result<void> read_copy_async(Form& form) {
    form.needs(80);
    if (form.words.take("commit_group")) {
        form.out = op::Commit{GroupKind::copies};
        return form.count(0, 0);
    }
    if (form.words.take("wait_group")) return read_wait(form, GroupKind::copies);
    if (form.words.take("wait_all")) {
        form.out = op::GroupWait{GroupKind::copies, 0, true};
        return form.count(0, 0);
    }
    if (form.words.take("mbarrier")) {
        if (!form.words.take("arrive")) return form.unknown_word();
        auto& out = form.out.emplace<op::CopiesArrive>();
        out.no_increment = form.words.take("noinc");
        form.take_space();
        form.words.take("b64");
        SASSEMU_TRY(form.read(out.mbarrier));
        return form.need_mbarrier(out.mbarrier);
    }
    auto& out = form.out.emplace<op::CopyAsync>();
    while (form.words.take("ca") || form.words.take("cg") || form.words.take("shared") ||
           form.words.take("shared::cta") || form.words.take("global")) {
    }
    SASSEMU_TRY(form.count(2, 3));
    SASSEMU_TRY(form.operand(0, out.to));
    SASSEMU_TRY(form.operand(1, out.from));
    if (form.location(out.to).space != SASSEMU_SPACE_SHARED_CTA ||
        form.location(out.from).space != SASSEMU_SPACE_GLOBAL)
        return input_error("cp.async copies from global to shared memory");
    if (form.operands.size() == 3) SASSEMU_TRY(form.operand(2, form.bytes));
    SASSEMU_TRY(form.set_bytes(out.to));
    return form.set_bytes(out.from);
}

// The completion mechanism and, for reductions, the operation; then unknown words are errors.
// `group`: it completes in a bulk_group, else on an mbarrier.
Result<void> read_bulk_words(Form& form, bool reduces, op::Modification& by, bool& group) {
    bool completes = false;
    group = false;
    while (!form.words.done()) {
        if (form.words.take("mbarrier::complete_tx::bytes"))
            completes = true;
        else if (form.words.take("bulk_group"))
            group = true;
        else if (form.words.take("tile") || form.words.take("L2::cache_hint") ||
                 form.words.take("noftz") || (reduces && form.take_modification(by))) {
        } else if (!form.take_type())
            return form.unknown_word();
    }
    form.bytes = 0;  // the type is of an element
    if (completes == group)
        return input_error("a bulk copy completes on an mbarrier or in a bulk_group");
    if (reduces && by.how == AtomicOp::none)
        return input_error("the reduction's operation is missing");
    return {};
}

Result<void> read_bulk(Form& form, bool reduces) {
    form.needs(90);
    if (!reduces && form.words.take("commit_group")) {
        form.out = op::Commit{GroupKind::bulks};
        return form.count(0, 0);
    }
    if (!reduces && form.words.take("wait_group")) return read_wait(form, GroupKind::bulks);
    const bool tensor = form.words.take("tensor");
    if (tensor) {
        const std::string_view dim = form.words.pop();
        if (dim.size() != 2 || dim[0] < '1' || dim[0] > '5' || dim[1] != 'd')
            return input_error("a tensor copy has 1d to 5d");
    }
    const std::string_view to = form.words.pop(), from = form.words.pop();
    const bool out_of_shared = to == "global" && from == "shared::cta";
    if (!out_of_shared && !(to == "shared::cluster" && from == "global") &&
        !(to == "shared::cta" && from == "global") &&
        !(!tensor && to == "shared::cluster" && from == "shared::cta"))
        return input_error("bulk copies do not go from '" + std::string(from) + "' to '" +
                           std::string(to) + "'");
    op::Bulk out;
    bool group = false;
    SASSEMU_TRY(read_bulk_words(form, reduces, out.by, group));
    if (group != out_of_shared)
        return input_error(out_of_shared ? "a copy to global memory completes in a bulk_group"
                                         : "a copy to shared memory completes on an mbarrier");
    const size_t operands = (tensor ? 2 : 3) + (group ? 0 : 1);
    SASSEMU_TRY(form.count(operands, operands));
    SASSEMU_TRY(form.operand(0, out.to));
    SASSEMU_TRY(form.operand(1, out.from));
    if (tensor) {
        const Place& map = out_of_shared ? out.to : out.from;
        SASSEMU_TRY(need_tensor_map(form, map));
        Place& shared = out_of_shared ? out.from : out.to;
        SASSEMU_TRY(form.set_bytes(shared));
        SASSEMU_TRY(form.check_space(shared));
    } else {
        SASSEMU_TRY(form.operand(2, form.bytes));
        for (Place* side : {&out.to, &out.from}) {
            SASSEMU_TRY(form.set_bytes(*side));
            SASSEMU_TRY(form.check_space(*side));
        }
    }
    if (!group) {
        SASSEMU_TRY(form.operand(operands - 1, out.mbarrier));
        SASSEMU_TRY(form.need_mbarrier(*out.mbarrier));
    }
    if (tensor && out_of_shared)
        form.out = op::BulkTensor{out.from, out.to, {}};
    else if (tensor)
        form.out = op::BulkTensor{out.to, out.from, out.mbarrier};
    else
        form.out = out;
    return {};
}

Result<void> read_tensormap(Form& form) {
    form.needs(90);
    form.exact_family = true;
    if (form.words.take("replace")) {
        auto& out = form.out.emplace<op::MapReplace>();
        form.words.take("tile");
        if (!form.words.take("global_address"))
            return input_error("only the field global_address can be replaced here");
        form.take_space();
        form.words.take("b1024"), form.words.take("b64");
        SASSEMU_TRY(form.read(out.map, out.value));
        SASSEMU_TRY(need_tensor_map(form, out.map));
        return form.check_space(out.map, form.space);
    }
    if (!form.words.take("cp_fenceproxy")) return form.unknown_word();
    auto& out = form.out.emplace<op::MapPublish>();
    if (!form.words.take("global") || !form.words.take("shared::cta") ||
        !form.words.take("tensormap::generic") || !form.words.take("release"))
        return input_error(
            "the form is "
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE");
    if (!form.take_scope()) return input_error("the scope is missing");
    out.scope = form.scope;
    form.words.take("sync"), form.words.take("aligned");
    SASSEMU_TRY(form.read(out.to, out.from, form.bytes));
    if (form.bytes != 128) return input_error("the size of a tensor map is 128");
    SASSEMU_TRY(form.set_bytes(out.to));
    return form.set_bytes(out.from);
}

}  // namespace

Result<void> read_async_form(Form& form, std::string_view head) {
    if (form.thread.kind == ThreadKind::thread) {
        if (head == "st" || head == "red") {
            if (!form.words.take("async")) return input_error("internal: not asynchronous");
            return read_store_async(form, head == "red");
        }
        if (head == "cp") {
            const bool reduces = form.words.take("reduce");
            if (!form.words.take("async")) return form.unknown_word();
            if (form.words.take("bulk")) return read_bulk(form, reduces);
            return reduces ? Result<void>(form.unknown_word()) : read_copy_async(form);
        }
        if (head == "tensormap") return read_tensormap(form);
    }
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
