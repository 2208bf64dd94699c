// SPDX-License-Identifier: Apache-2.0
// The text of a run: what ran, verdicts, speed; and the --stats object. What belongs here: formats.
// What does not: deciding anything.
#pragma once

#include <string>

#include "emu/plan/run_plan.hpp"

namespace sassemu::plan {

std::string report_text(const RunReport& report);  // several lines, each ended
// One JSON object on one line, ended. Field names are the command line's contract.
std::string stats_json(const RunReport& report);
// The whole report as one JSON object on one line, ended: status and exit code, launches with their
// faults, comparisons with their first differences, errors, and the --stats object.
std::string report_json(const RunReport& report);
std::string_view level_name(HostLevel level);

}  // namespace sassemu::plan
