// SPDX-License-Identifier: Apache-2.0
// See progress_line.hpp.
#include "emu/cli/progress_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>

#include "emu/base/lend_thread.hpp"
#include "emu/base/progress.hpp"
#include "emu/base/text.hpp"

namespace sassemu::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto drawn_every = std::chrono::milliseconds(500);
constexpr auto written_every = std::chrono::seconds(10);  // where lines stay

// Three digits and what they count: "5.20", "131 k", "2.7 G".
std::string rounded(double v) {
    static constexpr const char* units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    for (; v >= 999.5 && unit + 1 < std::size(units); v /= 1000) ++unit;
    char text[32];
    std::snprintf(text, sizeof text,
                  v < 10    ? "%.2f%s"
                  : v < 100 ? "%.1f%s"
                            : "%.0f%s",
                  v, units[unit]);
    return text;
}

// "3:12", "1:00:05".
std::string clock_text(double seconds) {
    const auto all = static_cast<unsigned long long>(std::llround(seconds));
    char text[48];
    if (all >= 3600)
        std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", all / 3600, all / 60 % 60, all % 60);
    else
        std::snprintf(text, sizeof text, "%llu:%02llu", all / 60, all % 60);
    return text;
}

}  // namespace

void add_progress_option(CLI::App& app, std::string& text) {
    app.add_flag("--progress{always}", text,
                 "say on stderr how far it has come: auto (the default: where stderr is a "
                 "terminal), always (also a line per step), never")
        ->check(CLI::IsMember({"auto", "always", "never"}));
}

ProgressLine::ProgressLine(const std::string& when, std::function<std::string(double)> text)
    : text_(std::move(text)), always_(when == "always") {
    if (when == "never") return;
    terminal_ = ::isatty(STDERR_FILENO);
    if (!terminal_ && !always_) return;
    // Asked once: later the process may be allowed to ask nothing.
    winsize size{};
    if (terminal_ && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        columns_ = size.ws_col;
    // Where the host has no thread for this nothing is shown.
    thread_ = lend_thread<std::jthread>([this](const std::stop_token& stop) { show(stop); });
}

ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(const std::stop_token& stop) {
    std::condition_variable_any changed;
    const auto begun = Clock::now();
    std::unique_lock lock(mutex_);
    const Clock::duration pause = terminal_ ? Clock::duration(drawn_every) : written_every;
    while (!changed.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
        if (open_) continue;
        const std::string text = text_(std::chrono::duration<double>(Clock::now() - begun).count());
        if (text.empty()) continue;
        std::string line = shown(label_.empty() ? text : label_ + ": " + text);
        if (!terminal_) {
            std::fprintf(stderr, "%s\n", line.c_str());
            continue;
        }
        // What does not fit into the line could not be taken away again.
        if (line.size() >= columns_) {
            size_t end = columns_ - 1;
            while (end && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
            line.resize(end);
        }
        std::fprintf(stderr, "\r\033[K%s", line.c_str());
        drawn_ = true;
    }
    take_away();
}

void ProgressLine::take_away() {
    if (std::exchange(drawn_, false)) std::fputs("\r\033[K", stderr);
}

void ProgressLine::step(std::string_view what, std::string label) {
    const std::lock_guard lock(mutex_);
    label_ = std::move(label);
    if (!always_) return;
    take_away();
    std::fprintf(stderr, "%s\n", shown(what).c_str());
}

void ProgressLine::clear(bool open) {
    const std::lock_guard lock(mutex_);
    take_away();
    open_ = open;
}

void ProgressLine::end() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

std::string run_progress_text() {
    const Progress& now = process_progress();
    const Clock::rep begun = now.begun;
    if (!begun) return "";
    const std::chrono::duration<double> span =
        Clock::now() - Clock::time_point(Clock::duration(begun));
    const double seconds = std::max(span.count(), 1e-3);
    const uint64_t done = now.ctas, all = now.expected, issued = now.warp_instructions;
    std::string text = std::to_string(done) + (all ? "/" + std::to_string(all) : "") +
                       (all == 1 ? " CTA" : " CTAs");
    if (done) text += ", " + rounded(static_cast<double>(done) / seconds) + " CTAs/s";
    text += ", " + rounded(static_cast<double>(issued) / seconds) + " warp instructions/s, ";
    // As if those to come took as long as those that have ended.
    if (done && done <= all)
        text += clock_text(seconds * static_cast<double>(all - done) / static_cast<double>(done)) +
                " left";
    else
        text += clock_text(seconds) + " so far";
    return text;
}

}  // namespace sassemu::cli
