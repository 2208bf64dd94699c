// SPDX-License-Identifier: Apache-2.0
// Fatbin containers: reading entries and decompressing them.
// Belongs here: the container format. Does not belong here: choosing an image (load.cpp).
//
// Container: {u32 magic, u16 version, u16 header size, u64 size of what follows}. Entry: {u16
// kind, u16 version, u32 header size, u64 padded payload size, u32 compressed size, u32 options
// offset, u16 minor, u16 major, u32 SM, u32 name offset, u32 name length, u64 flags, u64, u64
// uncompressed size}. Read off nvcc output of every -compress-mode.
#include "emu/module/fatbin.hpp"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "emu/base/limits.hpp"
#include "emu/module/byte_reader.hpp"

namespace sassemu {
namespace {

constexpr std::uint32_t magic = 0xba55ed50;
constexpr std::uint16_t kind_elf = 2;
constexpr std::uint64_t min_entry_header = 64;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t flag_a = 0x100000, flag_f = 0x200000;
// The most that the formats can expand: an LZ4 length byte stands for 255 bytes, a Zstandard
// run-length block of 4 bytes for 128 KiB. A claim beyond that is false, and is refused before
// memory is taken for it.
constexpr std::uint64_t lz4_ratio = 255, zstd_ratio = 32768;
constexpr std::uint64_t max_image = std::uint64_t{1} << 31U;

Error bad(const std::string& where, std::string what) {
    return make_error(ErrorCode::input, where, std::move(what));
}

Result<FatbinEntry> read_entry(Bytes container, std::uint64_t at, const std::string& where,
                               std::uint64_t& next) {
    ByteReader reader(container, at);
    FatbinEntry entry;
    entry.info.kind = reader.take<std::uint16_t>();
    entry.info.is_elf = entry.info.kind == kind_elf;
    reader.skip(2);
    const auto header_size = reader.take<std::uint32_t>();
    const auto padded_size = reader.take<std::uint64_t>();
    const auto compressed_size = reader.take<std::uint32_t>();
    reader.skip(4 + 2 + 2);  // options offset, minor, major
    const auto sm = reader.take<std::uint32_t>();
    const auto name_offset = reader.take<std::uint32_t>();
    const auto name_size = reader.take<std::uint32_t>();
    const auto flags = reader.take<std::uint64_t>();
    reader.skip(8);
    const auto uncompressed_size = reader.take<std::uint64_t>();
    if (reader.failed()) return bad(where + " entry header", "truncated");
    if (header_size < min_entry_header) {
        return bad(where + " entry header size",
                   std::to_string(header_size) + " bytes, expected at least 64");
    }
    const auto header = slice(container, at, header_size);
    const auto payload = slice(container, at + header_size, padded_size);
    if (!header || !payload) {
        return bad(where + " entry payload size",
                   std::to_string(padded_size) + " bytes leave the container");
    }
    next = at + header_size + padded_size;
    entry.info.arch.sm = static_cast<std::uint16_t>(std::min<std::uint32_t>(sm, 0xffff));
    for (const auto& [flag, suffix] : {std::pair{flag_a, 'a'}, std::pair{flag_f, 'f'}})
        if ((flags & flag) != 0 && parse_arch(Arch{entry.info.arch.sm, suffix}.name()).ok())
            entry.info.arch.suffix = suffix;
    if (name_size != 0) {
        const auto text = slice(*header, name_offset, name_size);
        if (text) entry.info.name.assign(text->begin(), text->end());
        for (char& c : entry.info.name) {
            if (c < ' ' || c > '~') c = '?';
        }
    }
    using Compression = ImageInfo::Compression;
    if ((flags & flag_zstd) != 0) entry.info.compression = Compression::zstd;
    if ((flags & flag_lz4) != 0) entry.info.compression = Compression::lz4;
    entry.payload = *payload;
    if (entry.info.compression != Compression::none) {
        if (compressed_size > padded_size) {
            return bad(where + " entry compressed size", std::to_string(compressed_size) +
                                                             " bytes are more than the payload's " +
                                                             std::to_string(padded_size));
        }
        entry.payload = payload->first(compressed_size);
    }
    entry.info.stored_size = entry.payload.size();
    entry.info.size =
        entry.info.compression == Compression::none ? entry.payload.size() : uncompressed_size;
    return entry;
}

}  // namespace

bool is_fatbin(Bytes bytes) { return read_at<std::uint32_t>(bytes, 0) == magic; }

Result<std::vector<FatbinEntry>> read_fatbin(Bytes bytes, const std::string& where) {
    std::vector<FatbinEntry> entries;
    std::uint32_t container = 0;
    for (std::uint64_t at = 0; at < bytes.size();) {
        const std::string label = where + ": fatbin container " + std::to_string(container);
        if (bytes.size() - at < 16) {
            // Trailing padding of the section is shorter than a header.
            if (std::ranges::all_of(bytes.subspan(at), [](auto byte) { return byte == 0; })) break;
            return bad(label + " header", "truncated");
        }
        ByteReader reader(bytes, at);
        const auto word = reader.take<std::uint32_t>();
        if (word == 0) {
            at += 4;
            continue;
        }
        const auto version = reader.take<std::uint16_t>();
        const auto header_size = reader.take<std::uint16_t>();
        const auto size = reader.take<std::uint64_t>();
        if (word != magic) return bad(label + " magic", "not a fatbin container");
        if (version != 1 || header_size < 16) {
            return bad(label + " version", "version " + std::to_string(version) +
                                               " with a header of " + std::to_string(header_size) +
                                               " bytes, expected 1 and 16");
        }
        const auto body = slice(bytes, at + header_size, size);
        if (!body) {
            return bad(label + " size", std::to_string(size) + " bytes leave the file");
        }
        std::uint32_t index = 0;
        for (std::uint64_t entry_at = 0; entry_at < body->size();) {
            if (body->size() - entry_at < min_entry_header) break;  // padding
            std::uint64_t next = 0;
            SASSEMU_ASSIGN(
                FatbinEntry entry,
                read_entry(*body, entry_at, label + " image " + std::to_string(index), next));
            entry.info.container = container;
            entry.info.index = index++;
            entries.push_back(std::move(entry));
            entry_at = next;
        }
        at += header_size + size;
        ++container;
    }
    return entries;
}

Result<std::vector<std::uint8_t>> unpack(const FatbinEntry& entry, const std::string& where) {
    using Compression = ImageInfo::Compression;
    const std::uint64_t stored = entry.payload.size(), size = entry.info.size;
    if (entry.info.compression == Compression::none) {
        return std::vector<std::uint8_t>(entry.payload.begin(), entry.payload.end());
    }
    const bool is_lz4 = entry.info.compression == Compression::lz4;
    if (size == 0 || size > max_image || size > (stored + 64) * (is_lz4 ? lz4_ratio : zstd_ratio)) {
        return bad(where + " uncompressed size",
                   std::to_string(size) + " bytes cannot come out of " + std::to_string(stored));
    }
    SASSEMU_TRY(process_budget().room_for(size, where));
    std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
    if (is_lz4) {
        const int got = LZ4_decompress_safe(reinterpret_cast<const char*>(entry.payload.data()),
                                            reinterpret_cast<char*>(out.data()),
                                            static_cast<int>(stored), static_cast<int>(size));
        if (got < 0 || static_cast<std::uint64_t>(got) != size) {
            return bad(where + " payload", "damaged LZ4 data");
        }
        return out;
    }
    const std::size_t got = ZSTD_decompress(out.data(), out.size(), entry.payload.data(), stored);
    if (ZSTD_isError(got) != 0 || got != size) {
        return bad(where + " payload", "damaged Zstandard data");
    }
    return out;
}

}  // namespace sassemu
