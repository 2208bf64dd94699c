# SPDX-License-Identifier: Apache-2.0
# Installation of the emulator: the libraries that exist, their headers, the CMake package and the
# pkg-config file. What does not belong here: how anything is built, and the decoder, which installs
# itself (it can be used alone).
set(sassemu_libraries "")
foreach(target sassemu_plan sassemu_nvshmem sassemu sassemu_module sassemu_lanes sassemu_v2 sassemu_v3 sassemu_v4)
    if(TARGET ${target})
        list(APPEND sassemu_libraries ${target})
    endif()
endforeach()
if(NOT TARGET sassemu OR NOT TARGET sassdec)
    return()
endif()

# Headers are included as "emu/gpu.hpp": from the source tree here, from include/sassemu there.
foreach(target IN LISTS sassemu_libraries)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>;$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/sassemu>")
endforeach()

# NVSHMEM's headers are for kernels and for the host: a directory of their own.
set(sassemu_nvshmem_headers "${CMAKE_INSTALL_INCLUDEDIR}/sassemu/nvshmem")
target_include_directories(sassemu_nvshmem INTERFACE
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/sdk/nvshmem/include>"
    "$<INSTALL_INTERFACE:${sassemu_nvshmem_headers}>")
install(DIRECTORY sdk/nvshmem/include/ DESTINATION "${sassemu_nvshmem_headers}" FILES_MATCHING PATTERN "*.h")

install(TARGETS ${sassemu_libraries} EXPORT sassemuTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES emu/gpu.hpp emu/machine.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sassemu/emu")
install(FILES emu/machine/state_fill.hpp
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sassemu/emu/machine")
install(FILES emu/evidence/evidence.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sassemu/emu/evidence")
foreach(directory base module nvshmem plan)
    install(DIRECTORY emu/${directory}/
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sassemu/emu/${directory}"
        FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(TARGETS sassemu_sdk sassemu_trace EXPORT sassemuTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY sdk/include/sassemu DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${PROJECT_BINARY_DIR}/sdk/trace/include/sassemu/trace.pb.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sassemu")
install(FILES sdk/trace/trace.proto sdk/trace/perfetto.proto
    DESTINATION "${CMAKE_INSTALL_DATADIR}/sassemu")
install(DIRECTORY sdk/python DESTINATION "${CMAKE_INSTALL_DATADIR}/sassemu"
    FILES_MATCHING PATTERN "*.py")
install(FILES sdk/plan.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/sassemu")

# What a reader wants beside the program: the pages, and examples that run as they lie there.
install(FILES README.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(FILES decoder/doc/asm.md decoder/doc/library.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/decoder")
install(FILES sdk/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/sdk")
install(DIRECTORY sdk/example DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(kernel vecadd sgemm printf fault_wild flight)
    install(DIRECTORY cubins/${kernel} DESTINATION "${CMAKE_INSTALL_DOCDIR}/example/cubins")
endforeach()

set(sassemu_package "${CMAKE_INSTALL_LIBDIR}/cmake/sassemu")
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sassemuConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(EXPORT sassemuTargets NAMESPACE sassemu:: DESTINATION "${sassemu_package}")
install(FILES cmake/sassemuConfig.cmake "${PROJECT_BINARY_DIR}/sassemuConfigVersion.cmake"
    DESTINATION "${sassemu_package}")
# An installation may be moved, and --prefix be given as late as that.
file(RELATIVE_PATH PC_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" PC_PREFIX "${PC_PREFIX}")
configure_file(cmake/sassemu.pc.in "${PROJECT_BINARY_DIR}/sassemu.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sassemu.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# What ./run builds: all that is installed. (`all` has the tests too.)
add_custom_target(sassemu_product)
add_dependencies(sassemu_product sassdec-words sassemu_trace ${sassemu_libraries})
foreach(target sassemu_cli sassemu_plugins sassemu_manual sassemu_tls sassemu_host sassemu_capture
        sassemu_cuda sassemu_nvml sassemu_audit sassemu_cudart_12 sassemu_cudart_13 sassemu_cudart_static)
    if(TARGET ${target})
        add_dependencies(sassemu_product ${target})
    endif()
endforeach()
