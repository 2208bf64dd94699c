// SPDX-License-Identifier: Apache-2.0
// The files of Accel-Sim's traces: kernelslist.g, and for each launch a kernel-N.traceg of text
// (version 5) or a kernel-N.tracez of compressed pieces of the same lines (version 6).
#include <algorithm>
#include <memory>

#include "accel_sim.hpp"
#include "frames.hpp"
#include "output.hpp"

namespace sassemu::trace {

namespace {

constexpr uint32_t piece_lines = 2048;  // of a .tracez

struct WarpText {
    std::string text;
    uint32_t lines = 0;
    std::vector<size_t> pieces;  // where each begins
};

std::string numbers(std::initializer_list<uint32_t> all) {
    std::string text;
    for (const uint32_t v : all) put(text, v, 4);
    return text;
}
std::string numbers(const Dim3& d) { return numbers({d.x(), d.y(), d.z()}); }

Dim3 quotient(const Dim3& a, const Dim3& b, bool remainder) {
    const auto one = [&](uint32_t x, uint32_t y) {
        return remainder ? x % std::max(1u, y) : x / std::max(1u, y);
    };
    Dim3 to;
    to.set_x(one(a.x(), b.x()));
    to.set_y(one(a.y(), b.y()));
    to.set_z(one(a.z(), b.z()));
    return to;
}

void write_text(Output& out, const Cta& cta, const std::vector<WarpText>& warps) {
    out.write("#BEGIN_TB\n\nthread block = " + accel_sim::dims(cta.id()) + "\n\n");
    for (size_t w = 0; w < warps.size(); ++w)
        out.write("warp = " + std::to_string(w) + "\ninsts = " + std::to_string(warps[w].lines) +
                  "\n" + warps[w].text + "\n");
    out.write("#END_TB\n\n");
}

// Answers the CTA's entry of the index.
std::string write_pieces(Output& out, const Launch& launch, const Cta& cta,
                         const std::vector<WarpText>& warps, ZSTD_CCtx* context) {
    std::string index = numbers(cta.id()) + numbers(quotient(cta.id(), launch.cluster(), false)) +
                        numbers(quotient(cta.id(), launch.cluster(), true)) +
                        numbers({cta.rank(), static_cast<uint32_t>(warps.size())});
    for (const WarpText& w : warps) {
        const auto pieces = static_cast<uint32_t>(w.pieces.size());
        index += numbers({w.lines, pieces});
        put(index, out.bytes(), 8);
        out.write(numbers({w.lines, pieces}));
        for (uint32_t k = 0; k < pieces; ++k) {
            const size_t end = k + 1 < pieces ? w.pieces[k + 1] : w.text.size();
            // Lines are joined: the last of a piece has no end.
            const std::string frame = compressed(w.text.substr(w.pieces[k], end - 1 - w.pieces[k]),
                                                 ZSTD_CLEVEL_DEFAULT, context);
            out.write(numbers({static_cast<uint32_t>(frame.size())}) + frame);
            index += numbers({std::min(piece_lines, w.lines - k * piece_lines)});
        }
    }
    return index;
}

using Blocks = std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>>;

uint64_t write_kernel(const Reader& trace, const Launch& launch, const std::string& path,
                      const Blocks& blocks, const std::vector<accel_sim::Words>& words,
                      unsigned version) {
    Output out(path);
    out.write(accel_sim::header(launch, version));
    const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
    if (version >= 6) out.write(std::string(1, '\0') + numbers({0, piece_lines}));  // no dictionary
    std::string index;
    uint32_t ctas = 0;
    uint64_t lines = 0;
    const auto ended = trace.ends().find(launch.id());
    const LaunchEnd end = ended == trace.ends().end() ? LaunchEnd() : ended->second;
    for (auto at = blocks.lower_bound({launch.id(), 0});
         at != blocks.end() && at->first.first == launch.id(); ++at) {
        const auto cta = trace.ctas().find(at->first);
        if (cta == trace.ctas().end()) throw Error(trace.path() + ": a CTA without its place");
        std::vector<WarpText> warps(cta->second.warps());
        const accel_sim::Transfers transfers =
            version >= 6 ? accel_sim::transfers_of(trace, launch.id(), at->second)
                         : accel_sim::Transfers();
        for (const size_t block : at->second)
            for (const Record& r : trace.read(block).records) {
                if (r.warp >= warps.size()) throw Error(trace.path() + ": a warp too many");
                const accel_sim::Words& w = words[r.instruction->id()];
                if (w.tma && !trace.header().events())
                    throw Error(trace.path() + ": has no events (events=0), which tell what '" +
                                r.instruction->text() + "' copies");
                const auto transfer = transfers.find({r.warp, r.number});
                WarpText& to = warps[r.warp];
                if (to.lines++ % piece_lines == 0) to.pieces.push_back(to.text.size());
                to.text += accel_sim::line(
                    r, w, end, transfer == transfers.end() ? nullptr : &transfer->second);
                to.text += '\n';
                ++lines;
            }
        if (version >= 6)
            index += write_pieces(out, launch, cta->second, warps, context.get());
        else
            write_text(out, cta->second, warps);
        ++ctas;
    }
    if (version >= 6) {
        std::string last = numbers({ctas}) + index;
        put(last, out.bytes(), 8);
        out.write(last);
    }
    out.finish();
    return lines;
}

}  // namespace

uint64_t write_accel_sim(const Reader& trace, const std::string& folder, unsigned version) {
    if (!trace.header().addresses())
        throw Error(trace.path() + ": has no addresses (addresses=0), which Accel-Sim needs");
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(folder + ": cannot create: " + error.message());
    std::vector<accel_sim::Words> words;
    for (const auto& i : trace.instructions()) words.push_back(accel_sim::words_of(*i, version));
    const auto blocks = by_cta(trace);
    std::string list;
    uint64_t lines = 0;
    for (size_t k = 0; k < trace.launches().size(); ++k) {
        const Launch& l = trace.launches()[k];
        for (const Copy& c : trace.copies(k)) {
            char text[64];
            std::snprintf(text, sizeof text, "MemcpyHtoD,0x%016llx,%llu\n",
                          static_cast<unsigned long long>(c.address()),
                          static_cast<unsigned long long>(c.bytes()));
            list += text;
        }
        const std::string name =
            "kernel-" + std::to_string(l.id()) + (version >= 6 ? ".tracez" : ".traceg");
        lines += write_kernel(trace, l, folder + "/" + name, blocks, words, version);
        list += name + "\n";
    }
    Output out(folder + "/kernelslist.g");  // last: it names what is there
    out.write(list);
    out.finish();
    return lines;
}

}  // namespace sassemu::trace
