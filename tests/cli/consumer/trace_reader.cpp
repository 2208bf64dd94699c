// SPDX-License-Identifier: Apache-2.0
// Counts the records of a trace with the installed library.
#include <cstdio>
#include <sassemu/trace.hpp>

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    try {
        const sassemu::trace::Reader trace(argv[1]);
        unsigned long long records = 0;
        for (size_t i = 0; i < trace.blocks().size(); ++i) records += trace.read(i).records.size();
        std::printf("%llu\n", records);
    } catch (const sassemu::trace::Error& error) {
        std::puts(error.what());
        return 1;
    }
}
