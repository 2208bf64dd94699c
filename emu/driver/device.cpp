// SPDX-License-Identifier: Apache-2.0
// Versions, errors, entry points, devices and their attributes.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emu/driver/driver.hpp"
#include "sassdec/architectures.hpp"

namespace sassemu::driver {

namespace {

constexpr int cuda_version = 13000;

struct NamedError {
    CUresult error;
    const char* name;
    const char* text;
};
constexpr NamedError named_errors[] = {
#define SASSEMU_ERROR(name, text) {name, #name, text},
#include "emu/driver/errors.def"
#undef SASSEMU_ERROR
};

const NamedError* find_error(CUresult error) {
    const auto* const found = std::ranges::find(named_errors, error, &NamedError::error);
    return found == std::end(named_errors) ? nullptr : found;
}

// The profile of a device, and the number of its architecture.
const DeviceProfile* profile_of(CUdevice device) {
    const Driver& d = Driver::get();
    return device >= 0 && static_cast<uint32_t>(device) < d.count() ? &d.config.devices[device]
                                                                    : nullptr;
}

// Memory that the device says it has; the host may have less.
constexpr size_t device_bytes = size_t{141} << 30;

int attribute(const DeviceProfile& p, int sm, CUdevice device, CUdevice_attribute which) {
    const bool hopper = sm >= 90;
    switch (which) {
        case 1:  // MAX_THREADS_PER_BLOCK
        case 2:
        case 3:
            return 1024;
        case 4:
            return 64;
        case 5:
            return 0x7fffffff;
        case 6:
        case 7:
            return 65535;
        case 8:
            return 48 << 10;
        case 9:
            return 64 << 10;
        case 10:
            return 32;
        case 11:
            return 0x7fffffff;
        case 12:
        case 82:
            return static_cast<int>(p.registers_per_sm);
        case 13:  // CLOCK_RATE, kHz: %clock counts a nanosecond
            return 1000000;
        case 14:
            return 512;
        case 15:
        case 19:
        case 31:
        case 41:
        case 44:
        case 78:
        case 79:
        case 80:
        case 83:
        case 90:
        case 95:
        case 99:
        case 102:
        case 115:
        case 122:
        case 123:
        case 129:
            return 1;
        case 16:
            return static_cast<int>(p.sms);
        case 21:
        case 22:
        case 23:
        case 55:
        case 56:
            return 131072;
        case 24:
        case 25:
        case 26:
        case 58:
        case 59:
        case 60:
            return 16384;
        case 27:
        case 28:
        case 42:
        case 45:
        case 46:
        case 52:
        case 53:
        case 61:
        case 63:
        case 64:
        case 66:
        case 67:
        case 73:
        case 74:
        case 77:
            return 32768;
        case 29:
        case 43:
        case 54:
        case 62:
        case 65:
        case 68:
            return 2048;
        case 57:
            return 65536;
        case 30:
        case 51:
            return which == 30 ? 512 : 32;
        case 33:  // PCI_BUS_ID
            return 1 + device;
        case 36:
            return 1000000;
        case 37:
            return 6144;
        case 38:
            return 60 << 20;
        case 39:
            return static_cast<int>(p.resident_threads_per_sm);
        case 40:
            return 3;
        case 69:
            return 1 << 28;
        case 70:
            return 131072;
        case 71:
            return 65000;
        case 72:
            return 2097120;
        case 75:
            return sm / 10;
        case 76:
            return sm % 10;
        case 81:
            return static_cast<int>(p.shared_per_sm);
        case 86:  // HOST_NATIVE_ATOMIC_SUPPORTED: here they are
        case 89:  // CONCURRENT_MANAGED_ACCESS
        case 91:  // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
            return 1;
        case 87:
            return sm == 80 || sm == 90 || sm == 100 ? 2 : 64;
        case 97:
            return static_cast<int>(p.shared_per_cta);
        case 106:
            return static_cast<int>(p.resident_ctas_per_sm);
        case 111:
            return sm >= 80 ? 1024 : 0;
        case 120:
        case 127:
            return hopper;
        case 126:
            return hopper ? 4 : 1;
        case 130:
        case 131:
        case 134:
            return which == 131 ? -1 : 0;
        default:
            return 0;
    }
}

}  // namespace

int sm_of(uint32_t device) {
    const DeviceProfile& p = Driver::get().config.devices[device];
    for (const sassdec::Device& d : sassdec::devices)
        if (p.name == d.name) return d.sm;
    return 90;
}

}  // namespace sassemu::driver

