// SPDX-License-Identifier: Apache-2.0
// The library that the CUDA driver loads into a program (CUDA_INJECTION64_PATH): it subscribes to
// CUPTI's callbacks of the driver API and of modules, and hands launches to the recorder. What is
// captured of one, and how, is the others' matter.
#include <cupti.h>
#include <sys/uio.h>
#include <unistd.h>

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
#include "cuda_graph.hpp"
#include "recorder.hpp"

namespace sassemu::capture {
namespace {

struct Loaded {
    uint32_t id;
    Image image;
};

// Where nothing is, a Failure comes and no signal.
void read_host(uint64_t address, std::span<std::byte> out) {
    const iovec to{out.data(), out.size()}, from{reinterpret_cast<void*>(address), out.size()};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(out.size()))
        throw Failure("a copy of it comes from memory that nobody has");
}

// All that the library knows of the program.
class Injection {
  public:
    explicit Injection(const Options& options)
        : recorder_(options, program_name(),
                    [](const std::string& line) {
                        std::fprintf(stderr, "sassemu capture: %s\n", line.c_str());
                    }),
          driver_(options.wait) {}

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
    void enter_work(Work work, std::function<CUresult()> again);
    bool take_host_bytes(Move& move, std::span<const Range> scratch);
    void enter_graph(CUgraphExec exec, CUstream stream);
    void note(CUpti_CallbackId id, const void* params);

    void note_graph(CUpti_CallbackId id, const void* params);
    void place(Launch& launch);
    const Image* image_of(CUmodule module, const std::string& kernel);
    void bind(CUmodule module);

    std::recursive_mutex mutex_;  // held from a launch's enter to its exit
    Recorder recorder_;
    CudaDriver driver_;
    int capturing_ = 0;  // streams that record a graph: nothing may synchronise meanwhile
    std::deque<Loaded> images_;
    std::unordered_map<CUmodule, uint32_t> image_of_module_;
    CudaGraphs graphs_;
    // What of memory that is mapped by handles is known of these.
    std::unordered_map<CUmemGenericAllocationHandle, CUdeviceptr> mapped_;
    std::unordered_set<CUmemGenericAllocationHandle> imported_;
};

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

void Injection::place(Launch& launch) {
    const auto module = reinterpret_cast<CUmodule>(launch.module);
    if (!image_of_module_.contains(module)) bind(module);
    launch.image = image_of(module, launch.kernel);
}

void Injection::enter_work(Work work, std::function<CUresult()> again) {
    driver_.again_ = std::move(again);
    recorder_.begin(driver_, std::move(work));
}

// Memory of the host that the driver does not know is no part of a capsule: what is copied from
// there is taken now, and what is copied to there is nobody's. False: the latter.
bool Injection::take_host_bytes(Move& move, std::span<const Range> scratch) {
    const auto known = [&](uint64_t address) {
        return std::ranges::any_of(scratch,
                                   [&](const Range& r) { return address - r.address < r.bytes; }) ||
               driver_.range_of(address);
    };
    if (!known(move.to)) return false;
    if (!move.bytes.empty() || known(move.from)) return true;
    move.bytes.resize(move.width * move.height * move.depth);
    std::byte* to = move.bytes.data();
    for (uint64_t z = 0; z < move.depth; ++z)
        for (uint64_t y = 0; y < move.height; ++y, to += move.width)
            read_host(move.from + z * move.from_slice + y * move.from_row, {to, move.width});
    move.from = 0;
    move.from_row = move.width;
    move.from_slice = move.width * move.height;
    return true;
}

void Injection::enter_graph(CUgraphExec exec, CUstream stream) {
    const auto* const graph = graphs_.find(exec);
    if (!graph) throw Failure("it was not seen being made");
    std::vector<GraphNode> nodes;
    for (const CudaGraphNode& node : *graph) nodes.push_back(node.node);
    Work work;
    bool wanted = false;
    std::string first;
    for (const size_t i : order_of(nodes)) {
        const CudaGraphNode& node = (*graph)[i];
        if (!node.enabled) continue;
        if (node.scratch) work.scratch.push_back(*node.scratch);
        work.host_functions |= node.node.kind == GraphNode::Kind::host;
        if (node.node.kind != GraphNode::Kind::kernel && node.node.kind != GraphNode::Kind::move)
            continue;
        work.launches.push_back(node.launch);
        if (node.launch.move) continue;
        place(work.launches.back());
        if (first.empty()) first = node.launch.kernel;
        wanted |= recorder_.wanted(work.launches.back());
    }
    if (!wanted) return;
    if (const std::string why = refusal_of(nodes); !why.empty())
        return recorder_.refuse(first, why);
    std::erase_if(work.launches,
                  [&](Launch& l) { return l.move && !take_host_bytes(*l.move, work.scratch); });
    enter_work(std::move(work), [=] { return cuGraphLaunch(exec, stream); });
}

void Injection::enter(CUpti_CallbackId id, const void* params) {
    std::string kernel = "a kernel";
    const auto one = [&](CUfunction f, const CUlaunchConfig& config, void** p, void** extra,
                         std::function<CUresult()> again) {
        f = function_of(f);
        const char* name = nullptr;
        check(cuFuncGetName(&name, f), "its name");
        kernel = name;
        Work work;
        work.launches.push_back(launch_of(f, config, p, extra));
        place(work.launches.back());
        if (!recorder_.wanted(work.launches.back())) return;
        enter_work(std::move(work), std::move(again));
    };
    // What a stream records runs when its graph is launched.
    if (capturing_ > 0 || recorder_.is_broken(driver_)) return;
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
        recorder_.failed(driver_, kernel, e);
    }
}

