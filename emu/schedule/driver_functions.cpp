// SPDX-License-Identifier: Apache-2.0
// Device printf, heap and assert.
#include "emu/schedule/driver_functions.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "emu/plugin/hooks.hpp"
#include "emu/schedule/device_launches.hpp"
#include "emu/schedule/driver_call.hpp"

namespace sassemu {

namespace {

bool read(Warp& w, uint32_t lane, uint64_t address, uint32_t bytes, void* out) {
    return read_bytes(w, lane, address, {static_cast<std::byte*>(out), bytes});
}

// What one call of printf writes at most, and how long a string it reads. The chip keeps a call's
// arguments in a buffer of a stated size and the host formats them without a limit; what lies
// beyond this one is cut off.
constexpr size_t longest_text = 1 << 20;

// At most `most` characters of a string, which then needs no end (C17 7.21.6.1, precision of %s).
bool read_string(Warp& w, uint32_t lane, uint64_t address, std::string& out,
                 size_t most = SIZE_MAX) {
    out.clear();
    for (char c = 0; out.size() < std::min(most, longest_text); out.push_back(c)) {
        if (!read(w, lane, address + out.size(), 1, &c)) return false;
        if (c == 0) return true;
    }
    return most <= longest_text;
}

// One conversion of a format string: flags, width, precision, length, letter.
struct Conversion {
    std::string flags;
    std::optional<int> width, precision;
    bool star_width = false, star_precision = false;
    bool wide = false;
    char letter = 0;
};

// A number in a format string, or the limit where it is larger.
int bounded_number(const std::string& format, size_t& at) {
    size_t value = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
        value = std::min(value * 10 + static_cast<size_t>(format[at] - '0'), longest_text);
    return static_cast<int>(value);
}

// No letter: it is no conversion.
Conversion next_conversion(const std::string& format, size_t& at) {
    Conversion c;
    const auto next = [&](std::string_view of) {
        return at < format.size() && of.find(format[at]) != of.npos;
    };
    for (++at; next("-+ #0"); ++at)
        if (c.flags.find(format[at]) == c.flags.npos) c.flags += format[at];
    if (next("*"))
        c.star_width = true, ++at;
    else if (next("123456789"))
        c.width = bounded_number(format, at);
    if (next(".")) {
        ++at;
        if (next("*"))
            c.star_precision = true, ++at;
        else
            c.precision = bounded_number(format, at);
    }
    for (; next("hljzt"); ++at) c.wide |= format[at] != 'h';
    if (next("diouxXcsfFeEgGaAp%")) c.letter = format[at++];
    return c;
}

// Of the value as the host prints it, what there is room for.
template <class T>
void append(std::string& out, const Conversion& c, const char* length, T value) {
    std::string spec = "%" + c.flags;
    if (c.width) spec += std::to_string(*c.width);
    if (c.precision) spec += "." + std::to_string(*c.precision);
    spec += length;
    spec += c.letter;
    char text[512];
    const int n = std::snprintf(text, sizeof text, spec.c_str(), value);
    if (n < 0) return;
    const size_t size = std::min(static_cast<size_t>(n), longest_text - out.size());
    if (static_cast<size_t>(n) < sizeof text) {
        out.append(text, size);
        return;
    }
    std::string large(size + 1, '\0');
    std::snprintf(large.data(), large.size(), spec.c_str(), value);
    out.append(large, 0, size);
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
    for (size_t at = 0; at < format.size() && out.size() < longest_text;) {
        if (format[at] != '%') {
            out += format[at++];
            continue;
        }
        const size_t begin = at;
        Conversion c = next_conversion(format, at);
        if (c.letter == '%') {
            out += '%';
            continue;
        }
        if (c.letter == 0) {  // printed as it stands
            out.append(format, begin, std::min(at - begin, longest_text - out.size()));
            continue;
        }
        constexpr int limit = longest_text;
        int star = 0;
        if (c.star_width) {
            if (!take(4, &star)) return -1;
            c.width = std::abs(std::clamp(star, -limit, limit));
            if (star < 0) c.flags += '-';
        }
        if (c.star_precision) {
            if (!take(4, &star)) return -1;
            if (star >= 0) c.precision = std::min(star, limit);
        }
        if (std::string_view("fFeEgGaA").find(c.letter) != std::string_view::npos) {
            double v;
            if (!take(8, &v)) return -1;
            append(out, c, "", v);
        } else if (c.letter == 's') {
            uint64_t address;
            std::string text;
            if (!take(8, &address)) return -1;
            const size_t most = c.precision ? static_cast<size_t>(*c.precision) : SIZE_MAX;
            if (address == 0)
                text = "(null)";
            else if (!read_string(w, lane, address, text, most))
                return -1;
            append(out, c, "", text.c_str());
        } else if (c.letter == 'p') {
            uint64_t v;
            if (!take(8, &v)) return -1;
            append(out, c, "", reinterpret_cast<void*>(v));
        } else if (c.wide) {
            uint64_t v;
            if (!take(8, &v)) return -1;
            append(out, c, "ll", v);
        } else {
            uint32_t v;
            if (!take(4, &v)) return -1;
            append(out, c, "", v);
        }
    }
    return count;
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
        engine(w).printed().print(w.cta->linear, std::move(text));
    }
    return give_back(w, op, lanes);
}

const Op* call_malloc(const Op* op, Warp& w, uint32_t lanes) {
    begin_call(w);
    for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        const uint64_t bytes = argument64(w, 4, lane);
        const uint64_t at = engine(w).calls().heap().allocate(bytes);
        if (Hooks* const hooks = engine(w).hooks(); hooks && at && bytes)
            hooks->heap(w, lane, at, bytes);
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
        if (Hooks* const hooks = engine(w).hooks(); hooks && at) hooks->heap(w, lane, at, 0);
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

const std::vector<DriverFunction>& DriverFunctions::table() {
    static const std::vector<DriverFunction> services = [] {
        std::vector<DriverFunction> all = copy_functions();
        all.insert(all.begin(), {{"vprintf", call_vprintf},
                                 {"malloc", call_malloc},
                                 {"free", call_free},
                                 {"__assertfail", call_assertfail}});
        std::ranges::move(launch_functions(), std::back_inserter(all));
        return all;
    }();
    return services;
}

std::optional<DriverFunctions::Refusal> DriverFunctions::refusal(const Module& module,
                                                                 const Symbol& symbol) {
    if (symbol.kind != SymbolKind::undefined_function || symbol.is_weak ||
        std::ranges::find(table(), symbol.name, &DriverFunction::name) != table().end())
        return std::nullopt;
    // What kernels that launch kernels call: of the device's runtime library, and of the driver.
    if (symbol.name.starts_with("__cudaCDP"))
        return Refusal{"it is of the device's runtime library",
                       "it calls " + symbol.name + ", of the device's runtime library",
                       "link the module with nvlink and cudadevrt"};
    if (symbol.name.starts_with("__cuda_syscall_cnp"))
        return Refusal{"this service of the driver is not emulated",
                       "it calls " + symbol.name + ", a service of the driver that is not emulated",
                       "take what asks for it out of the kernel"};
    const auto index = static_cast<uint32_t>(&symbol - module.symbols().data());
    for (const Kernel& k : module.kernels())
        if (std::ranges::find(k.externs, index) != k.externs.end())
            return Refusal{"no service of the emulator",
                           "it calls " + symbol.name +
                               ", which its module does not define and which is no service of the "
                               "emulator",
                           "link the module with nvlink, or provide the function"};
    return std::nullopt;
}

void PrintedText::print(uint64_t cta, std::string text) {
    const std::lock_guard guard(mutex_);
    if (cta != turn_) {
        kept_[cta] += text;
    } else if (sink_) {
        sink_(text);
    }
}

void PrintedText::ended(uint64_t cta) {
    const std::lock_guard guard(mutex_);
    ended_.insert(cta);
    while (!ended_.empty() && *ended_.begin() == turn_) {
        ended_.erase(ended_.begin());
        const auto waiting = kept_.find(++turn_);
        if (waiting == kept_.end()) continue;
        if (sink_) sink_(waiting->second);
        kept_.erase(waiting);
    }
}

void PrintedText::flush() {
    const std::lock_guard guard(mutex_);
    if (sink_)
        for (const auto& [cta, text] : kept_) sink_(text);
    kept_.clear();
}

}  // namespace sassemu
