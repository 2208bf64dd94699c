// SPDX-License-Identifier: Apache-2.0
#include "emu/cli/kernel_list.hpp"

#include <algorithm>
#include <cstdio>
#include <sassemu/names.hpp>
#include <string_view>
#include <vector>

#include "emu/base/text.hpp"
#include "emu/module/module.hpp"

namespace sassemu::cli {
namespace {

constexpr size_t most_listed = 40;

// The types between the parentheses that end a demangled name; empty where it does not say.
std::vector<std::string> parameter_types(const names::Forms& forms) {
    std::vector<std::string> types;
    const std::string& text = forms.full;
    const size_t close = text.rfind(')');
    if (text == forms.symbol || close == text.npos || close + 1 != text.size()) return types;
    const size_t open = names::opening(text, close);
    if (open == text.npos || open + 1 == close) return types;
    types.emplace_back();
    int depth = 0;
    for (const char c : std::string_view(text).substr(open + 1, close - open - 1)) {
        depth += c == '(' || c == '<' || c == '[' || c == '{';
        depth -= c == ')' || c == '>' || c == ']' || c == '}';
        if (c == ',' && !depth) {
            types.emplace_back();
        } else if (c != ' ' || !types.back().empty()) {
            types.back() += c;
        }
    }
    return types;
}

// What --arg may be for it.
std::string example(const std::string& type, uint32_t bytes) {
    if (type.find('*') != type.npos || (type.empty() && bytes == 8)) return "buffer=4096";
    if (type == "float") return "f32=1";
    if (type == "double") return "f64=1";
    if (bytes == 4) return "i32=1";
    if (bytes == 8) return "i64=1";
    return "bytes=" + std::string(size_t{2} * std::min(bytes, 16u), '0');
}

std::string quoted(const std::string& text) {
    const bool plain =
        text.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=") == text.npos;
    return plain ? text : "'" + text + "'";
}

}  // namespace

Result<std::string> only_kernel(const std::string& path) {
    SASSEMU_ASSIGN(const std::vector<uint8_t> bytes, read_file(path));
    SASSEMU_ASSIGN(const std::vector<Module> modules, load_all_modules(bytes, path));
    std::vector<const Kernel*> kernels;
    std::vector<std::string> symbols;
    for (const Module& module : modules)
        for (const Kernel& kernel : module.kernels()) {
            if (std::ranges::find(symbols, kernel.name) != symbols.end()) continue;
            symbols.push_back(kernel.name);
            kernels.push_back(&kernel);
        }
    if (kernels.size() == 1) return symbols.front();
    if (kernels.empty()) return make_error(ErrorCode::input, path, "it has no kernels");
    std::string list, command;
    for (size_t i = 0; i < kernels.size() && i < most_listed; ++i) {
        const names::Forms forms(symbols[i]);
        const std::vector<std::string> types = parameter_types(forms);
        const auto& parameters = kernels[i]->parameters;
        const bool typed = types.size() == parameters.size();
        std::string taken, arguments;
        for (size_t k = 0; k < parameters.size(); ++k) {
            taken += (k ? ", " : "") + (typed ? types[k] + ": " : std::string()) +
                     std::to_string(parameters[k].size) + " bytes";
            arguments += " --arg " + example(typed ? types[k] : "", parameters[k].size);
        }
        list += "\n  " + shown(typed ? forms.qualified : forms.full) + "(" + shown(taken) + ")";
        if (!command.empty()) continue;
        const std::string* shortest = &symbols[i];
        for (const std::string* form : {&forms.plain, &forms.templated, &forms.qualified})
            if (names::meant(symbols, *form).size() == 1) {
                shortest = form;
                break;
            }
        command = "sassemu run " + quoted(path) + " --kernel " + quoted(*shortest) +
                  " --grid 1 --block 32" + arguments;
    }
    if (kernels.size() > most_listed)
        list += "\n  and " + std::to_string(kernels.size() - most_listed) + " more (sassemu info)";
    std::fflush(stdout);
    std::fprintf(stderr, "kernels of %s:%s\n", shown(path).c_str(), list.c_str());
    return make_error(ErrorCode::usage, path,
                      "it has " + std::to_string(kernels.size()) + " kernels; --kernel names one",
                      "for example: " + command);
}

}  // namespace sassemu::cli
