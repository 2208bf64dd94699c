# SPDX-License-Identifier: Apache-2.0
# Fails if an object of a vector level defines a weak symbol: only the unwinder's personality
# reference, which is data and the same everywhere, may be shared.
string(REPLACE "," ";" OBJECTS "${OBJECTS}")
foreach(object IN LISTS OBJECTS)
    execute_process(COMMAND ${NM} --defined-only ${object} OUTPUT_VARIABLE symbols
                    RESULT_VARIABLE failed)
    if(failed)
        message(FATAL_ERROR "${NM} ${object}: ${failed}")
    endif()
    string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" weak "${symbols}")
    list(FILTER weak EXCLUDE REGEX "DW\\.ref\\.__gxx_personality_v0")
    if(weak)
        message(FATAL_ERROR "${object} defines weak symbols: ${weak}")
    endif()
    if(NOT symbols MATCHES "lane_table_v")
        message(FATAL_ERROR "${object}: the table of primitives is missing")
    endif()
endforeach()
