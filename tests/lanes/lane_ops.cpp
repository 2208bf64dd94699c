// SPDX-License-Identifier: Apache-2.0
// One entry per lane primitive and variant, compiled once per host level. See lane_ops.hpp.
#include "tests/lanes/lane_ops.hpp"

#include "emu/lanes/lanes.hpp"

namespace lane_tests {
namespace {

using namespace sassemu::L;
using sassemu::lanes::Compare;
using sassemu::lanes::Post;
using sassemu::lanes::Rounding;

constexpr auto kRn = Rounding::rn;
constexpr auto kRm = Rounding::rm;
constexpr auto kRp = Rounding::rp;
constexpr auto kRz = Rounding::rz;

inline void put64(Arguments& x, V64 v) { store_pair(x.row[0], x.row[1], v); }
inline void put_rows(Arguments& x, const Rows4& v) {
    for (int i = 0; i < 4; ++i) store(x.row[i], v.r[i]);
}
inline Rows4 get_rows(const Arguments& x) {
    return Rows4{{load(x.row[0]), load(x.row[1]), load(x.row[2]), load(x.row[3])}};
}

#define A load(x.a)
#define B load(x.b)
#define C load(x.c)
#define A64 load_pair(x.a, x.a + 32)
#define B64 load_pair(x.b, x.b + 32)
#define C64_ load_pair(x.c, x.c + 32)
#define ENTRY(label, operands, ...) {label, Operands::operands, [](Arguments& x) { __VA_ARGS__; }},
#define V(label, operands, ...) ENTRY(label, operands, store(x.row[0], __VA_ARGS__))
#define W(label, operands, ...) ENTRY(label, operands, put64(x, __VA_ARGS__))
#define P(label, operands, ...) ENTRY(label, operands, x.out[0] = (uint32_t)(__VA_ARGS__))
#define ROUNDINGS(M) M(kRn, "rn") M(kRm, "rm") M(kRp, "rp") M(kRz, "rz")
#define COMPARES(M) \
    M(f)            \
    M(lt) M(eq) M(le) M(gt) M(ne) M(ge) M(num) M(nan) M(ltu) M(equ) M(leu) M(gtu) M(neu) M(geu) M(t)

const LaneOp kOps[] = {
#include "tests/lanes/lane_ops.inc"
};

}  // namespace

LaneTable SASSEMU_LANES_CAT(lane_table_, SASSEMU_LEVEL)() {
    return {kOps, sizeof kOps / sizeof kOps[0]};
}

}  // namespace lane_tests
