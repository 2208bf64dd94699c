// SPDX-License-Identifier: Apache-2.0
// AssembledModule -> the ELF file of a cubin. The layout is that of ptxas 13.0 output, read off
// with readelf; the records are those of names.hpp. What belongs here: sections and records. What
// does not: what instructions mean.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "emu/module/attributes.hpp"
#include "emu/module/elf.hpp"
#include "emu/sass/assembled.hpp"

namespace sassemu::sass {
namespace {

using elf::sht_nobits, elf::sht_progbits, elf::sht_strtab, elf::sht_symtab;
constexpr uint32_t sht_note = 7, sht_info = 0x70000000, sht_callgraph = 0x70000001,
                   sht_compat = 0x70000086;
constexpr uint64_t shf_write = 1, shf_alloc = 2, shf_exec = 4, shf_info_link = 0x40;
constexpr uint32_t api_version = 130;  // CUDA 13.0, whose format this is
// Records that the loader does not act on.
constexpr uint8_t sw_war = 0x36, cuda_api_version = 0x37, sparse_mma_mask = 0x50,
                  mercury_isa_version = 0x5f;

class Buffer {
  public:
    void u8(uint8_t v) { bytes.push_back(v); }
    void u16(uint16_t v) { number(v, 2); }
    void u32(uint32_t v) { number(v, 4); }
    void u64(uint64_t v) { number(v, 8); }
    void text(std::string_view s) { bytes.insert(bytes.end(), s.begin(), s.end()); }
    void align(size_t n) { bytes.resize((bytes.size() + n - 1) / n * n); }

    // Records of .nv.info: format, number, value.
    void record(uint8_t code) { u8(1), u8(code), u16(0); }
    void record_byte(uint8_t code, uint8_t value) { u8(2), u8(code), u16(value); }
    void record_short(uint8_t code, uint16_t value) { u8(3), u8(code), u16(value); }
    void record_words(uint8_t code, std::initializer_list<uint32_t> words) {
        record_words(code, std::vector<uint32_t>(words));
    }
    void record_words(uint8_t code, const std::vector<uint32_t>& words) {
        u8(4), u8(code), u16(static_cast<uint16_t>(4 * words.size()));
        for (const uint32_t w : words) u32(w);
    }

    std::vector<uint8_t> bytes;

  private:
    void number(uint64_t v, int n) {
        for (int i = 0; i < n; ++i) bytes.push_back(static_cast<uint8_t>(v >> 8 * i));
    }
};

struct OutSection {
    std::string name;
    uint32_t type = 0, link = 0, info = 0;
    uint64_t flags = 0, alignment = 1, entry_size = 0, size = 0, offset = 0;
    std::vector<uint8_t> bytes;
};

struct OutSymbol {
    std::string name;
    uint8_t info = 0, other = 0;
    uint16_t section = 0;
    uint64_t size = 0, value = 0;
};

class Writer {
  public:
    explicit Writer(const AssembledModule& m) : m_(m) {}

    std::vector<uint8_t> run() {
        plan();
        symbols();
        for (size_t k = 0; k < m_.kernels.size(); ++k) fill_kernel(k);
        fill_module();
        return link();
    }

  private:
    const AssembledKernel& kernel(size_t k) const { return m_.kernels[k]; }
    const sassdec::Family& family() const { return *sassdec::architecture(m_.arch.sm).family; }
    bool abi90() const { return family().abi90; }

    uint32_t add(std::string name, uint32_t type, uint64_t flags, uint64_t alignment) {
        OutSection s;
        s.name = std::move(name);
        s.type = type;
        s.flags = flags;
        s.alignment = alignment;
        sections_.push_back(std::move(s));
        return static_cast<uint32_t>(sections_.size() - 1);
    }

