// SPDX-License-Identifier: Apache-2.0
#include "emu/module/find_name.hpp"

#include <sassemu/names.hpp>

namespace sassemu {

Result<size_t> only_meant(const std::vector<std::string>& symbols, std::string_view wanted,
                          const std::string& where) {
    const std::vector<size_t> meant = names::meant(symbols, wanted);
    if (meant.size() == 1) return meant.front();
    constexpr size_t most = 60;
    std::string list;
    const size_t count = meant.empty() ? symbols.size() : meant.size();
    for (size_t i = 0; i < count && i < most; ++i)
        list += (i ? "; " : "") + (meant.empty() ? names::Forms(symbols[i]).qualified
                                                 : names::demangled(symbols[meant[i]]));
    if (count > most) list += "; and " + std::to_string(count - most) + " more";
    const std::string what = where + ": kernel '" + std::string(wanted) + "'";
    if (meant.empty())
        return make_error(ErrorCode::not_found, what, "does not exist",
                          symbols.empty() ? "there are no kernels" : "there are: " + list);
    return make_error(ErrorCode::usage, what,
                      "may be any of " + std::to_string(meant.size()) + " kernels", list);
}

}  // namespace sassemu
