// SPDX-License-Identifier: Apache-2.0
// Control bits: the suffix's syntax in both directions, and the defaults. See control_text.hpp.
#include "control_text.hpp"

#include <cstring>

#include "decode.hpp"
#include "scan.hpp"
#include "text.hpp"

namespace sassdec {
namespace {
using namespace tables;

constexpr int no_barrier = 7;

constexpr unsigned schedule_pos = 105, write_pos = 110, read_pos = 113, wait_pos = 116;
constexpr int all_barriers = 0x3f;
// Scoreboards of the defaults.
constexpr int default_write = 0, default_read = 1;

void set_bits(std::uint64_t (&w)[2], unsigned pos, unsigned len, std::uint64_t v) {
    for (unsigned i = 0; i < len; ++i) {
        const std::uint64_t bit = std::uint64_t{1} << (pos + i) % 64;
        std::uint64_t& half = w[(pos + i) / 64];
        half = v >> i & 1 ? half | bit : half & ~bit;
    }
}

bool parse_set(const char*& p, int& mask, Complaint& complaint) {
    mask = 0;
    if (!scan::literal(p, "{"))
        return complaint.say(p, "expected '{' and scoreboards 0 to 5, e.g. &req={0,3}");
    p = scan::skip(p);
    while (*p != '}') {
        if (*p < '0' || *p > '5') return complaint.say(p, "expected a scoreboard 0 to 5");
        mask |= 1 << (*p++ - '0');
        p = scan::skip(p);
        if (*p == ',')
            p = scan::skip(p + 1);
        else if (*p != '}')
            return complaint.say(p, "expected ',' or '}'");
    }
    ++p;
    return true;
}

bool parse_barrier(const char*& p, int& number, Complaint& complaint) {
    scan::literal(p, "=");
    if (scan::word(p, "none"))
        number = no_barrier;
    else if (*p >= '0' && *p <= '7' && !scan::is_word(p[1]))
        number = *p++ - '0';
    else
        return complaint.say(p, "expected a scoreboard 0 to 5, or none");
    return true;
}

// {hi:lo=value, bit=value, ...}
bool parse_bits(const char*& p, ControlText& c, Complaint& complaint) {
    if (!scan::literal(p, "{")) return complaint.say(p, "expected '{', e.g. &bits={127:126=1}");
    p = scan::skip(p);
    while (*p != '}') {
        unsigned hi, lo;
        if (!scan::decimal(p, hi) || hi > 127)
            return complaint.say(p, "expected a bit position 0 to 127");
        lo = hi;
        if (scan::literal(p, ":") && (!scan::decimal(p, lo) || lo > hi || hi - lo > 63))
            return complaint.say(p, "expected the lower bit position of at most 64 bits");
        if (!scan::literal(p, "=")) return complaint.say(p, "expected '=' and a value");
        scan::Integer v;
        const char* at = p;
        if (!scan::integer(p, v) || v.negative || (hi - lo < 63 && v.magnitude >> (hi - lo + 1)))
            return complaint.unfit(at, "the value does not fit its bits");
        std::uint64_t mask[2] = {c.bits_mask.lo, c.bits_mask.hi},
                      value[2] = {c.bits_value.lo, c.bits_value.hi};
        set_bits(mask, lo, hi - lo + 1, ~std::uint64_t{0});
        set_bits(value, lo, hi - lo + 1, v.magnitude);
        c.bits_mask = {mask[0], mask[1]};
        c.bits_value = {value[0], value[1]};
        p = scan::skip(p);
        if (*p == ',')
            p = scan::skip(p + 1);
        else if (*p != '}')
            return complaint.say(p, "expected ',' or '}'");
    }
    ++p;
    return true;
}

}  // namespace

bool parse_control(const char* p, ControlText& c, Complaint& complaint) {
    for (p = scan::skip(p); *p && *p != ';'; p = scan::skip(p)) {
        const char* at = p;
        if (scan::literal(p, "&req=")) {
            if (!parse_set(p, c.wait, complaint)) return false;
        } else if (scan::word(p, "&req_6")) {  // the seeds' spelling: a request of all six
            c.wait = all_barriers;
        } else if (scan::literal(p, "&rd")) {
            if (!parse_barrier(p, c.read_barrier, complaint)) return false;
        } else if (scan::literal(p, "&wr")) {
            if (!parse_barrier(p, c.write_barrier, complaint)) return false;
        } else if (scan::literal(p, "&bits=")) {
            if (!parse_bits(p, c, complaint)) return false;
        } else if (scan::word(p, "?YIELD")) {
            c.yield = true;
        } else if (scan::literal(p, "?WAIT")) {
            unsigned n;
            if (!scan::decimal(p, n) || n > 15)
                return complaint.say(p, "expected a number of cycles, 0 to 15");
            c.stall = static_cast<int>(n);
            c.stall_at = at;
        } else {
            return complaint.say(p,
                                 "expected the end of the line or a control suffix (&req= &rd= "
                                 "&wr= ?WAITn ?YIELD &bits=)");
        }
        if (*p && *p != ';' && !scan::is_blank(*p)) return complaint.say(p, "expected a blank");
    }
    if (*p == ';' && *scan::skip(p + 1))
        return complaint.unfit(p + 1, "expected one instruction only");
    return true;
}

// Values 1 to 15 let the scheduler switch warps; 17 to 27 wait 1 to 11 cycles without; 0 drains.
// Reuse flags need 17 and up.
int schedule_bits(const ControlText& c, bool reuse, const char* at, Complaint& complaint) {
    if (c.stall < 0) {
        if (reuse && c.yield)
            return complaint.unfit(at,
                                   "a reuse flag does not go with ?YIELD: the flag's bits mean "
                                   "something else there"),
                   -1;
        return reuse ? 16 + 11 : 15;
    }
    const bool high = !c.yield && c.stall >= 1 && c.stall <= 11;
    if (reuse && !high)
        return complaint.unfit(c.stall_at, "a reuse flag needs ?WAIT1 to ?WAIT11, without ?YIELD"),
               -1;
    return high ? 16 + c.stall : c.stall;
}

void apply_control(const ControlText& c, const sassdec_insn& insn, std::uint64_t (&word)[2]) {
    int write = no_barrier, read = no_barrier;
    // Completion of variable-latency instructions shows in scoreboards; jumps set none. Where the
    // description knows better it says so.
    const FormRow& form = forms[insn.form];
    if (form.scoreboard == write_scoreboard) {
        write = default_write;
    } else if (form.scoreboard == read_scoreboard) {
        read = default_read;
    } else if (form.scoreboard == by_operands && form.variable) {
        sassdec_regset in, out;
        sassdec_insn unguarded = insn;
        unguarded.guard = SASSDEC_PT;
        sassdec_registers(&unguarded, &in, &out);
        const auto any = [](const std::uint64_t(&s)[4]) {
            return (s[0] | s[1] | s[2] | s[3]) != 0;
        };
        const bool jumps = insn.groups & (SASSDEC_GROUP_BRANCH | SASSDEC_GROUP_CALL |
                                          SASSDEC_GROUP_RETURN | SASSDEC_GROUP_EXIT);
        if (any(out.r) || any(out.ur) || out.p || out.up) write = default_write;
        if (!jumps && (any(in.r) || any(in.ur) || in.p || in.up)) read = default_read;
    }
    if (form.barred_scoreboards & 1) write = no_barrier;
    if (form.barred_scoreboards & 2) read = no_barrier;
    if (c.write_barrier >= 0) write = c.write_barrier;
    if (c.read_barrier >= 0) read = c.read_barrier;
    set_bits(word, write_pos, 3, static_cast<std::uint64_t>(write));
    set_bits(word, read_pos, 3, static_cast<std::uint64_t>(read));
    const bool waits = !(form.mask[1] >> (wait_pos - 64) & 1);  // some forms allow no wait
    set_bits(word, wait_pos, 6,
             static_cast<std::uint64_t>(c.wait >= 0 ? c.wait
                                        : waits     ? all_barriers
                                                    : 0));
    word[0] = (word[0] & ~c.bits_mask.lo) | c.bits_value.lo;
    word[1] = (word[1] & ~c.bits_mask.hi) | c.bits_value.hi;
}

}  // namespace sassdec

