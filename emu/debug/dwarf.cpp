// SPDX-License-Identifier: Apache-2.0
// See dwarf.hpp. DWARF 2 to 4 as nvcc 13.0 writes it; attributes and forms by the numbers of the
// DWARF standard (version 4, chapter 7).
#include "emu/debug/dwarf.hpp"

#include <sassemu/names.hpp>

#include <algorithm>
#include <set>

#include "emu/module/byte_reader.hpp"

namespace sassemu::debug {
namespace {

constexpr size_t most_entries = 1 << 20, most_nested = 64;
constexpr uint64_t most_type_bytes = 1 << 24;

enum Tag : uint64_t {
    array_type = 0x01,
    enumeration_type = 0x04,
    formal_parameter = 0x05,
    lexical_block = 0x0b,
    member = 0x0d,
    pointer_type = 0x0f,
    reference_type = 0x10,
    compile_unit = 0x11,
    structure_type = 0x13,
    union_type = 0x17,
    typedef_ = 0x16,
    inheritance = 0x1c,
    inlined_subroutine = 0x1d,
    class_type = 0x02,
    subrange_type = 0x21,
    base_type = 0x24,
    const_type = 0x26,
    enumerator = 0x28,
    subprogram = 0x2e,
    variable = 0x34,
    volatile_type = 0x35,
    restrict_type = 0x37
};

struct Entry {
    uint64_t tag = 0, offset = 0;
    size_t depth = 0;
    std::string name, linkage;
    uint64_t type = 0, bytes = 0, encoding = 0, count = 0, low = 0, high = 0, address_class = 0,
             member_at = 0;
    int64_t constant = 0;
    bool has_type = false, has_low = false, has_high = false, high_is_size = false;
    Bytes expression;
    bool has_list = false;
    uint64_t list = 0;
    uint64_t origin = 0, call_file = 0, call_line = 0, declared_in = 0;  // origin 0: none
};

struct Abbreviation {
    uint64_t tag = 0;
    bool children = false;
    std::vector<std::pair<uint64_t, uint64_t>> attributes;  // name, form
};

class Reader {
  public:
    explicit Reader(const DwarfSections& s)
        : info_(s.info),
          abbreviations_(s.abbreviations),
          locations_(s.locations),
          strings_(s.strings) {}

    void read() {
        for (ByteReader unit(info_); unit.remaining() > 11;) {
            const uint64_t begin = unit.position();
            const uint64_t length = unit.take<uint32_t>();
            const uint64_t end = unit.position() + length;
            const auto version = unit.take<uint16_t>();
            const uint64_t table = unit.take<uint32_t>();
            const auto address_bytes = unit.take<uint8_t>();
            if (unit.failed() || length >= 0xfffffff0u || end > info_.size()) return;
            if (version >= 2 && version <= 4 && address_bytes == 8) {
                read_abbreviations(table);
                read_unit(begin, unit.position(), end);
            }
            unit.skip(end - unit.position());
        }
    }

    void functions(std::map<std::string, std::vector<SourceVariable>>& out,
                   std::map<std::string, std::vector<InlinedCall>>& inlined) {
        std::vector<const Entry*> scopes;
        std::string function;
        for (const Entry& e : entries_) {
            std::erase_if(scopes, [&](const Entry* s) { return s->depth >= e.depth; });
            if (e.tag == subprogram) function = e.linkage.empty() ? e.name : e.linkage;
            if (e.tag == inlined_subroutine) add_call(e, scopes, inlined[function]);
            if (e.tag == subprogram || e.tag == lexical_block || e.tag == inlined_subroutine)
                scopes.push_back(&e);
            const Entry& of = origin(e);  // a parameter of what is inlined has its name there
            if ((e.tag != formal_parameter && e.tag != variable) || of.name.empty() || !of.has_type)
                continue;
            const bool of_module = scopes.empty();
            if (of_module && e.tag == formal_parameter) continue;
            SourceVariable v;
            // In a namespace: its name there is its symbol.
            v.name = of_module ? names::demangled(of.name) : of.name;
            v.symbol = of.linkage;
            v.is_parameter = e.tag == formal_parameter;
            v.type = type(of.type, 0);
            v.address_class = static_cast<uint32_t>(e.address_class);
            v.low = 0;
            v.high = ~uint64_t{0};
            v.inlined = static_cast<uint32_t>(std::ranges::count_if(
                scopes, [](const Entry* s) { return s->tag == inlined_subroutine; }));
            if (const Entry* s = of_module ? nullptr : scopes.back();
                s && s->has_low && s->has_high) {
                v.low = s->low;
                v.high = s->high_is_size ? s->low + s->high : s->high;
            }
            if (!e.expression.empty()) v.locations.push_back({0, ~uint64_t{0}, e.expression});
            if (e.has_list) read_list(e.list, v);
            // Of an array that the launch sizes (extern __shared__) nothing but its elements is
            // known.
            const bool open =
                of_module && v.type && v.type->kind == Type::Kind::array && v.type->of->bytes;
            if (v.type && (v.type->bytes || open))
                out[of_module ? "" : function].push_back(std::move(v));
        }
    }

