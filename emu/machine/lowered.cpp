// SPDX-License-Identifier: Apache-2.0
// The pool of scalars.
#include "emu/machine/lowered.hpp"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace sassemu {

ImmediatePool::ImmediatePool() {
    void* at = mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(at);
}
ImmediatePool::~ImmediatePool() {
    if (base_) munmap(base_, capacity);
}

uint32_t ImmediatePool::add(uint64_t value) {
    const auto [it, fresh] = known_.try_emplace(value, used_);
    if (fresh) {
        std::memcpy(base_ + used_, &value, 8);
        used_ += 8;
    }
    return it->second;
}

}  // namespace sassemu
