# SPDX-License-Identifier: Apache-2.0
# The project's own CMake verbs. What belongs here: functions that several components call.
set_property(GLOBAL PROPERTY sassemu_components "")

# Adds a component's directory. A tree without it (a decoder-only checkout, say) still configures;
# the components that need it then leave themselves out.
function(sassemu_component path)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${path}/CMakeLists.txt")
        add_subdirectory("${path}")
        set_property(GLOBAL APPEND PROPERTY sassemu_components "${path}")
    else()
        message(STATUS "sassemu: no ${path}, left out")
    endif()
endfunction()

# sassemu_have(VARIABLE target...): whether all these targets exist.
function(sassemu_have variable)
    set(all TRUE)
    foreach(target IN LISTS ARGN)
        if(NOT TARGET ${target})
            set(all FALSE)
        endif()
    endforeach()
    set(${variable} ${all} PARENT_SCOPE)
endfunction()

# sassemu_test(name SOURCES ... LIBRARIES ... [LABELS ...]): a GoogleTest program, one ctest entry.
function(sassemu_test name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
    find_package(GTest REQUIRED)
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_compile_definitions(${name} PRIVATE SASSEMU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "unit;${arg_LABELS}")
endfunction()

if(SASSEMU_FUZZ)
    add_custom_target(fuzzers)
endif()

# sassemu_fuzzer(name SOURCES ... LIBRARIES ... [DEFINITIONS ...] [REPLAY file...]): a libFuzzer
# program in the fuzz preset. In others, with REPLAY, a test that feeds it these inputs: files,
# .jsonl files line by line, folders.
function(sassemu_fuzzer name)
    cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;DEFINITIONS;REPLAY" ${ARGN})
    if(NOT SASSEMU_FUZZ AND NOT arg_REPLAY)
        return()
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    if(SASSEMU_FUZZ)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers ${name})
        return()
    endif()
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cpp")
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    add_test(NAME ${name} COMMAND ${name} ${arg_REPLAY})
    set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
endfunction()

# sassemu_plugin(name SOURCES ...): a shared object in lib/sassemu/plugins that sees sdk/ only. The
# target sassemu_plugins is all of them.
function(sassemu_plugin name)
    if(NOT TARGET sassemu_plugins)
        add_custom_target(sassemu_plugins)
    endif()
    add_dependencies(sassemu_plugins ${name})
    cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
    add_library(${name} MODULE ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE sassemu_sdk)
    if(SASSEMU_FUZZ)  # libFuzzer goes on reading the counters of what was once loaded
        target_link_options(${name} PRIVATE LINKER:-z,nodelete)
    endif()
    set_target_properties(${name} PROPERTIES PREFIX ""
        LIBRARY_OUTPUT_DIRECTORY "${SASSEMU_PLUGIN_DIRECTORY}")
    install(TARGETS ${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/sassemu/plugins")
endfunction()
