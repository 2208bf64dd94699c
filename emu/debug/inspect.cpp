// SPDX-License-Identifier: Apache-2.0
// See inspect.hpp.
#include "emu/debug/inspect.hpp"

#include <algorithm>
#include <bit>
#include <sassemu/names.hpp>
#include <set>

#include "emu/base/text.hpp"
#include "emu/debug/debuggee.hpp"
#include "emu/debug/lists.hpp"
#include "emu/machine/cta.hpp"
#include "emu/machine/dimensions.hpp"
#include "emu/memory/address_space.hpp"
#include "emu/program/code_image.hpp"

namespace sassemu::debug {
namespace {

const char* state_of(const Path& path, bool current) {
    switch (path.state) {
        case PathState::runnable:
            return current ? "running" : "ready";
        case PathState::at_bsync:
            return "at BSYNC";
        case PathState::at_warpsync:
        case PathState::in_collective:
            return "at WARPSYNC";
        case PathState::at_bar:
            return "at CTA barrier";
        case PathState::parked:
            return "spinning";
        case PathState::in_flight:
            return "waits for load";
        case PathState::asleep:
            return "asleep";
        case PathState::at_cluster:
            return "at cluster barrier";
        case PathState::at_mbarrier:
            return "at mbarrier";
        case PathState::at_trigger:
        case PathState::at_grid_wait:
            return "waits for grid";
        case PathState::at_warpgroup:
            return "waits for wgmma";
        case PathState::at_meeting:
            return "at WARPGROUP.WAIT";
    }
    return "?";
}

class Inspector {
  public:
    Inspector(const Debuggee& debuggee, const Json& request)
        : d_(debuggee), q_(request), focus_(Focus::of(part(request, "focus"))) {
        warp_ = d_.warp_of(focus_);
    }

    Result<Json> answer() {
        const std::string what = field(q_, "do", "");
        if (what == "resolve") return resolve();
        if (what == "info") return info();
        if (what == "choose") return choose();
        if (what == "disassemble") return disassemble();
        if (!warp_)
            return make_error(
                ErrorCode::not_found, "focus",
                d_.launches().empty() ? "no kernel runs now" : "its CTA is not resident now",
                "info cuda warps");
        if (focus_.frame && focus_.frame >= view().frames().size())
            return make_error(ErrorCode::not_found, "frame " + std::to_string(focus_.frame),
                              "there is none", "backtrace lists them");
        if (what == "where") return where();
        if (what == "evaluate") return evaluate();
        if (what == "examine") return examine();
        if (what == "registers") return registers();
        if (what == "watch") return watch();
        if (what == "variables") return variables();
        if (what == "read") return read();
        return make_error(ErrorCode::internal, "debugger", "unknown request '" + what + "'");
    }

  private:
    View view() const { return d_.view(*warp_, focus_.lane, focus_.frame); }
    // Where the focused lane is, or began, or anything runs.
    CodePlace here() const {
        if (warp_) {
            if (const CodePlace place = view().place(); place.module) return place;
            if (const CodePlace place = place_of(*warp_, warp_->paths[warp_->current].pc);
                place.module)
                return place;
        }
        if (!d_.places().modules().empty()) return {d_.places().modules().front().get(), 0};
        return {};
    }
    std::string sass(const CodePlace& place) const {
        if (warp_) {
            const CodeImage& code = *warp_->cta->launch->code;
            if (code.module() == place.module) return code.sass(place.offset);
        }
        return d_.places().sass(place);
    }
    Json place_json(const CodePlace& place) const {
        Json out = {{"name", d_.places().name(place)},
                    {"function", d_.places().function(place)},
                    {"address", d_.places().address(place)},
                    {"pc", d_.places().pc(place)},
                    {"sass", sass(place)}};
        const auto frames = d_.places().frames(place);
        if (!frames.front().file.empty()) {
            out["file"] = frames.front().file;
            out["line"] = frames.front().line;
        }
        return out;
    }

