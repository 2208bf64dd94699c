// SPDX-License-Identifier: Apache-2.0
// See view.hpp.
#include "emu/debug/view.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "emu/base/text.hpp"
#include "emu/debug/debug_info.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/dimensions.hpp"
#include "emu/machine/op.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/memory/host_access.hpp"
#include "emu/memory/perform.hpp"
#include "emu/module/byte_reader.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu::debug {
namespace {

constexpr uint64_t most_bytes = 1 << 20;  // of one value

Value of_bits(uint64_t v, const char* type) {
    Value out = Value::of_integer(static_cast<int64_t>(v), 8, false);
    out.type = basic_type(type);
    out.bytes.resize(out.type->bytes);
    return out;
}

Error no_register(const std::string& name) {
    return {ErrorCode::not_found, "$" + name, "there is no such register",
            "R0, UR0, P0, UP0, ..., pc, lane, warp, cta, active, clock, position"};
}

}  // namespace

const Path* path_of(const Warp& warp, uint32_t lane) {
    for (uint32_t k = 0; k < warp.paths_used; ++k)
        if ((k == warp.current ? warp.active & warp.live : warp.paths[k].lanes) >> lane & 1)
            return &warp.paths[k];
    for (uint32_t k = 0; k < warp.paths_used; ++k)
        if (warp.paths[k].lanes >> lane & 1 && warp.live >> lane & 1) return &warp.paths[k];
    return nullptr;
}

CodePlace place_of(const Warp& warp, const Op* op) {
    const CodeImage& code = *warp.cta->launch->code;
    if (!op || op < code.ops() || op >= code.ops() + code.count()) return {};
    return {code.module(), code.offset_of(op)};
}

std::optional<uint32_t> register_number(const std::string& name, const std::string& file) {
    if (!name.starts_with(file) || name.size() == file.size()) return std::nullopt;
    uint32_t n = 0;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + file.size(), end, n);
    if (error != std::errc() || at != end) return std::nullopt;
    return n;
}

View::View(const Places& places, const std::map<std::string, NamedMemory>& buffers, Warp& warp,
           uint32_t lane, uint64_t position, uint32_t frame)
    : places_(places), buffers_(buffers), warp_(warp), lane_(lane), position_(position) {
    if (!frame) return;
    const auto all = frames();
    if (frame >= all.size()) return;
    activation_ = all[frame].activation;
    inlined_ = all[frame].inlined;
}

CodePlace View::innermost() const {
    const Path* path = path_of(warp_, lane_);
    return path ? place_of(warp_, path->pc) : CodePlace{};
}

CodePlace View::place() const {
    return activation_ ? stack().activations[activation_].place : innermost();
}

const CallStack& View::stack() const {
    if (!stack_) stack_ = call_stack(places_, warp_, lane_, innermost());
    return *stack_;
}

std::vector<View::Frame> View::frames() const {
    std::vector<Frame> out;
    for (size_t k = 0; k < stack().activations.size(); ++k) {
        auto sources = places_.frames(stack().activations[k].place);
        for (size_t i = 0; i < sources.size(); ++i)
            out.push_back({k, i, i + 1 < sources.size(), std::move(sources[i])});
    }
    return out;
}

Result<uint32_t> View::general(uint32_t n) const {
    if (n >= warp_.cta->launch->registers) return no_register("R" + std::to_string(n));
    if (!activation_) return warp_.row(register_row(n))[lane_];
    const auto v = debug::value_of(stack().activations[activation_].registers[n], warp_, lane_);
    if (v) return *v;
    return make_error(ErrorCode::not_found, "$R" + std::to_string(n),
                      "what it held in this frame is not kept: the functions that it called may "
                      "have overwritten it");
}

Result<std::vector<std::byte>> View::read(MemorySpace space, uint64_t address,
                                          uint64_t bytes) const {
    static constexpr const char* names[] = {"", "global ", "shared ", "local "};
    if (bytes > most_bytes)
        return make_error(ErrorCode::usage, hex(address),
                          std::to_string(bytes) + " bytes are too many at once",
                          "at most " + std::to_string(most_bytes));
    std::vector<std::byte> out(bytes);
    const Launch& launch = *warp_.cta->launch;
    if (space == MemorySpace::constant || space == MemorySpace::parameter) {
        const auto bank =
            static_cast<size_t>(space == MemorySpace::constant ? Base::bank3 : Base::bank0);
        const uint64_t end = launch.bank_bytes[bank];
        for (uint64_t k = 0; k < bytes && address < end && k < end - address; ++k)
            out[k] = launch.base[bank][address + k];
        return out;
    }
    if (space == MemorySpace::global || space == MemorySpace::generic) {
        const Extent& e = launch.space->find(address);
        if (e.holds(address, bytes) && !(e.flags & Extent::freed)) {
            host::read(out.data(), e.host + (address - e.lo), bytes);
            return out;
        }
    }
    static constexpr AccessSpace spaces[] = {AccessSpace::generic, AccessSpace::global,
                                             AccessSpace::shared, AccessSpace::local};
    if (space == MemorySpace::shared && !(address >> 24))
        address |= uint64_t{warp_.cta->rank} << 24;
    for (uint64_t k = 0; k < bytes; ++k) {
        const Landing at =
            land(warp_, spaces[static_cast<int>(space)], address + k, lane_, 1, false);
        if (!at.host)
            return make_error(ErrorCode::input,
                              "cannot read " + std::string(names[static_cast<int>(space)]) +
                                  "memory at " + hex(address + k),
                              at.what[0] ? at.what : launch.space->describe(address + k));
        out[k] = static_cast<std::byte>(host::load<uint8_t>(at.host));
    }
    return out;
}

