// SPDX-License-Identifier: Apache-2.0
// --progress: a line on standard error that says how far a long command has come. What belongs
// here: when it is drawn and taken away again. What it says is its owner's.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace sassemu::cli {

// `text`: "", "auto", "always" or "never".
void add_progress_option(CLI::App& app, std::string& text);

// On a terminal one line that is drawn again and again; elsewhere nothing, or with "always" now and
// then a line. Any thread may call.
class ProgressLine {
  public:
    // `text` is asked by a thread of its own, with the seconds since now; empty: nothing to say.
    ProgressLine(const std::string& when, std::function<std::string(double seconds)> text);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;

    // A step begins: a line of its own, with "always" only. `label`: stands before the text from
    // now on.
    void step(std::string_view what, std::string label);
    // Somebody writes to the terminal: what is drawn goes, and comes back later; not before `open`
    // is over, where a line has been begun and not ended.
    void clear(bool open = false);
    // For good.
    void end();

  private:
    void show(const std::stop_token& stop);
    void take_away();

    const std::function<std::string(double)> text_;
    std::mutex mutex_;
    std::string label_;
    bool always_ = false, terminal_ = false, drawn_ = false, open_ = false;
    size_t columns_ = 80;
    std::jthread thread_;
};

// What process_progress() says of the run under way: "37/1024 CTAs, 5.2 CTAs/s, ...".
std::string run_progress_text();

}  // namespace sassemu::cli
