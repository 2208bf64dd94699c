// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: sessions of the Debug Adapter Protocol. The input chooses requests, which keys
// they have, and values: of the kind that is meant, or of any other, nested as deep as one likes;
// or what goes over the stream is no message at all. Run: dap_fuzz -max_len=2000 corpus/
#include <fcntl.h>
#include <sys/mman.h>

#include "debugged.hpp"
#include "emu/debug/adapter.hpp"

using namespace sassemu;
using namespace sassemu::debug;
using fuzz::Choices;

namespace {

constexpr std::array<const char*, 28> commands{"initialize",
                                               "launch",
                                               "configurationDone",
                                               "threads",
                                               "stackTrace",
                                               "scopes",
                                               "variables",
                                               "evaluate",
                                               "evaluate",
                                               "setBreakpoints",
                                               "setFunctionBreakpoints",
                                               "setInstructionBreakpoints",
                                               "setExceptionBreakpoints",
                                               "dataBreakpointInfo",
                                               "setDataBreakpoints",
                                               "disassemble",
                                               "readMemory",
                                               "pause",
                                               "continue",
                                               "next",
                                               "stepIn",
                                               "stepOut",
                                               "stepBack",
                                               "reverseContinue",
                                               "attach",
                                               "source",
                                               "disconnect",
                                               "terminate"};

std::string any_value(Choices& c) {
    switch (c.of(14)) {
        case 0:
            return "null";
        case 1:
            return "true";
        case 2:
            return "-1";
        case 3:
            return "18446744073709551615";
        case 4:
            return "-9223372036854775808";
        case 5:
            return "1e300";
        case 6:
            return "2.5";
        case 7:
            return "{}";
        case 8:
            return "[]";
        case 9:
            return "[1,[2,{\"a\":[]}]]";
        case 10:
            return "\"\"";
        case 11: {
            const std::uint32_t depth = c.of(200) * (c.of(8) ? 1 : 400);
            return std::string(depth, '[') + std::string(depth, ']');
        }
        case 12:
            return std::to_string(c.of(256));
        default:
            return Json(c.text(20)).dump(-1, ' ', true, Json::error_handler_t::replace);
    }
}
std::string number(Choices& c) { return c.of(6) ? std::to_string(c.of(8)) : any_value(c); }
std::string words(Choices& c) {
    if (!c.of(6)) return any_value(c);
    return Json(c.of(2) ? fuzz::words_of(c) : fuzz::command_of(c))
        .dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string pairs(Choices& c, int depth);
std::string value_of(Choices& c, const std::string& key, int depth) {
    if (!c.of(8)) return any_value(c);
    if (key == "breakpoints") {
        std::string out = "[";
        for (std::uint32_t k = c.of(4); k && depth < 3; --k)
            out += pairs(c, depth + 1) + (k > 1 ? "," : "");
        return out + "]";
    }
    if (key == "source" || key == "arguments") return depth < 3 ? pairs(c, depth + 1) : "{}";
    if (key == "dataId")
        return c.of(2) ? R"("{\"expression\":\"$R5\",\"focus\":[0,0,0,0]}")" : words(c);
    if (key == "context") return c.of(2) ? "\"repl\"" : "\"watch\"";
    if (key == "granularity") return c.of(2) ? "\"instruction\"" : "\"line\"";
    if (key == "memoryReference" || key == "instructionReference")
        return c.of(3) ? "\"0x7f0000000010\"" : words(c);
    if (key == "expression" || key == "name" || key == "path" || key == "condition" ||
        key == "hitCondition")
        return words(c);
    return number(c);
}
// An object with some of the keys that requests have.
std::string pairs(Choices& c, int depth) {
    static constexpr std::array<const char*, 24> keys{"threadId",
                                                      "threadId",
                                                      "frameId",
                                                      "frameId",
                                                      "variablesReference",
                                                      "source",
                                                      "breakpoints",
                                                      "line",
                                                      "condition",
                                                      "hitCondition",
                                                      "name",
                                                      "path",
                                                      "instructionReference",
                                                      "offset",
                                                      "dataId",
                                                      "expression",
                                                      "expression",
                                                      "context",
                                                      "memoryReference",
                                                      "start",
                                                      "count",
                                                      "instructionOffset",
                                                      "instructionCount",
                                                      "granularity"};
    std::string out = "{";
    for (std::uint32_t k = c.of(7); k; --k) {
        const std::string key = c.of(keys);
        out += (out.size() > 1 ? ",\"" : "\"") + key + "\":" + value_of(c, key, depth);
    }
    return out + "}";
}

std::string message(const std::string& json) {
    return "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + json;
}
std::string request(Choices& c, const std::string& command, const std::string& arguments) {
    std::string out = "{\"seq\":" + (c.of(12) ? "1" : any_value(c)) +
                      ",\"type\":" + (c.of(24) ? "\"request\"" : any_value(c)) +
                      ",\"command\":" + (c.of(24) ? "\"" + command + "\"" : any_value(c));
    if (c.of(16)) out += ",\"arguments\":" + (c.of(16) ? arguments : any_value(c));
    out += "}";
    if (!c.of(30)) out.resize(c.of(256) % (out.size() + 1));
    return message(out);
}

std::string stream_of(Choices& c) {
    std::string all = message(R"({"seq":1,"type":"request","command":"initialize"})");
    if (c.of(8))
        all +=
            message(R"({"seq":2,"type":"request","command":"launch","arguments":{"stopOnEntry":)" +
                    std::string(c.of(4) ? "true" : "false") + "}}");
    if (c.of(8)) all += message(R"({"seq":3,"type":"request","command":"configurationDone"})");
    for (int requests = 0; c.any() && requests < 40; ++requests) {
        if (!c.of(60)) {
            all += c.text(200);
            continue;
        }
        std::string command = c.of(commands);
        if (command.starts_with("disc") || command.starts_with("term"))
            command = c.of(8) ? "threads" : command;
        all += request(c, command, pairs(c, 0));
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ::alarm(120);  // a session that does not end
    Choices choices(data, size);
    const std::string all = stream_of(choices);
    const int in = ::memfd_create("requests", MFD_CLOEXEC);
    if (::write(in, all.data(), all.size()) != static_cast<ssize_t>(all.size())) std::abort();
    ::lseek(in, 0, SEEK_SET);
    static const int out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    {
        Sources sources;
        Adapter adapter(in, out, sources,
                        [](const std::string&, const std::string&, SessionOptions options) {
                            return fuzz::start(std::move(options));
                        });
        const Result<void> served = adapter.serve();
        if (!served && served.error().message().empty()) std::abort();
    }
    ::close(in);
    return 0;
}
