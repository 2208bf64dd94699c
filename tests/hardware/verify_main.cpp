// SPDX-License-Identifier: Apache-2.0
// Runs the words of one image on a GPU of compute capability 9.0 and in the emulator, on the same
// operands, and compares every output bit of every warp; a line per word (TSV). What belongs here:
// the comparison. What does not: which words, and the images (verify.py). `--self LEVEL` takes
// another level of the emulator for the chip: it tests this program where there is no GPU.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "tests/hardware/record_file.hpp"

namespace sassemu::test {
namespace {

// The layout of slots.py.
constexpr uint32_t slots = 128, batch = 512;
constexpr uint32_t quads = slot_registers / 4, at_predicates = quads * 512;
constexpr uint32_t at_uniform = at_predicates + 512, in_stride = 32768, out_slot = 0x6c00;
constexpr uint64_t out_stride = uint64_t{slots} * out_slot;

// The input image of one warp, as `memory_image` in slots.py makes it.
void write_image(const State& rows, std::byte* to) {
    auto* words = reinterpret_cast<uint32_t*>(to);
    for (uint32_t r = 0; r < slot_registers; ++r)
        for (uint32_t lane = 0; lane < 32; ++lane)
            words[r / 4 * 128 + lane * 4 + r % 4] = rows[r][lane];
    for (uint32_t lane = 0; lane < 32; ++lane)
        words[at_predicates / 4 + lane * 4] = rows[predicate_row][lane];
    uint32_t* uniform = words + at_uniform / 4;
    for (uint32_t i = 0; i < 64; ++i) uniform[i] = rows[uniform_row + i / 32][i % 32];
    uniform[60] = 0;
    for (uint32_t i = 0; i < 7; ++i) uniform[64 + i] = rows[uniform_row + 1][28] >> i & 1;
}

// Rows of what one slot stored.
void read_image(const uint32_t* words, State& rows) {
    for (uint32_t r = 0; r < slot_registers; ++r)
        for (uint32_t lane = 0; lane < 32; ++lane)
            rows[r][lane] = words[r / 4 * 128 + lane * 4 + r % 4];
    for (uint32_t lane = 0; lane < 32; ++lane)
        rows[predicate_row][lane] = words[at_predicates / 4 + lane * 4];
    for (uint32_t i = 0; i < 64; ++i)
        rows[uniform_row + i / 32][i % 32] = i == 59 || i > 60 ? 0 : words[at_uniform / 4 + i];
}

// The driver, found at run time; every failure ends the program with code 3.
class Chip {
  public:
    Chip(const std::string& image, const std::string& hash_image) {
        library_ = dlopen("libcuda.so.1", RTLD_NOW);
        if (!library_) fail("libcuda.so.1 is not here", 0);
        int device = 0;
        void *context = nullptr, *module = nullptr, *hash_module = nullptr;
        call("cuInit", 0u);
        call("cuDeviceGet", &device, 0);
        call("cuDevicePrimaryCtxRetain", &context, device);
        call("cuCtxSetCurrent", context);
        call("cuModuleLoadData", &module, image.data());
        call("cuModuleGetFunction", &slots_, module, "slots");
        call("cuModuleLoadData", &hash_module, hash_image.data());
        call("cuModuleGetFunction", &hash_, hash_module, "hash_slots");
        call("cuMemAlloc_v2", &in_, size_t{batch} * in_stride);
        call("cuMemAlloc_v2", &out_, static_cast<size_t>(batch * out_stride));
        call("cuMemAlloc_v2", &hashes_, size_t{batch} * slots * 8);
    }
    // Starts the slots on a batch of operands.
    void start(const std::vector<std::byte>& in) {
        call("cuMemcpyHtoD_v2", in_, in.data(), in.size());
        struct {
            uint64_t in, out;
            uint32_t constants[constant_words];
        } parameters{in_, out_, {}};
        for (uint32_t i = 0; i < constant_words; ++i) parameters.constants[i] = constant(i);
        void* pointers[] = {&parameters};
        void** none = nullptr;
        void* stream = nullptr;
        call("cuLaunchKernel", slots_, batch, 1u, 1u, 32u, 1u, 1u, 0u, stream, &pointers[0], none);
        void* hash_pointers[] = {&in_, &out_, &hashes_};
        call("cuLaunchKernel", hash_, batch, slots, 1u, 32u, 1u, 1u, 0u, stream, &hash_pointers[0],
             none);
    }
    // [warp][slot], after start().
    std::vector<uint64_t> hashes() {
        call("cuCtxSynchronize");
        std::vector<uint64_t> out(size_t{batch} * slots);
        call("cuMemcpyDtoH_v2", out.data(), hashes_, out.size() * 8);
        return out;
    }
    void rows(uint32_t warp, uint32_t slot, State& to) {
        std::vector<uint32_t> words(out_slot / 4);
        call("cuMemcpyDtoH_v2", words.data(), out_ + warp * out_stride + uint64_t{slot} * out_slot,
             size_t{out_slot});
        read_image(words.data(), to);
    }

