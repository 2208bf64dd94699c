include("${CMAKE_CURRENT_LIST_DIR}/sassdecTargets.cmake")
