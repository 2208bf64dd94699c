# SPDX-License-Identifier: Apache-2.0
# What holds for every target: standard, warnings, arithmetic flags, sanitizers, output directories.
# What does not belong here: a host level's flags (emu/lanes owns those) and any target.
option(SASSEMU_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(SASSEMU_UNITY "Compile the product's sources several at a time and their largest headers once: a fresh build takes half as long, a change longer" OFF)
set(SASSEMU_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O2: the per-level engines are large, and a translation unit has to stay under 40 s.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

add_compile_options(-Wall -Wextra)
# GCC contracts a*b+c by default, and folds under the default rounding mode: both change guest bits.
add_compile_options(-ffp-contract=off -fno-fast-math -frounding-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # The lowest level that runs: everything outside the per-level engines must run on it.
    add_compile_options(-march=x86-64-v2)
endif()

# Hardening. The sanitizers bring checks of their own, which _FORTIFY_SOURCE would hide from them.
include(CheckCXXCompilerFlag)
foreach(flag -fstack-protector-strong -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "SASSEMU_HAS${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
        add_compile_options(${flag})
    endif()
endforeach()
if(NOT SASSEMU_SANITIZE)
    add_compile_options("$<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
endif()
# The C library's start files have no note on control-flow protection (Debian 12), so the linker would leave it out of
# what is made of objects that all have it. Shadow stacks need nothing of those files; branch tracking does.
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:-z,shstk SASSEMU_HAS_z_shstk)
if(SASSEMU_HAS_fcf_protection_full AND SASSEMU_HAS_z_shstk)
    add_link_options(LINKER:-z,shstk)
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# A program does not load what it takes nothing from: shared objects that are opened when they are wanted (the host levels,
# TLS) are linked to for their place in the build alone.
add_link_options(LINKER:--as-needed)

if(SASSEMU_SANITIZE)
    add_compile_options(-fsanitize=${SASSEMU_SANITIZE})
    add_link_options(-fsanitize=${SASSEMU_SANITIZE})
    if(SASSEMU_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
endif()
if(SASSEMU_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "SASSEMU_FUZZ needs clang: use the `fuzz` preset")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(SASSEMU_CCACHE ccache)
    if(SASSEMU_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER "${SASSEMU_CCACHE}")
        set(CMAKE_CXX_COMPILER_LAUNCHER "${SASSEMU_CCACHE}")
    endif()
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(SASSEMU_PLUGIN_DIRECTORY "${PROJECT_BINARY_DIR}/lib/sassemu/plugins")
# A program finds our libraries beside itself, in the build tree and once installed. One RUNPATH for
# both: CMake pads one that it has to replace with colons, and an empty element is the folder that
# the program is started in.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN/../lib" "$ORIGIN")
list(REMOVE_DUPLICATES CMAKE_INSTALL_RPATH)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # libraries of others, outside of the system's folders

include_directories("${PROJECT_SOURCE_DIR}")  # "emu/plan/plan.hpp": one spelling everywhere
