// SPDX-License-Identifier: Apache-2.0
// How findings are told: to the user, as JSON, as SARIF.
#include <algorithm>
#include <sassemu/names.hpp>

#include "checker.hpp"
#include "findings/findings.hpp"

namespace check_sync {

using findings::seed_text;
using nlohmann::ordered_json;

const KindText& text_of(FindingKind kind) {
    static const KindText all[] = {
        {"data-race",
         "two accesses to the same bytes, one of them a write, with nothing that orders them",
         "PTX ISA, Memory Consistency Model: \"Conflict and Data-races\"; \"Causality Order\""},
        {"missing-proxy-fence",
         "the generic and the async proxy touch the same bytes with no proxy fence between them",
         "PTX ISA, Memory Consistency Model: \"Proxy\"; \"Proxy-preserved Base Causality Order\"; "
         "membar/fence: "
         "fence.proxy.async"},
        {"scope-too-narrow",
         "the operations that should order these accesses do not reach from one thread to the "
         "other",
         "PTX ISA, Memory Consistency Model: \"Scope\"; \"Morally Strong\""},
        {"missing-release", "the writer signals, but does not release what it did before",
         "PTX ISA, Memory Consistency Model: \"Release and Acquire Patterns\""},
        {"missing-acquire", "the reader sees the signal, but does not acquire what came before it",
         "PTX ISA, Memory Consistency Model: \"Release and Acquire Patterns\""},
        {"no-memory-order",
         "one access is executed before the other, but memory is not ordered: nobody releases or "
         "acquires",
         "PTX ISA, Memory Consistency Model: \"Synchronizes-with\"; \"Causality Order\""},
        {"async-reuse",
         "bytes that an asynchronous copy or its reader may still be using are overwritten",
         "PTX ISA, \"Asynchronous Operations\"; cp.async.bulk.wait_group; Memory Consistency "
         "Model: \"Causality Order\""},
        {"uninitialised-read", "bytes are read that nobody has written",
         "PTX ISA, Memory Consistency Model: \"Initialization\""},
        {"mbarrier-protocol", "an mbarrier object is not used as its protocol demands",
         "PTX ISA, \"mbarrier\""},
        {"barrier-misuse", "a barrier is not used as it demands", "PTX ISA, \"bar, barrier\""},
        {"read-only-data",
         "a read that need not be coherent (ld.global.nc, a texture, a surface) of bytes that this "
         "launch has written",
         "PTX ISA, \"ld.global.nc\"; \"Texture Instructions\"; \"Surface Instructions\"; Memory "
         "Consistency Model: \"Proxy\""},
        {"missing-tensormap-fence",
         "a tensor map is used that a thread has written, and its proxy has not acquired",
         "PTX ISA, membar/fence: fence.proxy.tensormap; Memory Consistency Model: \"Proxy\""},
        {"missing-wgmma-fence",
         "wgmma uses registers that the warp has accessed before, with no wgmma.fence in between",
         "PTX ISA, \"wgmma.fence\"; \"Async Proxy\" of wgmma"},
        {"fence-where-quiet-is-needed",
         "data that was put to another PE is read behind nvshmem_fence(), which orders it among "
         "what goes to that PE, and does not wait until it is there",
         "NVSHMEM, \"Memory Ordering\": nvshmem_fence, nvshmem_quiet"},
        {"peer-not-ready",
         "another CTA of the cluster is used that is not known to be ready for it",
         "PTX ISA, \"tcgen05.alloc, dealloc\": the peer CTA must have been launched; CUDA C++ "
         "Programming Guide, \"Distributed Shared Memory\": all CTAs must have begun"},
        {"work-queue-misuse", "a CTA asks for more work after it has been told that there is none",
         "PTX ISA, \"clusterlaunchcontrol.try_cancel\": undefined once a failed request was "
         "observed"},
        {"tensor-memory-leak", "a CTA ends with columns of tensor memory that it has not freed",
         "PTX ISA, \"tcgen05.alloc, dealloc\": all that was allocated must be freed before the "
         "kernel exits"},
        {"tensor-memory-misuse",
         "columns of tensor memory are used or freed that are not allocated",
         "PTX ISA, \"tcgen05.alloc, dealloc\""}};
    return all[static_cast<size_t>(kind)];
}

namespace {

std::string verdict(const Finding& f) {
    if (f.common) return "strict and as-commonly-relied-on";
    return "strict only" + (f.relied_on.empty() ? "" : ", relied on: " + f.relied_on);
}

}  // namespace

std::string Checker::thread_text(Component who, uint32_t lanes) const {
    if (who >= first_tensor) {
        const ThreadName& n = names_[tensor_warp(who)];
        if (names_wgmma_)
            return "wgmma of warps " + std::to_string(n.warp) + " to " +
                   std::to_string(n.warp + 3) + " of CTA (" + std::to_string(n.id.x) + "," +
                   std::to_string(n.id.y) + "," + std::to_string(n.id.z) + ")";
        return "tcgen05 of warp " + std::to_string(n.warp) + " of CTA (" + std::to_string(n.id.x) +
               "," + std::to_string(n.id.y) + "," + std::to_string(n.id.z) + ")";
    }
    if (who >= first_mbarrier || who / 4 >= names_.size()) return "an asynchronous copy";
    const ThreadName& n = names_[who / 4];
    if (n.gpu == of_host) return "the host";
    if (n.gpu == of_streams) return "a copy or a value in a stream";
    if (n.launch)
        return "a thread of launch " + std::to_string(n.launch) + " (" +
               sassemu::names::demangled(n.kernel) + ")";
    const uint32_t lane = lanes ? static_cast<uint32_t>(__builtin_ctz(lanes)) : 0;
    std::string text = who % 4 >= 2 ? "a copy of thread " : "thread ";
    text += std::to_string(n.warp * 32 + lane) + " of CTA (" + std::to_string(n.id.x) + "," +
            std::to_string(n.id.y) + "," + std::to_string(n.id.z) + ")";
    if (n.cluster != n.cta) text += " in cluster " + std::to_string(n.cluster);
    if (flight_) text += " on GPU " + std::to_string(n.gpu);
    return text;
}

std::string Checker::place_text(uint32_t insn) const {
    return findings::place_text(*this, insn ? meanings_[insn].insn : nullptr);
}

void Checker::found(FindingKind kind, bool common, const Stamp& earlier, bool earlier_writes,
                    const Touch& t) {
    if (verdict_ == "common" && !common && kind != FindingKind::uninitialised_read) return;
    Finding& f = findings_[{kind, common, earlier.insn, t.stamp.insn}];
    if (f.count++) return;
    f.kind = kind;
    f.common = common;
    f.launch = launch_;
    f.seed = host.seed(session);
    f.kernel = kernel_;
    describe(f, earlier, earlier_writes, t);
}

void Checker::describe(Finding& f, const Stamp& earlier, bool earlier_writes, const Touch& t) {
    const std::string space = t.tensor ? "tensor" : t.shared ? "shared" : "global";
    const auto side = [&](Side& s, const Stamp& stamp, bool writes) {
        s.insn = stamp.insn;
        const bool copy =
            stamp.flags & stamp_async || (stamp.who < first_mbarrier && stamp.who % 4 == 1);
        s.action = &s == &f.second && t.frees   ? "frees"
                   : stamp.flags & stamp_atomic ? "changes"
                   : writes                     ? "writes"
                                                : "reads";
        s.thread = thread_text(stamp.who, stamp.lanes);
        const ThreadName* name = stamp.who < first_mbarrier && stamp.who / 4 < names_.size()
                                     ? &names_[stamp.who / 4]
                                     : nullptr;
        s.cta = name && !name->launch ? name->cta : t.warp->place.cta;
        s.cluster = name && !name->launch ? name->cluster : t.warp->place.cluster;
        s.proxy = t.tensor                    ? "tensor"
                  : stamp.flags & stamp_async ? "async"
                  : copy                      ? "generic, delayed"
                                              : "generic";
        s.space =
            space +
            (t.shared && t.owner != t.warp->place.cta ? " of CTA " + std::to_string(t.owner) : "");
        s.address = t.address;
        s.bytes = t.bytes;
    };
    side(f.second, t.stamp, t.write);
    f.shared = t.shared && !t.tensor;
    f.owner = t.owner;
    if (earlier.insn || is_client(earlier.who)) side(f.first, earlier, earlier_writes);
    values_of(f, earlier, earlier_writes, t);
    if (t.group && t.group->to && f.kind != FindingKind::data_race &&
        f.kind != FindingKind::uninitialised_read)
        f.path = place_text(t.group->from) + " -> " + place_text(t.group->to);
    const std::string where = earlier.insn ? host.insn_place(meanings_[earlier.insn].insn) : "";
    const std::string after = where.empty() ? "the first access" : where;
    const ThreadName* name =
        earlier.who && earlier.who < first_mbarrier ? &names_[earlier.who / 4] : nullptr;
    const Reach far = name ? t.warp->place.apart(name->place()) : cta;
    static const char* const reach_names[] = {"cta", "cluster", "gpu", "sys"};
    const std::string reach = reach_names[far];
    const bool same_warp = name && earlier.who / 4 == t.warp->id;
    switch (f.kind) {
        case FindingKind::data_race:
            f.missing = "no barrier, signal or wait orders the two";
            if (from_other_grid(earlier)) {
                f.missing =
                    "the launch may begin before the one before it has ended, and does not wait "
                    "for it";
                f.repair =
                    "griddepcontrol.wait (cudaGridDependencySynchronize()) before the second "
                    "access, by its thread or before a barrier";
            } else if (earlier.flags & stamp_async) {
                f.missing = "the second access does not wait for the copy to complete";
                f.repair =
                    "wait for the copy (its mbarrier, or its group) in the thread of the second "
                    "access or before a barrier";
            } else if (name && earlier.who % 4 == 1) {
                f.missing = "nothing waits for the LDGSTS before the second access";
                f.repair =
                    "cp.async.wait_group in the copying thread, then a barrier for the other "
                    "threads";
            } else if (same_warp) {
                const bool at_once = earlier_writes && t.write && earlier.insn == t.stamp.insn &&
                                     earlier.epoch == t.stamp.epoch;
                f.missing = at_once ? "several lanes of one instruction write the bytes, and which "
                                      "of the values stays is not said"
                                    : "no __syncwarp() between the lanes";
                f.repair = at_once ? "one of the lanes writes" : "__syncwarp() after " + after;
                f.relied_on =
                    at_once ? "one of the values stays" : "lanes of a warp that run together";
            } else if (far != cta && earlier.flags & t.stamp.flags & stamp_strong) {
                f.missing =
                    "both are strong, so they do not race; but a flag tells the reader's CTA of "
                    "the writer's, and a barrier of one of the two CTAs does not join this thread "
                    "to the one with the flag";
                f.repair = "__syncthreads() after " + after +
                           " before the flag is set, and before the second access";
            } else if (far == cta) {
                f.repair = "__syncthreads() (or bar.sync of the threads concerned) between the two";
            } else if (far == cluster) {
                f.repair = "barrier.cluster.arrive and .wait between the two";
            } else {
                f.repair = "a flag: st.release." + reach + " after " + after + ", ld.acquire." +
                           reach + " before the second access";
            }
            break;
        case FindingKind::missing_proxy_fence:
            f.missing = f.common
                            ? "no fence.proxy.async shows the generic access to the async proxy"
                            : "the thread that made the generic access does not execute the "
                              "fence.proxy.async itself";
            if (is_copying(earlier.who))
                f.relied_on = "wgmma reads what cp.async has brought without a proxy fence";
            else if (earlier_writes)
                f.relied_on = "the fence of the thread that copies shows what other threads wrote";
            else
                f.relied_on = "reads before an asynchronous write need no proxy fence";
            f.repair = "fence.proxy.async" + std::string(t.shared ? ".shared::cta" : ".global") +
                       " after " + after + ", in every thread that does this, before it signals";
            break;
        case FindingKind::scope_too_narrow:
            f.missing = "a scope of ." + reach + " on both sides";
            f.repair = "." + reach + " in place of the narrower scope, after " + after +
                       " or before the second access";
            break;
        case FindingKind::missing_release:
            f.missing = "a release between the first access and the signal";
            f.repair = "fence.release." + reach + " after " + after +
                       ", before the signal (or make the signal .release." + reach + ")";
            break;
        case FindingKind::missing_acquire:
            f.missing = "an acquire between the signal and the second access";
            f.repair = "fence.acquire." + reach +
                       " after the signal was seen (or make that read .acquire." + reach + ")";
            break;
        case FindingKind::no_memory_order:
            f.missing = "a release before the signal, and an acquire after it";
            f.repair = "fence.release." + reach + " after " + after + " and fence.acquire." +
                       reach + " before the second access";
            break;
        case FindingKind::async_reuse:
            f.missing = earlier.flags & stamp_map
                            ? "nothing says that the copy has read its tensor map"
                            : "nothing says that the bytes are free again";
            f.repair = !(earlier.flags & stamp_async)
                           ? "the readers arrive on an mbarrier that the copying thread waits for"
                       : earlier.who >= first_mbarrier
                           ? "wait for the mbarrier of the copy before the second access"
                           : "cp.async.bulk.wait_group.read in the copying thread, then a barrier";
            break;
        case FindingKind::uninitialised_read:
            f.missing = "a write";
            f.repair = "write the bytes before they are read";
            f.relied_on =
                "nobody ever writes them: whether what they decide matters, check-mem says";
            break;
        case FindingKind::mbarrier_protocol:
            f.missing = "the initialisation of the mbarrier is not ordered before its use";
            f.repair = far == cta ? "__syncthreads() after " + after
                                  : "fence.mbarrier_init.release.cluster after " + after +
                                        ", before barrier.cluster.arrive";
            break;
        case FindingKind::read_only_data:
            f.missing = "the end of the kernel between the write and such a read";
            f.repair =
                "an ordinary load (drop __restrict__ const, __ldg or the texture), ordered as any "
                "other";
            break;
        case FindingKind::missing_map_fence:
            f.missing =
                "fence.proxy.tensormap acquire of the map's 128 bytes by the thread that uses it, "
                "behind a release of the writer";
            f.repair = "fence.proxy.tensormap::generic.release." + reach + " after " + after +
                       ", fence.proxy.tensormap::generic.acquire." + reach +
                       " [map], 128 before the copy";
            break;
        case FindingKind::fence_for_quiet:
            f.missing = "nvshmem_quiet() between the put and the signal";
            f.repair = "nvshmem_quiet() in place of nvshmem_fence() after " + after +
                       ", or a signal to the PE that has the data, which waits for it";
            break;
        case FindingKind::barrier_misuse:
        case FindingKind::missing_wgmma_fence:
        case FindingKind::peer_not_ready:
        case FindingKind::queue_misuse:
        case FindingKind::tensor_memory_leak:
        case FindingKind::tensor_memory_misuse:
            break;
    }
    const bool told =
        f.kind == FindingKind::scope_too_narrow || f.kind == FindingKind::missing_release ||
        f.kind == FindingKind::missing_acquire || f.kind == FindingKind::no_memory_order;
    if (t.relied_on)
        f.relied_on = t.relied_on;
    else if (!f.common && told)
        f.relied_on =
            "an arrival at an mbarrier of another CTA comes behind what its thread has read, and "
            "the copies that it has waited for";
    if (f.kind == FindingKind::data_race && !f.common && !t.relied_on && !same_warp && far == cta &&
        has_exited(earlier)) {
        f.missing = "the first thread exits, and is not at the barrier that the second comes from";
        f.repair = "the thread arrives at the barrier before it exits";
        f.relied_on = "a barrier of all threads counts those that have exited";
    }
    if (earlier.who >= first_tensor && !t.tensor && !told) describe_wgmma(f, after);
    if (nvshmem_ && is_put(earlier, t.address)) advise_nvshmem(f, earlier, t);
    if (t.tensor) describe_tensor(f, earlier, t);
    if (f.path.empty() && f.kind != FindingKind::uninitialised_read) f.path = "none";
}

void Checker::finish() {
    fold_letter();
    for (const auto& [key, f] : findings_) {
        if (verdict_ == "common" && !f.common) continue;
        const KindText& kind = text_of(f.kind);
        std::string detail = "verdict: " + verdict(f) + "\n";
        const auto side = [&](const char* title, const Side& s) {
            if (!s.insn && s.thread.empty()) return;
            detail += std::string(title) + (s.insn ? place_text(s.insn) + "\n" : "\n") + "    " +
                      s.thread + " " + s.action;
            if (s.bytes)
                detail += " " + std::to_string(s.bytes) + (s.bytes == 1 ? " byte" : " bytes") +
                          " of " + s.space + " memory at " + hex(s.address);
            if (!s.proxy.empty()) detail += ", " + s.proxy + " proxy";
            if (!s.before.empty()) detail += ", before " + s.before;
            if (!s.after.empty()) detail += ", after " + s.after;
            detail += "\n";
        };
        side("first:   ", f.first);
        side(f.first.insn ? "then:    " : "access:  ", f.second);
        if (f.used) detail += "used:    " + place_text(f.used) + "\n    " + f.used_for + "\n";
        if (!f.path.empty()) detail += "order:   " + f.path + "\n";
        if (!f.missing.empty()) detail += "missing: " + f.missing + "\n";
        if (!f.repair.empty()) detail += "repair:  " + f.repair + "\n";
        detail += "clause:  " + clause_of(f) + "\nreplay:  --seed " + seed_text(f.seed);
        const uint32_t any = f.second.insn ? f.second.insn : f.first.insn;
        if (any && !meanings_[any].known)
            detail += "\nnote:    PTX intent unknown; judged by what the chip orders";
        findings::Entry e;
        e.kind = kind.name;
        // By the letter only: shown, and a failure to those who ask for the letter.
        e.severity = f.common || verdict_ == "strict" ? SASSEMU_ERROR : SASSEMU_NOTE;
        e.level = f.common ? "error" : "warning";
        e.message = kind.sentence;
        e.detail = detail;
        e.sarif = std::string(kind.sentence) + ". Missing: " + f.missing + ". Repair: " + f.repair;
        e.count = f.count;
        e.first = f.first.insn ? meanings_[f.first.insn].insn : nullptr;
        e.main = f.second.insn ? meanings_[f.second.insn].insn : nullptr;
        e.json = finding_json(f);
        report_->add(std::move(e));
    }
    end_trial();
    std::vector<TooStrong> strong = too_strong();
    const bool enough = seeds_.size() >= enough_seeds;
    if (!strong.empty() && !enough) {
        const std::string message =
            std::to_string(strong.size()) +
            (strong.size() == 1 ? " fence or barrier" : " fences and barriers") +
            " may be stronger than needed";
        const std::string detail = "which ones is said after " + std::to_string(enough_seeds) +
                                   " seeds (--seeds " + std::to_string(enough_seeds) + ")";
        sassemu_finding out{};
        out.size = sizeof out;
        out.severity = SASSEMU_NOTE;
        out.kind = "too-strong";
        out.message = message.c_str();
        out.detail = detail.c_str();
        host.report(session, &out);
        strong.clear();
    }
    std::erase_if(strong, [&](TooStrong& s) {
        const auto proved = trials_.proved.find(meanings_[s.insn].line);
        if (proved != trials_.proved.end()) s.tried = proved->second;
        return !s.tried;
    });
    for (const TooStrong& s : strong) {
        findings::Entry e;
        e.list = "too_strong";
        e.kind = "too-strong";
        e.severity = strong_counts_ ? SASSEMU_ERROR : SASSEMU_NOTE;
        e.level = "note";
        e.message = s.sentence();
        e.detail = "evidence from " + std::to_string(seeds_.size()) + " runs, not proof; all of " +
                   std::to_string(s.tried) + " was in order with that in its place";
        e.sarif =
            s.sentence() + " (evidence from " + std::to_string(seeds_.size()) + " runs, not proof)";
        e.first = meanings_[s.insn].insn;
        e.json = strong_json(s);
        report_->add(std::move(e));
    }
    for (size_t k = 0; k < kinds; ++k) {
        const KindText& t = text_of(static_cast<FindingKind>(k));
        report_->rule(t.name, t.sentence, t.clause);
    }
    report_->rule("too-strong",
                  "nothing that was observed needs a fence or barrier as strong as this",
                  "evidence from the runs that were made, not proof");
    report_->finish({"findings", "too_strong"});
}

ordered_json Checker::finding_json(const Finding& f) const {
    ordered_json j;
    j["kind"] = text_of(f.kind).name;
    j["strict"] = true;
    j["as_commonly_relied_on"] = f.common;
    if (!f.common && !f.relied_on.empty()) j["relied_on"] = f.relied_on;
    j["count"] = f.count;
    j["kernel"] = f.kernel;
    j["launch"] = f.launch;
    j["accesses"] = ordered_json::array();
    for (const Side* s : {&f.first, &f.second}) {
        if (!s->insn) continue;
        ordered_json a;
        a["does"] = s->action;
        a["thread"] = s->thread;
        a["cta"] = s->cta;
        a["cluster"] = s->cluster;
        a["proxy"] = s->proxy;
        a["space"] = s->space;
        a["address"] = s->address;
        a["bytes"] = s->bytes;
        if (!s->before.empty()) a["before"] = s->before;
        if (!s->after.empty()) a["after"] = s->after;
        a.update(findings::place_json(*this, meanings_[s->insn].insn));
        j["accesses"].push_back(a);
    }
    if (f.used) {
        j["used"] = findings::place_json(*this, meanings_[f.used].insn);
        j["used"]["for"] = f.used_for;
    }
    j["order"] = f.path;
    j["missing"] = f.missing;
    j["repair"] = f.repair;
    j["clause"] = clause_of(f);
    const uint32_t any = f.second.insn ? f.second.insn : f.first.insn;
    j["ptx_intent"] = any && meanings_[any].known ? "known" : "unknown";
    j["seed"] = f.seed;
    j["replay"] = "--seed " + seed_text(f.seed);
    return j;
}

ordered_json Checker::strong_json(const TooStrong& s) const {
    ordered_json j;
    j["kind"] = "too-strong";
    j["what"] = s.what;
    j["is"] = s.is;
    j["would_do"] = s.would_do;
    j["label"] = "evidence, not proof";
    j["runs"] = seeds_.size();
    j["tried"] = s.tried;
    const ordered_json place = findings::place_json(*this, meanings_[s.insn].insn);
    j["accesses"] = ordered_json::array({place});
    j.update(place);
    return j;
}

}  // namespace check_sync
