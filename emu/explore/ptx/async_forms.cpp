// SPDX-License-Identifier: Apache-2.0
// Mnemonics of asynchronous copies and stores: cp.async, cp.async.bulk, st.async, red.async, and of
// tensor maps. See docs/litmus.md, section 2.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

const Location& object(const Form& form, const Operand& memory) {
    return form.test.locations[form.test.names[memory.name].location];
}

Result<void> need_mbarrier(const Form& form, const Operand& memory) {
    if (object(form, memory).kind == LocationKind::mbarrier) return {};
    return input_error("'" + object(form, memory).name + "' is no mbarrier");
}

// st.async and red.async [s], v, [b]
Result<void> read_store_async(Form& form, bool reduces) {
    Instruction& out = form.out;
    out.op = Op::store_async;
    out.proxy = SASSEMU_PROXY_ASYNC;
    form.needs(90);
    uint32_t space = 0;
    while (!form.words.done()) {
        if (form.words.take("weak") || form.words.take("relaxed") || form.words.take("cluster") ||
            form.words.take("mbarrier::complete_tx::bytes")) {
        } else if (!space && form.take_space(space)) {
        } else if (reduces && out.atomic == AtomicOp::none &&
                   atomic_op(form.words.next()) != AtomicOp::none) {
            out.atomic = atomic_op(form.words.pop());
        } else if (!form.take_type()) {
            return form.unknown_word();
        }
    }
    if (reduces && out.atomic == AtomicOp::none)
        return input_error("'" + std::string(form.mnemonic) + "' names no operation");
    SASSEMU_TRY(form.count(3, 3));
    SASSEMU_ASSIGN(out.b, form.memory(0));
    SASSEMU_ASSIGN(out.c, form.value(1));
    SASSEMU_ASSIGN(out.d, form.memory(2));
    SASSEMU_TRY(need_mbarrier(form, out.d));
    SASSEMU_TRY(form.set_bytes(out.b));
    const Location& to = object(form, out.b);
    if (to.space != SASSEMU_SPACE_SHARED_CTA)
        return input_error("'" + to.name + "' is not in shared memory");
    if (to.cta != object(form, out.d).cta)
        return input_error("the data and the mbarrier are in different CTAs");
    if (out.bytes != 4 && out.bytes != 8)
        return input_error("st.async and red.async are of 4 or 8 bytes");
    return form.check_space(out.b, space);
}

// cp.async{.ca,.cg}.shared.global [s], [g]; commit_group; wait_group n; wait_all; mbarrier.arrive
Result<void> read_copy_async(Form& form) {
    Instruction& out = form.out;
    form.needs(80);
    if (form.words.take("commit_group")) {
        out.op = Op::copy_commit;
        return form.count(0, 0);
    }
    if (form.words.take("wait_group")) {
        out.op = Op::copy_wait;
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.c.value, form.constant(0));
        return {};
    }
    if (form.words.take("wait_all")) {
        out.op = Op::copy_wait;
        out.negated = true;  // committed or not
        return form.count(0, 0);
    }
    if (form.words.take("mbarrier")) {
        if (!form.words.take("arrive")) return form.unknown_word();
        out.op = Op::copy_arrive;
        out.no_increment = form.words.take("noinc");
        uint32_t space = 0;
        form.take_space(space);
        form.words.take("b64");
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        return need_mbarrier(form, out.b);
    }
    out.op = Op::copy_async;
    while (form.words.take("ca") || form.words.take("cg") || form.words.take("shared") ||
           form.words.take("shared::cta") || form.words.take("global")) {
    }
    SASSEMU_TRY(form.count(2, 3));
    SASSEMU_ASSIGN(out.a, form.memory(0));
    SASSEMU_ASSIGN(out.b, form.memory(1));
    if (object(form, out.a).space != SASSEMU_SPACE_SHARED_CTA ||
        object(form, out.b).space != SASSEMU_SPACE_GLOBAL)
        return input_error("cp.async copies from global to shared memory");
    out.bytes = form.test.names[out.a.name].bytes - out.a.offset;
    if (form.operands.size() == 3) {
        SASSEMU_ASSIGN(out.bytes, form.constant(2));
    }
    SASSEMU_TRY(form.set_bytes(out.a));
    return form.set_bytes(out.b);
}

