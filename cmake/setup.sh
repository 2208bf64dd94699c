# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Sourced by ./run, ./test and .ci/run: installs what the build needs from apt, only what is
# missing, and builds a preset. What does not belong here: what is run afterwards.

sassemu_packages=(
    g++ cmake ninja-build pkg-config
    libboost-dev libtbb-dev libssl-dev nlohmann-json3-dev libcli11-dev libzstd-dev liblz4-dev libgtest-dev
    protobuf-compiler libprotobuf-dev libpmix-dev libedit-dev
    python3 python3-jsonschema
)

# The packages among the arguments that dpkg does not know as installed.
sassemu_missing() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            echo "$package"
    done
}

# Installs the packages named, where missing: as root, else with sudo.
sassemu_install() {
    local missing log as_root=()
    missing=$(sassemu_missing "$@")
    [ -z "$missing" ] && return 0
    # shellcheck disable=SC2086
    set -- $missing
    echo "installing from apt: $*" >&2
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "these packages are missing, and installing them needs root or sudo: $*" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    log=$(mktemp)
    if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q;
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends "$@"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        echo "apt-get could not install: $*" >&2
        return 1
    fi
    rm -f "$log"
}

# Cores that the build may use; SASSEMU_JOBS overrides (memory, shared machines).
sassemu_jobs() { echo "${SASSEMU_JOBS:-$(nproc)}"; }

# The host level that this CPU runs best.
sassemu_level_here() {
    local flags level=v2
    flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1) "
    sassemu_all_in "$flags" avx2 fma bmi2 && level=v3
    [ $level = v3 ] && sassemu_all_in "$flags" avx512f avx512bw avx512dq avx512vl avx512cd && level=v4
    echo $level
}
sassemu_all_in() {
    local words=$1 word
    shift
    for word in "$@"; do
        [[ $words == *" $word "* ]] || return 1
    done
}

# sassemu_build PRESET [-DVARIABLE=VALUE | -UVARIABLE...] [target...]: configures and builds quietly;
# shows the log if that fails.
sassemu_build() {
    local preset=$1 log variables=() targets=()
    shift
    while [[ ${1:-} == -[DU]* ]]; do
        variables+=("$1")
        shift
    done
    [ $# -gt 0 ] && targets=(--target "$@")
    # A new build of everything takes half as long this way. Who works on the sources sets the preset up without it.
    [ "$preset" != release ] || [ -f build/release/CMakeCache.txt ] || variables+=(-DSASSEMU_UNITY=ON)
    mkdir -p "build/$preset"
    log=build/$preset/build.log
    if ! { cmake --preset "$preset" "${variables[@]}" &&
        cmake --build --preset "$preset" -j "$(sassemu_jobs)" "${targets[@]}"; } >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        echo "the $preset build failed; the whole log is $log" >&2
        return 1
    fi
}
