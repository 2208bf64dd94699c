# SPDX-License-Identifier: Apache-2.0
# find_package(sassemu_host): the target sassemu::sassemu_host, for host processes.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/sassemu_hostTargets.cmake")
