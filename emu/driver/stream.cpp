// SPDX-License-Identifier: Apache-2.0
// Streams, events, values in streams, and capturing of streams.
#include <algorithm>

#include "emu/driver/operation.hpp"

namespace sassemu::driver {

namespace {

std::atomic<uint64_t> stream_count{2}, capture_count{0};
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult here(CUstream handle, std::shared_ptr<Context>& context, std::shared_ptr<Stream>& out) {
    SASSEMU_CUDA(current(context));
    return find_stream(handle, context, out);
}

CUresult find_event(CUevent handle, std::shared_ptr<Event>& out) {
    out = Driver::get().events.find(bits(handle));
    if (!out) return CUDA_ERROR_INVALID_HANDLE;
    const auto owner = out->context.lock();
    if (!owner || !owner->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return owner->error;
}

CUresult value_at(CUdeviceptr address, uint32_t bytes) {
    if (address % bytes) return CUDA_ERROR_INVALID_VALUE;
    return Driver::get().machine().host_pointer(address, bytes) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
}

CUresult value_operation(CUstream handle, CUdeviceptr address, uint32_t bytes, uint64_t value,
                         unsigned flags, bool waits) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    SASSEMU_CUDA(value_at(address, bytes));
    const auto known = static_cast<unsigned>(waits ? 3 | CU_STREAM_WAIT_VALUE_FLUSH : 1);
    if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    constexpr ValueTest tests[] = {ValueTest::at_least, ValueTest::equal, ValueTest::any_bit,
                                   ValueTest::clear_bit};
    ValueOperation operation{waits, {address, bytes, tests[flags & 3], value}};
    return submit(context, *stream, operation, 12);
}

}  // namespace

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned int flags, int priority) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    Driver& d = Driver::get();
    auto stream = std::make_shared<Stream>();
    stream->context = context;
    stream->flags = flags;
    stream->priority = std::clamp(priority, -5, 0);
    stream->number = ++stream_count;
    bool known = false;
    {
        const std::lock_guard guard(d.ids);
        auto& free = d.free_streams[{context->device, stream->priority, flags == 1}];
        if (!free.empty()) {
            stream->id = free.back();
            free.pop_back();
            known = true;
        }
    }
    if (!known) {
        const auto id = d.machine().create_stream(
            context->device, {std::to_string(stream->number), stream->priority, flags == 1});
        if (!id) return refused("cuStreamCreate", id.error());
        stream->id = *id;
    }
    *out = as_handle<CUstream>(d.streams.add(std::move(stream)));
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* out, unsigned int flags) {
    return api::cuStreamCreateWithPriority(out, flags, 0);
}
CUresult cuStreamDestroy_v2(CUstream handle) {
    Driver& d = Driver::get();
    const auto stream = d.streams.take(bits(handle));
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    // What is in it ends; what a new stream of its kind gets comes behind.
    const std::lock_guard guard(d.ids);
    d.free_streams[{stream->id.gpu, stream->priority, stream->flags == 1}].push_back(stream->id);
    return CUDA_SUCCESS;
}
CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    *priority = stream->priority;
    return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream handle, unsigned int* flags) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    *flags = stream->flags;
    return CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    *id = stream->number ? stream->number : 1 + (stream->id.index != 0);
    return CUDA_SUCCESS;
}
CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    *device = static_cast<CUdevice>(stream->id.gpu);
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream handle, CUcontext* out) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    const auto owner = stream->context.lock();
    *out = owner ? owner->handle : nullptr;
    return owner ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}
