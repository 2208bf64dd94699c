// SPDX-License-Identifier: Apache-2.0
// Uniform arithmetic, logic and comparisons, in plain scalar code. Where a vector instruction of
// the same name exists, the meaning of the fields is explained there (integer.cpp and its parts).
#include "emu/isa/uniform.hpp"

#include <type_traits>

#include "emu/isa/uniform_shapes.hpp"

namespace sassemu {
namespace SASSEMU_ISA_NS {
namespace {

// ---- sums --------------------------------------------------------------------------------------

struct Sum {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op&, Warp&) {
        return a + b + c;
    }
};
// Complements m[0..2], carries in e, f (predicate codes) and m[3] (a number), out k[0], k[1]. Where
// both carries go to one predicate it holds the first (measured on an H200).
struct SumCarry {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op& op, Warp& w) {
        uint64_t sum = uint64_t{a ^ op.m[0]} + (b ^ op.m[1]) + (c ^ op.m[2]) + op.m[3];
        sum += uniform_truth(w, op.e);
        sum += uniform_truth(w, op.f);
        if (op.k[1] != 7) write_uniform_predicate(w, op.k[1], sum >> 32 >= 2);
        if (op.k[0] != 7) write_uniform_predicate(w, op.k[0], sum >> 32 >= 1);
        return static_cast<uint32_t>(sum);
    }
};
using Wide = unsigned __int128;
uint64_t flip64(uint64_t v, uint32_t mask) { return mask ? ~v : v; }
// Complements and carries as above.
const Op* sum64(const Op* op, Warp& w, uint32_t) {
    Wide sum = Wide{flip64(w.scalar64(op->a), op->m[0])} + flip64(w.scalar64(op->b), op->m[1]) +
               flip64(w.scalar64(op->c), op->m[2]) + op->m[3];
    sum += uniform_truth(w, op->e);
    sum += uniform_truth(w, op->f);
    write_uniform64(w, op->d, static_cast<uint64_t>(sum));
    const uint64_t carry = static_cast<uint64_t>(sum >> 64);
    if (op->k[1] != 7) write_uniform_predicate(w, op->k[1], carry >= 2);
    if (op->k[0] != 7) write_uniform_predicate(w, op->k[0], carry >= 1);
    return op + 1;
}

template <class T>
void lower_sum64(Lower& x, const T& i) {
    check_even(x, i.a);
    check_even(x, i.b);
    check_even(x, i.c);
    check_even_result(x, i.d);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.op.a = x.source(i.a, 2).at;
    x.op.b = x.source(i.b, 2).at;  // an immediate is stored sign-extended
    x.op.c = x.source(i.c, 2).at;
    x.op.m[0] = flip_mask(i.a);
    x.op.m[1] = flip_mask(i.b);
    x.op.m[2] = flip_mask(i.c);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    x.handler(sum64);
}

// ---- products ----------------------------------------------------------------------------------

// c complemented by m[2], plus m[3], plus the predicate code e.
struct MulAdd {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op& op, Warp& w) {
        return a * b + (c ^ op.m[2]) + op.m[3] + uniform_truth(w, op.e);
    }
};
// k[1]: signed.
const Op* mul_add_wide(const Op* op, Warp& w, uint32_t) {
    const uint32_t a = w.scalar32(op->a), b = w.scalar32(op->b);
    const uint64_t product =
        op->k[1] ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(a)} * static_cast<int32_t>(b))
                 : uint64_t{a} * b;
    const Wide sum =
        Wide{product} + flip64(w.scalar64(op->c), op->m[2]) + op->m[3] + uniform_truth(w, op->e);
    write_uniform64(w, op->d, static_cast<uint64_t>(sum));
    if (op->k[0] != 7) write_uniform_predicate(w, op->k[0], static_cast<uint64_t>(sum >> 64) != 0);
    return op + 1;
}
template <class T>
void set_addend(Lower& x, const T& i) {
    x.op.m[2] = flip_mask(i.c);
    x.op.m[3] = !i.x && flipped(i.c);
    x.op.e = i.x ? predicate_code(i.pa) : code_false;
}

