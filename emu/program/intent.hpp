// SPDX-License-Identifier: Apache-2.0
// What the author of the PTX meant, read from the PTX line of a pc (a cubin with line information
// keeps the text and the map). SASS has lost part of it: mbarrier.arrive.release.cta and
// .relaxed.cta are the same word. What belongs here: one PTX line -> its order, scope and
// restrictions. What does not: finding the line (module/line_table.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "emu/machine/port.hpp"

namespace sassemu {

enum class IntentKind : uint8_t { none, access, fence, proxy_fence, barrier, mbarrier, async };
enum class IntentRestrict : uint8_t { none, shared_cta, shared_cluster, mbarrier_init };

struct Intent {
    IntentKind kind = IntentKind::none;
    Ordering ordering = Ordering::weak;  // PTX's defaults filled in
    MemScope scope = MemScope::none;
    IntentRestrict restriction = IntentRestrict::none;
    Proxy from_proxy = Proxy::generic, to_proxy = Proxy::generic;  // proxy fences
    bool both_ways = false;
    bool aligned = false;  // bar and barrier
    uint32_t spaces = 0;   // bit per AccessSpace that the text names
    std::string opcode;    // "mbarrier.arrive.release.cta.shared::cta.b64"
    std::string line;
};

// nullopt: no instruction on this line (a label, a directive, nothing).
std::optional<Intent> read_intent(std::string_view ptx_line);

}  // namespace sassemu
