// SPDX-License-Identifier: Apache-2.0
// Device printf, heap and assert.
#include "emu/schedule/service_calls.hpp"

#include <cstdio>

#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/schedule/engine.hpp"

namespace sassemu {

namespace {

uint32_t argument(const Warp& w, uint32_t reg, uint32_t lane) {
    return w.row(register_row(reg))[lane];
}
uint64_t argument64(const Warp& w, uint32_t reg, uint32_t lane) {
    return argument(w, reg, lane) | uint64_t{argument(w, reg + 1, lane)} << 32;
}

// Guest bytes through generic addresses; false at the first byte that is not there.
bool read(Warp& w, uint32_t lane, uint64_t address, uint32_t bytes, void* out) {
    for (uint32_t i = 0; i < bytes; ++i) {
        const Landing at = land(w, AccessSpace::generic, address + i, lane, 1, false);
        if (!at.host) return false;
        static_cast<uint8_t*>(out)[i] = host::load<uint8_t>(at.host);
    }
    return true;
}

bool read_string(Warp& w, uint32_t lane, uint64_t address, std::string& out) {
    constexpr size_t longest = 1 << 20;
    out.clear();
    for (char c = 0; out.size() < longest; out.push_back(c)) {
        if (!read(w, lane, address + out.size(), 1, &c)) return false;
        if (c == 0) return true;
    }
    return false;
}

// One conversion of a format string, host style: flags, width, precision, length, letter.
struct Conversion {
    std::string spec;  // without length modifiers
    bool wide = false;
    int stars = 0;
    char letter = 0;
};

Conversion next_conversion(const std::string& format, size_t& at) {
    Conversion c;
    c.spec = "%";
    for (++at; at < format.size(); ++at) {
        const char ch = format[at];
        if (ch == 'l' || ch == 'j' || ch == 'z' || ch == 't') {
            c.wide = true;
        } else if (ch == 'h') {
            continue;
        } else if (std::string_view("diouxXcsfFeEgGaAp%").find(ch) != std::string_view::npos) {
            c.letter = ch;
            ++at;
            return c;
        } else if (std::string_view("0123456789+-# .*").find(ch) != std::string_view::npos) {
            c.stars += ch == '*';
            c.spec += ch;
        } else {
            break;
        }
    }
    return c;
}

template <class T>
void append(std::string& out, const Conversion& c, const char* length, const int* star, T value) {
    const std::string spec = c.spec + length + c.letter;
    char text[512];
    const int n = c.stars == 0 ? std::snprintf(text, sizeof text, spec.c_str(), value)
                  : c.stars == 1
                      ? std::snprintf(text, sizeof text, spec.c_str(), star[0], value)
                      : std::snprintf(text, sizeof text, spec.c_str(), star[0], star[1], value);
    if (n < 0) return;
    if (static_cast<size_t>(n) < sizeof text) {
        out.append(text, static_cast<size_t>(n));
        return;
    }
    std::string large(static_cast<size_t>(std::min(n, 1 << 20)) + 1, '\0');
    const int m =
        c.stars == 0 ? std::snprintf(large.data(), large.size(), spec.c_str(), value)
        : c.stars == 1
            ? std::snprintf(large.data(), large.size(), spec.c_str(), star[0], value)
            : std::snprintf(large.data(), large.size(), spec.c_str(), star[0], star[1], value);
    if (m > 0) out.append(large.data(), std::min(static_cast<size_t>(m), large.size() - 1));
}

// Arguments lie one after the other at `arguments`, each aligned to its size; -1 on bad memory.
int format_into(Warp& w, uint32_t lane, const std::string& format, uint64_t arguments,
                std::string& out) {
    int count = 0;
    uint64_t at_argument = arguments;
    const auto take = [&](uint32_t bytes, void* value) {
        at_argument = (at_argument + bytes - 1) / bytes * bytes;
        const bool ok = read(w, lane, at_argument, bytes, value);
        at_argument += bytes;
        ++count;
        return ok;
    };
    for (size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            out += format[at++];
            continue;
        }
        const size_t begin = at;
        const Conversion c = next_conversion(format, at);
        if (c.letter == '%') {
            out += '%';
            continue;
        }
        if (c.letter == 0 || c.stars > 2) {  // not a conversion: printed as it stands
            out += format.substr(begin, at - begin);
            continue;
        }
        int star[2] = {0, 0};
        for (int i = 0; i < c.stars; ++i)
            if (!take(4, &star[i])) return -1;
        if (std::string_view("fFeEgGaA").find(c.letter) != std::string_view::npos) {
            double v;
            if (!take(8, &v)) return -1;
            append(out, c, "", star, v);
        } else if (c.letter == 's') {
            uint64_t address;
            std::string text;
            if (!take(8, &address)) return -1;
            if (address == 0)
                text = "(null)";
            else if (!read_string(w, lane, address, text))
                return -1;
            append(out, c, "", star, text.c_str());
        } else if (c.letter == 'p') {
            uint64_t v;
            if (!take(8, &v)) return -1;
            append(out, c, "", star, reinterpret_cast<void*>(v));
        } else if (c.wide) {
            uint64_t v;
            if (!take(8, &v)) return -1;
            append(out, c, "ll", star, v);
        } else {
            uint32_t v;
            if (!take(4, &v)) return -1;
            append(out, c, "", star, v);
        }
    }
    return count;
}

// What the warp has loaded is there: the arguments, and the last of what free() takes back.
void begin_call(Warp& w) {
    ++w.effects;
    if (w.in_flight) engine(w).drain(w);
}

const Op* give_back(Warp& w, const Op* op, uint32_t lanes) {
    uint64_t to[32] = {};
    for (uint32_t lane = 0; lane < 32; ++lane)
        if (lanes >> lane & 1) to[lane] = argument64(w, 20, lane);
    return services(w).jump(w, op, lanes, to);
}

const Op* bad_memory(Warp& w, const Op* op, uint32_t lane, const char* what, uint64_t address) {
    return engine(w).fault(w, op, 1u << lane, FaultKind::out_of_bounds, what, true, address);
}

const Op* call_vprintf(const Op* op, Warp& w, uint32_t lanes) {
    begin_call(w);
    std::string format, text;
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        const uint64_t at = argument64(w, 4, lane);
        if (!read_string(w, lane, at, format))
            return bad_memory(w, op, lane, "the format string of printf cannot be read", at);
        text.clear();
        const int n = format_into(w, lane, format, argument64(w, 6, lane), text);
        if (n < 0)
            return bad_memory(w, op, lane, "an argument of printf cannot be read",
                              argument64(w, 6, lane));
        w.row(register_row(4))[lane] = static_cast<uint32_t>(n);
        engine(w).calls().print(w.cta->linear, std::move(text));
    }
    return give_back(w, op, lanes);
}

