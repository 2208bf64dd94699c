// SPDX-License-Identifier: Apache-2.0
// Mnemonics of bar, barrier.cluster and mbarrier. See docs/litmus.md, section 2.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

// bar.sync a{, n}; bar.arrive a, n; bar.red.popc.u32 r, a{, n}, {!}c; bar.red.{and,or}.pred
Result<void> read_bar(Form& form) {
    Instruction& out = form.out;
    out.op = Op::barrier;
    out.order = SASSEMU_ORDER_ACQ_REL;
    out.scope = SASSEMU_SCOPE_CTA;
    out.arrives = true;
    size_t at = 0, most = 2, least = 1;
    if (form.words.take("sync")) {
        out.waits = true;
    } else if (form.words.take("arrive")) {
        out.order = SASSEMU_ORDER_RELEASE;
        if (!form.test.corpus()) least = 2;
    } else if (form.words.take("red")) {
        out.waits = true;
        if (form.words.take("popc"))
            out.reduction = Reduction::count;
        else if (form.words.take("and"))
            out.reduction = Reduction::all;
        else if (form.words.take("or"))
            out.reduction = Reduction::any;
        else
            return form.unknown_word();
        least = 3, most = 4, at = 1;
    } else {
        return form.unknown_word();
    }
    while (form.words.take("aligned") || form.words.take("pred") || form.words.take("u32")) {
    }
    if (form.thread.kind != ThreadKind::thread)
        return input_error("only a thread of a CTA has barriers");
    if (form.operands.size() < least && !out.waits) return input_error("bar.arrive needs a count");
    SASSEMU_TRY(form.count(least, most));
    SASSEMU_ASSIGN(out.b, form.value(at));
    if (out.b.kind == Operand::Kind::value && out.b.value > 15)
        return input_error("barrier numbers are 0..15");
    const size_t last = form.operands.size() - (at ? 1 : 0);
    if (at + 1 < last) {
        SASSEMU_ASSIGN(out.c, form.value(at + 1));
    }
    if (at) {
        SASSEMU_ASSIGN(out.a, form.reg(0));
        SASSEMU_ASSIGN(out.d, form.value(last));
        out.negated = form.operands[last].starts_with('!');
    }
    return {};
}

Result<void> read_cluster(Form& form) {
    Instruction& out = form.out;
    out.scope = SASSEMU_SCOPE_CLUSTER;
    form.needs(90);
    if (form.thread.kind != ThreadKind::thread)
        return input_error("only a thread of a cluster has its barrier");
    if (form.words.take("arrive")) {
        out.op = Op::cluster_arrive;
        out.arrives = true;
        out.order = form.words.take("relaxed") ? SASSEMU_ORDER_RELAXED : SASSEMU_ORDER_RELEASE;
        if (out.order == SASSEMU_ORDER_RELEASE) form.words.take("release");
    } else if (form.words.take("wait")) {
        out.op = Op::cluster_wait;
        out.waits = true;
        out.order = SASSEMU_ORDER_ACQUIRE;
        if (form.words.next() == "relaxed")
            return input_error("barrier.cluster.wait is always .acquire");
        form.words.take("acquire");
    } else {
        return form.unknown_word();
    }
    form.words.take("aligned");
    return form.count(0, 0);
}

Result<void> check_mbarrier(Form& form, const Operand& memory, bool own_cta) {
    const Location& object = form.test.locations[form.test.names[memory.name].location];
    if (object.kind != LocationKind::mbarrier)
        return input_error("'" + object.name + "' is no mbarrier");
    if (own_cta && object.cta != form.thread.cta)
        return input_error(
            "'" + object.name +
            "' is no mbarrier of the thread's own CTA, and only that can be waited on");
    return form.check_space(memory, 0);
}

