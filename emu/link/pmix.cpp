// SPDX-License-Identifier: Apache-2.0
// See pmix.hpp. Only the types of <pmix.h> are used at build time. Every call that waits for others
// is one that calls back, so that this side decides how long it waits.
#include "emu/link/pmix.hpp"

#ifdef SASSEMU_PMIX
#include <dlfcn.h>
#include <pmix.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <type_traits>
#endif

namespace sassemu::link {

#ifndef SASSEMU_PMIX

Result<std::unique_ptr<Pmix>> Pmix::connect() {
    return Error{ErrorCode::unsupported, "PMIx", "this program was built without it",
                 "build it where libpmix-dev is installed, or name all ranks with --peer"};
}

#else

namespace {

using std::chrono::milliseconds;

// The library's functions, which are never unloaded: it has threads of its own.
struct Library {
    decltype(&PMIx_Init) init;
    decltype(&PMIx_Finalize) finalize;
    decltype(&PMIx_Put) put;
    decltype(&PMIx_Commit) commit;
    decltype(&PMIx_Fence_nb) fence;
    decltype(&PMIx_Get_nb) get;
    decltype(&PMIx_Error_string) error_string;

    Result<void> load() {
        constexpr char name[] = "libpmix.so.2";
        // Its components look for its functions among those of the process.
        void* const library = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (!library) return missing(::dlerror());
        const auto find = [&](auto& function, const char* symbol) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(::dlsym(library, symbol));
            return function != nullptr;
        };
        if (find(init, "PMIx_Init") && find(finalize, "PMIx_Finalize") && find(put, "PMIx_Put") &&
            find(commit, "PMIx_Commit") && find(fence, "PMIx_Fence_nb") &&
            find(get, "PMIx_Get_nb") && find(error_string, "PMIx_Error_string"))
            return {};
        return missing(::dlerror());
    }
    static Error missing(const char* why) {
        return Error{ErrorCode::system, "PMIx",
                     std::string("its library cannot be loaded: ") + (why ? why : "unknown"),
                     "install it (Debian: libpmix2), or name all ranks with --peer"};
    }
};

void set_text(char* field, size_t bytes, const std::string& text) {
    std::memcpy(field, text.data(), std::min(bytes - 1, text.size()));
}

// A call under way. What it refers to lives until the library has called back, if it ever does.
struct Call {
    pmix_proc_t process{};
    pmix_info_t info[2]{};
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    pmix_status_t status = PMIX_SUCCESS;
    std::string text;     // of a value that is a string
    uint64_t number = 0;  // of one that is a number

    void end(pmix_status_t with) {
        const std::lock_guard guard(mutex);
        status = with;
        ended = true;
        changed.notify_all();
    }
};
using CallRef = std::shared_ptr<Call>;

void fence_ended(pmix_status_t status, void* data) {
    const std::unique_ptr<CallRef> call(static_cast<CallRef*>(data));
    (*call)->end(status);
}
void got(pmix_status_t status, pmix_value_t* value, void* data) {
    const std::unique_ptr<CallRef> call(static_cast<CallRef*>(data));
    if (status == PMIX_SUCCESS && value && value->type == PMIX_STRING && value->data.string)
        (*call)->text = value->data.string;
    else if (status == PMIX_SUCCESS && value && value->type == PMIX_UINT32)
        (*call)->number = value->data.uint32;
    else if (status == PMIX_SUCCESS)
        status = PMIX_ERR_TYPE_MISMATCH;
    (*call)->end(status);
}

class System final : public Pmix {
  public:
    ~System() override {
        if (connected_) library_.finalize(nullptr, 0);
    }

    Result<void> begin() {
        SASSEMU_TRY(library_.load());
        const pmix_status_t status = library_.init(&me_, nullptr, 0);
        if (status != PMIX_SUCCESS) return failed("the launcher does not answer", status);
        connected_ = true;
        job = me_.nspace;
        rank = me_.rank;
        SASSEMU_ASSIGN(const CallRef all, look_up(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE));
        SASSEMU_ASSIGN(const CallRef here, look_up(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE));
        ranks = static_cast<uint32_t>(all->number);
        one_node = here->number == all->number;
        return {};
    }

    Result<void> put(const std::string& key, const std::string& value) override {
        pmix_value_t wrapped{};
        wrapped.type = PMIX_STRING;
        wrapped.data.string = const_cast<char*>(value.c_str());
        pmix_status_t status = library_.put(PMIX_GLOBAL, key.c_str(), &wrapped);
        if (status == PMIX_SUCCESS) status = library_.commit();
        if (status == PMIX_SUCCESS) return {};
        return failed("'" + key + "' cannot be handed out", status);
    }

    Result<void> fence(milliseconds patience) override {
        const CallRef call = make_call(PMIX_RANK_WILDCARD);
        set(call->info[0], PMIX_COLLECT_DATA, PMIX_BOOL).data.flag = true;
        return settle(call, patience, "the ranks do not meet", [&](void* data) {
            return library_.fence(&call->process, 1, call->info, 1, fence_ended, data);
        });
    }

    Result<std::string> get(uint32_t of, const std::string& key) override {
        SASSEMU_ASSIGN(const CallRef call, look_up(of, key));
        return call->text;
    }

  private:
    Error failed(std::string what, pmix_status_t status) const {
        return Error{ErrorCode::system, "PMIx",
                     std::move(what) + ": " + library_.error_string(status), ""};
    }
    CallRef make_call(pmix_rank_t of) const {
        auto call = std::make_shared<Call>();
        call->process = me_;
        call->process.rank = of;
        return call;
    }
    static pmix_value_t& set(pmix_info_t& info, const char* key, pmix_data_type_t type) {
        set_text(info.key, sizeof info.key, key);
        info.value.type = type;
        return info.value;
    }

    // What is not there is not waited for.
    Result<CallRef> look_up(pmix_rank_t of, const std::string& key) {
        constexpr milliseconds patience{5000};
        const CallRef call = make_call(of);
        set(call->info[0], PMIX_IMMEDIATE, PMIX_BOOL).data.flag = true;
        set(call->info[1], PMIX_TIMEOUT, PMIX_INT).data.integer = patience.count() / 1000;
        SASSEMU_TRY(settle(call, patience, "'" + key + "' is not known", [&](void* data) {
            return library_.get(&call->process, key.c_str(), call->info, 2, got, data);
        }));
        return call;
    }

    template <class F>
    Result<void> settle(const CallRef& call, milliseconds patience, const std::string& otherwise,
                        F&& begin) {
        auto data = std::make_unique<CallRef>(call);
        const pmix_status_t begun = begin(data.get());
        if (begun == PMIX_OPERATION_SUCCEEDED) return {};
        if (begun != PMIX_SUCCESS) return failed(otherwise, begun);
        (void)data.release();  // the function that is called back has it
        std::unique_lock lock(call->mutex);
        if (!call->changed.wait_for(lock, patience, [&] { return call->ended; }))
            return Error{ErrorCode::limit, "PMIx",
                         otherwise + " within " + std::to_string(patience.count() / 1000) + " s",
                         ""};
        if (call->status == PMIX_SUCCESS) return {};
        return failed(otherwise, call->status);
    }

    Library library_{};
    bool connected_ = false;
    pmix_proc_t me_{};
};

}  // namespace

Result<std::unique_ptr<Pmix>> Pmix::connect() {
    auto made = std::make_unique<System>();
    SASSEMU_TRY(made->begin());
    return std::unique_ptr<Pmix>(std::move(made));
}

#endif

}  // namespace sassemu::link
