// SPDX-License-Identifier: Apache-2.0
// See value.hpp.
#include "emu/debug/value.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

namespace sassemu::debug {
namespace {

using Kind = Type::Kind;
constexpr uint64_t most_elements = 200;  // as gdb's print elements

TypeRef make(Kind kind, std::string name, uint64_t bytes) {
    auto type = std::make_shared<Type>();
    type->kind = kind;
    type->name = std::move(name);
    type->bytes = bytes;
    return type;
}

std::string printed(const char* format, auto... values) {
    char text[96];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

double half_to_double(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double sign = h >> 15 ? -1 : 1;
    if (exponent == 31) return fraction ? std::nan("") : sign * HUGE_VAL;
    return sign *
           (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

std::string real_text(double v, uint64_t bytes) {
    if (std::isnan(v)) return std::signbit(v) ? "-nan" : "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    return printed(bytes == 8 ? "%.17g" : bytes == 4 ? "%.9g" : "%.5g", v);
}

std::string scalar_text(const Value& v, char format) {
    const Type& type = *v.type;
    const uint64_t bits = v.bits();
    const auto width = static_cast<unsigned>(std::min<uint64_t>(v.bytes.size(), 8) * 8);
    switch (format) {
        case 'x':
            return printed("0x%" PRIx64, bits);
        case 'z':
            return printed("0x%0*" PRIx64, static_cast<int>(width / 4), bits);
        case 'a':
            return printed("0x%" PRIx64, bits);
        case 'o':
            return printed("0%" PRIo64, bits);
        case 'u':
            return printed("%" PRIu64, bits);
        case 'd': {
            const int64_t s = width < 64
                                  ? static_cast<int64_t>(bits << (64 - width)) >> (64 - width)
                                  : static_cast<int64_t>(bits);
            return printed("%" PRId64, s);
        }
        case 't': {
            std::string text;
            for (unsigned k = width; k--;)
                if (!text.empty() || bits >> k & 1 || !k) text += bits >> k & 1 ? '1' : '0';
            return text;
        }
        case 'c':
            return printed("%d '%c'", static_cast<int>(static_cast<int8_t>(bits)),
                           bits >= 32 && bits < 127 ? static_cast<int>(bits) : '.');
        case 'f': {
            Value as = v;
            if (v.bytes.size() == 2 || v.bytes.size() == 4 || v.bytes.size() == 8)
                as.type = make(Kind::real, "", v.bytes.size());
            return as.type->kind == Kind::real ? real_text(as.real(), as.type->bytes)
                                               : scalar_text(v, 'd');
        }
        default:
            break;
    }
    switch (type.kind) {
        case Kind::boolean:
            return bits ? "true" : "false";
        case Kind::character:
            return scalar_text(v, 'c');
        case Kind::real:
            return real_text(v.real(), type.bytes);
        case Kind::pointer:
            return "(" + type.name + ") " + scalar_text(v, 'x');
        case Kind::enumeration:
            for (const auto& [name, number] : type.enumerators)
                if (number == v.integer()) return name;
            return scalar_text(v, 'd');
        case Kind::unsigned_integer:
            return scalar_text(v, 'u');
        default:
            return scalar_text(v, 'd');
    }
}

Value part(const Value& whole, const TypeRef& type, uint64_t offset) {
    Value v;
    v.type = type;
    const size_t begin = std::min<size_t>(offset, whole.bytes.size());
    const size_t end = std::min<size_t>(begin + type->bytes, whole.bytes.size());
    v.bytes.assign(whole.bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                   whole.bytes.begin() + static_cast<std::ptrdiff_t>(end));
    return v;
}

}  // namespace

TypeRef basic_type(const std::string& name) {
    static const std::map<std::string, TypeRef> table = [] {
        std::map<std::string, TypeRef> t;
        const auto add = [&](Kind kind, uint64_t bytes, std::initializer_list<const char*> names) {
            for (const char* n : names) t[n] = make(kind, n, bytes);
        };
        add(Kind::none, 0, {"void"});
        add(Kind::boolean, 1, {"bool"});
        add(Kind::character, 1, {"char", "signed char"});
        add(Kind::signed_integer, 1, {"int8_t"});
        add(Kind::unsigned_integer, 1, {"unsigned char", "uint8_t"});
        add(Kind::signed_integer, 2, {"short", "short int", "int16_t"});
        add(Kind::unsigned_integer, 2, {"unsigned short", "unsigned short int", "uint16_t"});
        add(Kind::signed_integer, 4, {"int", "signed", "signed int", "int32_t"});
        add(Kind::unsigned_integer, 4, {"unsigned", "unsigned int", "uint32_t"});
        add(Kind::signed_integer, 8,
            {"long", "long int", "long long", "long long int", "int64_t", "ptrdiff_t"});
        add(Kind::unsigned_integer, 8,
            {"unsigned long", "unsigned long int", "unsigned long long", "unsigned long long int",
             "uint64_t", "size_t"});
        add(Kind::real, 2, {"half", "__half"});
        add(Kind::real, 4, {"float"});
        add(Kind::real, 8, {"double"});
        return t;
    }();
    const auto at = table.find(name);
    return at == table.end() ? nullptr : at->second;
}

TypeRef integer_type(unsigned bytes, bool is_signed) {
    switch (bytes) {
        case 1:
            return basic_type(is_signed ? "int8_t" : "uint8_t");
        case 2:
            return basic_type(is_signed ? "short" : "unsigned short");
        case 4:
            return basic_type(is_signed ? "int" : "unsigned int");
        default:
            return basic_type(is_signed ? "long" : "unsigned long");
    }
}

TypeRef pointer_to(TypeRef type, MemorySpace space) {
    static constexpr const char* spaces[] = {"",        "@global ",   "@shared ",
                                             "@local ", "@constant ", "@parameter "};
    auto p = std::make_shared<Type>();
    p->kind = Kind::pointer;
    p->bytes = 8;
    p->name =
        spaces[static_cast<int>(space)] + type->name + (type->kind == Kind::pointer ? "*" : " *");
    p->of = std::move(type);
    p->space = space;
    return p;
}

TypeRef array_of(TypeRef type, uint64_t count) {
    auto a = std::make_shared<Type>();
    a->kind = Kind::array;
    a->bytes = type->bytes * count;
    a->name = type->name + " [" + std::to_string(count) + "]";
    a->of = std::move(type);
    a->count = count;
    return a;
}

uint64_t Value::bits() const {
    uint64_t v = 0;
    std::memcpy(&v, bytes.data(), std::min<size_t>(bytes.size(), 8));
    return v;
}

int64_t Value::integer() const {
    if (type->kind == Kind::real) {
        constexpr double end = 9223372036854775808.0;  // 2^63
        const double v = real();
        if (std::isnan(v)) return 0;
        return v >= end ? INT64_MAX : v < -end ? INT64_MIN : static_cast<int64_t>(v);
    }
    const uint64_t v = bits();
    const size_t n = bytes.size() * 8;
    if (!type->is_signed() || n >= 64 || !n) return static_cast<int64_t>(v);
    return static_cast<int64_t>(v << (64 - n)) >> (64 - n);
}

double Value::real() const {
    if (type->kind != Kind::real) {
        const int64_t v = integer();
        return type->is_signed() ? static_cast<double>(v)
                                 : static_cast<double>(static_cast<uint64_t>(v));
    }
    const uint64_t v = bits();
    if (bytes.size() == 2) return half_to_double(static_cast<uint16_t>(v));
    if (bytes.size() == 4) {
        float f;
        std::memcpy(&f, &v, 4);
        return f;
    }
    double d;
    std::memcpy(&d, &v, 8);
    return d;
}

bool Value::is_true() const { return type->kind == Kind::real ? real() != 0 : bits() != 0; }

Value Value::of_integer(int64_t v, unsigned bytes, bool is_signed) {
    Value out;
    out.type = integer_type(bytes, is_signed);
    out.bytes.resize(out.type->bytes);
    std::memcpy(out.bytes.data(), &v, out.bytes.size());
    return out;
}

Value Value::of_real(double v, unsigned bytes) {
    Value out;
    out.type = basic_type(bytes == 4 ? "float" : "double");
    out.bytes.resize(bytes);
    const auto f = static_cast<float>(v);
    if (bytes == 4)
        std::memcpy(out.bytes.data(), &f, 4);
    else
        std::memcpy(out.bytes.data(), &v, 8);
    return out;
}

std::string text_of(const Value& v, char format) {
    const Type& type = *v.type;
    if (type.is_scalar()) return scalar_text(v, format);
    if (type.kind == Kind::array) {
        const bool text = type.of->kind == Kind::character && !format;
        std::string out = text ? "\"" : "{";
        const uint64_t shown = std::min(type.count, most_elements);
        for (uint64_t k = 0; k < shown; ++k) {
            const Value one = part(v, type.of, k * type.of->bytes);
            if (text) {
                const auto c = static_cast<char>(one.bits());
                if (!c) break;
                out += c >= 32 && c < 127 ? std::string(1, c) : printed("\\%03o", c & 255u);
                continue;
            }
            // As gdb: what repeats is said once.
            uint64_t same = 1;
            while (k + same < type.count &&
                   part(v, type.of, (k + same) * type.of->bytes).bytes == one.bytes)
                ++same;
            out += (k ? ", " : "") + text_of(one, format);
            if (same >= 10) {
                out += " <repeats " + std::to_string(same) + " times>";
                k += same - 1;
            }
        }
        if (type.count > shown && !text) out += "...";
        return out + (text ? "\"" : "}");
    }
    if (type.kind == Kind::structure) {
        std::string out = "{";
        for (const Member& m : type.members)
            out += (out.size() > 1 ? ", " : "") + m.name + " = " +
                   text_of(part(v, m.type, m.offset), format);
        return out + "}";
    }
    return "<no value>";
}

}  // namespace sassemu::debug