// Modules, allocations and textures, after the calls that make and end them.
void Injection::note(CUpti_CallbackId id, const void* params) {
    const auto made = [&](const CUdeviceptr* at) { driver_.allocations_.insert(*at); };
    const auto made_host = [&](void* at) {
        driver_.allocations_.insert(reinterpret_cast<uint64_t>(at));
    };
    const auto gone = [&](uint64_t at) {
        driver_.allocations_.erase(at);
        driver_.shared_.erase(at);
    };
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
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
            return made(static_cast<const cuMemAllocAsync_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
            return made(static_cast<const cuMemAllocFromPoolAsync_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
            return made_host(*static_cast<const cuMemAllocHost_v2_params*>(params)->pp);
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
            return made_host(*static_cast<const cuMemHostAlloc_params*>(params)->pp);
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
            return made_host(static_cast<const cuMemHostRegister_v2_params*>(params)->p);
        case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
            const auto& p = *static_cast<const cuMemMap_params*>(params);
            driver_.allocations_.insert(p.ptr);
            mapped_[p.handle] = p.ptr;
            if (imported_.contains(p.handle)) driver_.shared_.insert(p.ptr);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle:
            imported_.insert(
                *static_cast<const cuMemImportFromShareableHandle_params*>(params)->handle);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuMemExportToShareableHandle: {
            const auto& p = *static_cast<const cuMemExportToShareableHandle_params*>(params);
            imported_.insert(p.handle);
            if (const auto at = mapped_.find(p.handle); at != mapped_.end())
                driver_.shared_.insert(at->second);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2: {
            const auto& p = *static_cast<const cuIpcOpenMemHandle_v2_params*>(params);
            driver_.allocations_.insert(*p.pdptr);
            driver_.shared_.insert(*p.pdptr);
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuIpcGetMemHandle:
            driver_.shared_.insert(static_cast<const cuIpcGetMemHandle_params*>(params)->dptr);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
            return gone(static_cast<const cuMemUnmap_params*>(params)->ptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
            return gone(
                reinterpret_cast<uint64_t>(static_cast<const cuMemFreeHost_params*>(params)->p));
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
            return gone(reinterpret_cast<uint64_t>(
                static_cast<const cuMemHostUnregister_params*>(params)->p));
        case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
            return gone(static_cast<const cuMemFree_v2_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
            return gone(static_cast<const cuMemFreeAsync_params*>(params)->dptr);
        case CUPTI_DRIVER_TRACE_CBID_cuTexObjectCreate: {
            const auto& p = *static_cast<const cuTexObjectCreate_params*>(params);
            driver_.textures_[*p.pTexObject] = {*p.pResDesc, *p.pTexDesc, false,
                                                p.pResViewDesc != nullptr};
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuTexObjectDestroy:
            driver_.textures_.erase(
                static_cast<const cuTexObjectDestroy_params*>(params)->texObject);
            return;
        case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectCreate: {
            const auto& p = *static_cast<const cuSurfObjectCreate_params*>(params);
            driver_.textures_[*p.pSurfObject] = {*p.pResDesc, {}, true, false};
            return;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuSurfObjectDestroy:
            driver_.textures_.erase(
                static_cast<const cuSurfObjectDestroy_params*>(params)->surfObject);
            return;
        default:
            note_graph(id, params);
    }
}

void Injection::note_graph(CUpti_CallbackId id, const void* params) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2: {
            const auto& p = *static_cast<const cuGraphInstantiate_v2_params*>(params);
            return graphs_.made(*p.phGraphExec, p.hGraph);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags: {
            const auto& p = *static_cast<const cuGraphInstantiateWithFlags_params*>(params);
            return graphs_.made(*p.phGraphExec, p.hGraph);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
        case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz: {
            const auto& p = *static_cast<const cuGraphInstantiateWithParams_params*>(params);
            return graphs_.made(*p.phGraphExec, p.hGraph);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2: {
            const auto& p = *static_cast<const cuGraphExecUpdate_v2_params*>(params);
            return graphs_.made(p.hGraphExec, p.hGraph);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy:
            return graphs_.gone(static_cast<const cuGraphExecDestroy_params*>(params)->hGraphExec);
        case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled: {
            const auto& p = *static_cast<const cuGraphNodeSetEnabled_params*>(params);
            return graphs_.set_enabled(p.hGraphExec, p.hNode, p.isEnabled);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2: {
            const auto& p = *static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(params);
            return graphs_.set_kernel(p.hGraphExec, p.hNode, *p.nodeParams);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams: {
            const auto& p = *static_cast<const cuGraphExecMemcpyNodeSetParams_params*>(params);
            return graphs_.set_copy(p.hGraphExec, p.hNode, *p.copyParams);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemsetNodeSetParams: {
            const auto& p = *static_cast<const cuGraphExecMemsetNodeSetParams_params*>(params);
            return graphs_.set_fill(p.hGraphExec, p.hNode, *p.memsetParams);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams: {
            const auto& p = *static_cast<const cuGraphExecChildGraphNodeSetParams_params*>(params);
            return graphs_.set_child(p.hGraphExec, p.hNode, p.childGraph);
        }
        case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams: {
            const auto& p = *static_cast<const cuGraphExecNodeSetParams_params*>(params);
            return graphs_.set_any(p.hGraphExec, p.hNode, *p.nodeParams);
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
