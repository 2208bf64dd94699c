// SPDX-License-Identifier: Apache-2.0
// See progress.hpp.
#include "emu/base/progress.hpp"

namespace sassemu {

Progress& process_progress() noexcept {
    static Progress progress;
    return progress;
}

}  // namespace sassemu