namespace sassemu::driver::api {

CUresult cuDriverGetVersion(int* version) {
    *version = cuda_version;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
    const NamedError* const found = find_error(error);
    *name = found ? found->name : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    const NamedError* const found = find_error(error);
    *text = found ? found->text : nullptr;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version,
                             unsigned long long flags, CUdriverProcAddressQueryResult* status) {
    if (flags > 2 || version < 2000) return CUDA_ERROR_INVALID_VALUE;
    *function = nullptr;
    int found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const EntryPoint* const end = entry_points + entry_point_count;
    const EntryPoint* at = std::lower_bound(
        entry_points, end, name,
        [](const EntryPoint& e, const char* n) { return std::strcmp(e.name, n) < 0; });
    // Later versions come later.
    for (; at != end && !std::strcmp(at->name, name); ++at) {
        const bool own = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM &&
                         at->thread_function && at->thread_version <= version;
        if (at->version > version) {
            if (!*function) found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
            continue;
        }
        *function = own ? at->thread_function : at->function;
        found = CU_GET_PROC_ADDRESS_SUCCESS;
    }
    if (status) *status = found;
    return CUDA_SUCCESS;
}
CUresult cuGetProcAddress(const char* name, void** function, int version,
                          unsigned long long flags) {
    return api::cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

// Private tables of NVIDIA's own libraries. There are none, and the first who asks is named.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
    *table = nullptr;
    Dl_info from{};
    const char* const file = dladdr(caller, &from) ? from.dli_fname : nullptr;
    // Compilers ask too, and do without.
    const std::string_view who = file ? file : "a library of the program";
    if (who.find("libnvrtc") == who.npos && who.find("libnvJitLink") == who.npos)
        say(std::string(who) +
            " asks the driver for a private table, which there is not here. If the program stops "
            "now: link it with `nvcc -cudart shared`, or capture its launches on a GPU and replay "
            "them (docs/capture.md)");
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (!profile_of(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
    *count = static_cast<int>(Driver::get().count());
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    const DeviceProfile* const p = profile_of(device);
    if (!p) return CUDA_ERROR_INVALID_DEVICE;
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::string text = p->name;
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    std::snprintf(name, static_cast<size_t>(length), "%s (sassemu)", text.c_str());
    return CUDA_SUCCESS;
}
static CUresult uuid_of(CUuuid* uuid, CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    std::memcpy(uuid->bytes, "sassemu-device-", 15);
    uuid->bytes[15] = static_cast<char>(device);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return uuid_of(uuid, device); }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) { return uuid_of(uuid, device); }
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device_bytes;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
    const DeviceProfile* const p = profile_of(device);
    if (!p) return CUDA_ERROR_INVALID_DEVICE;
    if (which < 1 || which > 161) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute(*p, sm_of(static_cast<uint32_t>(device)), device, which);
    return CUDA_SUCCESS;
}
CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    const int sm = sm_of(static_cast<uint32_t>(device));
    *major = sm / 10;
    *minor = sm % 10;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice device) {
    const DeviceProfile* const p = profile_of(device);
    if (!p) return CUDA_ERROR_INVALID_DEVICE;
    const int sm = sm_of(static_cast<uint32_t>(device));
    const auto get = [&](int which) { return attribute(*p, sm, device, which); };
    *prop = {get(1),
             {get(2), get(3), get(4)},
             {get(5), get(6), get(7)},
             get(8),
             get(9),
             get(10),
             get(11),
             get(12),
             get(13),
             get(14)};
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (length < 13) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0",
                  static_cast<unsigned>(1 + device) & 0xff);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
    unsigned domain = 0, bus = 0, slot = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) < 3 || domain || slot ||
        !profile_of(static_cast<CUdevice>(bus) - 1))
        return CUDA_ERROR_INVALID_VALUE;
    *device = static_cast<CUdevice>(bus) - 1;
    return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) {
    if (!profile_of(from) || !profile_of(to)) return CUDA_ERROR_INVALID_DEVICE;
    *can = from != to;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute which, CUdevice from,
                                 CUdevice to) {
    if (!profile_of(from) || !profile_of(to)) return CUDA_ERROR_INVALID_DEVICE;
    if (which < 1 || which > 5 || from == to) return CUDA_ERROR_INVALID_VALUE;
    *value = which == 2 || which == 3;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType, CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    *pi = 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format, unsigned,
                                            CUdevice device) {
    if (!profile_of(device)) return CUDA_ERROR_INVALID_DEVICE;
    *width = size_t{1} << 28;
    return CUDA_SUCCESS;
}
CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace sassemu::driver::api
