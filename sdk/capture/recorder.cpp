// SPDX-License-Identifier: Apache-2.0
// See recorder.hpp.
#include "recorder.hpp"

#include <algorithm>
#include <sassemu/names.hpp>

namespace sassemu::capture {

bool Recorder::wanted(const Launch& launch) {
    ++index_;
    if (options_.count && capsules_ >= options_.count) return false;
    if (stuck_.contains(launch.kernel) || !matches(options_, launch.kernel)) return false;
    const uint64_t which = seen_++;
    if (which < options_.first || (which - options_.first) % options_.step) return false;
    if (!options_.per_kernel) return true;
    const auto known = of_kernel_.find({launch.kernel, launch.image->hash});
    return known == of_kernel_.end() || known->second < options_.per_kernel;
}

void Recorder::refuse(const std::string& kernel, const std::string& why) noexcept {
    try {
        say_("launch " + std::to_string(index_ - 1) + " of " + names::demangled(kernel) +
             " is not captured: " + why);
    } catch (...) {
    }
    under_.reset();  // the name may be in it
}

void Recorder::failed(Driver& driver, const std::string& kernel,
                      const std::exception& how) noexcept {
    try {
        std::string why = how.what();
        if (dynamic_cast<const Broken*>(&how)) {
            if (!broken_.insert(driver.context()).second) return under_.reset();
            why += "; the context is broken, and nothing more of it is captured";
        } else if (dynamic_cast<const Stuck*>(&how)) {
            stuck_.insert(kernel);
            why += "; nor are its later launches";
        }
        refuse(kernel, why);
    } catch (...) {
        under_.reset();
    }
}

void Recorder::begin(Driver& driver, Work work) noexcept {
    try {
        if (is_broken(driver)) return;
        under_ = std::make_unique<Under>();
        under_->work = std::move(work);
        for (const Launch& launch : under_->work.launches)
            if (!launch.move && under_->kernel.empty()) under_->kernel = launch.kernel;
        under_->memory = std::make_unique<Memory>(driver, options_);
        driver.synchronize();
        under_->memory->take(under_->work);
    } catch (const std::exception& e) {
        failed(driver, std::string(under_->kernel), e);
    }
}

void Recorder::end(Driver& driver, bool launched) noexcept {
    if (!under_) return;
    try {
        if (!launched) throw Failure("the driver refused it");
        driver.synchronize();
        under_->memory->take_after();
        const Work& work = under_->work;
        // What malloc and free have done cannot be undone, nor what functions of the host have; and
        // a launch that waits for another GPU or process would wait for ever. Such run once.
        const bool again =
            !work.host_functions &&
            std::ranges::none_of(
                work.launches,
                [](const Launch& launch) { return launch.image && launch.image->symbols.heap; }) &&
            std::ranges::none_of(under_->memory->pieces(),
                                 [&](const Piece& piece) { return driver.shared(piece.range); });
        const uint32_t runs = again ? options_.repeat : 1;
        for (uint32_t i = 1; i < runs; ++i) {
            under_->memory->restore(&Piece::before);
            driver.launch_again();
            driver.synchronize();
            under_->memory->compare_with_after();
        }
        if (runs > 1) under_->memory->restore(&Piece::after);
        Capsule capsule{work, *under_->memory, driver.device(), program_, index_ - 1, runs};
        const std::string folder = write_capsule(capsule, options_.directory);
        ++capsules_;
        for (const Launch& launch : work.launches)
            if (!launch.move) ++of_kernel_[{launch.kernel, launch.image->hash}];
        if (options_.verbose) say_(folder);
    } catch (const std::exception& e) {
        failed(driver, std::string(under_->kernel), e);
    }
    under_.reset();
}

}  // namespace sassemu::capture
