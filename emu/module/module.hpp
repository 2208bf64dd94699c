// SPDX-License-Identifier: Apache-2.0
// The loader's public face: bytes of a cubin, fatbin, executable or shared library -> Module.
// Belongs here: the value types a Module consists of and the functions that make and ask one.
// Does not belong here: decoding of instructions (decoder/), address assignment (the engine does
// that and hands a Placement to link.hpp), line tables (line_table.hpp), printing (describe.hpp).
//
// A Module is an immutable value that owns its bytes; copies share them. All spans and
// string_views handed out live as long as any copy of the Module. Every function is safe on
// hostile bytes: it returns an Error that names file, field and reason.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu {

using Bytes = std::span<const std::uint8_t>;

// An architecture name: sm number and the suffix of architecture- or family-specific code.
struct Arch {
    std::uint16_t sm = 0;  // a number of decoder/isa/architectures.isa
    char suffix = 0;       // 0, 'a' or 'f'

    [[nodiscard]] std::string name() const;  // "sm_90a"
    friend bool operator==(const Arch&, const Arch&) = default;
};

// "sm_90a", "compute_90a" or "90a". Error: unsupported, with the list of known names.
[[nodiscard]] Result<Arch> parse_arch(std::string_view name);
// Whether the sm number is one that the emulator knows.
[[nodiscard]] bool is_known_sm(unsigned sm);
// Whether code built for `code` runs on a device of `device`: same major, minor not above the
// device's; 'a' only on its own number; 'f' within its family (CUDA Programming Guide, "Binary
// compatibility"). The device's own suffix is ignored: a device runs every suffix of its number.
[[nodiscard]] bool runs_on(Arch code, Arch device);

struct Extent3 {
    std::uint32_t x = 1, y = 1, z = 1;
    friend bool operator==(const Extent3&, const Extent3&) = default;
};

// A .text section. All of them are laid out one after the other (128-byte aligned) in one *code
// image*; a "code offset" is a position in that image, so pc = code base + code offset.
struct CodeSection {
    std::uint32_t section = 0;  // ELF section index
    std::string name;           // ".text.kernel"
    std::uint64_t code_offset = 0;
    Bytes bytes;  // as in the file, before relocation; a multiple of 16
};

// A function symbol in a code section: a kernel or a device function.
struct Function {
    std::string name;  // symbol name; local copies are called "$kernel$mangled"
    std::uint32_t symbol = 0;
    std::uint32_t section = 0;
    std::uint64_t section_offset = 0;  // bytes from the start of its section
    std::uint64_t code_offset = 0;     // bytes from the start of the code image
    std::uint64_t size = 0;            // bytes
    bool is_kernel = false;
};

// A contiguous piece of global memory that the module brings along: .nv.global (zero) or
// .nv.global.init.
struct DataSection {
    std::uint32_t section = 0;
    std::string name;
    std::uint64_t size = 0;       // bytes
    std::uint64_t alignment = 1;  // power of two
    Bytes init;                   // `size` bytes before relocation, or empty: all zero
};

enum class Space : std::uint8_t { global, constant };

// A named `__device__`, `__managed__` or `__constant__` variable.
struct Variable {
    std::string name;
    Space space = Space::global;
    std::uint32_t symbol = 0;
    std::uint32_t section = 0;  // DataSection or ConstantBank with this index
    std::uint64_t offset = 0;   // bytes from the start of that section
    std::uint64_t size = 0;     // bytes
    Bytes init;                 // `size` bytes before relocation, or empty: all zero
    bool is_managed = false;    // __managed__
};

// The image of one constant bank as the file has it, before relocation.
struct ConstantBank {
    std::uint32_t section = 0;
    std::uint32_t bank = 0;  // 0..17
    std::string name;        // ".nv.constant0.kernel"
    std::string kernel;      // empty: shared by all kernels of the module
    Bytes bytes;
};

// A kernel parameter, from KPARAM_INFO. Bank 0 address = Kernel::param_base + offset.
struct Parameter {
    std::uint32_t ordinal = 0;
    std::uint32_t offset = 0;  // bytes from param_base
    std::uint32_t size = 0;    // bytes
    std::uint32_t space = 0;   // the record's address-space bits as they are (0 = value)
};

// One record of .nv.info, .nv.info.K or .nv.compat.
struct Attribute {
    std::uint8_t format = 0;  // 1 none, 2 one byte, 3 two bytes, 4 sized payload
    std::uint8_t code = 0;
    std::string_view name;    // "EIATTR_REGCOUNT"; empty when the number is not known
    std::uint32_t value = 0;  // formats 2 and 3
    Bytes payload;            // format 4
};

// The targets of one BRX/JMX, section offsets (INDIRECT_BRANCH_TARGETS).
struct IndirectBranch {
    std::uint32_t offset = 0;
    std::vector<std::uint32_t> targets;
};

