// SPDX-License-Identifier: Apache-2.0
// See usage.hpp.
#include "emu/cli/usage.hpp"

#include <algorithm>

#include "emu/base/exit_code.hpp"

namespace sassemu::cli {
namespace {

// Letters added, left out, changed or swapped with their neighbour.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        for (size_t j = 1; j <= b.size(); ++j) {
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                                d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

const CLI::App& chosen(const CLI::App& app) {
    const auto commands = app.get_subcommands();
    return commands.empty() ? app : *commands.front();
}

std::string full_name(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name()
                                       : full_name(*app.get_parent()) + " " + app.get_name();
}

}  // namespace

std::string nearest(std::string_view text, const std::vector<std::string>& words) {
    constexpr size_t longest = 64;  // longer ones are no slips
    std::string best;
    size_t least = text.size() / 3 + 2;
    for (const std::string& word : words) {
        if (text.size() > longest || word.size() > longest) continue;
        const bool begins = text.size() > 1 && text != "--" && word.starts_with(text);
        const size_t far = begins ? 0 : distance(text, word);
        if (far >= least) continue;
        least = far;
        best = word;
    }
    return best;
}

std::string exit_code_text() {
    std::string text = "Exit codes:\n", order;
    auto codes = exit_codes;
    std::ranges::sort(codes, {}, &ExitCode::code);
    for (const ExitCode& one : codes) {
        const std::string number = std::to_string(one.code);
        text += "  " + number + std::string(5 - number.size(), ' ') + one.meaning + "\n";
    }
    for (const ExitCode& one : exit_codes)
        if (one.code != 0) order += (order.empty() ? "" : ", ") + std::to_string(one.code);
    return text + "Of several the first of these: " + order + ".";
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
    return app.get_subcommands(
        [](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
    std::vector<const CLI::Option*> all =
        app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); });
    // Groups of options are subcommands without a name.
    for (const CLI::App* group :
         app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); })) {
        const auto more = shown_options(*group);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::vector<std::string> option_names(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    return names;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = chosen(app);
    const std::string help = "see " + full_name(command) + " --help";
    const auto complaint = [&](std::string what, const std::string& meant) {
        return make_error(
            ErrorCode::usage, command.get_parent() == nullptr ? "" : full_name(command),
            std::move(what), meant.empty() ? help : "did you mean " + meant + "? " + help);
    };
    for (const std::string& word : app.remaining(true)) {
        if (word.starts_with("-") && word != "-") {
            const std::string name = word.substr(0, word.find('='));
            std::vector<std::string> names;
            for (const CLI::Option* option : shown_options(command))
                for (std::string& one : option_names(*option)) names.push_back(std::move(one));
            // Known, but not to be had here: CLI11 says why.
            if (std::ranges::find(names, name) != names.end()) break;
            return complaint("there is no option '" + name + "'", nearest(name, names));
        }
        if (&command != &app) return complaint("'" + word + "' is one argument too many", "");
        std::vector<std::string> names;
        for (const CLI::App* one : shown_commands(app)) names.push_back(one->get_name());
        return complaint("there is no subcommand '" + word + "'", nearest(word, names));
    }
    return complaint(error.what(), "");
}

}  // namespace sassemu::cli
