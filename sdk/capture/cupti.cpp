// SPDX-License-Identifier: Apache-2.0
// The library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH): it subscribes to
// CUPTI's callbacks of the driver API and of modules, and hands launches to the recorder. What is
// captured of one, and how, is the others' matter.
#include <cupti.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cuda_driver.hpp"
#include "graph.hpp"
#include "recorder.hpp"

namespace sassemu::capture {
namespace {

// CUPTI calls back for what the library itself asks of the driver too.
thread_local bool inside = false;
struct Inside {
    const bool before = std::exchange(inside, true);
    ~Inside() { inside = before; }
};

struct Loaded {
    uint32_t id;
    Image image;
};

struct Graph {
    CUgraph graph = nullptr;
    bool updated = false;  // nodes of the executable one were changed
};

// All that the library knows of the program.
class Injection {
  public:
    explicit Injection(Options options)
        : recorder_(std::move(options), program_name(), [](const std::string& line) {
              std::fprintf(stderr, "sassemu capture: %s\n", line.c_str());
          }) {}

    void api(CUpti_CallbackId id, const CUpti_CallbackData& call);
    void module_loaded(const CUpti_ModuleResourceData& module);
    void module_gone(const CUpti_ModuleResourceData& module);

  private:
    static std::string program_name() {
        char path[4096];
        const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        return n > 0 ? std::string(path, static_cast<size_t>(n)) : "?";
    }

    void enter(CUpti_CallbackId id, const void* params);
    void leave(CUpti_CallbackId id, const void* params, bool good);
    void enter_launch(std::vector<Launch> launches, std::function<CUresult()> again);
    void enter_graph(CUgraphExec exec, CUstream stream);
    void note(CUpti_CallbackId id, const void* params);

    static CUfunction function_of(CUfunction f);
    Launch describe(CUfunction f, const CUlaunchConfig& config, void** params, void** extra);
    const Image* image_of(CUmodule module, const std::string& kernel);
    void bind(CUmodule module);