    // Section numbers first: symbols and records name them.
    void plan() {
        sections_.emplace_back();
        section_names_ = add(".shstrtab", sht_strtab, 0, 1);
        strings_ = add(".strtab", sht_strtab, 0, 1);
        symtab_ = add(".symtab", sht_symtab, 0, 8);
        tkinfo_ = add(".note.nv.tkinfo", sht_note, 0x2000000, 4);
        cuinfo_ = add(".note.nv.cuinfo", sht_note, 0x1000000, 4);
        info_ = add(".nv.info", sht_info, 0, 4);
        if (abi90()) compat_ = add(".nv.compat", sht_compat, 0, 4);
        for (const AssembledKernel& k : m_.kernels)
            kernel_info_.push_back(add(".nv.info." + k.name, sht_info, shf_info_link, 4));
        callgraph_ = add(".nv.callgraph", sht_callgraph, 0, 4);
        if (std::ranges::any_of(m_.kernels, [](const auto& k) { return !k.fused.empty(); }))
            fused_ = add(".nv.sassemu.fused", sht_progbits, 0, 4);
        for (const AssembledKernel& k : m_.kernels)
            text_.push_back(add(".text." + k.name, sht_progbits, shf_alloc | shf_exec, 128));
        if (abi90()) add(".nv.shared.reserved.0", sht_nobits, shf_alloc | shf_write, 1);
        for (const AssembledKernel& k : m_.kernels) {
            shared_.push_back(0);
            if (k.shared == 0) continue;
            shared_.back() =
                add(".nv.shared." + k.name, sht_nobits, shf_alloc | shf_write | shf_info_link, 16);
            sections_.back().size = k.shared + family().reserved_shared;
        }
        for (const AssembledKernel& k : m_.kernels)
            constants_.push_back(
                add(".nv.constant0." + k.name, sht_progbits, shf_alloc | shf_info_link, 4));
        if (m_.constants.empty()) return;
        bank3_ = add(".nv.constant3", sht_progbits, shf_alloc, 16);
        sections_[bank3_].bytes.resize(m_.constants.back().offset + m_.constants.back().size);
    }

    // Local symbols first, as ELF wants it: a section symbol for each section with content of its
    // own, then the kernels.
    void symbols() {
        symbols_.emplace_back();
        section_symbol_.assign(sections_.size(), 0);
        for (uint32_t i = tkinfo_; i < sections_.size(); ++i) {
            if (sections_[i].type == sht_info || sections_[i].type == sht_compat) continue;
            section_symbol_[i] = static_cast<uint32_t>(symbols_.size());
            symbols_.push_back({"", elf::stt_section, 0, static_cast<uint16_t>(i), 0});
        }
        first_global_ = static_cast<uint32_t>(symbols_.size());
        for (size_t k = 0; k < m_.kernels.size(); ++k) {
            kernel_symbol_.push_back(static_cast<uint32_t>(symbols_.size()));
            symbols_.push_back({kernel(k).name, static_cast<uint8_t>(1 << 4 | elf::stt_func), 0x10,
                                static_cast<uint16_t>(text_[k]), 16 * kernel(k).words.size()});
        }
        for (const ConstantVariable& v : m_.constants)
            symbols_.push_back({v.name, static_cast<uint8_t>(1 << 4 | elf::stt_object), 0,
                                static_cast<uint16_t>(bank3_), v.size, v.offset});
    }

    void fill_kernel(size_t k) {
        const AssembledKernel& in = kernel(k);
        const uint32_t base = parameter_base(m_.arch.sm), symbol = kernel_symbol_[k];
        Buffer code;
        for (const auto& w : in.words) code.u64(w[0]), code.u64(w[1]);
        OutSection& text = sections_[text_[k]];
        text.bytes = std::move(code.bytes);
        text.link = symtab_;
        text.info = symbol;
        if (!abi90()) {
            text.info |= in.registers << 24U;
            text.flags |= uint64_t{in.barriers} << 20U;
        }
        OutSection& constants = sections_[constants_[k]];
        constants.bytes.resize(base + in.parameter_bytes);
        constants.info = text_[k];
        if (shared_[k] != 0) sections_[shared_[k]].info = text_[k];

        Buffer b;
        b.record_words(cuda_api_version, {api_version});
        for (size_t i = in.parameters.size(); i-- > 0;) {
            const KernelParameter& p = in.parameters[i];
            b.record_words(eiattr::kparam_info, {0, static_cast<uint32_t>(i) | p.offset << 16U,
                                                 p.size << 18U | 0x1f000U});
        }
        if (abi90()) b.record_short(sparse_mma_mask, 0);
        b.record_short(eiattr::maxreg_count, static_cast<uint16_t>(in.max_registers.value_or(255)));
        if (in.barriers != 0)
            b.record_byte(eiattr::num_barriers, static_cast<uint8_t>(in.barriers));
        b.record_short(mercury_isa_version, abi90() ? 0x101 : 0);
        if (!in.exits.empty()) b.record_words(eiattr::exit_instr_offsets, in.exits);
        if (in.max_threads)
            b.record_words(eiattr::max_threads,
                           {in.max_threads->x, in.max_threads->y, in.max_threads->z});
        if (in.required_threads)
            b.record_words(eiattr::reqntid, {in.required_threads->x, in.required_threads->y,
                                             in.required_threads->z});
        if (in.cluster) {
            b.record(eiattr::explicit_cluster);
            b.record_words(eiattr::cta_per_cluster, {in.cluster->x, in.cluster->y, in.cluster->z});
        }
        b.record_short(eiattr::cbank_param_size, static_cast<uint16_t>(in.parameter_bytes));
        b.record_words(eiattr::param_cbank,
                       {section_symbol_[constants_[k]], base | in.parameter_bytes << 16U});
        if (abi90()) b.record_words(sw_war, {8});
        OutSection& info = sections_[kernel_info_[k]];
        info.bytes = std::move(b.bytes);
        info.link = symtab_;
        info.info = text_[k];
    }