// The completion mechanism and, for reductions, the operation; then unknown words are errors.
Result<void> read_bulk_words(Form& form, bool reduces) {
    Instruction& out = form.out;
    bool completes = false;
    while (!form.words.done()) {
        if (form.words.take("mbarrier::complete_tx::bytes"))
            completes = true;
        else if (form.words.take("bulk_group"))
            out.group = true;
        else if (form.words.take("tile") || form.words.take("L2::cache_hint") ||
                 form.words.take("noftz")) {
        } else if (reduces && out.atomic == AtomicOp::none &&
                   atomic_op(form.words.next()) != AtomicOp::none)
            out.atomic = atomic_op(form.words.pop());
        else if (!form.take_type())
            return form.unknown_word();
    }
    out.bytes = 0;  // the type is of an element
    if (completes == out.group)
        return input_error("a bulk copy completes on an mbarrier or in a bulk_group");
    if (reduces && out.atomic == AtomicOp::none)
        return input_error("the reduction's operation is missing");
    return {};
}

Result<void> read_bulk(Form& form, bool reduces) {
    Instruction& out = form.out;
    form.needs(90);
    out.proxy = SASSEMU_PROXY_ASYNC;
    if (!reduces && form.words.take("commit_group")) {
        out.op = Op::bulk_commit;
        return form.count(0, 0);
    }
    if (!reduces && form.words.take("wait_group")) {
        out.op = Op::bulk_wait;
        out.reads_only = form.words.take("read");
        SASSEMU_TRY(form.count(1, 1));
        SASSEMU_ASSIGN(out.c.value, form.constant(0));
        return {};
    }
    const bool tensor = form.words.take("tensor");
    out.op = tensor ? Op::bulk_tensor : Op::bulk;
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
    SASSEMU_TRY(read_bulk_words(form, reduces));
    if (out.group != out_of_shared)
        return input_error(out_of_shared ? "a copy to global memory completes in a bulk_group"
                                         : "a copy to shared memory completes on an mbarrier");
    const size_t operands = (tensor ? 2 : 3) + (out.group ? 0 : 1);
    SASSEMU_TRY(form.count(operands, operands));
    SASSEMU_ASSIGN(out.a, form.memory(0));
    SASSEMU_ASSIGN(out.b, form.memory(1));
    if (tensor) {
        const Operand& map = out_of_shared ? out.a : out.b;
        if (object(form, map).kind != LocationKind::tensor_map)
            return input_error("'" + object(form, map).name + "' is no tensor map");
        const Operand& shared = out_of_shared ? out.b : out.a;
        out.bytes = form.test.names[shared.name].bytes - shared.offset;
        SASSEMU_TRY(form.check_space(shared, 0));
    } else {
        SASSEMU_ASSIGN(out.bytes, form.constant(2));
        SASSEMU_TRY(form.set_bytes(out.a));
        SASSEMU_TRY(form.set_bytes(out.b));
        SASSEMU_TRY(form.check_space(out.a, 0));
        SASSEMU_TRY(form.check_space(out.b, 0));
    }
    if (!out.bytes) return input_error("the copy is of no bytes");
    if (!out.group) {
        SASSEMU_ASSIGN(out.d, form.memory(operands - 1));
        return need_mbarrier(form, out.d);
    }
    return {};
}

Result<void> read_tensormap(Form& form) {
    Instruction& out = form.out;
    form.needs(90);
    out.exact_family = true;
    if (form.words.take("replace")) {
        out.op = Op::map_replace;
        uint32_t space = 0;
        form.words.take("tile");
        if (!form.words.take("global_address"))
            return input_error("only the field global_address can be replaced here");
        form.take_space(space);
        form.words.take("b1024"), form.words.take("b64");
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        SASSEMU_ASSIGN(out.c, form.value(1));
        out.bytes = 128;
        if (object(form, out.b).kind != LocationKind::tensor_map)
            return input_error("'" + object(form, out.b).name + "' is no tensor map");
        return form.check_space(out.b, space);
    }
    if (!form.words.take("cp_fenceproxy")) return form.unknown_word();
    out.op = Op::map_publish;
    out.to = SASSEMU_PROXY_TENSORMAP;
    out.order = SASSEMU_ORDER_RELEASE;
    if (!form.words.take("global") || !form.words.take("shared::cta") ||
        !form.words.take("tensormap::generic") || !form.words.take("release"))
        return input_error(
            "the form is "
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.SCOPE");
    if (!form.take_scope()) return input_error("the scope is missing");
    form.words.take("sync"), form.words.take("aligned");
    SASSEMU_TRY(form.count(3, 3));
    SASSEMU_ASSIGN(out.a, form.memory(0));
    SASSEMU_ASSIGN(out.b, form.memory(1));
    SASSEMU_ASSIGN(out.bytes, form.constant(2));
    if (out.bytes != 128) return input_error("the size of a tensor map is 128");
    SASSEMU_TRY(form.set_bytes(out.a));
    return form.set_bytes(out.b);
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
