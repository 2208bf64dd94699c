// SPDX-License-Identifier: Apache-2.0
// The report of a checker: text, JSON, SARIF 2.1.0, what a suppression file or a baseline leaves
// out. What belongs here: what check-sync and check-mem have in common. What a finding says is
// theirs.
#pragma once

#include <nlohmann/json.hpp>
#include <sassemu/plugin.hpp>
#include <set>
#include <string>
#include <vector>

#include "findings/exceptions.hpp"

namespace findings {

inline constexpr sassemu_option json_option = {"json", "FILE", "writes the report as JSON"};
inline constexpr sassemu_option sarif_option = {"sarif", "FILE",
                                                "writes the report as SARIF 2.1.0"};
inline constexpr sassemu_option suppressions_option = {
    "suppressions", "FILE", "leaves out what this file names, a pattern a line"};
inline constexpr sassemu_option baseline_option = {"baseline", "FILE",
                                                   "leaves out what this earlier JSON report has"};
inline constexpr sassemu_option runs_option = {
    "runs", "N", "so many seeds are to be run (1): the report says how many have"};

struct Entry {
    std::string list = "findings";  // of the JSON that it is in
    std::string kind;
    uint32_t severity = SASSEMU_ERROR;
    std::string level = "error";  // of SARIF
    std::string message, detail;  // as sassemu_finding has them
    std::string sarif;            // one paragraph
    uint64_t count = 1;
    sassemu_insn first = nullptr, main = nullptr;  // main: where it shows; first: what led to it
    nlohmann::ordered_json json;                   // "accesses": its places
};

std::string hex(uint64_t v);
// As --seed takes it. Large ones name a schedule.
std::string seed_text(uint64_t seed);
// "STG.E [R2.64], R5 at pc 0x90 (file.cu:12)"; "" for NULL.
std::string place_text(const sassemu::Plugin& plugin, sassemu_insn insn);
// function, pc, sass, and where they are known file, line, inlined_at, ptx_line, ptx.
nlohmann::ordered_json place_json(const sassemu::Plugin& plugin, sassemu_insn insn);

class Report {
  public:
    // Throws std::invalid_argument where a file of the options cannot be used.
    Report(const sassemu::Plugin& plugin, const char* tool, const sassemu::Start& start);
    // A launch has ended so. Of a run that a limit or a signal has cut the report says so.
    void ran(const char* status);
    void rule(std::string kind, std::string sentence, std::string help);
    // Shows it and keeps it for the files, unless it is to be left out: then false.
    bool add(Entry entry);
    // Writes the files that were asked for, and says how much was left out.
    void finish(std::initializer_list<const char*> lists);

  private:
    nlohmann::ordered_json sarif() const;
    void store(const std::string& path, const nlohmann::ordered_json& json) const;
    uint64_t ended() const { return seeds_.size() - cut_seeds_.size(); }
    bool partial() const { return !cut_.empty() || (runs_ > 1 && ended() < runs_); }

    const sassemu::Plugin& plugin_;
    const std::string tool_, json_, sarif_;
    const uint64_t runs_;
    std::set<uint64_t> seeds_, cut_seeds_;  // that have begun; that have not ended
    std::string cut_;                       // the last of these, by this
    Exceptions exceptions_;
    std::vector<Entry> entries_;
    struct Excused {
        Entry entry;
        Excuse by;
    };
    std::vector<Excused> excused_;
    std::vector<std::array<std::string, 3>> rules_;
};

}  // namespace findings
