// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the reader of traces, and all that is done with one. The first byte says how
// the rest is meant: 0, the file as it is; else pieces, each behind its length, that become blocks
// of a whole file, with an index that is right (odd) or that lies about one of them: so that what
// stands in messages is reached. Run: trace_fuzz -max_total_time=600 corpus/
// tests/fuzz/corpus/trace
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sassemu/trace.hpp>
#include <string>

#include "frames.hpp"

using namespace sassemu::trace;

namespace {

std::string file_of(const std::uint8_t* data, std::size_t size) {
    const auto how = data[0];
    if (!how) return {reinterpret_cast<const char*>(data + 1), size - 1};
    const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
    std::string file = first_frame();
    Index index;
    for (std::size_t at = 1; at + 2 <= size;) {
        const std::size_t length =
            std::min<std::size_t>(data[at] | data[at + 1] << 8, size - at - 2);
        Trace one;
        // What is no message becomes an empty one.
        (void)one.mutable_block()->Add()->ParseFromArray(data + at + 2, static_cast<int>(length));
        at += 2 + length;
        const std::string block = compressed(one.SerializeAsString(), 1, context.get());
        const Records& r = one.block(0).records();
        std::uint64_t records = static_cast<std::uint64_t>(r.more_size());
        for (const std::uint32_t more : r.more()) records += more;
        index.add_size(block.size());
        index.add_launch(r.launch());
        index.add_cta(r.cta());
        index.add_records(records);
        file += block;
    }
    if (!(how & 1) && index.size_size()) {
        const int which = how / 8 % index.size_size();
        if (how & 2) index.set_launch(which, index.launch(which) + 1);
        if (how & 4) index.set_records(which, index.records(which) ? 0 : 1);
        if (!(how & 6)) index.set_cta(which, index.cta(which) ^ 1);
    }
    return file + last_frame(index, file.size());
}

// Names are text of the trace; whoever prints them escapes them.
void look_at(const Reader& trace) {
    const Owners owners(trace);
    for (size_t b = 0; b < trace.blocks().size(); ++b)
        for (const Record& r : trace.read(b).records) {
            for (const bool written : {false, true})
                (void)register_names(*r.instruction, written, r.lanes);
            for (const Launch& l : trace.launches())
                for (const MemoryAccess& m : r.accesses) (void)home_of(owners, m, r.time, l);
        }
    for (const Client& c : trace.clients())
        (void)(text_of(c) + name_text(owners.find(c.address(), c.time()), c.address()));
    for (const ModelEvent& e : trace.model_events()) (void)text_of(e);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    static const auto silent =
        google::protobuf::SetLogHandler(nullptr);  // of text that is no UTF-8
    (void)silent;
    static const std::string folder = [] {
        char name[] = "/dev/shm/sassemu-trace-XXXXXX";
        static const std::string made = ::mkdtemp(name);
        std::atexit([] { std::filesystem::remove_all(made); });
        return made;
    }();
    for (const char* made : {"/a", "/b"}) std::filesystem::remove_all(folder + made);
    const std::string file = file_of(data, size);
    const int memory = ::memfd_create("trace", MFD_CLOEXEC);
    if (::write(memory, file.data(), file.size()) != static_cast<ssize_t>(file.size()))
        __builtin_trap();
    const std::string path = "/proc/self/fd/" + std::to_string(memory);
    const auto attempt = [&](const auto& act) {
        try {
            act();
        } catch (const Error& error) {
            if (!*error.what()) __builtin_trap();
        }
    };
    attempt([&] {
        const Reader trace(path);
        attempt([&] { look_at(trace); });
        attempt([&] {
            if (!first_difference(trace, trace, {}).empty()) __builtin_trap();
        });
        attempt([&] { write_accel_sim(trace, folder + "/a", 5); });
        attempt([&] { write_accel_sim(trace, folder + "/b", 6); });
        attempt([&] { write_perfetto(trace, folder + "/c"); });
    });
    ::close(memory);
    return 0;
}
