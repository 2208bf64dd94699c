// SPDX-License-Identifier: Apache-2.0
// Goes through what ran, a straight run at a time. Where nothing that a run reads is undefined,
// neither is anything that it writes: then that is all. Else it is gone through step by step.
#include "checker.hpp"

namespace check_mem {

void Checker::records(const sassemu_records& r) {
    Cta* const in = enter(r.cta);
    if (!in) return;
    Cta& c = *in;
    Code& code = codes_[r.module];
    const sassemu_recorded_access* a = r.access;
    const sassemu_recorded_access* const end = a + r.accesses;
    if (fp_)  // every instruction is followed by after(), which wants to know
        for (uint32_t k = 0; k < r.accesses; ++k) {
            uint32_t n = r.access[k].address;
            each_lane(r.access[k].lanes, [&](uint32_t lane) {
                c.accessed.push_back(
                    {r.access[k].op, r.access[k].space, r.access[k].bytes, lane, r.address[n++]});
            });
        }
    for (; a != end && a->record == SASSEMU_RECORD_BEFORE; ++a)
        if (c.last && !quick(c, *c.last_warp, *c.last, *a, r.address + a->address))
            access({c, *c.last_warp, c.last_index, *c.last, a->lanes, a->lanes}, *a,
                   r.address + a->address);
    for (uint32_t k = 0; k < r.records; ++k) {
        const sassemu_recorded_access* const first = a;
        while (a != end && a->record == k) ++a;
        execute(c, code, r, r.record[k], first, a);
    }
}

void Checker::execute(Cta& c, Code& code, const sassemu_records& r, const sassemu_record& record,
                      const sassemu_recorded_access* a, const sassemu_recorded_access* end) {
    if (record.warp >= c.warps.size()) return;
    Warp& w = c.warps[record.warp];
    const Run& all = code.run(record.insn, record.count, record.lanes != 0);
    c.last_warp = &w;
    c.last_index = record.warp;
    c.last = &code[record.insn + record.count - 1];
    if (c.last->meets && record.lanes) w.meeting.emplace_back(c.last->insn, record.lanes);
    uint32_t done = 0;
    if (!w.registers.touches(all.exposed, record.active)) {
        for (;; ++a) {
            if (a == end) return w.registers.define(all.writes, record.lanes);
            if (!quick(c, w, code[record.insn + a->step], *a, r.address + a->address)) break;
        }
        done = a->step;
        if (done) w.registers.define(code.run(record.insn, done, true).writes, record.lanes);
    }
    for (uint32_t k = done; k < record.count; ++k) {
        const sassemu_recorded_access* const first = a;
        while (a != end && a->step == k) ++a;
        step({c, w, record.warp, code[record.insn + k], record.lanes, record.active}, first, a, r);
    }
}

}  // namespace check_mem
