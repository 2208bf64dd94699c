// SPDX-License-Identifier: Apache-2.0
// Lane-by-lane accesses behind perform.hpp.
#include "emu/memory/perform.hpp"

#include <bit>
#include <cmath>

#include "emu/machine/lane_bits.hpp"
#include "emu/machine/launch_host.hpp"
#include "emu/machine/local_memory.hpp"
#include "emu/machine/services.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/device_heap.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/store_order.hpp"

namespace sassemu {

namespace {

// Row `lane` of matrices of bytes. Element e of row r of 8 belongs to byte e % 4 of lane 4 * r + e
// / 4. Transposed, byte r % 2 + 2 * (e / 8) of lane 4 * (e % 8) + r' has it, where a store has r' =
// r / 2, and a load, whose matrices have 16 rows and two registers, r' = r / 4 in register r / 2 %
// 2 (PTX ISA, "ldmatrix" and "stmatrix").
void byte_row(Warp& w, const Access& a, uint32_t lane, std::byte* host) {
    const bool load = a.op == AccessOp::load;
    uint32_t r = lane % 8, number = lane / 8;
    if (a.transposed && load) {
        r = lane % 16;
        number = lane / 16 * 2 + r / 2 % 2;
    }
    uint32_t* row = w.row((load ? a.destination : a.source[0]) + number * row_bytes);
    for (uint32_t e = 0; e < 16; ++e) {
        const uint32_t owner = !a.transposed ? 4 * r + e / 4 : 4 * (e % 8) + r / (load ? 4 : 2);
        auto* byte =
            reinterpret_cast<uint8_t*>(row + owner) + (a.transposed ? r % 2 + e / 8 * 2 : e % 4);
        if (!load)
            host::store<uint8_t>(host + e, *byte);
        else if (a.element == MatrixElement::byte)
            *byte = host::load<uint8_t>(host + e);
        else if (a.element == MatrixElement::bits4)
            *byte = host::load<uint8_t>(host + e / 2) >> e % 2 * 4 & 15;
        else
            *byte = (host::load<uint8_t>(host + e * 6 / 8) |
                     host::load<uint8_t>(host + e * 6 / 8 + 1) << 8) >>
                        e * 6 % 8 &
                    63;
    }
}

// Whether the store of a lane, whose source words are `step` bytes apart in memory, changes bytes.
bool stores_other(const Access& a, const std::byte* at, const uint32_t* source, uint32_t step) {
    if (a.bytes < 4) {
        const uint64_t kept = (uint64_t{1} << a.bytes * 8) - 1;
        return (host::load_bytes(at, a.bytes) ^ source[0]) & kept;
    }
    for (uint32_t k = 0; k < a.bytes / 4; ++k)
        if (host::load<uint32_t>(at + k * step) != source[k * 32]) return true;
    return false;
}

}  // namespace

// Row `lane` of the matrices that LDSM and STSM move: element e of row r belongs to lane 4 * r + e
// / 2, transposed to lane 4 * e + r / 2 (PTX ISA, "ldmatrix").
void matrix_row(Warp& w, const Access& a, uint32_t lane, std::byte* host) {
    if (a.element != MatrixElement::half) return byte_row(w, a, lane, host);
    const bool load = a.op == AccessOp::load;
    const uint32_t r = lane % 8;
    uint32_t* row = w.row((load ? a.destination : a.source[0]) + lane / 8 * row_bytes);
    for (uint32_t e = 0; e < 8; ++e) {
        auto* half =
            reinterpret_cast<uint16_t*>(row + (a.transposed ? 4 * e + r / 2 : 4 * r + e / 2)) +
            (a.transposed ? r % 2 : e % 2);
        if (load)
            *half = host::load<uint16_t>(host + 2 * e);
        else
            host::store<uint16_t>(host + 2 * e, *half);
    }
}

Landing land(Warp& w, AccessSpace space, uint64_t address, uint32_t lane, uint32_t bytes,
             bool write, const AddressSpace* through) {
    Launch& launch = *w.cta->launch;
    Landing out;
    uint32_t rank = w.cta->rank;  // whose shared memory
    if (space == AccessSpace::shared && static_cast<uint32_t>(address >> 24) != rank) {
        const bool other = address >> 24 < w.cta->cluster->size;
        out.fault = other ? FaultKind::cluster : FaultKind::out_of_bounds;
        out.what = other ? "shared memory of another CTA of the cluster, which only generic "
                           "addresses reach (mapa, "
                           "ld.shared::cluster)"
                         : "outside the shared memory of the CTA";
        return out;
    }
    const auto high = static_cast<uint32_t>(address >> 32);
    if (space == AccessSpace::generic) {
        space = high == shared_window_high               ? AccessSpace::shared
                : high == local_window_high              ? AccessSpace::local
                : high == constant_window_high && !write ? AccessSpace::constant
                                                         : AccessSpace::global;
        if (space != AccessSpace::global) address &= 0xffffffffu;
        if (space == AccessSpace::shared) rank = static_cast<uint32_t>(address >> 24);
    } else if (space == AccessSpace::global && high == constant_window_high && !write) {
        // Kernels may take the bank for what it is on the chip, global memory (c[0x0][0xc0]).
        space = AccessSpace::constant;
        address &= 0xffffffffu;
    }
    if (address % bytes) {
        out.fault = FaultKind::misaligned_address;
        out.what = "the address is not a multiple of the access size";
        return out;
    }
    switch (space) {
        case AccessSpace::shared:
            // The window of the cluster: a CTA's rank in bits 31..24 (S2R SR_CgaCtaId << 24).
            address &= 0xffffffu;
            if (rank >= w.cta->cluster->size) {
                out.fault = FaultKind::cluster;
                out.what = "the address names a rank that the cluster does not have";
            } else if (const Cta& cta = *w.cta->cluster->cta[rank];
                       address + bytes > cta.shared_bytes) {
                out.fault = FaultKind::out_of_bounds;
                out.what = "outside the shared memory of the CTA";
            } else if (&cta != w.cta && !cta.live_threads) {
                out.fault = FaultKind::cluster;
                out.what =
                    "that CTA of the cluster has exited; its shared memory must not be used any "
                    "more";
            } else {
                out.host = cta.shared + address;
            }
            return out;
        case AccessSpace::local:
            if (address + bytes <= launch.local_bytes) {
                out.host = w.local + (address >> 2) * 128 + lane * 4 + (address & 3);
                out.local = true;
            } else {
                // The stack grows down from the end: it is used up where its pointer has passed the
                // beginning. All else is an index.
                const bool used_up = static_cast<int32_t>(w.row(register_row(1))[lane]) < 0;
                out.fault = used_up ? FaultKind::stack_overflow : FaultKind::out_of_bounds;
                out.what = used_up ? "the stack is used up; raise the stack limit if the recursion "
                                     "is meant to be that deep"
                                   : "outside the thread's local memory";
            }
            return out;
        case AccessSpace::constant:
            if (address + bytes <= launch.bank_bytes[static_cast<int>(Base::bank0)]) {
                out.host =
                    const_cast<std::byte*>(launch.base[static_cast<int>(Base::bank0)]) + address;
            } else {
                out.fault = FaultKind::out_of_bounds;
                out.what = "outside the constant bank";
            }
            return out;
        default: {
            const Extent& e = (through ? *through : *launch.space).find(address);
            std::byte* const host = bytes_of(e, address, bytes);
            if (host && !(write && (e.flags & Extent::read_only))) {
                out.host = host;
            } else if (was_freed(e, address)) {
                out.fault = FaultKind::use_after_free;
                out.what = "the memory was freed";
            } else {
                out.fault = FaultKind::out_of_bounds;
                out.what = "no allocation holds these bytes";
            }
            return out;
        }
    }
}

void deliver(uint32_t* rows, uint32_t bytes, bool sign, uint32_t lanes, const uint32_t* values) {
    const uint32_t words = (bytes + 3) / 4;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        for (uint32_t k = 0; k < words; ++k) {
            uint32_t v = values[k * 32 + lane];
            if (bytes < 4) {
                v &= (1u << bytes * 8) - 1;
                if (sign && v >> (bytes * 8 - 1)) v |= ~0u << bytes * 8;
            }
            rows[k * 32 + lane] = v;
        }
    }
}

