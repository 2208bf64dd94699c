// SPDX-License-Identifier: Apache-2.0
// Mnemonics of fences, membar and proxy fences. See docs/litmus.md, sections 2 and 4.
#include "emu/explore/ptx/forms.hpp"

namespace sassemu::explore {
namespace {

Result<void> need_scope(Form& form, uint32_t& out) {
    if (!form.take_scope())
        return input_error("'" + std::string(form.mnemonic) + "' needs a scope");
    out = form.scope;
    if (out == SASSEMU_SCOPE_CLUSTER) form.needs(90);
    return {};
}

// .sync_restrict::shared::{cta,cluster}.cluster after .acquire or .release
template <class Kind>
Result<void> read_restricted(Form& form, Kind& out) {
    const bool release = out.order == SASSEMU_ORDER_RELEASE;
    if (form.words.take("sync_restrict::shared::cluster")) {
        if (release) return input_error("sync_restrict::shared::cluster goes with .acquire");
        out.restriction = SASSEMU_SPACE_SHARED_CLUSTER;
    } else if (form.words.take("sync_restrict::shared::cta")) {
        if (!release) return input_error("sync_restrict::shared::cta goes with .release");
        out.restriction = SASSEMU_SPACE_SHARED_CTA;
    } else {
        return form.unknown_word();
    }
    form.needs(90);
    SASSEMU_TRY(need_scope(form, out.scope));
    if (out.scope != SASSEMU_SCOPE_CLUSTER)
        return input_error("a sync_restrict fence has scope .cluster");
    return {};
}

Result<void> read_one_sided(Form& form, op::ProxyFence& out) {
    if (form.words.take("release"))
        out.order = SASSEMU_ORDER_RELEASE;
    else if (form.words.take("acquire"))
        out.order = SASSEMU_ORDER_ACQUIRE;
    else
        return form.unknown_word();
    return {};
}

Result<void> read_proxy_fence(Form& form, bool membar) {
    auto& out = form.out.emplace<op::ProxyFence>();
    out.both_ways = 1;
    form.needs(membar ? 60 : 70);
    if (form.words.take("alias")) {
        out.to = SASSEMU_PROXY_ALIAS;
        return form.count(0, 0);
    }
    if (membar) return form.unknown_word();
    constexpr std::pair<std::string_view, uint32_t> graphics[] = {
        {"texture", SASSEMU_PROXY_TEXTURE},
        {"surface", SASSEMU_PROXY_SURFACE},
        {"constant", SASSEMU_PROXY_CONSTANT}};
    const uint32_t* proxy = lookup(graphics, form.words.next());
    if (proxy && (form.test.corpus() || form.test.options.count("graphics"))) {
        form.words.pop();
        out.to = *proxy;
        return form.count(0, 0);
    }
    form.needs(90);
    if (form.words.take("async")) {
        out.to = SASSEMU_PROXY_ASYNC;
        if (form.words.take("global"))
            out.restriction = SASSEMU_SPACE_GLOBAL;
        else if (form.words.take("shared::cta"))
            out.restriction = SASSEMU_SPACE_SHARED_CTA;
        else if (form.words.take("shared::cluster"))
            out.restriction = SASSEMU_SPACE_SHARED_CLUSTER;
        return form.count(0, 0);
    }
    out.both_ways = 0;
    if (form.words.take("async::generic")) {
        out.to = SASSEMU_PROXY_ASYNC;
        SASSEMU_TRY(read_one_sided(form, out));
        SASSEMU_TRY(form.count(0, 0));
        return read_restricted(form, out);
    }
    if (form.words.take("tensormap::generic")) {
        out.to = SASSEMU_PROXY_TENSORMAP;
        SASSEMU_TRY(read_one_sided(form, out));
        SASSEMU_TRY(need_scope(form, out.scope));
        if (out.order == SASSEMU_ORDER_RELEASE) return form.count(0, 0);
        uint64_t bytes = 0;
        SASSEMU_TRY(form.read(out.at, bytes));
        if (bytes != 128) return input_error("the size of a tensormap acquire is 128");
        out.at->bytes = bytes;
        if (form.location(*out.at).space != SASSEMU_SPACE_GLOBAL)
            return input_error("a tensormap acquire is of an address in global memory");
        return {};
    }
    return form.unknown_word();
}

}  // namespace

Result<void> read_fence_form(Form& form, std::string_view head) {
    if (head != "membar" && head != "fence") {
        form.known = false;
        return {};
    }
    if (head == "fence") form.needs(70);
    if (form.words.take("proxy")) return read_proxy_fence(form, head == "membar");
    auto& out = form.out.emplace<op::Fence>();
    SASSEMU_TRY(form.count(0, 0));
    if (head == "membar") {
        out.order = SASSEMU_ORDER_SC;
        if (form.words.take("cta"))
            out.scope = SASSEMU_SCOPE_CTA;
        else if (form.words.take("gl"))
            out.scope = SASSEMU_SCOPE_GPU;
        else if (form.words.take("sys"))
            out.scope = SASSEMU_SCOPE_SYS, form.needs(20);
        else
            return form.unknown_word();
        return {};
    }
    out.order = SASSEMU_ORDER_ACQ_REL;
    if (form.words.next() == "op_restrict")
        return input_error(
            "the word for .op_restrict is mbarrier_init: fence.mbarrier_init.release.cluster");
    if (form.words.take("mbarrier_init")) {
        form.needs(90);
        out.order = SASSEMU_ORDER_RELEASE;
        out.operation = SASSEMU_OPERATION_MBARRIER_INIT;
        if (!form.words.take("release") || !form.words.take("cluster"))
            return input_error("the form is fence.mbarrier_init.release.cluster");
        out.scope = SASSEMU_SCOPE_CLUSTER;
        return {};
    }
    if (form.words.take("sc"))
        out.order = SASSEMU_ORDER_SC;
    else if (form.words.take("acq_rel"))
        out.order = SASSEMU_ORDER_ACQ_REL;
    else if (form.words.take("acquire"))
        out.order = SASSEMU_ORDER_ACQUIRE, form.needs(90);
    else if (form.words.take("release"))
        out.order = SASSEMU_ORDER_RELEASE, form.needs(90);
    if (form.words.next().starts_with("sync_restrict")) {
        if (out.order != SASSEMU_ORDER_ACQUIRE && out.order != SASSEMU_ORDER_RELEASE)
            return input_error("sync_restrict goes with .acquire or .release");
        return read_restricted(form, out);
    }
    return need_scope(form, out.scope);
}

}  // namespace sassemu::explore
