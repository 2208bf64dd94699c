// SPDX-License-Identifier: Apache-2.0
// The split-phase memory port: how the engine tells a memory model, agent or link of an access, and
// how the answer may come later. The built-in flat model is inlined into the fast handlers and
// never passes here; every other model, checked runs and --reference do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sassemu {

struct Warp;
class AddressSpace;

enum class AccessOp : uint8_t { load, store, atomic, reduce, cache, prefetch, bulk };
enum class AccessSpace : uint8_t { global, shared, local, constant, generic, texture, surface };
enum class Proxy : uint8_t { generic, constant, texture, surface, async, tensormap, host };
enum class Ordering : uint8_t { weak, relaxed, acquire, release, acq_rel, sc, volatile_, mmio };
enum class MemScope : uint8_t { none, cta, sm, cluster, vc, gpu, sys };
enum class AtomicOp : uint8_t {
    none,
    add,
    min,
    max,
    inc,
    dec,
    and_,
    or_,
    xor_,
    exch,
    cas,
    safe_add
};
enum class AtomicType : uint8_t {
    u32,
    s32,
    u64,
    s64,
    f16x2,
    bf16x2,
    f32,  // subnormals become zero
    f64,
    f16x2_rn,
    b128,
    f32_rn  // subnormals stay; reductions of agents alone
};

// What a row of 16 bytes of LDSM and STSM has: 8 halves, 16 bytes, or 16 numbers of 4 or 6 bits
// before padding, which become bytes.
enum class MatrixElement : uint8_t { half, byte, bits4, bits6 };

// One access of one warp. Addresses are absolute: device addresses for global memory, offsets in
// the CTA's shared block for shared memory, offsets in the thread's stack for local memory.
struct Access {
    AccessOp op = AccessOp::load;
    AccessSpace space = AccessSpace::global;
    Proxy proxy = Proxy::generic;
    Ordering ordering = Ordering::weak;
    MemScope scope = MemScope::none;
    AtomicOp atomic = AtomicOp::none;
    AtomicType type = AtomicType::u32;
    uint8_t cache = 0;  // cache policy as encoded
    uint8_t bytes = 4;  // per lane: 1, 2, 4, 8, 16
    bool sign = false;  // loads of 1 and 2 bytes: sign-extend
    uint32_t lanes = 0;
    uint64_t address[32];
    uint64_t sequence = 0;     // per warp
    Warp* warp = nullptr;      // who; gpu, cta, path and pc follow from it
    uint32_t destination = 0;  // loads and atomics: row offset of the result, see op.hpp
    uint32_t source[2] = {};   // stores and atomics: row offset(s) of the data
    // Whose page table has the global addresses; null: the launch's.
    const AddressSpace* through = nullptr;
    // LDSM and STSM: lanes 0 .. 8 * matrices - 1 name the 16-byte rows of 8x8 matrices of 16-bit
    // elements, or of 8x16 bytes. Register i of the data has matrix i, spread over all lanes as
    // fragments are; bytes that are loaded transposed take turns with the next register.
    uint8_t matrices = 0;
    bool transposed = false;
    MatrixElement element = MatrixElement::half;
};

// How LDGMC combines what the members of a multicast object hold.
enum class LoadReduceType : uint8_t { u32, s32, u64, s64, f16, bf16, f32, f64, e5m2, e4m3 };
struct LoadReduce {
    AtomicOp op = AtomicOp::add;
    LoadReduceType type = LoadReduceType::u32;
    bool wide = false;  // sums in a wider format
};

struct Fence {
    Ordering ordering = Ordering::sc;
    MemScope scope = MemScope::gpu;
    bool invalidate_data = false, invalidate_texture = false;
    Warp* warp = nullptr;
};

enum class PortAnswer : uint8_t { done, pending, retry };

// What a model may ask of the engine.
class PortHost {
  public:
    virtual ~PortHost() = default;
    // Performs a pending access now: reads or writes guest bytes, fills the destination rows of the
    // lanes named and wakes the path that waits for them. Serial with the run of that CTA.
    virtual void complete(uint64_t token, uint32_t lanes) = 0;
};

// A memory model. Calls for one CTA never overlap; calls for different CTAs may, unless `serial()`.
class MemoryModel {
  public:
    virtual ~MemoryModel() = default;
    virtual std::string_view name() const = 0;
    virtual bool serial() const { return true; }
    // `token` identifies the access if the answer is `pending`; the engine performs it at
    // complete().
    virtual PortAnswer issue(const Access& access, uint64_t token) = 0;
    virtual PortAnswer fence(const Fence& fence) {
        (void)fence;
        return PortAnswer::done;
    }
    // Called between slices of a CTA: completes what is due. Returns the accesses still held for
    // tokens of this CTA (all of them when `cta` is null).
    virtual uint64_t step(PortHost& host, const void* cta) = 0;
};

}  // namespace sassemu