    Result<Json> where() const {
        const Launch& launch = *warp_->cta->launch;
        const RunningLaunch* of = d_.launch_of(&launch);
        const Path* path = path_of(*warp_, focus_.lane);
        const CodePlace place = view().place();
        Json out = place.module ? place_json(place) : Json::object();
        out["focus"] = focus_.json();
        out["kernel"] = of ? names::demangled(of->kernel) : "?";
        out["gpu"] = of ? of->gpu : 0;
        out["module"] = place.module ? place.module->file_name() : "";
        out["grid"] = triple(launch.grid);
        out["block"] = triple(launch.block);
        out["blockIdx"] = triple(warp_->cta->id);
        out["threadIdx"] = triple(thread_of(launch.block, focus_.warp * 32 + focus_.lane));
        out["sm"] = warp_->cta->sm;
        out["exists"] = warp_->exists >> focus_.lane & 1;
        if (!path) {
            out["state"] = warp_->live || !(warp_->exists >> focus_.lane & 1)
                               ? "has exited or never was"
                               : "has exited";
            return out;
        }
        const bool current = d_.current() == warp_ && path == warp_->paths + warp_->current;
        out["state"] = state_of(*path, current);
        out["active"] = path == warp_->paths + warp_->current ? warp_->active : path->lanes;
        // The source's frames at the place, from the focused one outwards; and all of the lane.
        Json frames = Json::array(), stack = Json::array();
        const View view = this->view();
        const auto all = view.frames();
        const auto& activations = view.stack().activations;
        for (uint32_t k = 0; k < all.size(); ++k) {
            const View::Frame& f = all[k];
            const CodePlace& at = activations[f.activation].place;
            Json one = {
                {"function", f.source.function}, {"file", f.source.file}, {"line", f.source.line}};
            if (focus_.frame < all.size() && k >= focus_.frame &&
                f.activation == all[focus_.frame].activation)
                frames.push_back(one);
            one["name"] = d_.places().name(at);
            one["address"] = d_.places().address(at);
            one["inlined"] = f.is_inlined;
            one["call"] = f.activation;
            stack.push_back(std::move(one));
        }
        out["frame"] = focus_.frame;
        out["call"] = focus_.frame < all.size() ? all[focus_.frame].activation : 0;
        if (const Json& first = item(frames, 0); field(first, "line", 0u)) {
            out["file"] = part(first, "file");
            out["line"] = part(first, "line");
        }
        out["frames"] = frames;
        out["stack"] = stack;
        out["ends"] = view.stack().ends;
        return out;
    }

    Result<Value> value() const {
        SASSEMU_ASSIGN(const Expression e, Expression::parse(field(q_, "expression", "")));
        return e.evaluate(view());
    }

    Result<Json> evaluate() const {
        SASSEMU_ASSIGN(const Value v, value());
        const std::string format = field(q_, "format", "");
        Json out = {{"text", text_of(v, format.empty() ? '\0' : format[0])},
                    {"type", v.type->name}};
        if (v.place && v.place->kind == ValuePlace::Kind::memory) {
            out["address"] = v.place->address;
            out["space"] = static_cast<int>(v.place->space);
        }
        if (v.type->kind == Type::Kind::pointer && v.type->of->bytes) out["points"] = true;
        Json members = Json::array();
        for (const Member& m : v.type->members) members.push_back(m.name);
        if (!members.empty()) out["members"] = members;
        if (v.type->kind == Type::Kind::array) out["count"] = v.type->count;
        return out;
    }

