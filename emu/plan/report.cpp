// SPDX-License-Identifier: Apache-2.0
// See report.hpp. Formats with snprintf: a report is a few lines, and start-up has to be quick.
#include "emu/plan/report.hpp"

#include <cstdarg>
#include <cstdio>
#include <sassemu/names.hpp>

#include "emu/base/exit_code.hpp"
#include "emu/base/text.hpp"

namespace sassemu::plan {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
    va_list arguments, copy;
    va_start(arguments, pattern);
    va_copy(copy, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
    va_end(arguments);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, pattern, copy);
    va_end(copy);
    return text;
}

double rate(const LaunchStats& stats) {
    return stats.seconds > 0 ? static_cast<double>(stats.warp_instructions) / stats.seconds : 0;
}

std::string plural(uint64_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string extent(Dim3 dim) { return format("%ux%ux%u", dim.x, dim.y, dim.z); }

std::string speed(const LaunchStats& stats) {
    return plural(stats.warp_instructions, "warp instruction") +
           format(" in %.6g s, %.1f M/s", stats.seconds, rate(stats) / 1e6);
}

void indent(std::string& text, std::string_view lines) {
    while (!lines.empty()) {
        const size_t end = lines.find('\n');
        text += "    ";
        text += shown(lines.substr(0, end));
        text += '\n';
        if (end == std::string_view::npos) return;
        lines.remove_prefix(end + 1);
    }
}

std::string launch_text(const LaunchReport& launch, size_t number, size_t count) {
    std::string text = format("launch %zu/%zu %s grid %s block %s", number, count,
                              shown(names::demangled(launch.kernel)).c_str(),
                              extent(launch.grid).c_str(), extent(launch.block).c_str());
    if (launch.gpu) text += format(" gpu %u", launch.gpu);
    if (!launch.stream.empty()) text += " stream " + shown(launch.stream);
    if (launch.repeats > 1) text += format(" x%u", launch.repeats);
    if (launch.status == LaunchStatus::not_run) return text + ": not run\n";
    const FaultKind kind = launch.fault ? launch.fault->kind : FaultKind::none;
    text += ": " + status_text(launch.status, kind) + "; " + speed(launch.stats) + "\n";
    if (!launch.message.empty()) indent(text, launch.message);
    if (launch.fault) {
        const std::string report = launch.fault->report();
        if (report != launch.message) indent(text, report);
    }
    return text;
}

std::string comparison_text(const Comparison& comparison) {
    const std::string type(comparison.typed ? element_name(comparison.type) : "bytes");
    const char* kind = comparison.typed ? " elements" : "";
    if (comparison.equal()) {
        return shown(comparison.name) + ": " + std::to_string(comparison.elements) + " " + type +
               kind + (comparison.tolerant ? " within tolerance\n" : " equal\n");
    }
    std::string text = shown(comparison.name) + ": ";
    if (!comparison.expected_hash.empty()) {
        text += "SHA-256 " + comparison.got_hash + ", expected " + comparison.expected_hash;
    } else {
        text += std::to_string(comparison.different) + " of " +
                std::to_string(comparison.elements) + " " + type + kind + " differ";
    }
    if (!comparison.last_writer.empty())
        text += "; last written by " + shown(comparison.last_writer);
    text += "\n";
    for (const Difference& d : comparison.first) {
        text += format("    [%llu] got %s (%s), expected %s (%s)\n",
                       static_cast<unsigned long long>(d.index),
                       element_text(comparison.type, d.got).c_str(),
                       element_hex(comparison.type, d.got).c_str(),
                       element_text(comparison.type, d.expected).c_str(),
                       element_hex(comparison.type, d.expected).c_str());
    }
    return text;
}

// A text as a quoted C string, cut where it gets long.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text.substr(0, 200)) {
        if (c == '\n') {
            result += "\\n";
        } else if (c == '"' || c == '\\') {
            result += std::string("\\") + c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            result += format("\\x%02x", static_cast<unsigned char>(c));
        } else {
            result += c;
        }
    }
    return result + (text.size() > 200 ? "\"..." : "\"");
}