    void note(uint32_t section, uint32_t type, const std::vector<uint8_t>& body) {
        Buffer b;
        constexpr std::string_view owner("NVIDIA Corp\0", 12);
        b.u32(static_cast<uint32_t>(owner.size()));
        b.u32(static_cast<uint32_t>(body.size()));
        b.u32(type);
        b.text(owner);
        b.bytes.insert(b.bytes.end(), body.begin(), body.end());
        b.align(4);
        sections_[section].bytes = std::move(b.bytes);
    }

    void fill_module() {
        // Two words of version, then offsets of four strings: tool, version, build, options.
        std::string pool(1, '\0');
        Buffer tool;
        tool.u32(2), tool.u32(0);
        for (const std::string& s : {std::string("sassemu"), std::string("sassemu asm"),
                                     std::string("13.0"), "-arch " + m_.arch.name() + " "}) {
            tool.u32(static_cast<uint32_t>(pool.size()));
            pool += s + '\0';
        }
        tool.text(pool);
        tool.align(8);
        note(tkinfo_, 2000, tool.bytes);
        Buffer cuda;
        cuda.u16(2), cuda.u16(m_.arch.sm), cuda.u32(api_version);
        note(cuinfo_, 1000, cuda.bytes);
        sections_[cuinfo_].link = tkinfo_;

        Buffer info;
        for (size_t k = 0; k < m_.kernels.size(); ++k) {
            const AssembledKernel& in = kernel(k);
            info.record_words(eiattr::regcount, {kernel_symbol_[k], in.registers});
            info.record_words(eiattr::frame_size, {kernel_symbol_[k], in.local});
            info.record_words(eiattr::min_stack_size, {kernel_symbol_[k], in.local});
        }
        sections_[info_].bytes = std::move(info.bytes);
        sections_[info_].link = symtab_;
        if (abi90()) {  // 9: architecture-specific code; the other values are the same in every
                        // file of ptxas 13.0
            Buffer b;
            b.record_byte(9, m_.arch.suffix == 'a');
            b.record_byte(2, 1), b.record_byte(5, 5), b.record_short(7, 0x101);
            b.record_byte(3, 0), b.record_byte(6, 1), b.record_words(11, {0, 0});
            sections_[compat_].bytes = std::move(b.bytes);
        }
        Buffer graph;  // no calls: only the marks of its four lists
        for (int i = 1; i <= 4; ++i) graph.u32(0), graph.u32(static_cast<uint32_t>(-i));
        sections_[callgraph_].bytes = std::move(graph.bytes);
        sections_[callgraph_].link = symtab_;
        sections_[callgraph_].entry_size = 8;
        if (fused_ != 0) {
            Buffer b;
            for (size_t k = 0; k < m_.kernels.size(); ++k)
                for (const uint32_t pc : kernel(k).fused) b.u32(kernel_symbol_[k]), b.u32(pc);
            sections_[fused_].bytes = std::move(b.bytes);
        }
    }

    void tables() {
        std::string names(1, '\0'), strings(1, '\0');
        name_offset_.assign(sections_.size(), 0);
        for (size_t i = 1; i < sections_.size(); ++i) {
            name_offset_[i] = static_cast<uint32_t>(names.size());
            names += sections_[i].name + '\0';
        }
        Buffer b;
        for (const OutSymbol& s : symbols_) {
            // A section's symbol carries the section's name in cubins.
            const std::string& name =
                (s.info & 15) == elf::stt_section ? sections_[s.section].name : s.name;
            b.u32(name.empty() ? 0 : static_cast<uint32_t>(strings.size()));
            if (!name.empty()) strings += name + '\0';
            b.u8(s.info), b.u8(s.other), b.u16(s.section), b.u64(s.value), b.u64(s.size);
        }
        sections_[section_names_].bytes.assign(names.begin(), names.end());
        sections_[strings_].bytes.assign(strings.begin(), strings.end());
        OutSection& table = sections_[symtab_];
        table.bytes = std::move(b.bytes);
        table.link = strings_;
        table.info = first_global_;
        table.entry_size = 24;
    }