    Result<Json> examine() const {
        SASSEMU_ASSIGN(const Value v, value());
        uint64_t address = v.bits();
        MemorySpace space = MemorySpace::generic;
        if (v.type->kind == Type::Kind::pointer) space = v.type->space;
        if (!v.type->is_scalar()) {
            if (!v.place) return make_error(ErrorCode::usage, "x", "it has no address");
            address = v.place->address;
            space = v.place->space;
        }
        const auto size = std::clamp<uint64_t>(field(q_, "size", uint64_t{4}), 1, 8);
        const auto count = std::clamp<uint64_t>(field(q_, "count", uint64_t{1}), 1, 65536 / size);
        const std::string format = field(q_, "format", "x");
        const uint64_t per_line = format == "c" || format == "s" ? 8 : 16 / size ? 16 / size : 1;
        Json lines = Json::array();
        if (format == "s") {
            std::string text;
            for (uint64_t k = 0; k < 4096; ++k) {
                SASSEMU_ASSIGN(const auto byte, view().read(space, address + k, 1));
                if (byte[0] == std::byte{}) break;
                text += static_cast<char>(byte[0]);
            }
            lines.push_back(hex(address) + ":\t\"" + text + "\"");
            return Json{{"lines", lines}, {"next", address + text.size() + 1}};
        }
        std::string line;
        for (uint64_t k = 0; k < count; ++k) {
            if (k % per_line == 0) {
                if (k) lines.push_back(std::exchange(line, {}));
                line = hex(address + k * size) + ":";
            }
            Value one;
            one.type = format == "f" && size != 1
                           ? basic_type(size == 8   ? "double"
                                        : size == 4 ? "float"
                                                    : "half")
                           : integer_type(static_cast<unsigned>(size), false);
            SASSEMU_ASSIGN(one.bytes, view().read(space, address + k * size, size));
            line += "\t" + text_of(one, format == "x" ? 'z' : format[0]);
        }
        lines.push_back(line);
        return Json{{"lines", lines}, {"next", address + count * size}};
    }

    Result<Json> disassemble() const {
        CodePlace at = here();
        const std::string text = field(q_, "where", "");
        const CodePlace current = warp_ ? view().place() : CodePlace{};
        if (!text.empty()) {
            SASSEMU_ASSIGN(const auto places, d_.places().find(text, at));
            at = places.front();
        }
        if (!at.module)
            return make_error(ErrorCode::not_found, "disassemble", "no kernel runs now",
                              "name a function");
        auto [begin, end] = d_.places().extent(at);
        const auto count = field(q_, "count", uint64_t{0});
        if (count) {
            const uint64_t back = field(q_, "before", uint64_t{0});
            begin = at.offset - std::min(back, (at.offset - begin) / 16) * 16;
            end = begin + std::min(count, (end - begin) / 16) * 16;
        }
        Json insns = Json::array();
        for (uint64_t offset = begin; offset < end; offset += 16) {
            Json insn = place_json({at.module, offset});
            const sassdec_insn decoded = d_.places().decoded({at.module, offset});
            insn["words"] = hex(decoded.word[1], 16) + hex(decoded.word[0], 16).substr(2);
            if (current == CodePlace{at.module, offset}) insn["current"] = true;
            insns.push_back(std::move(insn));
        }
        return Json{{"instructions", insns}};
    }

    Result<Json> registers() const {
        Json rows = Json::array();
        std::vector<std::string> names;
        for (const Json& name : list(q_, "names")) names.push_back(as<std::string>(name));
        const auto add = [&](const std::string& name) -> Result<void> {
            const auto held = view().special(name);
            if (!held && names.empty() && focus_.frame) {  // of a caller's registers some are lost
                rows.push_back({{"name", name}, {"hex", "not kept"}, {"text", ""}, {"float", ""}});
                return {};
            }
            if (!held) return held.error();
            const Value& v = *held;
            const bool wide = v.bytes.size() == 4;
            rows.push_back({{"name", name},
                            {"hex", wide ? hex(v.bits(), 8) : text_of(v)},
                            {"text", text_of(v)},
                            {"float", wide ? text_of(v, 'f') : ""}});
            return {};
        };
        for (const std::string& name : names)
            SASSEMU_TRY(add(name.starts_with('$') ? name.substr(1) : name));
        if (!names.empty()) return Json{{"registers", rows}};
        SASSEMU_TRY(add("pc"));
        const uint32_t all =
            std::min(warp_->cta->launch->registers, warp_->cta->registers.held(warp_->index));
        const std::string file = field(q_, "file", "R");
        for (uint32_t r = 0; r < all && file == "R"; ++r) SASSEMU_TRY(add("R" + std::to_string(r)));
        for (uint32_t r = 0; r < 63 && file == "UR"; ++r)
            SASSEMU_TRY(add("UR" + std::to_string(r)));
        for (const char* p : {"P", "UP"})
            for (uint32_t r = 0; r < 7 && file == "P"; ++r) SASSEMU_TRY(add(p + std::to_string(r)));
        return Json{{"registers", rows}};
    }

