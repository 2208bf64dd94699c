// Device malloc, free, new and delete: blocks of different sizes, a linked list across threads, memory handed to a second launch.
struct Node {
    Node* next;
    unsigned value;
    __device__ Node(Node* n, unsigned v) : next(n), value(v) {}
};
__device__ unsigned* kept[64];

extern "C" __global__ void allocate(unsigned* out) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned words = 1 + t * 7 % 61;
    unsigned* a = static_cast<unsigned*>(malloc(words * sizeof(unsigned)));
    Node* list = nullptr;
    for (unsigned i = 0; i < t % 5 + 1; ++i) list = new Node(list, t * 100 + i);
    unsigned sum = 0;
    if (a == nullptr || reinterpret_cast<unsigned long long>(a) % 16 != 0) sum = 0xbad00000u;
    for (unsigned i = 0; i < words; ++i) a[i] = t * 1000003u + i;
    __syncthreads();
    for (unsigned i = 0; i < words; ++i) sum += a[i] ^ i;
    while (list != nullptr) {
        Node* next = list->next;
        sum = sum * 5u + list->value;
        delete list;
        list = next;
    }
    out[t] = sum;
    if (t < 64)
        kept[t] = a;
    else
        free(a);
}

extern "C" __global__ void use_and_free(unsigned* out) {
    const unsigned t = threadIdx.x, words = 1 + t * 7 % 61;
    unsigned sum = 0;
    for (unsigned i = 0; i < words; ++i) sum ^= kept[t][i] * (i + 1);
    free(kept[t]);
    free(nullptr);
    out[t] = sum;
}
