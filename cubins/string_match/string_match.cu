// Find a pattern in a text: byte-wise comparison with early exit and a ballot per warp, and the shift-or automaton.
__constant__ char pattern[8] = {'a', 'b', 'a', 'c', 'a', 0, 0, 0};

extern "C" __global__ void match_naive(const char* text, unsigned* hits, unsigned* count, int n, int length) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool found = i + length <= n;
    for (int k = 0; found && k < length; ++k) found = text[i + k] == pattern[k];
    const unsigned word = __ballot_sync(0xffffffffu, found);
    if ((threadIdx.x & 31) == 0) {
        hits[i >> 5] = word;
        atomicAdd(count, __popc(word));
    }
}

// Each thread scans its own stretch and `length - 1` characters of the next; positions of match ends are xored together.
extern "C" __global__ void match_bitap(const char* text, unsigned* ends, int n, int length, int stretch) {
    unsigned mask[4] = {~0u, ~0u, ~0u, ~0u};
    for (int k = 0; k < length; ++k) mask[pattern[k] - 'a'] &= ~(1u << k);
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = ~0u, seen = 0;
    for (int i = t * stretch; i < min(n, (t + 1) * stretch + length - 1); ++i) {
        state = state << 1 | mask[text[i] - 'a'];
        if (!(state >> (length - 1) & 1u)) seen = seen * 31u + static_cast<unsigned>(i);
    }
    ends[t] = seen;
}