Result<Value> View::load(const TypeRef& type, const ValuePlace& place) const {
    if (type->bytes > most_bytes)
        return make_error(ErrorCode::usage, "'" + type->name + "'",
                          std::to_string(type->bytes) + " bytes are too many at once",
                          "at most " + std::to_string(most_bytes));
    Value v;
    v.type = type;
    v.place = place;
    v.bytes.resize(type->bytes);
    const auto words = static_cast<uint32_t>((type->bytes + 3) / 4);
    switch (place.kind) {
        case ValuePlace::Kind::memory: {
            SASSEMU_ASSIGN(v.bytes, read(place.space, place.address, type->bytes));
            break;
        }
        case ValuePlace::Kind::registers:
            if (activation_) v.place.reset();  // it may be anywhere by now
            for (uint32_t k = 0; k < words; ++k) {
                SASSEMU_ASSIGN(const uint32_t word,
                               general(static_cast<uint32_t>(place.address) + k));
                std::memcpy(v.bytes.data() + size_t{4} * k, &word,
                            std::min<size_t>(4, type->bytes - size_t{4} * k));
            }
            break;
        case ValuePlace::Kind::uniform:
            for (uint32_t k = 0; k < words; ++k) {
                const auto reg = static_cast<uint32_t>(place.address) + k;
                if (reg >= uniform_registers) return no_register("UR" + std::to_string(reg));
                std::memcpy(v.bytes.data() + size_t{4} * k, warp_.uniform + reg,
                            std::min<size_t>(4, type->bytes - size_t{4} * k));
            }
            break;
        case ValuePlace::Kind::predicate:
            v.bytes[0] = static_cast<std::byte>(warp_.p[place.address] >> lane_ & 1);
            break;
    }
    return v;
}

Result<Value> View::special(const std::string& text) const {
    std::string name = text, suffix;
    if (const size_t dot = text.find('.'); dot != text.npos) {
        name = text.substr(0, dot);
        suffix = text.substr(dot + 1);
    }
    const char* type = suffix.empty() || suffix == "u" ? "unsigned int"
                       : suffix == "s"                 ? "int"
                       : suffix == "f"                 ? "float"
                       : suffix == "d"                 ? "double"
                       : suffix == "64"                ? "unsigned long"
                                                       : nullptr;
    if (!type)
        return make_error(ErrorCode::usage, "$" + text, "a register is no '." + suffix + "'",
                          ".u, .s, .f; of a pair .64, .d");
    using Kind = ValuePlace::Kind;
    if (name == "RZ" || name == "URZ") return of_bits(0, type);
    if (name == "PT" || name == "UPT") return of_bits(1, "bool");
    const auto at = [](Kind kind, uint64_t n) { return ValuePlace{kind, MemorySpace::generic, n}; };
    const bool of_frame = name.starts_with("U") || name.starts_with("P") || name.starts_with("B");
    if (activation_ && of_frame && name.size() <= 4 && name != "PT")
        return make_error(ErrorCode::not_found, "$" + name,
                          "what it held in this frame is not known: only R registers are saved",
                          "frame 0");
    if (const auto n = register_number(name, "R")) {
        if (*n >= warp_.cta->launch->registers) return no_register(name);
        return load(basic_type(type), at(Kind::registers, *n));
    }
    if (const auto n = register_number(name, "UR"))
        return load(basic_type(type), at(Kind::uniform, *n));
    if (const auto n = register_number(name, "UP"); n && *n < 8)
        return load(basic_type("bool"), at(Kind::predicate, 8 + *n));
    if (const auto n = register_number(name, "P"); n && *n < 8)
        return load(basic_type("bool"), at(Kind::predicate, *n));
    if (const auto n = register_number(name, "B"); n && *n < 16)
        return of_bits(warp_.convergence.b[*n], "unsigned int");
    if (name == "pc") return of_bits(places_.pc(place()), "unsigned long");
    if (name == "lane") return of_bits(lane_, "unsigned int");
    if (name == "warp") return of_bits(warp_.index, "unsigned int");
    if (name == "cta") return of_bits(warp_.cta->linear, "unsigned long");
    if (name == "sm") return of_bits(warp_.cta->sm, "unsigned int");
    if (name == "clock") return of_bits(warp_.cta->clock(), "unsigned long");
    if (name == "position") return of_bits(position_, "unsigned long");
    if (name == "active") {
        const Path* path = path_of(warp_, lane_);
        return of_bits(!path                                 ? 0
                       : path == warp_.paths + warp_.current ? warp_.active
                                                             : path->lanes,
                       "unsigned int");
    }
    return no_register(text);
}

