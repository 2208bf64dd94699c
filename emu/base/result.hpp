// SPDX-License-Identifier: Apache-2.0
// Errors as values: Error, Result<T> and the macros that pass an error on.
// Belongs here: the one error type of the emulator's libraries. Does not belong here: guest faults
// (they are results of a run, not host errors), logging, exit codes' text.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "emu/base/exit_code.hpp"

namespace sassemu {

// Why something failed. The command line turns the code into an exit code (exit_code()).
enum class ErrorCode : std::uint8_t {
    usage,        // wrong command line or wrong call of the API
    input,        // a file, plan or module is malformed, truncated or missing
    unsupported,  // well formed, but outside what the emulator executes
    not_found,    // a named kernel, symbol, image or option does not exist
    limit,        // a time, memory or instruction limit was reached
    system,       // the operating system refused (I/O, memory)
    internal,     // a broken invariant: a bug in the emulator
};

[[nodiscard]] constexpr std::string_view error_code_name(ErrorCode code) {
    switch (code) {
        case ErrorCode::usage:
            return "usage";
        case ErrorCode::input:
            return "input";
        case ErrorCode::unsupported:
            return "unsupported";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::limit:
            return "limit";
        case ErrorCode::system:
            return "system";
        case ErrorCode::internal:
            return "internal";
    }
    return "internal";
}

// The process exit code that the command line reports for a code (architecture, "Exit codes").
[[nodiscard]] constexpr int exit_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::usage:
        case ErrorCode::input:
        case ErrorCode::not_found:
        case ErrorCode::system:
            return exit_with::bad_input;
        case ErrorCode::limit:
            return exit_with::limit;
        case ErrorCode::unsupported:
            return exit_with::not_executed;
        case ErrorCode::internal:
            return exit_with::internal;
    }
    return exit_with::internal;
}

struct [[nodiscard]] Error {
    ErrorCode code = ErrorCode::internal;
    std::string where;  // file and field ("a.cubin: section 3 sh_offset"), or kernel and pc
    std::string what;   // the reason, one clause, no full stop
    std::string hint;   // what to do about it; may be empty

    // One line: "where: what; hint" (the parts that are there).
    [[nodiscard]] std::string message() const {
        std::string text = where;
        if (!where.empty() && !what.empty()) text += ": ";
        text += what;
        if (!hint.empty()) {
            if (!text.empty()) text += "; ";
            text += hint;
        }
        for (char& c : text) {
            if (c == '\n' || c == '\r') c = ' ';
        }
        return text;
    }

    // The same error seen from one level further out: "outer: where".
    [[nodiscard]] Error within(std::string_view outer) && {
        where = where.empty() ? std::string(outer) : std::string(outer) + ": " + where;
        return std::move(*this);
    }
};

[[nodiscard]] inline Error make_error(ErrorCode code, std::string where, std::string what,
                                      std::string hint = {}) {
    return Error{code, std::move(where), std::move(what), std::move(hint)};
}

// A value or an Error. Reading the side that is not there is a bug and asserts.
template <class T>
class [[nodiscard]] Result {
  public:
    using value_type = T;

    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    [[nodiscard]] T& value() & {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] const T& value() const& {
        assert(ok());
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] T&& value() && {
        assert(ok());
        return std::move(*std::get_if<0>(&state_));
    }
    [[nodiscard]] Error& error() & {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] const Error& error() const& {
        assert(!ok());
        return *std::get_if<1>(&state_);
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok());
        return std::move(*std::get_if<1>(&state_));
    }

    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    // By value, so that `for (auto& x : *make())` does not outlive what it walks.
    T operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    template <class U>
    [[nodiscard]] T value_or(U&& fallback) const& {
        return ok() ? value() : static_cast<T>(std::forward<U>(fallback));
    }

    // f(value) wrapped in a Result; the error passes through.
    template <class F>
    [[nodiscard]] auto map(F&& f) && -> Result<std::invoke_result_t<F, T&&>> {
        if (!ok()) return std::move(*this).error();
        return std::forward<F>(f)(std::move(*this).value());
    }

    // f(value), where f itself returns a Result; the error passes through.
    template <class F>
    [[nodiscard]] auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
        if (!ok()) return std::move(*this).error();
        return std::forward<F>(f)(std::move(*this).value());
    }

    // The same result whose error, if any, names one more outer place.
    [[nodiscard]] Result within(std::string_view outer) && {
        if (ok()) return std::move(*this);
        return std::move(*this).error().within(outer);
    }

  private:
    std::variant<T, Error> state_;
};

// Success without a value: `return {};` or `return ok_result();`.
template <>
class [[nodiscard]] Result<void> {
  public:
    using value_type = void;

    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

    [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    void value() const { assert(ok()); }

    [[nodiscard]] Error& error() & {
        assert(!ok());
        return *error_;
    }
    [[nodiscard]] const Error& error() const& {
        assert(!ok());
        return *error_;
    }
    [[nodiscard]] Error&& error() && {
        assert(!ok());
        return std::move(*error_);
    }

    [[nodiscard]] Result within(std::string_view outer) && {
        if (ok()) return {};
        return std::move(*error_).within(outer);
    }

  private:
    std::optional<Error> error_;
};

[[nodiscard]] inline Result<void> ok_result() { return {}; }

}  // namespace sassemu

#define SASSEMU_JOIN2(a, b) a##b
#define SASSEMU_JOIN(a, b) SASSEMU_JOIN2(a, b)

// SASSEMU_TRY(expr): runs expr, a Result; returns its error from the enclosing function.
#define SASSEMU_TRY(expr)                                                           \
    do {                                                                            \
        auto&& sassemu_try_result = (expr);                                         \
        if (!sassemu_try_result.ok()) return std::move(sassemu_try_result).error(); \
    } while (false)

// SASSEMU_ASSIGN(auto x, expr): the value of expr into x; an error returns.
#define SASSEMU_ASSIGN(target, expr)                                       \
    auto SASSEMU_JOIN(sassemu_result_, __LINE__) = (expr);                 \
    if (!SASSEMU_JOIN(sassemu_result_, __LINE__).ok())                     \
        return std::move(SASSEMU_JOIN(sassemu_result_, __LINE__)).error(); \
    target = std::move(SASSEMU_JOIN(sassemu_result_, __LINE__)).value()
