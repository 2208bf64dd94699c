// SPDX-License-Identifier: Apache-2.0
// .sass files: the kernels are assembled, loaded and prepared as for a launch; the test is the JSON
// object that its `// litmus ` lines make up. docs/litmus.md, section 9.
#include "emu/explore/sass/read_sass.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "emu/explore/litmus/json_text.hpp"
#include "emu/explore/ptx/read_test.hpp"
#include "emu/explore/sass/program.hpp"
#include "emu/sass/assembled.hpp"
#include "emu/schedule/create_gpu.hpp"

namespace sassemu::explore {
namespace {

using Json = nlohmann::ordered_json;

Error bad(std::string where, std::string what, std::string hint = {}) {
    return make_error(ErrorCode::input, std::move(where), std::move(what), std::move(hint));
}

constexpr std::string_view mark = "// litmus ";

// What follows the marks, one after the other; and, at which byte of it each line begins.
struct Header {
    std::string text;
    struct Line {
        size_t at;
        uint32_t number;
    };
    std::vector<Line> lines;

    explicit Header(const std::string& file) {
        uint32_t number = 1;
        for (size_t i = 0; i < file.size(); ++number) {
            const size_t end = std::min(file.find('\n', i), file.size());
            if (const std::string_view line(file.data() + i, end - i); line.starts_with(mark)) {
                lines.push_back({text.size(), number});
                text += line.substr(mark.size());
            }
            i = end + 1;
        }
    }
    // ":line:column" in the file of a byte of the condition; empty when it has none.
    std::string place(size_t condition_at) const {
        const auto in = condition_at == text.npos
                            ? std::nullopt
                            : place_in_string(text, "condition", condition_at);
        if (!in) return {};
        const size_t at = in->column - 1;
        const auto next = std::ranges::upper_bound(lines, at, {}, &Line::at);
        return ":" + std::to_string(next[-1].number) + ":" +
               std::to_string(at - next[-1].at + mark.size() + 1);
    }
};

const sass::AssembledKernel* find_kernel(const sass::AssembledModule& m, const std::string& name) {
    const auto k = std::ranges::find(m.kernels, name, &sass::AssembledKernel::name);
    return k == m.kernels.end() ? nullptr : &*k;
}

class Front {
  public:
    Front(const std::string& text, const std::string& path) : text_(text), path_(path) {}

    Result<Test> read() {
        const Header header(text_);
        if (header.text.empty())
            return bad(
                path_, "no line begins with '// litmus '",
                "a .sass litmus file holds its test in such lines (docs/litmus.md, section 9)");
        SASSEMU_ASSIGN(json_, read_json<Json>(header.text).within(path_ + ": '// litmus ' lines"));
        if (!json_.is_object() || !json_.contains("threads") || !json_["threads"].is_array())
            return bad(path_, "the '// litmus ' lines are no JSON object with threads");
        std::vector<sass::Diagnostic> diagnostics;
        const auto assembled = sass::read_sass(text_, "", diagnostics);
        if (!assembled)
            return bad(path_ + ":" + std::to_string(diagnostics.front().line),
                       diagnostics.front().what, diagnostics.front().hint);
        assembled_ = &*assembled;
        SASSEMU_TRY(kernels_and_locations());
        size_t condition_at = header.text.npos;
        auto test =
            read_test(json_.dump(-1, ' ', false, Json::error_handler_t::replace), &condition_at);
        if (!test) return std::move(test).error().within(path_ + header.place(condition_at));
        test_ = std::move(test).value();
        SASSEMU_TRY(load());
        SASSEMU_TRY(place_locations());
        for (uint32_t t = 0; t < test_.threads.size(); ++t) {
            if (kernels_[t]) {
                SASSEMU_TRY(launch(t));
            } else if (test_.threads[t].kind != ThreadKind::host) {
                return bad(path_ + ": threads", "a thread with `ops` is one of `kind` host");
            } else {
                test_.sass->threads().emplace_back();
            }
        }
        auto finished = finish_sass_threads(test_, &condition_at);
        if (!finished)
            return std::move(finished).error().within(path_ + header.place(condition_at));
        return std::move(test_);
    }

