// SPDX-License-Identifier: Apache-2.0
// Lowering on demand and the side tables behind code_image.hpp.
#include "emu/program/code_image.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

#include "emu/gpu.hpp"
#include "emu/isa/level.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/warp.hpp"
#include "emu/memory/payload.hpp"
#include "emu/module/line_table.hpp"
#include "sassdec/ids.h"

namespace sassemu {

namespace {

void* reserve(uint64_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    return at;
}

// The first operation of a section that nothing has jumped to so far, and that follows one at once:
// code that runs off the end of that one comes here, and the section is lowered.
const Op* enter_section(const Op* op, Warp& w, uint32_t) {
    CodeImage& code = *w.cta->launch->code;
    --w.issued;  // the operation that it becomes counts
    return code.at(code.address_of(op));
}

// Where others may execute enter_section() meanwhile: they see that, or all of the operation.
void publish(const Op& op, Op& at) {
    std::memcpy(reinterpret_cast<std::byte*>(&at) + sizeof op.fn,
                reinterpret_cast<const std::byte*>(&op) + sizeof op.fn, sizeof op - sizeof op.fn);
    for (int k = 0; k < 2; ++k)
        std::atomic_ref(at.fn[k]).store(op.fn[k], std::memory_order_release);
}

std::string hex_word(const uint64_t (&word)[2]) {
    char text[35];
    std::snprintf(text, sizeof text, "0x%016llx%016llx", static_cast<unsigned long long>(word[1]),
                  static_cast<unsigned long long>(word[0]));
    return text;
}

}  // namespace

CodeImage::CodeImage(std::shared_ptr<const Module> module, std::vector<uint8_t> words,
                     std::vector<DriverFunction> driver_functions, Options options)
    : module_(std::move(module)),
      words_(std::move(words)),
      driver_functions_(std::move(driver_functions)),
      options_(std::move(options)) {
    words_.resize((words_.size() + 15) / 16 * 16);
    first_driver_function_ = words_.size() / 16 + 1;  // an operation that faults lies between
    const uint64_t count = first_driver_function_ + driver_functions_.size();
    mapped_ = (count * sizeof(Op) + 4095) / 4096 * 4096;
    ops_ = static_cast<Op*>(reserve(mapped_));
    if (options_.lowering == Lowering::checked) sets_ = std::make_unique<RegisterSets[]>(count);
    const auto add = [&](uint64_t begin, uint64_t end) {
        auto section = std::make_unique<Section>();
        section->begin = begin;
        section->end = end;
        sections_.push_back(std::move(section));
    };
    if (module_) {
        for (const CodeSection& s : module_->code_sections())
            add(s.code_offset, s.code_offset + s.bytes.size() / 16 * 16);
    } else {
        add(0, words_.size());
    }
    for (size_t i = 0; i < driver_functions_.size(); ++i) {
        Op& op = ops_[first_driver_function_ + i];
        op = Op{};
        op.fn[0] = op.fn[1] = driver_functions_[i].handler;
        op.guard = 7;
    }
}

CodeImage::~CodeImage() {
    if (ops_) munmap(ops_, mapped_);
}

CodeImage::Section* CodeImage::section_of(uint64_t offset) const {
    for (const auto& s : sections_)
        if (offset >= s->begin && offset < s->end) return s.get();
    return nullptr;
}

const Op* CodeImage::at(uint64_t address) {
    if (const auto other = options_.elsewhere.find(address); other != options_.elsewhere.end())
        address = options_.base_address + other->second;
    if (address < options_.base_address || address % 16) return nullptr;
    const uint64_t offset = address - options_.base_address;
    const uint64_t index = offset / 16;
    if (index >= first_driver_function_) {
        const uint64_t service = index - first_driver_function_;
        if (service >= driver_functions_.size() || !driver_functions_[service].handler)
            return nullptr;
        return ops_ + index;
    }
    Section* section = section_of(offset);
    if (!section) return nullptr;
    if (!section->lowered.load(std::memory_order_acquire)) {
        const std::lock_guard guard(mutex_);
        if (!section->lowered.load(std::memory_order_relaxed)) {
            lower(*section);
            section->lowered.store(true, std::memory_order_release);
        }
    }
    return ops_ + index;
}

uint64_t CodeImage::service_address(size_t index) const {
    return options_.base_address + (first_driver_function_ + index) * 16;
}

// An invalidation that is one with the barrier after it takes place there: one event for a memory
// model. Its own slot does nothing, under the same guard.
void CodeImage::lower_nop(LowerRequest request, const sassdec_insn& instruction) {
    const auto arch = static_cast<sassdec_arch>(instruction.arch);
    uint64_t word[2];
    sassdec_insn nop;
    if (sassdec_assemble(arch, "NOP", 0, nullptr, word, nullptr) != SASSDEC_OK ||
        sassdec_decode(arch, word, 0, &nop) != SASSDEC_OK)
        return;
    nop.guard = instruction.guard;
    nop.guard_neg = instruction.guard_neg;
    request.instruction = &nop;
    options_.level->lower(request);
}

// Code offsets of instructions that are one with the next (Kernel::fused_offsets).
std::set<uint64_t> CodeImage::fused_offsets() const {
    std::set<uint64_t> all;
    if (!module_) return all;
    for (const Kernel& kernel : module_->kernels()) {
        const CodeSection* code = module_->code_section(kernel.section);
        for (const uint32_t offset : kernel.fused_offsets)
            if (code) all.insert(code->code_offset + offset);
    }
    return all;
}

void CodeImage::lower(Section& section) {
    const sassdec_arch arch = sassdec_arch_from_name(options_.arch.c_str());
    const std::set<uint64_t> fused = fused_offsets();
    uint8_t invalidates = 0;
    Op first{};  // shown when all others are there
    const bool entered = ops_[section.begin / 16].fn[0] == enter_section;
    // The operation behind a section's last one only faults: code that runs off its end.
    for (uint64_t offset = section.begin; offset <= section.end; offset += 16) {
        const bool end = offset == section.end;
        if (end && section_of(offset)) {  // the next section follows at once
            Op& next = ops_[offset / 16];
            if (next.fn[0]) break;
            next.guard = 7;
            next.fn[0] = next.fn[1] = enter_section;
            break;
        }
        sassdec_insn instruction;
        uint64_t word[2] = {0, 0};
        if (!end) std::memcpy(word, words_.data() + offset, 16);
        const bool decodes =
            !end && sassdec_decode(arch, word, offset - section.begin, &instruction) == SASSDEC_OK;
        std::string rejection;
        bool gap = false;
        if (end) {
            rejection = "the code ends here: execution ran past the last instruction";
        } else if (word[0] == 0 && word[1] == 0) {
            rejection =
                "the all-zero word: ptxas 13.0 emits it for fence.acquire and fence.release on "
                "sm_75 and sm_80, which have no such instruction; use fence.acq_rel there";
        } else if (!decodes) {
            // Not the kernel's fault: what a compiler emits, the chip has.
            gap = true;
            char reason[256];
            rejection = "sassemu does not know this word, " + hex_word(word);
            if (sassdec_reason(&instruction, reason, sizeof reason) > 0)
                rejection += std::string(" (") + reason + ")";
        }
        LowerRequest request;
        request.instruction = rejection.empty() ? &instruction : nullptr;
        request.offset = offset;
        request.section_begin = section.begin;
        request.section_end = section.end;
        request.sm = module_ ? module_->arch().sm : options_.sm;
        request.max_registers = options_.max_registers;
        request.lowering = options_.lowering;
        request.late_copies = options_.late_copies;
        request.modelled = options_.modelled;
        request.bank_bytes = options_.bank_bytes ? &*options_.bank_bytes : nullptr;
        request.pool = &pool_;
        Op& op = entered && offset == section.begin ? first : ops_[offset / 16];
        request.op = &op;
        request.rejection = &rejection;
        request.gap = &gap;
        options_.level->lower(request);
        const uint16_t id = rejection.empty() ? instruction.id : uint16_t{0xffff};
        if (fused.contains(offset) && (id == SASSDEC_ID_CCTLALL || id == SASSDEC_ID_CCTLTIVALL)) {
            invalidates |= as<FencePayload>(op).emptied();
            lower_nop(request, instruction);
        } else {
            if (id == SASSDEC_ID_MEMBAR) as<FencePayload>(op).emptied() |= invalidates;
            invalidates = 0;
        }
        if (!rejection.empty()) rejections_.emplace(offset, rejection);
        if (gap) gaps_.insert(offset);
        if (sets_ && request.instruction) {
            sassdec_regset read, written;
            sassdec_registers(&instruction, &read, &written);
            std::memcpy(sets_[offset / 16].reads, read.r, sizeof read.r);
            std::memcpy(sets_[offset / 16].writes, written.r, sizeof written.r);
        }
    }
    place_asks(section);
    if (entered) publish(first, ops_[section.begin / 16]);
}

void CodeImage::ask_with(Handler asks) {
    const std::lock_guard guard(mutex_);
    asks_ = asks;
    behind_.resize(count() / stretch + 1);
    for (const auto& s : sections_)
        if (s->lowered.load(std::memory_order_relaxed)) place_asks(*s);
}

// Never in a section's first operation, which others may be running (publish).
void CodeImage::place_asks(const Section& section) {
    if (!asks_) return;
    for (uint64_t at = section.begin / 16 + stretch - 1; at < section.end / 16; at += stretch) {
        Op& op = ops_[at];
        behind_[at / stretch] = {op.fn[0], op.fn[1]};
        op.fn[0] = op.fn[1] = asks_;
    }
}

std::string CodeImage::sass(uint64_t offset) const {
    if (offset / 16 >= first_driver_function_ &&
        offset / 16 < first_driver_function_ + driver_functions_.size())
        return "<driver function " + driver_functions_[offset / 16 - first_driver_function_].name +
               ">";
    if (offset + 16 > words_.size()) return "";
    return disassemble(options_.arch,
                       {reinterpret_cast<const std::byte*>(words_.data()) + offset, 16},
                       section_offset(offset));
}

std::string CodeImage::source(uint64_t offset) const {
    if (!module_) return "";
    const auto info = module_->lines().find(offset);
    if (!info) return "";
    std::string text;
    if (info->source) {
        text = std::string(info->source->file) + ":" + std::to_string(info->source->line);
        for (const SourceLocation& at : info->inlined_at)
            text += ", inlined at " + std::string(at.file) + ":" + std::to_string(at.line);
    }
    if (info->ptx_line) {
        if (!text.empty()) text += ", ";
        text += "PTX line " + std::to_string(info->ptx_line);
        if (!info->ptx_text.empty()) text += " '" + std::string(info->ptx_text) + "'";
    }
    return text;
}

std::string CodeImage::function(uint64_t offset) const {
    const Function* f = module_ ? module_->function_at(offset) : nullptr;
    return f ? f->name : "";
}

uint64_t CodeImage::section_offset(uint64_t offset) const {
    const Section* s = section_of(offset);
    return s ? offset - s->begin : offset;
}

std::string CodeImage::rejection(uint64_t offset) const {
    const std::lock_guard guard(mutex_);
    const auto it = rejections_.find(offset);
    return it == rejections_.end() ? "" : it->second;
}

bool CodeImage::is_gap(uint64_t offset) const {
    const std::lock_guard guard(mutex_);
    return gaps_.contains(offset);
}

std::string disassemble(std::string_view arch, std::span<const std::byte> code, uint64_t pc) {
    if (code.size() < 16) return "";
    uint64_t word[2];
    std::memcpy(word, code.data(), 16);
    sassdec_insn instruction;
    char text[512];
    if (sassdec_decode(sassdec_arch_from_name(std::string(arch).c_str()), word, pc, &instruction) !=
            SASSDEC_OK ||
        sassdec_format(&instruction, nullptr, text, sizeof text) < 0)
        return "";
    return text;
}

}  // namespace sassemu
