// The files of the HTML pages (report/html/ and D3), embedded by CMake.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace reprise {

// Defined in the generated file.
[[nodiscard]] std::span<const EmbeddedFile> EmbeddedPageFiles();

}  // namespace reprise
