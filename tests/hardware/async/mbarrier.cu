// Random mbarrier protocols, one per warp. Each step applies one operation with some of the lanes, and the
// result is a hash of the object after every step and of all tokens and answers.
//
// An object in use lies in a cache of the mbarrier unit; ordinary loads see it after SYNCS.CCTL.WB. PTX
// has no such operation: the build turns the SYNCS.CCTL.IV of mbarrier.inval into it (build.sh).
#include <cstdint>

namespace {

__device__ uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

struct Random {
    uint64_t state;
    __device__ uint32_t next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const uint32_t x = static_cast<uint32_t>(state >> 33);
        return x ^ x >> 15;
    }
};

__device__ __forceinline__ uint64_t read_object(uint32_t at, const volatile uint64_t* object) {
    __syncwarp();
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at) : "memory");
    __syncwarp();
    return *object;
}

__device__ uint32_t mix(uint32_t hash, uint64_t v) {
    hash = (hash ^ static_cast<uint32_t>(v)) * 0x9E3779B1u;
    hash = (hash ^ hash >> 15 ^ static_cast<uint32_t>(v >> 32)) * 0x85EBCA77u;
    return hash ^ hash >> 13;
}

}  // namespace

// hashes[sequence * 32 + lane], sequence = first + blockIdx.x
extern "C" __global__ void protocol(uint32_t* hashes, uint32_t first, uint32_t steps) {
    __shared__ alignas(16) uint64_t object;
    const uint32_t at = shared_address(&object), lane = threadIdx.x, sequence = first + blockIdx.x;
    Random random{sequence * 0x9E3779B97F4A7C15ull + 12345};
    random.next();
    const uint32_t size = random.next() % 4, x = random.next();
    const uint32_t count = size == 0   ? 1 + x % 4
                           : size == 1 ? 1 + x % 64
                           : size == 2 ? 1 + x % 100000
                                       : 0xfffff - x % 3;
    if (lane == 0) asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(at), "r"(count) : "memory");
    uint64_t now = read_object(at, &object), expected = count;
    uint32_t hash = mix(0, now);
    for (uint32_t step = 0; step < steps; ++step) {
        const uint32_t pending = (0x100000 - static_cast<uint32_t>(now >> 43 & 0xfffff)) & 0xfffff;
        const int32_t missing = -(static_cast<int32_t>(static_cast<uint32_t>(now >> 10)) >> 11);
        uint32_t op = random.next() % 14;
        const uint32_t which = random.next(), kind = random.next(), v = random.next(), u = random.next();
        uint32_t mask = kind % 4 == 0 ? 1u << (which & 31) : kind % 4 == 1 ? ~0u : which;
        if (!mask) mask = 1;
        uint32_t lanes = __popc(mask), operand = 0;
        const bool uneven = kind >> 8 & 1;  // lanes have different operands
        const auto alone = [&] { mask = 1u << (which & 31), lanes = 1; };
        const auto most = [&](uint32_t value) { return uint64_t{lanes} * (value + (uneven ? 2 : 0)); };
        if (op <= 7 && pending == 0) op = 12;
        if (op <= 7) {
            const bool counted = op == 1 || op == 2 || op == 4 || op == 5;
            if (lanes > pending) alone();
            const uint32_t room = pending / lanes;
            operand = counted ? (u % 3 == 0 ? room : 1 + v % room) : 1;
            if (op == 2 || op == 5) {  // must not complete the phase
                if (most(operand) >= pending) alone(), operand = pending > 4 ? 1 + v % (pending - 3) : 0;
                if (operand == 0 || most(operand) >= pending) op = 12;
            } else if (counted && uneven) {
                if (most(operand) > pending) operand = room > 2 ? room - 2 : 0;
                if (operand == 0) op = 12;
            }
            if (op >= 3 && op <= 7 && op != 6) {  // drops; keep some
                const uint64_t drop = counted ? most(operand) : lanes;
                if (expected <= drop) op = 12;
            }
            if (op == 6 || op == 7) operand = v % 4096;
        } else if (op <= 9) {
            operand = v % (u % 2 ? 64 : 30000);
            if (op == 9 && missing > 0 && u % 4 != 3) alone(), operand = u % 4 == 0 ? missing : 1 + v % missing;
        }
        const bool exact = op == 9 && lanes == 1;
        const uint32_t mine = operand + (uneven && !exact && op != 0 && op != 3 ? lane % 3 : 0);
        if ((op == 6 || op == 7 || op == 8) && missing + static_cast<int64_t>(most(operand)) > 0xfffff) op = 12;
        if (op == 9 && missing - static_cast<int64_t>(most(operand)) < -0xfffff) op = 12;
        uint64_t token = 0;
        uint32_t answer = 0;
        const bool on = mask >> lane & 1;
        switch (op) {
            case 0:
                if (on) asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(token) : "r"(at) : "memory");
                break;
            case 1:
                if (on) asm volatile("mbarrier.arrive.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(mine) : "memory");
                break;
            case 2:
                if (on) asm volatile("mbarrier.arrive.noComplete.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(operand) : "memory");
                break;
            case 3:
                if (on) asm volatile("mbarrier.arrive_drop.shared.b64 %0,[%1];" : "=l"(token) : "r"(at) : "memory");
                break;
            case 4:
                if (on) asm volatile("mbarrier.arrive_drop.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(mine) : "memory");
                break;
            case 5:
                if (on) asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(operand) : "memory");
                break;
            case 6:
                if (on) asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(mine) : "memory");
                break;
            case 7:
                if (on) asm volatile("mbarrier.arrive_drop.expect_tx.shared.b64 %0,[%1],%2;" : "=l"(token) : "r"(at), "r"(mine) : "memory");
                break;
            case 8:
                if (on) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0],%1;" ::"r"(at), "r"(mine) : "memory");
                break;
            case 9:
                if (on) asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0],%1;" ::"r"(at), "r"(mine) : "memory");
                break;
            case 10:
                asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(answer) : "r"(at), "r"(v & 1) : "memory");
                break;
            case 11:
                asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}" : "=r"(answer) : "r"(at), "l"(now ^ static_cast<uint64_t>((v ^ lane) & 1) << 63) : "memory");
                break;
            case 13:
                asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],%2,%3; selp.u32 %0,1,0,p;}" : "=r"(answer) : "r"(at), "r"(v & 1), "r"(100) : "memory");
                break;
            default: break;
        }
        now = read_object(at, &object);
        if (op == 3 || op == 4 || op == 5 || op == 7) {
            uint64_t dropped = 0;
            for (uint32_t i = 0; i < 32; ++i) {
                const uint32_t his = __shfl_sync(~0u, op == 4 ? mine : op == 5 ? operand : 1, i);
                if (mask >> i & 1) dropped += his;
            }
            expected -= dropped;
        }
        hash = mix(mix(mix(hash, now), token), answer);
    }
    hashes[(blockIdx.x * 32) + lane] = hash;
}
