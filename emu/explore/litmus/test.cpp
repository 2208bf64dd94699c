// SPDX-License-Identifier: Apache-2.0
// See test.hpp.
#include "emu/explore/litmus/test.hpp"

namespace sassemu::explore {

uint32_t find_name(const Test& test, std::string_view text) {
    return test.name_index.find(test.names, text,
                                [](const Name& n) -> const std::string& { return n.text; });
}

uint32_t register_of(Thread& thread, std::string_view name) {
    const uint32_t number = thread.register_index.find(
        thread.registers, name, [](const std::string& r) -> const std::string& { return r; });
    if (number == thread.registers.size()) {
        thread.registers.emplace_back(name);
        thread.initial.push_back(0);
    }
    return number;
}

}  // namespace sassemu::explore
