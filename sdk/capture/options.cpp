// SPDX-License-Identifier: Apache-2.0
// See options.hpp.
#include "options.hpp"

#include <fnmatch.h>

#include <charconv>
#include <sassemu/names.hpp>

namespace sassemu::capture {
namespace {

// 12, 4K, 64M, 2G
uint64_t number(std::string_view key, std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view unit(end, text.data() + text.size() - end);
    const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
    if (error != std::errc() || (!unit.empty() && !shift) || value > (UINT64_MAX >> shift))
        throw Failure(std::string(key) + "=" + std::string(text) +
                      " is no number (12, 4K, 64M, 2G)");
    return value << shift;
}

bool flag(std::string_view key, std::string_view text) {
    if (text == "1" || text.empty()) return true;
    if (text == "0") return false;
    throw Failure(std::string(key) + " is 0 or 1, not " + std::string(text));
}

}  // namespace

Options read_options(std::string_view text) {
    Options o;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const size_t equal = item.find('=');
        const std::string_view key = item.substr(0, equal);
        const std::string_view value =
            equal == std::string_view::npos ? std::string_view() : item.substr(equal + 1);
        if (key == "dir")
            o.directory = value;
        else if (key == "kernel")
            o.kernel = value;
        else if (key == "first")
            o.first = number(key, value);
        else if (key == "step")
            o.step = number(key, value);
        else if (key == "count")
            o.count = number(key, value);
        else if (key == "per-kernel")
            o.per_kernel = number(key, value);
        else if (key == "max-bytes")
            o.max_bytes = number(key, value);
        else if (key == "repeat")
            o.repeat = static_cast<uint32_t>(std::min<uint64_t>(number(key, value), 100));
        else if (key == "window")
            o.window = number(key, value);
        else if (key == "wait")
            o.wait = number(key, value);
        else if (key == "all")
            o.all = flag(key, value);
        else if (key == "round")
            o.round = flag(key, value);
        else if (key == "verbose")
            o.verbose = flag(key, value);
        else if (!key.empty())
            throw Failure("SASSEMU_CAPTURE has no '" + std::string(key) +
                          "' (dir, kernel, first, step, count, per-kernel, max-bytes, repeat, "
                          "window, wait, all, round, verbose)");
    }
    if (!o.step || !o.repeat || !o.wait) throw Failure("step, repeat and wait are at least 1");
    if (o.directory.empty()) throw Failure("dir is empty");
    return o;
}

bool matches(const Options& options, const std::string& mangled) {
    const std::string& pattern = options.kernel;
    for (const std::string& name : {mangled, names::demangled(mangled)})
        if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0 ||
            (pattern.find_first_of("*?[") == std::string::npos &&
             name.find(pattern) != std::string::npos))
            return true;
    return false;
}

}  // namespace sassemu::capture
