// SPDX-License-Identifier: Apache-2.0
// See lists.hpp.
#include "emu/debug/lists.hpp"

#include <sassemu/names.hpp>

#include "emu/base/text.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/dimensions.hpp"

namespace sassemu::debug {

bool list(const Debuggee& d, const Warp* focus, const std::string& what, Json& rows) {
    if (what == "kernels") {
        for (const RunningLaunch& l : d.launches())
            rows.push_back({{"kernel", names::demangled(l.kernel)},
                            {"id", l.launch->id},
                            {"gpu", l.gpu},
                            {"grid", triple(l.launch->grid)},
                            {"block", triple(l.launch->block)},
                            {"resident", l.ctas.size()},
                            {"focus", focus && focus->cta->launch == l.launch}});
    } else if (what == "blocks") {
        for (const RunningLaunch& l : d.launches())
            for (const Cta* cta : l.ctas)
                rows.push_back({{"kernel", l.launch->id},
                                {"linear", cta->linear},
                                {"id", triple(cta->id)},
                                {"sm", cta->sm},
                                {"live", cta->live_threads},
                                {"threads", cta->threads},
                                {"shared", cta->shared_bytes},
                                {"focus", focus && focus->cta == cta}});
    } else if (what == "memory") {
        for (const auto& [name, memory] : d.named())
            rows.push_back(
                {{"name", name}, {"address", hex(memory.address)}, {"bytes", memory.bytes}});
    } else if (what == "functions") {
        for (const auto& module : d.places().modules())
            for (const Function& f : module->functions())
                rows.push_back({{"name", names::demangled(f.name)},
                                {"bytes", f.size},
                                {"kernel", f.is_kernel},
                                {"module", module->file_name()}});
    } else if (what == "sources") {
        for (const auto& module : d.places().modules())
            for (const std::string& file : module->lines().files()) rows.push_back(file);
    } else {
        return false;
    }
    return true;
}

}  // namespace sassemu::debug
