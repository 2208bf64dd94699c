// SPDX-License-Identifier: Apache-2.0
// The executable form of a module's code: relocated words, one Op per instruction, lowered section
// by section when first needed, and the side tables for reports and checked runs.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emu/machine/lowered.hpp"
#include "emu/module/module.hpp"
#include "sassdec/sassdec.h"

namespace sassemu {

struct LowerRequest;

struct LevelTable;

// A function that the driver provides to kernels (vprintf, malloc, ...). It has a code address of
// its own behind the module's code, and a handler instead of instructions.
struct DriverFunction {
    std::string name;
    Handler handler = nullptr;
};

class CodeImage {
  public:
    struct Options {
        Lowering lowering = Lowering::plain;
        bool late_copies = false, modelled = false;  // see LowerRequest
        std::string arch;                            // decoder name, "sm_90a"
        uint64_t base_address = 0;                   // of code offset 0
        // Other addresses of functions -> code offset.
        std::map<uint64_t, uint64_t> elsewhere;
        uint32_t max_registers = 255;
        uint32_t sm = 90;                     // of raw code; a module knows its own
        std::optional<BankBytes> bank_bytes;  // of every launch; unset: whole banks
        const LevelTable* level = nullptr;
    };
    // `words`: the relocated image, module.code_image_size() bytes. `module` may be null (raw code
    // of tests): then the image is one section.
    CodeImage(std::shared_ptr<const Module> module, std::vector<uint8_t> words,
              std::vector<DriverFunction> driver_functions, Options options);
    ~CodeImage();
    CodeImage(const CodeImage&) = delete;

    // From now on, every `stretch` operations of code that follow each other, `asks` runs in an
    // operation's place: behind() does its work. Short sections have none.
    static constexpr uint64_t stretch = 512;
    void ask_with(Handler asks);
    // What runs, with some lanes and with all, where `asks` stands.
    Handler behind(const Op* op, bool all) const {
        return behind_[static_cast<uint64_t>(op - ops_) / stretch][all];
    }

    // The operation at a code address, its section lowered; nullptr when no code is there.
    const Op* at(uint64_t address);
    uint64_t service_address(size_t index) const;
    uint64_t address_of(const Op* op) const {
        return options_.base_address + static_cast<uint64_t>(op - ops_) * 16;
    }
    uint64_t offset_of(const Op* op) const { return static_cast<uint64_t>(op - ops_) * 16; }
    const Op* ops() const { return ops_; }
    uint64_t count() const { return words_.size() / 16; }
    // With those of the driver's functions behind them.
    uint64_t operations() const { return first_driver_function_ + driver_functions_.size(); }
    const RegisterSets* register_sets() const { return sets_.get(); }
    const std::byte* immediates() const { return pool_.base(); }
    const Module* module() const { return module_.get(); }
    const Options& options() const { return options_; }
    const std::vector<uint8_t>& words() const { return words_; }

    // For reports. Offsets are code offsets (bytes from the start of the image).
    std::string sass(uint64_t code_offset) const;
    std::string source(uint64_t code_offset) const;  // file:line with inlined frames, or empty
    std::string function(uint64_t code_offset) const;
    uint64_t section_offset(uint64_t code_offset) const;
    // Why an operation cannot run, for those that lowering rejected; empty otherwise.
    std::string rejection(uint64_t code_offset) const;
    // Whether it is legal and not executed here; rejection() may say what of it.
    bool is_gap(uint64_t code_offset) const;

  private:
    struct Section {
        uint64_t begin = 0, end = 0;  // code offsets
        std::atomic<bool> lowered{false};
    };
    void lower(Section& section);
    void place_asks(const Section& section);
    void lower_nop(LowerRequest request, const sassdec_insn& instruction);
    std::set<uint64_t> fused_offsets() const;
    Section* section_of(uint64_t code_offset) const;

    std::shared_ptr<const Module> module_;
    std::vector<uint8_t> words_;
    std::vector<DriverFunction> driver_functions_;
    uint64_t first_driver_function_ = 0;  // operation index
    Options options_;
    Op* ops_ = nullptr;
    uint64_t mapped_ = 0;
    ImmediatePool pool_;
    std::unique_ptr<RegisterSets[]> sets_;
    std::vector<std::unique_ptr<Section>> sections_;
    std::unordered_map<uint64_t, std::string> rejections_;
    std::unordered_set<uint64_t> gaps_;
    mutable std::mutex mutex_;
    Handler asks_ = nullptr;
    std::vector<std::array<Handler, 2>> behind_;  // two are never closer than a stretch
};

}  // namespace sassemu