  private:
    // Each thread's kernel; parameters of 8 bytes are locations of their names.
    Result<void> kernels_and_locations() {
        Json& locations = json_["locations"];
        if (!locations.is_object()) locations = Json::object();
        std::vector<std::string> aliases;
        if (const auto a = json_.find("aliases"); a != json_.end() && a->is_array())
            for (const Json& one : *a)
                if (one.is_object() && one.contains("addr") && one["addr"].is_string())
                    aliases.push_back(one["addr"]);
        for (Json& thread : json_["threads"]) {
            if (thread.is_object() && !thread.contains("kernel") && thread.contains("ops")) {
                kernels_.push_back(nullptr);  // of operations: the host
                values_.emplace_back();
                places_.emplace_back();
                continue;
            }
            const bool named =
                thread.is_object() && thread.contains("kernel") && thread["kernel"].is_string();
            const std::string name = named ? thread["kernel"].get<std::string>() : std::string{};
            const auto* kernel = find_kernel(*assembled_, name);
            if (!kernel) return bad(path_ + ": threads", "there is no .kernel '" + name + "'");
            kernels_.push_back(kernel);
            values_.push_back(thread.contains("params") ? thread["params"] : Json::object());
            if (!values_.back().is_object())
                return bad(path_ + ": threads", "params must be an object of numbers");
            for (const auto& p : kernel->parameters)
                if (p.size == 8 && !values_.back().contains(p.name) &&
                    !locations.contains(p.name) &&
                    std::ranges::find(aliases, p.name) == aliases.end())
                    locations[p.name] = Json::object();
            const auto number = [&](const char* key, uint64_t most, uint32_t& out) -> Result<void> {
                out = 0;
                if (!thread.contains(key)) return {};
                if (!thread[key].is_number_unsigned() || thread[key].get<uint64_t>() > most)
                    return bad(path_ + ": threads", std::string(key) + " must be a number up to " +
                                                        std::to_string(most));
                out = thread[key].get<uint32_t>();
                return {};
            };
            SassThread place;
            uint32_t ctaid = 0;
            SASSEMU_TRY(number("tid", 1023, place.thread));
            SASSEMU_TRY(number("ctaid", 65535, ctaid));
            place.cta = ctaid;
            places_.push_back(place);
            thread["ops"] = Json::array();
        }
        return {};
    }

    Result<void> load() {
        const std::vector<uint8_t> cubin = sass::write_cubin(*assembled_);
        SASSEMU_ASSIGN(Module module, load_module(cubin, path_));
        GpuOptions options;
        options.reference = true;
        options.agents = AgentOrder::lazy;
        SASSEMU_ASSIGN(auto gpu, create_gpu(std::move(options), nullptr));
        SASSEMU_ASSIGN(module_, gpu->load(std::make_shared<const Module>(std::move(module))));
        test_.sass = std::make_shared<SassProgram>(std::move(gpu));
        return {};
    }

    // Names are virtual addresses: of its own for each location and for each alias.
    Result<void> place_locations() {
        for (uint32_t n = 0; n < test_.names.size(); ++n) {
            const Name& name = test_.names[n];
            Location& l = test_.locations[name.location];
            if (l.space != SASSEMU_SPACE_GLOBAL)
                return bad(path_ + ": location '" + name.text + "'", "is not global memory",
                           "a kernel's shared memory is what its .shared line gives it");
            const auto same =
                std::find_if(test_.names.begin(), test_.names.begin() + n, [&](const Name& other) {
                    return other.location == name.location && other.alias == name.alias;
                });
            uint64_t at = 0;
            if (same != test_.names.begin() + n) {
                at = addresses_[static_cast<size_t>(same - test_.names.begin())] - same->offset +
                     name.offset;
            } else {
                SASSEMU_ASSIGN(at, test_.sass->gpu().allocate(l.bytes, l.name));
                at += name.offset;
            }
            addresses_.push_back(at);
        }
        for (uint32_t n = 0; n < test_.names.size(); ++n) {
            const Name& name = test_.names[n];
            const uint64_t value = name.initial_address >= 0
                                       ? addresses_[static_cast<size_t>(name.initial_address)]
                                       : name.initial;
            std::vector<std::byte> bytes(std::min<uint64_t>(8, name.bytes));
            std::memcpy(bytes.data(), &value, bytes.size());
            if (value) SASSEMU_TRY(test_.sass->gpu().write(addresses_[n], bytes));
        }
        for (uint32_t n = 0; n < test_.names.size(); ++n)
            SASSEMU_TRY(test_.sass->place_memory(test_, n, addresses_[n] - test_.names[n].offset));
        return {};
    }