struct Kernel {
    std::string name;            // symbol name, as cuModuleGetFunction wants it
    std::uint32_t function = 0;  // index into Module::functions()
    std::uint32_t symbol = 0;
    std::uint32_t section = 0;      // its .text section; the offsets below count from there
    std::uint64_t code_offset = 0;  // entry point in the code image
    std::uint64_t code_size = 0;    // bytes of the kernel's symbol

    std::uint32_t registers = 0;        // 32-bit registers per thread, callees included
    std::uint32_t max_registers = 0;    // MAXREG_COUNT; 0 = not stated
    std::uint32_t shared_static = 0;    // bytes of static shared memory, reserved bytes included
    std::uint32_t shared_reserved = 0;  // bytes at shared address 0 kept for the system (1024 on
                                        // sm_90 and later, else 0)
    std::uint32_t shared_alignment = 1;
    std::uint32_t frame_size = 0;             // bytes of the kernel's own local frame
    std::uint32_t min_stack_size = 0;         // bytes of local memory per thread it needs at least
    bool stack_is_bounded = true;             // false: the compiler said it could not tell, so
                                              // min_stack_size is only the kernel's own frame
    std::uint32_t crs_stack_size = 0;         // bytes; old call-return stack, 0 on today's code
    std::uint32_t barriers = 0;               // named barriers used, 0..16
    std::optional<Extent3> max_threads;       // __launch_bounds__ / .maxntid
    std::optional<Extent3> required_threads;  // .reqntid
    std::optional<Extent3> cluster;           // __cluster_dims__ / .reqnctapercluster
    std::optional<std::uint32_t> max_cluster_rank;  // .maxclusterrank
    bool explicit_cluster = false;                  // the cluster size must be given by the kernel
    bool blocks_are_clusters = false;
    bool uses_ctaid_z = false;

    std::uint32_t param_base = 0;       // bytes into bank 0
    std::uint32_t param_size = 0;       // bytes
    std::vector<Parameter> parameters;  // by ordinal; may be empty while param_size > 0

    // Section offsets of instructions, as the compiler recorded them.
    std::vector<std::uint32_t> exit_offsets;
    std::vector<std::uint32_t> coop_group_offsets;
    std::vector<std::uint32_t> coop_group_mask_registers;
    std::vector<std::uint32_t> warp_wide_offsets;
    std::vector<std::uint32_t> syscall_offsets;  // calls of services (vprintf, malloc, ...)
    std::vector<IndirectBranch> indirect_branches;
    std::vector<std::uint32_t> externs;  // symbol indices
    // Instructions that are one with the next: MEMBAR.lvl.IVALL* of a .sass file, kept in
    // .nv.sassemu.fused, a section of this project.
    std::vector<std::uint32_t> fused_offsets;

    Bytes constant0;  // image of bank 0: param_base + param_size bytes and, with texture
                      // references, their header words; may be empty
    Bytes constant2;  // image of bank 2 (compiler's constants, jump and function tables)
    std::vector<Attribute> attributes;  // everything in .nv.info.K
};

enum class SymbolKind : std::uint8_t {
    none,                // index 0 and nameless marks
    section,             // the start of a section
    kernel,              // a kernel's entry
    function,            // a device function's entry
    global,              // in a DataSection
    constant,            // in a ConstantBank
    shared,              // in a .nv.shared section: `value` is the shared-memory address
    undefined_function,  // a service (vprintf, malloc, free, __assertfail) or an extern
    undefined_object,    // an extern variable; weak ones without a definition are 0
    texture,             // legacy texture, sampler or surface reference, always undefined
    dynamic_shared,      // `extern __shared__` of a relocatable file: `value` is its address
    other,
};

struct Symbol {
    std::string name;
    SymbolKind kind = SymbolKind::none;
    std::uint32_t section = 0;  // 0 = undefined
    std::uint64_t value = 0;    // offset in its section; for shared kinds a shared address
    std::uint64_t size = 0;     // bytes
    std::uint8_t type = 0;      // ELF st_info type
    std::uint8_t other = 0;     // ELF st_other
    bool is_global = false;     // global or weak
    bool is_weak = false;
};

// A relocation of code, a constant bank or initialised data. link.hpp applies it.
struct Relocation {
    std::uint32_t section = 0;  // ELF index of the section whose bytes change
    std::uint64_t offset = 0;   // bytes into that section
    std::uint32_t type = 0;     // R_CUDA number
    std::uint32_t symbol = 0;
    std::int64_t addend = 0;
    bool has_addend = false;  // .rela; a .rel record's addend is what the field holds
};

// A texture, surface or sampler reference of the module (legacy, by name).
struct TextureReference {
    std::string name;
    std::uint32_t symbol = 0;
    enum class Kind : std::uint8_t { texture, surface, sampler } kind = Kind::texture;
};

// Where the image came from.
enum class Container : std::uint8_t { cubin, fatbin, executable };

struct ModuleData;
class LineTable;

