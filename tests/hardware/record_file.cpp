// SPDX-License-Identifier: Apache-2.0
// See record_file.hpp.
#include "tests/hardware/record_file.hpp"

#include <zstd.h>

#include <fstream>
#include <sstream>

namespace sassemu::test {

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string unpacked(std::string bytes) {
    const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return bytes;
    std::string out(size, 0);
    const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
    return ZSTD_isError(got) ? std::string() : out;
}

bool parse(const std::string& bytes, Record& record) {
    size_t at = 0;
    bool fits = true;
    auto take = [&](void* to, size_t n) {
        fits = fits && bytes.size() - at >= n;
        if (!fits) return;
        std::memcpy(to, bytes.data() + at, n);
        at += n;
    };
    char magic[8] = {};
    uint32_t count = 0;
    take(magic, 8);
    take(&count, 4);
    take(&record.warps, 4);
    take(&record.samples, 4);
    if (!fits || std::memcmp(magic, "SASSHW01", 8) != 0) return false;
    for (uint32_t i = 0; i < count && fits; ++i) {
        Recorded w;
        uint8_t rows = 0;
        take(&w.word.lo, 8);
        take(&w.word.hi, 8);
        w.word.set(125, 105, quiet_control);
        take(&w.status, 1);
        take(&rows, 1);
        if ((w.status == ran || w.status == unstable) && rows) {
            w.rows.resize(rows);
            w.hashes.resize(record.warps);
            w.sampled.resize(size_t{rows} * record.samples);
            take(w.rows.data(), rows);
            take(w.hashes.data(), 8 * w.hashes.size());
            take(w.sampled.data(), sizeof(Row) * w.sampled.size());
        }
        record.words.push_back(std::move(w));
    }
    return fits && at == bytes.size();
}

uint64_t row_hash(const Row& row, uint8_t number) {
    uint64_t h = 0;
    for (uint64_t lane = 0; lane < 32; ++lane) h += mix(row[lane] + (lane << 40) + 0x1234567);
    return mix(h + number * 0x9e3779b97f4a7c15);
}

void get_row(Machine& m, uint32_t row, Row& out) {
    if (row < slot_registers) {
        std::memcpy(out.data(), &m.r(row, 0), sizeof out);
    } else if (row == predicate_row) {
        for (uint32_t lane = 0; lane < 32; ++lane) {
            out[lane] = 0;
            for (uint32_t i = 0; i < 7; ++i) out[lane] |= (m.p(i) >> lane & 1) << i;
        }
    } else {
        out = {};
        const uint32_t first = (row - uniform_row) * 32;
        for (uint32_t i = first; i < std::min(first + 32, slot_uniform); ++i)
            out[i - first] = m.ur(i);
        if (first)
            for (uint32_t i = 0; i < 7; ++i) out[28] |= (m.up(i) & 1) << i;
    }
}
void set_row(Machine& m, uint32_t row, const Row& in) {
    if (row < slot_registers) {
        std::memcpy(&m.r(row, 0), in.data(), sizeof in);
    } else if (row == predicate_row) {
        for (uint32_t i = 0; i < 7; ++i) {
            m.p(i) = 0;
            for (uint32_t lane = 0; lane < 32; ++lane) m.p(i) |= (in[lane] >> i & 1) << lane;
        }
    } else {
        const uint32_t first = (row - uniform_row) * 32;
        for (uint32_t i = first; i < std::min(first + 32, slot_uniform); ++i)
            m.ur(i) = in[i - first];
        if (first)
            for (uint32_t i = 0; i < 7; ++i) m.up(i) = in[28] >> i & 1 ? ~0u : 0;
    }
}

std::string row_name(uint32_t row, uint32_t lane) {
    if (row < slot_registers) return "R" + std::to_string(row) + " lane " + std::to_string(lane);
    if (row == predicate_row) return "predicates of lane " + std::to_string(lane);
    const uint32_t i = (row - uniform_row) * 32 + lane;
    return i == 60 ? "uniform predicates" : "UR" + std::to_string(i);
}

std::string operands_text(const sassdec_insn& insn, const State& before, uint32_t lane) {
    std::ostringstream out;
    out << std::hex;
    for (unsigned i = 0; i < insn.operand_count; ++i) {
        const sassdec_operand& o = insn.operand[i];
        if (!(o.access & SASSDEC_READ) && i) continue;
        if (o.kind == SASSDEC_OP_REG && o.file == SASSDEC_R && o.index != 255)
            for (unsigned k = 0; k < o.width && o.index + k < slot_registers; ++k)
                out << " R" << std::dec << o.index + k << std::hex << "="
                    << before[o.index + k][lane];
        if (o.kind == SASSDEC_OP_REG && o.file == SASSDEC_UR && o.index < slot_uniform)
            for (unsigned k = 0; k < o.width && o.index + k < slot_uniform; ++k)
                out << " UR" << std::dec << o.index + k << std::hex << "="
                    << before[uniform_row + (o.index + k) / 32][(o.index + k) % 32];
        if (o.kind == SASSDEC_OP_CONST)
            for (int k = 0; k < std::max<int>(o.width, 1); ++k)
                out << " c[" << o.offset + 4 * k << "]="
                    << constant((static_cast<uint32_t>(o.offset) - constant_offset) / 4 + k);
    }
    out << " P=" << before[predicate_row][lane] << " UP=" << before[uniform_row + 1][28];
    return out.str();
}

std::string mnemonic_of(const std::string& sass) {
    const size_t begin = sass[0] == '@' ? sass.find(' ') + 1 : 0;
    return sass.substr(begin, sass.find(' ', begin) - begin);
}

void set_constants(Machine& m) {
    for (uint32_t i = 0; i < constant_words; ++i) {
        const uint32_t v = constant(i);
        std::memcpy(m.bank(0) + constant_offset + 4 * i, &v, 4);
    }
}

}  // namespace sassemu::test