    Result<void> launch(uint32_t t) {
        const sass::AssembledKernel& kernel = *kernels_[t];
        SassThread& place = places_[t];
        LaunchRequest request;
        request.module = module_;
        request.kernel = kernel.name;
        request.block = {1, 1, 1};
        request.grid = {1, 1, 1};
        for (uint32_t other = 0; other < test_.threads.size(); ++other) {
            if (kernels_[other] != &kernel) continue;
            request.block.x = std::max(request.block.x, places_[other].thread + 1);
            request.grid.x =
                std::max(request.grid.x, static_cast<uint32_t>(places_[other].cta) + 1);
        }
        request.params.resize(kernel.parameter_bytes);
        for (const auto& p : kernel.parameters) {
            uint64_t value = 0;
            if (const auto given = values_[t].find(p.name); given != values_[t].end()) {
                if (!given->is_number_integer())
                    return bad(path_ + ": threads", "params must be an object of numbers");
                value = given->is_number_unsigned() ? given->get<uint64_t>()
                                                    : static_cast<uint64_t>(given->get<int64_t>());
            } else if (p.size == 8) {
                const uint32_t name = find_name(test_, p.name);
                if (name < addresses_.size()) value = addresses_[name];
            }
            if (p.offset + p.size <= request.params.size())
                std::memcpy(request.params.data() + p.offset, &value, std::min<size_t>(8, p.size));
        }
        SASSEMU_ASSIGN(place.launch, test_.sass->add_launch(request).within(path_));
        test_.sass->threads().push_back(place);
        test_.threads[t].sass = true;
        return {};
    }

    const std::string &text_, &path_;
    Json json_;
    const sass::AssembledModule* assembled_ = nullptr;
    std::vector<const sass::AssembledKernel*> kernels_;
    std::vector<Json> values_;
    std::vector<SassThread> places_;
    std::vector<uint64_t> addresses_;
    ModuleId module_ = 0;
    Test test_;
};

void renumber(Condition& c, uint32_t thread, const std::vector<uint32_t>& numbers) {
    if (c.kind == Condition::Kind::reg && c.thread == thread) c.reg = numbers[c.reg];
    for (Condition& term : c.terms) renumber(term, thread, numbers);
}

// Where the condition names the register of the thread.
const Condition* asks_for(const Test& test, uint32_t thread, size_t reg) {
    if (!test.condition) return nullptr;
    for (const Condition* c : leaves(*test.condition))
        if (c->kind == Condition::Kind::reg && c->thread == thread && c->reg == reg) return c;
    return nullptr;
}

}  // namespace

Result<void> finish_sass_threads(Test& test, size_t* condition_at) {
    SassProgram& p = *test.sass;
    std::map<const SassCode*, std::vector<bool>> wanted;
    for (uint32_t t = 0; t < test.threads.size(); ++t) {
        Thread& thread = test.threads[t];
        if (!thread.sass) continue;
        const SassCode& code = p.code(p.thread(t).launch);
        // What the condition asks for so far, and the initial values, by name.
        const std::vector<std::string> named = std::move(thread.registers);
        const std::vector<uint64_t> values = std::move(thread.initial);
        thread.registers.clear();
        thread.register_index.clear();
        for (const uint32_t r : code.registers())
            thread.registers.push_back(sass_register::name(r));
        thread.initial.assign(thread.registers.size(), 0);
        auto& asked = wanted[&code];
        asked.resize(thread.registers.size());
        std::vector<uint32_t> numbers;
        for (size_t k = 0; k < named.size(); ++k) {
            const auto found = std::ranges::find(thread.registers, named[k]);
            if (found == thread.registers.end()) {
                if (const Condition* c = asks_for(test, t, k)) *condition_at = c->at;
                return bad(thread.id, "has no register '" + named[k] + "'",
                           "those of its kernel are named as in its text: R8, P0");
            }
            const auto number = static_cast<uint32_t>(found - thread.registers.begin());
            thread.initial[number] = values[k];
            asked[number] = true;
            numbers.push_back(number);
        }
        if (test.condition) renumber(*test.condition, t, numbers);
        p.add_shared(test, t);
    }
    for (const auto& [code, asked] : wanted) const_cast<SassCode*>(code)->set_wanted(asked);
    return {};
}

Result<Test> read_sass_test(const std::string& text, const std::string& path) {
    return Front(text, path).read();
}

}  // namespace sassemu::explore