std::vector<const SourceVariable*> View::variables() const {
    const CodePlace at = place();
    const Function* f = at.module ? at.module->function_at(at.offset) : nullptr;
    if (!f) return {};
    auto all = places_.info(at.module).visible(f->name, at.offset - f->code_offset);
    if (all.empty()) return all;
    // Those of the frame's own function.
    const size_t depth = places_.frames(at).size() - 1 - inlined_;
    std::erase_if(all, [&](const SourceVariable* v) { return v->inlined != depth; });
    std::ranges::reverse(all);
    return all;
}

// A variable where the DWARF expression says that it is now.
Result<Value> View::value_of(const SourceVariable& v) const {
    const auto gone = [&](const std::string& why) {
        return make_error(ErrorCode::not_found, "'" + v.name + "'", why);
    };
    const CodePlace here = place();
    const Function& f = *here.module->function_at(here.offset);
    const uint64_t at = here.offset - f.code_offset;
    const DebugInfo& info = places_.info(here.module);
    const SourceVariable::Location* location = nullptr;
    for (const auto& l : v.locations)
        if (at >= l.low && at < l.high) location = &l;
    if (!location) return gone("has no place at this instruction");
    uint64_t address = 0;
    uint32_t space = v.address_class;
    for (ByteReader r(location->expression); !r.at_end();) {
        const auto op = r.take<uint8_t>();
        if (op == 0x03) {  // addr
            address = r.take<uint64_t>();
        } else if (op == 0x23) {  // plus_uconst
            address += r.take_uleb();
        } else if (op == 0x91) {  // fbreg: from the frame's end
            const bool kernel = f.is_kernel;
            const uint64_t frame = info.frame(f.name);
            const auto& known = stack().activations[activation_].frame;
            uint64_t begin = warp_.cta->launch->local_bytes;
            if (!kernel && known) begin = *known;
            if (!kernel && !known) {
                SASSEMU_ASSIGN(const uint32_t r1, general(1));
                begin = r1 + frame;
            }
            address = begin + static_cast<uint64_t>(r.take_sleb());
            space = 6;
        } else if (op == 0x90) {  // regx: a name of the PTX, as a number
            std::string name;
            for (uint64_t code = r.take_uleb(); code; code >>= 8)
                name.insert(name.begin(), static_cast<char>(code));
            const auto parts = info.registers(f.name, name, at);
            Value value;
            value.type = v.type;
            value.bytes.resize(v.type->bytes);
            if (parts.size() * 4 < v.type->bytes) return gone("is in no register here");
            for (size_t k = 0; k * 4 < v.type->bytes; ++k) {
                uint32_t word = 0;
                if (parts[k].file == DebugInfo::Part::File::general &&
                    parts[k].number < warp_.cta->launch->registers) {
                    const auto held = general(parts[k].number);
                    if (!held)
                        return gone("was in R" + std::to_string(parts[k].number) +
                                    ", which the functions that were called may have overwritten");
                    word = *held;
                } else if (parts[k].file == DebugInfo::Part::File::predicate && activation_)
                    return gone(
                        "was in a predicate, which the functions that were called may "
                        "have overwritten");
                else if (parts[k].file == DebugInfo::Part::File::predicate && parts[k].number < 8)
                    word = warp_.p[parts[k].number] >> lane_ & 1;
                else
                    return gone("is in no register here");
                std::memcpy(value.bytes.data() + 4 * k, &word,
                            std::min<size_t>(4, v.type->bytes - 4 * k));
            }
            const bool in_order = parts[0].file == DebugInfo::Part::File::general &&
                                  (parts.size() == 1 || parts[1].number == parts[0].number + 1);
            if (in_order && !activation_)
                value.place =
                    ValuePlace{ValuePlace::Kind::registers, MemorySpace::generic, parts[0].number};
            return value;
        } else if (op != 0x96) {  // nop
            return gone("lies where the debugger cannot say");
        }
        if (r.failed()) return gone("has a damaged location");
    }
    return placed(v, space, address);
}

