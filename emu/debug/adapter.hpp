// SPDX-License-Identifier: Apache-2.0
// The Debug Adapter Protocol (microsoft.github.io/debug-adapter-protocol, 1.6x) over a stream: what
// editors ask, answered by a session. A thread of the protocol is a warp that is resident.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emu/debug/console.hpp"
#include "emu/debug/focus.hpp"
#include "emu/debug/session.hpp"
#include "emu/debug/sources.hpp"

namespace sassemu::debug {

class Adapter {
  public:
    // Makes the session of a launch request: its arguments "program" and "arch", "" if not given.
    using Start = std::function<Result<std::unique_ptr<Session>>(
        const std::string& program, const std::string& arch, SessionOptions options)>;
    // Descriptors: requests come from `in`, everything else goes to `out`.
    Adapter(int in, int out, Sources& sources, Start start);
    ~Adapter();
    // Until the client disconnects or is gone.
    Result<void> serve();

  private:
    enum class Scope : uint8_t { locals, registers, predicates, uniform, buffers, value };
    struct Variables {
        Scope scope = Scope::locals;
        Json focus;
        std::string expression;  // value: what its parts belong to
    };
    using Handler = Result<Json> (Adapter::*)(const Json& arguments);
    static const std::map<std::string, Handler>& handlers();

    bool read_more(bool wait);
    bool take_message(Json& message);
    void send(Json message);
    void event(const char* name, Json body);
    void answer(const Json& request, const Result<Json>& result);
    Result<Json> perform(const Json& request);
    void handle(const Json& request);
    // The program runs: `go` sets the session's stop. Within a run: how it goes on.
    void run(const std::function<Result<void>()>& go);
    void tell_stop();
    int64_t thread_of(const Json& focus);
    Result<Json> focus_of(const Json& arguments);
    Result<Json> ask(Json question);
    Json source_of(const std::string& file);
    int64_t reference(Variables of);
    Json variable(const std::string& name, const std::string& expression, const Json& focus);
    std::vector<int>& forget(const std::string& owner);
    Json set(const std::string& owner, const Json& wanted,
             const std::function<std::vector<std::string>(const Json&)>& places);
    Result<void> needs_session() const;

    Result<Json> initialize(const Json&);
    Result<Json> launch(const Json&);
    Result<Json> configuration_done(const Json&);
    Result<Json> disconnect(const Json&);
    Result<Json> threads(const Json&);
    Result<Json> stack_trace(const Json&);
    Result<Json> scopes(const Json&);
    Result<Json> variables(const Json&);
    Result<Json> evaluate(const Json&);
    Result<Json> set_breakpoints(const Json&);
    Result<Json> set_function_breakpoints(const Json&);
    Result<Json> set_instruction_breakpoints(const Json&);
    Result<Json> set_exception_breakpoints(const Json&);
    Result<Json> data_breakpoint_info(const Json&);
    Result<Json> set_data_breakpoints(const Json&);
    Result<Json> disassemble(const Json&);
    Result<Json> read_memory(const Json&);
    Result<Json> pause(const Json&);
    Result<Json> resume(const Json&, const char* what, bool back);
    Result<Json> go_on(const Json&);
    Result<Json> next(const Json&);
    Result<Json> step_in(const Json&);
    Result<Json> step_out(const Json&);
    Result<Json> step_back(const Json&);
    Result<Json> reverse_continue(const Json&);

    const int in_, out_;
    Sources& sources_;
    const Start start_;
    std::unique_ptr<Session> session_;
    std::string buffer_;
    std::deque<Json> queue_;
    std::function<void()> then_;          // after the answer
    std::function<Result<void>()> next_;  // how it runs
    std::map<int64_t, Json> threads_;
    std::map<int64_t, Variables> variables_;
    std::map<std::string, std::vector<int>> set_;  // breakpoints by who has set them
    int64_t sequence_ = 1;
    bool stop_on_entry_ = true, ends_ = false, gone_ = false, runs_ = false;
    bool foreign_ = false;  // what came is no message
};

}  // namespace sassemu::debug
