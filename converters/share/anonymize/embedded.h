// Files of this folder that the program carries: public_names.txt.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace reprise {

// Defined in the generated file.
[[nodiscard]] std::span<const EmbeddedFile> EmbeddedTexts();

}  // namespace reprise