  private:
    void read_abbreviations(uint64_t at) {
        table_.clear();
        for (ByteReader r(abbreviations_, at); !r.at_end();) {
            const uint64_t code = r.take_uleb();
            if (!code) return;
            Abbreviation& a = table_[code];
            a.tag = r.take_uleb();
            a.children = r.take<uint8_t>();
            for (;;) {
                const uint64_t name = r.take_uleb(), form = r.take_uleb();
                if ((!name && !form) || r.failed()) break;
                a.attributes.emplace_back(name, form);
            }
        }
    }

    void read_unit(uint64_t begin, uint64_t at, uint64_t end) {
        size_t depth = 0;
        for (ByteReader r(info_.first(end), at); !r.at_end() && entries_.size() < most_entries;) {
            Entry e;
            e.offset = r.position();
            e.depth = depth;
            const uint64_t code = r.take_uleb();
            if (!code) {
                if (depth) --depth;
                continue;
            }
            const auto a = table_.find(code);
            if (a == table_.end()) return;
            e.tag = a->second.tag;
            for (const auto& [name, form] : a->second.attributes)
                if (!attribute(r, e, name, form, begin)) return;
            if (r.failed()) return;
            if (a->second.children) ++depth;
            by_offset_[e.offset] = entries_.size();
            entries_.push_back(std::move(e));
        }
    }

    bool attribute(ByteReader& r, Entry& e, uint64_t name, uint64_t form, uint64_t unit) {
        uint64_t number = 0;
        Bytes block;
        std::string_view text;
        bool is_list = false;
        switch (form) {
            case 0x01:  // addr
            case 0x07:  // data8
            case 0x14:  // ref8
                number = r.take<uint64_t>();
                is_list = form == 0x07;
                break;
            case 0x03:
                block = r.take_bytes(r.take<uint16_t>());
                break;
            case 0x04:
                block = r.take_bytes(r.take<uint32_t>());
                break;
            case 0x09:
            case 0x18:  // exprloc
                block = r.take_bytes(r.take_uleb());
                break;
            case 0x0a:
                block = r.take_bytes(r.take<uint8_t>());
                break;
            case 0x05:
            case 0x12:
                number = r.take<uint16_t>();
                break;
            case 0x06:
            case 0x10:
            case 0x13:
            case 0x17:  // sec_offset
                number = r.take<uint32_t>();
                is_list = form == 0x06 || form == 0x17;
                break;
            case 0x08:
                text = r.take_c_string();
                break;
            case 0x0e:
                text = c_string_at(strings_, r.take<uint32_t>()).value_or("");
                break;
            case 0x0b:
            case 0x0c:
            case 0x11:
                number = r.take<uint8_t>();
                break;
            case 0x0d:
                number = static_cast<uint64_t>(r.take_sleb());
                break;
            case 0x0f:
            case 0x15:
                number = r.take_uleb();
                break;
            case 0x19:  // flag_present
                number = 1;
                break;
            default:
                return false;
        }
        switch (name) {
            case 0x02:  // location
                e.expression = block;
                e.has_list = is_list;
                e.list = number;
                break;
            case 0x03:
                e.name = text;
                break;
            case 0x0b:
                e.bytes = number;
                break;
            case 0x11:
                e.low = number;
                e.has_low = true;
                break;
            case 0x12:
                e.high = number;
                e.has_high = true;
                e.high_is_size = form != 0x01;
                break;
            case 0x1c:
                e.constant = static_cast<int64_t>(number);
                break;
            case 0x2f:  // upper_bound
                e.count = number + 1;
                break;
            case 0x31:  // abstract_origin
                e.origin = number + (form == 0x10 ? 0 : unit);
                break;
            case 0x33:
                e.address_class = number;
                break;
            case 0x37:
                e.count = number;
                break;
            case 0x38:  // data_member_location: DW_OP_plus_uconst, or a number
                e.member_at = number;
                if (block.size() > 1 && block[0] == 0x23)
                    e.member_at = ByteReader(block, 1).take_uleb();
                break;
            case 0x3a:  // decl_file
                e.declared_in = number;
                break;
            case 0x58:
                e.call_file = number;
                break;
            case 0x59:
                e.call_line = number;
                break;
            case 0x3e:
                e.encoding = number;
                break;
            case 0x49:
                e.type = number + (form == 0x10 ? 0 : unit);
                e.has_type = true;
                break;
            case 0x6e:
            case 0x2007:
                e.linkage = text;
                break;
            default:
                break;
        }
        return !r.failed();
    }

    const Entry& origin(const Entry& e) const {
        const auto at = e.origin ? by_offset_.find(e.origin) : by_offset_.end();
        return at == by_offset_.end() ? e : entries_[at->second];
    }

