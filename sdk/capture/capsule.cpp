// SPDX-License-Identifier: Apache-2.0
// See capsule.hpp.
#include "capsule.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace sassemu::capture {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

// A folder that is filled under a name of its own, and gets its final one at the end.
class Folder {
  public:
    Folder(const std::string& directory, const std::string& name) {
        std::error_code error;
        fs::create_directories(directory, error);
        if (error) throw Failure(directory + ": " + error.message());
        final_ = fs::path(directory) / name;
        work_ = fs::path(directory) / ("." + name + "." + std::to_string(getpid()) + ".part");
        fs::remove_all(work_, error);
        if (!fs::create_directory(work_, error))
            throw Failure(work_.string() + ": " + error.message());
    }
    Folder(const Folder&) = delete;
    ~Folder() {
        std::error_code error;
        if (!work_.empty()) fs::remove_all(work_, error);
    }

    // Runs of zeros become holes. So many of them follow the bytes.
    void write(const std::string& name, std::span<const std::byte> bytes, uint64_t zeros = 0) {
        const std::string path = work_ / name;
        const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0) throw Failure(path + ": " + std::strerror(errno));
        bool good = ftruncate(file, static_cast<off_t>(bytes.size() + zeros)) == 0;
        constexpr size_t block = 65536;
        for (size_t at = 0; good && at < bytes.size(); at += block) {
            auto now = bytes.subspan(at, std::min(block, bytes.size() - at));
            if (std::ranges::all_of(now, [](std::byte b) { return b == std::byte{0}; })) continue;
            for (off_t to = static_cast<off_t>(at); good && !now.empty();) {
                const ssize_t done = pwrite(file, now.data(), now.size(), to);
                if (done < 0 && errno == EINTR) continue;
                good = done > 0;
                if (!good) break;
                now = now.subspan(static_cast<size_t>(done));
                to += done;
            }
        }
        const int why = errno;
        if (close(file) != 0 && good) throw Failure(path + ": " + std::strerror(errno));
        if (!good) throw Failure(path + ": " + std::strerror(why));
    }

    // Programs of one directory may have capsules of one name: then a number follows it.
    std::string finish() {
        for (int i = 1;; ++i) {
            fs::path to = final_;
            if (i > 1) to += "-" + std::to_string(i);
            std::error_code error;
            fs::rename(work_, to, error);
            if (error == std::errc::directory_not_empty || error == std::errc::file_exists ||
                error == std::errc::not_a_directory)
                continue;
            if (error) throw Failure(to.string() + ": " + error.message());
            work_.clear();
            return to;
        }
    }

  private:
    fs::path work_, final_;
};

Json texture_json(const TextureObject& t, const std::string& buffer, uint64_t offset) {
    Json j{{"buffer", buffer}};
    if (offset) j["offset"] = offset;
    j["format"] = t.format;
    j["channels"] = t.channels;
    j["width"] = t.width;
    if (t.height) j["height"] = t.height;
    if (t.depth) j["depth"] = t.depth;
    if (t.layers) j["layers"] = t.layers;
    if (t.cube) j["cubemap"] = true;
    if (t.pitch) j["pitch"] = t.pitch;
    if (t.surface) return j;
    if (t.linear) {
        j["linear"] = true;
    } else {
        j["addressMode"] = t.address_mode;
        j["filter"] = t.filter;
        j["normalizedCoords"] = t.normalized;
        if (std::ranges::any_of(t.border, [](float x) { return x != 0; }))
            j["borderColor"] = t.border;
        if (t.srgb) j["sRGB"] = true;
        if (t.seamless) j["seamlessCubemap"] = true;
        if (t.anisotropy > 1) j["maxAnisotropy"] = t.anisotropy;
    }
    if (t.memory.levels) {
        j["mipmapLevels"] = t.memory.levels;
        j["mipmapFilter"] = t.level_filter;
        j["mipmapLevelBias"] = t.level_bias;
        j["minMipmapLevelClamp"] = t.level_low;
        j["maxMipmapLevelClamp"] = t.level_high;
    }
    if (t.read_normalized) j["readMode"] = "normalized";
    return j;
}