    Result<Json> resolve() const {
        SASSEMU_ASSIGN(const auto places, d_.places().find(field(q_, "where", ""), here()));
        Json out = Json::array();
        for (const CodePlace& place : places) out.push_back(place_json(place));
        return Json{{"places", out}};
    }

    Result<Json> watch() const {
        SASSEMU_ASSIGN(const Value v, value());
        if (!v.place)
            return make_error(ErrorCode::usage, "'" + field(q_, "expression", "") + "'",
                              "has no place that could be watched",
                              "when EXPRESSION halts where it becomes true");
        return Json{{"place", static_cast<int>(v.place->kind)},
                    {"space", static_cast<int>(v.place->space)},
                    {"address", v.place->address},
                    {"bytes", std::max<uint64_t>(1, v.type->bytes)},
                    {"type", v.type->name},
                    {"focus", d_.focus_of(*warp_, focus_.lane).json()}};
    }

    Result<Json> variables() const {
        Json out = Json::array();
        const auto add = [&](const std::string& name, bool buffer = false) {
            const auto v = view().variable((buffer ? "::" : "") + name);
            out.push_back({{"name", name},
                           {"buffer", buffer},
                           {"text", v ? text_of(*v) : "<" + v.error().message() + ">"},
                           {"type", v ? v->type->name : ""}});
        };
        std::set<std::string> shown;  // an inner one hides those outside
        for (const SourceVariable* v : view().variables())
            if (shown.insert(v->name).second) add(v->name);
        for (const char* name : {"threadIdx", "blockIdx", "blockDim", "gridDim"}) add(name);
        if (field(q_, "buffers", false))
            for (const auto& [name, memory] : d_.named()) add(name, true);
        return Json{{"variables", out}};
    }

    Result<Json> read() const {
        const auto address = field(q_, "address", uint64_t{0});
        const auto bytes = std::min<uint64_t>(field(q_, "bytes", uint64_t{0}), 1 << 20);
        const auto space = space_of(field(q_, "space", uint8_t{0}));
        std::string text;
        for (uint64_t k = 0; k < bytes; ++k) {
            const auto byte = view().read(space, address + k, 1);
            if (!byte) {
                if (!k) return byte.error();
                break;
            }
            text += hex(static_cast<uint64_t>((*byte)[0]), 2).substr(2);
        }
        return Json{{"hex", text}};
    }

    // A focus by what the user names; the rest stays, or is the first that there is.
    Result<Json> choose() const {
        Focus f = focus_;
        f.frame = 0;
        const bool any = warp_ != nullptr;
        const RunningLaunch* of = nullptr;
        for (const RunningLaunch& l : d_.launches())
            if (!l.ctas.empty() &&
                (!of ||
                 l.launch->id == (has(q_, "kernel") ? field<uint64_t>(q_, "kernel") : f.launch)))
                of = &l;
        if (!of) return make_error(ErrorCode::not_found, "focus", "no kernel runs now");
        if (has(q_, "kernel") && of->launch->id != field<uint64_t>(q_, "kernel"))
            return make_error(ErrorCode::not_found, "kernel", "no such kernel runs now",
                              "info cuda kernels");
        if (!any || of->launch->id != f.launch)
            f = {of->launch->id, of->ctas.front()->linear, 0, 0};
        const Launch& launch = *of->launch;
        const auto linear = [](const Json& at, const Dim3& size,
                               const char* what) -> Result<uint64_t> {
            const auto of = [&](size_t k) {
                return item(at, k).is_null() ? 0 : as<uint64_t>(item(at, k), what);
            };
            const uint64_t x = of(0), y = of(1), z = of(2);
            if (x >= size.x || y >= size.y || z >= size.z)
                return make_error(ErrorCode::usage, what, "outside of " + triple(size));
            return (z * size.y + y) * size.x + x;
        };
        if (has(q_, "cta")) {
            SASSEMU_ASSIGN(f.cta, linear(part(q_, "cta"), launch.grid, "block"));
            if (!has(q_, "thread") && !has(q_, "warp")) f.warp = 0, f.lane = 0;
        }
        if (has(q_, "thread")) {
            SASSEMU_ASSIGN(const uint64_t t, linear(part(q_, "thread"), launch.block, "thread"));
            f.warp = static_cast<uint32_t>(t / 32);
            f.lane = t % 32;
        }
        if (has(q_, "warp")) f.warp = field<uint32_t>(q_, "warp");
        if (has(q_, "lane")) f.lane = field<uint32_t>(q_, "lane");
        const Warp* warp = f.lane < 32 ? d_.warp_of(f) : nullptr;
        if (!warp)
            return make_error(ErrorCode::not_found, "focus", "it is not resident now",
                              "info cuda blocks lists what is");
        if (!(warp->exists >> f.lane & 1))
            return make_error(ErrorCode::not_found, "focus", "the warp has no such lane");
        return Json{{"focus", f.json()}};
    }