    void add_call(const Entry& e, const std::vector<const Entry*>& scopes,
                  std::vector<InlinedCall>& out) const {
        const Entry& of = origin(e);
        const std::string& name = of.linkage.empty() ? of.name : of.linkage;
        if (!e.has_low || !e.has_high || name.empty()) return;
        InlinedCall call{e.low, e.high_is_size ? e.low + e.high : e.high, name,
                         static_cast<uint32_t>(std::min<uint64_t>(e.call_line, UINT32_MAX)), false};
        // Who calls: what is inlined around it, or the function itself.
        for (const Entry* s : scopes)
            if (s->tag == subprogram || s->tag == inlined_subroutine)
                call.same_file = e.call_file && origin(*s).declared_in == e.call_file;
        out.push_back(std::move(call));
    }

    void read_list(uint64_t at, SourceVariable& v) const {
        for (ByteReader r(locations_, at); !r.at_end();) {
            const auto low = r.take<uint64_t>(), high = r.take<uint64_t>();
            if (r.failed() || (!low && !high)) return;
            const Bytes expression = r.take_bytes(r.take<uint16_t>());
            if (r.failed() || v.locations.size() > 4096) return;
            v.locations.push_back({low, high, expression});
        }
    }

    // Null: none that has values.
    TypeRef type(uint64_t offset, size_t depth) {
        if (depth > most_nested) return nullptr;
        if (const auto known = types_.find(offset); known != types_.end()) return known->second;
        const auto at = by_offset_.find(offset);
        if (at == by_offset_.end()) return nullptr;
        // A pointer to what is being read now points to something of no size.
        auto out = std::make_shared<Type>();
        types_[offset] = out;
        fill(*out, at->second, depth);
        return out;
    }

    void fill(Type& out, size_t index, size_t depth) {
        using Kind = Type::Kind;
        const Entry& e = entries_[index];
        const TypeRef of = e.has_type ? type(e.type, depth + 1) : nullptr;
        const auto each_child = [&](auto&& act) {
            for (size_t k = index + 1; k < entries_.size() && entries_[k].depth > e.depth; ++k)
                if (entries_[k].depth == e.depth + 1) act(entries_[k]);
        };
        out.name = e.name;
        out.bytes = std::min(e.bytes, most_type_bytes);
        switch (e.tag) {
            case base_type:
                out.kind = e.encoding == 2                        ? Kind::boolean
                           : e.encoding == 4                      ? Kind::real
                           : e.encoding == 6                      ? Kind::character
                           : e.encoding == 5 || e.encoding == 0xd ? Kind::signed_integer
                                                                  : Kind::unsigned_integer;
                break;
            case const_type:
            case volatile_type:
            case restrict_type:
            case typedef_: {
                if (!of) break;
                out = *of;
                if (e.tag == typedef_) out.name = e.name;
                if (e.tag == const_type) out.name = "const " + out.name;
                break;
            }
            case pointer_type:
            case reference_type: {
                static const TypeRef nothing = basic_type("void");
                out = *pointer_to(of ? of : nothing);
                break;
            }
            case array_type: {
                if (!of) break;
                std::vector<uint64_t> counts;
                each_child([&](const Entry& c) {
                    if (c.tag == subrange_type) counts.push_back(c.count);
                });
                TypeRef element = of;
                for (auto n = counts.rbegin(); n != counts.rend(); ++n) {
                    if (element->bytes && *n > most_type_bytes / element->bytes) return;
                    element = array_of(element, *n);
                }
                out = *element;
                break;
            }
            case structure_type:
            case class_type:
            case union_type:
                out.kind = Kind::structure;
                each_child([&](const Entry& c) {
                    if ((c.tag != member && c.tag != inheritance) || !c.has_type) return;
                    TypeRef t = type(c.type, depth + 1);
                    if (!t || c.member_at + t->bytes > out.bytes) return;
                    out.members.push_back({c.name.empty() ? t->name : c.name, c.member_at, t});
                });
                break;
            case enumeration_type:
                out.kind = Kind::enumeration;
                each_child([&](const Entry& c) {
                    if (c.tag == enumerator) out.enumerators.emplace_back(c.name, c.constant);
                });
                break;
            default:
                break;
        }
    }

    Bytes info_, abbreviations_, locations_, strings_;
    std::map<uint64_t, Abbreviation> table_;
    std::vector<Entry> entries_;
    std::map<uint64_t, size_t> by_offset_;
    std::map<uint64_t, TypeRef> types_;
};

}  // namespace

void read_dwarf(const DwarfSections& sections,
                std::map<std::string, std::vector<SourceVariable>>& variables,
                std::map<std::string, std::vector<InlinedCall>>& inlined) {
    Reader reader(sections);
    reader.read();
    reader.functions(variables, inlined);
}

}  // namespace sassemu::debug
