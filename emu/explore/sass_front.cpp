// SASS text -> operations of the JSONL form, as the chip orders them: the words say less than the
// PTX that they came from (a release at .cta and a relaxed arrival are one word), so the verdict is
// about the words. docs/litmus.md, section 9.
#include "emu/explore/sass_front.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace sassemu::explore {
namespace {

using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

std::string trimmed(std::string_view s) {
    const size_t first = s.find_first_not_of(" \t\r;");
    if (first == s.npos) return {};
    return std::string(s.substr(first, s.find_last_not_of(" \t\r;") - first + 1));
}

Strings split(std::string_view s, char at) {
    Strings out;
    for (size_t i = 0; i <= s.size();) {
        const size_t end = std::min(s.find(at, i), s.size());
        out.push_back(trimmed(s.substr(i, end - i)));
        i = end + 1;
    }
    return out;
}

bool number(std::string_view s, int64_t& out) {
    const bool negative = s.starts_with('-');
    if (negative) s.remove_prefix(1);
    const bool hex = s.starts_with("0x");
    if (hex) s.remove_prefix(2);
    const auto r = std::from_chars(s.data(), s.data() + s.size(), out, hex ? 16 : 10);
    if (negative) out = -out;
    return r.ec == std::errc{} && r.ptr == s.data() + s.size() && !s.empty();
}

// What a register pair is known to hold: an address in a parameter's object.
struct Address {
    std::string object;
    int64_t offset = 0;
};

class Kernel {
  public:
    Strings parameters;
    Strings operations;  // with the name of each parameter as a location

    // One instruction, or a label. False with `error` when it is not modelled.
    bool add(std::string_view line) {
        std::string text = trimmed(line);
        if (text.ends_with(':')) return label(text);
        std::string guard;
        if (text.starts_with('@')) {
            const size_t space = std::min(text.find_first_of(" \t"), text.size());
            guard = text.substr(1, space - 1);
            text = trimmed(text.substr(space));
        }
        if (guard == "PT") guard.clear();
        if (guard == "!PT") return true;
        const size_t space = std::min(text.find_first_of(" \t"), text.size());
        words_ = split(text.substr(0, space), '.');
        operands_ = space == text.size() ? Strings{} : split(text.substr(space), ',');
        if (guard.empty()) return instruction(text);
        const bool inverted = guard.starts_with('!');
        const std::string predicate = inverted ? guard.substr(1) : guard;
        if (words_[0] == "BRA" || words_[0] == "EXIT") {
            const std::string target = words_[0] == "EXIT" ? "EXIT_" : operand(0);
            operations.push_back((inverted ? "beq " : "bne ") + predicate + ", 0, " + target);
            return true;
        }
        const std::string skip = "SKIP_" + std::to_string(skips_++);
        operations.push_back((inverted ? "bne " : "beq ") + predicate + ", 0, " + skip);
        if (!instruction(text)) return false;
        return label(skip + ":");
    }
    void finish() { operations.push_back("EXIT_:"); }

    std::string error;

  private:
    bool label(const std::string& text) {
        operations.push_back(text);
        return true;
    }
    bool has(std::string_view word) const {
        return std::find(words_.begin() + 1, words_.end(), word) != words_.end();
    }
    std::string operand(size_t i) const { return i < operands_.size() ? operands_[i] : ""; }
    bool not_modelled(const std::string& text, const char* why = "") {
        error = "'" + text + "' is not modelled" + why;
        return false;
    }
    static std::string value(const std::string& operand) { return operand == "RZ" ? "0" : operand; }

    // desc[UR4][R2.64+0x10], [R2+0x10], [R2.64]
    bool location(std::string text, std::string& out) {
        if (const size_t second = text.find("]["); text.starts_with("desc[") && second != text.npos)
            text = text.substr(second + 1);
        if (!text.starts_with('[') || !text.ends_with(']')) return false;
        text = text.substr(1, text.size() - 2);
        int64_t offset = 0;
        if (const size_t plus = text.find('+'); plus != text.npos) {
            if (!number(trimmed(text.substr(plus + 1)), offset)) return false;
            text = trimmed(text.substr(0, plus));
        }
        const auto known = addresses_.find(text.substr(0, text.find('.')));
        if (known == addresses_.end()) {
            error = "the address in " + text + " is not that of a parameter";
            return false;
        }
        offset += known->second.offset;
        out = "[" + known->second.object + (offset ? "+" + std::to_string(offset) : "") + "]";
        return offset >= 0;
    }

