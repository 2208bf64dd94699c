// SPDX-License-Identifier: Apache-2.0
// What an instruction does to the definedness of registers, and where it matters. Exact for moves,
// bitwise logic and bytes; elsewhere one undefined bit makes the result undefined. Where the values
// would decide (which of two is selected, from which lane) nothing is said that could be wrong: a
// result is undefined when all that it may come from is.
#include <algorithm>

#include "checker.hpp"

namespace check_mem {

Origin Checker::origin(const Step& s, uint32_t row, uint32_t lane) {
    if (const Origin o = s.warp.registers.origin(row, lane)) return o;
    const auto number = [&](uint32_t first) { return std::to_string(row - first); };
    const std::string text = row >= uniform_predicate_rows ? "UP" + number(uniform_predicate_rows)
                             : row >= predicate_rows       ? "P" + number(predicate_rows)
                             : row >= uniform_rows         ? "UR" + number(uniform_rows)
                                                           : "R" + number(0);
    char key[64];
    std::snprintf(key, sizeof key, "%p r%u", static_cast<const void*>(s.i.insn), row);
    return birth(key, text + ", which nothing has written", thread_text(s, lane), s.i.insn);
}

void Checker::check_control(const Step& s) {
    if (!s.i.guards_much) return;
    each_row(s.i.control, [&](uint32_t row) {
        const bool condition = row >= predicate_rows || s.i.effect.kind >= SASSEMU_EFFECT_BARRIER;
        const uint32_t undefined =
            s.warp.registers.lanes(row) & (row == s.i.guard ? s.active : s.lanes);
        if (!undefined) return;
        const auto lane = static_cast<uint32_t>(std::countr_zero(undefined));
        const Origin from = origin(s, row, lane);
        if (Finding* const f = found(condition ? Kind::condition : Kind::address, s.i.insn, from)) {
            f->thread = thread_text(s, lane);
        }
        s.warp.registers.define(row, undefined);  // said once
    });
}

void Checker::step(const Step& s, const sassemu_recorded_access* a,
                   const sassemu_recorded_access* end, const sassemu_records& r) {
    check_control(s);
    Registers& registers = s.warp.registers;
    uint32_t unsure = 0;  // lanes of which nobody knows whether they execute it
    Origin why = never_written;
    if (s.i.guard != no_row) {
        unsure = registers.lanes(s.i.guard) & s.active;
        if (unsure) why = origin(s, s.i.guard, static_cast<uint32_t>(std::countr_zero(unsure)));
    }
    if (s.lanes) {
        if (s.i.transfer == Transfer::memory) {
            // What was stored and what was loaded may be the same registers: results are made
            // defined once nothing looks at the operands any more.
            if (s.i.effect.kind == SASSEMU_EFFECT_LOAD)
                for (const uint16_t row : s.i.results) registers.define(row, s.lanes);
            for (; a != end; ++a) {
                const bool load = a->op == SASSEMU_ATOMIC;
                if (load)
                    for (const uint16_t row : s.i.results)
                        if (std::find(s.i.data.begin(), s.i.data.end(), row) == s.i.data.end())
                            registers.define(row, s.lanes);
                access(s, *a, r.address + a->address);
            }
        } else {
            transfer(s);
            for (; a != end; ++a) access(s, *a, r.address + a->address);
        }
    }
    each_lane(unsure, [&](uint32_t lane) {
        for (const uint16_t row : s.i.results) registers.undefine(row, lane, ~0u, why);
    });
}

namespace {

// Bits of the result of a table of three inputs that depend on an undefined bit.
uint32_t undefined_of(uint32_t table, const Instruction::Source (&source)[3],
                      const uint32_t (&undefined)[3]) {
    uint32_t result = 0;
    for (uint32_t bit = 0; bit < 32; ++bit) {
        uint32_t unknown = 0, fixed = 0, value = 0;  // by input
        for (uint32_t k = 0; k < 3; ++k) {
            unknown |= (undefined[k] >> bit & 1) << k;
            if (!source[k].known) continue;
            fixed |= 1u << k;
            value |= (source[k].value >> bit & 1) << k;
        }
        if (!unknown) continue;
        for (uint32_t in = 0; in < 8; ++in) {
            if ((in ^ value) & fixed) continue;
            for (uint32_t other = 0; other < 8; ++other) {
                if ((other ^ in) & ~unknown) continue;
                // Input a is the highest bit of the table's index.
                const auto entry = [&](uint32_t v) {
                    return table >> ((v & 1) << 2 | (v & 2) | v >> 2) & 1;
                };
                if (entry(in) != entry(other)) result |= 1u << bit;
            }
        }
    }
    return result;
}

uint32_t permuted(uint32_t selector, uint32_t low, uint32_t high) {
    const uint64_t both = uint64_t{high} << 32 | low;
    uint32_t result = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t nibble = selector >> k * 4 & 15;
        auto byte = static_cast<uint32_t>(both >> (nibble & 7) * 8 & 0xff);
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0;  // its sign
        result |= byte << k * 8;
    }
    return result;
}

}  // namespace

