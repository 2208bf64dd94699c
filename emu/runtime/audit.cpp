// SPDX-License-Identifier: Apache-2.0
// What `sassemu exec` gives the dynamic linker (LD_AUDIT): whoever asks for CUDA's runtime, its
// driver or NVML, by soname, through an RPATH or by an absolute path, gets ours. LD_LIBRARY_PATH
// alone loses against RPATH and against dlopen() of a path, and LD_PRELOAD adds a second copy.
//
// The linker loads this into a namespace of its own, where a libc would be a second one: so there
// is none, nothing is allocated, and nothing is called.
namespace {

using Size = decltype(sizeof 0);

constexpr Size longest = 4096;
constexpr char own_name[] = "libsassemu_audit.so";

struct Target {
    const char* beside;  // its place in the folder that this library lies in
    char path[longest];
};
Target targets[] = {{"cudart/libcudart.so.12", {}},
                    {"cudart/libcudart.so.13", {}},
                    {"cuda/libcuda.so.1", {}},
                    {"cuda/libnvidia-ml.so.1", {}}};
Target& runtime12 = targets[0];
Target& runtime13 = targets[1];
Target& driver = targets[2];
Target& management = targets[3];

Size length(const char* text) {
    Size n = 0;
    while (text[n] != 0) ++n;
    return n;
}

// The rest of `text` if it begins so, else null.
const char* after(const char* text, const char* begin) {
    while (*begin != 0)
        if (*text++ != *begin++) return nullptr;
    return text;
}

bool ends_or_dot(const char* text) { return *text == 0 || *text == '.'; }

const char* file_of(const char* path) {
    const char* file = path;
    for (; *path != 0; ++path)
        if (*path == '/') file = path + 1;
    return file;
}

void place(Target& target, const char* folder, Size bytes) {
    const Size rest = length(target.beside);
    if (bytes + rest >= longest) return;  // stays empty: not redirected
    for (Size i = 0; i < bytes; ++i) target.path[i] = folder[i];
    for (Size i = 0; i <= rest; ++i) target.path[bytes + i] = target.beside[i];
}

// The folder of this library is where LD_AUDIT says that it lies.
void find_folder(const char* audit) {
    while (*audit != 0) {
        Size end = 0, folder = 0;
        for (; audit[end] != 0 && audit[end] != ':'; ++end)
            if (audit[end] == '/') folder = end + 1;
        const char* rest = after(audit + folder, own_name);
        if (rest != nullptr && rest == audit + end) {
            for (Target& target : targets) place(target, audit, folder);
            return;
        }
        audit += end + (audit[end] == ':');
    }
}

// "libcudart.so.13.0.96", and as wheels rename it: "libcudart-d0da41ae.so.12".
const Target* runtime_of(const char* rest) {
    if (*rest == '-')
        while (*rest != 0 && *rest != '.') ++rest;
    rest = after(rest, ".so");
    if (rest == nullptr) return nullptr;
    if (*rest == 0) return &runtime13;
    if (const char* end = after(rest, ".13"); end != nullptr && ends_or_dot(end)) return &runtime13;
    if (const char* end = after(rest, ".12"); end != nullptr && ends_or_dot(end)) return &runtime12;
    return nullptr;
}

const Target* target_of(const char* file) {
    if (const char* rest = after(file, "libcudart")) return runtime_of(rest);
    if (const char* rest = after(file, "libcuda.so")) return ends_or_dot(rest) ? &driver : nullptr;
    if (const char* rest = after(file, "libnvidia-ml.so"))
        return ends_or_dot(rest) ? &management : nullptr;
    return nullptr;
}

// The linker gives constructors the arguments and the environment of the program.
__attribute__((constructor)) void begin(int, char**, char** environment) {
    for (; environment != nullptr && *environment != nullptr; ++environment)
        if (const char* value = after(*environment, "LD_AUDIT=")) return find_folder(value);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned version) { return version; }

// Asked for every name, and for every place where the linker looks for one.
__attribute__((visibility("default"))) char* la_objsearch(const char* name,
                                                          unsigned long*,  // NOLINT: glibc's type
                                                          unsigned) {
    const Target* target = target_of(file_of(name));
    const char* path = target != nullptr && target->path[0] != 0 ? target->path : name;
    return const_cast<char*>(path);
}
}