class Module {
  public:
    [[nodiscard]] const std::string& file_name() const;  // as given to load_module
    [[nodiscard]] Container container() const;
    [[nodiscard]] Arch arch() const;
    [[nodiscard]] std::uint32_t elf_flags() const;
    [[nodiscard]] std::uint8_t elf_abi_version() const;
    [[nodiscard]] bool is_relocatable() const;            // rdc object that nvlink has not seen
    [[nodiscard]] std::string_view tool_version() const;  // from .note.nv.tkinfo; may be empty
    [[nodiscard]] std::string_view tool_options() const;  // ditto
    [[nodiscard]] Bytes elf() const;                      // the cubin itself

    [[nodiscard]] const std::vector<Kernel>& kernels() const;      // in file order
    [[nodiscard]] const std::vector<Function>& functions() const;  // by code offset
    [[nodiscard]] const std::vector<CodeSection>& code_sections() const;
    [[nodiscard]] std::uint64_t code_image_size() const;  // bytes
    [[nodiscard]] const std::vector<DataSection>& data_sections() const;
    [[nodiscard]] const std::vector<ConstantBank>& constant_banks() const;
    [[nodiscard]] const std::vector<Variable>& variables() const;
    [[nodiscard]] const std::vector<TextureReference>& texture_references() const;
    [[nodiscard]] const std::vector<Symbol>& symbols() const;  // ELF order
    [[nodiscard]] const std::vector<Relocation>& relocations() const;
    [[nodiscard]] const std::vector<Attribute>& attributes() const;  // file-level .nv.info
    [[nodiscard]] const std::vector<Attribute>& compat() const;      // .nv.compat
    // Things worth a remark that are no errors: attributes of unknown number, skipped sections.
    [[nodiscard]] const std::vector<std::string>& notes() const;

    // By symbol, demangled name, a part of it or a pattern (sassemu/names.hpp). Error not_found:
    // none is meant, or several are; it lists the candidates.
    [[nodiscard]] Result<const Kernel*> kernel(std::string_view name) const;
    [[nodiscard]] const Variable* variable(std::string_view name) const;  // nullptr: none
    [[nodiscard]] const Function* function_at(std::uint64_t code_offset) const;
    [[nodiscard]] const CodeSection* code_section(std::uint32_t section) const;
    [[nodiscard]] const DataSection* data_section(std::uint32_t section) const;
    [[nodiscard]] const ConstantBank* constant_bank(std::uint32_t section) const;
    // Constant bank `bank` for a kernel: the kernel's own or else the module's; nullptr: none.
    [[nodiscard]] const ConstantBank* constant_bank(std::uint32_t bank,
                                                    std::string_view kernel) const;
    // pc -> source lines and PTX lines; empty tables when there is no -lineinfo.
    [[nodiscard]] const LineTable& lines() const;

  private:
    friend struct ModuleData;
    explicit Module(std::shared_ptr<const ModuleData> data) : data_(std::move(data)) {}
    std::shared_ptr<const ModuleData> data_;
};

struct LoadOptions {
    // The device that will run it: picks the image of a fatbin and overrides nothing else. Not
    // set: an image for sm_90 if there is one, else the one with the highest number.
    std::optional<Arch> arch;
    std::optional<std::uint32_t> container;  // which container of an executable, from 0
    std::string kernel;                      // take the container that has this kernel
};

// One image inside a fatbin or executable.
struct ImageInfo {
    std::uint32_t container = 0;  // number of its container, from 0
    std::uint32_t index = 0;      // number within the container
    std::uint16_t kind = 0;       // 1 PTX text, 2 cubin; others are of unknown purpose
    bool is_elf = false;          // a cubin
    Arch arch;
    enum class Compression : std::uint8_t { none, lz4, zstd } compression = Compression::none;
    std::uint64_t stored_size = 0;  // bytes in the file
    std::uint64_t size = 0;         // bytes after decompression
    std::string name;               // as recorded by the compiler; may be empty
};

// `name` is only used in messages. Bytes are copied (or unpacked) into the Module.
[[nodiscard]] Result<Module> load_module(Bytes bytes, std::string name,
                                         const LoadOptions& options = {});
[[nodiscard]] Result<Module> load_module_file(const std::string& path,
                                              const LoadOptions& options = {});
// The best image of every container (an executable has one container per translation unit).
[[nodiscard]] Result<std::vector<Module>> load_all_modules(Bytes bytes, std::string name,
                                                           const LoadOptions& options = {});
// What a fatbin or executable holds; a bare cubin lists itself.
[[nodiscard]] Result<std::vector<ImageInfo>> list_images(Bytes bytes, std::string name);
// The bytes of one image, decompressed (PTX text or cubin).
[[nodiscard]] Result<std::vector<std::uint8_t>> extract_image(Bytes bytes, std::string name,
                                                              std::uint32_t container,
                                                              std::uint32_t index);
[[nodiscard]] Result<std::vector<std::uint8_t>> read_file(const std::string& path);

}  // namespace sassemu