// ---- shifts, logic, fields ---------------------------------------------------------------------

uint32_t shift_left(uint32_t v, uint32_t n) { return n < 32 ? v << n : 0; }
// k[1]: bit 0 HI, bit 1 SX32; m[2] the count; carry out k[0].
struct LeaSum {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op& op, Warp& w) {
        const uint32_t upper = op.k[1] & 2 ? 0u - (a >> 31) : c;
        const uint64_t shifted = (uint64_t{upper} << 32 | a) << op.m[2];
        const uint32_t t = static_cast<uint32_t>(op.k[1] & 1 ? shifted >> 32 : shifted);
        uint64_t sum = uint64_t{t ^ op.m[0]} + (b ^ op.m[1]) + op.m[3];
        sum += uniform_truth(w, op.e);
        if (op.k[0] != 7) write_uniform_predicate(w, op.k[0], sum >> 32 != 0);
        return static_cast<uint32_t>(sum);
    }
};
// m[0]: the width; k[0]: bit 0 right, 1 signed, 2 high, 3 wrap.
struct Shift {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op& op, Warp&) {
        const uint32_t width = op.m[0];
        const uint32_t n = op.k[0] & 8 ? b & (width - 1) : b < width ? b : width;
        const uint64_t v = uint64_t{c} << 32 | a;
        uint64_t r;
        if (!(op.k[0] & 1))
            r = n < 64 ? v << n : 0;
        else if (op.k[0] & 2)
            r = static_cast<uint64_t>(static_cast<int64_t>(v) >> (n < 64 ? n : 63));
        else
            r = n < 64 ? v >> n : 0;
        return static_cast<uint32_t>(op.k[0] & 4 ? r >> 32 : r);
    }
};
struct Logic {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, const Op& op, Warp& w) {
        uint32_t r = 0;
        for (uint32_t i = 0; i < 8; ++i)
            if (op.m[0] >> i & 1) r |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        if (op.k[0] != 7) {
            const bool set = r != 0, pa = uniform_truth(w, op.e);
            write_uniform_predicate(w, op.k[0], op.k[1] ? set && pa : set || pa);
        }
        return r;
    }
};
struct And {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t, const Op&, Warp&) { return a & b; }
};
struct Or {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t, const Op&, Warp&) { return a | b; }
};
// k[0]: wrap.
struct MaskField {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t, const Op& op, Warp&) {
        const uint32_t p = op.k[0] ? a & 31 : a, n = op.k[0] ? b & 31 : b;
        return shift_left(n < 32 ? (1u << n) - 1 : ~0u, p);
    }
};
// k[0]: wrap, k[1]: signed.
struct Extend {
    static uint32_t apply(uint32_t a, uint32_t b, uint32_t, const Op& op, Warp&) {
        const uint32_t n = op.k[0] ? b & 31 : b;
        if (n >= 32) return a;
        if (n == 0) return 0;
        if (!op.k[1]) return a & ((1u << n) - 1);
        return static_cast<uint32_t>(static_cast<int32_t>(a << (32 - n)) >> (32 - n));
    }
};
// k[0]: bit 0 signed, bit 1 SH; m[1] complements; the predicate k[1] says that there is such a bit.
struct FindLeading {
    static uint32_t apply(uint32_t a, uint32_t, uint32_t, const Op& op, Warp& w) {
        a ^= op.m[1];
        if (op.k[0] & 1) a ^= 0u - (a >> 31);
        if (op.k[1] != 7) write_uniform_predicate(w, op.k[1], a != 0);
        if (a == 0) return ~0u;
        const uint32_t zeros = static_cast<uint32_t>(std::countl_zero(a));
        return op.k[0] & 2 ? zeros : 31 - zeros;
    }
};
struct PopCount {
    static uint32_t apply(uint32_t a, uint32_t, uint32_t, const Op& op, Warp&) {
        return static_cast<uint32_t>(std::popcount(a ^ op.m[1]));
    }
};
struct Reverse {
    static uint32_t apply(uint32_t a, uint32_t, uint32_t, const Op&, Warp&) {
        uint32_t r = 0;
        for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
        return r;
    }
};

