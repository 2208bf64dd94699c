# SPDX-License-Identifier: Apache-2.0
# find_package(sassemu): targets sassemu::sassemu (the engine), sassemu::sassemu_module (the loader),
# sassemu::sassemu_plan (launch plans) and sassemu::sassemu_trace (reading traces).
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(Boost)
find_dependency(nlohmann_json)
find_dependency(TBB)
find_dependency(PkgConfig)
find_dependency(Protobuf)
pkg_check_modules(SASSEMU_LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(SASSEMU_ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_dependency(sassdec)
include("${CMAKE_CURRENT_LIST_DIR}/sassemuTargets.cmake")