Result<void> read_mbarrier_arrival(Form& form) {
    Instruction& out = form.out;
    bool ordered = false;
    uint32_t space = 0;
    while (!form.words.done()) {
        if (form.words.take("noComplete")) {
            out.no_complete = true;
        } else if (out.op == Op::mbarrier_arrive && form.words.take("expect_tx")) {
            out.expects = true;
            form.needs(90);
        } else if (!ordered && out.op == Op::mbarrier_arrive && form.words.take("release")) {
            out.order = SASSEMU_ORDER_RELEASE, ordered = true;
        } else if (!ordered && form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED, ordered = true;
            form.needs(90);
        } else if (out.scope == SASSEMU_SCOPE_NONE && form.take_scope()) {
            form.needs(90);
        } else if (!space && form.take_space(space)) {
        } else if (form.words.next() == "acquire") {
            return input_error("an arrival is .release or .relaxed");
        } else if (!form.words.take("b64")) {
            return form.unknown_word();
        }
    }
    if (out.op != Op::mbarrier_arrive) form.needs(90);
    if (!ordered)
        out.order = out.op == Op::mbarrier_arrive ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED;
    if (out.scope == SASSEMU_SCOPE_NONE) out.scope = SASSEMU_SCOPE_CTA;
    // An arrival may write its state to a register, which nothing here can use: `r, [b]` or `_,
    // [b]`.
    size_t at = !form.operands.empty() && !form.operands[0].starts_with('[') ? 1 : 0;
    const bool needs_bytes = out.op != Op::mbarrier_arrive || out.expects || out.no_complete;
    SASSEMU_TRY(form.count(at + (needs_bytes ? 2 : 1), at + 2));
    SASSEMU_ASSIGN(out.b, form.memory(at));
    if (form.operands.size() > at + 1) {
        SASSEMU_ASSIGN(out.c, form.value(at + 1));
    }
    return check_mbarrier(form, out.b, false);
}

Result<void> read_mbarrier(Form& form) {
    Instruction& out = form.out;
    form.needs(80);
    if (form.words.take("init")) {
        out.op = Op::mbarrier_init;
        uint32_t space = 0;
        form.take_space(space), form.words.take("b64");
        SASSEMU_TRY(form.count(2, 2));
        SASSEMU_ASSIGN(out.b, form.memory(0));
        SASSEMU_ASSIGN(out.c, form.value(1));
        return check_mbarrier(form, out.b, true);
    }
    if (form.words.take("arrive") || form.words.next() == "arrive_drop") {
        out.op = Op::mbarrier_arrive;
        out.drop = form.words.take("arrive_drop");
        return read_mbarrier_arrival(form);
    }
    if (form.words.take("expect_tx")) {
        out.op = Op::mbarrier_expect;
        return read_mbarrier_arrival(form);
    }
    if (form.words.take("complete_tx")) {
        out.op = Op::mbarrier_complete;
        return read_mbarrier_arrival(form);
    }
    const bool tries = form.words.take("try_wait");
    if (!tries && !form.words.take("test_wait")) return form.unknown_word();
    if (tries) form.needs(90);
    out.op = Op::mbarrier_wait;
    out.order = SASSEMU_ORDER_ACQUIRE;
    uint32_t space = 0;
    while (!form.words.done()) {
        if (form.words.take("parity") || form.words.take("b64") || form.words.take("acquire")) {
        } else if (form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED;
            form.needs(90);
        } else if (out.scope == SASSEMU_SCOPE_NONE && form.take_scope()) {
            form.needs(90);
        } else if (space || !form.take_space(space)) {
            return form.unknown_word();
        }
    }
    if (space == SASSEMU_SPACE_SHARED_CLUSTER)
        return input_error(
            "a thread waits on an mbarrier of its own CTA: .shared::cluster is for arrivals");
    if (out.scope == SASSEMU_SCOPE_NONE) out.scope = SASSEMU_SCOPE_CTA;
    const size_t at = !form.operands.empty() && !form.operands[0].starts_with('[') ? 1 : 0;
    SASSEMU_TRY(form.count(at + 2, at + 2));
    if (at) {
        SASSEMU_ASSIGN(out.a, form.reg(0));
        out.fetches = true;
    }
    SASSEMU_ASSIGN(out.b, form.memory(at));
    SASSEMU_ASSIGN(out.c, form.value(at + 1));
    return check_mbarrier(form, out.b, true);
}

}  // namespace

Result<void> read_barrier_form(Form& form, std::string_view head) {
    if (head == "mbarrier") return read_mbarrier(form);
    if (head == "bar") return read_bar(form);
    if (head == "barrier") {
        if (form.words.take("cluster")) return read_cluster(form);
        form.words.take("cta");
        return read_bar(form);
    }
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
