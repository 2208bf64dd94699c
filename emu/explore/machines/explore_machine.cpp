// SPDX-License-Identifier: Apache-2.0
// See explore_machine.hpp.
#include "emu/explore/machines/explore_machine.hpp"

#include "emu/explore/machines/machine_states.hpp"

namespace sassemu::explore {
namespace {

bool understands(const Test& test, const ExploredMachine& machine, const Thread& thread,
                 const Operation& o) {
    if (machine.scoped())
        return is_any<op::Move, op::Compute, op::Branch, op::Launch, op::Join>(o) ||
               (PtxWords::understands(test, o) && thread.kind != ThreadKind::stream);
    if (!machine.symmetric() && thread.kind == ThreadKind::host &&
        is_any<op::Load, op::Store, op::Atomic, op::Fence>(o))
        return true;
    if (machine.symmetric() && std::holds_alternative<op::Barrier>(o))
        return PtxWords::understands(test, o);
    if (is_any<op::Move, op::Compute, op::Branch, op::Launch, op::Join>(o) || machine.symmetric())
        return is_any<op::Move, op::Compute, op::Branch, op::Load, op::Store, op::Fence, op::Launch,
                      op::Join, op::OnMachine>(o);
    const auto* form = std::get_if<op::OnMachine>(&o);
    return form && form->what.kind < SASSEMU_OPERATION_COPY && (!form->at || form->at->pe < 0) &&
           form->until == op::OnMachine::Until::none;
}

}  // namespace

Result<Report> explore_machine(const Test& test, const ExploredMachine& machine,
                               const Limits& limits, const Sampling& sampling) {
    const std::string where = "model '" + machine.name() + "'";
    if (machine.name() == "flat" && !test.sass)
        return make_error(ErrorCode::input, where,
                          "is for tests in machine code (.sass files and launch plans)");
    for (const Thread& t : test.threads)
        for (const Statement& i : t.code)
            if (!understands(test, machine, t, i.what))
                return make_error(ErrorCode::input, t.id,
                                  "'" + i.text + "' has no meaning in the " + where);
    const SearchBudget budget(limits);
    const bool partly = !sampling.executions && !limits.every_order;
    Report report;
    const auto conclude = [&](const MachineStates& states) {
        report.error = states.problem();
        if (const std::string why = states.unexplored(); !why.empty()) report.incomplete(why);
        report.settle();
        report.undefined = states.undefined();
    };
    if (sampling.executions) {
        MachineStates states(test, machine, budget, partly);
        if (states.problem().empty()) report = sample_states(states, test, budget, sampling);
        conclude(states);
    } else {
        Crew crew(limits.workers);
        const auto search = [&] {
            search_states(
                report,
                [&](const SearchBudget& own, const MachineStates* like) {
                    return std::make_unique<MachineStates>(test, machine, own, partly, like);
                },
                test, budget, partly, crew, conclude);
        };
        crew.search(search);
    }
    if (!report.undefined.empty()) report.verdict = Verdict::allowed;
    if (report.error.empty() && machine.failed()) report.error = where + " failed";
    if (!report.error.empty()) report.verdict = Verdict::error;
    return report;
}

Result<Report> explore_machine(const Test& test, const std::string& machine, const Limits& limits,
                               const Sampling& sampling) {
    SASSEMU_ASSIGN(const auto opened, ExploredMachine::open(machine, {}));
    return explore_machine(test, *opened, limits, sampling);
}

}  // namespace sassemu::explore