CUresult cuStreamSynchronize(CUstream handle) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    if (capturing(*stream)) {
        const std::lock_guard guard(stream->mutex);
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const auto owner = stream->context.lock();
    return waited(owner ? owner : context, Driver::get().machine().synchronize(stream->id));
}
CUresult cuStreamQuery(CUstream handle) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    if (capturing(*stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const bool idle = Driver::get().machine().idle(stream->id);
    return context->error != CUDA_SUCCESS ? context->error.load()
           : idle                         ? CUDA_SUCCESS
                                          : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int flags) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    std::shared_ptr<Event> event;
    SASSEMU_CUDA(find_event(event_handle, event));
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Capture> capture;
    std::vector<CUgraphNode> captured;
    {
        const std::lock_guard guard(event->mutex);
        capture = event->capture.lock();
        captured = event->captured;
    }
    if (capture) {
        // The stream joins the capture, or waits for more of it.
        const std::lock_guard guard(stream->mutex);
        if (stream->capture && stream->capture != capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
        if (!stream->capture) stream->last.clear();
        stream->capture = capture;
        for (const CUgraphNode node : captured)
            if (!std::ranges::count(stream->last, node)) stream->last.push_back(node);
        return CUDA_SUCCESS;
    }
    {
        const std::lock_guard guard(stream->mutex);
        if (stream->capture && !flags) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    return submit(context, *stream, EventOperation{event, true}, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback function, void* user,
                             unsigned int flags) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    if (!function || flags) return CUDA_ERROR_INVALID_VALUE;
    if (capturing(*stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const auto done =
        Driver::get().machine().call(stream->id, [=] { function(handle, context->error, user); });
    return done ? CUDA_SUCCESS : refused("cuStreamAddCallback", done.error());
}
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned int) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    uint64_t begin = 0;
    Driver::Range range;
    return Driver::get().find_range(address, 1, begin, range) &&
                   range.kind == Driver::Range::Kind::managed
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(to, context, stream));
    return here(from, context, stream);
}
CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID which, CUstreamAttrValue* value) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    *value = {};
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = stream->priority;
    return which > 0 && which <= 18 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID which, const CUstreamAttrValue*) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    return which > 0 && which <= 18 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- values

CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr a, unsigned int v, unsigned int flags) {
    return value_operation(s, a, 4, v, flags, true);
}
CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr a, unsigned long long v,
                                unsigned int flags) {
    return value_operation(s, a, 8, v, flags, true);
}
CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr a, unsigned int v, unsigned int flags) {
    return value_operation(s, a, 4, v, flags, false);
}
CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr a, unsigned long long v,
                                 unsigned int flags) {
    return value_operation(s, a, 8, v, flags, false);
}
CUresult cuStreamBatchMemOp_v2(CUstream s, unsigned int count, CUstreamBatchMemOpParams* all,
                               unsigned int) {
    if (count > 256 || (count && !all)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
        const auto& v = all[i].waitValue;
        const bool wide = v.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                          v.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
        const bool waits = v.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                           v.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
        if (v.operation == CU_STREAM_MEM_OP_BARRIER ||
            v.operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)
            continue;
        if (v.operation < 1 || v.operation > 5) return CUDA_ERROR_INVALID_VALUE;
        SASSEMU_CUDA(value_operation(s, v.address, wide ? 8 : 4, v.value, v.flags, waits));
    }
    return CUDA_SUCCESS;
}

// ---- events

CUresult cuEventCreate(CUevent* out, unsigned int flags) {
    std::shared_ptr<Context> context;
    SASSEMU_CUDA(current(context));
    if (flags & ~7u) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    Driver& d = Driver::get();
    auto event = std::make_shared<Event>();
    event->context = context;
    event->flags = flags;
    {
        const std::lock_guard guard(d.ids);
        if (d.free_events.empty()) {
            event->id = d.machine().create_event();
        } else {
            event->id = d.free_events.back();
            d.free_events.pop_back();
        }
    }
    *out = as_handle<CUevent>(d.events.add(std::move(event)));
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent handle) {
    Driver& d = Driver::get();
    const auto event = d.events.take(bits(handle));
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    // A captured or queued operation may still mean it.
    if (event.use_count() > 1) return CUDA_SUCCESS;
    const std::lock_guard guard(d.ids);
    d.free_events.push_back(event->id);
    return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(stream_handle, context, stream));
    std::shared_ptr<Event> event;
    SASSEMU_CUDA(find_event(handle, event));
    if (flags > 1) return CUDA_ERROR_INVALID_VALUE;
    {
        const std::lock_guard guard(stream->mutex);
        if (stream->capture && !flags) {
            const std::lock_guard of_event(event->mutex);
            event->capture = stream->capture;
            event->captured = stream->last;
            return CUDA_SUCCESS;
        }
    }
    return submit(context, *stream, EventOperation{event, false}, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}
