// SPDX-License-Identifier: Apache-2.0
// How fast the link is: link_speed [SECONDS]. Two processes, a Unix socket. The round trip of a
// store of 8 bytes with its drain (MEMBAR.SYS), and puts in a row beside what a bare Asio stream
// copies between the same two processes to the same place, in turns: by the clock, and by processor
// time, which says the same on a busy machine. No test: what a machine does is nobody's fault.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "emu/link/link.hpp"

namespace {

using namespace sassemu::link;
using Clock = std::chrono::steady_clock;
constexpr size_t window = 16 << 20, chunk = 1 << 20;
constexpr size_t stream_bytes = size_t{256} << 20;
constexpr int rounds = 9;

double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
}

// Processor seconds of this process and of `other` so far: a busy machine does not change them.
double processor_seconds(pid_t other) {
    double sum = 0;
    for (const pid_t process : {pid_t{0}, other}) {
        clockid_t clock;
        timespec time{};
        if (::clock_getcpuclockid(process, &clock) || ::clock_gettime(clock, &time)) return 0;
        sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }
    return sum;
}

[[noreturn]] void fail(const sassemu::Error& error) {
    std::fprintf(stderr, "link_speed: %s\n", error.message().c_str());
    std::exit(1);
}

// The other process: a window, and an end of a bare stream that takes what comes.
void serve(const std::string& folder, LinkOptions options) {
    std::vector<std::byte> memory(window);
    auto link = Link::create(std::move(options));
    if (!link) fail(link.error());
    (void)*(*link)->add_window({0, window, memory.data(), "w", true, -1, false});
    boost::asio::io_context io;
    boost::asio::local::stream_protocol::acceptor listens(
        io, boost::asio::local::stream_protocol::endpoint(folder + "/bare"));
    if (const auto met = (*link)->meet(); !met) fail(met.error());
    auto stream = listens.accept();
    boost::system::error_code error;
    for (size_t total = 0; !error;) {  // to where puts go as well
        const size_t at = total % window, part = std::min(chunk, window - at);
        total += stream.read_some(boost::asio::buffer(memory.data() + at, part), error);
        if (total == stream_bytes) {  // all of it is here
            boost::asio::write(stream, boost::asio::buffer(memory.data(), 1), error);
            total = 0;
        }
    }
    (void)(*link)->meet();
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
    char name[] = "/tmp/sassemu-speed-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    LinkOptions options;
    options.addresses = {"unix:" + folder + "/0", "unix:" + folder + "/1"};
    options.rank = 1;
    const pid_t other = ::fork();
    if (!other) {
        serve(folder, options);
        return 0;
    }
    options.rank = 0;
    auto made = Link::create(options);
    if (!made) fail(made.error());
    Link& link = **made;
    if (const auto met = link.meet(); !met) fail(met.error());
    const uint32_t id = link.windows(1).front().id;

    std::vector<double> trips;
    const uint64_t value = 1;
    for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
        const auto then = Clock::now();
        if (const auto put = link.put(1, id, 8, std::as_bytes(std::span(&value, 1))); !put)
            fail(put.error());
        if (const auto done = link.drain(1); !done) fail(done.error());
        trips.push_back(seconds_since(then) * 1e6);
    }
    std::ranges::sort(trips);
    std::printf(
        "store + MEMBAR.SYS: median %.1f us, least %.1f us, 90 %% below %.1f us, %zu times\n",
        trips[trips.size() / 2], trips.front(), trips[trips.size() * 9 / 10], trips.size());

    boost::asio::io_context io;
    boost::asio::local::stream_protocol::socket bare(io);
    bare.connect(boost::asio::local::stream_protocol::endpoint(folder + "/bare"));
    const std::vector<std::byte> data(chunk, std::byte{7});
    // By rounds: bytes a second and processor time, of the bare stream and of the link.
    std::vector<double> rates[2], costs[2];
    for (int round = 0; round < 2 * rounds; ++round) {
        const auto then = Clock::now();
        const double before = processor_seconds(other);
        if (round % 2) {
            for (size_t at = 0; at < stream_bytes; at += chunk)
                if (const auto put = link.put(1, id, at % window, data); !put) fail(put.error());
            if (const auto drained = link.drain(1); !drained) fail(drained.error());
        } else {
            for (size_t at = 0; at < stream_bytes; at += chunk)
                boost::asio::write(bare, boost::asio::buffer(data));
            std::byte done;
            boost::asio::read(bare, boost::asio::buffer(&done, 1));
        }
        rates[round % 2].push_back(stream_bytes / seconds_since(then) / 1e9);
        costs[round % 2].push_back(processor_seconds(other) - before);
    }
    const auto median = [](std::vector<double>& of) {
        std::ranges::sort(of);
        return of[of.size() / 2];
    };
    for (const auto& [name, values, unit] :
         {std::tuple("speed", rates, "GB/s"), std::tuple("processor time", costs, "s")}) {
        const double stream = median(values[0]), puts = median(values[1]);
        std::printf("puts in a row, %s: median %.3f %s, of a bare stream %.3f: %.0f %%\n", name,
                    puts, unit, stream,
                    100 * (unit == std::string("s") ? stream / puts : puts / stream));
    }
    std::printf("the best rounds: %.2f GB/s, of a bare stream %.2f: %.0f %%\n", rates[1].back(),
                rates[0].back(), 100 * rates[1].back() / rates[0].back());
    bare.close();
    (void)link.meet();
    made->reset();
    ::waitpid(other, nullptr, 0);
    std::filesystem::remove_all(folder);
    return 0;
}