    std::recursive_mutex mutex_;  // held from a launch's enter to its exit
    Recorder recorder_;
    CudaDriver driver_;
    int capturing_ = 0;  // streams that record a graph: nothing may synchronise meanwhile
    std::deque<Loaded> images_;
    std::unordered_map<CUmodule, uint32_t> image_of_module_;
    std::unordered_map<CUgraphExec, Graph> graphs_;
};

// A kernel of a library (CUkernel) is accepted wherever a function is.
CUfunction Injection::function_of(CUfunction f) {
    CUmodule module = nullptr;
    if (cuFuncGetModule(&module, f) == CUDA_SUCCESS) return f;
    CUfunction real = nullptr;
    check(cuKernelGetFunction(&real, reinterpret_cast<CUkernel>(f)), "its function");
    return real;
}

// Images that were loaded by the call of the driver under way. Which module handle an image has, no
// callback says.
thread_local std::vector<uint32_t> loaded_here;

void Injection::bind(CUmodule module) {
    if (!loaded_here.empty()) image_of_module_[module] = loaded_here.back();
    loaded_here.clear();
}

const Image* Injection::image_of(CUmodule module, const std::string& kernel) {
    const auto bound = image_of_module_.find(module);
    const Loaded* found = nullptr;
    for (const Loaded& loaded : images_) {
        if (!loaded.image.symbols.functions.contains(kernel)) continue;
        if (bound != image_of_module_.end() && loaded.id == bound->second) return &loaded.image;
        found = &loaded;
    }
    if (!found) throw Failure("its module was not seen being loaded");
    image_of_module_[module] = found->id;
    return &found->image;
}

Launch Injection::describe(CUfunction f, const CUlaunchConfig& config, void** params,
                           void** extra) {
    Launch launch;
    const char* name = nullptr;
    check(cuFuncGetName(&name, f), "its name");
    launch.kernel = name;
    launch.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
    launch.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
    launch.dynamic_shared = config.sharedMemBytes;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const CUlaunchAttribute& a = config.attrs[i];
        if (a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            launch.cluster = {a.value.clusterDim.x, a.value.clusterDim.y, a.value.clusterDim.z};
        if (a.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) launch.cooperative = a.value.cooperative;
        if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            launch.programmatic = a.value.programmaticStreamSerializationAllowed;
    }
    CUmodule module = nullptr;
    check(cuFuncGetModule(&module, f), "its module");
    launch.module = reinterpret_cast<uint64_t>(module);
    if (!image_of_module_.contains(module)) bind(module);
    launch.image = image_of(module, launch.kernel);
    size_t offset = 0, bytes = 0;
    for (size_t i = 0; cuFuncGetParamInfo(f, i, &offset, &bytes) == CUDA_SUCCESS; ++i) {
        launch.parameters.resize(std::max(launch.parameters.size(), offset + bytes));
        if (params) std::memcpy(launch.parameters.data() + offset, params[i], bytes);
    }
    if (params || !extra) return launch;
    for (void** e = extra; *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e != CU_LAUNCH_PARAM_BUFFER_POINTER) continue;
        size_t size = launch.parameters.size();
        for (void** s = extra; *s != CU_LAUNCH_PARAM_END; s += 2)
            if (*s == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(s[1]);
        std::memcpy(launch.parameters.data(), e[1], std::min(size, launch.parameters.size()));
    }
    return launch;
}

void Injection::enter_launch(std::vector<Launch> launches, std::function<CUresult()> again) {
    driver_.again_ = std::move(again);
    recorder_.begin(driver_, std::move(launches));
}

void Injection::enter_graph(CUgraphExec exec, CUstream stream) {
    const auto found = graphs_.find(exec);
    if (found == graphs_.end()) return;
    size_t count = 0;
    check(cuGraphGetNodes(found->second.graph, nullptr, &count), "the graph");
    std::vector<CUgraphNode> handles(count);
    check(cuGraphGetNodes(found->second.graph, handles.data(), &count), "the graph");
    std::vector<GraphNode> nodes(count);
    for (size_t i = 0; i < count; ++i) {
        CUgraphNodeType type{};
        check(cuGraphNodeGetType(handles[i], &type), "the graph");
        nodes[i].kind = type == CU_GRAPH_NODE_TYPE_KERNEL  ? GraphNode::Kind::kernel
                        : type == CU_GRAPH_NODE_TYPE_EMPTY ? GraphNode::Kind::empty
                                                           : GraphNode::Kind::other;
        size_t needs = 0;
        check(cuGraphNodeGetDependencies(handles[i], nullptr, nullptr, &needs), "the graph");
        std::vector<CUgraphNode> of(needs);
        std::vector<CUgraphEdgeData> edges(needs);
        if (needs)
            check(cuGraphNodeGetDependencies(handles[i], of.data(), edges.data(), &needs),
                  "the graph");
        for (CUgraphNode node : of)
            nodes[i].needs.push_back(
                static_cast<size_t>(std::ranges::find(handles, node) - handles.begin()));
    }
    std::vector<Launch> launches;
    bool wanted = false;
    for (const size_t i : order_of(nodes)) {
        if (nodes[i].kind != GraphNode::Kind::kernel) continue;
        const CUgraphNode node = handles[i];
        CUDA_KERNEL_NODE_PARAMS p{};
        check(cuGraphKernelNodeGetParams(node, &p), "a kernel of the graph");
        CUlaunchConfig config{};
        config.gridDimX = p.gridDimX, config.gridDimY = p.gridDimY, config.gridDimZ = p.gridDimZ;
        config.blockDimX = p.blockDimX, config.blockDimY = p.blockDimY;
        config.blockDimZ = p.blockDimZ, config.sharedMemBytes = p.sharedMemBytes;
        const CUfunction f = function_of(p.func ? p.func : reinterpret_cast<CUfunction>(p.kern));
        launches.push_back(describe(f, config, p.kernelParams, p.extra));
        CUlaunchAttributeValue value{};
        if (cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) ==
                CUDA_SUCCESS &&
            value.clusterDim.x)
            launches.back().cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        if (cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
            CUDA_SUCCESS)
            launches.back().cooperative = value.cooperative;
        wanted |= recorder_.wanted(launches.back().kernel);
    }
    if (!wanted) return;
    if (const std::string why = refusal_of(nodes, found->second.updated); !why.empty())
        return recorder_.refuse(launches.front().kernel, why);
    enter_launch(std::move(launches), [=] { return cuGraphLaunch(exec, stream); });
}

void Injection::enter(CUpti_CallbackId id, const void* params) {
    std::string kernel = "a kernel";
    const auto one = [&](CUfunction f, const CUlaunchConfig& config, void** p, void** extra,
                         std::function<CUresult()> again) {
        f = function_of(f);
        const char* name = nullptr;
        check(cuFuncGetName(&name, f), "its name");
        kernel = name;
        if (!recorder_.wanted(kernel)) return;
        std::vector<Launch> launches{describe(f, config, p, extra)};
        enter_launch(std::move(launches), std::move(again));
    };
    // What a stream records runs when its graph is launched.
    if (capturing_ > 0) return;
    try {
        switch (id) {
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
                const auto p = *static_cast<const cuLaunchKernel_params*>(params);
                CUlaunchConfig c{};
                c.gridDimX = p.gridDimX, c.gridDimY = p.gridDimY, c.gridDimZ = p.gridDimZ;
                c.blockDimX = p.blockDimX, c.blockDimY = p.blockDimY, c.blockDimZ = p.blockDimZ;
                c.sharedMemBytes = p.sharedMemBytes, c.hStream = p.hStream;
                one(p.f, c, p.kernelParams, p.extra, [p] {
                    return cuLaunchKernel(p.f, p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX,
                                          p.blockDimY, p.blockDimZ, p.sharedMemBytes, p.hStream,
                                          p.kernelParams, p.extra);
                });
                break;
            }
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
                const auto p = *static_cast<const cuLaunchKernelEx_params*>(params);
                one(p.f, *p.config, p.kernelParams, p.extra,
                    [p] { return cuLaunchKernelEx(p.config, p.f, p.kernelParams, p.extra); });
                break;
            }
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
            case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: {
                const auto p = *static_cast<const cuLaunchCooperativeKernel_params*>(params);
                CUlaunchAttribute cooperative{};
                cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
                cooperative.value.cooperative = 1;
                CUlaunchConfig c{};
                c.gridDimX = p.gridDimX, c.gridDimY = p.gridDimY, c.gridDimZ = p.gridDimZ;
                c.blockDimX = p.blockDimX, c.blockDimY = p.blockDimY, c.blockDimZ = p.blockDimZ;
                c.sharedMemBytes = p.sharedMemBytes, c.hStream = p.hStream;
                c.attrs = &cooperative, c.numAttrs = 1;
                one(p.f, c, p.kernelParams, nullptr, [p] {
                    return cuLaunchCooperativeKernel(p.f, p.gridDimX, p.gridDimY, p.gridDimZ,
                                                     p.blockDimX, p.blockDimY, p.blockDimZ,
                                                     p.sharedMemBytes, p.hStream, p.kernelParams);
                });
                break;
            }
            default: {
                const auto& p = *static_cast<const cuGraphLaunch_params*>(params);
                kernel = "a graph";
                enter_graph(p.hGraph, p.hStream);
            }
        }
    } catch (const std::exception& e) {
        recorder_.refuse(kernel, e.what());
    }
}

