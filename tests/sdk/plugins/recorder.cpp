// SPDX-License-Identifier: Apache-2.0
// Prints every event as a line, for tests to compare.
#include <sassemu/plugin.hpp>

#include <bit>

namespace {

struct Recorder : sassemu::Plugin {
    static constexpr auto name = "recorder", summary = "every event as a line";
    static constexpr sassemu_option options[] = {{"only", "KIND", "lines that begin so"}};
    explicit Recorder(const sassemu::Start& s) : Plugin(s), only(s.value("only")) {}

    template <class... T>
    void line(const char* format, T... v) {
        char text[600];
        std::snprintf(text, sizeof text, format, v...);
        if (only.empty() || std::string_view(text).starts_with(only))
            print(std::string(text) + "\n");
    }
    static unsigned long long ull(uint64_t v) { return v; }
    std::string who(sassemu_warp w) const {
        if (!w) return "-";
        const sassemu_warp_info i = info(w);
        return std::to_string(info(i.cta).linear) + "." + std::to_string(i.index);
    }

    void module_load(sassemu_module m) {
        line("module %s ptx=%u", host.module_arch(m), host.module_has_ptx(m));
    }
    void launch_begin(sassemu_launch l) {
        const sassemu_launch_info i = info(l);
        line("launch %s grid=%u block=%u id=%llu", i.kernel, i.grid.x, i.block.x, ull(i.id));
    }
    void launch_end(sassemu_launch, const char* status) { line("end %s", status); }
    void cta_begin(sassemu_cta c) { line("cta %llu begins", ull(info(c).linear)); }
    void cta_end(sassemu_cta c) { line("cta %llu ends", ull(info(c).linear)); }
    uint32_t select(sassemu_insn i) {
        return std::string_view(host.insn_opcode(i)) == "IADD3" ? SASSEMU_BEFORE | SASSEMU_AFTER
                                                                : 0;
    }
    void before(sassemu_warp w, sassemu_insn i, uint32_t lanes) {
        line("before %s %08x %s", who(w).c_str(), lanes, host.insn_text(i));
    }
    void after(sassemu_warp w, sassemu_insn i, uint32_t lanes) {
        line("after %s %08x %s", who(w).c_str(), lanes, host.insn_opcode(i));
    }

    void show(const char* what, const sassemu_access& a) {
        const sassemu_location* at = host.locations(&a);
        const int lane = std::countr_zero(a.lanes);
        const uint32_t* values = host.values(&a);
        const uint32_t* results = host.results(&a);
        line(
            "%s %s op=%u space=%u proxy=%u order=%u scope=%u bytes=%u lanes=%08x at=%u:%u:%llx "
            "value=%x result=%x flags=%x",
            what, who(a.warp).c_str(), a.op, a.space, a.proxy, a.ordering, a.scope, a.bytes,
            a.lanes, at[lane].space, at[lane].owner, ull(at[lane].address & 0xffff),
            values ? values[lane] : 0xdead, results ? results[lane] : 0xdead, a.flags);
    }
    void access_issue(const sassemu_access& a) { show("issue", a); }
    void access(const sassemu_access& a) { show("access", a); }
    void fence(const sassemu_fence& f) {
        line("fence %s order=%u scope=%u proxy=%u-%u ivalld=%u ivallt=%u", who(f.warp).c_str(),
             f.ordering, f.scope, f.from_proxy, f.to_proxy, f.invalidate_data,
             f.invalidate_texture);
    }
    void cache(const sassemu_cache_op& c) {
        line("cache %s cache=%u action=%u at=%llx", who(c.warp).c_str(), c.cache, c.action,
             ull(c.has_address ? c.address[std::countr_zero(c.lanes)] & 0xffff : 0));
    }
    void sync(const sassemu_sync& e) {
        line(
            "sync %s kind=%u lanes=%08x id=%u expected=%u waits=%u at=%x owner=%llu arrivals=%lld "
            "expect=%lld phase=%u>%u passed=%08x "
            "left=%u mask=%x agent=%llu joined=%08x",
            who(e.warp).c_str(), e.kind, e.lanes, e.id, e.expected, e.waits, e.address,
            ull(e.owner), static_cast<long long>(e.arrivals), static_cast<long long>(e.expect),
            e.phase, e.phase_after, e.passed, e.pending, e.mask, ull(e.agent),
            e.participants ? e.participants[0] : 0);
    }
    void async(const sassemu_async& a) {
        line(
            "async %s step=%u kind=%u proxy=%u id=%llu at=%u:%u:%llx bytes=%llu lanes=%08x "
            "group=%d object=%u:%llx",
            who(a.warp).c_str(), a.step, a.agent_kind, a.proxy, ull(a.id), a.at.space, a.at.owner,
            ull(a.at.address), ull(a.bytes), a.lanes, a.group, a.mbarrier.space,
            ull(a.mbarrier.address));
    }
    void allocate(const sassemu_allocation& a) { line("allocate %s %llu", a.name, ull(a.bytes)); }
    void host_access(uint64_t, uint64_t bytes, uint32_t write) {
        line("host %s %llu", write ? "writes" : "reads", ull(bytes));
    }
    void fault(const sassemu_fault_info& f) {
        line("fault %s %s lanes=%08x", f.kind, host.insn_opcode(f.insn), f.lanes);
    }
    void finish() { line("finish"); }
    std::string only;
};

}  // namespace

SASSEMU_PLUGIN(Recorder)
