// SPDX-License-Identifier: Apache-2.0
// Accel-Sim's trace format, versions 5 and 6 of its tracer: what a line says. Every record becomes
// one, so a spin stays as it was executed. The files are in accel_sim_files.cpp.
#include "accel_sim.hpp"

#include <sassemu/sync.h>

#include <algorithm>
#include <bit>
#include <string_view>

namespace sassemu::trace::accel_sim {

namespace {

// Where the trace's readers are told that generic addresses reach shared and local memory: beyond
// all allocations, in the order that the simulator expects.
constexpr uint64_t shared_base = uint64_t{1} << 48, local_base = shared_base + (uint64_t{1} << 32);

std::string padded(uint64_t v, int digits, const char* prefix = "") {
    char text[40];
    std::snprintf(text, sizeof text, "%s%0*llx", prefix, digits,
                  static_cast<unsigned long long>(v));
    return text;
}

bool is_tma(std::string_view opcode) {
    static constexpr std::string_view all[] = {"UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG",
                                               "UBLKCP",  "UBLKPF",  "UBLKRED"};
    return std::any_of(std::begin(all), std::end(all),
                       [&](std::string_view name) { return opcode.starts_with(name); });
}

}  // namespace

std::string dims(const Dim3& d) {
    return std::to_string(d.x()) + "," + std::to_string(d.y()) + "," + std::to_string(d.z());
}

std::string header(const Launch& l, unsigned version) {
    std::string arch;
    for (const char c : l.arch())
        if (c >= '0' && c <= '9') arch += c;
    return "-kernel name = " + l.kernel() + "\n-kernel id = " + std::to_string(l.id()) +
           "\n-grid dim = (" + dims(l.grid()) + ")\n-block dim = (" + dims(l.block()) +
           ")\n-shmem = " + std::to_string(l.shared_static() + l.shared_dynamic()) +
           "\n-nregs = " + std::to_string(l.registers()) + "\n-binary version = " + arch +
           "\n-cuda stream id = 0\n-shmem base_addr = " + padded(shared_base, 16, "0x") +
           "\n-local mem base_addr = " + padded(local_base, 16, "0x") +
           "\n-nvbit version = 1.7.1\n-accelsim tracer version = " + std::to_string(version) +
           "\n-enable lineinfo = 0\n\n"
           "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
           "mem_width [adrrescompress?] [mem_addresses] immediate\n\n";
}

Words words_of(const Instruction& i, unsigned version) {
    constexpr size_t most_sources = 4;
    // The mnemonic with its dots, as disassembly prints it: behind the guard, if there is one.
    std::string_view text = i.text();
    if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    const std::string opcode(text.substr(0, text.find_first_of(" ;")));
    std::string destination, sources;
    size_t count = 0;
    std::vector<int64_t> immediates;
    Words w;
    for (const Operand& o : i.operand()) {
        const bool is_register = o.kind() == SASSEMU_OPERAND_REGISTER;
        if (is_register && o.destination()) {
            if (destination.empty()) destination = " R" + std::to_string(o.index());
        } else if ((is_register || o.kind() == SASSEMU_OPERAND_MEMORY) && count < most_sources) {
            sources += " R" + std::to_string(o.index());
            ++count;
        }
        if (o.kind() == SASSEMU_OPERAND_IMMEDIATE) immediates.push_back(o.value());
    }
    w.registers_and_opcode = (destination.empty() ? " 0" : " 1" + destination) + " " + opcode +
                             " " + std::to_string(count) + sources;
    const auto text_of = [](int64_t v) { return " " + std::to_string(static_cast<uint64_t>(v)); };
    if (version < 6) {
        w.end = immediates.empty() ? " 0" : text_of(immediates.back());
        return w;
    }
    // A product that closes a group names the barrier that its warpgroup waits at.
    if (opcode.find("GMMA") != std::string::npos)
        w.registers_and_opcode += i.text().find("gsb") != std::string::npos ? " 1" : " 0";
    w.tma = is_tma(opcode);
    if (opcode.starts_with("BAR")) {  // its number, and how many threads meet there
        immediates.resize(2);
        w.end = text_of(immediates[0]) + text_of(immediates[1]) + " NoVal";
    } else {
        w.end = (immediates.empty() ? " 0" : text_of(immediates.back())) + " NoVal";
    }
    return w;
}

namespace {

// " 0", or width, form and addresses of the access; one entry per lane of the line's mask.
std::string memory_words(const Record& r, const LaunchEnd& end) {
    if (r.accesses.empty()) return " 0";
    // A copy from global to shared memory is one line, with the global address.
    const auto by_space = [](const MemoryAccess& m) { return m.space != SASSEMU_SHARED; };
    auto at = std::find_if(r.accesses.begin(), r.accesses.end(), by_space);
    if (at == r.accesses.end()) at = r.accesses.begin();
    if (at->lanes == 0 || at->space == SASSEMU_CONSTANT) return " 0";
    const auto moved = [&](uint64_t a) {
        constexpr uint64_t window = uint64_t{1} << 32;
        if (at->space != SASSEMU_GENERIC) return a;
        if (end.shared_window() && a - end.shared_window() < window)
            return a - end.shared_window() + shared_base;
        if (end.local_window() && a - end.local_window() < window)
            return a - end.local_window() + local_base;
        return a;
    };
    // A lane that reads nothing (cp.async with no bytes to copy) has an address all the same: one
    // that adds no sector.
    const auto some = static_cast<uint32_t>(std::countr_zero(at->lanes));
    std::vector<uint64_t> all;
    for (uint32_t rest = r.lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        all.push_back(moved(at->addresses[at->lanes >> lane & 1 ? lane : some]));
    }
    // One of 256 bits is recorded in parts.
    uint32_t width = at->bytes;
    for (auto other = at + 1; other != r.accesses.end(); ++other)
        if (other->space == SASSEMU_GLOBAL && other->op == at->op) width += other->bytes;
    std::string text = " " + std::to_string(width);
    const uint32_t shifted = r.lanes >> std::countr_zero(r.lanes);
    bool even = all.size() > 1 && (shifted & (shifted + 1)) == 0;
    for (size_t k = 2; k < all.size() && even; ++k) even = all[k] - all[k - 1] == all[1] - all[0];
    if (even)
        return text + " 1 " + padded(all[0], 16, "0x") + " " +
               std::to_string(static_cast<int64_t>(all[1] - all[0]));
    text += " 0";
    for (const uint64_t a : all) text += " " + padded(a, 16, "0x");
    return text;
}

constexpr uint64_t most_copied = uint64_t{1} << 28;  // bytes of one range

// What a bulk or tensor copy did to global memory, sector by sector.
std::string transfer_words(const Transfer& t) {
    std::set<uint64_t> sectors;
    uint64_t bytes = 0, written = 0;
    uint32_t ctas = 0;
    for (const auto& [address, count] : t.ranges) {
        bytes += count;
        if (!count) continue;
        if (count > most_copied)
            throw Error("a copy of " + std::to_string(count) + " bytes at " +
                        padded(address, 1, "0x") + ": at most 256 MiB are converted");
        const uint64_t end = address + (count - 1);
        const uint64_t last = end < address ? ~uint64_t{0} : end;  // of the address space
        for (uint64_t at = address & ~uint64_t{sector - 1};; at += sector) {
            sectors.insert(at);
            if (last - at < sector) break;
        }
    }
    for (const auto& [rank, count] : t.written) {
        written = std::max(written, count);
        ctas |= 1u << (rank & 31);
    }
    std::string text = " " + std::to_string(sector) + " " + padded(t.mbarrier, 1, "0x") +
                       (t.multicast ? " 1 " + padded(ctas, 1) : " 0") + " " +
                       std::to_string(bytes) + " " +
                       std::to_string(written > bytes ? written - bytes : 0) + " 3 " +
                       std::to_string(sectors.size());
    for (const uint64_t at : sectors) text += " " + padded(at, 16, "0x");
    return text;
}

}  // namespace

std::string line(const Record& r, const Words& w, const LaunchEnd& end, const Transfer* transfer) {
    return padded(r.instruction->pc(), 4) + " " + padded(r.lanes, 8) + w.registers_and_opcode +
           (w.tma ? transfer_words(transfer ? *transfer : Transfer()) : memory_words(r, end)) +
           w.end;
}

Transfers transfers_of(const Reader& trace, uint64_t launch, const std::vector<size_t>& blocks) {
    Transfers all;
    std::map<uint64_t, Transfer*> by_operation;
    for (const size_t block : blocks) {
        const RecordBlock b = trace.read(block);
        for (const Event& e : b.events) {
            if (!e.has_async()) continue;
            const Async& a = e.async();
            if (a.step() == SASSEMU_ASYNC_ISSUE) {
                // The instruction at hand is the last that was recorded.
                if (e.records() == 0 || e.records() > b.records.size()) continue;
                const Record& r = b.records[e.records() - 1];
                if (r.warp != a.warp() || !is_tma(r.instruction->opcode())) continue;
                Transfer& t = all[{r.warp, r.number}];
                by_operation[a.id()] = &t;
                if (a.mbarrier()) t.mbarrier = a.mbarrier() - 1;
                t.multicast = r.instruction->text().find(".MULTICAST") != std::string::npos;
                continue;
            }
            const auto at = by_operation.find(a.id());
            if (at == by_operation.end() || a.proxy() == SASSEMU_VIA_TENSORMAP ||
                (a.step() != SASSEMU_ASYNC_READ && a.step() != SASSEMU_ASYNC_WRITE))
                continue;
            // More than a copy can have, or beyond the end of all addresses.
            constexpr uint64_t most_bytes = uint64_t{1} << 28;
            if (a.bytes() > most_bytes || a.address() + a.bytes() < a.address())
                throw Error(trace.path() + ": a copy of " + std::to_string(a.bytes()) +
                            " bytes at address " + std::to_string(a.address()));
            Transfer& t = *at->second;
            if (a.space() == SASSEMU_GLOBAL) {
                t.ranges.emplace(a.address(), a.bytes());
            } else if (a.space() == SASSEMU_SHARED && a.step() == SASSEMU_ASYNC_WRITE) {
                const auto cta = trace.ctas().find({launch, a.owner()});
                t.written[cta == trace.ctas().end() ? 0 : cta->second.rank()] += a.bytes();
            }
        }
    }
    return all;
}

}  // namespace sassemu::trace::accel_sim
