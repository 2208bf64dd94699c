// SPDX-License-Identifier: Apache-2.0
// Relocatable files: what nvlink would have decided.
// Belongs here: addresses of shared variables and the register, stack and shared needs of a
// kernel together with the device functions it calls. Does not belong here: joining several
// files.
//
// Read off nvlink 13.0: a shared symbol's value is its alignment, as for COMMON symbols; within
// one section variables are placed by falling size. Device functions' variables come first, at
// the same address for every kernel; a kernel's own follow if it reaches such a function, else
// they start at 0; `extern __shared__` memory follows at the next multiple of 16. Code of sm_90
// and later adds the 1024 reserved bytes itself.
#include <algorithm>
#include <set>

#include "emu/module/attributes.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/module/module_data.hpp"

namespace sassemu {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

class Layout {
  public:
    Layout(ModuleData& data, Bytes call_graph) : data_(data), call_graph_(call_graph) {}

    Result<void> run() {
        build_graph();
        read_function_needs();
        SASSEMU_ASSIGN(const std::uint64_t device_end, place_device_variables());
        for (auto& kernel : data_.kernels) {
            SASSEMU_TRY(lay_out_kernel(kernel, device_end));
        }
        settle_dynamic_shared();
        return {};
    }

  private:
    struct Node {  // per function symbol
        std::set<std::uint32_t> callees;
        bool uses_static_shared = false;
        bool uses_dynamic_shared = false;
        std::uint32_t registers = 0;
        std::uint32_t frame = 0;
    };

    bool is_function(std::uint32_t symbol) const {
        const SymbolKind kind = data_.symbols[symbol].kind;
        return kind == SymbolKind::function || kind == SymbolKind::kernel;
    }

    // A function that another one's code refers to counts as called, and one whose address lies
    // in memory counts as called by all.
    void build_graph() {
        for (const auto& function : data_.functions) {
            nodes_[function.symbol];
            functions_by_section_[function.section].push_back(&function);
        }
        std::map<std::string, std::uint32_t> section_by_name;
        for (const auto& shared : data_.shared_sections) {
            section_by_name[shared.name] = shared.section;
        }
        for (const auto& kernel : data_.kernels) {
            const auto found = section_by_name.find(".nv.shared." + kernel.name);
            if (found == section_by_name.end()) continue;
            own_sections_.insert(found->second);
            section_of_kernel_[kernel.symbol] = found->second;
        }
        for (auto& symbol : data_.symbols) {
            if (symbol.kind != SymbolKind::shared) continue;
            const bool own = is_kernels_own(symbol.section);
            variables_[own ? symbol.section : device_section].push_back(&symbol);
        }
        for (const auto& relocation : data_.relocations) {
            const Symbol& symbol = data_.symbols[relocation.symbol];
            const std::uint32_t caller = function_of(relocation);
            if (caller == 0) {
                if (is_function(relocation.symbol)) address_taken_.insert(relocation.symbol);
                continue;
            }
            Node& node = nodes_[caller];
            if (is_function(relocation.symbol)) node.callees.insert(relocation.symbol);
            if (symbol.kind == SymbolKind::dynamic_shared) node.uses_dynamic_shared = true;
            if (symbol.kind == SymbolKind::shared && !is_kernels_own(symbol.section)) {
                node.uses_static_shared = true;
            }
        }
        // .nv.callgraph: pairs {caller, callee}; {0, negative} starts a new list.
        for (ByteReader reader(call_graph_); reader.remaining() >= 8;) {
            const auto caller = reader.take<std::uint32_t>();
            const auto callee = reader.take<std::uint32_t>();
            const std::size_t count = data_.symbols.size();
            if (caller == 0 || caller >= count || callee >= count) continue;
            if (is_function(caller) && is_function(callee)) nodes_[caller].callees.insert(callee);
        }
    }

    // The function whose code the relocation changes; 0: none.
    std::uint32_t function_of(const Relocation& relocation) const {
        const auto list = functions_by_section_.find(relocation.section);
        if (list == functions_by_section_.end()) return 0;
        std::uint32_t found = 0;
        for (const Function* function : list->second) {
            if (relocation.offset < function->section_offset) break;
            if (relocation.offset - function->section_offset < function->size) {
                found = function->symbol;
            }
        }
        return found;
    }

    bool is_kernels_own(std::uint32_t section) const { return own_sections_.contains(section); }

    void read_function_needs() {
        for (const auto& attribute : data_.attributes) {
            const auto symbol = read_at<std::uint32_t>(attribute.payload, 0);
            const auto value = read_at<std::uint32_t>(attribute.payload, 4);
            if (!symbol || !value) continue;
            const auto node = nodes_.find(*symbol);
            if (node == nodes_.end()) continue;
            if (attribute.code == eiattr::regcount) node->second.registers = *value;
            if (attribute.code == eiattr::frame_size) node->second.frame = *value;
        }
    }

