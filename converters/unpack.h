// gzip and zstd, recognised by content.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace reprise {

[[nodiscard]] bool IsGzip(std::string_view bytes);
[[nodiscard]] bool IsZstd(std::string_view bytes);

// All of it: several gzip members or zstd frames in a row are one text. Errors name `path` and the
// byte of the packed file where it stopped making sense.
[[nodiscard]] Result<std::string> UnpackGzip(const std::string& path, std::string_view packed);
[[nodiscard]] Result<std::string> UnpackZstd(const std::string& path, std::string_view packed);

// The first bytes of a file's text, at most `most`, unpacked; empty if it can't be read.
[[nodiscard]] std::string ReadHead(const std::string& path, std::size_t most);

}  // namespace reprise