// ---- comparison --------------------------------------------------------------------------------

template <class U>
bool compare(U a, U b, bool is_signed, typed::ICmp c) {
    using S = std::make_signed_t<U>;
    const bool less = is_signed ? static_cast<S>(a) < static_cast<S>(b) : a < b;
    switch (c) {
        case typed::ICmp::F:
            return false;
        case typed::ICmp::LT:
            return less;
        case typed::ICmp::EQ:
            return a == b;
        case typed::ICmp::LE:
            return less || a == b;
        case typed::ICmp::GT:
            return !less && a != b;
        case typed::ICmp::NE:
            return a != b;
        case typed::ICmp::GE:
            return !less;
        case typed::ICmp::T:
            return true;
    }
    return false;
}
// k[0] boolean operation, k[1] comparison, k[2] signed; sources e and, with EX (m[2]), m[3];
// results m[0], m[1]. U is the width.
template <class U>
const Op* set_predicate(const Op* op, Warp& w, uint32_t) {
    U a, b;
    std::memcpy(&a, w.scalar(op->a), sizeof a);
    std::memcpy(&b, w.scalar(op->b), sizeof b);
    const auto c = static_cast<typed::ICmp>(op->k[1]);
    bool r = compare(a, b, op->k[2], c);
    if (op->m[2] && a == b && c != typed::ICmp::F && c != typed::ICmp::T)
        r = uniform_truth(w, op->m[3]);
    const Mask p = predicate_value(w, op->e), first = r ? ~0u : 0;
    write_uniform_predicate(w, op->m[0], join(first, p, op->k[0]) & 1);
    if (op->m[1] != 7) write_uniform_predicate(w, op->m[1], join(~first, p, op->k[0]) & 1);
    return op + 1;
}

}  // namespace

