// SPDX-License-Identifier: Apache-2.0
// What is found, in words. The layout of reports is that of all checkers (plugins/findings).
#include "checker.hpp"

#include <sassemu/names.hpp>

namespace check_mem {

namespace {

struct KindText {
    const char *name, *sentence, *help;
};

const KindText& text_of(Kind kind) {
    static const KindText all[kinds] = {
        {"out-of-bounds", "an access to bytes that are not there",
         "CUDA C++ Programming Guide, \"Memory Hierarchy\"; PTX ISA, \"State Spaces\""},
        {"use-after-free", "an access to memory that was freed",
         "CUDA C++ Programming Guide, \"Dynamic Global Memory Allocation\""},
        {"misaligned-address", "an address that is no multiple of the access's size",
         "PTX ISA, \"Addresses as Operands\""},
        {"stack-overflow", "the stack is larger than a thread's local memory",
         "CUDA C++ Programming Guide, \"Local Memory\""},
        {"invalid-free", "what is freed was not given out, or was freed before",
         "CUDA C++ Programming Guide, \"Dynamic Global Memory Allocation\"; PTX ISA, "
         "\"tcgen05.alloc\""},
        {"leak", "what was allocated is never freed",
         "CUDA C++ Programming Guide, \"Dynamic Global Memory Allocation\"; PTX ISA, "
         "\"tcgen05.alloc\""},
        {"uninitialised-address", "an address is made of a value that was never initialised",
         "PTX ISA, Memory Consistency Model: \"Initialization\""},
        {"uninitialised-condition", "a value that was never initialised decides what is executed",
         "PTX ISA, Memory Consistency Model: \"Initialization\""},
        {"uninitialised-output", "the host reads a value that was never initialised",
         "PTX ISA, Memory Consistency Model: \"Initialization\""},
        {"uninitialised-load", "memory is loaded that nothing has written",
         "PTX ISA, Memory Consistency Model: \"Initialization\""},
        {"barrier-divergence", "a barrier is not reached as it demands",
         "PTX ISA, \"bar, barrier\""},
        {"mbarrier-misuse", "an mbarrier object is not used as its protocol demands",
         "PTX ISA, \"mbarrier\""},
        {"unknown-name", "an option names what does not exist", "sassemu plugins check-mem"}};
    return all[static_cast<size_t>(kind)];
}

}  // namespace

Origin Checker::birth(std::string key, std::string what, std::string thread, sassemu_insn insn) {
    const auto [at, fresh] =
        birth_of_.try_emplace(std::move(key), static_cast<Origin>(births_.size()));
    if (fresh) births_.push_back({std::move(what), std::move(thread), insn, nullptr});
    return at->second;
}

// The entry, where it is new.
Finding* Checker::found(Kind kind, sassemu_insn insn, Origin origin) {
    if (kind != Kind::output && !selected_) return nullptr;
    Finding& f = findings_[{kind, insn, origin}];
    if (f.count++) return nullptr;
    f.kind = kind;
    f.insn = insn;
    f.origin = origin;
    f.kernel = kernel_;
    f.launch = info_.id;
    f.seed = host.seed(session);
    return &f;
}

std::string Checker::thread_text(const Cta& c, uint32_t warp, uint32_t lane) const {
    return "thread " + std::to_string(warp * 32 + lane) + " of CTA (" + std::to_string(c.id.x) +
           "," + std::to_string(c.id.y) + "," + std::to_string(c.id.z) + ") (warp " +
           std::to_string(warp) + ", lane " + std::to_string(lane) + ")";
}

void Checker::leaks() {
    for (const auto& [address, b] : blocks_) {
        kernel_ = b.kernel;
        selected_ = sassemu::names::selects(kernels_, kernel_);
        info_.id = b.launch;
        Finding* const f = found(Kind::leak, b.insn);
        if (!f) continue;
        f->thread = b.thread;
        f->has_address = true;
        f->address = address;
        f->what = std::to_string(b.bytes) + " bytes at " + findings::hex(address);
    }
}

void Checker::tell(const Finding& f) {
    const KindText& kind = text_of(f.kind);
    const Birth& birth = births_[f.origin];
    findings::Entry e;
    e.kind = kind.name;
    e.message = kind.sentence;
    e.count = f.count;
    e.main = f.insn;
    e.first = f.origin && birth.insn != f.insn ? birth.insn : nullptr;
    const bool stored = f.kind == Kind::output && f.insn;
    if (!f.what.empty()) e.detail += "what:    " + f.what + "\n";
    if (f.insn)
        e.detail +=
            (stored ? "stored:  " : "where:   ") + findings::place_text(*this, f.insn) + "\n";
    if (!f.thread.empty()) e.detail += "thread:  " + f.thread + "\n";
    if (f.origin) {
        e.detail += "born:    " + birth.what + "\n";
        if (birth.insn)
            e.detail += "    read by " + findings::place_text(*this, birth.insn) +
                        (birth.thread.empty() ? "" : ", " + birth.thread) + "\n";
    }
    e.detail +=
        "clause:  " + std::string(kind.help) + "\nreplay:  --seed " + findings::seed_text(f.seed);
    e.sarif = std::string(kind.sentence) + (f.what.empty() ? "" : ". " + f.what) +
              (f.origin ? ". Born: " + birth.what : "");
    nlohmann::ordered_json& j = e.json;
    j["kind"] = kind.name;
    j["count"] = f.count;
    j["kernel"] = f.kernel;
    j["launch"] = f.launch;
    if (!f.what.empty()) j["what"] = f.what;
    j["accesses"] = nlohmann::ordered_json::array();
    const auto place = [&](const char* does, sassemu_insn insn, const std::string& thread) {
        nlohmann::ordered_json a;
        a["does"] = does;
        if (!thread.empty()) a["thread"] = thread;
        if (f.has_address && insn == f.insn) a["address"] = f.address;
        a.update(findings::place_json(*this, insn));
        j["accesses"].push_back(a);
    };
    if (birth.insn) place("brings the value", birth.insn, birth.thread);
    if (f.insn)
        place(stored     ? "stores the value"
              : f.origin ? "uses the value"
                         : "is at fault",
              f.insn, f.thread);
    if (f.origin) j["born"] = birth.what;
    j["clause"] = kind.help;
    j["seed"] = f.seed;
    j["replay"] = "--seed " + findings::seed_text(f.seed);
    report_.add(std::move(e));
}

void Checker::finish() {
    if (leaks_) leaks();
    const auto unknown = [&](const std::string& what) {
        Finding f;
        f.kind = Kind::unknown_name;
        f.what = what;
        f.count = 1;
        tell(f);
    };
    for (const std::string& k : kernels_)
        if (std::none_of(met_.begin(), met_.end(),
                         [&](const auto& name) { return sassemu::names::means(name, k); }))
            unknown("no launch is of kernel '" + k + "'");
    for (const auto& [buffer, from] : undefined_)
        if (!buffers_.contains(buffer)) unknown("there is no buffer '" + buffer + "'");
    for (const auto& [key, f] : findings_) tell(f);
    tell_specials();
    for (size_t k = 0; k < kinds; ++k) {
        const KindText& t = text_of(static_cast<Kind>(k));
        report_.rule(t.name, t.sentence, t.help);
    }
    report_.rule("fp-nan", "an output has a NaN", "the option 'fp'");
    report_.rule("fp-infinity", "an output has an infinity", "the option 'fp'");
    report_.rule("fp-subnormal", "an output has a subnormal number", "the option 'fp'");
    report_.finish({"findings", "floats"});
}

}  // namespace check_mem