// Allocations, textures and graphs, behind the calls that make and end them.
void Injection::note(CUpti_CallbackId id, const void* params) {
    const auto made = [&](const CUdeviceptr* at) { driver_.allocations_.insert(*at); };
    switch (id) {
        // Modules are loaded when they are first used.
        case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
            return bind(*static_cast<const cuModuleLoad_params*>(params)->module);
        case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
            return bind(*static_cast<const cuModuleLoadData_params*>(params)->module);
        case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
            return bind(*static_cast<const cuModuleLoadDataEx_params*>(params)->module);
        case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
            return bind(*static_cast<const cuModuleLoadFatBinary_params*>(params)->module);
        case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction:
            return bind(static_cast<const cuModuleGetFunction_params*>(params)->hmod);
        case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule:
            return bind(*static_cast<const cuLibraryGetModule_params*>(params)->pMod);
        case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
            image_of_module_.erase(static_cast<const cuModuleUnload_params*>(params)->hmod);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
        case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz:
            ++capturing_;
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
            return made(static_cast<const cuMemAlloc_v2_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
            return made(static_cast<const cuMemAllocPitch_v2_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
            return made(static_cast<const cuMemAllocManaged_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
            return made(static_cast<const cuMemAllocAsync_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
            return made(static_cast<const cuMemAllocFromPoolAsync_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
            driver_.allocations_.erase(static_cast<const cuMemFree_v2_params*>(params)->dptr);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
            driver_.allocations_.erase(static_cast<const cuMemFreeAsync_params*>(params)->dptr);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuTexObjectCreate: {
            const auto& p = *static_cast<const cuTexObjectCreate_params*>(params);
            driver_.textures_[*p.pTexObject] = {*p.pResDesc, *p.pTexDesc, false};
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuTexObjectDestroy:
            driver_.textures_.erase(
                static_cast<const cuTexObjectDestroy_params*>(params)->texObject);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectCreate: {
            const auto& p = *static_cast<const cuSurfObjectCreate_params*>(params);
            driver_.textures_[*p.pSurfObject] = {*p.pResDesc, {}, true};
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectDestroy:
            driver_.textures_.erase(
                static_cast<const cuSurfObjectDestroy_params*>(params)->surfObject);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2: {
            const auto& p = *static_cast<const cuGraphInstantiate_v2_params*>(params);
            cuGraphClone(&graphs_[*p.phGraphExec].graph, p.hGraph);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags: {
            const auto& p = *static_cast<const cuGraphInstantiateWithFlags_params*>(params);
            cuGraphClone(&graphs_[*p.phGraphExec].graph, p.hGraph);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams: {
            const auto& p = *static_cast<const cuGraphInstantiateWithParams_params*>(params);
            cuGraphClone(&graphs_[*p.phGraphExec].graph, p.hGraph);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy: {
            const auto found =
                graphs_.find(static_cast<const cuGraphExecDestroy_params*>(params)->hGraphExec);
            if (found == graphs_.end()) return;
            cuGraphDestroy(found->second.graph);
            graphs_.erase(found);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams: {
            // The executable graph is the first parameter of each.
            const auto exec = *static_cast<const CUgraphExec*>(params);
            if (const auto found = graphs_.find(exec); found != graphs_.end())
                found->second.updated = true;
            return;
        }
        default:
            return;
    }
}

bool is_launch(CUpti_CallbackId id) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
            return true;
        default:
            return false;
    }
}

void Injection::api(CUpti_CallbackId id, const CUpti_CallbackData& call) {
    if (inside) return;
    const bool good = call.functionReturnValue &&
                      *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS;
    if (is_launch(id)) {
        // Nothing else is launched, and nothing is freed, while one is captured.
        if (call.callbackSite == CUPTI_API_ENTER) {
            mutex_.lock();
            const Inside guard;
            enter(id, call.functionParams);
        } else {
            {
                const Inside guard;
                recorder_.end(driver_, good);
            }
            mutex_.unlock();
        }
        return;
    }
    if (call.callbackSite != CUPTI_API_EXIT) return;
    const std::scoped_lock lock(mutex_);
    // Recording ends whatever it comes to.
    if (id == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture ||
        id == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz)
        capturing_ = std::max(0, capturing_ - 1);
    if (!good) return;
    const Inside guard;
    note(id, call.functionParams);
}

void Injection::module_loaded(const CUpti_ModuleResourceData& module) {
    const std::scoped_lock lock(mutex_);
    loaded_here.push_back(module.moduleId);
    const auto* const bytes = reinterpret_cast<const std::byte*>(module.pCubin);
    images_.push_back({module.moduleId, Image({bytes, bytes + module.cubinSize})});
}

void Injection::module_gone(const CUpti_ModuleResourceData& module) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(images_, [&](const Loaded& l) { return l.id == module.moduleId; });
}

// Lives as long as the process: callbacks may come until its end.
Injection* injection = nullptr;

void CUPTIAPI called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    try {
        if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
            injection->api(id, *static_cast<const CUpti_CallbackData*>(data));
        } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
            const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
            const auto* const module =
                static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
            if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) injection->module_loaded(*module);
            if (id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) injection->module_gone(*module);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "sassemu capture: %s\n", e.what());
    }
}

}  // namespace
}  // namespace sassemu::capture

// The driver calls it before the program's first call into CUDA.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    using namespace sassemu::capture;
    if (injection) return 1;
    try {
        const char* const text = std::getenv("SASSEMU_CAPTURE");
        injection = new Injection(read_options(text ? text : ""));
        CUpti_SubscriberHandle subscriber = nullptr;
        if (cuptiSubscribe(&subscriber, called, nullptr) != CUPTI_SUCCESS)
            throw Failure("another tool is attached to this process already (CUPTI)");
        cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                            CUPTI_CBID_RESOURCE_MODULE_LOADED);
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                            CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "sassemu capture: nothing is captured: %s\n", e.what());
    }
    return 1;
}
