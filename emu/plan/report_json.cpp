// SPDX-License-Identifier: Apache-2.0
// The report of a run as JSON; its text is in report.cpp.
#include <nlohmann/json.hpp>

#include "emu/plan/report.hpp"

namespace sassemu::plan {
namespace {

using Json = nlohmann::ordered_json;

Json dim_json(Dim3 dim) { return {dim.x, dim.y, dim.z}; }

Json fault_json(const GuestFault& fault) {
    Json json{{"kind", fault_name(fault.kind)},
              {"what", fault.what},
              {"kernel", fault.kernel},
              {"function", fault.function},
              {"pc", fault.pc},
              {"sass", fault.sass},
              {"source", fault.source},
              {"cta", dim_json(fault.cta)},
              {"warp", fault.warp},
              {"lane", fault.lane},
              {"thread", dim_json(fault.thread)}};
    if (fault.has_address) json["address"] = fault.address;
    json["landedLanes"] = fault.landed_lanes;
    return json;
}

Json launch_json(const LaunchReport& launch) {
    const FaultKind kind = launch.fault ? launch.fault->kind : FaultKind::none;
    Json json{{"kernel", launch.kernel},
              {"gpu", launch.gpu},
              {"stream", launch.stream.empty() ? Json() : Json(launch.stream)},
              {"grid", dim_json(launch.grid)},
              {"block", dim_json(launch.block)},
              {"repeats", launch.repeats},
              {"status", status_text(launch.status, kind)},
              {"warp_instructions", launch.stats.warp_instructions},
              {"seconds", launch.stats.seconds}};
    if (launch.elsewhere) json["elsewhere"] = true;
    if (!launch.message.empty()) json["message"] = launch.message;
    if (launch.fault) json["fault"] = fault_json(*launch.fault);
    return json;
}

Json comparison_json(const Comparison& comparison) {
    Json json{{"name", comparison.name},
              {"type", comparison.typed ? element_name(comparison.type) : "bytes"},
              {"elements", comparison.elements},
              {"equal", comparison.equal()},
              {"different", comparison.different}};
    if (!comparison.expected_hash.empty()) {
        json["sha256"] = comparison.got_hash;
        json["expectedSha256"] = comparison.expected_hash;
    }
    if (comparison.equal()) return json;
    json["lastWriter"] = comparison.last_writer;
    Json& first = json["first"] = Json::array();
    for (const Difference& d : comparison.first)
        first.push_back({{"index", d.index},
                         {"got", element_text(comparison.type, d.got)},
                         {"gotBits", element_hex(comparison.type, d.got)},
                         {"expected", element_text(comparison.type, d.expected)},
                         {"expectedBits", element_hex(comparison.type, d.expected)}});
    return json;
}

}  // namespace

std::string report_json(const RunReport& report) {
    Json json{{"plan", report.plan},
              {"arch", report.arch},
              {"device", report.device},
              {"rank", report.rank},
              {"ranks", report.ranks},
              {"status", status_text(report.status, report.fault)},
              {"expectedStatus", status_text(report.expected.status, report.expected.fault)},
              {"exitCode", report.exit_code()},
              {"findings", report.findings},
              {"seeds", {{"asked", report.runs}, {"ran", report.runs_ended}}}};
    Json& launches = json["launches"] = Json::array();
    for (const LaunchReport& launch : report.launches) launches.push_back(launch_json(launch));
    Json& comparisons = json["comparisons"] = Json::array();
    for (const Comparison& comparison : report.comparisons)
        comparisons.push_back(comparison_json(comparison));
    if (report.expected_out) json["stdoutEqual"] = report.out_met;
    if (report.expected_warp_instructions)
        json["expectedWarpInstructions"] = *report.expected_warp_instructions;
    Json& errors = json["errors"] = Json::array();
    for (const Error& error : report.write_errors) errors.push_back(error.message());
    if (report.cut) errors.push_back(report.cut->message());
    json["notes"] = report.notes;
    if (!report.hash.empty()) json["runHash"] = report.hash;
    for (const auto& [key, text] : report.sections) {
        Json section = Json::parse(text, nullptr, false);
        if (!json.contains(key))
            json[key] = section.is_discarded() ? Json(text) : std::move(section);
    }
    json["stats"] = Json::parse(stats_json(report));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sassemu::plan