void lower(Lower& x, const typed::Uiadd3& i) {
    x.op.m[0] = flip_mask(i.a);
    x.op.m[1] = flip_mask(i.b);
    x.op.m[2] = flip_mask(i.c);
    x.op.m[3] = i.x ? 0 : static_cast<uint32_t>(flipped(i.a) + flipped(i.b) + flipped(i.c));
    x.op.e = i.x ? predicate_code(i.pa) : code_false;
    x.op.f = i.x ? predicate_code(i.pb) : code_false;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pd2.index;
    const bool plain = !i.x && x.op.m[3] == 0 && i.pd.index == 7 && i.pd2.index == 7;
    plain ? emit_scalar<Sum>(x, i.d, i.a, i.b, i.c) : emit_scalar<SumCarry>(x, i.d, i.a, i.b, i.c);
}
void lower(Lower& x, const typed::Uiadd364& i) {
    x.op.m[3] = static_cast<uint32_t>(flipped(i.a) + flipped(i.b) + flipped(i.c));
    x.op.e = x.op.f = code_false;
    lower_sum64(x, i);
}
void lower(Lower& x, const typed::Uiadd364X& i) {
    x.op.e = predicate_code(i.pa);
    x.op.f = predicate_code(i.pb);
    lower_sum64(x, i);
}
void lower(Lower& x, const typed::Uimad& i) {
    set_addend(x, i);
    emit_scalar<MulAdd>(x, i.d, i.a, i.b, i.c);
}
void lower(Lower& x, const typed::UimadWide& i) {
    check_even(x, i.c);
    check_even_result(x, i.d);
    set_addend(x, i);
    x.op.d = x.uniform_destination(i.d.index, 2);
    x.op.a = x.source(i.a).at;
    x.op.b = x.source(i.b).at;
    x.op.c = x.source(i.c, 2).at;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.type == typed::SignType::S32;
    x.handler(mul_add_wide);
}
void lower(Lower& x, const typed::Ulea& i) {
    x.op.m[0] = flip_mask(i.a);
    x.op.m[1] = flip_mask(i.b);
    x.op.m[2] = static_cast<uint32_t>(i.shift.imm);
    x.op.m[3] = i.x ? 0 : static_cast<uint32_t>(flipped(i.a) + flipped(i.b));
    x.op.e = i.x ? predicate_code(i.pa) : code_false;
    x.op.k[0] = i.pd.index;
    x.op.k[1] = static_cast<uint8_t>(i.hi | i.sx32 << 1);
    emit_scalar<LeaSum>(x, i.d, i.a, i.b, i.c);
}
void lower(Lower& x, const typed::Ulop3& i) {
    x.op.m[0] = static_cast<uint32_t>(i.lut.imm);
    x.op.k[0] = i.pd.index;
    x.op.k[1] = i.pand;
    x.op.e = predicate_code(i.pa);
    if (i.pd.index == 7 && x.op.m[0] == 0xc0) return emit_scalar<And>(x, i.d, i.a, i.b);
    if (i.pd.index == 7 && x.op.m[0] == 0xfc) return emit_scalar<Or>(x, i.d, i.a, i.b);
    emit_scalar<Logic>(x, i.d, i.a, i.b, i.c);
}
void lower(Lower& x, const typed::Ushf& i) {
    const bool wide = i.type == typed::ShfType::S64 || i.type == typed::ShfType::U64;
    const bool is_signed = i.type == typed::ShfType::S64 || i.type == typed::ShfType::S32;
    x.op.m[0] = wide ? 64 : 32;
    x.op.k[0] = static_cast<uint8_t>((i.dir == typed::ShiftDir::R) | is_signed << 1 | i.hi << 2 |
                                     i.wrap << 3);
    emit_scalar<Shift>(x, i.d, i.a, i.b, i.c);
}
void lower(Lower& x, const typed::Usgxt& i) {
    x.op.k[0] = i.wrap;
    x.op.k[1] = i.type == typed::SignType::S32;
    emit_scalar<Extend>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Ubmsk& i) {
    x.op.k[0] = i.wrap;
    emit_scalar<MaskField>(x, i.d, i.a, i.b);
}
void lower(Lower& x, const typed::Uflo& i) {
    x.op.m[1] = flip_mask(i.a);
    x.op.k[0] = static_cast<uint8_t>((i.type == typed::SignType::S32) | i.sh << 1);
    x.op.k[1] = i.pd.index;
    emit_scalar<FindLeading>(x, i.d, i.a);
}
void lower(Lower& x, const typed::Upopc& i) {
    x.op.m[1] = flip_mask(i.a);
    emit_scalar<PopCount>(x, i.d, i.a);
}
void lower(Lower& x, const typed::Ubrev& i) { emit_scalar<Reverse>(x, i.d, i.a); }

void lower(Lower& x, const typed::Uisetp& i) {
    const bool wide = i.type == typed::SignType::U64 || i.type == typed::SignType::S64;
    if (wide) {
        check_even(x, i.a);
        check_even(x, i.b);
        if (i.ex) return x.gap("a 64-bit comparison with EX");
    }
    x.op.a = x.source(i.a, wide ? 2 : 1).at;
    x.op.b = x.source(i.b, wide ? 2 : 1).at;
    x.op.k[0] = static_cast<uint8_t>(i.bool_);
    if (x.op.k[0] > 2) return x.reject("an invalid boolean operation");
    x.op.k[1] = static_cast<uint8_t>(i.cmp);
    x.op.k[2] = i.type == typed::SignType::S32 || i.type == typed::SignType::S64;
    x.op.e = predicate_code(i.pa);
    x.op.m[0] = i.pd.index;
    x.op.m[1] = i.pd2.index;
    x.op.m[2] = i.ex;
    x.op.m[3] = predicate_code(i.pb);
    x.handler(wide ? set_predicate<uint64_t> : set_predicate<uint32_t>);
}

}  // namespace SASSEMU_ISA_NS
}  // namespace sassemu