    // Places the variables of a section from `start` on; the end of the last one.
    Result<std::uint64_t> place(std::uint64_t start, std::uint32_t section) {
        std::vector<Symbol*>& list = variables_[section];
        std::ranges::stable_sort(list, std::greater{}, &Symbol::size);
        std::uint64_t end = start;
        for (Symbol* symbol : list) {
            const std::uint64_t alignment = std::max<std::uint64_t>(symbol->value, 1);
            if ((alignment & (alignment - 1)) != 0 || alignment > 65536 ||
                symbol->size > max_shared) {
                return make_error(ErrorCode::input,
                                  data_.file_name + ": shared variable " + symbol->name,
                                  "size " + std::to_string(symbol->size) + " or alignment " +
                                      std::to_string(alignment) + " is out of range");
            }
            symbol->value = round_up(end, alignment);
            end = symbol->value + symbol->size;
            if (end > max_shared) {
                return make_error(ErrorCode::input,
                                  data_.file_name + ": shared variable " + symbol->name,
                                  "more than 256 KiB of shared memory");
            }
        }
        return end;
    }

    Result<std::uint64_t> place_device_variables() { return place(0, device_section); }

    // Everything a kernel may call, itself included.
    std::set<std::uint32_t> reach(std::uint32_t kernel) const {
        std::set<std::uint32_t> seen;
        std::vector<std::uint32_t> work(address_taken_.begin(), address_taken_.end());
        work.push_back(kernel);
        while (!work.empty()) {
            const std::uint32_t symbol = work.back();
            work.pop_back();
            if (!seen.insert(symbol).second) continue;
            const auto node = nodes_.find(symbol);
            if (node == nodes_.end()) continue;
            work.insert(work.end(), node->second.callees.begin(), node->second.callees.end());
        }
        return seen;
    }

    Result<void> lay_out_kernel(Kernel& kernel, std::uint64_t device_end) {
        const auto reached = reach(kernel.symbol);
        bool device_static = false, dynamic_here = false, dynamic_below = false;
        std::uint64_t frames = 0;
        for (const auto symbol : reached) {
            const Node& node = nodes_[symbol];
            device_static = device_static || node.uses_static_shared;
            (symbol == kernel.symbol ? dynamic_here : dynamic_below) |= node.uses_dynamic_shared;
            kernel.registers = std::max(kernel.registers, node.registers);
            frames += node.frame;  // an upper bound of the deepest chain without recursion
        }
        kernel.min_stack_size =
            std::max(kernel.min_stack_size,
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(frames, 512 * 1024)));
        const auto own = section_of_kernel_.find(kernel.symbol);
        std::uint64_t end = device_static ? device_end : 0;
        if (own != section_of_kernel_.end()) {
            SASSEMU_ASSIGN(end, place(end, own->second));
        }
        if (dynamic_here || dynamic_below) {
            end = round_up(end, 16);
            data_.dynamic_shared_by_section[kernel.section] = end;
            if (dynamic_below) {
                data_.dynamic_shared_address = std::max(data_.dynamic_shared_address, end);
                shares_dynamic_.push_back(&kernel);
            }
        }
        kernel.shared_reserved = reserved_shared(data_.arch);
        kernel.shared_static = kernel.shared_reserved + static_cast<std::uint32_t>(end);
        kernel.shared_alignment = 16;
        return {};
    }

    // Kernels that reach a device function with `extern __shared__` all see it at one address.
    void settle_dynamic_shared() {
        for (Kernel* kernel : shares_dynamic_) {
            data_.dynamic_shared_by_section[kernel->section] = data_.dynamic_shared_address;
            kernel->shared_static =
                kernel->shared_reserved + static_cast<std::uint32_t>(data_.dynamic_shared_address);
        }
    }

    static constexpr std::uint32_t device_section = 0;  // all sections no kernel owns

    ModuleData& data_;
    Bytes call_graph_;
    std::map<std::uint32_t, std::vector<const Function*>> functions_by_section_;
    std::map<std::uint32_t, std::vector<Symbol*>> variables_;  // shared ones, by section
    std::set<std::uint32_t> own_sections_;                     // .nv.shared.<kernel>
    std::map<std::uint32_t, std::uint32_t> section_of_kernel_;
    std::map<std::uint32_t, Node> nodes_;
    std::set<std::uint32_t> address_taken_;
    std::vector<Kernel*> shares_dynamic_;
};

}  // namespace

Result<void> lay_out_relocatable(ModuleData& data, Bytes call_graph) {
    return Layout(data, call_graph).run();
}

}  // namespace sassemu