    // .STRONG.{SM,GPU,SYS}: relaxed with a scope; none: weak.
    std::string ordering() const {
        if (has("CV")) return ".relaxed.sys";
        if (!has("STRONG")) return ".weak";
        return has("SYS") ? ".relaxed.sys" : has("GPU") ? ".relaxed.gpu" : ".relaxed.cta";
    }
    std::string type() const {
        for (const char* bits : {"U8", "S8", "U16", "S16", "64"})
            if (has(bits)) return std::string(".b") + (bits[0] == '6' ? bits : bits + 1);
        return has("128") ? ".b128" : ".b32";
    }

    bool move(const std::string& text) {
        const std::string from = operand(1);
        constexpr std::string_view bank = "c[0x0][";
        if (!from.starts_with(bank) || !from.ends_with(']')) {
            operations.push_back("mov " + operand(0) + ", " + value(from));
            addresses_.erase(operand(0));
            return true;
        }
        const std::string name = from.substr(bank.size(), from.size() - bank.size() - 1);
        const std::string base = name.substr(0, name.find('+'));
        if (base.starts_with("0x")) return true;  // the descriptor of global memory and the like
        if (std::find(parameters.begin(), parameters.end(), base) == parameters.end())
            return not_modelled(text, ": no such parameter");
        if (base == name) addresses_[operand(0)] = {base, 0};  // the upper half goes with it
        return true;
    }

    bool arithmetic(const std::string& text) {
        // IADD3 d, [P,] a, b, c: the carry only matters in addresses, whose halves go together.
        Strings o = operands_;
        std::erase_if(
            o, [](const std::string& s) { return s.starts_with('P') || s.starts_with("!P"); });
        if (o.size() != 4) return not_modelled(text);
        if (has("X")) return true;
        int64_t offset = 0;
        if (const auto a = addresses_.find(o[1]); a != addresses_.end()) {
            if (!number(o[2], offset) || o[3] != "RZ")
                return not_modelled(text, ": the address is not known any more");
            addresses_[o[0]] = {a->second.object, a->second.offset + offset};
            return true;
        }
        operations.push_back("add " + o[0] + ", " + value(o[1]) + ", " + value(o[2]));
        if (o[3] != "RZ") operations.push_back("add " + o[0] + ", " + o[0] + ", " + o[3]);
        return true;
    }

    bool access(const std::string& text, bool loads) {
        std::string where;
        if (!location(operand(loads ? 1 : 0), where))
            return error.empty() ? not_modelled(text) : false;
        if (loads) {
            addresses_.erase(operand(0));
            operations.push_back("ld" + ordering() + type() + " " + operand(0) + ", " + where);
        } else {
            operations.push_back("st" + ordering() + type() + " " + where + ", " +
                                 value(operand(1)));
        }
        return true;
    }