// The plan's GPU 0 is the one that launches; others follow as they are met.
class Devices {
  public:
    explicit Devices(uint32_t launches) : numbers_{launches} {}
    size_t of(uint32_t device) {
        const auto at = std::ranges::find(numbers_, device) - numbers_.begin();
        if (static_cast<size_t>(at) == numbers_.size()) numbers_.push_back(device);
        return static_cast<size_t>(at);
    }
    size_t count() const { return numbers_.size(); }

  private:
    std::vector<uint32_t> numbers_;
};

Json place_of(const Memory& memory, uint64_t address) {
    size_t at = 0;
    for (const Piece& piece : memory.pieces()) {
        if (const uint64_t offset = address - piece.range.address;
            !piece.range.array && offset < piece.range.bytes) {
            if (!piece.variable.empty())
                throw Failure("a copy of its graph goes to or comes from the variable " +
                              piece.variable);
            Json place{{"buffer", "m" + std::to_string(at)}};
            if (offset) place["offset"] = offset;
            return place;
        }
        ++at;
    }
    throw Failure("a copy of its graph leaves the memory of the launch");
}

// One element of the plan's launches for each row, or for all where they follow one another.
// `source`: the buffer that has the bytes of the move.
void add_move(Json& launches, const Memory& memory, const Move& move, const std::string& source) {
    const auto packed = [&](uint64_t row, uint64_t slice) {
        return (row == move.width || move.height == 1) &&
               (slice == move.width * move.height || move.depth == 1);
    };
    const bool whole = packed(move.to_row, move.to_slice) && packed(move.from_row, move.from_slice);
    const uint64_t depth = whole ? 1 : move.depth, height = whole ? 1 : move.height,
                   bytes = whole ? move.width * move.height * move.depth : move.width;
    for (uint64_t z = 0; z < depth; ++z)
        for (uint64_t y = 0; y < height; ++y) {
            const uint64_t from = move.from + z * move.from_slice + y * move.from_row;
            Json copy;
            copy["to"] = place_of(memory, move.to + z * move.to_slice + y * move.to_row);
            if (source.empty())
                copy["from"] = place_of(memory, from);
            else
                copy["from"] = {{"buffer", source}, {"offset", from}};
            copy["bytes"] = bytes;
            launches.push_back({{"copy", copy}});
        }
}

Json launch_json(const Launch& launch) {
    Json run{{"kernel", launch.kernel}, {"grid", launch.grid}, {"block", launch.block}};
    if (launch.cluster[0]) run["cluster"] = launch.cluster;
    if (launch.dynamic_shared) run["dynamicShared"] = launch.dynamic_shared;
    if (launch.cooperative) run["cooperative"] = true;
    std::string digits;
    for (const std::byte b : launch.parameters) {
        char two[4];
        std::snprintf(two, sizeof two, "%02x", std::to_integer<unsigned>(b));
        digits += two;
    }
    run["paramBytes"] = digits;
    if (launch.programmatic) run["attributes"]["programmaticStreamSerialization"] = true;
    return run;
}

}  // namespace

