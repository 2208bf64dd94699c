// SPDX-License-Identifier: Apache-2.0
// `sassemu help` and `sassemu completion`: the same options that --help shows, as manual pages and
// as completion for shells. Everything comes from the options' own definitions. The build writes
// the files that are installed with them.
#include <algorithm>
#include <memory>

#include "emu/cli/commands.hpp"
#include "emu/cli/options.hpp"
#include "emu/cli/output.hpp"
#include "emu/cli/usage.hpp"

namespace sassemu::cli {
namespace {

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
    for (const CLI::App* one : shown_commands(app))
        if (one->get_name() == name) return one;
    return nullptr;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
        text.replace(at, from.size(), to);
    return text;
}

// ---- manual pages

std::string roff(std::string text) {
    text = replaced(std::move(text), "\\", "\\e");
    text = replaced(std::move(text), "-", "\\-");
    // A line that begins with one of these would be a request.
    text = replaced(std::move(text), "\n.", "\n\\&.");
    text = replaced(std::move(text), "\n'", "\n\\&'");
    if (text.starts_with(".") || text.starts_with("'")) text.insert(0, "\\&");
    return text;
}

// "TEXT:{v2,v3,v4}": what an option takes; "" of a flag.
std::string value_name(const CLI::Option& option) {
    return option.get_type_size() == 0 ? "" : option.get_type_name();
}

std::string roff_option(const CLI::Option& option) {
    std::string heading;
    if (option.get_positional()) {
        heading = "\\fI" + roff(option.get_name(true)) + "\\fR";
    } else {
        for (const std::string& name : option_names(option))
            heading += (heading.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
        if (const std::string value = value_name(option); !value.empty())
            heading += " \\fI" + roff(value) + "\\fR";
    }
    return ".TP\n" + heading + "\n" + roff(option.get_description()) + "\n";
}

std::string man_page(const CLI::App& root, const CLI::App& command) {
    const bool of_root = &root == &command;
    const std::string program = root.get_name();
    const std::string name = of_root ? program : program + "-" + command.get_name();
    const std::string invoked = of_root ? program : program + " " + command.get_name();
    std::string upper = name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string page = ".TH " + roff(upper) + " 1 \"\" \"" + program + " " SASSEMU_VERSION "\"\n";
    page += ".SH NAME\n" + roff(name) + " \\- " + roff(command.get_description()) + "\n";
    std::string synopsis = ".SH SYNOPSIS\n\\fB" + roff(invoked) + "\\fR";
    std::string positionals, options, commands;
    for (const CLI::Option* option : shown_options(command)) {
        if (option->get_positional()) positionals += roff_option(*option);
        if (option->nonpositional()) options += roff_option(*option);
    }
    if (!options.empty()) synopsis += " [\\fIOPTION\\fR]...";
    for (const CLI::Option* option : shown_options(command)) {
        if (!option->get_positional()) continue;
        const std::string argument = "\\fI" + roff(option->get_name(true)) + "\\fR" +
                                     (option->get_expected_max() > 1 ? "..." : "");
        synopsis += option->get_required() ? " " + argument : " [" + argument + "]";
    }
    for (const CLI::App* one : shown_commands(command))
        commands += ".TP\n\\fB" + roff(name + "-" + one->get_name()) + "\\fR(1)\n" +
                    roff(one->get_description()) + "\n";
    if (!commands.empty()) synopsis += " \\fISUBCOMMAND\\fR ...";
    page += synopsis + "\n.SH DESCRIPTION\n" + roff(command.get_description()) + "\n";
    if (!commands.empty()) page += ".SH SUBCOMMANDS\n" + commands;
    if (!positionals.empty()) page += ".SH ARGUMENTS\n" + positionals;
    if (!options.empty()) page += ".SH OPTIONS\n" + options;
    page += ".SH EXIT STATUS\n.nf\n" + roff(exit_code_text()) + "\n.fi\n";
    if (!of_root) page += ".SH SEE ALSO\n\\fB" + roff(program) + "\\fR(1)\n";
    return page;
}

// ---- completion

// The words that an option's value is one of; none: anything, such as a file.
std::vector<std::string> values_of(const CLI::Option& option) {
    const std::string type = value_name(option);
    const size_t open = type.find('{'), close = type.rfind('}');
    std::vector<std::string> words;
    if (open == type.npos || close == type.npos) return words;
    for (size_t at = open + 1; at < close;) {
        const size_t comma = std::min(type.find(',', at), close);
        words.push_back(type.substr(at, comma - at));
        at = comma + 1;
    }
    return words;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::vector<std::string> command_names(const CLI::App& root) {
    std::vector<std::string> names;
    for (const CLI::App* one : shown_commands(root)) names.push_back(one->get_name());
    return names;
}

// Options of `command` and, where it takes none of our words, files.
std::string bash_command(const CLI::App& command) {
    std::vector<std::string> names, with_value;
    std::string values;
    for (const CLI::Option* option : shown_options(command)) {
        const std::vector<std::string> own = option_names(*option);
        names.insert(names.end(), own.begin(), own.end());
        if (own.empty() || option->get_type_size() == 0) continue;
        const std::vector<std::string> words = values_of(*option);
        if (words.empty()) {
            with_value.insert(with_value.end(), own.begin(), own.end());
            continue;
        }
        std::string pattern;
        for (const std::string& name : own) pattern += (pattern.empty() ? "" : "|") + name;
        values += "                " + pattern + ") words='" + joined(words) + "' files= ;;\n";
    }
    std::string text = "            options='" + joined(names) + "'\n";
    if (values.empty()) return text;
    return text + "            case $previous in\n" + values + "            esac\n";
}

std::string bash_completion(const CLI::App& root) {
    const std::string program = root.get_name();
    std::string text =
        "# bash completion for " + program + "; written by `" + program + " completion bash`\n_" +
        program +
        "() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    local options= words= files=yes\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        options='" +
        joined(command_names(root)) +
        " --help --version' files=\n    fi\n    case ${COMP_WORDS[1]} in\n";
    for (const CLI::App* one : shown_commands(root))
        text += "        " + one->get_name() +
                ")\n            [ \"$COMP_CWORD\" -gt 1 ] || return 0\n" + bash_command(*one) +
                "            ;;\n";
    return text +
           "    esac\n"
           "    [ -n \"$words\" ] || case $current in -*) words=$options files= ;; esac\n"
           "    [ -n \"$files\" ] || words=${words:-$options}\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$current\"))\n"
           "}\ncomplete -o filenames -F _" +
           program + " " + program + "\n";
}

std::string shell_word(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string zsh_completion(const CLI::App& root) {
    const std::string program = root.get_name();
    std::string text = "#compdef " + program + "\n# written by `" + program +
                       " completion zsh`\n_" + program +
                       "() {\n    local -a commands\n    commands=(\n";
    for (const CLI::App* one : shown_commands(root))
        text += "        " +
                shell_word(one->get_name() + ":" + replaced(one->get_description(), ":", "\\:")) +
                "\n";
    text +=
        "    )\n"
        "    if (( CURRENT == 2 )); then\n"
        "        _describe 'subcommand' commands\n"
        "        _arguments '--help[help]' '--version[version]'\n"
        "        return\n"
        "    fi\n"
        "    case $words[2] in\n";
    for (const CLI::App* one : shown_commands(root)) {
        text += "        " + one->get_name() + ")\n            _arguments";
        for (const CLI::Option* option : shown_options(*one)) {
            const auto bracket = [](std::string s) {
                return replaced(replaced(std::move(s), "[", "\\["), "]", "\\]");
            };
            for (const std::string& name : option_names(*option)) {
                std::string spec = "*" + name + "[" + bracket(option->get_description()) + "]";
                const std::vector<std::string> words = values_of(*option);
                if (!words.empty())
                    spec += ":value:(" + joined(words) + ")";
                else if (option->get_type_size() != 0)
                    spec += ":value:_files";
                text += " \\\n                " + shell_word(spec);
            }
        }
        text += " \\\n                '*:file:_files'\n            ;;\n";
    }
    return text + "    esac\n}\n_" + program + " \"$@\"\n";
}

std::string fish_completion(const CLI::App& root) {
    const std::string program = root.get_name();
    const auto fish = [](const std::string& s) {
        return "'" + replaced(replaced(s, "\\", "\\\\"), "'", "\\'") + "'";
    };
    std::string text =
        "# fish completion for " + program + "; written by `" + program + " completion fish`\n";
    for (const CLI::App* one : shown_commands(root)) {
        text += "complete -c " + program + " -n __fish_use_subcommand -f -a " + one->get_name() +
                " -d " + fish(one->get_description()) + "\n";
        for (const CLI::Option* option : shown_options(*one)) {
            if (!option->nonpositional()) continue;
            text += "complete -c " + program + " -n '__fish_seen_subcommand_from " +
                    one->get_name() + "'";
            for (const std::string& name : option->get_snames()) text += " -s " + name;
            for (const std::string& name : option->get_lnames()) text += " -l " + name;
            const std::vector<std::string> words = values_of(*option);
            if (!words.empty())
                text += " -x -a " + fish(joined(words));
            else if (option->get_type_size() != 0)
                text += " -r";
            text += " -d " + fish(option->get_description()) + "\n";
        }
    }
    return text;
}

}  // namespace

void add_help_command(CLI::App& app, int& exit_code) {
    struct Help {
        std::string command;
        bool man = false;
    };
    auto help = std::make_shared<Help>();
    CLI::App* sub = app.add_subcommand("help", "the help of a subcommand, or its manual page");
    sub->add_option("SUBCOMMAND", help->command, "default: the program as a whole");
    sub->add_flag("--man", help->man, "the source of the manual page (man -l reads it)");
    sub->callback([help, &app, &exit_code] {
        const CLI::App* about = help->command.empty() ? &app : find_command(app, help->command);
        if (about == nullptr) {
            const std::string meant = nearest(help->command, command_names(app));
            exit_code = fail(make_error(ErrorCode::usage, "help",
                                        "there is no subcommand '" + help->command + "'",
                                        meant.empty() ? "" : "did you mean " + meant + "?"));
            return;
        }
        // Asked of the program, help would be of the subcommand that was parsed: this one.
        print(help->man
                  ? man_page(app, *about)
                  : about->get_formatter()->make_help(
                        about,
                        about == &app ? app.get_name() : app.get_name() + " " + about->get_name(),
                        CLI::AppFormatMode::Normal));
    });
}

void add_completion_command(CLI::App& app, int&) {
    auto shell = std::make_shared<std::string>();
    CLI::App* sub = app.add_subcommand("completion", "completion of this command line for a shell");
    sub->add_option("SHELL", *shell, "the script to be sourced or installed")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    sub->callback([shell, &app] {
        print(*shell == "bash"  ? bash_completion(app)
              : *shell == "zsh" ? zsh_completion(app)
                                : fish_completion(app));
    });
}

}  // namespace sassemu::cli
