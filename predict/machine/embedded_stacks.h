// predict/machine/stacks/*.json, embedded by CMake.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace reprise {

// Defined in the generated file; by name.
[[nodiscard]] std::span<const EmbeddedFile> EmbeddedStacks();

}  // namespace reprise