std::string write_capsule(const Capsule& capsule, const std::string& directory) {
    const Work& work = capsule.work;
    const auto kernel =
        std::ranges::find_if(work.launches, [](const Launch& l) { return !l.move; });
    std::string name = kernel->kernel.substr(0, 64);
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
    char number[16];
    std::snprintf(number, sizeof number, "%06llu-", static_cast<unsigned long long>(capsule.index));
    Folder folder(directory, number + name);

    Json plan;
    plan["capsule"] = {{"version", capsule_version},
                       {"program", capsule.program},
                       {"launch", capsule.index},
                       {"gpu", capsule.device.name},
                       {"driver", std::to_string(capsule.device.driver / 1000) + "." +
                                      std::to_string(capsule.device.driver % 1000 / 10)},
                       {"runs", capsule.runs}};
    if (std::ranges::any_of(work.launches,
                            [](const Launch& l) { return l.image && l.image->symbols.heap; }))
        plan["capsule"]["heap"] = true;
    if (work.host_functions) plan["capsule"]["hostFunctions"] = true;
    for (const auto& [key, value] : capsule.device.profile) plan["device"][key] = value;
    std::vector<const Image*> images;
    for (const Launch& launch : work.launches)
        if (launch.image && std::ranges::find(images, launch.image) == images.end()) {
            const std::string file = "module" + std::to_string(images.size()) + ".cubin";
            folder.write(file, launch.image->cubin);
            plan["modules"].push_back(file);
            images.push_back(launch.image);
        }
    for (const auto& [key, value] : capsule.device.limits) plan["limits"][key] = value;

    plan["buffers"] = Json::object();
    Json varies = Json::array();
    size_t files = 0;
    Devices devices(capsule.device.number);
    for (const Piece& piece : capsule.memory.pieces()) {
        const std::string file = (piece.variable.empty() ? "m" : "g") + std::to_string(files++);
        Json entry;
        if (piece.variable.empty()) entry["bytes"] = piece.range.bytes + piece.rounded;
        if (!piece.range.array) entry["address"] = hex(piece.range.address);
        if (piece.range.kind != MemoryKind::device)
            entry["kind"] = piece.range.kind == MemoryKind::host ? "host" : "managed";
        else if (const size_t gpu = devices.of(piece.range.device); gpu && !piece.range.array) {
            entry["kind"] = "peer";
            entry["gpu"] = gpu;
        }
        if (piece.scratch) {
            plan["buffers"][file] = entry;
            continue;
        }
        const auto zero = [](std::byte b) { return b == std::byte{0}; };
        if (!piece.variable.empty() || !std::ranges::all_of(piece.before, zero)) {
            folder.write(file + ".bin", piece.before, piece.rounded);
            entry["file"] = file + ".bin";
        }
        // Modules of a graph may have variables of one name.
        std::string called = piece.variable.empty() ? file : piece.variable;
        if (piece.image && images.size() > 1) {
            const auto module = std::ranges::find(images, piece.image) - images.begin();
            entry["module"] = module;
            if (plan.contains("globals") && plan["globals"].contains(called)) {
                entry["symbol"] = piece.variable;
                called += "@" + std::to_string(module);
            }
        }
        if (piece.varies) {
            varies.push_back(called);
        } else if (piece.after != piece.before || !entry.contains("file")) {
            folder.write(file + ".after.bin", piece.after, piece.rounded);
            entry["expect"]["file"] = file + ".after.bin";
        } else {
            entry["expect"]["file"] = file + ".bin";
        }
        plan[piece.variable.empty() ? "buffers" : "globals"][called] = entry;
    }
    if (!varies.empty()) plan["capsule"]["varies"] = varies;
    for (const auto& [handle, texture] : capsule.memory.textures()) {
        size_t at = 0;
        for (const Piece& piece : capsule.memory.pieces()) {
            const uint64_t offset =
                texture.memory.array ? 0 : texture.address - piece.range.address;
            if (texture.memory.array
                    ? piece.range.array == texture.memory.array
                    : offset < piece.range.bytes && piece.variable.empty() && !piece.range.array)
                plan["handles"].push_back(
                    {{"handle", hex(handle)},
                     {texture.surface ? "surface" : "texture",
                      texture_json(texture, "m" + std::to_string(at), offset)}});
            ++at;
        }
    }

    if (devices.count() > 1) {
        plan["gpus"] = devices.count();
        plan["peers"] = true;
    }
    for (const auto& [image, functions] : capsule.memory.functions())
        for (const auto& [function, address] : functions) {
            const auto module = std::ranges::find(images, image);
            plan["functions"].push_back({{"function", function},
                                         {"module", module - images.begin()},
                                         {"address", hex(address)}});
        }
    size_t moves = 0;
    for (const Launch& launch : work.launches) {
        if (launch.move) {
            std::string source;
            if (const auto& bytes = launch.move->bytes; !bytes.empty()) {
                source = "moved" + std::to_string(moves++);
                folder.write(source + ".bin", bytes);
                plan["buffers"][source] = {{"bytes", bytes.size()}, {"file", source + ".bin"}};
            }
            add_move(plan["launches"], capsule.memory, *launch.move, source);
            continue;
        }
        Json run = launch_json(launch);
        if (images.size() > 1)
            run["module"] = std::ranges::find(images, launch.image) - images.begin();
        plan["launches"].push_back(std::move(run));
    }
    plan["expect"]["status"] = "ok";
    const std::string text = plan.dump(1) + "\n";
    folder.write("plan.json", std::as_bytes(std::span(text)));
    return folder.finish();
}

}  // namespace sassemu::capture