bool reaches(Warp& w, AccessSpace space, uint64_t address, uint32_t lane, uint32_t bytes,
             bool write) {
    if (land(w, space, address, lane, bytes, write).host) return true;
    const bool global = space == AccessSpace::global || space == AccessSpace::generic;
    const LaunchHost* const host = w.cta->launch->host;  // none where states are explored
    return global && address % bytes == 0 && host && host->far(address, bytes);
}

void perform(Warp& w, const Access& access, uint32_t lanes) {
    const uint32_t words = access.bytes > 4 ? access.bytes / 4 : 1;
    const bool write = access.op != AccessOp::load;
    const auto one = [&](uint32_t lane) {
        const Landing at =
            land(w, access.space, access.address[lane], lane, access.bytes, write, access.through);
        if (!at.host) return;
        const uint32_t step = at.local ? 128 : 4;
        if (w.watch)
            for (uint32_t k = 0; k < words; ++k)
                services(w).watch(w, at.host + k * step, access.bytes > 4 ? 4 : access.bytes);
        if (at.local && write)
            note_local_store(w, static_cast<uint64_t>(at.host - w.local) / row_bytes * 4);
        if (access.matrices) {
            w.effects += write;
            matrix_row(w, access, lane, at.host);
            return;
        }
        uint32_t* d = w.row(access.destination) + lane;
        const uint32_t* s = w.row(access.source[0]) + lane;
        switch (access.op) {
            case AccessOp::load:
                if (access.bytes >= 4) {
                    if (access.bytes == 8 && !at.local) {
                        const uint64_t v = host::load<uint64_t>(at.host);
                        d[0] = static_cast<uint32_t>(v);
                        d[32] = static_cast<uint32_t>(v >> 32);
                        break;
                    }
                    for (uint32_t k = 0; k < words; ++k)
                        d[k * 32] = host::load<uint32_t>(at.host + k * step);
                } else {
                    uint64_t v = host::load_bytes(at.host, access.bytes);
                    if (access.sign && (v >> (access.bytes * 8 - 1) & 1))
                        v |= ~uint64_t{0} << (access.bytes * 8);
                    d[0] = static_cast<uint32_t>(v);
                }
                break;
            case AccessOp::store:
                // A watched loop that stores what is there already changes nothing. Whoever changes
                // it wakes the loop.
                if (!w.watch || stores_other(access, at.host, s, step)) ++w.effects;
                if (access.bytes == 8 && !at.local) {
                    host::store<uint64_t>(at.host, s[0] | uint64_t{s[32]} << 32);
                } else if (access.bytes >= 4) {
                    for (uint32_t k = 0; k < words; ++k)
                        host::store<uint32_t>(at.host + k * step, s[k * 32]);
                } else {
                    host::store_bytes(at.host, access.bytes, s[0]);
                }
                break;
            case AccessOp::atomic:
            case AccessOp::reduce: {
                const uint32_t* swap = w.row(access.source[1]) + lane;
                const auto wide = [&](const uint32_t* row) {
                    host::Wide v{row[0], 0};
                    if (access.bytes >= 8) v.lo |= uint64_t{row[32]} << 32;
                    if (access.bytes == 16) v.hi = row[64] | uint64_t{row[96]} << 32;
                    return v;
                };
                bool changed = false;
                const host::Wide old = update_at(at.host, access.atomic, access.type, access.bytes,
                                                 wide(s), wide(swap), changed);
                w.effects += changed;
                if (access.op != AccessOp::atomic) break;
                d[0] = static_cast<uint32_t>(old.lo);
                if (access.bytes >= 8) d[32] = static_cast<uint32_t>(old.lo >> 32);
                if (access.bytes == 16) {
                    d[64] = static_cast<uint32_t>(old.hi);
                    d[96] = static_cast<uint32_t>(old.hi >> 32);
                }
                break;
            }
            default:
                break;
        }
    };
    if (access.op == AccessOp::store)
        for_storing_lanes(lanes, access.bytes, one);
    else
        for_lanes(lanes, one);
}

}  // namespace sassemu