    // First and last offset of the sections with these flags.
    struct Span {
        uint64_t begin = 0, file_end = 0, memory = 0;
    };
    Span span(uint64_t flags) const {
        Span s;
        bool any = false;
        for (const OutSection& x : sections_) {
            if ((x.flags & (shf_alloc | shf_write | shf_exec)) != flags) continue;
            if (!any) s.begin = s.file_end = x.offset;
            any = true;
            if (x.type == sht_nobits)
                s.memory += x.size;
            else
                s.file_end = x.offset + x.size;
        }
        s.memory += s.file_end - s.begin;
        return s;
    }

    std::vector<uint8_t> link() {
        tables();
        Buffer file;
        file.bytes.resize(64);
        for (size_t i = 1; i < sections_.size(); ++i) {
            OutSection& s = sections_[i];
            file.align(s.alignment);
            s.offset = file.bytes.size();
            if (s.type == sht_nobits) continue;
            s.size = s.bytes.size();
            file.bytes.insert(file.bytes.end(), s.bytes.begin(), s.bytes.end());
        }
        file.align(8);
        const uint64_t headers = file.bytes.size();
        for (size_t i = 0; i < sections_.size(); ++i) {
            const OutSection& s = sections_[i];
            file.u32(name_offset_[i]), file.u32(s.type), file.u64(s.flags), file.u64(0);
            file.u64(s.offset), file.u64(s.size), file.u32(s.link), file.u32(s.info);
            file.u64(i == 0 ? 0 : s.alignment), file.u64(s.entry_size);
        }
        const uint64_t program = file.bytes.size();
        constexpr uint16_t segments = 5, program_entry = 56;
        const auto segment = [&](uint32_t type, uint32_t flags, uint64_t at, uint64_t in_file,
                                 uint64_t in_memory) {
            file.u32(type), file.u32(flags), file.u64(at), file.u64(0), file.u64(0);
            file.u64(in_file), file.u64(in_memory), file.u64(8);
        };
        constexpr uint32_t pt_load = 1, pt_phdr = 6, readable = 4, writable = 2, executable = 1;
        segment(pt_phdr, readable, program, segments * program_entry, segments * program_entry);
        segment(pt_load, readable, program, segments * program_entry, segments * program_entry);
        const Span code = span(shf_alloc | shf_exec), data = span(shf_alloc | shf_write),
                   constants = span(shf_alloc);
        segment(pt_load, readable | executable, code.begin, code.file_end - code.begin,
                code.memory);
        segment(pt_load, readable | writable, data.begin, 0, data.memory);
        segment(pt_load, readable, constants.begin, constants.file_end - constants.begin,
                constants.memory);

        Buffer head;
        head.text(
            "\x7f"
            "ELF");
        head.u8(2), head.u8(1), head.u8(1), head.u8(0x41), head.u8(8);
        head.bytes.resize(16);
        head.u16(2), head.u16(190), head.u32(1), head.u64(0), head.u64(program), head.u64(headers);
        head.u32(0x06000000U | uint32_t{m_.arch.sm} << 8U | family().elf_flags);
        head.u16(64), head.u16(program_entry), head.u16(segments), head.u16(64);
        head.u16(static_cast<uint16_t>(sections_.size())),
            head.u16(static_cast<uint16_t>(section_names_));
        std::copy(head.bytes.begin(), head.bytes.end(), file.bytes.begin());
        return std::move(file.bytes);
    }

    const AssembledModule& m_;
    std::vector<OutSection> sections_;
    std::vector<OutSymbol> symbols_;
    std::vector<uint32_t> section_symbol_, kernel_symbol_, kernel_info_, text_, shared_, constants_,
        name_offset_;
    uint32_t section_names_ = 0, strings_ = 0, symtab_ = 0, tkinfo_ = 0, cuinfo_ = 0, info_ = 0,
             compat_ = 0, callgraph_ = 0, fused_ = 0, bank3_ = 0;
    uint32_t first_global_ = 0;
};

}  // namespace

std::vector<uint8_t> write_cubin(const AssembledModule& module) { return Writer(module).run(); }

}  // namespace sassemu::sass
