// SPDX-License-Identifier: Apache-2.0
// Calls of every function of the runtime, made of its table by generate.py --calls.
#pragma once

struct Call {
    const char* name;
    void (*with_nothing)(char* bytes, long number);
    void (*with_foreign)(char* bytes, long number);
};
extern const Call every_call[];
extern const unsigned call_count;