void Checker::transfer(const Step& s) {
    const Instruction& i = s.i;
    Registers& registers = s.warp.registers;
    struct Value {
        uint32_t bits = 0;
        Origin origin = never_written;
    };
    const auto read = [&](uint32_t row, uint32_t lane) {
        return row == no_row ? 0 : registers.bits(row, lane);
    };
    // Of all that it reads in a lane.
    const auto mixed = [&](uint32_t lane) {
        for (size_t k = 0; k < i.data.size(); ++k)
            if (read(i.data[k], lane) & i.masks[k]) return Value{~0u, origin(s, i.data[k], lane)};
        return Value{};
    };
    std::array<Value, 32> values;
    const auto give_all = [&](auto&& value_of) {
        each_lane(s.lanes, [&](uint32_t lane) { values[lane] = value_of(lane); });
        for (const uint16_t row : i.results) {
            registers.define(row, s.lanes);
            each_lane(s.lanes, [&](uint32_t lane) {
                const Value& v = values[lane];
                if (v.bits) registers.undefine(row, lane, v.bits, v.origin);
            });
        }
    };
    const auto of_lanes = [&](uint32_t lanes) {
        Value all;
        each_lane(lanes, [&](uint32_t lane) {
            if (!all.bits) all = mixed(lane);
        });
        return all;
    };
    switch (i.transfer) {
        case Transfer::copy: {
            std::vector<std::array<Value, 32>> moved(i.data.size());
            for (size_t k = 0; k < i.data.size(); ++k)
                each_lane(s.lanes, [&](uint32_t lane) {
                    const uint32_t bits = read(i.data[k], lane);
                    moved[k][lane] = {bits, bits ? origin(s, i.data[k], lane) : never_written};
                });
            for (size_t k = 0; k < i.data.size(); ++k) {
                registers.define(i.results[k], s.lanes);
                each_lane(s.lanes, [&](uint32_t lane) {
                    const Value& v = moved[k][lane];
                    if (v.bits) registers.undefine(i.results[k], lane, v.bits, v.origin);
                });
            }
            return;
        }
        case Transfer::select:
            return give_all([&](uint32_t lane) {
                Value all{~0u, never_written};
                size_t registers_read = 0;
                for (const uint16_t row : i.data) {
                    const uint32_t bits = read(row, lane);
                    if (row >= predicate_rows) {
                        if (bits) return Value{~0u, origin(s, row, lane)};
                        continue;
                    }
                    ++registers_read;
                    all.bits &= bits;
                    if (bits) all.origin = origin(s, row, lane);
                }
                // An immediate or a constant may be what is selected.
                return registers_read == 2 && all.bits ? all : Value{};
            });
        case Transfer::logic:
        case Transfer::permute:
            return give_all([&](uint32_t lane) {
                uint32_t undefined[3];
                Origin from = never_written;
                for (uint32_t k = 0; k < 3; ++k) {
                    undefined[k] = read(i.source[k].row, lane);
                    if (undefined[k] && !from) from = origin(s, i.source[k].row, lane);
                }
                const uint32_t bits = i.transfer == Transfer::logic
                                          ? undefined_of(i.table, i.source, undefined)
                                          : permuted(i.table, undefined[0], undefined[1]);
                return Value{bits, bits ? from : never_written};
            });
        case Transfer::gather: {
            const Value all = of_lanes(s.lanes);
            return give_all([&](uint32_t) { return all; });
        }
        case Transfer::first: {
            const Value v = mixed(static_cast<uint32_t>(std::countr_zero(s.lanes)));
            return give_all([&](uint32_t) { return v; });
        }
        case Transfer::shuffle: {
            if (i.shuffle == ~0u) {
                Value all{~0u, never_written};
                each_lane(s.lanes, [&](uint32_t lane) {
                    const Value v = mixed(lane);
                    all.bits &= v.bits;
                    all.origin = v.origin;
                });
                return give_all([&](uint32_t) { return all.bits ? all : Value{}; });
            }
            return give_all([&](uint32_t lane) {
                const uint32_t mode = i.shuffle & 255, by = i.shuffle >> 8;
                uint32_t from = mode == 0   ? by
                                : mode == 1 ? lane - by
                                : mode == 2 ? lane + by
                                            : lane ^ by;
                if (from > 31) from = lane;
                return s.lanes >> from & 1 ? mixed(from) : Value{};
            });
        }
        case Transfer::matrix: {
            // A lane holds rows by lane / 4 of the first operand, columns by it of the second, and
            // has rows by lane / 4 and columns by lane % 4 of the result.
            Value of[32];
            uint32_t lanes = 0;
            each_lane(s.lanes, [&](uint32_t lane) {
                of[lane] = mixed(lane);
                if (of[lane].bits) lanes |= 1u << lane;
            });
            return give_all([&](uint32_t lane) {
                if (of[lane].bits) return of[lane];
                Value v;
                each_lane(lanes, [&](uint32_t from) {
                    if (from / 4 == lane / 4 || from / 4 / 2 == lane % 4) v = of[from];
                });
                return v;
            });
        }
        case Transfer::predicates:
        case Transfer::mix:
        case Transfer::memory:
            break;
    }
    const bool uniform =
        !i.results.empty() && std::all_of(i.results.begin(), i.results.end(),
                                          [](uint16_t row) { return is_uniform(row); });
    if (uniform) {
        const Value all = of_lanes(s.lanes);
        return give_all([&](uint32_t) { return all; });
    }
    give_all(mixed);
}

}  // namespace check_mem
