// SPDX-License-Identifier: Apache-2.0
// The readers of a plan's parts, shared by the files that make up the plan reader. Nothing outside
// the reader includes this.
#pragma once

#include <string>

#include "emu/plan/fields.hpp"
#include "emu/plan/plan.hpp"

namespace sassemu::plan {

// A path of the plan as the file system wants it: relative ones count from the plan's directory.
std::string resolve_path(const std::string& plan_file, const std::string& path);

// `pointers` of a member that has so many bytes.
Result<std::vector<PointerPatch>> read_pointers(const Field& holder, uint64_t bytes);
Result<Buffer> read_buffer(const Field& field, const std::string& name);
Result<Global> read_global(const Field& field, const std::string& name);
Result<Argument> read_argument(const Field& field);
Result<Launch> read_launch(const Field& field);
Result<TextureArg> read_texture(const Field& field, bool surface);
Result<void> check_texture(const Buffer& buffer, const TextureArg& arg, const Where& where);
Result<DeviceOverrides> read_device(const Field& field, std::string* arch = nullptr);
// gpus (so many instead, if not 0), peers, streams, host and nvshmem; and where launches and
// buffers name them.
Result<void> read_in_flight(const Field& root, Plan& plan, uint32_t gpus);
Result<void> check_in_flight(Plan& plan);
// The stream, the events and the operation of an element of launches, which is no kernel if it has
// one.
Result<void> read_stream_fields(const Field& field, Launch& launch);
// The texts as bytes of that type.
Result<std::vector<std::byte>> read_values(const Field& field, ElementType type);
Result<ElementType> read_type(const Field& field);

// A required member.
Result<Field> required(const Field& object, std::string_view name);

}  // namespace sassemu::plan