CUresult cuEventRecord(CUevent handle, CUstream stream) {
    return api::cuEventRecordWithFlags(handle, stream, 0);
}
static CUresult state_of(CUevent handle, std::shared_ptr<Event>& event, bool& recorded) {
    SASSEMU_CUDA(find_event(handle, event));
    const std::lock_guard guard(event->mutex);
    if (event->capture.lock()) return CUDA_ERROR_CAPTURED_EVENT;
    recorded = event->when != nullptr;
    return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent handle) {
    std::shared_ptr<Event> event;
    bool recorded = false;
    SASSEMU_CUDA(state_of(handle, event, recorded));
    if (!recorded) return CUDA_SUCCESS;
    const auto done = Driver::get().machine().done(event->id);
    SASSEMU_CUDA(find_event(handle, event));
    return done && *done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent handle) {
    std::shared_ptr<Event> event;
    bool recorded = false;
    SASSEMU_CUDA(state_of(handle, event, recorded));
    const auto context = event->context.lock();
    if (!recorded || !context) return CUDA_SUCCESS;
    return waited(context, Driver::get().machine().synchronize(event->id));
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
    std::shared_ptr<EventTime> when[2];
    const CUevent handles[] = {from, to};
    for (int i = 0; i < 2; ++i) {
        std::shared_ptr<Event> event;
        bool recorded = false;
        SASSEMU_CUDA(state_of(handles[i], event, recorded));
        if (!recorded || event->flags & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
        const auto done = Driver::get().machine().done(event->id);
        if (!done || !*done) return CUDA_ERROR_NOT_READY;
        const std::lock_guard guard(event->mutex);
        when[i] = event->when;
    }
    const auto of = [](const EventTime& t) {
        return Driver::get().config.wall_time ? t.host_ns : t.virtual_ns;
    };
    *milliseconds =
        static_cast<float>(static_cast<double>(of(*when[1])) - static_cast<double>(of(*when[0]))) /
        1e6f;
    return CUDA_SUCCESS;
}

// ---- capture

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
    if (stream == context->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const std::lock_guard guard(stream->mutex);
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = std::make_shared<Capture>();
    stream->capture->graph = std::make_shared<Graph>();
    stream->capture->mode = mode;
    stream->capture->id = ++capture_count;
    stream->last.clear();
    return CUDA_SUCCESS;
}
CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode* after,
                                     const CUgraphEdgeData*, size_t count,
                                     CUstreamCaptureMode mode) {
    const auto into = Driver::get().graphs.find(bits(graph));
    if (!into) return CUDA_ERROR_INVALID_HANDLE;
    if (count && !after) return CUDA_ERROR_INVALID_VALUE;
    SASSEMU_CUDA(api::cuStreamBeginCapture_v2(handle, mode));
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    const std::lock_guard guard(stream->mutex);
    stream->capture->graph = into;
    stream->capture->into_own = false;
    stream->last.assign(after, after + count);
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    std::shared_ptr<Capture> capture;
    {
        const std::lock_guard guard(stream->mutex);
        capture = stream->capture;
        stream->capture.reset();
        stream->last.clear();
    }
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    // Streams that joined by events are no longer of it.
    const auto leave = [&](Stream& other) {
        const std::lock_guard guard(other.mutex);
        if (other.capture == capture) other.capture.reset();
    };
    Driver::get().streams.each([&](uint64_t, const auto& other) { leave(*other); });
    *out = nullptr;
    if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!capture->graph->handle)
        capture->graph->handle = as_handle<CUgraph>(Driver::get().graphs.add(capture->graph));
    *out = capture->graph->handle;
    return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    const std::lock_guard guard(stream->mutex);
    *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status,
                                   unsigned long long* id, CUgraph* graph,
                                   const CUgraphNode** nodes, const CUgraphEdgeData** edges,
                                   size_t* count) {
    SASSEMU_CUDA(api::cuStreamIsCapturing(handle, status));
    if (id) *id = 0;
    if (edges) *edges = nullptr;
    if (count) *count = 0;
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    const std::lock_guard guard(stream->mutex);
    if (!stream->capture) return CUDA_SUCCESS;
    if (id) *id = stream->capture->id;
    if (graph) {
        Graph& of = *stream->capture->graph;
        if (!of.handle)
            of.handle = as_handle<CUgraph>(Driver::get().graphs.add(stream->capture->graph));
        *graph = of.handle;
    }
    if (nodes) *nodes = stream->last.data();
    if (count) *count = stream->last.size();
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status,
                                   unsigned long long* id, CUgraph* graph,
                                   const CUgraphNode** nodes, size_t* count) {
    return api::cuStreamGetCaptureInfo_v3(handle, status, id, graph, nodes, nullptr, count);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* nodes,
                                              const CUgraphEdgeData*, size_t count,
                                              unsigned int flags) {
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    SASSEMU_CUDA(here(handle, context, stream));
    if (flags > 1 || (count && !nodes)) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(stream->mutex);
    if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (flags) stream->last.clear();
    stream->last.insert(stream->last.end(), nodes, nodes + count);
    return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    if (*mode < 0 || *mode > 2) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
}

}  // namespace sassemu::driver::api