const Op* call_malloc(const Op* op, Warp& w, uint32_t lanes) {
    begin_call(w);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        const uint64_t at = engine(w).calls().heap().allocate(argument64(w, 4, lane));
        w.row(register_row(4))[lane] = static_cast<uint32_t>(at);
        w.row(register_row(5))[lane] = static_cast<uint32_t>(at >> 32);
    }
    return give_back(w, op, lanes);
}

const Op* call_free(const Op* op, Warp& w, uint32_t lanes) {
    begin_call(w);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        const uint64_t at = argument64(w, 4, lane);
        if (!engine(w).calls().heap().release(at))
            return engine(w).fault(
                w, op, 1u << lane, FaultKind::other,
                "free() of an address that malloc() has not given out, or that was freed", true,
                at);
    }
    return give_back(w, op, lanes);
}

const Op* call_assertfail(const Op* op, Warp& w, uint32_t lanes) {
    begin_call(w);
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    std::string message = "?", file = "?", function = "?";
    read_string(w, lane, argument64(w, 4, lane), message);
    read_string(w, lane, argument64(w, 6, lane), file);
    read_string(w, lane, argument64(w, 10, lane), function);
    const std::string text = file + ":" + std::to_string(argument(w, 8, lane)) + ": " + function +
                             ": assertion `" + message + "` failed";
    return engine(w).fault(w, op, lanes, FaultKind::assert_failed, text, false, 0);
}

}  // namespace

const std::vector<Service>& ServiceCalls::table() {
    static const std::vector<Service> services{{"vprintf", call_vprintf},
                                               {"malloc", call_malloc},
                                               {"free", call_free},
                                               {"__assertfail", call_assertfail}};
    return services;
}

void ServiceCalls::print(uint64_t cta, std::string text) {
    const std::lock_guard guard(mutex_);
    output_[cta] += text;
}

void ServiceCalls::flush(const std::function<void(std::string_view)>& sink) {
    const std::lock_guard guard(mutex_);
    if (sink)
        for (const auto& [cta, text] : output_) sink(text);
    output_.clear();
}

}  // namespace sassemu
