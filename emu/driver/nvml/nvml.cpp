// SPDX-License-Identifier: Apache-2.0
// libnvidia-ml.so.1, as far as frameworks ask it about devices: how many, what they are called, how
// much memory they have, how they are connected. Types and numbers are those of NVML's public
// documentation.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "emu/driver/config.hpp"
#include "sassdec/architectures.hpp"

namespace {

using sassemu::DeviceProfile;
using sassemu::driver::Config;

enum Answer : int {
    success = 0,
    uninitialised = 1,
    invalid_argument = 2,
    not_supported = 3,
    not_found = 6,
    too_small = 7

};
struct Memory {
    unsigned long long total, free, used;
};
struct Memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct PciInfo {
    char legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
};
struct Utilization {
    unsigned gpu, memory;
};

constexpr unsigned long long device_bytes = 141ull << 30;

std::mutex mutex;
Config config;
unsigned started = 0;

// A device's handle is its number and one more.
const DeviceProfile* profile_of(const void* device) {
    const auto number = reinterpret_cast<uintptr_t>(device);
    return started && number && number <= config.devices.size() ? &config.devices[number - 1]
                                                                : nullptr;
}
unsigned number_of(const void* device) {
    return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device)) - 1;
}
Answer give_text(const char* text, char* out, unsigned length) {
    if (!out) return invalid_argument;
    if (std::strlen(text) >= length) return too_small;
    std::strcpy(out, text);
    return success;
}
int sm_of(const DeviceProfile& p) {
    for (const sassdec::Device& d : sassdec::devices)
        if (p.name == d.name) return d.sm;
    return 90;
}

}  // namespace

#define NVML extern "C" __attribute__((visibility("default"))) int
#define DEVICE                                               \
    const DeviceProfile* const profile = profile_of(device); \
    if (!started) return uninitialised;                      \
    if (!profile) return invalid_argument

NVML nvmlInit_v2() {
    const std::lock_guard guard(mutex);
    if (!started) config = sassemu::driver::read_config(std::getenv("SASSEMU_EXEC"));
    ++started;
    return config.error.empty() ? success : invalid_argument;
}
NVML nvmlInit() { return nvmlInit_v2(); }
NVML nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }
NVML nvmlShutdown() {
    const std::lock_guard guard(mutex);
    if (!started) return uninitialised;
    --started;
    return success;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int answer) {
    switch (answer) {
        case success:
            return "Success";
        case uninitialised:
            return "Uninitialized";
        case invalid_argument:
            return "Invalid Argument";
        case not_supported:
            return "Not Supported";
        case not_found:
            return "Not Found";
        case too_small:
            return "Insufficient Size";
        default:
            return "Unknown Error";
    }
}
NVML nvmlSystemGetDriverVersion(char* out, unsigned length) {
    return give_text("580.00 (sassemu)", out, length);
}
NVML nvmlSystemGetNVMLVersion(char* out, unsigned length) {
    return give_text("13.580.00", out, length);
}
NVML nvmlSystemGetCudaDriverVersion(int* out) {
    if (!out) return invalid_argument;
    *out = 13000;
    return success;
}
NVML nvmlSystemGetCudaDriverVersion_v2(int* out) { return nvmlSystemGetCudaDriverVersion(out); }
NVML nvmlDeviceGetCount_v2(unsigned* out) {
    if (!started) return uninitialised;
    if (!out) return invalid_argument;
    *out = static_cast<unsigned>(config.devices.size());
    return success;
}
NVML nvmlDeviceGetCount(unsigned* out) { return nvmlDeviceGetCount_v2(out); }
NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
    if (!started) return uninitialised;
    if (!out || index >= config.devices.size()) return invalid_argument;
    *out = reinterpret_cast<void*>(uintptr_t{index} + 1);
    return success;
}
NVML nvmlDeviceGetHandleByIndex(unsigned index, void** out) {
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}
NVML nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** out) {
    unsigned domain = 0, bus = 0, slot = 0;
    if (!started) return uninitialised;
    if (!text || !out) return invalid_argument;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) < 3 || domain || !bus || slot ||
        bus > config.devices.size())
        return not_found;
    *out = reinterpret_cast<void*>(uintptr_t{bus});
    return success;
}
NVML nvmlDeviceGetIndex(void* device, unsigned* out) {
    DEVICE;
    if (!out) return invalid_argument;
    *out = number_of(device);
    return success;
}
NVML nvmlDeviceGetMinorNumber(void* device, unsigned* out) {
    return nvmlDeviceGetIndex(device, out);
}
NVML nvmlDeviceGetName(void* device, char* out, unsigned length) {
    DEVICE;
    std::string text = profile->name;
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return give_text((text + " (sassemu)").c_str(), out, length);
}
NVML nvmlDeviceGetUUID(void* device, char* out, unsigned length) {
    DEVICE;
    // The bytes that cuDeviceGetUuid gives.
    char text[48];
    std::snprintf(text, sizeof text, "GPU-73617373-656d-752d-6465-766963652d%02x",
                  number_of(device) & 0xff);
    return give_text(text, out, length);
}
NVML nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
    DEVICE;
    if (!out) return invalid_argument;
    *out = {device_bytes, device_bytes, 0};
    return success;
}
NVML nvmlDeviceGetMemoryInfo_v2(void* device, Memory2* out) {
    DEVICE;
    if (!out) return invalid_argument;
    *out = {out->version, device_bytes, 0, device_bytes, 0};
    return success;
}
NVML nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
    DEVICE;
    if (!out) return invalid_argument;
    *out = {0, 0};
    return success;
}
NVML nvmlDeviceGetPciInfo_v3(void* device, PciInfo* out) {
    DEVICE;
    if (!out) return invalid_argument;
    *out = {};
    out->bus = number_of(device) + 1;
    std::snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus & 0xff);
    std::snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus & 0xff);
    return success;
}
NVML nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
    DEVICE;
    if (!major || !minor) return invalid_argument;
    *major = sm_of(*profile) / 10;
    *minor = sm_of(*profile) % 10;
    return success;
}
NVML nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
    DEVICE;
    if (!count) return invalid_argument;
    *count = 0;
    return success;
}
NVML nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
    DEVICE;
    if (!now || !pending) return invalid_argument;
    *now = *pending = 0;
    return success;
}
// How two devices are connected: by a switch that all of them share (NVML_TOPOLOGY_SINGLE).
NVML nvmlDeviceGetTopologyCommonAncestor(void* device, void* other, int* level) {
    DEVICE;
    if (!profile_of(other) || !level) return invalid_argument;
    *level = device == other ? 0 : 10;
    return success;
}
NVML nvmlDeviceGetNvLinkState(void* device, unsigned, unsigned* active) {
    DEVICE;
    if (!active) return invalid_argument;
    *active = 0;
    return success;
}
NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo*) {
    DEVICE;
    return not_supported;
}
NVML nvmlDeviceGetComputeMode(void* device, int* mode) {
    DEVICE;
    if (!mode) return invalid_argument;
    *mode = 0;
    return success;
}
