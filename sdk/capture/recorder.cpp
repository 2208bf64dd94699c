// SPDX-License-Identifier: Apache-2.0
// See recorder.hpp.
#include "recorder.hpp"

#include <algorithm>

namespace sassemu::capture {

bool Recorder::wanted(const std::string& kernel) {
    ++index_;
    if (options_.count && capsules_ >= options_.count) return false;
    if (!matches(options_, kernel)) return false;
    const uint64_t which = seen_++;
    if (which < options_.first || (which - options_.first) % options_.step) return false;
    return !options_.per_kernel || of_kernel_[kernel] < options_.per_kernel;
}

void Recorder::refuse(const std::string& kernel, const std::string& why) noexcept {
    try {
        say_("launch " + std::to_string(index_ - 1) + " of " + demangled(kernel) +
             " is not captured: " + why);
    } catch (...) {
    }
    under_.reset();  // the name may be in it
}

void Recorder::begin(Driver& driver, std::vector<Launch> launches) noexcept {
    const std::string kernel = launches.front().kernel;
    try {
        under_ = std::make_unique<Under>();
        under_->launches = std::move(launches);
        under_->memory = std::make_unique<Memory>(driver, options_);
        driver.synchronize();
        under_->memory->take(under_->launches);
    } catch (const std::exception& e) {
        refuse(kernel, e.what());
    }
}

void Recorder::end(Driver& driver, bool launched) noexcept {
    if (!under_) return;
    try {
        if (!launched) throw Failure("the driver refused it");
        driver.synchronize();
        under_->memory->take_after();
        // What malloc and free have done cannot be undone: such a launch runs once.
        const bool again = std::ranges::none_of(
            under_->launches, [](const Launch& launch) { return launch.image->symbols.heap; });
        const uint32_t runs = again ? options_.repeat : 1;
        for (uint32_t i = 1; i < runs; ++i) {
            under_->memory->restore(&Piece::before);
            driver.launch_again();
            driver.synchronize();
            under_->memory->compare_with_after();
        }
        if (runs > 1) under_->memory->restore(&Piece::after);
        Capsule capsule{under_->launches, *under_->memory, driver.device(),
                        program_,         index_ - 1,      runs};
        const std::string folder = write_capsule(capsule, options_.directory);
        ++capsules_;
        for (const Launch& launch : under_->launches) ++of_kernel_[launch.kernel];
        if (options_.verbose) say_(folder);
    } catch (const std::exception& e) {
        refuse(under_->launches.front().kernel, e.what());
    }
    under_.reset();
}

}  // namespace sassemu::capture