std::string outcome_text(const RunReport& report) {
    std::string text;
    if (!report.status_met()) {
        text += "status: " + status_text(report.status, report.fault) + ", expected " +
                status_text(report.expected.status, report.expected.fault) + "\n";
    }
    if (report.status_met() || report.status == LaunchStatus::ok) {
        if (report.expected_out && !report.out_met) {
            text += "stdout: " + quoted(report.out) + ", expected " + quoted(*report.expected_out) +
                    "\n";
        }
        if (report.expected_warp_instructions &&
            *report.expected_warp_instructions != report.total.warp_instructions) {
            text += format("warp instructions: %llu, expected %llu\n",
                           static_cast<unsigned long long>(report.total.warp_instructions),
                           static_cast<unsigned long long>(*report.expected_warp_instructions));
        }
    }
    if (report.cut) text += "ended: " + shown(report.cut->message()) + "\n";
    for (const Error& error : report.write_errors)
        text += "error: " + shown(error.message()) + "\n";
    return text;
}

const char* verdict(const RunReport& report) {
    switch (report.exit_code()) {
        case exit_with::success:
            return report.status == LaunchStatus::ok ? "ok" : "ok, it ended as expected";
        case exit_with::differs:
            return "DIFFERENT from what the plan expects";
        case exit_with::bad_input:
            return "a file could not be written";
        case exit_with::faulted:
            return "the kernel FAULTED";
        case exit_with::limit:
            return report.status == LaunchStatus::limit || report.cut ? "a LIMIT was reached"
                                                                      : "DEADLOCK";
        case exit_with::not_executed:
            return "an instruction is NOT EXECUTED on this architecture";
        case exit_with::finding:
            return "a checker FOUND something";
        case exit_with::interrupted:
            return "interrupted";
        default:
            return "INTERNAL ERROR";
    }
}

// A word or message as the inside of a JSON string.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            result += format("\\u%04x", static_cast<unsigned char>(c));
        } else {
            result += c;
        }
    }
    return result;
}

}  // namespace

std::string_view level_name(HostLevel level) {
    switch (level) {
        case HostLevel::automatic:
            return "automatic";
        case HostLevel::v2:
            return "v2";
        case HostLevel::v3:
            return "v3";
        case HostLevel::v4:
            return "v4";
    }
    return "automatic";
}

std::string report_text(const RunReport& report) {
    std::string text = shown(report.plan) + ": " + report.arch + " on " + report.device + ", " +
                       plural(report.total.threads, "thread") + ", host level " +
                       std::string(level_name(report.level));
    if (report.ranks > 1) text += format(", rank %u of %u", report.rank, report.ranks);
    text += "\n";
    for (const std::string& note : report.notes) text += "note: " + shown(note) + "\n";
    uint64_t elsewhere = 0;
    for (size_t i = 0; i < report.launches.size(); ++i) {
        if (report.launches[i].elsewhere)
            ++elsewhere;
        else
            text += launch_text(report.launches[i], i + 1, report.launches.size());
    }
    if (elsewhere) text += "launches of other ranks: " + std::to_string(elsewhere) + "\n";
    for (const Comparison& comparison : report.comparisons) text += comparison_text(comparison);
    if (!report.hash.empty()) text += "hash of the run: " + report.hash + "\n";
    text += outcome_text(report);
    text += std::string("result: ") + verdict(report) + "\n";
    return text;
}

std::string stats_json(const RunReport& report) {
    const LaunchStats& total = report.total;
    std::string evidence;
    for (size_t k = 0; report.evidence && k < evidence_classes; ++k)
        evidence += (k ? ", \"" : ", \"evidence\": {\"") +
                    std::string(evidence_name(static_cast<EvidenceClass>(k))) +
                    "\": " + std::to_string((*report.evidence)[k]);
    if (!evidence.empty()) evidence += "}";
    return format(
        "{\"warp_instructions\": %llu, \"thread_instructions\": %llu, \"guard_false\": %llu, "
        "\"seconds\": %.9g, \"warp_instructions_per_second\": %.9g, \"threads\": %u, "
        "\"partial\": %s, \"ctas\": %llu, \"bytes_per_resident_cta\": %llu, \"level\": \"%s\", "
        "\"arch\": \"%s\", \"status\": \"%s\"%s}\n",
        static_cast<unsigned long long>(total.warp_instructions),
        static_cast<unsigned long long>(total.thread_instructions),
        static_cast<unsigned long long>(total.guard_false), total.seconds, rate(total),
        total.threads, report.partial ? "true" : "false",
        static_cast<unsigned long long>(total.ctas),
        static_cast<unsigned long long>(total.bytes_per_resident_cta),
        std::string(level_name(report.level)).c_str(), escaped(report.arch).c_str(),
        status_text(report.status, report.fault).c_str(), evidence.c_str());
}

}  // namespace sassemu::plan
