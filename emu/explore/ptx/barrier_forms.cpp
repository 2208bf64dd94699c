// SPDX-License-Identifier: Apache-2.0
// Mnemonics of bar, barrier.cluster and mbarrier. See docs/litmus.md, section 2.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

// bar.sync a{, n}; bar.arrive a, n; bar.red.popc.u32 r, a{, n}, {!}c; bar.red.{and,or}.pred
Result<void> read_bar(Form& form) {
    auto& out = form.out.emplace<op::Barrier>();
    out.waits = true;
    size_t first = 0, most = 2, least = 1;
    if (form.words.take("arrive")) {
        out.waits = false;
        out.order = SASSEMU_ORDER_RELEASE;
        if (!form.test.corpus()) least = 2;
    } else if (form.words.take("red")) {
        constexpr std::pair<std::string_view, Reduction> reductions[] = {
            {"popc", Reduction::count}, {"and", Reduction::all}, {"or", Reduction::any}};
        const Reduction* found = lookup(reductions, form.words.next());
        if (!found) return form.unknown_word();
        out.reduction = *found;
        form.words.pop();
        least = 3, most = 4, first = 1;
    } else if (!form.words.take("sync")) {
        return form.unknown_word();
    }
    while (form.words.take("aligned") || form.words.take("pred") || form.words.take("u32")) {
    }
    if (form.thread.kind != ThreadKind::thread)
        return input_error("only a thread of a CTA has barriers");
    if (form.operands.size() < least && !out.waits) return input_error("bar.arrive needs a count");
    SASSEMU_TRY(form.count(least, most));
    SASSEMU_TRY(form.operand(first, out.number));
    if (const auto* number = std::get_if<uint64_t>(&out.number); number && *number > 15)
        return input_error("barrier numbers are 0..15");
    const size_t last = form.operands.size() - first;
    if (first + 1 < last) SASSEMU_TRY(form.operand(first + 1, out.count));
    if (first) {
        SASSEMU_TRY(form.operand(0, out.to));
        SASSEMU_TRY(form.operand(last, out.predicate));
        out.negated = form.operands[last].starts_with('!');
    }
    return {};
}

Result<void> read_cluster(Form& form) {
    form.needs(90);
    if (form.thread.kind != ThreadKind::thread)
        return input_error("only a thread of a cluster has its barrier");
    if (form.words.take("arrive")) {
        auto& out = form.out.emplace<op::ClusterArrive>();
        if (form.words.take("relaxed"))
            out.order = SASSEMU_ORDER_RELAXED;
        else
            form.words.take("release");
    } else if (form.words.take("wait")) {
        form.out = op::ClusterWait{};
        if (form.words.next() == "relaxed")
            return input_error("barrier.cluster.wait is always .acquire");
        form.words.take("acquire");
    } else {
        return form.unknown_word();
    }
    form.words.take("aligned");
    return form.count(0, 0);
}

Result<void> check_mbarrier(Form& form, const Place& memory, bool own_cta) {
    SASSEMU_TRY(form.need_mbarrier(memory));
    const Location& object = form.location(memory);
    if (own_cta && object.cta != form.thread.cta)
        return input_error("'" + object.name +
                           "' is no mbarrier of the thread's own CTA, and only "
                           "that can be waited on");
    return form.check_space(memory);
}

// Where the operand of the object is: a state may be written to a register before it, which nothing
// here can use (`r, [b]` or `_, [b]`), or whether a wait succeeded.
size_t place_of_object(const Form& form) {
    return !form.operands.empty() && !form.operands[0].starts_with('[') ? 1 : 0;
}

// arrive, arrive_drop; and (`out` is no arrival) expect_tx, complete_tx
template <class Kind>
Result<void> read_mbarrier_arrival(Form& form, Kind out) {
    constexpr bool arrives = std::is_same_v<Kind, op::MbarrierArrive>;
    bool ordered = false, bytes = !arrives;
    out.order = arrives ? SASSEMU_ORDER_RELEASE : SASSEMU_ORDER_RELAXED;
    const auto take_own = [&] {
        if constexpr (arrives) {
            if (form.words.take("noComplete")) return bytes = out.no_complete = true;
            if (form.words.take("expect_tx")) {
                form.needs(90);
                return bytes = out.expects = true;
            }
            if (!ordered && form.words.take("release")) return ordered = true;
        }
        return false;
    };
    while (!form.words.done()) {
        if (take_own()) {
        } else if (!ordered && form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED, ordered = true;
            form.needs(90);
        } else if (form.take_scope()) {
            form.needs(90);
        } else if (form.take_space()) {
        } else if (form.words.next() == "acquire") {
            return input_error("an arrival is .release or .relaxed");
        } else if (!form.words.take("b64")) {
            return form.unknown_word();
        }
    }
    if (!arrives) form.needs(90);
    out.scope = form.scope ? form.scope : uint32_t{SASSEMU_SCOPE_CTA};
    const size_t at = place_of_object(form);
    SASSEMU_TRY(form.count(at + (bytes ? 2 : 1), at + 2));
    SASSEMU_TRY(form.operand(at, out.at));
    if (form.operands.size() > at + 1) SASSEMU_TRY(form.operand(at + 1, out.amount));
    form.out = out;
    return check_mbarrier(form, out.at, false);
}

Result<void> read_mbarrier(Form& form) {
    form.needs(80);
    if (form.words.take("init")) {
        auto& out = form.out.emplace<op::MbarrierInit>();
        form.take_space(), form.words.take("b64");
        SASSEMU_TRY(form.read(out.at, out.amount));
        return check_mbarrier(form, out.at, true);
    }
    if (form.words.take("arrive")) return read_mbarrier_arrival(form, op::MbarrierArrive{});
    if (form.words.take("arrive_drop"))
        return read_mbarrier_arrival(form, op::MbarrierArrive{{}, true});
    if (form.words.take("expect_tx")) return read_mbarrier_arrival(form, op::MbarrierTransaction{});
    if (form.words.take("complete_tx"))
        return read_mbarrier_arrival(form, op::MbarrierTransaction{{}, true});
    const bool tries = form.words.take("try_wait");
    if (!tries && !form.words.take("test_wait")) return form.unknown_word();
    if (tries) form.needs(90);
    auto& out = form.out.emplace<op::MbarrierWait>();
    out.order = SASSEMU_ORDER_ACQUIRE;
    while (!form.words.done()) {
        if (form.words.take("parity") || form.words.take("b64") || form.words.take("acquire")) {
        } else if (form.words.take("relaxed")) {
            out.order = SASSEMU_ORDER_RELAXED;
            form.needs(90);
        } else if (form.take_scope()) {
            form.needs(90);
        } else if (!form.take_space()) {
            return form.unknown_word();
        }
    }
    if (form.space == SASSEMU_SPACE_SHARED_CLUSTER)
        return input_error(
            "a thread waits on an mbarrier of its own CTA: "
            ".shared::cluster is for arrivals");
    out.scope = form.scope ? form.scope : uint32_t{SASSEMU_SCOPE_CTA};
    const size_t at = place_of_object(form);
    SASSEMU_TRY(form.read_from(at, out.at, out.amount));
    if (at) SASSEMU_TRY(form.operand(0, out.to));
    return check_mbarrier(form, out.at, true);
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
