// archs: sm_90
// A warp that has arrived at a named barrier arrives again before the phase is over: does it count again?
// What tells is a result, not a clock: whoever waits reads behind the barrier how many arrivals of other warps
// have come to its help (`step`), and these come one by one, each after a pause in which it could have gone on.
// out: the step that the waiting warp saw; whether it was through before any help, after one arrival, after two;
// whether the first warp had arrived by then; the number of a reduction.

#define ARRIVE(n) asm volatile("bar.arrive 1, %0;" ::"n"(n) : "memory")
#define SYNC(n) asm volatile("bar.sync 1, %0;" ::"n"(n) : "memory")
// Of some lanes, without a branch: ptxas puts WARPSYNC.ALL in one.
#define OF_LANES(what, lanes, n) \
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p barrier.cta." what " 1, %1; }" ::"r"(int(lanes)), "n"(n) : "memory")

struct Stage {
    int arrived, at, passed, step;
};

__device__ void wait_for(volatile int* flag, int most = 20000) {
    for (int i = 0; i < most && !*flag; ++i) {
    }
}

__device__ void pause_here(volatile int* flag) {
    for (int i = 0; i < 10000 && *flag >= 0; ++i) {
    }
}

__device__ void through(volatile Stage* stage, int* out) {
    out[0] = stage->step;
    stage->passed = 1;
}

// Warp 2 helps after a pause, warp 3 after another.
template <int N>
__device__ void help(volatile Stage* stage, int* out) {
    unsigned warp = threadIdx.x / 32;
    if (warp == 2) {
        wait_for(&stage->at, 100000);
        pause_here(&stage->at);
        out[1] = stage->passed;
        out[4] = stage->arrived;
        if (stage->passed) return;
        stage->step = 1;
        ARRIVE(N);
        pause_here(&stage->at);
        out[2] = stage->passed;
        if (stage->passed) return;
        stage->step = 2;
    }
    if (warp == 3) {
        for (int i = 0; i < 200000 && stage->step < 2 && !stage->passed; ++i) {
        }
        if (stage->step < 2) return;
        ARRIVE(N);
        wait_for(&stage->passed);
        out[3] = stage->passed;
    }
}

#define CASE(name)                                                  \
    __device__ void name##_(volatile Stage*, int*);                 \
    extern "C" __global__ void name(int* out) {                     \
        __shared__ Stage held;                                      \
        volatile Stage* stage = &held;                              \
        if (threadIdx.x == 0) {                                     \
            stage->arrived = stage->at = stage->passed = stage->step = 0; \
        }                                                           \
        __syncthreads();                                            \
        name##_(stage, out);                                        \
    }                                                               \
    __device__ __forceinline__ void name##_(volatile Stage* stage, int* out)

// Warp 0 is what the case says; warp 1, where the case has it wait, begins when warp 0 has arrived.
#define FIRST if (threadIdx.x < 32)
#define SECOND if (threadIdx.x / 32 == 1)
#define WAIT_AT_SECOND(n)           \
    SECOND {                        \
        wait_for(&stage->arrived);  \
        pause_here(&stage->at);     \
        stage->at = 1;              \
        SYNC(n);                    \
        through(stage, out);        \
    }

CASE(twice_of_two) {
    FIRST {
        ARRIVE(64);
        ARRIVE(64);
        stage->arrived = 1;
    }
    WAIT_AT_SECOND(64)
    help<64>(stage, out);
}

CASE(twice_of_three) {
    FIRST {
        ARRIVE(96);
        ARRIVE(96);
        stage->arrived = 1;
    }
    WAIT_AT_SECOND(96)
    help<96>(stage, out);
}

CASE(arrive_and_sync_of_two) {
    FIRST {
        ARRIVE(64);
        stage->arrived = 1;
        stage->at = 1;
        SYNC(64);
        through(stage, out);
    }
    help<64>(stage, out);
}

CASE(arrive_and_sync_of_three) {
    FIRST {
        ARRIVE(96);
        stage->arrived = 1;
        stage->at = 1;
        SYNC(96);
        through(stage, out);
    }
    help<96>(stage, out);
}

CASE(arrive_and_reduce) {
    FIRST {
        ARRIVE(64);
        stage->arrived = 1;
        stage->at = 1;
        int count;
        asm volatile(
            "{ .reg .pred p; setp.lt.u32 p, %1, 5; bar.red.popc.u32 %0, 1, 64, p; }"
            : "=r"(count)
            : "r"(threadIdx.x)
            : "memory");
        through(stage, out);
        out[5] = count;
    }
    help<64>(stage, out);
}

CASE(halves_arrive) {
    FIRST {
        OF_LANES("arrive", threadIdx.x < 16, 64);
        OF_LANES("arrive", threadIdx.x >= 16, 64);
        stage->arrived = 1;
    }
    WAIT_AT_SECOND(64)
    help<64>(stage, out);
}

CASE(half_arrives_twice) {
    FIRST {
        OF_LANES("arrive", threadIdx.x < 16, 64);
        OF_LANES("arrive", threadIdx.x < 16, 64);
        stage->arrived = 1;
    }
    WAIT_AT_SECOND(64)
    help<64>(stage, out);
}

CASE(half_arrives_half_waits) {
    FIRST {
        OF_LANES("arrive", threadIdx.x < 16, 64);
        stage->arrived = 1;
        stage->at = 1;
        if (threadIdx.x >= 16) {
            OF_LANES("sync", true, 64);
            through(stage, out);
        }
    }
    help<64>(stage, out);
}

CASE(all_arrive_half_waits) {
    FIRST {
        ARRIVE(64);
        stage->arrived = 1;
        stage->at = 1;
        if (threadIdx.x < 16) {
            OF_LANES("sync", true, 64);
            through(stage, out);
        }
    }
    help<64>(stage, out);
}
