// SPDX-License-Identifier: Apache-2.0
// Typed values of the program under debug, and how they are printed. What belongs here: types,
// where a value lies, its text. Where values come from is in view.hpp and expression.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emu/base/result.hpp"

namespace sassemu::debug {

struct Type;
using TypeRef = std::shared_ptr<const Type>;

// constant: the module's bank 3; parameter: bank 0, whose offsets the debug information has.
enum class MemorySpace : uint8_t { generic, global, shared, local, constant, parameter };
// Of its number, as messages have it; another number is none: generic.
inline MemorySpace space_of(uint8_t number) {
    const auto space = static_cast<MemorySpace>(number);
    return space <= MemorySpace::parameter ? space : MemorySpace::generic;
}

struct Member {
    std::string name;
    uint64_t offset = 0;
    TypeRef type;
};

struct Type {
    enum class Kind : uint8_t {
        none,  // void, or not known
        boolean,
        character,
        signed_integer,
        unsigned_integer,
        real,
        pointer,
        array,
        structure,
        enumeration
    };
    Kind kind = Kind::none;
    std::string name;
    uint64_t bytes = 0;
    TypeRef of;                                // pointer, array
    uint64_t count = 0;                        // array
    MemorySpace space = MemorySpace::generic;  // pointer: where it points
    std::vector<Member> members;               // structure
    std::vector<std::pair<std::string, int64_t>> enumerators;

    bool is_integer() const {
        return kind == Kind::boolean || kind == Kind::character || kind == Kind::signed_integer ||
               kind == Kind::unsigned_integer || kind == Kind::enumeration;
    }
    bool is_scalar() const { return is_integer() || kind == Kind::real || kind == Kind::pointer; }
    bool is_signed() const {
        return kind == Kind::signed_integer || kind == Kind::character || kind == Kind::enumeration;
    }
};

// "unsigned int", "float", ...; null: no such type.
TypeRef basic_type(const std::string& name);
TypeRef integer_type(unsigned bytes, bool is_signed);
TypeRef pointer_to(TypeRef type, MemorySpace space = MemorySpace::generic);
TypeRef array_of(TypeRef type, uint64_t count);

struct ValuePlace {
    enum class Kind : uint8_t { memory, registers, uniform, predicate } kind = Kind::memory;
    MemorySpace space = MemorySpace::generic;
    uint64_t address = 0;  // or the number of the register
};

inline ValuePlace::Kind place_kind(uint8_t number) {
    const auto kind = static_cast<ValuePlace::Kind>(number);
    return kind <= ValuePlace::Kind::predicate ? kind : ValuePlace::Kind::memory;
}

struct Value {
    TypeRef type;
    std::vector<std::byte> bytes;
    std::optional<ValuePlace> place;

    uint64_t bits() const;    // the first 8 bytes
    int64_t integer() const;  // with its sign
    double real() const;      // of any scalar
    bool is_true() const;
    static Value of_integer(int64_t v, unsigned bytes = 8, bool is_signed = true);
    static Value of_real(double v, unsigned bytes = 8);
};

// `format`: a letter of gdb's, or 0 for the type's own.
std::string text_of(const Value& value, char format = 0);

}  // namespace sassemu::debug
