// The files of columns that the program has with it.
#pragma once

#include <span>

#include "core/embedded_file.h"

namespace reprise {

[[nodiscard]] std::span<const EmbeddedFile> EmbeddedColumns();

}  // namespace reprise