    bool atomic(const std::string& text) {
        const bool reduces = words_[0] == "RED" || words_[0] == "REDG";
        std::string what;
        for (const char* op :
             {"ADD", "EXCH", "CAS", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"})
            if (has(op)) what = op;
        std::transform(what.begin(), what.end(), what.begin(),
                       [](unsigned char c) { return std::tolower(c); });
        const size_t at = reduces ? 0 : operand(0).starts_with('P') ? 2 : 1;
        std::string where;
        if (what.empty() || !location(operand(at), where))
            return error.empty() ? not_modelled(text) : false;
        const std::string scope = has("SYS") ? "sys" : has("SM") ? "cta" : "gpu";
        std::string out = (reduces ? "red.relaxed." : "atom.relaxed.") + scope + "." + what + " ";
        if (!reduces) out += operand(at - 1) + ", ";
        out += where + ", " + value(operand(at + 1));
        if (what == "cas") out += ", " + value(operand(at + 2));
        operations.push_back(out);
        return true;
    }

    // MEMBAR is what fence.release leaves, with SC fence.sc; CCTL.IVALL is what fence.acquire
    // leaves; inside a CTA nothing needs to be invalidated.
    bool membar(const std::string& text) {
        if (has("VC") || has("IVALLD") || has("IVALLT") || has("IVALLTD") || has("MMIO"))
            return not_modelled(text, ": use the model 'caches' for it");
        const bool sc = !has("ALL");
        const std::string scope = has("SYS") ? "sys" : has("CTA") || has("SM") ? "cta" : "gpu";
        operations.push_back((sc               ? "fence.sc."
                              : scope == "cta" ? "fence.acq_rel."
                                               : "fence.release.") +
                             scope);
        return true;
    }

    bool instruction(const std::string& text) {
        const std::string& head = words_[0];
        if (head == "NOP" || head == "ERRBAR" || head == "ULDC" || head == "WARPSYNC") return true;
        if (head == "MOV") return move(text);
        if (head == "LDC" && has("64")) return move(text);
        if (head == "IADD3") return arithmetic(text);
        if (head == "LDG" || head == "LD") return access(text, true);
        if (head == "STG" || head == "ST") return access(text, false);
        if (head == "ATOMG" || head == "ATOM" || head == "RED" || head == "REDG")
            return atomic(text);
        if (head == "MEMBAR") return membar(text);
        if (head == "CCTL" && has("IVALL")) {
            operations.push_back("fence.acquire.sys");
            return true;
        }
        if (head == "BAR" && has("SYNC") && !operands_.empty()) {
            operations.push_back("bar.sync " + value(operand(0)) +
                                 (operands_.size() > 1 ? ", " + operand(1) : ""));
            return true;
        }
        if (head == "BAR" && has("ARV") && operands_.size() == 2) {
            operations.push_back("bar.arrive " + value(operand(0)) + ", " + operand(1));
            return true;
        }
        if (head == "ISETP" && (has("EQ") || has("NE")) && operands_.size() == 5 &&
            operand(4) == "PT" && operand(1) == "PT") {
            operations.push_back((has("EQ") ? "eq " : "ne ") + operand(0) + ", " +
                                 value(operand(2)) + ", " + value(operand(3)));
            return true;
        }
        if (head == "BRA" || head == "EXIT") {
            operations.push_back("bra " + (head == "EXIT" ? std::string("EXIT_") : operand(0)));
            return true;
        }
        return not_modelled(text);
    }

    Strings words_, operands_;
    std::map<std::string, Address> addresses_;
    int skips_ = 0;
};

}  // namespace

Result<std::string> litmus_of_sass(std::string_view text) {
    std::string header;
    std::map<std::string, Kernel> kernels;
    Kernel* kernel = nullptr;
    size_t number_of_line = 0;
    for (size_t i = 0; i < text.size();) {
        const size_t end = std::min(text.find('\n', i), text.size());
        std::string_view line = text.substr(i, end - i);
        i = end + 1;
        ++number_of_line;
        const std::string where = "line " + std::to_string(number_of_line);
        constexpr std::string_view mark = "// litmus ";
        if (line.starts_with(mark)) header += line.substr(mark.size());
        line = line.substr(0, line.find("//"));
        for (const std::string& statement : split(line, ';')) {
            if (statement.empty()) continue;
            const Strings words = split(statement, ' ');
            if (words[0] == ".kernel" && words.size() > 1) {
                if (kernel) kernel->finish();
                kernel = &kernels[words[1]];
            } else if (words[0] == ".param" && words.size() > 1 && kernel) {
                kernel->parameters.push_back(words[1]);
            } else if (statement.starts_with('.')) {
                continue;  // .target, .shared and the like say nothing about order
            } else if (!kernel) {
                return make_error(ErrorCode::input, where,
                                  "an instruction before the first .kernel");
            } else if (!kernel->add(statement)) {
                return make_error(ErrorCode::input, where, kernel->error);
            }
        }
    }
    if (kernel) kernel->finish();
    if (header.empty())
        return make_error(
            ErrorCode::input, {}, "no line begins with '// litmus '",
            "a .sass litmus file holds its test in such lines (docs/litmus.md, section 9)");
    Json test = Json::parse(header, nullptr, false);
    if (!test.is_object() || !test.contains("threads") || !test["threads"].is_array())
        return make_error(ErrorCode::input, {},
                          "the '// litmus ' lines are no JSON object with threads");
    for (Json& thread : test["threads"]) {
        const bool named =
            thread.is_object() && thread.contains("kernel") && thread["kernel"].is_string();
        const std::string name = named ? thread["kernel"].get<std::string>() : std::string{};
        const auto found = kernels.find(name);
        if (found == kernels.end())
            return make_error(ErrorCode::input, "threads", "there is no .kernel '" + name + "'");
        thread["ops"] = found->second.operations;
        thread.erase("kernel");
    }
    return test.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sassemu::explore
