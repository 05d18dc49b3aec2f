// gzip and zstd, recognised by content.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise {

[[nodiscard]] bool IsGzip(std::string_view bytes);
[[nodiscard]] bool IsZstd(std::string_view bytes);

// Unpacks while reading: several gzip members or zstd frames in a row are one text. Errors name the
// file and the byte of the packed file where it stopped making sense.
[[nodiscard]] Result<std::unique_ptr<TextSource>> UnpackGzip(std::unique_ptr<TextSource> packed);
[[nodiscard]] Result<std::unique_ptr<TextSource>> UnpackZstd(std::unique_ptr<TextSource> packed);

// The first bytes of a file's text, at most `most`, unpacked; empty if it can't be read.
[[nodiscard]] std::string ReadHead(const std::string& path, std::size_t most);

}  // namespace reprise
