// SPDX-License-Identifier: Apache-2.0
// See operation.hpp.
#include "emu/driver/operation.hpp"

#include <sys/mman.h>

#include "emu/driver/image.hpp"

namespace sassemu::driver {

namespace {

CUresult launched(const Result<OperationId>& done) {
    if (done) return CUDA_SUCCESS;
    const Error& e = done.error();
    if (e.code == ErrorCode::input) {
        say(e.message());
        const auto about = [&](const char* part) {
            return e.where.find(part) != std::string::npos ||
                   e.what.find(part) != std::string::npos;
        };
        if (about("must be resident together")) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        if (about(": cluster") || about("multiple of the cluster"))
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if (about("registers")) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        return CUDA_ERROR_INVALID_VALUE;
    }
    return refused("launch", e);
}

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

CUresult perform(StreamId stream, const Operation& operation) {
    Machine& machine = Driver::get().machine();
    const auto done = [](const char* what, const auto& result) {
        return result ? CUDA_SUCCESS : refused(what, result.error());
    };
    return std::visit(
        Overloaded{
            [&](const std::monostate&) { return CUDA_SUCCESS; },
            [&](const LaunchOperation& o) { return launched(machine.launch(stream, o.request)); },
            [&](const BoxCopy& o) { return done("copy", machine.copy(stream, o)); },
            [&](const RowFill& o) { return done("fill", machine.fill(stream, o)); },
            [&](const HostOperation& o) {
                return done("host function", machine.call(stream, [o] { o.function(o.user); }));
            },
            [&](const ValueOperation& o) {
                const ValueCondition& c = o.condition;
                return o.waits ? done("wait for a value", machine.wait_value(stream, c))
                               : done("write of a value",
                                      machine.write_value(stream, c.address, c.bytes, c.value));
            },
            [&](const EventOperation& o) {
                if (o.waits)
                    return done("wait for an event", machine.wait_event(stream, o.event->id));
                auto when = std::make_shared<EventTime>();
                {
                    const std::lock_guard guard(o.event->mutex);
                    o.event->when = when;
                    o.event->capture.reset();
                }
                return done("record", machine.record(o.event->id, stream, std::move(when)));
            },
            [&](const FreeOperation& o) {
                return done("free", machine.call(stream, [o] { (void)free_memory(o.address); }));
            },
            [&](const ChildOperation& o) {
                for (const auto& node : o.graph->nodes)
                    if (const CUresult why = perform(stream, node->operation); why != CUDA_SUCCESS)
                        return why;
                return CUDA_SUCCESS;
            }},
        operation);
}

CUresult submit(const std::shared_ptr<Context>& context, Stream& stream, Operation operation,
                CUgraphNodeType type) {
    SASSEMU_CUDA(context->error);
    {
        const std::lock_guard guard(stream.mutex);
        if (stream.capture) {
            if (stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
            CUgraphNode node = nullptr;
            SASSEMU_CUDA(
                add_node(stream.capture->graph, std::move(operation), type, stream.last, &node));
            stream.last = {node};
            return CUDA_SUCCESS;
        }
    }
    // What goes wrong in the stream is told by a later call.
    return perform(stream.id, operation);
}

bool capturing(Stream& stream) {
    const std::lock_guard guard(stream.mutex);
    return stream.capture != nullptr;
}

CUresult add_node(const std::shared_ptr<Graph>& graph, Operation operation, CUgraphNodeType type,
                  std::vector<CUgraphNode> after, CUgraphNode* out) {
    auto node = std::make_shared<Node>();
    node->type = type;
    node->operation = std::move(operation);
    node->after = std::move(after);
    node->graph = graph;
    node->handle = as_handle<CUgraphNode>(Driver::get().nodes.add(node));
    if (out) *out = node->handle;
    const std::lock_guard guard(graph->mutex);
    graph->nodes.push_back(std::move(node));
    return CUDA_SUCCESS;
}

CUresult free_memory(uint64_t address) {
    Driver& d = Driver::get();
    Driver::Range range;
    if (!d.take_range(address, range)) return CUDA_ERROR_INVALID_VALUE;
    const auto released = d.machine().release(address);
    const bool own =
        range.kind == Driver::Range::Kind::pinned || range.kind == Driver::Range::Kind::managed;
    if (own) ::munmap(reinterpret_cast<void*>(address), (range.bytes + 4095) / 4096 * 4096 + 4096);
    return released ? CUDA_SUCCESS : refused("free", released.error());
}

}  // namespace sassemu::driver