// `space`: as the compiler numbers address spaces.
Result<Value> View::placed(const SourceVariable& v, uint32_t space, uint64_t address) const {
    const auto memory = [&](MemorySpace s) {
        return load(v.type, {ValuePlace::Kind::memory, s, address});
    };
    switch (space) {
        case 4:
        case 5: {  // constant and global: the address is its symbol's, and constants lie in memory
            const auto named = buffers_.find(v.symbol.empty() ? v.name : v.symbol);
            if (named == buffers_.end())
                return make_error(ErrorCode::not_found, "'" + v.name + "'", "has no address");
            address = named->second.address;
            return memory(MemorySpace::global);
        }
        case 6:
            return memory(MemorySpace::local);
        case 7:
            return memory(MemorySpace::parameter);
        case 8:
            return memory(MemorySpace::shared);
        default:
            return memory(MemorySpace::generic);
    }
}

// Of the module whose code runs here; null: -G has told of none.
const SourceVariable* View::of_module(const std::string& name) const {
    const CodePlace here = place();
    const SourceVariable* v = here.module ? places_.info(here.module).of_module(name) : nullptr;
    const bool has_symbol = v && (v->address_class == 4 || v->address_class == 5);
    return has_symbol && !buffers_.contains(v->symbol) ? nullptr : v;
}

Result<Value> View::variable(const std::string& text) const {
    const bool global = text.starts_with("::");
    const std::string name = global ? text.substr(2) : text;
    if (!global)
        for (const SourceVariable* v : variables())
            if (v->name == name) return value_of(*v);
    const Launch& launch = *warp_.cta->launch;
    const auto triple = [&](const Dim3& d) {
        static const TypeRef type = [] {
            auto t = std::make_shared<Type>();
            t->kind = Type::Kind::structure;
            t->name = "uint3";
            t->bytes = 12;
            for (const char* axis : {"x", "y", "z"})
                t->members.push_back({axis, 4 * t->members.size(), basic_type("unsigned int")});
            return t;
        }();
        Value v;
        v.type = type;
        v.bytes.resize(12);
        const uint32_t axes[3] = {d.x, d.y, d.z};
        std::memcpy(v.bytes.data(), axes, sizeof axes);
        return v;
    };
    if (name == "blockIdx") return triple(warp_.cta->id);
    if (name == "blockDim") return triple(launch.block);
    if (name == "gridDim") return triple(launch.grid);
    if (name == "threadIdx") {
        return triple(thread_of(launch.block, warp_.index * 32u + lane_));
    }
    if (name == "warpSize") return Value::of_integer(32, 4);
    if (const SourceVariable* v = of_module(name)) {
        uint64_t address = 0;
        for (const auto& l : v->locations)
            if (ByteReader r(l.expression); r.take<uint8_t>() == 0x03) address = r.take<uint64_t>();
        return placed(*v, v->address_class, address);
    }
    if (const auto at = buffers_.find(name); at != buffers_.end()) {
        const uint64_t bytes = at->second.bytes;
        const TypeRef element = bytes % 4 ? basic_type("uint8_t") : basic_type("unsigned int");
        const TypeRef type = bytes == 8                ? basic_type("unsigned long")
                             : bytes == element->bytes ? element
                                                       : array_of(element, bytes / element->bytes);
        Value v;
        v.type = type;
        v.place = ValuePlace{ValuePlace::Kind::memory, MemorySpace::global, at->second.address};
        // Of a large buffer its beginning.
        SASSEMU_ASSIGN(v.bytes,
                       read(MemorySpace::global, at->second.address, std::min(bytes, most_bytes)));
        return v;
    }
    return make_error(ErrorCode::not_found, "'" + name + "'",
                      "there is no such variable or buffer here");
}

Result<Value> View::constant(uint64_t bank, uint64_t offset) const {
    const Launch& launch = *warp_.cta->launch;
    const Base base = bank == 0   ? Base::bank0
                      : bank == 2 ? Base::bank2
                      : bank == 3 ? Base::bank3
                                  : Base::bank4;
    if (bank == 1 || bank > 4)
        return make_error(ErrorCode::not_found, "c[" + std::to_string(bank) + "]",
                          "there is no such constant bank", "0, 2, 3 or 4");
    const auto b = static_cast<size_t>(base);
    uint32_t v = 0;
    if (launch.base[b] && offset + 4 <= launch.bank_bytes[b])
        std::memcpy(&v, launch.base[b] + offset, 4);
    return of_bits(v, "unsigned int");
}

}  // namespace sassemu::debug
