// SPDX-License-Identifier: Apache-2.0
// Accel-Sim's trace format, version 5 of its tracer: kernelslist.g and a kernel-N.traceg for each
// launch. Every record becomes a line, so a spin stays as it was executed.
#include <sassemu/host.h>

#include <algorithm>
#include <bit>
#include <sassemu/trace.hpp>
#include <string_view>

#include "output.hpp"

namespace sassemu::trace {

namespace {

// Where the trace's readers are told that generic addresses reach shared and local memory: beyond
// all allocations, in the order that the simulator expects.
constexpr uint64_t shared_base = uint64_t{1} << 48, local_base = shared_base + (uint64_t{1} << 32);

std::string dims(const Dim3& d) {
    return std::to_string(d.x()) + "," + std::to_string(d.y()) + "," + std::to_string(d.z());
}

std::string padded(uint64_t v, int digits, const char* prefix = "") {
    char text[40];
    std::snprintf(text, sizeof text, "%s%0*llx", prefix, digits,
                  static_cast<unsigned long long>(v));
    return text;
}

std::string header(const Launch& l) {
    std::string version;
    for (const char c : l.arch())
        if (c >= '0' && c <= '9') version += c;
    return "-kernel name = " + l.kernel() + "\n-kernel id = " + std::to_string(l.id()) +
           "\n-grid dim = (" + dims(l.grid()) + ")\n-block dim = (" + dims(l.block()) +
           ")\n-shmem = " + std::to_string(l.shared_static() + l.shared_dynamic()) +
           "\n-nregs = " + std::to_string(l.registers()) + "\n-binary version = " + version +
           "\n-cuda stream id = 0\n-shmem base_addr = " + padded(shared_base, 16, "0x") +
           "\n-local mem base_addr = " + padded(local_base, 16, "0x") +
           "\n-nvbit version = 1.7.1\n-accelsim tracer version = 5\n-enable lineinfo = 0\n\n"
           "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] "
           "mem_width [adrrescompress?] [mem_addresses] immediate\n\n";
}

// What of a line an instruction decides alone.
struct Words {
    std::string registers_and_opcode, immediate = "0";
};

Words words_of(const Instruction& i) {
    constexpr size_t most_sources = 4;
    // The mnemonic with its dots, as disassembly prints it: behind the guard, if there is one.
    std::string_view text = i.text();
    if (text.starts_with('@')) text.remove_prefix(std::min(text.find(' ') + 1, text.size()));
    const std::string opcode(text.substr(0, text.find_first_of(" ;")));
    std::string destination, sources;
    size_t count = 0;
    Words w;
    for (const Operand& o : i.operand()) {
        const bool is_register = o.kind() == SASSEMU_OPERAND_REGISTER;
        if (is_register && o.destination()) {
            if (destination.empty()) destination = " R" + std::to_string(o.index());
        } else if ((is_register || o.kind() == SASSEMU_OPERAND_MEMORY) && count < most_sources) {
            sources += " R" + std::to_string(o.index());
            ++count;
        }
        if (o.kind() == SASSEMU_OPERAND_IMMEDIATE)
            w.immediate = std::to_string(static_cast<uint64_t>(o.value()));
    }
    w.registers_and_opcode = (destination.empty() ? " 0" : " 1" + destination) + " " + opcode +
                             " " + std::to_string(count) + sources;
    return w;
}

// " 0", or width, form and addresses of the access; one entry per lane of the line's mask.
std::string memory_words(const Record& r, const LaunchEnd& end) {
    if (r.accesses.empty()) return " 0";
    // A copy from global to shared memory is one line, with the global address.
    const auto by_space = [](const MemoryAccess& m) { return m.space != SASSEMU_SHARED; };
    auto at = std::find_if(r.accesses.begin(), r.accesses.end(), by_space);
    if (at == r.accesses.end()) at = r.accesses.begin();
    if (at->lanes != r.lanes || at->space == SASSEMU_CONSTANT) return " 0";
    const auto moved = [&](uint64_t a) {
        constexpr uint64_t window = uint64_t{1} << 32;
        if (at->space != SASSEMU_GENERIC) return a;
        if (end.shared_window() && a - end.shared_window() < window)
            return a - end.shared_window() + shared_base;
        if (end.local_window() && a - end.local_window() < window)
            return a - end.local_window() + local_base;
        return a;
    };
    std::vector<uint64_t> all;
    for (uint32_t rest = at->lanes; rest; rest &= rest - 1)
        all.push_back(moved(at->addresses[static_cast<size_t>(std::countr_zero(rest))]));
    std::string text = " " + std::to_string(at->bytes);
    const uint32_t shifted = at->lanes >> std::countr_zero(at->lanes);
    bool even = all.size() > 1 && (shifted & (shifted + 1)) == 0;
    for (size_t k = 2; k < all.size() && even; ++k) even = all[k] - all[k - 1] == all[1] - all[0];
    if (even)
        return text + " 1 " + padded(all[0], 16, "0x") + " " +
               std::to_string(static_cast<int64_t>(all[1] - all[0]));
    text += " 0";
    for (const uint64_t a : all) text += " " + padded(a, 16, "0x");
    return text;
}

uint64_t write_kernel(const Reader& trace, const Launch& launch, const std::string& path,
                      const std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>>& blocks,
                      const std::vector<Words>& words) {
    Output out(path);
    out.write(header(launch));
    uint64_t lines = 0;
    const auto ended = trace.ends().find(launch.id());
    const LaunchEnd end = ended == trace.ends().end() ? LaunchEnd() : ended->second;
    for (auto at = blocks.lower_bound({launch.id(), 0});
         at != blocks.end() && at->first.first == launch.id(); ++at) {
        const auto cta = trace.ctas().find(at->first);
        if (cta == trace.ctas().end()) throw Error(trace.path() + ": a CTA without its place");
        struct WarpText {
            std::string text;
            uint64_t count = 0;
        };
        std::vector<WarpText> warps(cta->second.warps());
        for (const size_t block : at->second)
            for (const Record& r : trace.read(block).records) {
                if (r.warp >= warps.size()) throw Error(trace.path() + ": a warp too many");
                const Words& w = words[r.instruction->id()];
                warps[r.warp].text += padded(r.instruction->pc(), 4) + " " + padded(r.lanes, 8) +
                                      w.registers_and_opcode + memory_words(r, end) + " " +
                                      w.immediate + "\n";
                ++warps[r.warp].count;
            }
        out.write("#BEGIN_TB\n\nthread block = " + dims(cta->second.id()) + "\n\n");
        for (size_t w = 0; w < warps.size(); ++w) {
            out.write("warp = " + std::to_string(w) +
                      "\ninsts = " + std::to_string(warps[w].count) + "\n" + warps[w].text + "\n");
            lines += warps[w].count;
        }
        out.write("#END_TB\n\n");
    }
    out.finish();
    return lines;
}

}  // namespace

uint64_t write_accel_sim(const Reader& trace, const std::string& folder) {
    if (!trace.header().addresses())
        throw Error(trace.path() + ": has no addresses (addresses=0), which Accel-Sim needs");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(folder + ": cannot create: " + error.message());
    std::vector<Words> words;
    for (const auto& i : trace.instructions()) words.push_back(words_of(*i));
    const auto blocks = by_cta(trace);
    std::string list;
    uint64_t lines = 0;
    for (size_t k = 0; k < trace.launches().size(); ++k) {
        const Launch& l = trace.launches()[k];
        for (const Copy& c : trace.copies(k))
            list += "MemcpyHtoD," + padded(c.address(), 16, "0x") + "," +
                    std::to_string(c.bytes()) + "\n";
        const std::string name = "kernel-" + std::to_string(l.id()) + ".traceg";
        lines += write_kernel(trace, l, folder + "/" + name, blocks, words);
        list += name + "\n";
    }
    Output out(folder + "/kernelslist.g");  // last: it names what is there
    out.write(list);
    out.finish();
    return lines;
}

}  // namespace sassemu::trace
