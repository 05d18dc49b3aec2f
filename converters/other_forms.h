// Files that are no text of a capture, by what they begin with and by their names: what they are,
// and how to go on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

// Bytes of a file's beginning that tell: a tar archive names itself behind its first member's name.
inline constexpr std::size_t kFormHeadBytes = 512;

// "is a zip archive: unpack it, and convert the files in it"; empty: nothing that is known here.
// `head`: unpacked, where the file is gzip or zstd.
[[nodiscard]] std::string OtherForm(std::string_view path, std::string_view head);

// Whether a text begins as XLA's trace for viewers (trace.json.gz), which is no capture.
[[nodiscard]] bool IsViewersTrace(std::string_view head);

// Bad input that says what the file is, and the way on, where it is such a file; else it passes.
[[nodiscard]] Status CheckForm(const std::string& path);

}  // namespace reprise