namespace {

void put_barrier(sassdec::Text& t, const char* name, unsigned number) {
    t.put(name);
    if (number == 7)
        t.put("none");
    else
        t.dec(number);
}

// `exact`: a schedule that the assembler would reject here is left to &bits.
void put_control(sassdec::Text& t, const sassdec_insn& insn, bool exact) {
    const sassdec_control& c = insn.control;
    t.put("&req={");
    bool any = false;
    for (unsigned i = 0; i < 6; ++i)
        if (c.wait_mask >> i & 1) {
            if (any) t.put(',');
            t.dec(i);
            any = true;
        }
    t.put('}');
    put_barrier(t, " &rd=", c.read_barrier);
    put_barrier(t, " &wr=", c.write_barrier);
    if (exact && c.stall < sassdec::tables::forms[insn.form].stall) return;
    t.put(" ?WAIT");
    t.dec(c.stall);
    if (c.yield) t.put(" ?YIELD");
}

// The runs of bits in which the word differs from what the assembler makes of the text.
void put_bits(sassdec::Text& t, const std::uint64_t (&want)[2], const std::uint64_t (&got)[2]) {
    const auto bit = [](const std::uint64_t(&w)[2], unsigned i) { return w[i / 64] >> i % 64 & 1; };
    bool any = false;
    for (int hi = 127; hi >= 0; --hi) {
        if (bit(want, static_cast<unsigned>(hi)) == bit(got, static_cast<unsigned>(hi))) continue;
        int lo = hi;
        while (lo > 0 &&
               bit(want, static_cast<unsigned>(lo - 1)) !=
                   bit(got, static_cast<unsigned>(lo - 1)) &&
               hi - lo < 63)
            --lo;
        std::uint64_t v = 0;
        for (int i = hi; i >= lo; --i) v = v << 1 | bit(want, static_cast<unsigned>(i));
        t.put(any ? "," : " &bits={");
        any = true;
        t.dec(static_cast<unsigned>(hi));
        if (lo != hi) {
            t.put(':');
            t.dec(static_cast<unsigned>(lo));
        }
        t.put('=');
        t.hex(v);
        hi = lo;
    }
    if (any) t.put('}');
}

}  // namespace

extern "C" int sassdec_format_control(const sassdec_insn* insn, char* out, size_t size) {
    if (!insn || !out) return -1;
    sassdec::Text t(out, size);
    put_control(t, *insn, false);
    return t.finish();
}

extern "C" int sassdec_format_exact(const sassdec_insn* insn, char* out, size_t size) {
    if (!insn || !out) return -1;
    const int length = sassdec_format(insn, nullptr, out, size);
    if (length < 0 || insn->status != SASSDEC_OK) return length;
    sassdec::Text t(out + length, size - static_cast<std::size_t>(length));
    t.put(' ');
    put_control(t, *insn, true);
    const int control = t.finish();
    if (control < 0) return -1;
    std::uint64_t word[2] = {insn->word[0], insn->word[1]};
    if (sassdec_assemble(static_cast<sassdec_arch>(insn->arch), out, insn->pc, nullptr, word,
                         nullptr) != SASSDEC_OK)
        return -1;
    put_bits(t, insn->word, word);
    return t.finish() < 0 ? -1 : static_cast<int>(std::strlen(out));
}
