// SPDX-License-Identifier: Apache-2.0
// A line per executed instruction: CTA, warp, lanes, pc, text, and what it wrote to its destination
// register in one lane.
//
//   sassemu run plan.json --plugin ./text_trace.so:lane=3,kernel=saxpy
#include <sassemu/plugin.hpp>

namespace {

class TextTrace : public sassemu::Plugin {
  public:
    static constexpr auto name = "text_trace", summary = "a line per executed instruction";
    static constexpr sassemu_option options[] = {{"lane", "0..31", "whose registers are shown (0)"},
                                                 {"kernel", "NAME", "only in this kernel"}};

    explicit TextTrace(const sassemu::Start& start)
        : Plugin(start), lane_(start.number("lane", 0)), kernel_(start.value("kernel")) {
        if (lane_ > 31) throw std::invalid_argument("option 'lane': a warp has lanes 0 to 31");
    }

    void launch_begin(sassemu_launch launch) {
        shown_ = kernel_.empty() || kernel_ == info(launch).kernel;
    }

    uint32_t select(sassemu_insn) { return SASSEMU_BEFORE | SASSEMU_AFTER; }

    void before(sassemu_warp warp, sassemu_insn insn, uint32_t lanes) {
        if (!shown_) return;
        const sassemu_warp_info w = info(warp);
        const sassemu_cta_info cta = info(w.cta);
        char line[512];
        std::snprintf(line, sizeof line, "(%u,%u,%u) w%u %08x %s+%04llx: %s\n", cta.id.x, cta.id.y,
                      cta.id.z, w.index, lanes, host.insn_function(insn),
                      static_cast<unsigned long long>(host.insn_pc(insn)), host.insn_text(insn));
        print(line);
    }

    void after(sassemu_warp warp, sassemu_insn insn, uint32_t lanes) {
        if (!shown_ || !(lanes >> lane_ & 1) || host.insn_operands(insn) == 0) return;
        const sassemu_operand d = operand(insn, 0);
        if (!d.is_destination || d.kind != SASSEMU_OPERAND_REGISTER || d.index == SASSEMU_RZ)
            return;
        const uint32_t* row = host.row(warp, d.index);
        char line[64];
        if (row) {
            std::snprintf(line, sizeof line, "    R%u = 0x%08x\n", d.index, row[lane_]);
            print(line);
        }
    }

  private:
    uint64_t lane_;
    std::string kernel_;
    bool shown_ = true;
};

}  // namespace

SASSEMU_PLUGIN(TextTrace)