    // ---- rows of "info"; those of what there is are in lists.cpp

    Result<Json> info() const {
        const std::string what = field(q_, "what", "");
        Json rows = Json::array();
        if (what == "warps") {
            const bool all = field(q_, "all", false);
            for (const RunningLaunch& l : d_.launches())
                for (const Cta* cta : l.ctas) {
                    if (!all && (!warp_ || warp_->cta != cta)) continue;
                    for (uint32_t i = 0; i < cta->warp_count; ++i) {
                        rows.push_back(warp_row(cta->warps[i]));
                        rows.back()["kernel"] = l.launch->id;
                        rows.back()["cta"] = cta->linear;
                        rows.back()["block"] = triple(cta->id);
                        rows.back()["thread"] = d_.focus_of(cta->warps[i], 0).json();
                        if (rows.size() == 1024) return Json{{"rows", rows}};
                    }
                }
        } else if (what == "lanes") {
            for (uint32_t lane = 0; warp_ && lane < 32; ++lane) {
                if (!(warp_->exists >> lane & 1)) continue;
                const Path* path = path_of(*warp_, lane);
                const CodePlace place = path ? place_of(*warp_, path->pc) : CodePlace{};
                Json row = path ? place_json(place) : Json::object();
                row["lane"] = lane;
                row["state"] = !path ? "exited"
                                     : state_of(*path, d_.current() == warp_ &&
                                                           path == warp_->paths + warp_->current);
                row["thread"] =
                    triple(thread_of(warp_->cta->launch->block, focus_.warp * 32 + lane));
                row["focus"] = lane == focus_.lane;
                rows.push_back(std::move(row));
            }
        } else if (what == "barriers") {
            for (uint32_t k = 0; warp_ && k < 16; ++k) {
                const Barrier& b = warp_->cta->barrier[k];
                if (b.open || b.waiting)
                    rows.push_back(
                        {{"id", k},
                         {"arrived", b.arrived},
                         {"expected", b.expected ? b.expected : warp_->cta->live_threads}});
            }
        } else if (!list(d_, warp_, what, rows)) {
            return make_error(ErrorCode::usage, "info " + what, "there is nothing of that name");
        }
        return Json{{"rows", rows}};
    }

    Json warp_row(const Warp& w) const {
        Json paths = Json::array();
        for (uint32_t k = 0; k < w.paths_used && w.live; ++k) {
            const bool current = k == w.current;
            const uint32_t lanes = (current ? w.active : w.paths[k].lanes) & w.live;
            if (!lanes) continue;
            Json path = place_json(place_of(w, w.paths[k].pc));
            path["lanes"] = hex(lanes, 8);
            path["mask"] = lanes;
            path["state"] = state_of(w.paths[k], current && d_.current() == &w);
            paths.push_back(std::move(path));
        }
        return {{"warp", w.index},
                {"live", hex(w.live, 8)},
                {"issued", w.issued + w.guard_false},
                {"paths", paths},
                {"focus", warp_ == &w}};
    }

    const Debuggee& d_;
    const Json& q_;
    Focus focus_;
    Warp* warp_ = nullptr;
};

}  // namespace

Json inspect(const Debuggee& debuggee, const Json& request) {
    auto answer = Inspector(debuggee, request).answer();
    return answer ? std::move(*answer) : Json{{"error", answer.error().message()}};
}

}  // namespace sassemu::debug
