// The OpenCL C programs, embedded by CMake from kernels/ops/*.cl.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/embedded_file.h"

namespace reprise {

// Sorted by name. Defined in the generated file.
[[nodiscard]] std::span<const EmbeddedFile> EmbeddedPrograms();

// What is compiled for DeviceKernel::program: common.cl, then the file, in which a line
// `#include "rows.cl"` stands for that file. Nothing if there is no such file.
[[nodiscard]] std::optional<std::string> ProgramSource(std::string_view name);

}  // namespace reprise
