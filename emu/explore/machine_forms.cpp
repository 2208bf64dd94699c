// Mnemonics of the machines that are no consistency models: nvshmem_* and SASS. docs/litmus.md,
// sections 6 and 7.
#include "emu/explore/forms.hpp"

namespace sassemu::explore {

Result<void> read_machine_form(Form& form, std::string_view head) {
    (void)head;
    form.known = false;
    return {};
}

}  // namespace sassemu::explore