  private:
    template <class... A>
    void call(const char* name, A... arguments) {
        auto f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
        const int code = f ? f(arguments...) : -1;
        if (code) fail(name, code);
    }
    [[noreturn]] static void fail(const char* what, int code) {
        std::cerr << what << ": CUDA error " << code << "\n";
        std::_Exit(3);
    }
    void* library_ = nullptr;
    void *slots_ = nullptr, *hash_ = nullptr;
    uint64_t in_ = 0, out_ = 0, hashes_ = 0;
};

// How the results of a word are spread, by the number format of its mnemonic.
enum Class { zero, subnormal, normal, infinite, nan, classes };
int class_of(uint64_t v, int exponent, int mantissa) {
    const uint64_t m = v & ((uint64_t{1} << mantissa) - 1);
    const uint64_t e = v >> mantissa & ((uint64_t{1} << exponent) - 1);
    if (e == (uint64_t{1} << exponent) - 1) return m ? nan : infinite;
    return e ? normal : m ? subnormal : zero;
}

struct Tested {
    Word word;
    std::string sass, why;  // why: it cannot run here
    std::atomic<uint64_t> warps{0}, mismatches{0};
    std::atomic<uint64_t> spread[classes] = {};
    std::mutex mutex;
    std::string first;
};

// One thread's machine with all words prepared.
struct Runner {
    Runner(const LevelTable* level, std::vector<std::unique_ptr<Tested>>& words)
        : machine(level), ops(words.size()), runs(words.size()) {
        set_constants(machine);
        for (size_t i = 0; i < words.size(); ++i) {
            runs[i] = machine.prepare("sm_90", words[i]->word, ops[i].op) == Outcome::ok &&
                      machine.rejection.empty();
            // What decodes and has no behaviour says so when it runs.
            if (runs[i]) runs[i] = machine.run(ops[i].op) != Outcome::unsupported;
            const std::lock_guard guard(words[i]->mutex);
            words[i]->sass = machine.sass;
            if (!runs[i]) words[i]->why = machine.rejection.empty() ? "?" : machine.rejection;
        }
    }
    void load(const State& rows) {
        for (uint32_t r = 0; r < slot_rows; ++r) set_row(machine, r, rows[r]);
    }
    // Runs word i, hashes what it changed and puts that back; `now` is the state after it.
    uint64_t run(size_t i, const State& before, State* now) {
        machine.run(ops[i].op);
        uint64_t hash = 0;
        Row row;
        for (uint32_t r = 0; r < slot_rows; ++r) {
            if (r < slot_registers &&
                std::memcmp(&machine.r(r, 0), before[r].data(), sizeof row) == 0) {
                if (now) (*now)[r] = before[r];
                continue;
            }
            get_row(machine, r, row);
            if (now) (*now)[r] = row;
            if (row == before[r]) continue;
            hash += row_hash(row, static_cast<uint8_t>(r));
            set_row(machine, r, before[r]);
        }
        return hash;
    }
    struct Pair {
        Op op[2];
    };
    Machine machine;
    std::vector<Pair> ops;
    std::vector<bool> runs;
};

std::string difference(const Tested& t, uint64_t warp, const State& before, const State& chip,
                       const State& here) {
    for (uint32_t r = 0; r < slot_rows; ++r)
        for (uint32_t lane = 0; lane < 32; ++lane) {
            if (chip[r][lane] == here[r][lane]) continue;
            const uint64_t bits[2] = {t.word.lo, t.word.hi};
            sassdec_insn insn;
            sassdec_decode(SASSDEC_SM_90, bits, 0, &insn);
            std::ostringstream out;
            out << row_name(r, lane) << " of warp " << warp << std::hex << ": chip "
                << chip[r][lane] << ", emulator " << here[r][lane] << ", before " << before[r][lane]
                << ";" << operands_text(insn, before, r > predicate_row ? 0 : lane);
            return out.str();
        }
    return "warp " + std::to_string(warp) + ": the hashes differ, the rows do not";
}

// Counts the classes of the rows that changed.
void spread(Tested& t, const State& before, const State& now) {
    const std::string name = mnemonic_of(t.sass);
    const bool f64 = name[0] == 'D' || name.find("F64") != std::string::npos;
    const bool f16 = name[0] == 'H' || name.find("F16") != std::string::npos;
    for (uint32_t r = 0; r < slot_registers; ++r) {
        if (now[r] == before[r] || (f64 && r % 2)) continue;
        for (uint32_t lane = 0; lane < 32; ++lane) {
            const uint64_t v = now[r][lane];
            if (f64) {
                ++t.spread[class_of(uint64_t{now[r + 1][lane]} << 32 | v, 11, 52)];
            } else if (f16) {
                ++t.spread[class_of(v & 0xffff, 5, 10)];
                ++t.spread[class_of(v >> 16, 5, 10)];
            } else {
                ++t.spread[class_of(v, 8, 23)];
            }
        }
    }
}

int main_of(int argc, char** argv) {
    std::map<std::string, std::string> option;
    for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
    if (option.count("--list")) {  // the words of a record that ran
        Record record;
        if (!parse(unpacked(read_file(option["--list"])), record)) {
            std::cerr << option["--list"] << ": no record\n";
            return 2;
        }
        for (const Recorded& w : record.words)
            if (w.status == ran)
                std::printf("%016llx%016llx\n", static_cast<unsigned long long>(w.word.hi),
                            static_cast<unsigned long long>(w.word.lo));
        return 0;
    }
    if (argc % 2 == 0 || !option.count("--words")) {
        std::cerr << "usage: hardware-verify --list RECORD | --words FILE {--image CUBIN --hash "
                     "CUBIN | --self LEVEL}\n"
                     "                       [--warps N] [--first WARP] [--threads N]\n";
        return 2;
    }
    const auto number = [&](const char* name, uint64_t otherwise) {
        return option.count(name) ? std::stoull(option[name]) : otherwise;
    };
    std::vector<std::unique_ptr<Tested>> words;
    std::istringstream lines(read_file(option["--words"]));
    for (std::string hex; lines >> hex;) {
        words.push_back(std::make_unique<Tested>());
        words.back()->word = Word(hex.c_str());
    }
    if (words.empty() || words.size() > slots) {
        std::cerr << "an image holds 1 to " << slots << " words\n";
        return 2;
    }
    const uint64_t warps = number("--warps", 31744), first = number("--first", 0);
    const auto threads = static_cast<unsigned>(
        number("--threads", std::max(1u, std::thread::hardware_concurrency())));
    const std::vector<const LevelTable*> all = levels();
    const LevelTable* level = all.back();
    std::unique_ptr<Chip> chip;
    const LevelTable* other = nullptr;
    if (option.count("--self")) {
        for (const LevelTable* l : all)
            if (l->name == option["--self"]) other = l;
        if (!other) {
            std::cerr << "--self: no such level here\n";
            return 2;
        }
    } else {
        chip = std::make_unique<Chip>(read_file(option["--image"]), read_file(option["--hash"]));
    }
    std::vector<std::unique_ptr<Runner>> runners, others;
    for (unsigned t = 0; t < threads; ++t) {
        runners.push_back(std::make_unique<Runner>(level, words));
        if (other) others.push_back(std::make_unique<Runner>(other, words));
    }
    const auto parallel = [&](const auto& body) {  // body(thread, warp of the batch)
        std::atomic<uint32_t> next{0};
        std::vector<std::thread> pool;
        for (unsigned t = 0; t < threads; ++t)
            pool.emplace_back([&, t] {
                for (uint32_t w; (w = next++) < batch;) body(t, w);
            });
        for (std::thread& t : pool) t.join();
    };
    std::vector<State> before(batch);
    std::vector<std::byte> in(size_t{batch} * in_stride);
    for (uint64_t at = first; at < first + warps; at += batch) {
        parallel([&](unsigned, uint32_t w) {
            before[w] = operands(static_cast<uint32_t>(at + w));
            write_image(before[w], in.data() + size_t{w} * in_stride);
        });
        if (chip) chip->start(in);
        std::vector<uint64_t> here(size_t{batch} * slots), there(here.size());
        parallel([&](unsigned t, uint32_t w) {
            Runner& runner = *runners[t];
            runner.load(before[w]);
            if (other) others[t]->load(before[w]);
            State now;
            for (size_t i = 0; i < words.size(); ++i) {
                if (!runner.runs[i]) continue;
                const bool sampled = w % 16 < 8 && w / 8 % 4 == 0;
                here[w * slots + i] = runner.run(i, before[w], sampled ? &now : nullptr);
                if (sampled) spread(*words[i], before[w], now);
                if (other) there[w * slots + i] = others[t]->run(i, before[w], nullptr);
                ++words[i]->warps;
            }
        });
        if (chip) there = chip->hashes();
        for (uint32_t w = 0; w < batch; ++w)
            for (size_t i = 0; i < words.size(); ++i) {
                Tested& t = *words[i];
                if (!runners[0]->runs[i] || here[w * slots + i] == there[w * slots + i]) continue;
                if (t.mismatches++ == 0) {
                    State from_chip, from_here;
                    Runner& runner = *runners[0];
                    runner.load(before[w]);
                    runner.run(i, before[w], &from_here);
                    if (chip) {
                        chip->rows(w, static_cast<uint32_t>(i), from_chip);
                    } else {
                        others[0]->load(before[w]);
                        others[0]->run(i, before[w], &from_chip);
                    }
                    t.first = difference(t, at + w, before[w], from_chip, from_here);
                }
            }
    }
    for (const auto& t : words) {
        char hex[40];
        std::snprintf(hex, sizeof hex, "%016llx%016llx",
                      static_cast<unsigned long long>(t->word.hi),
                      static_cast<unsigned long long>(t->word.lo));
        std::cout << hex << "\t" << t->sass << "\t" << t->warps * 32 << "\t" << t->mismatches;
        for (const auto& n : t->spread) std::cout << "\t" << n;
        std::cout << "\t" << (t->why.empty() ? t->first : "cannot run: " + t->why) << "\n";
    }
    return 0;
}

}  // namespace
}  // namespace sassemu::test

int main(int argc, char** argv) { return sassemu::test::main_of(argc, argv); }
